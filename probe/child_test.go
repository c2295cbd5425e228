package probe

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is its own server: with PROBE_TEST_CHILD set it says "ready", waits for
// a line, does the job of that name, says what it measured itself, and waits for the end
// of its input.
func TestMain(m *testing.M) {
	if job := os.Getenv("PROBE_TEST_CHILD"); job != "" {
		in := bufio.NewReader(os.Stdin)
		fmt.Println("ready")
		if _, err := in.ReadString('\n'); err == nil {
			fmt.Println(jobs()[job]())
			_, _ = in.ReadString('\n')
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// jobs are what a child can do; each returns figures of its own.
func jobs() map[string]func() string {
	return map[string]func() string{
		"busy":   func() string { return together(1, false, 300*time.Millisecond) },
		"two":    func() string { return together(2, false, 200*time.Millisecond) },
		"pinned": func() string { return together(2, true, 200*time.Millisecond) },
		"ending": func() string {
			done := make(chan bool)
			go func() {
				runtime.LockOSThread() // and not unlocked: the thread ends with the goroutine
				burn(200 * time.Millisecond)
				close(done)
			}()
			<-done
			time.Sleep(50 * time.Millisecond)
			return ""
		},
		"sleep": func() string { time.Sleep(300 * time.Millisecond); return "" },
		"naps": func() string {
			runtime.LockOSThread()
			for range 200 {
				_ = unix.Nanosleep(&unix.Timespec{Nsec: 200_000}, nil)
			}
			return ""
		},
		"write": func() string {
			f, err := os.Create(filepath.Join(os.Getenv("PROBE_TEST_DIR"), "8MB"))
			if err != nil {
				return err.Error()
			}
			for range 8 {
				if _, err := f.Write(make([]byte, 1<<20)); err != nil {
					return err.Error()
				}
			}
			if err := f.Sync(); err != nil {
				return err.Error()
			}
			return ""
		},
		"threads": func() string {
			ready := make(chan bool)
			for range 60 {
				go func() {
					runtime.LockOSThread()
					ready <- true
					_ = unix.Nanosleep(&unix.Timespec{Sec: 3600}, nil)
				}()
			}
			for range 60 {
				<-ready
			}
			return ""
		},
	}
}

// together runs n threads that each use a CPU for that long, on one CPU if pinned, and
// returns for each its tid and the seconds that it waited for the CPU: its wall time less
// its CPU time, because it never sleeps.
func together(n int, pinned bool, each time.Duration) string {
	said := make(chan string, n)
	start := make(chan bool)
	for range n {
		go func() {
			runtime.LockOSThread()
			if pinned {
				var one unix.CPUSet
				one.Set(0)
				if err := unix.SchedSetaffinity(0, &one); err != nil {
					panic(err)
				}
			}
			<-start
			wall := time.Now()
			cpu := burn(each)
			said <- fmt.Sprint(unix.Gettid(), " ", (time.Since(wall) - cpu).Seconds(), " ")
			_ = unix.Nanosleep(&unix.Timespec{Sec: 3600}, nil) // a thread that ends takes its counters along
		}()
	}
	close(start)
	var all string
	for range n {
		all += <-said
	}
	return all
}

// burn uses that much CPU time on this thread, and returns what it used.
func burn(d time.Duration) time.Duration {
	first := threadTime()
	for {
		if used := threadTime() - first; used >= d {
			return used
		}
	}
}

func threadTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

// child is a running job.
type child struct {
	pid  int
	work func() string // lets it do the job and returns its figures
}

func startChild(t testing.TB, job, dir string) child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROBE_TEST_CHILD="+job, "PROBE_TEST_DIR="+dir, "GOMAXPROCS=4")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(out)
	read := func() string {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("child %s: %v", job, err)
		}
		return strings.TrimSpace(line)
	}
	if line := read(); line != "ready" {
		t.Fatalf("child %s says %q", job, line)
	}
	return child{cmd.Process.Pid, func() string {
		fmt.Fprintln(in)
		return read()
	}}
}
