package extern

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"backslide/lab"
	"backslide/proc"
	"backslide/server"
	"backslide/server/servertest"
)

// stand is a server that the real tools are run against.
type stand struct {
	*server.Server
	db *sql.DB
}

func newStand(t *testing.T, build string) *stand {
	t.Helper()
	_, s := servertest.Start(t, build, []lab.Option{{Name: "innodb_log_file_size", Value: "8M"}}, nil)
	db, err := s.DB("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	st := &stand{s, db}
	st.exec(t, "CREATE DATABASE sb")
	st.exec(t, "CREATE DATABASE slap")
	return st
}

func (st *stand) exec(t *testing.T, q string) {
	t.Helper()
	if _, err := st.db.ExecContext(t.Context(), q); err != nil {
		t.Fatal(err)
	}
}

// counter returns a status variable of the server.
func (st *stand) counter(t *testing.T, name string) (n int64) {
	t.Helper()
	if err := st.db.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&name, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// run runs a tool to its end.
func run(t *testing.T, args, env []string) Output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p, err := proc.Start(proc.Spec{Args: args, Env: env, Stdout: &stdout, Stderr: &stderr})
	if err != nil {
		t.Fatalf("%v: this test needs the tool: install it", err)
	}
	defer p.Kill()
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatalf("%s: no end", args)
	}
	t.Logf("%s: %v\n%s%s", args, p.Err(), clip(stdout.String()), clip(stderr.String()))
	return Output{Stdout: &stdout, Stderr: &stderr, Exit: Exit(p.Err())}
}

// version asks a tool for its version.
func version(t *testing.T, program string) Version {
	t.Helper()
	out, err := proc.Output(t.Context(), proc.Command{Args: []string{program, "--version"}})
	if err != nil {
		t.Fatal(err)
	}
	v, ok := ParseVersion(string(out))
	if !ok {
		t.Fatalf("%s: no version in %q", program, out)
	}
	return v
}

func TestTools(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real server, sysbench and mysqlslap")
	}
	st := newStand(t, "mariadb@10.11")
	t.Run("sysbench", st.sysbench)
	t.Run("sysbench refused", st.sysbenchRefused)
	t.Run("sysbench killed", st.sysbenchKilled)
	t.Run("own Lua", st.ownLua)
	t.Run("slap", st.slap)
	t.Run("slap fails", st.slapFails)
	t.Run("slap refused", st.slapRefused)
}

func (st *stand) points() Sysbench {
	return Sysbench{Script: "oltp_point_select", Tables: 2, Rows: 1000, Engine: "InnoDB", Threads: 2, Time: time.Second, Text: true, Seed: 1, Histogram: true, Socket: st.Socket(), User: "root", Schema: "sb"}
}

func (st *stand) command(t *testing.T, s Sysbench, command string) Output {
	t.Helper()
	args, err := s.Args(version(t, "sysbench"), command)
	if err != nil {
		t.Fatal(err)
	}
	return run(t, args, s.Env(os.Environ()))
}

// sysbench counts what the server counts.
func (st *stand) sysbench(t *testing.T) {
	s := st.points()
	if err := SysbenchFailed(st.command(t, s, Prepare)); err != nil {
		t.Fatal(err)
	}
	if err := SysbenchFailed(st.command(t, s, Prepare)); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("prepared twice: %v", err)
	}
	before := st.counter(t, "Com_select")
	r, err := s.Parse(st.command(t, s, Run))
	selects := st.counter(t, "Com_select") - before
	if err != nil || r.Invalid != "" || len(r.Notes) > 0 {
		t.Fatalf("%v, %+v", err, r)
	}
	f := r.Figures(Queries)
	if f.Ops != selects || f.Wall < 0.9 || f.Wall > 5 {
		t.Errorf("%d queries in %g s, the server counted %d", f.Ops, f.Wall, selects)
	}
	var sum int64
	for _, b := range r.Histogram {
		sum += b.Count
	}
	if sum != r.Summary.Events {
		t.Errorf("%d events in the histogram of %d", sum, r.Summary.Events)
	}

	s.Time, s.Events, s.Text, s.Threads, s.Report = 0, 500, false, 3, time.Second
	before = st.counter(t, "Com_stmt_execute")
	r, err = s.Parse(st.command(t, s, Run))
	if n := st.counter(t, "Com_stmt_execute") - before; err != nil || r.Invalid != "" || r.Summary.Events != 500 || n != 500 {
		t.Errorf("%v, %q, %d executions: %+v", err, r.Invalid, n, r.Summary)
	}
}

