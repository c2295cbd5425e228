package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"backslide/lab"
)

// injected is a difference between two servers that was made on purpose, and what explain
// has to say of it.
type injected struct {
	experiment string
	files      map[string]string // beside the experiment
	step       string
	first      []lab.CauseKind // the first cause is of one of these kinds
	names      []string        // one of these is named by the first cause or its evidence
}

const shortPlan = `
[plan]
blocks = 16
slices = 4
slice = "100ms"
warm = "200ms"
stop = "amber"
`

func injections() map[string]injected {
	return map[string]injected{
		// The index that the adaptive hash index spares is searched again: CPU, in the
		// descent, in the search of each page, or in its comparisons of keys.
		"hash index off": {
			experiment: `
name = "ahi"
builds = ["mysql@5.6"]
clients = [1]
[[config]]
name = "on"
options = { innodb_adaptive_hash_index = "ON" }
[[config]]
name = "off"
options = { innodb_adaptive_hash_index = "OFF" }
[[workload]]
name = "slap"
steps = ["q4-1000"]
` + shortPlan + `placement = "one-core"
`,
			step: "q4-1000", first: []lab.CauseKind{lab.CPUCause},
			names: []string{"btr_cur_search_to_nth_level", "page_cur_search_with_match", "cmp_dtuple_rec_with_match"},
		},
		"an index is missing": {
			experiment: `
name = "index"
builds = ["mariadb@10.11", "mariadb@11.8"]
clients = [1]
[[workload]]
name = "w.toml"
` + shortPlan + `placement = "one-core"
`,
			files: map[string]string{"w.toml": `
name = "by-a"
[[table]]
name = "t"
rows = 3000
create = ["CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT NOT NULL, b VARCHAR(60) NOT NULL) ENGINE={engine}"]
columns.a = "uniform(1, 3000)"
columns.b = "'in no index'"
after = [{ sql = "CREATE INDEX a ON t (a)", below = "11.0" }, "ANALYZE TABLE t"]
[[step]]
name = "by-a"
group = "point"
sql = "SELECT b FROM t WHERE a = :a"
args.a = "uniform(1, 3000)"
`},
			step: "by-a", first: []lab.CauseKind{lab.PlanCause}, names: []string{"ref a(1) -> ALL"},
		},
		// Each write throws out all results of the table, under the one mutex of the query cache.
		"one mutex for all": {
			experiment: `
name = "mutex"
builds = ["mysql@5.6"]
clients = [32]
[[config]]
name = "off"
options = { query_cache_type = 0, query_cache_size = 0 }
[[config]]
name = "on"
options = { query_cache_type = 1, query_cache_size = "64M" }
[[workload]]
name = "w.toml"
` + shortPlan,
			files: map[string]string{"w.toml": `
name = "cached"
[[table]]
name = "t"
rows = 20000
create = ["CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, a INT NOT NULL) ENGINE={engine}"]
columns.a = "uniform(1, 1000)"
[[step]]
name = "mix"
group = "point"
prepared = false
args.id = "uniform(1, 20000)"
[[step.transaction]]
weight = 98
[[step.transaction.statement]]
sql = "SELECT a FROM t WHERE id = :id"
[[step.transaction]]
weight = 2
[[step.transaction.statement]]
sql = "UPDATE t SET a = a + 1 WHERE id = :id"
`},
			step: "mix", first: []lab.CauseKind{lab.WaitCause, lab.SpinCause, lab.BlockedCause}, names: []string{"Query_cache"},
		},
		"waits are timed": {
			experiment: `
name = "timed"
builds = ["mysql@5.6"]
clients = [1]
[[config]]
name = "off"
options = { performance_schema = "OFF" }
[[config]]
name = "on"
options = { performance_schema = "ON", performance_schema_instrument = "%=ON", performance_schema_consumer_events_waits_history_long = "ON", performance_schema_consumer_events_waits_history = "ON", performance_schema_consumer_events_waits_current = "ON" }
[[workload]]
name = "slap"
steps = ["q4-1000"]
` + shortPlan + `placement = "one-core"
`,
			step: "q4-1000", first: []lab.CauseKind{lab.CPUCause}, names: []string{"pfs", "PFS", "_v1", "my_timer", "events_waits"},
		},
		"the binary log is synced": {
			experiment: `
name = "binlog"
builds = ["mariadb@10.11"]
clients = [1]
[[config]]
name = "relaxed"
options = { log_bin = "b", sync_binlog = 0, innodb_flush_log_at_trx_commit = 2 }
[[config]]
name = "synced"
options = { log_bin = "b", sync_binlog = 1, innodb_flush_log_at_trx_commit = 2 }
[[workload]]
name = "sysbench"
steps = ["insert"]
params = { rows = 1000, tables = 1 }
` + shortPlan + `placement = "split"
`,
			step: "insert", first: []lab.CauseKind{lab.WaitCause}, names: []string{"binlog"},
		},
		// An old read view keeps deleted rows at the head of the table: each read steps over
		// them. The plan and the rows examined are the same.
		"purge is blocked": {
			experiment: `
name = "purge"
builds = ["mariadb@11.8", "mariadb@10.11"]
clients = [1]
[[workload]]
name = "w.toml"
` + shortPlan + `placement = "one-core"
`,
			files: map[string]string{"w.toml": `
name = "queue"
[[table]]
name = "q"
rows = 20000
create = ["CREATE TABLE q (id INT PRIMARY KEY AUTO_INCREMENT, pad CHAR(100) NOT NULL) ENGINE={engine}"]
columns.id = "row"
columns.pad = "letters(100, 100)"
[[step]]
name = "first-row"
group = "point"
read = true
sql = "SELECT id FROM q LIMIT 1"
[[step.side]]
open = [{ sql = "START TRANSACTION WITH CONSISTENT SNAPSHOT", below = "11.0" }, { sql = "SELECT COUNT(*) FROM q", below = "11.0" }, "DO 1"]
close = ["COMMIT"]
[[step.side]]
open = [{ sql = "DELETE FROM q WHERE id <= 19990", below = "11.0" }, "DO 1"]
`},
			step: "first-row", first: []lab.CauseKind{lab.CPUCause}, names: []string{"server CPU"},
		},
		// It has the server's CPU half of the time: not the server's doing. Servers are up
		// one at a time, or it would take the base's too.
		"another program": {
			experiment: `
name = "hog"
builds = ["mariadb@10.11"]
clients = [1]
[[config]]
name = "alone"
options = { innodb_buffer_pool_size = "64M" }
[[config]]
name = "hogged"
options = { innodb_buffer_pool_size = "64M" }
launcher = ["/bin/sh", "-c", "(while :; do :; done) & exec \"$@\"", "hog"]
[[workload]]
name = "sysbench"
steps = ["point-query"]
params = { rows = 1000, tables = 1 }
` + shortPlan + `placement = "one-core"
memory = "1M"
`,
			step: "point-query", first: []lab.CauseKind{lab.HostCause}, names: []string{"other process"},
		},
	}
}

