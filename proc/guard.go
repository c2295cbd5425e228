package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Guard sees to it that no child outlives us, however we end. The kernel's parent-death
// signal ends running children, but a process frozen by cgroup v1 does not die of any
// signal, and nobody would remove cgroups and run directories. So a shell waits on a pipe
// for our end, and then works through the records of what we had started. A record stays
// until its process is gone; should the shell be killed too, CleanUp finds it next time.
type Guard struct {
	dir   string
	owner string
	pipe  *os.File
	cmd   *exec.Cmd
}

// record is the file that describes one child in the directory of a Guard. A nil record
// is none.
type record struct{ path string }

const recordExt = ".proc"

// A record's lines are a key and a value:
//
//	owner   pid, start time, boot and pid namespace of the process that wrote it
//	group   pid and start time of a group's leader; the group is to be killed
//	v1, v2  a cgroup; what is in it is to be killed, then it is to be removed
//	remove  a directory
//
// guardScript and CleanUp do the same with it. Numbers are never trusted alone: a pid is
// killed only if its start time is that of the record.
const guardScript = `
trap '' HUP INT QUIT TERM TSTP
while read -r x; do :; done
cd "$1" || exit 0

# alive PID START: the process of that number is the one that started then, and no zombie.
alive() {
	read -r s 2>/dev/null <"/proc/$1/stat" || return 1
	s=${s##*) }
	start=$2
	set -- $s
	[ "${20}" = "$start" ] && [ "$1" != Z ] && [ "$1" != X ]
}
group() {
	alive "$1" "$2" || return
	kill -KILL "-$1"
}
gone() {
	n=0
	while alive "$1" "$2" && [ $n -lt 500 ]; do n=$((n+1)); sleep 0.02; done
}
cgroup() {
	n=0
	while [ -d "$2" ] && [ $n -lt 500 ]; do
		while read -r pid; do kill -KILL "$pid"; done <"$2/cgroup.procs"
		case $1 in
		v1) echo THAWED >"$2/freezer.state" ;;
		v2) echo 0 >"$2/cgroup.freeze" ;;
		esac
		rmdir "$2" && return
		n=$((n+1)); sleep 0.02
	done
}
for r in *.proc; do
	[ -f "$r" ] || continue
	ours=
	while read -r k v; do [ "$k $v" = "owner $2" ] && ours=1; done <"$r"
	[ "$ours" ] || continue
	while read -r k v; do [ "$k" = group ] && group $v; done <"$r"
	while read -r k v; do case $k in v1|v2) cgroup "$k" "$v" ;; esac; done <"$r"
	while read -r k v; do [ "$k" = group ] && gone $v; done <"$r"
	while read -r k v; do [ "$k" = remove ] && rm -rf -- "$v"; done <"$r"
	rm -f -- "$r"
done
`

