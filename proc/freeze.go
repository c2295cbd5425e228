package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The ways in which a Freezer keeps processes still, best first.
const (
	CgroupV2   = "cgroup v2" // cgroup.freeze: all threads, and SIGKILL still ends them
	CgroupV1   = "cgroup v1" // freezer.state: all threads, but not even SIGKILL ends them before they thaw
	StopSignal = "stop"      // SIGSTOP to the process group: needs no rights
	NoFreezing = "off"       // Freeze does nothing
)

// Freezer knows how processes are frozen on this host.
type Freezer struct {
	kind   string
	parent string // our own cgroup, in which those of the children are made
	why    string
}

// NewFreezer returns a freezer of the wanted kind, or of the best kind that works here
// for "auto". Cgroups are tried out with a short-lived child, because being allowed to
// make one does not mean being allowed to move a process into it.
func NewFreezer(ctx context.Context, kind string) (*Freezer, error) {
	switch kind {
	case StopSignal, NoFreezing:
		return &Freezer{kind: kind}, nil
	case CgroupV2, CgroupV1:
		f, err := cgroupFreezer(ctx, kind)
		if err != nil {
			return nil, fmt.Errorf("freezing by %s: %w", kind, err)
		}
		return f, nil
	case "", "auto":
	default:
		return nil, fmt.Errorf("freezing by %q: no such way; there are auto, %q, %q, %q and %q", kind, CgroupV2, CgroupV1, StopSignal, NoFreezing)
	}
	var why []string
	for _, kind := range []string{CgroupV2, CgroupV1} {
		f, err := cgroupFreezer(ctx, kind)
		if err == nil {
			f.why = strings.Join(why, "; ")
			return f, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("finding a way to freeze processes: %w", context.Cause(ctx))
		}
		why = append(why, fmt.Sprintf("%s: %v", kind, err))
	}
	return &Freezer{kind: StopSignal, why: strings.Join(why, "; ")}, nil
}

// String returns the kind: cgroup v2, cgroup v1, stop, off.
func (f *Freezer) String() string {
	if f == nil {
		return NoFreezing
	}
	return f.kind
}

// Why says why better kinds were not taken; empty if there was none or none was tried.
func (f *Freezer) Why() string { return f.why }

// cgroupFreezer returns a freezer that has been seen to work.
func cgroupFreezer(ctx context.Context, kind string) (*Freezer, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	parent, err := ownCgroup(kind, string(mounts), string(groups))
	if err != nil {
		return nil, err
	}
	f := &Freezer{kind: kind, parent: parent}
	return f, f.try(ctx)
}

// try moves a child into a cgroup and freezes it, unless killing us just then would leave
// it frozen for ever.
func (f *Freezer) try(ctx context.Context) error {
	c, err := f.makeCgroup()
	if err != nil {
		return err
	}
	p, err := Start(Spec{Args: []string{"/bin/sh", "-c", "read x"}, Talk: true})
	if err != nil {
		return errors.Join(err, c.remove())
	}
	defer p.closePipes()
	err = c.enter(p.PID())
	if err == nil && f.kind == CgroupV2 {
		err = c.freeze(ctx)
	}
	err = errors.Join(err, c.thaw())
	p.Kill()
	return errors.Join(err, c.remove())
}

// ownCgroup finds the directory of our own cgroup in the hierarchy that can freeze, from
// the texts of /proc/self/mountinfo and /proc/self/cgroup. Children's cgroups are made
// below it, so that they stay under the limits that we are under.
func ownCgroup(kind, mounts, groups string) (string, error) {
	var point, root string
	for _, line := range strings.Split(mounts, "\n") {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		v2 := r[0] == "cgroup2"
		v1 := r[0] == "cgroup" && hasField(r[2], "freezer")
		if kind == CgroupV2 && v2 || kind == CgroupV1 && v1 {
			root, point = l[3], l[4]
			break
		}
	}
	if point == "" {
		return "", errors.New("not mounted")
	}
	for _, line := range strings.Split(groups, "\n") {
		f := strings.SplitN(line, ":", 3)
		if len(f) < 3 || (kind == CgroupV2) != (f[0] == "0") || kind == CgroupV1 && !hasField(f[1], "freezer") {
			continue
		}
		rel, err := filepath.Rel(root, f[2])
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			return "", fmt.Errorf("our cgroup %s is outside the mounted tree %s", f[2], root)
		}
		return filepath.Join(point, rel), nil
	}
	return "", errors.New("we are in none")
}

func hasField(list, field string) bool {
	for _, f := range strings.Split(list, ",") {
		if f == field {
			return true
		}
	}
	return false
}