// TestInjectedCauses: differences that were made on purpose are found on real servers, and
// what was done is the first cause. Nothing is a cause whose interval includes zero.
func TestInjectedCauses(t *testing.T) {
	for name, in := range injections() {
		t.Run(name, func(t *testing.T) {
			c := newCLI(t)
			c.write("exp.toml", in.experiment)
			for file, text := range in.files {
				c.write(file, text)
			}
			c.must(0, "run", "exp.toml")
			out, _ := c.must(0, "explain", "last", in.step, "--rounds", "6", "--slice", "300ms", "--format", "json")
			var e lab.Explanation
			if err := json.Unmarshal([]byte(out), &e); err != nil {
				t.Fatal(err)
			}
			text, _ := c.must(0, "explain", "last", in.step, "--stored", "--stacks", "out")
			for _, file := range []string{"base.pb.gz", "candidate.pb.gz", "base.folded", "candidate.folded", "flame.svg"} {
				if info, err := os.Stat(filepath.Join(c.dir, "out", file)); err != nil || info.Size() == 0 {
					t.Errorf("%s: %v", file, err)
				}
			}
			in.check(t, e, text)
		})
	}
}

// write puts a file into the directory in which commands run.
func (c *cli) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (in injected) check(t *testing.T, e lab.Explanation, text string) {
	t.Helper()
	defer func() {
		if t.Failed() || testing.Verbose() {
			t.Logf("\n%s", text)
		}
	}()
	for _, c := range e.Causes {
		if !c.Amount.Holds() {
			t.Errorf("a cause whose interval includes zero: %+v", c)
		}
	}
	// Others' work makes every figure doubtful, as the explanation says itself: then what
	// was done has to be among the causes, if there is a verdict at all.
	if busy := othersIn(e); busy > 0.2 {
		t.Logf("other programs kept %.2f CPUs busy beside the base", busy)
		if len(e.Causes) > 0 && !slices.ContainsFunc(e.Causes, in.is) {
			t.Errorf("none of the causes is of a kind in %v and names one of %q", in.first, in.names)
		}
		return
	}
	if len(e.Causes) == 0 {
		t.Fatalf("no cause: %s", e.Headline)
	}
	if first := e.Causes[0]; !in.is(first) {
		t.Errorf("the first cause is of kind %s, want %v, and has to name one of %q:\n%s\n%s", first.Kind, in.first, in.names, first.What, strings.Join(first.Evidence, "\n"))
	}
	if e.Comparison.Verdict != lab.Regressed {
		t.Errorf("verdict %s", e.Comparison.Verdict)
	}
}

