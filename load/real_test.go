package load_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"backslide/lab"
	"backslide/load"
	"backslide/server"
	"backslide/server/servertest"
	"backslide/wire"
	"backslide/workloads"
)

// live is a running server with an empty schema named test.
type live struct {
	*server.Server
	build lab.Build
}

func startServer(t testing.TB, name, engine string, options ...lab.Option) *live {
	t.Helper()
	b, s := servertest.Start(t, name, options, func(spec *server.Spec) { spec.Engine = engine })
	l := &live{s, b}
	c, err := l.dial("")(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if r, err := c.Query("CREATE DATABASE test"); err != nil || r.Code != 0 && r.Code != 1007 {
		t.Fatalf("create the schema: %v %v", r, err)
	}
	return l
}

// smallBuffers are options of a server with MyRocks, which clears buffers of these sizes for
// every index that it makes.
func smallBuffers() []lab.Option {
	return []lab.Option{{Name: "rocksdb_merge_buf_size", Value: "1M"}, {Name: "rocksdb_merge_combine_read_size", Value: "8M"}}
}

func (l *live) dial(schema string) load.Dial {
	return func(ctx context.Context) (load.Conn, error) {
		c, err := wire.Dial(ctx, wire.Options{Network: "unix", Address: l.Socket(), User: server.User, Schema: schema})
		return conn{c}, code(err)
	}
}

// conn gives errors their numbers.
type conn struct{ *wire.Conn }

func (c conn) Prepare(sql string) (int, int, error) {
	stmt, params, err := c.Conn.Prepare(sql)
	return stmt, params, code(err)
}

func code(err error) error {
	if e := (*wire.ServerError)(nil); errors.As(err, &e) {
		return refusal{err, e.Code}
	}
	return err
}

type refusal struct {
	error
	number int
}

func (r refusal) ErrorCode() int { return r.number }
func (r refusal) Unwrap() error  { return r.error }

func (l *live) bind(t testing.TB, workload, engine string, params map[string]string) *load.Program {
	t.Helper()
	file, text, ok := workloads.Text(workload)
	if !ok {
		t.Fatalf("no workload %s", workload)
	}
	w, err := load.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Bind(params, load.Target{Family: l.build.Family, Version: l.build.VersionNumber(), Engine: engine, Schema: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// text returns the only value of a query.
func (l *live) text(t testing.TB, sql string) string {
	t.Helper()
	db, err := l.DB("test")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var s string
	if err := db.QueryRow(sql).Scan(&s); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return s
}

// flushing is what the server is told about writing dirty pages.
func (l *live) flushing(t testing.TB) string {
	return l.text(t, "SELECT CONCAT_WS(' ', @@GLOBAL.innodb_max_dirty_pages_pct_lwm, @@GLOBAL.innodb_max_dirty_pages_pct, @@GLOBAL.innodb_io_capacity, @@GLOBAL.innodb_io_capacity_max)")
}

// TestRealServers loads workloads on servers of all ages, and runs every step of them, whose
// rows have to be equal everywhere. TestEngines does so on all engines of one.
func TestRealServers(t *testing.T) {
	want := map[string]string{}
	same := func(t *testing.T, what, got string) {
		if want[what] == "" {
			want[what] = got
		} else if got != want[what] {
			t.Errorf("%s: %s, elsewhere %s", what, got, want[what])
		}
	}
	for _, c := range []struct {
		build, plugin string
		engines       []string
	}{
		{"mysql@5.6", "", []string{"InnoDB", "MyISAM", "MEMORY"}},
		{"mariadb@10.5", "", []string{"InnoDB", "Aria"}},
		{"mariadb@11.8", "", []string{"InnoDB"}},
		{"mysql@9.7", "", []string{"InnoDB"}},
	} {
		t.Run(c.build, func(t *testing.T) {
			l := startServer(t, c.build, c.plugin, lab.Option{Name: "max_heap_table_size", Value: "64M"}, lab.Option{Name: "sync_binlog", Value: "0"})
			for _, engine := range c.engines {
				t.Run(engine, func(t *testing.T) { everyStep(t, l, engine, same) })
			}
		})
	}
}

func everyStep(t *testing.T, l *live, engine string, same func(t *testing.T, what, got string)) {
	for _, w := range []struct {
		name   string
		params map[string]string
	}{{"slap", map[string]string{"rows": "3000"}}, {"bug68079", nil}, {"sysbench", map[string]string{"rows": "1000", "tables": "2"}}} {
		p := l.bind(t, w.name, engine, w.params)
		if err := p.Load(t.Context(), l.dial("test"), load.LoadOptions{Seed: 3}); err != nil {
			t.Fatal(err)
		}
		for _, st := range p.Workload.Steps {
			set := l.flushing(t)
			settled, err := p.Settle(t.Context(), st.Name, l.dial("test"))
			if err != nil {
				t.Error(err)
			}
			if now := l.flushing(t); now != set {
				t.Errorf("%s: settling left %s, found %s", st.Name, now, set)
			}
			for _, s := range settled {
				if !s.Reached {
					t.Errorf("%s: %s was not reached in %s", st.Name, s.Name, s.Took)
				}
			}
			got, err := work(t, l, p, st)
			if err != nil {
				t.Error(err)
				continue
			}
			same(t, w.name+" "+st.Name, got)
			if want := "60 operations, 6180 rows, 0 errors"; w.name == "bug68079" && got != want {
				t.Errorf("%s: %s, want %s: 103 rows each", st.Name, got, want)
			}
		}
	}
	sums := ""
	for _, table := range []string{"sbtest1", "sbtest2"} {
		sums += l.text(t, "SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT(k, c, pad)))) FROM "+table) + " "
	}
	same(t, "tables after all steps", sums)
}

// TestRealFixedWork runs the steps of the workloads that are fixed work and leave data as
// they found them, looks whether they do, and compares the rows of different servers.
func TestRealFixedWork(t *testing.T) {
	rows := map[string]string{}
	for _, c := range []struct{ build, engine string }{{"mysql@5.6", "InnoDB"}, {"mariadb@11.8", "MyRocks"}} {
		t.Run(c.build, func(t *testing.T) {
			options := []lab.Option{{Name: "innodb_flush_log_at_trx_commit", Value: "0"}}
			if c.engine == "MyRocks" {
				options = append(options, smallBuffers()...)
			}
			l := startServer(t, c.build, c.engine, options...)
			for _, w := range []struct {
				name   string
				params map[string]string
				sums   []string
			}{
				{"ddl", map[string]string{"rows": "300", "tables": "2", "creates": "2"}, []string{"SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT_WS(',', transactionid, dateandtime, customerid, data)))) FROM pi2"}},
				{"sqlbench", map[string]string{"rows": "1000"}, []string{"SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT_WS(',', id, a, b, pad)))) FROM bench", "SELECT COUNT(*) FROM wide"}},
				{"wisconsin", map[string]string{"rows": "1000"}, []string{"SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT_WS(',', unique1, unique2, two, ten, stringu1)))) FROM tenktup1"}},
			} {
				p := l.bind(t, w.name, c.engine, w.params)
				if err := p.Load(t.Context(), l.dial("test"), load.LoadOptions{Seed: 3}); err != nil {
					t.Fatal(err)
				}
				state := func() string {
					s := l.text(t, "SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = 'test'")
					for _, sql := range w.sums {
						s += " " + l.text(t, sql)
					}
					return s
				}
				before := state()
				for _, st := range p.Workload.Steps {
					got, err := fixedWork(t, l, p, st)
					if err != nil {
						t.Error(err)
						continue
					}
					what := w.name + " " + st.Name
					if want, ok := rows[what]; ok && got != want {
						t.Errorf("%s: %s, elsewhere %s", what, got, want)
					}
					rows[what] = got
				}
				if after := state(); after != before {
					t.Errorf("%s left %s, found %s", w.name, after, before)
				}
			}
		})
	}
}

// fixedWork runs a few operations of a step with two clients.
func fixedWork(t *testing.T, l *live, p *load.Program, st load.StepInfo) (_ string, err error) {
	s, err := p.Session(t.Context(), load.Work{Step: st.Name, Clients: 2, Seed: 5}, l.dial("test"), load.Options{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	n := 2 * min(p.Ops(st.Name), 2)
	r, err := s.Slice(t.Context(), load.SliceSpec{Ops: n, Timeout: time.Minute}, func() {})
	if err == nil && r.Ops != n {
		err = fmt.Errorf("%s: %d operations, want %d", st.Name, r.Ops, n)
	}
	return fmt.Sprintf("%d operations, %d rows", r.Ops, r.Rows), err
}

// work runs a step for a fixed number of operations and says what came of it.
func work(t *testing.T, l *live, p *load.Program, st load.StepInfo) (string, error) {
	clients := 1 // for writes: MyISAM and the like keep no transactions apart
	if st.Read {
		clients = 3
	}
	ops := int64(60)
	if st.Unit == "$rows" {
		ops = 6000 // 6 scans of 1000 rows
	}
	s, err := p.Session(t.Context(), load.Work{Step: st.Name, Clients: clients, Seed: 5}, l.dial("test"), load.Options{})
	if err != nil {
		return "", err
	}
	defer s.Close()
	r, err := s.Slice(t.Context(), load.SliceSpec{Ops: ops, Timeout: time.Minute}, func() {})
	if err != nil {
		return "", err
	}
	if r.Hist.N() == 0 || r.Wall <= 0 {
		t.Errorf("%s: %+v", st.Name, r)
	}
	return fmt.Sprintf("%d operations, %d rows, %d errors", r.Ops, r.Rows, len(r.Errors)), nil
}

// TestRealSlices runs timed slices and meets what goes wrong.
func TestRealSlices(t *testing.T) {
	l := startServer(t, "mariadb@11.8", "InnoDB", lab.Option{Name: "max_prepared_stmt_count", Value: "100"}, lab.Option{Name: "max_connections", Value: "60"})
	p := l.bind(t, "sysbench", "InnoDB", map[string]string{"rows": "10000", "tables": "10"})
	if err := p.Load(t.Context(), l.dial("test"), load.LoadOptions{Seed: 3, Workers: 3}); err != nil {
		t.Fatal(err)
	}
	open := func(clients int) (*load.Session, error) {
		return p.Session(t.Context(), load.Work{Step: "point-query", Clients: clients, Seed: 1}, l.dial("test"), load.Options{})
	}
	s, err := open(4)
	if err != nil {
		t.Fatal(err)
	}
	for seq := range 4 {
		r, err := s.Slice(t.Context(), load.SliceSpec{Seq: seq, Discard: 10 * time.Millisecond, Duration: 200 * time.Millisecond}, func() {})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%.0f per second, p50 %s, p99 %s, max %s, client %.2f µs", float64(r.Ops)/r.Wall, r.Hist.Quantile(0.5), r.Hist.Quantile(0.99), r.Hist.Max(), (r.ClientUser+r.ClientSystem)*1e6/float64(r.Ops))
		if r.Rows != r.Ops || r.Ops < 100 || len(r.Errors) > 0 || r.Retries > 0 {
			t.Errorf("%+v", r)
		}
	}
	// 11 clients of 10 statements each
	if s, err := open(11); !errors.Is(err, load.ErrLimit) {
		t.Errorf("more statements than the server has room for: %v", err)
		if s != nil {
			s.Close()
		}
	}
	if c, n := p.Needs("point-query", 11); c != 11 || n != 110 {
		t.Errorf("needs %d connections and %d statements", c, n)
	}
	time.AfterFunc(300*time.Millisecond, l.Kill)
	began := time.Now()
	_, err = s.Slice(t.Context(), load.SliceSpec{Duration: time.Minute}, func() {})
	if took := time.Since(began); err == nil || took > 2300*time.Millisecond || !strings.Contains(err.Error(), "SELECT c FROM sbtest") {
		t.Errorf("after %s: %v", took, err)
	}
	if !errors.Is(err, load.ErrGone) {
		t.Errorf("a killed server: %v", err)
	}
	s.Close()
}

// TestRealStall locks the table for 1.5 of 4 seconds at 200 operations per second. 300 come
// due meanwhile, and an open loop's latencies are theirs: 1.5 s and less, evenly. A closed
// loop sends nothing, and has one long latency for each client.
func TestRealStall(t *testing.T) {
	l := startServer(t, "mariadb@10.11", "InnoDB")
	p := l.bind(t, "sysbench", "InnoDB", map[string]string{"rows": "1000"})
	if err := p.Load(t.Context(), l.dial("test"), load.LoadOptions{Seed: 3}); err != nil {
		t.Fatal(err)
	}
	side, err := l.dial("test")(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer side.Close()
	s, err := p.Session(t.Context(), load.Work{Step: "point-query", Clients: 4, Seed: 1}, l.dial("test"), load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const stall = 1500 * time.Millisecond
	stalled := func(rate float64) load.Result {
		released := make(chan error)
		r, err := s.Slice(t.Context(), load.SliceSpec{Duration: 4 * time.Second, Rate: rate}, func() {
			go func() {
				time.Sleep(time.Second)
				_, err := side.Query("LOCK TABLES sbtest1 WRITE")
				time.Sleep(stall)
				_, unlock := side.Query("UNLOCK TABLES")
				released <- errors.Join(err, unlock)
			}()
		})
		if err := errors.Join(err, <-released); err != nil {
			t.Fatal(err)
		}
		t.Logf("rate %g: offered %g, %d done, %d behind, p50 %s, p99 %s, max %s", rate, r.Offered, r.Ops, r.Behind, r.Hist.Quantile(0.5), r.Hist.Quantile(0.99), r.Hist.Max())
		return r
	}
	r := stalled(200)
	if r.Offered < 199.9 || r.Offered > 200.1 || r.Ops+r.Behind != 800 || r.Behind > 20 {
		t.Errorf("open loop: offered %g, %d done, %d behind, want 200, and 800 in all", r.Offered, r.Ops, r.Behind)
	}
	// The last percent of 800 latencies, of which 300 reach evenly up to 1.5 s.
	if p99 := r.Hist.Quantile(0.99); p99 < time.Second || p99 > 2*stall {
		t.Errorf("open loop: p99 %s, want some 1.46 s", p99)
	}
	r = stalled(0)
	if p99, longest := r.Hist.Quantile(0.99), r.Hist.Max(); r.Offered != 0 || p99 > 100*time.Millisecond || longest < stall-50*time.Millisecond {
		t.Errorf("closed loop: offered %g, p99 %s, longest %s, want 0, a few ms, 1.5 s", r.Offered, p99, longest)
	}
}
