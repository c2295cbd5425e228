package proc

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		want         string // in Err; empty: nil
	}{
		{"well", "exit 0", ""},
		{"status", "echo what went wrong >&2; exit 3", "sh: exit status 3: what went wrong"},
		{"signal", "kill -ABRT $$", "signal: aborted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Start(Spec{Args: []string{"sh", "-c", tt.script}})
			if err != nil {
				t.Fatal(err)
			}
			<-p.Done()
			switch err := p.Err(); {
			case tt.want == "" && err != nil:
				t.Errorf("Err() = %v, want nil", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("Err() = %v, want %q in it", err, tt.want)
			}
			if err := p.Signal(syscall.SIGTERM); err != nil {
				t.Errorf("Signal after the end: %v", err)
			}
			p.Kill()
		})
	}
}

func TestStartRefuses(t *testing.T) {
	if _, err := Start(Spec{Args: []string{"no-such-program-here"}}); !errors.Is(err, ErrMissing) {
		t.Errorf("Start of a program that is not there: %v, want ErrMissing", err)
	}
	if _, err := Start(Spec{Args: []string{"/dev/null"}}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("Start of /dev/null: %v, want permission denied", err)
	}
	if _, err := Start(Spec{Args: []string{"true"}, CPUs: []int{1023}}); err == nil || !strings.Contains(err.Error(), "1023") {
		t.Errorf("Start on CPU 1023: %v, want an error that names it", err)
	}
}

func TestTalk(t *testing.T) {
	p, err := Start(Spec{Args: []string{"cat"}, Talk: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.closePipes()
	for _, s := range []string{"one", "two"} {
		if _, err := p.In().Write([]byte(s + "\n")); err != nil {
			t.Fatal(err)
		}
		if got := line(t, p); got != s {
			t.Errorf("cat said %q, want %q", got, s)
		}
	}
	p.In().Write([]byte("last\n"))
	p.In().Close()
	<-p.Done()
	if got := line(t, p); got != "last" { // still readable after the end
		t.Errorf("cat said %q, want last", got)
	}
}

func TestFeedAndCollect(t *testing.T) {
	var out bytes.Buffer
	p, err := Start(Spec{Args: []string{"cat"}, Stdin: strings.NewReader("fed"), Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(context.Background()); err != nil || out.String() != "fed" {
		t.Errorf("got %q, %v, want fed", out.String(), err)
	}
}

// TestGroup: nothing that a child starts outlives it.
func TestGroup(t *testing.T) {
	for _, end := range []string{"stop", "kill", "leader ends"} {
		t.Run(end, func(t *testing.T) {
			p, err := Start(Spec{Args: []string{"sh", "-c", "sleep 1000 & echo $!; read x"}, Talk: true})
			if err != nil {
				t.Fatal(err)
			}
			defer p.closePipes()
			pid, err := strconv.Atoi(line(t, p))
			if err != nil {
				t.Fatal(err)
			}
			start, _, err := startTime(pid)
			if err != nil {
				t.Fatal(err)
			}
			switch end {
			case "stop":
				if err := p.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			case "kill":
				p.Kill()
			case "leader ends":
				p.In().Close()
				<-p.Done()
			}
			if alive(pid, start) {
				t.Error("the sleeping grandchild is still there")
			}
		})
	}
}

func TestStopKillsTheDeaf(t *testing.T) {
	p := play(t, "deaf", Spec{})
	line(t, p)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := p.Stop(ctx); err == nil || !strings.Contains(err.Error(), "did not end when asked and was killed") {
		t.Errorf("Stop: %v, want that it was killed", err)
	}
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("Err: %v, want signal: killed", err)
	}
}

// TestAffinity: every thread of the child has the CPUs, and no thread of ours got them.
func TestAffinity(t *testing.T) {
	all, err := Affinity(0)
	if err != nil {
		t.Fatal(err)
	}
	last := all[len(all)-1:]
	p := play(t, "spin", Spec{CPUs: last})
	line(t, p)
	for _, c := range threads(t, p.PID()) {
		if got, err := Affinity(c); err != nil || !slices.Equal(got, last) {
			t.Errorf("thread %d of the child may run on %v, %v, want %v", c, got, err, last)
		}
	}
	bent := 0
	for _, c := range threads(t, os.Getpid()) {
		if got, err := Affinity(c); err == nil && !slices.Equal(got, all) {
			bent++
		}
	}
	if len(all) > 1 && bent != 1 { // the thread that waits for the child
		t.Errorf("%d threads of ours have another affinity, want the one that forked", bent)
	}
}

// threads returns the numbers of a process's threads.
func threads(t *testing.T, pid int) []int {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	if err != nil {
		t.Fatal(err)
	}
	var tids []int
	for _, e := range entries {
		tid, _ := strconv.Atoi(e.Name())
		tids = append(tids, tid)
	}
	return tids
}

func TestCPUTime(t *testing.T) {
	p := play(t, "burn", Spec{})
	used, err := strconv.ParseInt(line(t, p), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	got, err := CPUTime(p.PID())
	if err != nil {
		t.Fatal(err)
	}
	// Without the thread that ended it would be some milliseconds. The child's own account was
	// taken a little earlier.
	if want := time.Duration(used); got < want-time.Millisecond || got > want+time.Second || want < 50*time.Millisecond {
		t.Errorf("CPUTime = %v, the child says %v", got, want)
	}
	p.Kill()
	if _, err := CPUTime(p.PID()); err == nil {
		t.Error("CPUTime of a process that is gone: no error")
	}
}

// TestStartTime: a process may call itself anything.
func TestStartTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x) R 1 2")
	if err := os.Symlink("/bin/sleep", path); err != nil {
		t.Fatal(err)
	}
	p, err := Start(Spec{Args: []string{path, "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	own, _, err := startTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	// Ticks are hundredths of a second on Linux; the child is younger than we are.
	if got, _, err := startTime(p.PID()); err != nil || got < own || got > own+100*600 {
		t.Errorf("startTime = %d, %v, ours is %d", got, err, own)
	}
}

func TestParseCPUs(t *testing.T) {
	for _, tt := range []struct {
		list string
		want []int // nil: an error
	}{
		{"0", []int{0}}, {"0,2-3\n", []int{0, 2, 3}}, {"3,1-2,2", []int{1, 2, 3}},
		{"", nil}, {"2-1", nil}, {"-1", nil}, {"1-", nil}, {"a", nil}, {"0-4000000000", nil}, {"1024", nil},
	} {
		got, err := ParseCPUs(tt.list)
		if !slices.Equal(got, tt.want) || (err == nil) != (tt.want != nil) {
			t.Errorf("ParseCPUs(%q) = %v, %v, want %v", tt.list, got, err, tt.want)
		}
	}
}

func FuzzParseCPUs(f *testing.F) {
	f.Add("0,2-3")
	f.Add("0-1023,5")
	f.Fuzz(func(t *testing.T, list string) {
		cpus, err := ParseCPUs(list)
		if err == nil && (len(cpus) == 0 || !slices.IsSorted(cpus) || cpus[0] < 0) {
			t.Errorf("ParseCPUs(%q) = %v", list, cpus)
		}
	})
}

// eventually fails the test if ok does not come true within ten seconds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after 10 s still not: %s", what)
		}
	}
}
