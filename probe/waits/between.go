package waits

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"backslide/lab"
)

// Delta is what happened between two snapshots, per operation. Amounts are in seconds,
// with how often in Count, if not said otherwise; the largest come first. What did not
// happen is not listed, and what is not known is a note.
//
// Time is counted once in Events. The events of the Performance Schema lie within each
// other: a row fetched (wait/io/table) contains the mutexes and the file reads of the
// engine, waiting for a metadata lock (wait/lock) contains waiting for its condition. So
// Events holds the innermost ones only: wait/synch, wait/io/file, wait/io/socket. Those
// around them are in Around and must not be added to Events. For one wait the servers have
// no event of their own: for a row lock of another transaction. It is in Events as RowLock
// and RocksRowLock, by the engines' own clocks.
type Delta struct {
	Ops     int64
	Wall    float64 // seconds between the snapshots
	Threads int     // of clients

	Events     []lab.Amount // by the clients' threads
	Around     []lab.Amount // by the clients' threads: contain Events, CPU time, and each other
	Idle       lab.Amount   // the clients' threads waited for their next statement: the client's time, not the server's
	Others     []lab.Amount // innermost events of all other threads, their sleeping for want of work included
	Stages     []lab.Amount // of the clients' statements: contain Events and CPU time
	Statements []lab.Amount // of the clients, by kind: contain all the above but Idle
	Digests    []lab.Amount // statements with a default schema, by text, whoever sent them
	Files      []lab.Amount // all threads, by kind of file and what was done
	Tables     []lab.Amount // all threads, by table and what was done; Count is rows, except of locks
	Counters   []lab.Amount // Value is how often, or how much in the counter's own unit; no seconds

	Notes []string
}

// The names of the events that stand for waits for row locks. They are made from what the
// engines count over all connections: InnoDB in whole milliseconds, MyRocks in nanoseconds.
const (
	RowLock      = "wait/lock/row/innodb (Innodb_row_lock_time)"
	RocksRowLock = "wait/lock/row/rocksdb (KEY_LOCK_WAIT_TIME)"
)

// Between returns what happened from a to b, divided by ops. If the server was restarted
// or its counters were reset meanwhile, that is a note, and what is not known is left out:
// it is never taken for zero. Sums that cannot be are kept and noted.
func Between(a, b Snapshot, ops int64) Delta {
	d := Delta{Ops: ops, Wall: b.Began.Sub(a.Ended).Seconds(), Threads: len(b.threads)}
	if d.Wall <= 0 {
		d.Wall = b.Ended.Sub(a.Began).Seconds()
	}
	if ops <= 0 {
		d.note("no operation ended between the readings: amounts per operation are not known")
		return d
	}
	if restarted(a, b) {
		d.note("the server was restarted between the readings: nothing it had counted can be used")
		return d
	}
	d.Notes = append(d.Notes, b.notes...)
	d.Notes = append(d.Notes, b.first.notes...)
	c, notes := counterChange(a.last, b.first)
	d.Notes = append(d.Notes, notes...)
	if a.tables == nil || b.tables == nil {
		d.addCounters(c)
		return d
	}
	d.sayLost(a, b)
	if changed := timerChange(a.timers, b.timers); changed != "" {
		d.note("the clock of the Performance Schema was changed between the readings (%s): its times cannot be used", changed)
		d.addCounters(c)
		return d
	}
	if b.noRedo && c["Innodb_os_log_written"] > 0 {
		d.note("this server has no event for the I/O of its redo log: waiting for that is in no event, only in stages")
	}
	t := tables{a: a, b: b, d: &d}
	d.events(t, c)
	d.statements(t, c)
	d.objects(t, c)
	d.addCounters(c)
	return d
}

func (d *Delta) note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

// restarted reports whether the server of b has been up for a shorter time than passed.
func restarted(a, b Snapshot) bool {
	before, err1 := time.ParseDuration(a.last.global["Uptime"] + "s")
	after, err2 := time.ParseDuration(b.first.global["Uptime"] + "s")
	return err1 == nil && err2 == nil && after < before
}

func timerChange(a, b map[string]string) string {
	var out []string
	for _, name := range sortedKeys(b) {
		if was, ok := a[name]; ok && was != b[name] {
			out = append(out, fmt.Sprintf("%s: %s, then %s", name, was, b[name]))
		}
	}
	return strings.Join(out, "; ")
}

