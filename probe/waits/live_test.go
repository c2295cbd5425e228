package waits

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"backslide/fetch/fetchtest"
	"backslide/lab"
	"backslide/server"
	"backslide/server/servertest"
)

// conn is one connection to a server, with its id there.
type conn struct {
	*sql.Conn
	id uint64
}

func open(t *testing.T, db *sql.DB) conn {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := conn{Conn: c}
	if err := c.QueryRowContext(t.Context(), "select connection_id()").Scan(&out.id); err != nil {
		t.Fatal(err)
	}
	return out
}

func (c conn) do(ctx context.Context, sql string) error {
	_, _, err := c.query(ctx, sql)
	return err
}

func (c conn) must(t *testing.T, sql ...string) {
	t.Helper()
	for _, s := range sql {
		if err := c.do(t.Context(), s); err != nil {
			t.Fatalf("%.80s: %v", s, err)
		}
	}
}

// query is a Query.
func (c conn) query(ctx context.Context, sql string) ([]string, [][]*string, error) {
	return On(c.Conn)(ctx, sql)
}

// live is a server whose waits are timed, with an observer, a side session and a client.
type live struct {
	*testing.T
	build                  lab.Build
	observer, side, client conn
}

func startLive(t *testing.T, name, engine string, options ...lab.Option) live {
	t.Helper()
	b := fetchtest.Build(t, name)
	_, s := servertest.Start(t, name, options, func(s *server.Spec) { s.Engine, s.Extra = engine, Options(b, engine) })
	db, err := s.DB("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	l := live{T: t, build: b, observer: open(t, db), side: open(t, db), client: open(t, db)}
	l.side.must(t, "create database x", "create table x.t (id int primary key, a int) engine=innodb", "insert into x.t values (1,1),(2,2),(3,3)", "use x")
	l.client.must(t, "use x")
	return l
}

func (l live) take() Snapshot {
	l.Helper()
	s, err := Take(l.Context(), l.observer.query, []uint64{l.client.id})
	if err != nil {
		l.Fatal(err)
	}
	return s
}

const held = 300 * time.Millisecond

// hold has the side session take a lock, and let it go after the client has waited for
// it. One of two operations waits. It returns the seconds per operation that the client saw.
func (l live) hold(lock, unlock, wait string) (Delta, float64) {
	l.Helper()
	l.side.must(l.T, lock)
	before := l.take()
	done, began := make(chan error), time.Now()
	go func() { done <- l.client.do(context.WithoutCancel(l.Context()), wait) }()
	time.Sleep(held)
	l.side.must(l.T, unlock)
	if err := <-done; err != nil {
		l.Fatal(err)
	}
	saw := time.Since(began).Seconds() / 2
	return Between(before, l.take(), 2), saw
}

func find(a []lab.Amount, name string) lab.Amount {
	for _, x := range a {
		if x.Name == name {
			return x
		}
	}
	return lab.Amount{}
}

// waited checks that d's clients waited for at most sec per operation in all, that nearly all of
// it is in one event, and that there is no doubt about it.
func (l live) waited(d Delta, event string, sec float64) {
	l.Helper()
	total := 0.0
	for _, e := range d.Events {
		if !strings.HasPrefix(e.Name, "wait/io/file/") { // the commit, on a slow disk
			total += e.Value
		}
	}
	got := find(d.Events, event)
	// The client may have come late to the lock; it saw all of the wait, and milliseconds
	// are rounded.
	if got.Value < held.Seconds()/2*0.7 || got.Value > sec+0.001 || got.Count != 0.5 || total > got.Value*1.1+0.01 {
		l.Errorf("waited %v, in all %v, want about %v in %s: %v", got, total, sec, event, d.Events)
	}
	for _, note := range d.Notes {
		// MariaDB lost the instrument in 10.8.
		if !strings.Contains(note, "redo log") || l.build.Family != lab.MariaDB || !l.build.AtLeast(10, 8, 0) {
			l.Errorf("note: %s", note)
		}
	}
}

// TestLive makes clients of real servers wait on purpose, and looks where it is found.
func TestLive(t *testing.T) {
	for _, name := range []string{"mysql@5.6", "mysql@9.7", "mariadb@10.5", "mariadb@10.11", "mariadb@11.8"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine := ""
			if name == "mariadb@10.11" {
				engine = "MyRocks" // beside InnoDB
			}
			l := startLive(t, name, engine, lab.Option{Name: "innodb_flush_log_at_trx_commit", Value: "1"}, lab.Option{Name: "log_bin", Value: "b"},
				lab.Option{Name: "sync_binlog", Value: "1"}, lab.Option{Name: "server_id", Value: "1"})
			l.nothing()
			l.oldest()
			l.locks()
			l.writes()
			l.reads()
			if engine != "" {
				l.rocks()
			}
			if name == "mysql@5.6" {
				l.latch()
			}
			l.resets()
		})
	}
}

