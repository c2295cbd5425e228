package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"backslide/proc"
)

// TestPlaces: what goes wrong around a server, with the build that starts fastest.
func TestPlaces(t *testing.T) {
	st := newStand(t, "mariadb@10.11")
	t.Run("two at once", func(t *testing.T) {
		a, b := st.clone(t), st.clone(t)
		a.TCP, b.TCP = true, true
		one, two := begin(t, a), begin(t, b)
		if one.PID() == two.PID() || one.Addr() == two.Addr() {
			t.Errorf("pids %d and %d, addresses %s and %s", one.PID(), two.PID(), one.Addr(), two.Addr())
		}
		for srv, s := range map[*Server]Spec{one: a, two: b} {
			if got := query(t, db(t, srv), "SELECT @@datadir"); !slices.Equal(got, []string{s.DataDir + "/"}) {
				t.Errorf("the server at %s is on %q", srv.Socket(), got)
			}
		}
	})
	t.Run("same data directory twice", func(t *testing.T) {
		a := st.clone(t)
		begin(t, a)
		b := st.spec(t)
		b.DataDir, b.TempDir = a.DataDir, a.DataDir+".tmp2"
		// The second one tries again and again; it need not be waited for once it has said so.
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		go func() {
			for ctx.Err() == nil && !strings.Contains(logFrom{path: b.LogFile}.text(), "lock") {
				time.Sleep(5 * time.Millisecond)
			}
			cancel()
		}()
		if srv, err := Start(ctx, b); err == nil {
			srv.Kill()
			t.Error("two servers on one data directory")
		} else if !strings.Contains(err.Error(), "lock") {
			t.Errorf("Start: %v, want the server's words about a lock", err)
		}
	})
	t.Run("killed", func(t *testing.T) { testKilled(t, st) })
	t.Run("stale socket", func(t *testing.T) { testStale(t, st) })
	t.Run("taken socket", func(t *testing.T) {
		s := st.clone(t)
		srv := begin(t, s)
		if _, err := Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("pid %d already listens", srv.PID())) {
			t.Errorf("Start: %v, want the pid that listens there", err)
		}
	})
	t.Run("allocator", func(t *testing.T) { testAllocator(t, st) })
	t.Run("launcher", func(t *testing.T) { testLauncher(t, st) })
	t.Run("no time", func(t *testing.T) {
		s := st.clone(t)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if _, err := Start(ctx, s); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Start: %v, want that time ran out", err)
		}
		if _, err := os.Lstat(s.RunDir); err == nil {
			t.Error("the run directory is still there")
		}
	})
	t.Run("init at once", func(t *testing.T) {
		// Each removes what looks like a temporary table from its tmpdir when it starts.
		var g sync.WaitGroup
		for range 4 {
			s := st.spec(t)
			g.Go(func() {
				if err := Init(t.Context(), s); err != nil {
					t.Error(err)
				}
				if _, err := os.Lstat(s.tempDir()); err == nil {
					t.Error("the directory for temporary files is left")
				}
			})
		}
		g.Wait()
	})
	t.Run("init fails", func(t *testing.T) {
		s := st.spec(t)
		s.Build.SystemSQL = []string{filepath.Join(t.TempDir(), "broken.sql")}
		if err := os.WriteFile(s.Build.SystemSQL[0], []byte("create tabel t;\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Init(t.Context(), s); err == nil || !strings.Contains(err.Error(), "tabel") {
			t.Errorf("Init: %v, want the statement", err)
		}
		if _, err := os.Lstat(s.DataDir); err == nil {
			t.Error("half a data directory is left")
		}
	})
}

