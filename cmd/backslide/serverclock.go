package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"backslide/lab"
	"backslide/load"
	"backslide/wire"
)

// wholeStatements is how many statements each client sends at most in a slice whose
// statements SHOW PROFILE times. It takes tens of microseconds for each: nothing beside
// statements of whole tables, and too much beside short ones.
const wholeStatements = 4

// serverClock returns how a server times the statements of a step itself, and which clock
// that is; nil: it does not. The Performance Schema is asked where it is on, for it counts
// anyway. Where it is off, statements that are few and whole are profiled, session by
// session. The connection to be closed with the session is the clock's own; nil: none.
func serverClock(ctx context.Context, p *load.Program, step string, to load.Dial) (load.Clock, lab.ServerClock, *wire.Conn) {
	n, text := p.Statements(step)
	if n == 0 {
		return nil, "", nil
	}
	c, err := to(ctx)
	if err != nil {
		return nil, "", nil // as if it had none: its clients may need all connections
	}
	w, ok := c.(*wire.Conn)
	if ok && switched(w, "performance_schema") {
		return &schemaClock{side: w}, lab.PerformanceSchema, w
	}
	defer c.Close()
	if ok && text && n <= wholeStatements && switched(w, "have_profiling") {
		return profileClock{}, lab.Profile, nil
	}
	return nil, "", nil
}

// switched reports whether a variable of the server says that something is there.
func switched(c *wire.Conn, name string) bool {
	_, rows, err := c.Rows("SHOW GLOBAL VARIABLES LIKE '" + name + "'")
	return err == nil && len(rows) == 1 && len(rows[0]) == 2 && (rows[0][1] == "ON" || rows[0][1] == "YES")
}

// schemaClock reads the sums by thread that the Performance Schema keeps, over a
// connection of its own. It is a load.Clock.
type schemaClock struct {
	side    *wire.Conn
	threads string // the connections' numbers in the Performance Schema
	at      counted
}

// counted is what a server says of statements: how many there were, and their time.
type counted struct {
	n    int64
	took time.Duration
}

// Begin is load.Clock's.
func (k *schemaClock) Begin(conns []load.Conn) (err error) {
	if k.threads == "" {
		if err := k.find(conns); err != nil {
			return err
		}
	}
	k.at, err = k.read()
	return err
}

// find asks for the threads of connections.
func (k *schemaClock) find(conns []load.Conn) error {
	var ids []string
	for _, c := range conns {
		ids = append(ids, strconv.FormatUint(uint64(c.ThreadID()), 10))
	}
	_, rows, err := k.side.Rows("SELECT thread_id FROM performance_schema.threads WHERE processlist_id IN (" + strings.Join(ids, ", ") + ")")
	if err != nil {
		return fmt.Errorf("find the clients' threads: %w", err)
	}
	if len(rows) != len(conns) {
		return fmt.Errorf("the Performance Schema knows %d of %d clients", len(rows), len(conns))
	}
	var threads []string
	for _, r := range rows {
		threads = append(threads, r[0])
	}
	k.threads = strings.Join(threads, ", ")
	return nil
}

func (k *schemaClock) read() (counted, error) {
	// Statements of stored programs are within those that called them.
	sql := "SELECT SUM(count_star), SUM(sum_timer_wait) DIV 1000 FROM performance_schema.events_statements_summary_by_thread_by_event_name " +
		"WHERE thread_id IN (" + k.threads + ") AND event_name NOT LIKE 'statement/sp/%'"
	_, rows, err := k.side.Rows(sql)
	if err != nil {
		return counted{}, fmt.Errorf("read the Performance Schema's time of statements: %w", err)
	}
	return countedIn(sql, rows)
}

// countedIn reads a number and a time in nanoseconds from an answer.
func countedIn(sql string, rows [][]string) (counted, error) {
	if len(rows) != 1 || len(rows[0]) != 2 {
		return counted{}, fmt.Errorf("%s: %d rows", sql, len(rows))
	}
	if rows[0][0] == wire.Null || rows[0][1] == wire.Null {
		return counted{}, nil
	}
	n, err := strconv.ParseInt(rows[0][0], 10, 64)
	if err != nil {
		return counted{}, fmt.Errorf("%s: %w", sql, err)
	}
	took, err := strconv.ParseInt(rows[0][1], 10, 64)
	if err != nil {
		return counted{}, fmt.Errorf("%s: %w", sql, err)
	}
	return counted{n, time.Duration(took)}, nil
}

// Since is load.Clock's. A server counts a statement a moment after it has answered.
func (k *schemaClock) Since(_ []load.Conn, statements []int64) (time.Duration, error) {
	all := int64(0)
	for _, n := range statements {
		all += n
	}
	for range 50 {
		now, err := k.read()
		if err != nil {
			return 0, err
		}
		if n, took := now.n-k.at.n, now.took-k.at.took; n >= all {
			k.at = now
			if took <= 0 {
				return 0, fmt.Errorf("the Performance Schema counts statements and does not time them")
			}
			return took, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0, fmt.Errorf("the Performance Schema did not count all of %d statements", all)
}

// profileClock has each client's session profiled during slices. It is a load.Clock.
type profileClock struct{}

// Begin is load.Clock's.
func (profileClock) Begin(conns []load.Conn) error {
	for _, c := range conns {
		if err := say(c, "SET profiling = 1"); err != nil {
			return err
		}
	}
	return nil
}

// Since is load.Clock's. The last statements of each session are those of the slice.
func (profileClock) Since(conns []load.Conn, statements []int64) (time.Duration, error) {
	sum := time.Duration(0)
	for i, c := range conns {
		w, ok := c.(*wire.Conn)
		if !ok {
			return 0, fmt.Errorf("a connection of type %T cannot be asked", c)
		}
		if err := say(c, "SET profiling = 0"); err != nil {
			return 0, err
		}
		sql := fmt.Sprintf("SELECT COUNT(*), CAST(SUM(took) * 1000000000 AS SIGNED) FROM (SELECT SUM(duration) AS took FROM information_schema.profiling GROUP BY query_id ORDER BY query_id DESC LIMIT %d) s", statements[i])
		_, rows, err := w.Rows(sql)
		if err != nil {
			return 0, fmt.Errorf("read the profiles of statements: %w", err)
		}
		one, err := countedIn(sql, rows)
		if err != nil {
			return 0, err
		}
		if one.n != statements[i] {
			return 0, fmt.Errorf("the server profiled %d of %d statements of a client", one.n, statements[i])
		}
		sum += one.took
	}
	for _, c := range conns { // for the next slice, should nothing come in between
		if err := say(c, "SET profiling = 1"); err != nil {
			return 0, err
		}
	}
	return sum, nil
}

func say(c load.Conn, sql string) error {
	r, err := c.Query(sql)
	if err == nil && r.Code != 0 {
		err = &load.StatementError{SQL: sql, Reply: r}
	}
	return err
}