// NewGuard starts a guard whose records are kept in dir, which is made if need be and may
// be shared with others.
func NewGuard(dir string) (*Guard, error) {
	fail := func(err error) (*Guard, error) {
		return nil, fmt.Errorf("start the guard that ends servers when we are killed: %w", err)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fail(err)
	}
	owner, err := identity(os.Getpid())
	if err != nil {
		return fail(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fail(err)
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", guardScript, "backslide-guard", dir, owner)
	cmd.Dir, cmd.Env, cmd.Stdin = "/", []string{"PATH=/usr/bin:/bin"}, r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // out of reach of the terminal's signals
	if err := cmd.Start(); err != nil {
		w.Close()
		return fail(err)
	}
	return &Guard{dir: dir, owner: owner, pipe: w, cmd: cmd}, nil
}

// Close ends the guard, and through it whatever was started with it and still lives.
func (g *Guard) Close() error {
	g.pipe.Close()
	if err := g.cmd.Wait(); err != nil {
		return fmt.Errorf("the guard that ends servers: %w", err)
	}
	return nil
}

// add writes the record of a child.
func (g *Guard) add(pid int, c *cage, remove []string) (*record, error) {
	if g == nil {
		return nil, nil
	}
	start, _, err := startTime(pid)
	if err != nil {
		return nil, fmt.Errorf("record pid %d: %w", pid, err)
	}
	var b strings.Builder
	line := func(key, value string) {
		if strings.ContainsAny(value, "\n") || strings.TrimSpace(value) != value {
			err = fmt.Errorf("record pid %d: the path %q begins or ends with a space or has a newline", pid, value)
		}
		fmt.Fprintf(&b, "%s %s\n", key, value)
	}
	line("owner", g.owner)
	line("group", fmt.Sprintf("%d %d", pid, start))
	if c != nil && c.dir != "" {
		line(strings.TrimPrefix(c.kind, "cgroup "), c.dir)
	}
	for _, dir := range remove {
		abs, absErr := filepath.Abs(dir)
		if absErr != nil {
			return nil, absErr
		}
		line("remove", abs)
	}
	if err != nil {
		return nil, err
	}
	rec := &record{path: filepath.Join(g.dir, fmt.Sprintf("%d-%d%s", pid, start, recordExt))}
	temp := rec.path + ".new" // the guard must never read half a record
	if err := os.WriteFile(temp, []byte(b.String()), 0o644); err != nil {
		return nil, fmt.Errorf("record pid %d: %w", pid, err)
	}
	if err := os.Rename(temp, rec.path); err != nil {
		return nil, fmt.Errorf("record pid %d: %w", pid, err)
	}
	return rec, nil
}

func (r *record) remove() {
	if r != nil {
		os.Remove(r.path) // one left behind names a process that is gone: harmless
	}
}

// CleanUp ends what the records in dir name and their writers can no longer end, because
// they are gone and so is their guard: it kills the process groups, takes down the cgroups
// and removes the directories. Records of writers that live, or that another container
// wrote, are left alone. It returns what it did, a sentence each. No dir is no error.
func CleanUp(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("clean up after an earlier run: %w", err)
	}
	self, err := identity(os.Getpid())
	if err != nil {
		return nil, err
	}
	var did []string
	var errs []error
	for _, e := range entries {
		if filepath.Ext(e.Name()) != recordExt {
			continue
		}
		d, err := cleanRecord(filepath.Join(dir, e.Name()), self)
		did, errs = append(did, d...), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return did, fmt.Errorf("clean up after an earlier run: %w", err)
	}
	return did, nil
}

func cleanRecord(path, self string) (did []string, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // its guard was still at it
	}
	if err != nil {
		return nil, err
	}
	values := map[string][]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if key, value, ok := strings.Cut(line, " "); ok {
			values[key] = append(values[key], value)
		}
	}
	if len(values["owner"]) != 1 {
		return nil, fmt.Errorf("%s is not a record of a process; remove it", path)
	}
	sameBoot, leave := judge(values["owner"][0], self)
	if leave {
		return nil, nil
	}
	for _, v := range values["group"] {
		var pid int
		var start uint64
		if _, err := fmt.Sscan(v, &pid, &start); err != nil {
			return did, fmt.Errorf("%s: group %q: %w", path, v, err)
		}
		if sameBoot && alive(pid, start) {
			syscall.Kill(-pid, syscall.SIGKILL)
			did = append(did, fmt.Sprintf("killed the process group %d that an earlier run left", pid))
		}
	}
	for _, kind := range []string{CgroupV1, CgroupV2} {
		for _, dir := range values[strings.TrimPrefix(kind, "cgroup ")] {
			if _, err := os.Stat(dir); err != nil || !sameBoot {
				continue
			}
			if err := removeCgroup(kind, dir); err != nil {
				return did, err
			}
			did = append(did, fmt.Sprintf("removed the cgroup %s that an earlier run left", dir))
		}
	}
	if err := waitGone(values["group"], sameBoot); err != nil {
		return did, err
	}
	for _, dir := range values["remove"] {
		if _, err := os.Lstat(dir); err != nil {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return did, err
		}
		did = append(did, fmt.Sprintf("removed %s that an earlier run left", dir))
	}
	return did, os.Remove(path)
}

// judge says whether a record's owner wrote it since the host was booted, and whether the
// record must be left alone because its owner lives or cannot be seen from here.
func judge(owner, self string) (sameBoot, leave bool) {
	o, s := strings.Fields(owner), strings.Fields(self)
	if len(o) != len(s) || o[2] != s[2] {
		return false, false
	}
	if o[3] != s[3] {
		return true, true
	}
	pid, _ := strconv.Atoi(o[0])
	start, _ := strconv.ParseUint(o[1], 10, 64)
	return true, alive(pid, start)
}

// waitGone waits for killed processes to be gone, so that they write nothing any more.
func waitGone(groups []string, sameBoot bool) error {
	deadline := time.Now().Add(killWait)
	for _, v := range groups {
		var pid int
		var start uint64
		fmt.Sscan(v, &pid, &start)
		for sameBoot && alive(pid, start) {
			if time.Now().After(deadline) {
				return fmt.Errorf("pid %d was killed and does not end", pid)
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
	return nil
}

// identity names a process so that no other process has the same name: pid, start time,
// boot, pid namespace.
func identity(pid int) (string, error) {
	start, _, err := startTime(pid)
	if err != nil {
		return "", err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %d %s %s", pid, start, strings.TrimSpace(string(boot)), ns), nil
}

// alive reports whether the process of that number is the one that started at that time,
// and is not a zombie.
func alive(pid int, start uint64) bool {
	s, state, err := startTime(pid)
	return err == nil && s == start && state != 'Z' && state != 'X'
}

// groupAlive reports whether a process group has a member that is not a zombie: the
// first process of a container may never reap those.
func groupAlive(group int) bool {
	if syscall.Kill(-group, 0) == syscall.ESRCH {
		return false
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return false
	}
	for _, path := range stats {
		f, err := statFields(path)
		if err == nil && f[2] == strconv.Itoa(group) && f[0] != "Z" && f[0] != "X" {
			return true
		}
	}
	return false
}

// startTime reads when a process started, in clock ticks since the host was booted, and
// its state.
func startTime(pid int) (start uint64, state byte, err error) {
	f, err := statFields(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	start, err = strconv.ParseUint(f[19], 10, 64)
	return start, f[0][0], err
}

// statFields returns the fields of /proc/PID/stat from the third on, see proc_pid_stat(5):
// state, parent, group, …, start time as the 20th of them. The name in the second field
// may contain anything, so fields are counted from its closing parenthesis.
func statFields(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 20 {
		return nil, fmt.Errorf("%s: %q is too short", path, b)
	}
	return f, nil
}
