// Package waits says what a server has to be started with so that it times its own waits,
// reads what it has counted, and turns two readings into amounts per operation. It opens
// no connection and starts nothing.
package waits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Snapshot is what a server had counted at one moment. Only two snapshots of the same
// server say anything, see Between.
type Snapshot struct {
	Began, Ended time.Time // of reading it

	conns   []uint64 // the clients' connections
	threads []uint64 // theirs, in the Performance Schema
	own     uint64   // thread of the connection that read it; 0: not known
	tables  map[string]map[key]sums
	timers  map[string]string // which clock times what
	lost    map[string]uint64 // instruments and rows that had no room
	noRedo  bool              // the server has no event for I/O of InnoDB's redo log
	// Counters are read first and last, so that reading all else is not in a difference.
	first, last counters
	notes       []string
}

// Take reads everything. conns are the clients' ids on the server, CONNECTION_ID(): only
// their threads' waits are counted as an operation's. The server must have been started
// with Options; it is an error if it times nothing. Tables that this version does not have
// are left out; of those that cannot be read a note says so.
func Take(ctx context.Context, query Query, conns []uint64) (Snapshot, error) {
	s := Snapshot{Began: time.Now(), conns: conns, tables: map[string]map[key]sums{}}
	var err error
	if s.first, err = readCounters(ctx, query, true); err != nil {
		return s, err
	}
	if err := s.check(ctx, query); err != nil {
		return s, err
	}
	if err := s.findThreads(ctx, query); err != nil {
		return s, err
	}
	threads := s.threads
	if s.own != 0 {
		threads = append(slices.Clone(threads), s.own)
	}
	has, err := tableNames(ctx, query)
	if err != nil {
		return s, err
	}
	for _, src := range sources() {
		if !has[src.table] && !src.needed {
			continue // new in a later version
		}
		rows, err := src.read(ctx, query, threads)
		switch {
		case err == nil:
			s.tables[src.table] = rows
		case src.needed || ctx.Err() != nil:
			return s, err
		default:
			s.note("%v", err)
		}
	}
	if s.last, err = readCounters(ctx, query, false); err != nil {
		return s, err
	}
	s.Ended = time.Now()
	return s, nil
}

// TakeCounters reads status counters and those of the engines: what every server counts
// without being asked to, so that reading it costs the clients nothing.
func TakeCounters(ctx context.Context, query Query) (Snapshot, error) {
	s := Snapshot{Began: time.Now()}
	c, err := readCounters(ctx, query, true)
	if err != nil {
		return s, err
	}
	s.first, s.last, s.Ended = c, c, time.Now()
	return s, nil
}

func (s *Snapshot) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// check says whether the server times waits, and which.
func (s *Snapshot) check(ctx context.Context, query Query) error {
	settings, err := pairs(ctx, query, "SHOW GLOBAL VARIABLES LIKE 'performance_schema'")
	if err != nil {
		return err
	}
	if err := Supported(settings); err != nil {
		return err
	}
	consumers, err := pairs(ctx, query, "SELECT NAME, ENABLED FROM performance_schema.setup_consumers")
	if err != nil {
		return err
	}
	for _, name := range []string{"global_instrumentation", "thread_instrumentation"} {
		if !isOn(consumers[name]) {
			return fmt.Errorf("read waits: the consumer %s is off, so nothing is counted by thread: start the server with performance_schema_consumer_%s=ON", name, name)
		}
	}
	instruments, err := pairs(ctx, query, "SELECT NAME, CONCAT(ENABLED, TIMED) FROM performance_schema.setup_instruments WHERE NAME LIKE 'wait/%' OR NAME = 'idle'")
	if err != nil {
		return err
	}
	off := map[string]int{}
	for name, v := range instruments {
		if v != "YESYES" {
			off[kind(name)]++
		}
	}
	for _, k := range sortedKeys(off) {
		s.note("%d instruments of %s are off or not timed: waits there are not known, and are not zero", off[k], k)
	}
	_, data := instruments["wait/io/file/innodb/innodb_data_file"]
	_, redo := instruments["wait/io/file/innodb/innodb_log_file"]
	s.noRedo = data && !redo
	// Where it is not there the clocks cannot be chosen.
	s.timers, err = pairs(ctx, query, "SELECT NAME, TIMER_NAME FROM performance_schema.setup_timers")
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		s.timers = nil
	}
	s.lost, err = s.readLost(ctx, query)
	return err
}

