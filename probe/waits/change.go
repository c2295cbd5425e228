package waits

import (
	"strings"
)

// tally is how often something was, and for how many seconds.
type tally struct {
	n   int64
	sec float64
}

func (t tally) plus(u tally) tally  { return tally{t.n + u.n, t.sec + u.sec} }
func (t tally) minus(u tally) tally { return tally{t.n - u.n, t.sec - u.sec} }

// picosecond is the unit of all times in the Performance Schema, whatever its clocks are:
// MySQL manual, "Performance Schema Event Timing".
const picosecond = 1e-12

// timed returns the count and time that most tables have.
func timed(s sums) tally { return s.tally("COUNT_STAR", "SUM_TIMER_WAIT") }

func (s sums) tally(count, timer string) tally {
	return tally{n: int64(s[count]), sec: float64(s[timer]) * picosecond}
}

// tables are two readings of the same tables, and where to say what is wrong with them.
type tables struct {
	a, b Snapshot
	d    *Delta
}

// change returns by how much the rows of a table grew; false if that cannot be said. A
// row that only b has was made in between. One that only a has is gone, with what it
// counted: threads that ended and statements that were closed.
func (t tables) change(table string) (map[key]sums, bool) {
	a, ok1 := t.a.tables[table]
	b, ok2 := t.b.tables[table]
	if !ok1 || !ok2 {
		return nil, false // a note says why
	}
	out := map[key]sums{}
	var reset, wrapped []string
	for k, after := range b {
		before := a[k]
		v := sums{}
		for column, n := range after {
			switch was := before[column]; {
			// No counter gets there by counting: 2⁶³ ps are 106 days.
			case n >= 1<<63 || was >= 1<<63:
				wrapped = append(wrapped, k.String()+" "+column)
			case n < was:
				reset = append(reset, k.String()+" "+column)
			case n > was:
				v[column] = n - was
			}
		}
		if len(v) > 0 {
			out[k] = v
		}
	}
	if len(wrapped) > 0 {
		t.d.note("%s: %d values are below zero or wrapped and are left out: %s", table, len(wrapped), someSorted(wrapped))
	}
	if len(reset) > 0 {
		t.d.note("%s: %d counters went down, so they were reset between the readings and none of the table can be used: %s", table, len(reset), someSorted(reset))
		return nil, false
	}
	t.sayGone(table, a, b)
	return out, true
}

// sayGone notes threads of clients that ended.
func (t tables) sayGone(table string, a, b map[key]sums) {
	if table != threadWaits {
		return
	}
	was, is := map[uint64]bool{}, map[uint64]bool{}
	for k := range a {
		was[k.Thread] = true
	}
	for k := range b {
		is[k.Thread] = true
	}
	gone := 0
	for id := range was {
		if !is[id] && id != t.a.own {
			gone++
		}
	}
	if gone > 0 {
		t.d.note("%d of the clients' connections ended between the readings: their waits are missing", gone)
	}
}

// String returns the key's name as notes show it.
func (k key) String() string {
	return strings.Join(strings.FieldsFunc(k.Name, func(r rune) bool { return r == 0 }), " ")
}

func someSorted(names []string) string {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return some(sortedKeys(m))
}

// byName sums rows of the clients' threads by a name made from theirs; "" leaves out.
func byName(rows map[key]sums, own uint64, name func(string) string) map[string]tally {
	out := map[string]tally{}
	for k, v := range rows {
		n := name(k.Name)
		if n == "" || own != 0 && k.Thread == own {
			continue
		}
		if w := timed(v); w.n > 0 || w.sec > 0 {
			out[n] = out[n].plus(w)
		}
	}
	return out
}
