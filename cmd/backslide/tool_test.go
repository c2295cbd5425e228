package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"backslide/extern"
	"backslide/lab"
	"backslide/run"
)

// fake puts a shell script in the place of a tool.
func fake(t *testing.T, program, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, program), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

// banner is how an output of sysbench begins, summary how it ends: 2000 events of 0.5 ms in
// one second.
const (
	banner = `cat <<'end'
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 1
Initializing worker threads...

Threads started!

end
`
	summary = `cat <<'end'
SQL statistics:
    queries performed:
        read:                            2000
        write:                           0
        other:                           0
        total:                           2000
    transactions:                        2000   (1999.20 per sec.)
    queries:                             2000   (1999.20 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          1.0004s
    total number of events:              2000

Latency (ms):
         min:                                    0.20
         avg:                                    0.50
         max:                                    3.00
         95th percentile:                        0.80
         sum:                                  999.80

Threads fairness:
    events (avg/stddev):           2000.0000/0.00
    execution time (avg/stddev):   0.9998/0.00

end
`
)

func sysbenchSession() *toolSession {
	return &toolSession{
		work:       run.Work{Seed: 1, Level: lab.Level{Clients: 1}},
		toolDriver: toolDriver{Tool: lab.Tool{Program: lab.Sysbench, Script: "oltp_point_select"}, version: extern.Version{Tool: "sysbench", Major: 1}, schema: "x", socket: "/nowhere", clients: 1},
	}
}

// A slice is what sysbench counted, from its clock's start on; the CPU time before is not in it.
func TestToolSlice(t *testing.T) {
	fake(t, "sysbench", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done\n"+banner+"sleep 0.5\n"+summary)
	began := time.Now()
	var measured time.Time
	out, err := sysbenchSession().Slice(t.Context(), run.Spec{Discard: 10 * time.Millisecond, Duration: time.Second}, func() { measured = time.Now() })
	if err != nil {
		t.Fatal(err)
	}
	if out.Ops != 2000 || out.Wall != 1.0004 || math.Abs(out.Latency-0.4999e-3) > 1e-9 || math.Abs(out.P95-0.8e-3) > 1e-9 || !out.Apart || len(out.Hist) > 0 {
		t.Errorf("%+v", out)
	}
	if got := time.Since(measured); measured.Before(began) || got < 100*time.Millisecond || out.Start.After(measured) {
		t.Errorf("measuring began %s before the end, want some 500 ms", got)
	}
	// The loop takes some 50 ms, what follows a few.
	if cpu := out.ClientUser + out.ClientSys; cpu < 0 || cpu > 0.03 {
		t.Errorf("%g s of CPU time: the start was counted", cpu)
	}
}

// Everything that makes figures unusable is the slice's error.
func TestToolFails(t *testing.T) {
	interval := "echo '[ 1s ] thds: 1 tps: 18446842801212211200.00 qps: 2000.00 (r/w/o: 2000.00/0.00/0.00) lat (ms,95%): 0.80 err/s: 0.00 reconn/s: 0.00'\n"
	for _, tt := range []struct {
		name, script, want string
	}{
		{"fatal, exit status 0", banner + "echo \"FATAL: mysql_drv_query() returned error 1146 (Table 'x.sbtest1' doesn't exist) for query 'SELECT c'\"; exit 0", "error 1146"},
		{"no summary", banner + "exit 0", "no final summary"},
		{"dies", banner + "kill -9 $$", "exit status -1"},
		{"option unknown", "echo 'invalid option: --nosuch' >&2; exit 1", "invalid option: --nosuch"},
		{"never starts", "exit 0", "no final summary"},
		{"too much", banner + "head -c 5000000 /dev/zero", "printed more than 4 MiB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fake(t, "sysbench", tt.script)
			out, err := sysbenchSession().Slice(t.Context(), run.Spec{Duration: time.Second}, func() {})
			if err == nil || !strings.Contains(err.Error(), tt.want) || out.Ops != 0 {
				t.Errorf("%v, %+v; want %q", err, out, tt.want)
			}
		})
	}
	t.Run("underflow", func(t *testing.T) {
		fake(t, "sysbench", banner+"sleep 0.1\n"+interval+summary)
		out, err := sysbenchSession().Slice(t.Context(), run.Spec{Duration: time.Second}, func() {})
		if err != nil || out.Ops != 2000 || !strings.Contains(strings.Join(out.Warnings, ""), "underflow") {
			t.Errorf("%v, %+v", err, out)
		}
	})
	t.Run("short of events", func(t *testing.T) {
		fake(t, "sysbench", banner+"sleep 0.1\n"+summary)
		if _, err := sysbenchSession().Slice(t.Context(), run.Spec{Ops: 3000}, func() {}); err == nil || !strings.Contains(err.Error(), "2000 events of 3000") {
			t.Error(err)
		}
	})
}

