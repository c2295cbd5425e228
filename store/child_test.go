package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// child is what the test binary does when it is started as a process of its own, on the
// lab in dir. It says on standard output how far it got.
func child(job, dir string) int {
	ctx := context.Background()
	s, err := Open(dir)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	r, err := s.Run(ctx, 1)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	done, err := s.Slices(ctx, 1, Filter{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	switch job {
	case "add": // from where the lab ends, for ever
		for n := len(done); ; n++ {
			if err := s.AddSlice(ctx, 1, filledSlice(r, n)); err != nil {
				fmt.Println(err)
				return 1
			}
			fmt.Println(n)
		}
	case "limited": // no file may grow over 600 kB, as if the disk were full
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 600_000, Max: 600_000}); err != nil {
			fmt.Println(err)
			return 1
		}
		_, err := s.Keep(ctx, 1, "log", "long", io.LimitReader(zeros{}, 1<<20))
		fmt.Println(errors.Is(err, ErrDiskFull), err)
		n := 0
		for ; err == nil || n == 0; n++ {
			sl := filledSlice(r, n)
			sl.Hist = make([]byte, 20_000)
			err = s.AddSlice(ctx, 1, sl)
		}
		fmt.Println(n-1, err)
		return 0
	}
	return 2
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func startChild(t *testing.T, job, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), "STORE_TEST_CHILD="+job)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}

// A writer is killed three times and goes on where the lab ends, while another process
// reads: no slice that was reported as stored is lost, none is there twice or half.
func TestKilled(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := openLab(t, dir)
	id, r := newRun(t, s)
	var stored int
	for range 3 {
		cmd, lines := startChild(t, "add", dir)
		for reported := 0; reported < 20 && lines.Scan(); reported++ {
			n, err := strconv.Atoi(lines.Text())
			if err != nil {
				t.Fatal(lines.Text())
			}
			stored = n + 1
			if reported%5 != 0 {
				continue
			}
			got, err := s.Slices(ctx, id, Filter{})
			if err != nil {
				t.Fatal(err)
			}
			if len(got) < stored {
				t.Fatalf("%d slices while the writer goes on, %d were reported as stored", len(got), stored)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it reported before it died
			n, err := strconv.Atoi(lines.Text())
			if err != nil {
				t.Fatal(lines.Text())
			}
			stored = n + 1
		}
		_ = cmd.Wait()
	}
	got, err := s.Slices(ctx, id, Filter{Hist: true, Long: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) < stored || stored < 60 {
		t.Fatalf("%d slices, %d were reported as stored, in 3 lives of at least 20", len(got), stored)
	}
	for n, sl := range got {
		if d := cmp.Diff(filledSlice(r, n), sl); d != "" {
			t.Fatalf("slice %d of %d (-want +got):\n%s", n, len(got), d)
		}
	}
	var check string
	if err := s.read.QueryRow("PRAGMA integrity_check").Scan(&check); err != nil || check != "ok" {
		t.Errorf("integrity_check: %s, %v", check, err)
	}
}

// Files that may not grow fail as on a full disk: with words, and nothing broken.
func TestFileLimit(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := openLab(t, dir)
	id, r := newRun(t, s)
	cmd, lines := startChild(t, "limited", dir)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	if err := cmd.Wait(); err != nil || len(said) != 2 {
		t.Fatalf("child: %v, %q", err, said)
	}
	if !strings.HasPrefix(said[0], "true ") || !strings.Contains(said[0], "keep log long of run 1: disk full") {
		t.Errorf("Keep without room: %s", said[0])
	}
	if !strings.Contains(said[1], "a write was refused") {
		t.Errorf("AddSlice without room: %s", said[1])
	}
	first, _, _ := strings.Cut(said[1], " ")
	n, err := strconv.Atoi(first)
	if err != nil || n < 5 {
		t.Fatalf("child says %q", said[1])
	}
	got, err := s.Slices(ctx, id, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != n {
		t.Errorf("%d slices after the disk was full, %d were stored", len(got), n)
	}
	if err := s.AddSlice(ctx, id, filledSlice(r, n)); err != nil {
		t.Errorf("with room again: %v", err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "files", "tmp"))
	if err != nil || len(left) > 0 {
		t.Errorf("left in files/tmp: %v, %v", left, err)
	}
}