// cage is where one process is frozen. A nil cage freezes nothing.
type cage struct {
	kind string
	dir  string // its cgroup
	pid  int    // its process, once entered
}

func (f *Freezer) newCage(g *Guard) (*cage, error) {
	switch {
	case f == nil:
		return nil, nil
	case f.kind == CgroupV1 && g == nil:
		return nil, errors.New("freezing by cgroup v1 needs a guard: a frozen process would outlive us")
	case f.parent == "":
		return &cage{kind: f.kind}, nil
	}
	return f.makeCgroup()
}

func (f *Freezer) makeCgroup() (*cage, error) {
	dir, err := os.MkdirTemp(f.parent, "backslide-")
	if err != nil {
		return nil, fmt.Errorf("make a cgroup: %w", err)
	}
	return &cage{kind: f.kind, dir: dir}, nil
}

func (c *cage) write(file, text string) error {
	return os.WriteFile(filepath.Join(c.dir, file), []byte(text), 0)
}

func (c *cage) enter(pid int) error {
	if c == nil {
		return nil
	}
	c.pid = pid
	if c.dir == "" {
		return nil
	}
	if err := c.write("cgroup.procs", strconv.Itoa(pid)); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("move pid %d into its cgroup: %w", pid, err)
	}
	return nil
}

// freeze returns once the process is still.
func (c *cage) freeze(ctx context.Context) error {
	if c == nil {
		return errors.New("it was started without a freezer")
	}
	switch c.kind {
	case CgroupV2:
		if err := c.write("cgroup.freeze", "1"); err != nil {
			return err
		}
		return until(ctx, func() (bool, error) {
			b, err := os.ReadFile(filepath.Join(c.dir, "cgroup.events"))
			return bytes.Contains(b, []byte("frozen 1")), err
		})
	case CgroupV1:
		// The state may stay FREEZING while a thread is in the kernel; each write tries again.
		return until(ctx, func() (bool, error) {
			if err := c.write("freezer.state", "FROZEN"); err != nil {
				return false, err
			}
			b, err := os.ReadFile(filepath.Join(c.dir, "freezer.state"))
			return bytes.HasPrefix(b, []byte("FROZEN")), err
		})
	case StopSignal:
		if err := syscall.Kill(-c.pid, syscall.SIGSTOP); err != nil {
			return err
		}
		return until(ctx, func() (bool, error) { return stopped(c.pid) })
	}
	return nil
}

// stopped reports whether every thread of a child has stopped: the kernel reports a stop
// to the parent only when the last thread has.
func stopped(pid int) (bool, error) {
	const cldStopped = 5 // CLD_STOPPED of siginfo(7)
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	switch {
	case err == unix.EINTR || err == nil && info.Signo == 0:
		return false, nil
	case err == nil && info.Code != cldStopped:
		return false, errors.New("it has ended")
	}
	return err == nil, err
}

func (c *cage) thaw() error {
	if c == nil || c.pid == 0 {
		return nil
	}
	switch c.kind {
	case CgroupV2:
		return c.write("cgroup.freeze", "0")
	case CgroupV1:
		return c.write("freezer.state", "THAWED")
	case StopSignal:
		if err := syscall.Kill(-c.pid, syscall.SIGCONT); err != nil && err != syscall.ESRCH {
			return err
		}
	}
	return nil
}

// remove ends whatever is still in the cage and takes it down.
func (c *cage) remove() error {
	if c == nil || c.dir == "" {
		return nil
	}
	return removeCgroup(c.kind, c.dir)
}

// removeCgroup kills, thaws and waits for the processes of a cgroup that we made, and
// removes it. A cgroup that is not there is no error.
func removeCgroup(kind, dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), killWait)
	defer cancel()
	c := &cage{kind: kind, dir: dir, pid: -1}
	err := until(ctx, func() (bool, error) {
		b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if errors.Is(err, os.ErrNotExist) {
			return true, nil
		}
		for _, f := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil && pid > 0 {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if err := c.thaw(); err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
		err = os.Remove(dir)
		switch {
		case err == nil || errors.Is(err, os.ErrNotExist):
			return true, nil
		case errors.Is(err, syscall.EBUSY):
			return false, nil
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("remove cgroup %s: %w", dir, err)
	}
	return nil
}

// until calls ok until it says so, with pauses of 50 µs that grow to 2 ms: what is waited
// for takes far less than a millisecond as a rule. The pauses are system calls because the
// runtime's timers are no finer than a millisecond when nothing else runs.
func until(ctx context.Context, ok func() (bool, error)) error {
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 2*time.Millisecond) {
		if done, err := ok(); done || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		ts := unix.NsecToTimespec(int64(pause))
		unix.Nanosleep(&ts, nil) // a signal may cut it short
	}
}