// A tool is ended with the slice, whatever it does.
func TestToolHangs(t *testing.T) {
	gone := errors.New("the server is gone")
	for name, script := range map[string]string{"before the start": "sleep 60", "in mid-run": banner + "sleep 60"} {
		fake(t, "sysbench", script)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(200*time.Millisecond, func() { cancel(gone) })
		began := time.Now()
		_, err := sysbenchSession().Slice(ctx, run.Spec{Duration: time.Second, Timeout: time.Minute}, func() {})
		if took := time.Since(began); !errors.Is(err, gone) || took > 2*time.Second {
			t.Errorf("%s: %v after %s", name, err, took)
		}
	}
	fake(t, "sysbench", banner+"sleep 60")
	if _, err := sysbenchSession().Slice(t.Context(), run.Spec{Duration: time.Second, Timeout: time.Millisecond}, func() {}); err == nil || !strings.Contains(err.Error(), "no end after 2.001s") {
		t.Error(err)
	}
}

// A version that can warm up does so in one run; an older one has a run before.
func TestToolDiscard(t *testing.T) {
	for _, minor := range []int{0, 1} {
		log := filepath.Join(t.TempDir(), "log")
		fake(t, "sysbench", fmt.Sprintf("echo \"$@\" >>%s\n", log)+banner+"sleep 1.2\n"+summary)
		s := sysbenchSession()
		s.version.Minor = minor
		began := time.Now()
		var measured time.Duration
		if _, err := s.Slice(t.Context(), run.Spec{Discard: 900 * time.Millisecond, Duration: time.Second}, func() { measured = time.Since(began) }); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if runs, warm := strings.Count(string(b), "\n"), strings.Count(string(b), "--warmup-time=1"); runs != 2-minor || warm != minor {
			t.Errorf("1.%d: called with\n%s", minor, b)
		}
		if measured < time.Second {
			t.Errorf("1.%d: measured from %s on, want 1 s and more", minor, measured)
		}
	}
}

func slapSession() *toolSession {
	return &toolSession{toolDriver: toolDriver{
		Tool: lab.Tool{Program: lab.Mysqlslap, Query: "SELECT 1"}, version: extern.Version{Tool: "mysqlslap", Family: lab.MariaDB, Major: 10}, schema: "x", socket: "/nowhere", clients: 2,
	}}
}

// mysqlslap knows no time: it is given as many queries as it will need for one. This one takes 1 ms for
// each, says some sleeping.
const slowSlap = `for a; do case $a in --number-of-queries=*) n=${a#*=} ;; --concurrency=*) c=${a#*=} ;; esac; done
t=$(printf %d.%03d $((n/1000)) $((n%1000)))
echo ",mixed,$t,$t,$t,$c,$((n/c))"
`

func TestSlapSlice(t *testing.T) {
	t.Setenv("MYSQL_PWD", "of another server") // our accounts have none, and would refuse it
	fake(t, "mysqlslap", "if [ \"$MYSQL_PWD\" ]; then echo 'mysqlslap: Error when connecting to server: Access denied' >&2; exit 1; fi\n"+slowSlap)
	s := slapSession()
	measured := 0
	out, err := s.Slice(t.Context(), run.Spec{Duration: 3 * time.Second}, func() { measured++ })
	if err != nil || out.Ops != 3000 || out.Wall != 3 || out.Latency != 0 || measured != 1 {
		t.Errorf("%v, %+v, measured %d times; want 3000 queries in 3 s", err, out, measured)
	}
	if out, err = s.Slice(t.Context(), run.Spec{Ops: 400}, func() {}); err != nil || out.Ops != 400 {
		t.Errorf("%v, %+v; want 400 queries", err, out)
	}
	// It has become ten times as fast since: the slice that shows it is discarded.
	fake(t, "mysqlslap", strings.ReplaceAll(slowSlap, "n/1000)) $((n%1000))", "n/10000)) $((n/10%1000))"))
	measured = 0
	if out, err = s.Slice(t.Context(), run.Spec{Duration: 3 * time.Second}, func() { measured++ }); err != nil || out.Ops != 30000 || out.Wall != 3 || measured != 2 {
		t.Errorf("%v, %+v, measured %d times; want 30000 queries in 3 s, at the second try", err, out, measured)
	}
	// Errors end with status 0, and look fast.
	fake(t, "mysqlslap", "echo \"mysqlslap: Cannot run query SELECT 1 ERROR : Table 'x.t' doesn't exist\" >&2\n"+slowSlap)
	if out, err := slapSession().Slice(t.Context(), run.Spec{Ops: 400}, func() {}); err == nil || !strings.Contains(err.Error(), "doesn't exist") || out.Ops != 0 {
		t.Errorf("%v, %+v", err, out)
	}
}

