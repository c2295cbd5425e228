package probe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"backslide/lab"
)

// observe lets a child do its job as the server, with the test itself as the client.
func observe(t *testing.T, job, dir string) (lab.Usage, string, time.Duration) {
	t.Helper()
	c := startChild(t, job, dir)
	var p Prober
	a, err := p.Take(c.pid, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	said := c.work()
	b, err := p.Take(c.pid, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return Between(a, b, nil), said, b.Time.Sub(a.Time)
}

// The children use a given amount of CPU time by their own clock, so that other load on
// the machine makes them slower and the figures no different.
func TestCPU(t *testing.T) {
	for job, want := range map[string]float64{"busy": 0.3, "two": 0.4, "ending": 0.2, "sleep": 0} {
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			u, _, wall := observe(t, job, "")
			got := u.ServerUser + u.ServerSystem
			// the runtime's own threads take a part of the time that the job takes
			if most := want + 0.05 + 0.05*wall.Seconds(); got < want || got > most {
				t.Errorf("CPU %.3f s, want %.3f to %.3f", got, want, most)
			}
			if u.ServerUser < 0 || u.ServerSystem < 0 {
				t.Errorf("user %.3f, kernel %.3f", u.ServerUser, u.ServerSystem)
			}
			if u.ClientUser < 0 || u.ClientSystem < 0 || u.ClientUser+u.ClientSystem > 2*wall.Seconds() {
				t.Errorf("client: user %.3f, kernel %.3f", u.ClientUser, u.ClientSystem)
			}
			if u.RSS < 1<<20 || u.HostBusy < 0 || u.Steal < 0 || u.MajorFaults < 0 {
				t.Errorf("unread: %+v", u)
			}
		})
	}
}

// Threads that never sleep wait for a CPU whenever they do not run. The process as a whole
// waits longer, because the runtime's own threads do too.
func TestRunQueue(t *testing.T) {
	c := startChild(t, "pinned", "")
	var p Prober
	a, err := p.Take(c.pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Fields(c.work())
	b, err := p.Take(c.pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != 4 {
		t.Fatalf("child says %q", said)
	}
	var own, seen, most float64
	for i := 0; i < len(said); i += 2 {
		tid, err1 := strconv.Atoi(said[i])
		wait, err2 := strconv.ParseFloat(said[i+1], 64)
		if err1 != nil || err2 != nil {
			t.Fatalf("child says %q", said)
		}
		own += wait
		is := func(th thread) bool { return th.tid == tid }
		var was thread
		if at := slices.IndexFunc(a.threads, is); at >= 0 {
			was = a.threads[at]
		}
		at := slices.IndexFunc(b.threads, is)
		if at < 0 {
			t.Fatalf("thread %d is not in the snapshot", tid)
		}
		seen += seconds(diff(was.wait, b.threads[at].wait), 1e9)
		most += b.Time.Sub(a.Time).Seconds() - seconds(diff(was.run, b.threads[at].run), 1e9)
	}
	if own < 0.3 {
		t.Errorf("two threads on one CPU for 0.2 s each waited %.3f s by their own account; each waits while the other runs", own)
	}
	// The hypervisor and interrupts take their part of what the threads clocked, and they
	// waited to begin and to say so; but no thread waits longer than it does not run.
	u := Between(a, b, nil)
	if seen < 0.9*own-u.Steal || seen > most+0.01 {
		t.Errorf("run-queue wait %.3f s, want %.3f by the threads' account to %.3f", seen, own, most)
	}
	if u.ServerRunq < seen {
		t.Errorf("run-queue wait of the process %.3f s, of two of its threads %.3f", u.ServerRunq, seen)
	}
	if u.CtxForced < 10 {
		t.Errorf("%d forced context switches; two threads on one CPU take turns every few ms", u.CtxForced)
	}
}

func TestSwitches(t *testing.T) {
	u, _, _ := observe(t, "naps", "")
	if u.CtxVoluntary < 200 || u.CtxVoluntary > 1000 {
		t.Errorf("%d voluntary context switches for 200 naps", u.CtxVoluntary)
	}
}

func TestWrites(t *testing.T) {
	dir := t.TempDir()
	if (roots{proc: "/proc"}).mountedType(dir) == "tmpfs" {
		var err error
		if dir, err = os.MkdirTemp(".", "writes-"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	u, said, _ := observe(t, "write", dir)
	if said != "" {
		t.Fatal(said)
	}
	if u.WriteBytes < 8<<20 || u.WriteBytes > 12<<20 {
		t.Errorf("%d bytes written, want 8 MiB and some metadata", u.WriteBytes)
	}
	if u.WriteCalls < 8 || u.WriteCalls > 100 {
		t.Errorf("%d write calls, want 8 and a few", u.WriteCalls)
	}
}

func TestGone(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROBE_TEST_CHILD=sleep") // input is empty: it ends at once
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	var p Prober
	deadline := time.Now().Add(10 * time.Second)
	for _, err := p.Take(pid, 0); !errors.Is(err, os.ErrProcessDone); _, err = p.Take(pid, 0) {
		// not waited for yet, so it becomes a zombie, which does not count as a process
		if err != nil {
			t.Fatalf("Take of a process that ends: %v", err)
		}
		if time.Now().After(deadline) {
			t.Fatal("a zombie counts as a process")
		}
		time.Sleep(time.Millisecond)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Take(pid, 0); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Take of no process: %v, want ErrProcessDone", err)
	}
	if _, err := p.Take(os.Getpid(), pid); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Take without its client: %v, want ErrProcessDone", err)
	}
}

// Snapshots are taken before and after each slice of 200 ms, so they must be cheap. On a
// host where system calls are dear, as on some virtual machines, they may cost what it
// costs to read two files of each thread.
func TestTakeIsCheap(t *testing.T) {
	c := startChild(t, "threads", "")
	c.work()
	var p Prober
	best, plain := time.Hour, time.Hour
	for range 100 {
		plain = min(plain, readThreads(t, c.pid))
		start := time.Now()
		s, err := p.Take(c.pid, os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(start))
		if len(s.threads) < 60 {
			t.Fatalf("%d threads, want 60 and those of the runtime", len(s.threads))
		}
	}
	if best > max(2*time.Millisecond, plain) {
		t.Errorf("Take of 60 threads: %s at best, want under 2ms, or the %s of reading two files each", best, plain)
	}
}

// readThreads reads two files of each thread, and returns how long that took.
func readThreads(t *testing.T, pid int) time.Duration {
	t.Helper()
	start := time.Now()
	task := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(task)
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		for _, name := range []string{"schedstat", "status"} {
			if _, err := os.ReadFile(filepath.Join(task, thread.Name(), name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return time.Since(start)
}

func BenchmarkTake60Threads(b *testing.B) {
	c := startChild(b, "threads", "")
	c.work()
	var p Prober
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Take(c.pid, os.Getpid()); err != nil {
			b.Fatal(err)
		}
	}
}
