package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"backslide/lab"
	"backslide/store"
)

// cli runs this test binary as backslide, in an empty directory, on real servers.
type cli struct {
	t   *testing.T
	dir string
}

func newCLI(t *testing.T) *cli {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real servers")
	}
	c := &cli{t, t.TempDir()}
	t.Cleanup(func() {
		if left := c.servers(); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	})
	return c
}

// command returns a backslide to be started; it dies with the test.
func (c *cli) command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.CommandContext(c.t.Context(), self, args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), runEnvName+"=1")
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// run runs a command line to its end and returns its exit code and what it printed.
func (c *cli) run(args ...string) (code int, stdout, stderr string) {
	c.t.Helper()
	cmd := c.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		c.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// must runs a command line that must exit with code.
func (c *cli) must(code int, args ...string) (stdout, stderr string) {
	c.t.Helper()
	got, stdout, stderr := c.run(args...)
	if got != code {
		c.t.Fatalf("backslide %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), got, code, stdout, stderr)
	}
	return stdout, stderr
}

// watch runs a command to its end, which must be a good one, and calls look with its pid
// every so often meanwhile. It returns what the command printed.
func (c *cli) watch(cmd *exec.Cmd, every time.Duration, look func(pid int)) string {
	c.t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			if err != nil {
				c.t.Fatalf("%v\n%s", err, out.String())
			}
			return out.String()
		case <-time.After(every):
			look(cmd.Process.Pid)
		}
	}
}

// servers returns the processes that have our directory in their command line.
func (c *cli) servers() []string {
	var out []string
	for _, f := range glob("/proc/[0-9]*/cmdline") {
		b, err := os.ReadFile(f)
		if err == nil && bytes.Contains(b, []byte(c.dir)) {
			out = append(out, strings.Split(f, "/")[2]+" "+string(bytes.ReplaceAll(b, []byte{0}, []byte{' '})))
		}
	}
	return out
}

func glob(pattern string) []string {
	out, err := filepath.Glob(pattern)
	if err != nil {
		panic(err) // the patterns are ours
	}
	return out
}

// gone waits until the guard has ended what a killed backslide left.
func (c *cli) gone() {
	c.t.Helper()
	for range 200 {
		if len(c.servers()) == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatalf("10 s after the kill there are still %v", c.servers())
}

// slices returns the slices of the newest run.
func (c *cli) slices() (lab.Run, []lab.Slice) {
	c.t.Helper()
	st, err := store.Open(filepath.Join(c.dir, "lab"))
	if err != nil {
		c.t.Fatal(err)
	}
	defer st.Close()
	runs, err := st.Runs(c.t.Context())
	if err != nil || len(runs) == 0 {
		c.t.Fatalf("runs: %v, %v", runs, err)
	}
	out, err := st.Slices(c.t.Context(), runs[0].ID, store.Filter{})
	if err != nil {
		c.t.Fatal(err)
	}
	return runs[0], out
}

// stored counts the slices in the lab so far.
func (c *cli) stored() int {
	if _, err := os.Stat(filepath.Join(c.dir, "lab", store.Database)); err != nil {
		return 0
	}
	st, err := store.Open(filepath.Join(c.dir, "lab"))
	if err != nil {
		return 0
	}
	defer st.Close()
	runs, err := st.Runs(c.t.Context())
	if err != nil || len(runs) == 0 {
		return 0
	}
	s, err := st.Slices(c.t.Context(), runs[0].ID, store.Filter{})
	if err != nil {
		return 0
	}
	return len(s)
}

// small is a run that is over in seconds.
func small(more ...string) []string {
	return append([]string{
		"run", "--build", "mariadb@10.5", "--build", "mariadb@11.8", "--workload", "slap", "--steps", "PK,q1-10",
		"--clients", "1,2", "--param", "rows=2000", "--slice", "50ms", "--slices", "2", "--blocks", "3",
		"--config", "fast:innodb_flush_log_at_trx_commit=2,innodb_buffer_pool_size=32M",
	}, more...)
}
