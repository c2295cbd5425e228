package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"backslide/lab"
)

// longRunEnv, if set, is how long TestNothingGrows runs, such as 2h; without it, some blocks.
const longRunEnv = "BACKSLIDE_LONG_RUN"

// keptOfSlice is how many bytes of memory a run may take for each slice that it has
// measured: verdicts are about all of them.
const keptOfSlice = 1 << 10

// TestNothingGrows: while a run goes on, its processes write to files of the lab alone, and
// hold no more files open than at first, and of memory no more than what they keep of each
// slice; when it has ended, nothing but the lab is there that was not before.
func TestNothingGrows(t *testing.T) {
	c := newCLI(t)
	length := []string{"--blocks", "4", "--slices", "4"}
	if d := os.Getenv(longRunEnv); d != "" {
		length = []string{"--blocks", "1000", "--slices", "32", "--budget", d}
	}
	// A build against itself, held to a margin that no noise allows, is never decided.
	cmd := c.command(append([]string{"run", "--build", "mariadb@11.8", "--aa", "--margin", "0.01%", "--workload", "sysbench", "--steps", "point-query,update-index",
		"--param", "rows=2000", "--clients", "2", "--slice", "100ms", "--config", "small:innodb_buffer_pool_size=32M"}, length...)...)
	tmp, cache := filepath.Join(c.dir, "tmp"), filepath.Join(c.dir, "cache")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	// The cache as it is, but for what a run adds to it.
	home, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	linkInto(t, filepath.Join(home, "backslide"), filepath.Join(cache, "backslide"))
	cmd.Env = append(cmd.Env, "TMPDIR="+tmp, "XDG_CACHE_HOME="+cache)
	before := treeOf(t, cache)
	start := time.Now()
	w := watched{lab: filepath.Join(c.dir, "lab"), outside: map[string]int64{}}
	out := c.watch(cmd, 200*time.Millisecond, w.look)
	if d, err := time.ParseDuration(os.Getenv(longRunEnv)); err == nil && time.Since(start) < d-d/10 { // a block that would not fit is not begun
		t.Errorf("it ran for %v only\n%s", time.Since(start).Round(time.Second), out)
	}
	if len(w.open) < 10 {
		t.Errorf("looked %d times only\n%s", len(w.open), out)
	}
	for path, size := range w.outside {
		t.Errorf("%s was written to: %d bytes", path, size)
	}
	// The usual: processes that have just been forked have their parent's files and memory too.
	first, last := middle(w.open[:len(w.open)/2]), middle(w.open[len(w.open)/2:])
	if last > first+20 { // more are open while slices run than while servers start
		t.Errorf("%d files are open in the second half of the run, %d in the first", last, first)
	}
	if left := treeOf(t, tmp); len(left) > 0 {
		t.Errorf("left behind in the directory for temporary files: %v", left)
	}
	for _, path := range treeOf(t, cache) {
		if !slices.Contains(before, path) {
			t.Errorf("left behind in the cache: %s", path)
		}
	}
	if left := treeOf(t, filepath.Join(c.dir, "lab", "data", "tmp")); len(left) > 0 {
		t.Errorf("left behind in the lab: %v", left)
	}
	measured := int64(0)
	_, all := c.slices()
	for _, sl := range all {
		if sl.Kind == lab.Measured {
			measured++
		}
	}
	early, late := middle(w.rss[:len(w.rss)/2]), middle(w.rss[len(w.rss)/2:])
	if most := early + early/4 + measured*keptOfSlice; late > most {
		t.Errorf("our processes have %d MB in the second half of the run, %d MB in the first; want at most %d", late>>20, early>>20, most>>20)
	}
	t.Logf("looked %d times, %d files open, then %d; %d slices, %d MB of memory, then %d", len(w.open), first, last, measured, early>>20, late>>20)
}

func middle[T cmp.Ordered](n []T) T {
	sorted := slices.Sorted(slices.Values(n))
	return sorted[len(sorted)/2]
}

// linkInto makes a directory of links to what is in another.
func linkInto(t *testing.T, from, to string) {
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Name() == "run" {
			continue // sockets of those who run now
		}
		if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

// treeOf returns the files below a directory; none if there is none. Links are not
// followed.
func treeOf(t *testing.T, dir string) []string {
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// watched is what was seen of a process and those below it.
type watched struct {
	lab     string
	outside map[string]int64 // files that were open for writing and are not of the lab, with their sizes
	open    []int            // files that our own processes had open, at each look
	rss     []int64          // bytes of memory that they had, at each look
}

func (w *watched) look(pid int) {
	open, rss := 0, int64(0)
	for _, p := range family(pid) {
		proc := "/proc/" + strconv.Itoa(p)
		all, err := os.ReadDir(proc + "/fd")
		if err != nil {
			continue // it has just ended
		}
		cmdline, _ := os.ReadFile(proc + "/cmdline")
		if !bytes.Contains(cmdline, []byte("--datadir=")) {
			open += len(all)
			rss += residentOf(proc)
		}
		for _, fd := range all {
			path, err := os.Readlink(proc + "/fd/" + fd.Name())
			info, err2 := os.ReadFile(proc + "/fdinfo/" + fd.Name())
			if err != nil || err2 != nil || !writable(info) || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, w.lab+"/") {
				continue
			}
			if st, err := os.Stat(proc + "/fd/" + fd.Name()); err == nil && st.Mode().IsRegular() && !strings.HasPrefix(path, "/sys/") && !strings.HasPrefix(path, "/proc/") && !strings.HasPrefix(path, "/memfd:") {
				w.outside[fmt.Sprintf("%s of %d", path, p)] = st.Size()
			}
		}
	}
	w.open, w.rss = append(w.open, open), append(w.rss, rss)
}

// residentOf returns the resident memory of a process of /proc in bytes; 0 once it has ended.
func residentOf(proc string) int64 {
	b, err := os.ReadFile(proc + "/statm")
	fields := strings.Fields(string(b))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// writable reports whether /proc/PID/fdinfo/N is of a file that is open for writing.
func writable(info []byte) bool {
	_, rest, _ := strings.Cut(string(info), "flags:")
	word, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	flags, err := strconv.ParseInt(word, 8, 64)
	return err == nil && flags&int64(os.O_WRONLY|os.O_RDWR) != 0
}

// family returns a process and all below it.
func family(pid int) []int {
	parents := map[int]int{}
	for _, f := range glob("/proc/[0-9]*/stat") {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(b), ") ") // a name may hold blanks
		fields := strings.Fields(rest)
		child, err1 := strconv.Atoi(strings.Split(f, "/")[2])
		if len(fields) < 2 || err1 != nil {
			continue
		}
		parents[child], _ = strconv.Atoi(fields[1])
	}
	out := []int{pid}
	for i := 0; i < len(out); i++ {
		for child, parent := range parents {
			if parent == out[i] {
				out = append(out, child)
			}
		}
	}
	slices.SortFunc(out, cmp.Compare[int])
	return out
}
