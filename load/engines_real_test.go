package load_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"backslide/lab"
	"backslide/load"
	"backslide/wire"
	"backslide/workloads"
)

// matrixEnv, if set, has TestEngines run on MySQL and an older MariaDB too: some minutes.
const matrixEnv = "BACKSLIDE_ENGINES_FULL"

// engineHost is a server with the engines that it has.
type engineHost struct {
	build, plugin string
	engines       []string
}

// TestEngines runs every step of the workloads that come with backslide on every engine,
// with next to no data: each does its operations, or the plan refuses it beforehand. What
// one client reads and changes, and the tables that are left, are the same on all. Steps
// that another tool drives are its own business.
func TestEngines(t *testing.T) {
	hosts := []engineHost{{"mariadb@11.8", "MyRocks", []string{"InnoDB", "MyRocks", "MyISAM", "Aria", "MEMORY"}}}
	if os.Getenv(matrixEnv) != "" {
		hosts = append(hosts, engineHost{"mysql@9.7", "", []string{"InnoDB", "MyISAM", "MEMORY"}},
			engineHost{"mariadb@10.11", "MyRocks", []string{"InnoDB", "MyRocks", "MyISAM", "Aria", "MEMORY"}})
	}
	all := &agreed{want: map[string]string{}}
	for _, h := range hosts {
		t.Run(h.build, func(t *testing.T) {
			options := []lab.Option{{Name: "max_heap_table_size", Value: "64M"}, {Name: "sync_binlog", Value: "0"}, {Name: "character_set_server", Value: "latin1"}}
			if h.plugin != "" {
				options = append(options, smallBuffers()...)
			}
			l := startServer(t, h.build, h.plugin, options...)
			for _, engine := range h.engines {
				t.Run(engine, func(t *testing.T) {
					t.Parallel() // times are nothing to go by, contents are
					var refused []string
					for _, w := range tinyWorkloads(t) {
						refused = append(refused, all.run(t, l, engine, w)...)
					}
					want := map[string][]string{"MEMORY": {"ddl check-table"}}[engine]
					if !slices.Equal(refused, want) {
						t.Errorf("refused beforehand: %q, want %q", refused, want)
					}
				})
			}
		})
	}
}

// tiny is a workload with parameters that make it small.
type tiny struct {
	name, file, text string
	params           map[string]string
}

func tinyWorkloads(t *testing.T) []tiny {
	var out []tiny
	for _, name := range workloads.Names() {
		file, text, _ := workloads.Text(name)
		out = append(out, tiny{name, file, text, map[string]map[string]string{
			"bug68079":  {"incidents": "200", "tasks": "250", "both": "20"},
			"ddl":       {"rows": "100", "tables": "2", "creates": "2"},
			"insert":    {"rows": "1000", "more": "250", "seconds": "1"},
			"slap":      {"rows": "1200"},
			"sqlbench":  {"rows": "400"},
			"sysbench":  {"rows": "300", "tables": "2"},
			"wisconsin": {"rows": "1000"},
		}[name]})
	}
	files, err := filepath.Glob("../examples/workloads/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no example workloads: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tiny{filepath.Base(file), file, string(b), map[string]string{"rows": "200"}})
	}
	return out
}

// agreed is what steps did where they were run first, which is what they have to do
// elsewhere.
type agreed struct {
	mu   sync.Mutex
	want map[string]string
	own  sync.Mutex // held by a workload that makes databases of its own
}

func (a *agreed) same(t *testing.T, what, got string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.want[what] == "" {
		a.want[what] = got
	} else if got != a.want[what] {
		t.Errorf("%s: %s, elsewhere %s", what, got, a.want[what])
	}
}