// is reports whether a cause is what was done.
func (in injected) is(c lab.Cause) bool {
	said := c.What + "\n" + strings.Join(c.Evidence, "\n")
	return slices.Contains(in.first, c.Kind) && slices.ContainsFunc(in.names, func(n string) bool { return strings.Contains(said, n) })
}

// othersIn returns how many CPUs other programs kept busy while the base was measured.
func othersIn(e lab.Explanation) float64 {
	for _, c := range e.Beside {
		if c.Name == "other processes" {
			return c.Base
		}
	}
	return 0
}

// TestKnownTimes: time that is spent on purpose lands in the component of the budget that
// it belongs to. The older server does more, by what the workload says for its version.
func TestKnownTimes(t *testing.T) {
	c := newCLI(t)
	c.write("exp.toml", `
name = "times"
builds = ["mariadb@11.8", "mariadb@10.11"]
clients = [4]
[[workload]]
name = "w.toml"
`+strings.Replace(shortPlan, `slice = "100ms"`, `slice = "200ms"`, 1))
	c.write("w.toml", `
name = "times"
[[table]]
name = "t"
rows = 1000
create = ["CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT NOT NULL) ENGINE={engine}"]
columns.id = "row"
columns.a = "0"
[[step]]
name = "sleep"
group = "point"
read = true
choose = [{ sql = "DO SLEEP(0.003)", below = "11.0" }, "DO SLEEP(0.001)"]
[[step]]
name = "busy"
group = "point"
read = true
choose = [{ sql = "DO BENCHMARK(60000, 1 + 1)", below = "11.0" }, "DO BENCHMARK(20000, 1 + 1)"]
[[step]]
name = "lock"
group = "write"
begin = true
ops = 400
args.id = "uniform(1, 1000)"
[[step.statement]]
choose = [{ sql = "UPDATE t SET a = a + 1 WHERE id = 1 + 0 * :id", below = "11.0" }, "UPDATE t SET a = a + 1 WHERE id = :id"]
[[step.statement]]
sql = "DO SLEEP(0.002)"
`)
	c.must(0, "run", "exp.toml", "--diagnose", "4")
	for step, want := range map[string]struct {
		kinds []lab.CauseKind
		name  string  // in the cause
		least float64 // seconds per operation
		most  float64
	}{
		"sleep": {[]lab.CauseKind{lab.BlockedCause, lab.WaitCause}, "", 0.0015, 0.004},
		"busy":  {[]lab.CauseKind{lab.CPUCause}, "server CPU", 0.0001, 0.1},
		// Of four clients, three wait for the one that has the row.
		"lock": {[]lab.CauseKind{lab.WaitCause, lab.BlockedCause}, "", 0.003, 0.02},
	} {
		out, _ := c.must(0, "explain", "last", step, "--stored", "--format", "json")
		var e lab.Explanation
		if err := json.Unmarshal([]byte(out), &e); err != nil {
			t.Fatal(err)
		}
		sum, found := 0.0, false
		for _, cause := range e.Causes {
			if slices.Contains(want.kinds, cause.Kind) && strings.Contains(cause.What, want.name) {
				sum, found = sum+cause.Amount.Diff, true
			}
		}
		if !found || sum < want.least || sum > want.most || !slices.Contains(want.kinds, e.Causes[0].Kind) {
			text, _ := c.must(0, "explain", "last", step, "--stored")
			t.Errorf("%s: %.4f s in causes of the kinds %v, want %v to %v and the first of them:\n%s", step, sum, want.kinds, want.least, want.most, text)
		}
		// What was watched is evidence of a bug report.
		if out, _ := c.must(0, "report", "--format", "bug", "last", step); !strings.Contains(out, "Causes, the largest share") {
			t.Errorf("%s: the bug report tells no causes:\n%s", step, out)
		}
	}
}