// sayLost notes what the Performance Schema had no room for, as far as it concerns what
// is read here.
func (d *Delta) sayLost(a, b Snapshot) {
	for _, name := range sortedKeys(b.lost) {
		for _, part := range []string{"mutex", "rwlock", "cond", "file", "socket", "table", "thread", "stage", "locker", "metadata"} {
			if strings.Contains(strings.ToLower(name), part) {
				d.note("%s is %d, of these %d since the first reading: waits are missing", name, b.lost[name], max(b.lost[name], a.lost[name])-a.lost[name])
				break
			}
		}
	}
}

// events fills in the waits of threads.
func (d *Delta) events(t tables, c map[string]int64) {
	rows, ok := t.change(threadWaits)
	if ok {
		inner, around, own := map[string]tally{}, map[string]tally{}, map[string]tally{}
		byThread := map[uint64]float64{}
		for k, v := range rows {
			w := timed(v)
			switch {
			case k.Thread == t.b.own:
				own[k.Name] = own[k.Name].plus(w)
			case k.Name == "idle":
				d.Idle = lab.Amount{Name: "idle", Value: d.Idle.Value + w.sec/float64(d.Ops), Count: d.Idle.Count + float64(w.n)/float64(d.Ops)}
			case isAround(k.Name):
				around[k.Name] = around[k.Name].plus(w)
			default:
				inner[k.Name] = inner[k.Name].plus(w)
				byThread[k.Thread] += w.sec
			}
		}
		d.sayUntimed(inner)
		d.sayImpossible(byThread, t.b.Ended.Sub(t.a.Began).Seconds())
		if ms := c["Innodb_row_lock_time"]; ms > 0 {
			inner[RowLock] = tally{n: max(c["Innodb_row_lock_waits"], 1), sec: float64(ms) / 1e3}
		}
		if ns := c[rocksName("KEY_LOCK_WAIT_TIME")]; ns > 0 {
			inner[RocksRowLock] = tally{n: max(c[rocksName("KEY_LOCK_WAIT_COUNT")], 1), sec: float64(ns) / 1e9}
		}
		d.Events, d.Around = d.perOp(inner), d.perOp(around)
		if all, ok := t.change(serverWaits); ok {
			others := map[string]tally{}
			for k, v := range all {
				w := timed(v).minus(inner[k.Name]).minus(own[k.Name])
				if k.Name != "idle" && !isAround(k.Name) && w.n > 0 && w.sec > 0 {
					others[k.Name] = w
				}
			}
			d.Others = d.perOp(others)
		}
	}
	if rows, ok := t.change(threadStages); ok {
		d.Stages = d.perOp(byName(rows, t.b.own, func(n string) string { return n }))
	}
}

// isAround reports whether an event contains others. That InnoDB takes a mutex of its
// queue while it hands over a file request is let pass: it is far below a microsecond.
func isAround(event string) bool {
	return strings.HasPrefix(event, "wait/io/table/") || strings.HasPrefix(event, "wait/lock/") || !strings.HasPrefix(event, "wait/")
}

func (d *Delta) sayUntimed(events map[string]tally) {
	var names []string
	for _, name := range sortedKeys(events) {
		if events[name].n > 0 && events[name].sec == 0 {
			names = append(names, name)
			delete(events, name)
		}
	}
	if len(names) > 0 {
		d.note("%d events were counted but not timed, how long they took is not known: %s", len(names), some(names))
	}
}

// sayImpossible notes threads that waited for longer than there was time.
func (d *Delta) sayImpossible(byThread map[uint64]float64, window float64) {
	worst, n := 0.0, 0
	for _, sec := range byThread {
		if sec > window*1.01+1e-3 {
			n++
			worst = max(worst, sec)
		}
	}
	if n > 0 {
		d.note("impossible: %d of %d threads waited for longer than the %.3g s between the readings, one for %.3g s: a wait began before them, or events lie within each other, or the server's clock is wrong", n, d.Threads, window, worst)
	}
}

// addCounters turns what was counted into amounts.
func (d *Delta) addCounters(c map[string]int64) {
	for name, n := range c {
		d.Counters = append(d.Counters, lab.Amount{Name: name, Value: float64(n) / float64(d.Ops)})
	}
	sortAmounts(d.Counters)
}

func (d *Delta) perOp(m map[string]tally) []lab.Amount {
	out := make([]lab.Amount, 0, len(m))
	for name, t := range m {
		out = append(out, lab.Amount{Name: name, Value: t.sec / float64(d.Ops), Count: float64(t.n) / float64(d.Ops)})
	}
	sortAmounts(out)
	return out
}

func sortAmounts(a []lab.Amount) {
	slices.SortFunc(a, func(x, y lab.Amount) int {
		return cmp.Or(cmp.Compare(y.Value, x.Value), cmp.Compare(y.Count, x.Count), strings.Compare(x.Name, y.Name))
	})
}

// some returns the first of many names.
func some(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