func (st *stand) limit(t *testing.T, connections int) {
	t.Helper()
	st.exec(t, fmt.Sprintf("SET GLOBAL max_connections = %d", connections))
	t.Cleanup(func() {
		if _, err := st.db.Exec("SET GLOBAL max_connections = 151"); err != nil {
			t.Error(err)
		}
	})
}

func (st *stand) sysbenchRefused(t *testing.T) {
	st.limit(t, 10)
	s := st.points()
	s.Threads = 20
	r, err := s.Parse(st.command(t, s, Run))
	f := r.Figures(Queries)
	if err != nil || f.Err == "" || f.Ops != 0 || len(f.Errors) == 0 || f.Errors[0].Code != 1040 {
		t.Errorf("%v, %+v", err, f)
	}
}

// sysbenchKilled loses one of four connections in mid-run.
func (st *stand) sysbenchKilled(t *testing.T) {
	s := st.points()
	s.Threads, s.Time = 4, 20*time.Second
	done := make(chan struct{})
	defer func() { <-done }()
	go func() {
		defer close(done)
		for range 200 {
			time.Sleep(50 * time.Millisecond)
			var id int64
			if st.db.QueryRow("SELECT id FROM information_schema.processlist WHERE db = 'sb' AND time_ms >= 0 ORDER BY id DESC LIMIT 1").Scan(&id) == nil {
				time.Sleep(200 * time.Millisecond)
				st.db.Exec(fmt.Sprintf("KILL %d", id))
				return
			}
		}
	}()
	began := time.Now()
	r, err := s.Parse(st.command(t, s, Run))
	f := r.Figures(Queries)
	if err != nil || f.Err == "" || f.Ops != 0 || len(f.Errors) == 0 || f.Errors[0].Code != 2006 && f.Errors[0].Code != 2013 {
		t.Errorf("%v, %+v", err, f)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("ended after %v", took)
	}
}

// ownLua runs a script of the user's, with a module beside it and the CSV hook.
// The last report comes well before the end: sysbench prints both from different threads.
func (st *stand) ownLua(t *testing.T) {
	s := Sysbench{Script: "testdata/lua/own.lua", Threads: 1, Time: 5 * time.Second, Report: 2 * time.Second, Socket: st.Socket(), User: "root", Schema: "sb"}
	before := st.counter(t, "Com_select")
	r, err := s.Parse(st.command(t, s, Run))
	selects := st.counter(t, "Com_select") - before
	if err != nil || r.Invalid != "" || len(r.Intervals) < 2 || len(r.Notes) > 0 {
		t.Fatalf("%v, %+v", err, r)
	}
	if f := r.Figures(Events); f.Ops != selects {
		t.Errorf("%d events, the server counted %d", f.Ops, selects)
	}
}

