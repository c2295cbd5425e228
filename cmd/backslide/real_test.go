package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// A run killed with SIGKILL three times and resumed has the slices of one that was not.
func TestKilledRunResumes(t *testing.T) {
	whole := newCLI(t)
	whole.must(0, small()...)
	_, want := whole.slices()

	parts := newCLI(t)
	kill := func(args []string, after int) {
		t.Helper()
		cmd := parts.command(args...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for range 2400 {
			if n := parts.stored(); n >= after {
				break
			}
			time.Sleep(25 * time.Millisecond)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Fatalf("it ended before it was killed, with %d slices\n%s", parts.stored(), errs.String())
		}
		parts.gone()
	}
	kill(small(), 5)
	first := parts.stored()
	kill([]string{"run", "--resume", "last"}, first+9)
	kill([]string{"run", "--resume", "last"}, parts.stored()+6)
	out, errs := parts.must(0, "run", "--resume", "last")
	r, got := parts.slices()
	if d := cmp.Diff(keySet(want), keySet(got)); d != "" {
		t.Errorf("slices (-whole +killed):\n%s", d)
	}
	for _, s := range got {
		if s.Err != "" {
			t.Errorf("%v: %s", s.SliceKey, s.Err)
		}
	}
	if r.Ended.IsZero() {
		t.Error("the run has not ended")
	}
	if !strings.Contains(out+errs, "resumed") {
		t.Errorf("nobody is told that blocks were resumed:\n%s\n%s", out, errs)
	}
	_, errs = parts.must(2, "run", "--resume", "last")
	if !strings.Contains(errs, "nothing to resume") {
		t.Errorf("resuming an ended run says %q", errs)
	}
}

func keySet(slices []lab.Slice) map[string]int {
	out := map[string]int{}
	for _, s := range slices {
		out[fmt.Sprintf("%+v", s.SliceKey)]++
	}
	return out
}

// Ctrl-C stops the servers and says how to go on; twice, it does not wait.
func TestInterrupt(t *testing.T) {
	for _, times := range []int{1, 2} {
		c := newCLI(t)
		cmd := c.command(small("--blocks", "50")...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for i := 0; c.stored() < 3; i++ {
			if i > 2400 {
				t.Fatalf("no slices\n%s", errs.String())
			}
			time.Sleep(25 * time.Millisecond)
		}
		for range times {
			cmd.Process.Signal(os.Interrupt)
			time.Sleep(time.Millisecond)
		}
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != 2 {
			t.Errorf("exit code %d after Ctrl-C × %d, want 2", got, times)
		}
		c.gone()
		if times == 1 && !strings.Contains(errs.String(), "backslide run --resume 1") {
			t.Errorf("does not say how to go on:\n%s", errs.String())
		}
	}
}

// A server that is killed costs its cell, with the reason; the run goes on.
func TestServerKilled(t *testing.T) {
	c := newCLI(t)
	cmd := c.command(small()...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for i := 0; c.stored() < 4; i++ {
		if i > 2400 {
			t.Fatalf("no slices\n%s", errs.String())
		}
		time.Sleep(10 * time.Millisecond)
	}
	var pid int
	for _, s := range c.servers() {
		if strings.Contains(s, "--datadir") && !strings.Contains(s, "mariadb-11.8") {
			fmt.Sscan(s, &pid)
		}
	}
	if pid == 0 {
		t.Fatalf("no server of the base among %q", c.servers())
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), errs.String())
	}
	_, slices := c.slices()
	broken := 0
	for _, s := range slices {
		if s.Err != "" {
			broken++
			if !strings.Contains(s.Err, "signal") {
				t.Errorf("reason %q does not name the signal", s.Err)
			}
		}
	}
	if broken == 0 {
		t.Error("no slice is broken")
	}
	if want := 3 * 2 * 2 * 2 * 2; len(slices) != want {
		t.Errorf("%d slices, want %d: 3 blocks × 2 steps × 2 clients × 2 variants × 2", len(slices), want)
	}
	if !strings.Contains(out.String(), "signal: killed") {
		t.Errorf("the report does not tell:\n%s", out.String())
	}
}

func TestRealTrouble(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"refused option", []string{"--config", "bad:innodb_nosuch_option=1"}, []string{"config bad: mariadb@10.5 refuses its options", "unknown variable 'innodb_nosuch_option=1'"}},
		{"engine of another family", []string{"--build", "mysql@9.7", "--engine", "aria"}, []string{"mysql@9.7 has no engine Aria", "InnoDB"}},
		{"wrong build", []string{"--build", "mariadb@10.6"}, []string{"mariadb@10.6", "did you mean"}},
		{"sql error", nil, []string{"SELECT nosuch FROM t", "1054", "nosuch"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCLI(t)
			if err := os.WriteFile(filepath.Join(c.dir, "broken.toml"), []byte(broken), 0o600); err != nil {
				t.Fatal(err)
			}
			args := small(tt.args...)
			if tt.args == nil {
				args = []string{"run", "--build", "mariadb@10.5", "--workload", "broken.toml"}
			}
			_, errs := c.must(2, args...)
			for _, w := range tt.want {
				if !strings.Contains(errs, w) {
					t.Errorf("does not say %q:\n%s", w, errs)
				}
			}
		})
	}
}