// run runs the steps of a workload with one client, then with two, and returns those that
// are refused. The steps of a chain are run once, each of two clients on its own table.
func (a *agreed) run(t *testing.T, l *live, engine string, tw tiny) (refused []string) {
	began := time.Now()
	if tw.name == "sqlbench" {
		a.own.Lock()
		defer a.own.Unlock()
	}
	schema := fmt.Sprintf("%s_%s", strings.ToLower(engine), strings.ReplaceAll(strings.TrimSuffix(tw.name, ".toml"), "-", "_"))
	rows(t, l.dial(""), "CREATE DATABASE "+schema)
	defer rows(t, l.dial(""), "DROP DATABASE "+schema)
	w, err := load.Parse(tw.file, tw.text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Bind(tw.params, load.Target{Family: l.build.Family, Version: l.build.VersionNumber(), Engine: engine, Schema: schema, Clients: 2})
	if err != nil {
		t.Fatal(err)
	}
	_, facts := p.Engine(w.Steps)
	for _, f := range facts {
		if len(f.Steps) == 0 {
			return []string{tw.name + ": " + f.What}
		}
		for _, step := range f.Steps {
			refused = append(refused, tw.name+" "+step)
		}
	}
	if err := p.Load(t.Context(), l.dial(schema), load.LoadOptions{Seed: 3}); err != nil {
		t.Errorf("load %s: %v", tw.name, err)
		return refused
	}
	steps := slices.DeleteFunc(slices.Clone(w.Steps), func(s load.StepInfo) bool {
		return s.Tool != "" || slices.Contains(refused, tw.name+" "+s.Name)
	})
	if !w.Chain {
		for _, st := range steps {
			a.step(t, l, p, st, 1)
		}
		a.same(t, tw.name+": the tables after one client's steps", contents(t, l, schema))
	}
	for _, st := range steps {
		a.step(t, l, p, st, 2)
	}
	if w.Chain {
		a.same(t, tw.name+": the tables after all steps", contents(t, l, schema))
	}
	if tw.name == "ddl" {
		counts := strings.Contains(fmt.Sprint(rows(t, l.dial(schema), "EXPLAIN FORMAT=TRADITIONAL SELECT COUNT(*) FROM pi1 FORCE INDEX (`PRIMARY`)")), "optimized away")
		if known := l.build.Family == lab.MariaDB && slices.Contains([]string{"MyISAM", "Aria", "MEMORY"}, engine); counts != known {
			t.Errorf("rows of a table are counted without reading them: %v, the plan says %v", counts, known)
		}
	}
	t.Logf("%s %.1f s", tw.name, time.Since(began).Seconds())
	return refused
}

// step runs a few operations of a step.
func (a *agreed) step(t *testing.T, l *live, p *load.Program, st load.StepInfo, clients int) {
	what := fmt.Sprintf("%s %s, %d clients", p.Workload.Name, st.Name, clients)
	settled, err := p.Settle(t.Context(), st.Name, l.dial(p.Target.Schema))
	if err != nil {
		t.Errorf("%s: settle: %v", what, err)
	}
	for _, s := range settled {
		if !s.Reached {
			t.Errorf("%s: %s was not reached in %s", what, s.Name, s.Took)
		}
	}
	dial := l.dial(p.Target.Schema)
	sum := new(atomic.Uint64)
	if clients == 1 {
		dial = summing(dial, sum)
	}
	r, err := few(t, p, st, clients, dial)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if r.Ops == 0 && !p.Workload.Chain {
		t.Errorf("%s did nothing", what)
	}
	for _, part := range r.Parts {
		if part.Ops == 0 {
			t.Errorf("%s: %s did nothing", what, part.Role)
		}
	}
	if clients == 1 {
		a.same(t, what, fmt.Sprintf("%d operations, %d rows, errors %v, contents %x", r.Ops, r.Rows, r.Errors, sum.Load()))
	}
}

// few runs three operations of each client, or as many as the step is made of.
func few(t *testing.T, p *load.Program, st load.StepInfo, clients int, dial load.Dial) (_ load.Result, err error) {
	s, err := p.Session(t.Context(), load.Work{Step: st.Name, Clients: clients, Seed: 5}, dial, load.Options{})
	if err != nil {
		return load.Result{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	each := 3 * max(1, p.PerTransaction(st.Name))
	if n := p.Ops(st.Name); n > 0 && (p.Workload.Chain || n < each) {
		each = n
	}
	return s.Slice(t.Context(), load.SliceSpec{Ops: int64(clients) * each, Timeout: time.Minute}, func() {})
}

// contents returns for each table of a schema how many rows it has, and their sum.
func contents(t *testing.T, l *live, schema string) string {
	out := map[string]string{}
	for _, table := range rows(t, l.dial(schema), "SELECT table_name FROM information_schema.tables WHERE table_schema = '"+schema+"'") {
		got := rows(t, l.dial(schema), "SELECT * FROM "+table[0])
		for i := range got { // a column that an engine cannot have is NULL elsewhere
			got[i] = slices.DeleteFunc(got[i], func(v string) bool { return v == wire.Null })
		}
		out[table[0]] = fmt.Sprintf("%d rows, %x", len(got), sumOf(got))
	}
	text := ""
	for _, name := range slices.SortedFunc(maps.Keys(out), cmp.Compare[string]) {
		text += name + " " + out[name] + "; "
	}
	return text
}

func rows(t *testing.T, dial load.Dial, sql string) [][]string {
	t.Helper()
	c, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, out, err := c.(conn).Rows(sql)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