func (st *stand) runSlap(t *testing.T, s Slap) SlapRun {
	t.Helper()
	s.Socket, s.User, s.NoTLS = st.Socket(), "root", true
	args, err := s.Args(version(t, "mysqlslap"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Parse(run(t, args, nil))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// slap counts what the server counts.
func (st *stand) slap(t *testing.T) {
	const query = "SELECT\n SLEEP(0.001)"
	for _, text := range []bool{false, true} {
		before := st.counter(t, "Com_select")
		r := st.runSlap(t, Slap{Query: query, Schema: "slap", Clients: []int{1, 3}, Queries: 100, Iterations: 2, Text: text})
		selects := st.counter(t, "Com_select") - before
		one, three := r.Figures(1), r.Figures(3)
		if one.Err != "" || three.Err != "" || one.Ops != 200 || three.Ops != 198 || one.Ops+three.Ops != selects {
			t.Errorf("%+v, %+v; the server counted %d", one, three, selects)
		}
		if one.Wall < 0.2 || three.Wall < 0.066 || !strings.Contains(strings.Join(r.Warnings, ""), "ran 99 queries of the 100") {
			t.Errorf("%+v", r)
		}
	}
	before := st.counter(t, "Com_select")
	r := st.runSlap(t, Slap{Query: "SELECT SLEEP(0.01)", Schema: "slap", Clients: []int{8}, Options: []lab.Option{{Name: "number-of-queries", Value: "5"}}})
	if f := r.Figures(8); f.Err == "" || f.Ops != 0 {
		t.Errorf("5 queries for 8 clients: %+v", f)
	}
	t.Logf("5 queries for 8 clients: the server counted %d", st.counter(t, "Com_select")-before)
	if r := st.runSlap(t, Slap{Auto: true, Engines: []string{"InnoDB"}, Queries: 1000}); r.Invalid != "" || len(r.Rows) != 1 || r.Rows[0].Engine != "innodb" {
		t.Errorf("generated: %+v", r)
	}
}

func (st *stand) slapFails(t *testing.T) {
	for _, s := range []Slap{{Query: "select * from nosuch", Schema: "slap", Queries: 10}, {Query: "select 1", Schema: "nosuch", Queries: 10}} {
		r := st.runSlap(t, s)
		if f := r.Figures(1); !strings.Contains(f.Err, "standard error (exit status 0)") || f.Ops != 0 {
			t.Errorf("%+v: %+v", s, f)
		}
	}
}

// slapRefused shows what outputs need not tell: 20 clients with queries of 50 ms do 400 a
// second, but half of them wait for a connection. It depends on luck whether one gives up
// and says so. Otherwise only who knows the server's limit can see it.
func (st *stand) slapRefused(t *testing.T) {
	st.limit(t, 10)
	s := Slap{Query: "SELECT SLEEP(0.05)", Schema: "slap", Clients: []int{20}, Queries: 200}
	f := st.runSlap(t, s).Figures(20)
	if said := strings.Contains(f.Err, "1040 Too many connections") && f.Ops == 0; !said && (f.Err != "" || f.Ops != 200 || f.Wall < 0.75) {
		t.Errorf("%+v: this mysqlslap says or does something new", f)
	}
	if s.Connections() <= 10 {
		t.Errorf("%d connections", s.Connections())
	}
}

// TestPublished reads all outputs of sysbench 1.1 that others published, where they are
// at hand.
func TestPublished(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "data", "mytools")
	if _, err := os.Stat(dir); err != nil {
		t.Logf("%v", err)
		t.Skip("the published outputs are not here; only the fixtures in testdata were read")
	}
	runs, warned := 0, 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), "sb.o.") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(b, []byte("\nsysbench 1.1")) {
			return err
		}
		r := parse(t, string(b))
		runs++
		if len(r.Warnings) > 0 {
			warned++
		}
		f := r.Figures(Queries)
		if f.Err != "" || r.Summary.Latency.Avg < 0 || r.Summary.Fairness.Events < 0 {
			t.Errorf("%s: %+v", path, f)
			return nil
		}
		if got, want := float64(f.Ops)/f.Wall, r.Summary.Printed.Queries; got/want < 0.99 && want-got > 0.1 || got/want > 1.01 && got-want > 0.1 {
			t.Errorf("%s: %.2f queries/s, printed %.2f", path, got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d outputs, %d with warnings", runs, warned)
	if runs < 300 {
		t.Errorf("only %d outputs", runs)
	}
}