// nothing: what the observer does is not in its own readings.
func (l live) nothing() {
	before := l.take()
	d := Between(before, l.take(), 1)
	if len(d.Events) > 0 || len(d.Around) > 0 || len(d.Stages) > 0 || len(d.Statements) > 0 || len(d.Digests) > 0 || len(d.Tables) > 0 {
		l.Errorf("nothing was done: %+v", d)
	}
	for _, c := range d.Counters {
		// Answers are not always of the same length.
		if strings.HasPrefix(c.Name, "Handler_") || strings.HasPrefix(c.Name, "Com_") || strings.HasPrefix(c.Name, "Created_") || strings.HasPrefix(c.Name, "Bytes_") && c.Value > 100 {
			l.Errorf("nothing was done, but %v", c)
		}
	}
}

// oldest: a transaction is as old as it is, and the clients' own do not count.
func (l live) oldest() {
	l.side.must(l.T, "start transaction with consistent snapshot", "select * from t")
	began := time.Now()
	time.Sleep(50 * time.Millisecond)
	for _, tt := range []struct {
		conns []uint64
		open  bool
	}{{[]uint64{l.client.id}, true}, {nil, true}, {[]uint64{l.client.id, l.side.id}, false}} {
		age, err := Oldest(l.Context(), l.observer.query, tt.conns)
		// Servers keep the begin in whole seconds.
		if most := time.Since(began).Seconds() + 1.5; err != nil || tt.open != (age >= 0.05) || age > most {
			l.Errorf("oldest transaction with connections %v left out: %v s, %v; open: %v", tt.conns, age, err, tt.open)
		}
	}
	l.side.must(l.T, "commit")
}

func (l live) locks() {
	half := held.Seconds() / 2 * 0.7 // at least
	l.side.must(l.T, "set autocommit = 0")
	d, saw := l.hold("update t set a = 5 where id = 1", "commit", "update t set a = 6 where id = 1")
	l.waited(d, RowLock, saw)
	if got := find(d.Around, "wait/io/table/sql/handler"); got.Value < half {
		l.Errorf("the handler took %v, and that contains the lock", got)
	}
	if got := find(d.Tables, "x.t fetch"); got.Value < half || got.Count != 0.5 {
		l.Errorf("x.t was waited for %v", got)
	}
	if got := find(d.Digests, "x: UPDATE `t` SET `a` = ? WHERE `id` = ?"); l.build.Family == lab.MySQL && got.Value < half {
		l.Errorf("by text: %v", d.Digests)
	}

	d, saw = l.hold("lock tables t write", "unlock tables", "select * from t")
	l.waited(d, "wait/synch/cond/sql/MDL_context::COND_wait_status", saw)
	if got := find(d.Stages, "stage/sql/Waiting for table metadata lock"); got.Value < half || got.Value > saw {
		l.Errorf("stages: %v", d.Stages)
	}
	if got := find(d.Statements, "statement/sql/select"); got.Value < half || got.Count != 0.5 {
		l.Errorf("statements: %v", d.Statements)
	}

	before := l.take()
	l.client.must(l.T, "select sleep(0.3)")
	sleeps := Between(before, l.take(), 2)
	if total := sum(sleeps.Events); total < half || total > 3*half {
		l.Errorf("slept for %v: %v", total, sleeps.Events)
	}

	// The client waits for us, so the server does not wait for anything.
	before = l.take()
	l.client.must(l.T, "do 1")
	time.Sleep(held)
	l.client.must(l.T, "do 1")
	d = Between(before, l.take(), 2)
	if d.Idle.Value < half || sum(d.Events) > 0.01 {
		l.Errorf("idle %v, events %v", d.Idle, d.Events)
	}
}

