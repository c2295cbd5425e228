package proc

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary plays the parts of the processes that the tests need.
const partEnv = "BACKSLIDE_PROC_PART"

func TestMain(m *testing.M) {
	part, args, _ := strings.Cut(os.Getenv(partEnv), " ")
	switch part {
	case "":
		os.Exit(m.Run())
	case "spin":
		spin()
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		forever()
	case "burn":
		burn()
	case "conduct":
		conduct(args)
	case "freezer":
		f, err := NewFreezer(context.Background(), "auto")
		fmt.Println(f, err)
	}
}

// spin keeps four threads busy, with pauses so that the tests leave the CPU to others.
func spin() {
	for range 4 {
		go func() {
			runtime.LockOSThread()
			for {
				for start := time.Now(); time.Since(start) < time.Millisecond; {
				}
				time.Sleep(2 * time.Millisecond)
			}
		}()
	}
	time.Sleep(5 * time.Millisecond)
	fmt.Println("ready")
	forever()
}

// burn uses CPU on a thread that ends, and says how much the process used in all.
func burn() {
	done := make(chan bool)
	go func() {
		runtime.LockOSThread() // and no unlock: the thread ends
		for used() < 50*time.Millisecond {
		}
		close(done)
	}()
	<-done
	time.Sleep(20 * time.Millisecond)
	fmt.Println(used().Nanoseconds())
	forever()
}

// used returns the CPU time of the process as getrusage(2) has it.
func used() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// forever waits to be killed; select{} would be reported as a deadlock.
func forever() { time.Sleep(time.Hour) }

// conduct starts a child with a guard, freezes it, and waits to be killed.
func conduct(args string) {
	var dir, run, kind string
	fmt.Sscanf(args, "%s %s %q", &dir, &run, &kind)
	g, err := NewGuard(dir)
	check(err)
	f, err := NewFreezer(context.Background(), kind)
	check(err)
	p, err := Start(Spec{Args: []string{"/proc/self/exe"}, Env: []string{partEnv + "=spin"}, Freezer: f, Guard: g, Remove: []string{run}})
	check(err)
	time.Sleep(50 * time.Millisecond)
	check(p.Freeze(context.Background()))
	fmt.Println(p.PID(), g.cmd.Process.Pid, p.cage.dir)
	forever()
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// play starts the test binary in a part and kills it at the end of the test.
func play(t *testing.T, part string, s Spec) *Process {
	t.Helper()
	s.Args, s.Talk = []string{"/proc/self/exe"}, true
	s.Env = append(s.Env, partEnv+"="+part)
	p, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		p.closePipes()
	})
	return p
}

// line reads one line that a child writes.
func line(t *testing.T, p *Process) string {
	t.Helper()
	var b strings.Builder
	one := make([]byte, 1)
	for {
		n, err := p.Out().Read(one)
		if n == 1 && one[0] != '\n' {
			b.WriteByte(one[0])
			continue
		}
		if n == 0 || err != nil {
			t.Fatalf("child wrote %q and then: %v", b.String(), err)
		}
		return b.String()
	}
}