const broken = `
name = "broken"
[params]
rows = 10
[[table]]
name = "t"
rows = "$rows"
create = ["CREATE TABLE t (id INT NOT NULL PRIMARY KEY) ENGINE={engine}"]
columns.id = "row"
[[step]]
name = "q"
group = "point"
read = true
sql = "SELECT nosuch FROM t"
`

// A disk that is full while data are cloned costs the slices, which say so; what was
// stored stays, and the run can be resumed.
func TestDiskFull(t *testing.T) {
	c := newCLI(t)
	c.must(0, small("--blocks", "1")...) // makes the data sets
	_, before := c.slices()
	// The same lab on a file system with room for a part of a clone.
	full := newCLI(t)
	script := fmt.Sprintf(`mount -t tmpfs -o size=1g none %[2]s && cp -a %[1]s/lab %[2]s/ &&
fallocate -l $(($(df --output=avail -B1 %[2]s | tail -1) - 30000000)) %[2]s/ballast && exec "$@"`, c.dir, full.dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-rm", "sh", "-c", script, "sh", self}, small("--lab", filepath.Join(full.dir, "lab"), "--blocks", "4")...)
	cmd := exec.CommandContext(t.Context(), "unshare", args...)
	cmd.Env = append(os.Environ(), runEnvName+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("it succeeded with half the room it needs:\n%s", out)
	}
	if !regexp.MustCompile(`no space left on device`).Match(out) {
		t.Errorf("does not say that the disk is full:\n%s", out)
	}
	if len(before) == 0 {
		t.Error("no slices before")
	}
}

// From the command to the first measured slice takes at most 20 s when everything is
// there, and at least 70 % of a block's time is measured with 10 steps.
func TestOverhead(t *testing.T) {
	c := newCLI(t)
	args := []string{"run", "--build", "mariadb@10.5", "--build", "mariadb@11.8", "--workload", "slap", "--placement", "one-core"}
	c.must(0, append(args, "--steps", "PK", "--blocks", "1", "--slices", "2", "--slice", "50ms")...) // makes the data sets
	began := time.Now()
	c.must(0, append(args, "--blocks", "2", "--slices", "8", "--steps", "PK,PK-force,cover-noforce,nocover-force,cover-force,q1-10,q4-10,q5-10,q1-1000,q5-1000")...)
	_, slices := c.slices()
	var measured time.Duration
	first := map[int]time.Time{}
	for _, s := range slices {
		if s.Block == 0 {
			measured += time.Duration(s.Wall * float64(time.Second))
		}
		if t := first[s.Block]; t.IsZero() || s.Start.Before(t) {
			first[s.Block] = s.Start
		}
	}
	d := first[0].Sub(began)
	t.Logf("%s from the command to the first slice", d.Round(time.Millisecond))
	if d > 20*time.Second {
		t.Errorf("%s from the command to the first slice, want at most 20 s", d)
	}
	// From slice to slice, a block's time holds the end of its servers and the start of the next.
	block := first[1].Sub(first[0])
	share := measured.Seconds() / block.Seconds()
	t.Logf("%.0f %% of a block's time is measured: %s of %s", 100*share, measured, block.Round(time.Millisecond))
	if share < 0.7 {
		t.Errorf("%.0f %% of a block's time is measured, want 70 %%", 100*share)
	}
}

// A slowdown that the client adds to one side is found, in its direction, by an interval
// that covers it. docs/statistics.md has the figures of smaller ones.
func TestInjected(t *testing.T) {
	for _, slowdown := range []string{"60%", "-60%"} {
		c := newCLI(t)
		out, _ := c.must(0, "selftest", "inject", "--slowdown", slowdown, "--steps", "point-query", "--param", "rows=20000", "--slices", "8")
		want := map[string]string{"60%": "regressed", "-60%": "improved"}[slowdown]
		if !strings.Contains(out, want) {
			t.Errorf("%s: want %s:\n%s", slowdown, want, out)
		}
	}
}

// A build is compared with itself; how often the copies are told apart is a matter of
// chance, so only that it is counted is tested here.
func TestSameBuildTwice(t *testing.T) {
	c := newCLI(t)
	out, _ := c.must(0, "selftest", "noise", "--steps", "point-query,range-covered-si", "--clients", "1", "--param", "rows=20000",
		"--blocks", "4", "--slices", "4", "--slice", "100ms")
	for _, want := range []string{`point-query +1 +[0-9.]+ % +[0-9.]+ %`, `[0-2] of 2 comparisons of equal servers were called different`, `This host is`} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("selftest noise does not print %q:\n%s", want, out)
		}
	}
}