func sum(a []lab.Amount) (total float64) {
	for _, x := range a {
		total += x.Value
	}
	return total
}

// writes: each commit syncs a log.
func (l live) writes() {
	const n = 20
	before := l.take()
	for i := range n {
		l.client.must(l.T, fmt.Sprintf("insert into t values (%d, 1)", i+100))
	}
	d := Between(before, l.take(), n)
	if got := find(d.Events, "wait/io/file/sql/binlog"); got.Value <= 0 || got.Count < 1 {
		l.Errorf("no binary log is written: %v", d.Events)
	}
	if got := find(d.Files, "sql/binlog sync and other"); got.Count < 0.9 || got.Value <= 0 {
		l.Errorf("no binary log is synced: %v", d.Files)
	}
	if got := find(d.Counters, "file sql/binlog: bytes written"); got.Value < 20 || got.Value > 5000 {
		l.Errorf("binary log: %v", got)
	}
	if got := find(d.Counters, "Innodb_rows_inserted"); got.Value != 1 && got.Value != 0 { // MariaDB 11 has no such counter
		l.Errorf("rows inserted: %v", got)
	}
	if got := find(d.Counters, "Handler_write"); got.Value != 1 {
		l.Errorf("Handler_write %v: the observer's are in it, or the client's are not", got)
	}
	if got := find(d.Tables, "x.t insert"); got.Count != 1 {
		l.Errorf("inserts: %v", d.Tables)
	}
	for _, kind := range []string{"wait/synch/mutex/", "wait/synch/rwlock/"} {
		found := false
		for _, e := range d.Events {
			found = found || strings.HasPrefix(e.Name, kind) && e.Count >= 1 && e.Value > 0 && e.Value < 0.01
		}
		if !found {
			l.Errorf("no %s among %v", kind, d.Events)
		}
	}
	l.Logf("%s: redo log %v, in all %v of %v s/op", l.build.Name, find(d.Events, "wait/io/file/innodb/innodb_log_file"), sum(d.Events), find(d.Statements, "statement/sql/insert").Value)
}

// reads: counters are the client's alone.
func (l live) reads() {
	const n = 50
	before := l.take()
	stmt, err := l.client.PrepareContext(l.Context(), "select a from t where id > ?")
	if err != nil {
		l.Fatal(err)
	}
	defer stmt.Close()
	for range n {
		rows, err := stmt.QueryContext(l.Context(), 1)
		if err != nil {
			l.Fatal(err)
		}
		for rows.Next() {
		}
		if err := errorsOf(rows); err != nil {
			l.Fatal(err)
		}
	}
	d := Between(before, l.take(), n)
	want := map[string]float64{"Handler_read_next": 22}
	if l.build.Family == lab.MariaDB || l.build.AtLeast(5, 7, 0) { // 5.6 counts no rows of prepared statements
		want["clients' statements: rows examined"], want["clients' statements: rows sent"] = 22, 22
	}
	for name, want := range want {
		if got := find(d.Counters, name); math.Abs(got.Value-want) > 0.1 {
			l.Errorf("%s: %v per operation, want %v", name, got.Value, want)
		}
	}
	if got := find(d.Tables, "x.t fetch"); got.Count < 22 || got.Count > 24 {
		l.Errorf("fetched: %v", got)
	}
	if got := find(d.Statements, "statement/com/Execute"); got.Count != 1 || got.Value <= 0 {
		l.Errorf("statements: %v", d.Statements)
	}
	if l.build.Family == lab.MySQL && l.build.AtLeast(5, 7, 0) { // MariaDB lists them and counts nothing
		if got := find(d.Digests, "prepared: select a from t where id > ?"); got.Count != 1 || got.Value <= 0 {
			l.Errorf("prepared statements: %v", d.Digests)
		}
	}
}