// Equal slices of all variants draw the same numbers; others do not.
func TestToolSeed(t *testing.T) {
	a, b := sysbenchSession(), sysbenchSession()
	if a.seed(3) != b.seed(3) || a.seed(3) == a.seed(4) {
		t.Errorf("seeds %d, %d, %d", a.seed(3), b.seed(3), a.seed(4))
	}
	b.work.Block = 1
	if a.seed(3) == b.seed(3) {
		t.Error("two blocks, one seed")
	}
	for seq := range 1000 {
		if s := a.seed(seq); s < 1 || s > 1<<30 {
			t.Fatalf("seed %d", s)
		}
	}
}

// The example's steps give verdicts by all three clients, and a server that a tool kills
// with a statement is a reason in its slices.
func TestRealTools(t *testing.T) {
	c := newCLI(t)
	if err := os.CopyFS(filepath.Join(c.dir, "examples"), os.DirFS(filepath.Join("..", "..", "examples"))); err != nil {
		t.Fatal(err)
	}
	out, _ := c.must(0, "check", "examples/real-sysbench.toml")
	for _, want := range []string{"3 steps", "sysbench 1.", "mysqlslap "} {
		if !strings.Contains(out, want) {
			t.Errorf("check does not say %q:\n%s", want, out)
		}
	}
	own := `
name = "own"
[[table]]
name = "t"
rows = 10
create = ["CREATE TABLE t (id INT NOT NULL PRIMARY KEY, n INT NOT NULL) ENGINE={engine}"]
columns.id = "row"
columns.n = 0
[[step]]
name = "count"
group = "write"
[step.tool]
program = "sysbench"
script = "count.lua"
options.step = 2
[[step]]
name = "broken"
group = "write"
sql = "UPDATE nosuch SET n = 1"
[step.tool]
program = "mysqlslap"
`
	lua := `
sysbench.cmdline.options = { step = {"added to a row", 1} }
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query(string.format("UPDATE t SET n = n + %d WHERE id = %d", sysbench.opt.step, sysbench.rand.uniform(1, 10))) end
function thread_done() con:disconnect() end
`
	exp := `
builds = ["mariadb@10.11"]
clients = [2]
[[workload]]
name = "examples/workloads/real-sysbench.toml"
steps = ["point-sysbench", "point-mysqlslap"]
params.rows = 1000
[[workload]]
name = "examples/own.toml"
steps = ["count"]
[plan]
slices = 2
slice = "100ms"
blocks = 1
`
	for name, text := range map[string]string{"examples/own.toml": own, "examples/count.lua": lua, "exp.toml": exp} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.must(0, "run", "exp.toml")
	r, slices := c.slices()
	if !strings.Contains(r.Host.Client, "sysbench 1.") {
		t.Errorf("the run does not tell the tool's version: %s", r.Host.Client)
	}
	steps := map[string]int{}
	for _, s := range slices {
		steps[s.Cell.Step.Name]++
		cpu := s.Usage.ClientUser + s.Usage.ClientSystem
		if s.Err != "" || s.Ops < 100 || s.Wall < 0.05 || cpu <= 0 || cpu > 2*s.Wall || s.Usage.ServerUser <= 0 || len(s.Hist) > 0 {
			t.Errorf("%+v", s)
		}
		if known := s.Latency > 0; known != (s.Cell.Step.Name != "point-mysqlslap") {
			t.Errorf("%s: latency %g s", s.Cell, s.Latency)
		}
	}
	if len(steps) != 3 || steps["count"] != 2 {
		t.Errorf("slices %v", steps)
	}
	_, errs := c.must(2, "run", "--build", "mariadb@10.11", "--workload", "examples/own.toml", "--steps", "broken")
	if !strings.Contains(errs, "nosuch' doesn't exist") {
		t.Errorf("a statement that fails:\n%s", errs)
	}
}

// What is not there is said before anything is run.
func TestToolMissing(t *testing.T) {
	c := newCLI(t)
	w := "name = \"w\"\n[[step]]\nname = \"s\"\ngroup = \"point\"\nread = true\n[step.tool]\nprogram = \"sysbench\"\nscript = %q\n"
	for script, want := range map[string]string{"nosuch": "Cannot find benchmark 'nosuch'", "sub/nosuch.lua": "sub/nosuch.lua", "bad.lua": "bad.lua"} {
		for name, text := range map[string]string{"w.toml": fmt.Sprintf(w, script), "bad.lua": "function ("} {
			if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, errs := c.must(2, "check", "--build", "mariadb@10.11", "--workload", "w.toml")
		if !strings.Contains(errs, want) || !strings.Contains(errs, "workload w.toml: step s") {
			t.Errorf("%s: %s", script, errs)
		}
	}
	if err := os.WriteFile(filepath.Join(c.dir, "w.toml"), []byte(fmt.Sprintf(w, "oltp_point_select")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "/nowhere")
	_, errs := c.must(2, "check", "--build", "mariadb@10.11", "--workload", "w.toml")
	if !strings.Contains(errs, "sysbench: program not found; install it") {
		t.Error(errs)
	}
}
