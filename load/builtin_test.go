package load

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
	"backslide/workloads"
)

func builtIn(t testing.TB, name string, params map[string]string, target Target) *Program {
	t.Helper()
	file, text, ok := workloads.Text(name)
	if !ok {
		t.Fatalf("no workload %s", name)
	}
	w, err := Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Bind(params, target)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestGoldenBuiltIn shows what the built-in workloads send: their tables, first rows, and
// the first operation of every step.
func TestGoldenBuiltIn(t *testing.T) {
	my97 := Target{Family: lab.MySQL, Version: [3]int{9, 7, 4}, Engine: "InnoDB", Schema: "x"}
	memory := Target{Family: lab.MySQL, Version: [3]int{5, 6, 24}, Engine: "MEMORY", Schema: "x"}
	for file, p := range map[string]*Program{
		"slap.sql":          builtIn(t, "slap", nil, my97),
		"slap-memory.sql":   builtIn(t, "slap", nil, memory),
		"bug68079.sql":      builtIn(t, "bug68079", nil, my97),
		"sysbench.sql":      builtIn(t, "sysbench", map[string]string{"tables": "2", "rows": "1000"}, my97),
		"ddl.sql":           builtIn(t, "ddl", nil, my97),
		"insert.sql":        builtIn(t, "insert", map[string]string{"seconds": "10"}, my97),
		"insert-parted.sql": builtIn(t, "insert", map[string]string{"rows": "2000", "more": "1000", "seconds": "1", "partitions": "3", "hold": "2"}, my97),
		"insert-shared.sql": builtIn(t, "insert", map[string]string{"seconds": "10", "shared": "1", "together": "0", "catchup": "1"},
			Target{Family: lab.MariaDB, Version: [3]int{11, 8, 0}, Engine: "MyRocks", Schema: "x", Clients: 4}),
		"sqlbench.sql":  builtIn(t, "sqlbench", nil, my97),
		"wisconsin.sql": builtIn(t, "wisconsin", nil, my97),
	} {
		goldenFile(t, file, show(p))
	}
}

func show(p *Program) string {
	var b strings.Builder
	for i := range p.tables {
		tb := &p.tables[i]
		in := tb.inserter(1)
		fmt.Fprintf(&b, "%s\n%s\n%s\n", strings.Join(tb.create, "\n"), in.statement(1, 2), strings.Join(tb.after, "\n"))
	}
	for _, s := range p.Workload.Steps {
		for _, name := range p.steps[s.Name].settle {
			st := p.settles[name]
			fmt.Fprintf(&b, "\n-- settle: %s\n%s\n%s\n%s", name, strings.Join(st.do, "\n"), st.until, strings.Join(st.undo, "\n"))
		}
		fmt.Fprintf(&b, "\n-- %s, %s, read %v, counts %s\n", s.Name, s.Group, s.Read, s.Unit)
		if n := p.Ops(s.Name); n > 0 {
			fmt.Fprintf(&b, "-- %d operations\n", n)
		}
		around(&b, "before", p.steps[s.Name].before)
		for _, line := range strings.Split(render(p, s.Name, 1), "\n") {
			if len(line) > 300 {
				line = line[:300] + "…"
			}
			if line != "" {
				b.WriteString(line + "\n")
			}
		}
		around(&b, "after", p.steps[s.Name].after)
	}
	return b.String()
}

// around shows what the second of two clients sends around a slice.
func around(b *strings.Builder, when string, statements [][]part) {
	var f frame
	f.vars[varClient], f.vars[varClients] = 1, 2
	for _, parts := range statements {
		fmt.Fprintf(b, "-- %s: %.200s\n", when, appendParts(nil, parts, &f))
	}
}

// TestCatalogue counts the sysbench steps as the scripts that they come from do, and
// compares the subsets with what is known of how they differ.
func TestCatalogue(t *testing.T) {
	_, text, _ := workloads.Text("sysbench")
	w, err := Parse("sysbench.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	// The names of a selection's results, and how many there are of each group.
	results := func(names ...string) (out []string, counts string) {
		steps, err := w.Select(names)
		if err != nil {
			t.Fatal(err)
		}
		n := map[lab.Group]int{}
		for _, s := range steps {
			if n[s.Group]++; !s.Warm {
				out = append(out, s.Name)
			}
		}
		return out, fmt.Sprintf("%d: %d point %d range %d aggregate %d write, %d warm", len(out), n[lab.Point], n[lab.Range], n[lab.Aggregate], n[lab.Write], n[""])
	}
	for subset, want := range map[string]string{
		"all":         "47: 17 point 9 range 11 aggregate 10 write, 4 warm",
		"default34":   "34: 10 point 6 range 8 aggregate 10 write, 4 warm",
		"published32": "32: 9 point 5 range 8 aggregate 10 write, 4 warm",
		"classic42":   "42: 17 point 9 range 6 aggregate 10 write, 3 warm",
		"first":       "5: 1 point 2 range 0 aggregate 2 write, 0 warm",
	} {
		if _, got := results(subset); got != want {
			t.Errorf("%s has %s, want %s", subset, got, want)
		}
	}
	if len(w.Steps) != 51 {
		t.Errorf("%d steps in all, want 51", len(w.Steps))
	}
	published, _ := results("32")
	today, _ := results()
	classic, _ := results("42")
	for _, c := range []struct {
		what        string
		from, minus []string
		want        []string
	}{
		{"run by default and not published", today, published, []string{"point-query.pre", "range-notcovered-si.pre"}},
		{"published and not run in 2023", published, classic, []string{"read-only-simple", "read-only-sum", "read-only-order", "read-only-distinct", "read-only-count"}},
		{"run in 2023 and not published, fresh tables apart", slices.DeleteFunc(slices.Clone(classic), fresh), published, nil},
	} {
		var got []string
		for _, s := range c.from {
			if !slices.Contains(c.minus, s) {
				got = append(got, s)
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, d)
		}
	}
	// What is read of fresh tables is read again of fragmented ones.
	for _, s := range classic {
		if again := strings.TrimSuffix(s, ".pre"); !slices.Contains(classic, again) {
			t.Errorf("%s is without %s", s, again)
		}
	}
	// Queries per transaction, from the archives.
	p := builtIn(t, "sysbench", nil, Target{Family: lab.MySQL, Version: [3]int{8, 4, 0}, Engine: "InnoDB"})
	for step, want := range map[string]int64{"read-only-100": 16, "read-write-10": 20, "write-only": 6, "read-only-sum": 13, "scan": 100000, "point-query": 1} {
		if got := p.steps[step].per; got != want {
			t.Errorf("%s counts %d operations to a transaction, want %d", step, got, want)
		}
	}
}

func fresh(step string) bool { return strings.HasSuffix(step, ".pre") }

// TestBug68079 counts keys and categories of the generated rows as the report's dump has
// them.
func TestBug68079(t *testing.T) {
	p := builtIn(t, "bug68079", nil, Target{Family: lab.MariaDB, Version: [3]int{11, 8, 0}, Engine: "InnoDB"})
	column := func(table, column int) map[string]int {
		tb := &p.tables[table]
		var f frame
		out := map[string]int{}
		for f.vars[varRow] = 1; f.vars[varRow] <= tb.rows; f.vars[varRow]++ {
			out[string(tb.exprs[column].app(&f, nil))]++
		}
		return out
	}
	incidents, categories, tasks := column(0, 1), column(0, 0), column(1, 0)
	both := 0
	for key := range tasks {
		both += incidents[key]
	}
	if got, want := []int{len(incidents), len(categories), len(tasks), both}, []int{8192, 8191, 8292, 103}; !slices.Equal(got, want) {
		t.Errorf("incidents, categories, tasks and common keys: %v, want %v", got, want)
	}
}

// TestLoading fills tables with different numbers of workers: the same rows are sent.
func TestLoading(t *testing.T) {
	p := builtIn(t, "sysbench", map[string]string{"tables": "3", "rows": "5000"}, Target{Family: lab.MariaDB, Version: [3]int{11, 8, 0}, Engine: "InnoDB"})
	fill := func(workers int, seed uint64) (inserts, others []string) {
		srv := newFake(t)
		srv.record()
		calls := 0
		var last, total int64
		o := LoadOptions{Seed: seed, Workers: workers, Progress: func(r, n int64) { calls++; last, total = r, n }}
		if err := p.Load(context.Background(), srv.dial, o); err != nil {
			t.Fatal(err)
		}
		if calls == 0 || last != 15000 || total != 15000 {
			t.Errorf("progress ended at %d of %d", last, total)
		}
		for _, sql := range srv.logged() {
			if strings.HasPrefix(sql, "INSERT") {
				inserts = append(inserts, sql)
			} else if !strings.HasPrefix(sql, "SET") {
				others = append(others, sql)
			}
		}
		sort.Strings(inserts)
		sort.Strings(others)
		return inserts, others
	}
	one, other := fill(1, 1)
	// Rows are the same whether they are bound to a prepared statement or written as text.
	var texts []string
	for i := range p.tables {
		tb := &p.tables[i]
		per := tb.perInsert(1)
		for from := int64(1); from <= tb.rows; from += per {
			texts = append(texts, string(tb.inserter(1).statement(from, min(from+per-1, tb.rows))))
		}
	}
	sort.Strings(texts)
	if d := cmp.Diff(texts, one); d != "" {
		t.Errorf("prepared rows differ from texts (-text +sent):\n%.2000s", d)
	}
	four, _ := fill(4, 1)
	if d := cmp.Diff(one, four); d != "" {
		t.Errorf("other rows with more workers:\n%.2000s", d)
	}
	if second, _ := fill(2, 2); cmp.Equal(one, second) {
		t.Error("another seed, the same rows")
	}
	if len(other) != 4*3 { // drop, create, index and analyze of each
		t.Errorf("besides inserts:\n%s", strings.Join(other, "\n"))
	}
	for _, sql := range one {
		if len(sql) > maxInsert+1000 {
			t.Errorf("a statement of %d bytes", len(sql))
		}
	}
	a, b := p.DataID(1), p.DataID(2)
	if a == b || a != p.DataID(1) || p.RowsDigest(1) == p.RowsDigest(2) {
		t.Errorf("data IDs %s and %s", a, b)
	}
}

func TestLoadRefused(t *testing.T) {
	p := builtIn(t, "slap", nil, Target{Family: lab.MariaDB, Version: [3]int{11, 8, 0}, Engine: "InnoDB"})
	srv := newFake(t)
	srv.handle = func(_ int, sql string) lab.Reply {
		if strings.HasPrefix(sql, "INSERT") {
			return lab.Reply{Code: 1114, Message: "The table 'foo' is full"}
		}
		return lab.Reply{}
	}
	err := p.Load(context.Background(), srv.dial, LoadOptions{Seed: 1, Workers: 2})
	if err == nil || !strings.Contains(err.Error(), "is full") || !strings.Contains(err.Error(), "INSERT INTO foo") || len(err.Error()) > 400 {
		t.Errorf("got %v", err)
	}
}

// TestLoadingInTheWay: rows that the server undid for another transaction are sent again, a
// few times, and nothing else is inserted before the first of a table.
func TestLoadingInTheWay(t *testing.T) {
	p := builtIn(t, "sysbench", map[string]string{"tables": "1", "rows": "9000"}, Target{Family: lab.MariaDB, Version: [3]int{10, 11, 0}, Engine: "InnoDB"})
	first := string(p.tables[0].inserter(1).statement(1, p.tables[0].perInsert(1)))
	for _, always := range []bool{false, true} {
		var mu sync.Mutex
		sent, stored := map[string]int{}, map[string]int{}
		srv := newFake(t)
		srv.handle = func(_ int, sql string) lab.Reply {
			if !strings.HasPrefix(sql, "INSERT") {
				return lab.Reply{}
			}
			mu.Lock()
			defer mu.Unlock()
			if sql != first && stored[first] == 0 {
				t.Errorf("sent before the first rows: %.60s", sql)
			}
			if sent[sql]++; always || sent[sql]%2 == 1 {
				return lab.Reply{Code: 1213, Message: "Deadlock found when trying to get lock; try restarting transaction"}
			}
			stored[sql]++
			return lab.Reply{}
		}
		err := p.Load(context.Background(), srv.dial, LoadOptions{Seed: 1, Workers: 3})
		if always {
			if err == nil || !strings.Contains(err.Error(), "Deadlock") || sent[first] != fillTries {
				t.Errorf("always in the way: %v, sent %d times", err, sent[first])
			}
			continue
		}
		per := p.tables[0].perInsert(1)
		if want := int((9000 + per - 1) / per); err != nil || len(stored) != want {
			t.Errorf("%v; %d statements are stored, want %d", err, len(stored), want)
		}
		for sql, n := range stored {
			if n != 1 {
				t.Errorf("stored %d times: %.60s", n, sql)
			}
		}
	}
}

// TestSideSessions holds a transaction open beside the clients, and settles before.
func TestSideSessions(t *testing.T) {
	p := mustBind(t, `
name = "w"
[[settle]]
name = "rest"
count = 2
do = ["DO {t}", "DO 0"]
until = ["SELECT ready"]
every = "1ms"
limit = "500ms"
undo = ["UNDO 1"]
[[step]]
name = "s"
group = "point"
read = true
settle = ["rest"]
sql = "SELECT :a"
args.a = 5
[[step.side]]
open = ["A", "B"]
close = ["C"]
`)
	srv := newFake(t)
	srv.record()
	asked := 0
	inner := srv.handle
	srv.handle = func(c int, sql string) lab.Reply {
		inner(c, sql)
		if sql == "SELECT ready" {
			asked++
			return lab.Reply{Rows: int64(max(asked, 0) / 3)}
		}
		return lab.Reply{Rows: 1}
	}
	settled, err := p.Settle(context.Background(), "s", srv.dial)
	if err != nil || len(settled) != 1 || !settled[0].Reached || asked != 3 {
		t.Errorf("settled %+v after %d questions: %v", settled, asked, err)
	}
	if d := cmp.Diff([]string{"DO 1", "DO 0", "DO 2", "DO 0", "SELECT ready", "SELECT ready", "SELECT ready", "UNDO 1"}, srv.logged()); d != "" {
		t.Errorf("statements of a settle action (-want +got):\n%s", d)
	}
	asked = -1000
	if settled, err = p.Settle(context.Background(), "s", srv.dial); err != nil || settled[0].Reached {
		t.Errorf("never settled: %+v %v", settled, err)
	}
	before := len(srv.logged())
	sess, err := p.Session(context.Background(), Work{Step: "s", Clients: 1}, srv.dial, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sess.Slice(context.Background(), SliceSpec{Ops: 2}, func() {}); err != nil {
		t.Fatal(err)
	}
	if err := sess.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"A", "B", "SELECT 5", "SELECT 5", "C"}, srv.logged()[before:]); d != "" {
		t.Errorf("statements (-want +got):\n%s", d)
	}
}
