package servertest

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"backslide/proc"
	"backslide/server"
)

// The functions of this file make servers slow for a known reason, so that tests can look
// whether it is found.

// Hog keeps each of the CPUs busy with a process of its own until the test ends, and
// returns the processes. Threads of a server on such a CPU get half of it.
func Hog(t testing.TB, cpus ...int) []*proc.Process {
	t.Helper()
	guard, err := proc.NewGuard(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { guard.Close() })
	var out []*proc.Process
	for _, cpu := range cpus {
		p, err := proc.Start(proc.Spec{Name: "hog", Args: []string{"/bin/sh", "-c", "while :; do :; done"}, CPUs: []int{cpu}, Guard: guard})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Kill)
		out = append(out, p)
	}
	return out
}

// Lock has a side session hold a lock for some time, again and again with a pause between,
// until the test ends or stop is called: lock is a statement that takes it in a
// transaction, such as UPDATE, and has no effect. It returns when the lock is held for the
// first time.
func Lock(t testing.TB, s *server.Server, schema, lock string, hold, pause time.Duration) (stop func()) {
	t.Helper()
	db, err := s.DB(schema)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	held, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		defer db.Close()
		said := false
		for ctx.Err() == nil {
			err := lockOnce(ctx, db, lock, hold, func() {
				if !said {
					said = true
					held <- nil
				}
			})
			if err != nil && !said {
				held <- err
				return
			}
			wait(ctx, pause)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	if err := <-held; err != nil {
		t.Fatalf("%.80s: %v", lock, err)
	}
	return stop
}

func lockOnce(ctx context.Context, db *sql.DB, lock string, hold time.Duration, held func()) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // nothing was to be kept
	if _, err := tx.ExecContext(ctx, lock); err != nil {
		return err
	}
	held()
	wait(ctx, hold)
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Busy returns an SQL expression whose evaluation keeps the server's thread on its CPU for
// about d and touches no data: what a slower function of the server looks like. It is 0.
func Busy(t testing.TB, s *server.Server, d time.Duration) string {
	t.Helper()
	db, err := s.DB("")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const tries = 200_000
	best := time.Duration(1<<63 - 1)
	for range 3 { // by CPU time, which others on the host change least
		before, err := proc.CPUTime(s.PID())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "DO "+busy(tries)); err != nil {
			t.Fatal(err)
		}
		after, err := proc.CPUTime(s.PID())
		if err != nil {
			t.Fatal(err)
		}
		best = min(best, max(after-before, time.Microsecond))
	}
	return busy(max(1, int64(tries*float64(d)/float64(best))))
}

func busy(n int64) string { return fmt.Sprintf("BENCHMARK(%d, CRC32('backslide'))", n) }