func (s *Snapshot) readLost(ctx context.Context, query Query) (map[string]uint64, error) {
	status, err := pairs(ctx, query, "SHOW GLOBAL STATUS LIKE 'Performance_schema%lost'")
	if err != nil {
		return nil, err
	}
	lost := map[string]uint64{}
	for name, v := range status {
		if n, err := number(&v); err == nil && n > 0 {
			lost[name] = n
		}
	}
	return lost, nil
}

// findThreads finds the threads of the clients' connections and of our own.
func (s *Snapshot) findThreads(ctx context.Context, query Query) error {
	if len(s.conns) == 0 {
		return errors.New("read waits: no connections are given whose waits to read")
	}
	threads := map[uint64]bool{}
	blind := 0
	for part := range slices.Chunk(s.conns, chunk) {
		_, rows, err := query(ctx, "SELECT THREAD_ID, INSTRUMENTED FROM performance_schema.threads WHERE PROCESSLIST_ID IN ("+join(part)+")")
		if err != nil {
			return fmt.Errorf("read performance_schema.threads: %w", err)
		}
		for _, row := range rows {
			if len(row) < 2 {
				return errors.New("read performance_schema.threads: a row without both columns")
			}
			id, err := number(row[0])
			if err != nil {
				return fmt.Errorf("read performance_schema.threads: THREAD_ID: %w", err)
			}
			threads[id] = true
			if row[1] == nil || !isOn(*row[1]) {
				blind++
			}
		}
	}
	s.threads = sortedKeys(threads)
	switch missing := len(s.conns) - len(s.threads); {
	case len(s.threads) == 0:
		return fmt.Errorf("read waits: none of the %d connections has a thread in performance_schema.threads; are their ids those of CONNECTION_ID()?", len(s.conns))
	case missing > 0:
		s.note("%d of %d connections have no thread in the Performance Schema: their waits are missing", missing, len(s.conns))
	}
	if blind > 0 {
		s.note("%d of %d connections are not instrumented (setup_actors): their waits are missing", blind, len(s.conns))
	}
	_, rows, err := query(ctx, "SELECT THREAD_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()")
	if err == nil && len(rows) == 1 && len(rows[0]) == 1 {
		s.own, err = number(rows[0][0])
	}
	if err != nil {
		return fmt.Errorf("read performance_schema.threads: %w", err)
	}
	return nil
}

// tableNames returns which tables the Performance Schema has.
func tableNames(ctx context.Context, query Query) (map[string]bool, error) {
	_, rows, err := query(ctx, "SHOW TABLES FROM performance_schema")
	if err != nil {
		return nil, fmt.Errorf("list the tables of performance_schema: %w", err)
	}
	has := map[string]bool{}
	for _, row := range rows {
		if len(row) > 0 && row[0] != nil {
			has[strings.ToLower(*row[0])] = true
		}
	}
	return has, nil
}

// pairs runs a statement whose answer is names and values.
func pairs(ctx context.Context, query Query, sql string) (map[string]string, error) {
	_, rows, err := query(ctx, sql)
	if err != nil {
		return nil, fmt.Errorf("%.60s: %w", sql, err)
	}
	out := make(map[string]string, len(rows))
	for _, row := range rows {
		if len(row) < 2 {
			return nil, fmt.Errorf("%.60s: a row of %d columns for a name and a value", sql, len(row))
		}
		if row[0] != nil && row[1] != nil {
			out[*row[0]] = *row[1]
		}
	}
	return out, nil
}

// kind returns the first parts of an event's name, for counting: wait/synch/mutex.
func kind(name string) string {
	parts := strings.SplitN(name, "/", 4)
	return strings.Join(parts[:min(3, len(parts))], "/")
}
