package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// scene is a conductor that has frozen a child and can be killed.
type scene struct {
	conductor  *Process
	dir, run   string // records; a directory to be removed
	pid, guard int
	start      uint64
	cgroup     string
}

func conductor(t *testing.T, kind string) scene {
	t.Helper()
	s := scene{dir: t.TempDir(), run: filepath.Join(t.TempDir(), "run")}
	if err := os.MkdirAll(filepath.Join(s.run, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.conductor = play(t, fmt.Sprintf("conduct %s %s %q", s.dir, s.run, kind), Spec{})
	said := line(t, s.conductor)
	if n, _ := fmt.Sscan(said, &s.pid, &s.guard, &s.cgroup); n < 2 {
		t.Fatalf("conductor said %q", said)
	}
	var err error
	if s.start, _, err = startTime(s.pid); err != nil {
		t.Fatal(err)
	}
	return s
}

// gone reports what is left of a scene.
func (s scene) left() []string {
	var left []string
	if alive(s.pid, s.start) {
		left = append(left, fmt.Sprintf("process %d", s.pid))
	}
	records, _ := filepath.Glob(filepath.Join(s.dir, "*"))
	for _, path := range append(records, s.run, s.cgroup) {
		if _, err := os.Lstat(path); err == nil {
			left = append(left, path)
		}
	}
	return left
}

// TestKilledConductor: whoever kills us with SIGKILL leaves nothing behind, not even a
// frozen process.
func TestKilledConductor(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := conductor(t, kind)
			if len(s.left()) < 3 {
				t.Fatalf("before: only %v", s.left())
			}
			s.conductor.Kill()
			eventually(t, "nothing is left", func() bool { return len(s.left()) == 0 })
		})
	}
}

// TestKilledGuard: if the guard is killed as well, the next run cleans up.
func TestKilledGuard(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := conductor(t, kind)
			if did, err := CleanUp(s.dir); err != nil || len(did) > 0 || len(s.left()) < 3 {
				t.Fatalf("CleanUp while the conductor lives: %q, %v; left %v", did, err, s.left())
			}
			syscall.Kill(s.guard, syscall.SIGKILL)
			s.conductor.Kill()
			if kind == CgroupV1 {
				time.Sleep(50 * time.Millisecond)
				if !alive(s.pid, s.start) {
					t.Error("a process frozen by cgroup v1 died of SIGKILL: the guard is not needed on this kernel")
				}
			} else {
				eventually(t, "the kernel ends the child", func() bool { return !alive(s.pid, s.start) })
			}
			did, err := CleanUp(s.dir)
			if err != nil {
				t.Fatal(err)
			}
			if left := s.left(); len(left) > 0 {
				t.Errorf("left after CleanUp: %v (it did %q)", left, did)
			}
			if !strings.Contains(strings.Join(did, "\n"), "removed "+s.run) {
				t.Errorf("CleanUp says that it did %q", did)
			}
			if did, err := CleanUp(s.dir); err != nil || len(did) > 0 {
				t.Errorf("second CleanUp: %q, %v", did, err)
			}
		})
	}
}

// TestGuardClose: closing the guard ends what was forgotten, and leaves no record of what
// ended before.
func TestGuardClose(t *testing.T) {
	g, err := NewGuard(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ended := play(t, "spin", Spec{Guard: g})
	ended.Kill()
	if records, _ := filepath.Glob(filepath.Join(g.dir, "*")); len(records) > 0 {
		t.Errorf("records of a process that ended: %v", records)
	}
	forgotten := play(t, "spin", Spec{Guard: g})
	line(t, forgotten)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-forgotten.Done():
	case <-time.After(10 * time.Second):
		t.Error("a process outlived its guard")
	}
}

// TestCleanUpTrustsNoNumber: a pid that was given to another process, or a record of
// another boot or container, must not cost a process its life.
func TestCleanUpTrustsNoNumber(t *testing.T) {
	bystander := play(t, "spin", Spec{})
	line(t, bystander)
	start, _, err := startTime(bystander.PID())
	if err != nil {
		t.Fatal(err)
	}
	self, err := identity(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(self)
	boot, ns := f[2], f[3]
	for _, tt := range []struct {
		name, owner string
		start       uint64
		kept        bool // the record, and the directory that it names
	}{
		{"other start time", "999999999 1 " + boot + " " + ns, start + 1, false},
		{"other boot", "999999999 1 11111111-2222-3333-4444-555555555555 " + ns, start, false},
		{"other container", "999999999 1 " + boot + " pid:[1]", start, true},
		{"owner lives", self, start, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, run := t.TempDir(), t.TempDir()
			record := filepath.Join(dir, "1-1"+recordExt)
			text := fmt.Sprintf("owner %s\ngroup %d %d\nremove %s\n", tt.owner, bystander.PID(), tt.start, run)
			if err := os.WriteFile(record, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := CleanUp(dir); err != nil {
				t.Fatal(err)
			}
			if !alive(bystander.PID(), start) {
				t.Fatal("it killed a process that is not in the record")
			}
			for _, path := range []string{record, run} {
				if _, err := os.Stat(path); (err == nil) != tt.kept {
					t.Errorf("%s: %v, want kept %v", path, err, tt.kept)
				}
			}
		})
	}
}

func TestCleanUpNothing(t *testing.T) {
	if did, err := CleanUp(filepath.Join(t.TempDir(), "none")); err != nil || len(did) > 0 {
		t.Errorf("CleanUp of no directory: %q, %v", did, err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"+recordExt), []byte("not a record\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := CleanUp(dir); err == nil {
		t.Error("CleanUp of a broken record: no error")
	}
}

func TestRecordRefusesPaths(t *testing.T) {
	g := newGuard(t)
	if _, err := Start(Spec{Args: []string{"sleep", "1000"}, Guard: g, Remove: []string{"/a\nremove /b"}}); err == nil {
		t.Error("a path with a newline in a record: no error")
	}
}