func errorsOf(rows *sql.Rows) error {
	err := rows.Err()
	rows.Close()
	return err
}

// latch: while privileges are read again, many of them, their rw-lock is taken, and 5.6
// needs it for every statement.
func (l live) latch() {
	var grants []string
	for i := range 3000 {
		grants = append(grants, fmt.Sprintf("('localhost', 'x', 'nobody', 't%d', '', now(), 'Select', '')", i))
	}
	l.side.must(l.T, "insert into mysql.tables_priv (Host, Db, User, Table_name, Grantor, Timestamp, Table_priv, Column_priv) values "+strings.Join(grants, ","), "commit", "flush privileges")
	var flushes atomic.Int64
	// selects runs statements until the privileges were read again some times meanwhile.
	selects := func(flushed int64) Delta {
		before, n := l.take(), int64(0)
		end := time.Now().Add(20 * time.Second)
		for from := flushes.Load(); (n < 50 || flushes.Load() < from+flushed) && time.Now().Before(end); n++ {
			l.client.must(l.T, "select * from t where id = 1")
		}
		return Between(before, l.take(), n)
	}
	const lock = "wait/synch/rwlock/sql/LOCK_grant"
	free := find(selects(0).Events, lock)
	ctx, cancel := context.WithCancel(l.Context())
	done := make(chan error)
	go func() {
		var err error
		for err == nil && ctx.Err() == nil {
			err = l.side.do(context.WithoutCancel(ctx), "flush privileges")
			flushes.Add(1)
		}
		done <- err
	}()
	d := selects(8)
	cancel()
	if err := <-done; err != nil {
		l.Fatal(err)
	}
	if got := find(d.Events, lock); got.Value < 10*free.Value || got.Count != 1 {
		l.Errorf("the lock was waited for %v, free %v: %v", got, free, d.Events)
	}
}

// rocks: MyRocks' waiting for row locks is in no event, its own clock has it.
func (l live) rocks() {
	l.side.must(l.T, "create table r (id int primary key, a int) engine=rocksdb", "insert into r values (1,1)", "commit")
	d, saw := l.hold("update r set a = 5 where id = 1", "commit", "update r set a = 6 where id = 1")
	l.waited(d, RocksRowLock, saw)
	if got := find(d.Counters, "Rocksdb_number_keys_written"); got.Value < 0.5 {
		l.Errorf("keys written: %v", got)
	}
}

// resets: waits that someone set to zero are not known.
func (l live) resets() {
	before := l.take()
	l.side.must(l.T, "truncate performance_schema.events_waits_summary_by_thread_by_event_name")
	l.client.must(l.T, "do 1")
	d := Between(before, l.take(), 1)
	if len(d.Events) > 0 || !strings.Contains(strings.Join(d.Notes, "\n"), threadWaits+": ") || !strings.Contains(strings.Join(d.Notes, "\n"), "reset") {
		l.Errorf("events after a reset: %v; %q", d.Events, d.Notes)
	}
	if find(d.Statements, "statement/sql/do").Count != 1 {
		l.Errorf("other tables were not reset: %v", d.Statements)
	}
}

// TestOff: a server that times nothing says so; it is not taken for one without waits.
func TestOff(t *testing.T) {
	_, s := servertest.Start(t, "mariadb@10.11", []lab.Option{{Name: "performance_schema", Value: "OFF"}}, nil)
	db, err := s.DB("")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	o, c := open(t, db), open(t, db)
	if _, err := Take(t.Context(), o.query, []uint64{c.id}); err == nil || !strings.Contains(err.Error(), "performance_schema=ON") {
		t.Errorf("%v", err)
	}
	before, err := TakeCounters(t.Context(), o.query)
	if err != nil {
		t.Fatal(err)
	}
	c.must(t, "do 1", "do 2")
	after, err := TakeCounters(t.Context(), o.query)
	if err != nil {
		t.Fatal(err)
	}
	d := Between(before, after, 2)
	if find(d.Counters, "Com_do").Value != 1 || len(d.Notes) > 0 || len(d.Events) > 0 {
		t.Errorf("%+v", d)
	}
}