func testKilled(t *testing.T, st *stand) {
	s := st.clone(t)
	srv := begin(t, s)
	d := db(t, srv)
	query(t, d, "SELECT 1")
	if err := syscall.Kill(srv.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-srv.Died():
	case <-time.After(10 * time.Second):
		t.Fatal("Died is not closed after 10 s")
	}
	err := srv.Err()
	if err == nil || !strings.Contains(err.Error(), "signal: killed") || !strings.Contains(err.Error(), "ready for connections") {
		t.Errorf("Err: %v, want the signal and the log", err)
	}
	if _, err := d.ExecContext(t.Context(), "SELECT 1"); err == nil {
		t.Error("a killed server answered")
	}
	// The next start recovers, and takes no notice of what the dead one left behind.
	again := begin(t, s)
	if query(t, db(t, again), "SELECT 1"); again.PID() == srv.PID() {
		t.Error("same pid")
	}
}

// testStale: neither a socket's file without a listener nor a pid file is a server.
func testStale(t *testing.T, st *stand) {
	s := st.clone(t)
	if err := os.MkdirAll(s.RunDir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.socket(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := os.Lstat(s.socket()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.pidFile(), fmt.Appendf(nil, "%d\n", os.Getpid()), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := begin(t, s)
	if got := query(t, db(t, srv), "SELECT @@socket"); !slices.Equal(got, []string{s.socket()}) {
		t.Errorf("got %q", got)
	}
	srv.Kill()

	// A server that cannot start on a path where another process answers is not up.
	l, err = net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := proc.Start(proc.Spec{Args: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	other := &Server{p: p, spec: s}
	var foreign *foreignError
	if err := other.identify(t.Context(), l.Addr().String(), other.adopt); !errors.As(err, &foreign) || foreign.pid != os.Getpid() {
		t.Errorf("adopting a process that is not ours: %v", err)
	}
}

func testAllocator(t *testing.T, st *stand) {
	s := st.clone(t)
	for name := range st.build.Preloads {
		s.Config.Preload = name
		srv := begin(t, s)
		maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", srv.PID()))
		if err != nil || !strings.Contains(string(maps), "lib"+name) {
			t.Errorf("%s is not mapped, %v", name, err)
		}
		stop(t, srv)
	}
	if len(st.build.Preloads) == 0 {
		t.Error("the build has no allocators")
	}
	s.Config.Preload = filepath.Join(t.TempDir(), "not-a-library.so")
	if err := os.WriteFile(s.Config.Preload, []byte("text"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), "not-a-library.so") {
		t.Errorf("Start with a text file as allocator: %v", err)
	}
	s.Config.Preload = "umem"
	if _, err := Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), "jemalloc") {
		t.Errorf("Start with an unknown allocator: %v, want those that there are", err)
	}
}

func testLauncher(t *testing.T, st *stand) {
	all, err := proc.Affinity(0)
	if err != nil {
		t.Fatal(err)
	}
	last := all[len(all)-1]
	s := st.clone(t)
	s.Config.Preload = "jemalloc" // built for another C library than taskset
	s.Config.Launcher = []string{"taskset", "-c", fmt.Sprint(last)}
	srv := begin(t, s)
	if got, err := proc.Affinity(srv.PID()); err != nil || !slices.Equal(got, []int{last}) {
		t.Errorf("affinity %v, %v, want %d", got, err, last)
	}
	stop(t, srv)

	s.Config.Launcher = []string{"taskset", "-c", "1000"}
	if _, err := Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), "taskset") {
		t.Errorf("Start on CPU 1000: %v, want taskset's words", err)
	}

	// A launcher that stays: the server is its child, and both end.
	s.Config.Launcher = []string{"sh", "-c", `"$@"; exit $?`, "sh"}
	s.CPUs = []int{last}
	srv = begin(t, s)
	if srv.PID() == srv.p.PID() {
		t.Error("the launcher's pid is taken for the server's")
	}
	if got, err := proc.Affinity(srv.PID()); err != nil || !slices.Equal(got, s.CPUs) {
		t.Errorf("affinity %v, %v, want %v", got, err, s.CPUs)
	}
	pid := srv.PID()
	srv.Kill()
	if runs(pid) {
		t.Error("the launched server outlived Kill")
	}
}
