package compare

import (
	"cmp"
	"math"
	"slices"

	"backslide/lab"
)

// Counts reports whether a slice enters comparisons and means: measured, and not failed.
func Counts(s lab.Slice) bool {
	_, ok := s.Value(lab.QPS)
	return s.Kind == lab.Measured && ok
}

// Tally gathers the slices of one run, keeping of each only what verdicts need. The zero
// value is ready. It is not safe for use by several goroutines at once.
type Tally struct {
	byCell  map[lab.Cell]*cell
	settled bool
}

// cell holds the measured slices of one cell; sorted by place once settled.
type cell struct {
	good   []obs // Counts
	failed []failed
	errors map[int]int64  // server error code: how often
	slow   []slow         // roles that did not come to their rate
	doubts map[string]int // of the client, about so many slices
	strain strain         // of the host, in good
	block  int            // last block that was tried
	use    use            // of good, once settled
}

// place says which work a slice did: both sides of a comparison have it once.
type place struct{ block, set, seq int32 }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.block, q.block), cmp.Compare(p.set, q.set), cmp.Compare(p.seq, q.seq))
}

// obs is a good slice.
type obs struct {
	place
	restart, position int32
	start             int64 // Unix ns; only to choose between two of one place
	ln                float64
	ops, wall, steal  float64
	busy, faults      float64
	offered           float64        // operations per second that an open loop asked for
	rss               float64        // bytes resident, server, at the end; negative: not known
	amount            [perOp]float64 // of each metric after QPS; of a latency its logarithm times ops; NaN: could not be read
}

// slow is a role of a step that did not come to its rate in a slice.
type slow struct {
	block         int32
	role          string
	rate, offered float64 // operations per second
}

// use is what good slices of a cell used in all, in seconds and numbers; negative: the
// host does not tell.
type use struct {
	wall, server, client, runq, steal, busy, faults float64
	due, done                                       float64 // operations that open loops asked for, and got
}

// spent adds up what slices used.
func spent(good []obs) use {
	var u use
	add := func(to *float64, v float64) {
		switch {
		case *to < 0:
		case v >= 0:
			*to += v
		default: // negative or NaN
			*to = -1
		}
	}
	for _, o := range good {
		u.wall += o.wall
		add(&u.server, o.amount[perOpIndex(lab.ServerCPU)])
		add(&u.client, o.amount[perOpIndex(lab.ClientCPU)])
		add(&u.runq, o.amount[perOpIndex(lab.Runq)])
		add(&u.steal, o.steal)
		add(&u.busy, o.busy)
		add(&u.faults, o.faults)
		if o.offered > 0 {
			u.due += o.offered * o.wall
			u.done += o.ops
		}
	}
	return u
}

// perOp is how many metrics there are besides QPS.
const perOp = 9

type failed struct {
	place
	reason string
}

// Add takes a slice in; slices may come in any order. A slice of another kind than
// lab.Measured is ignored, whatever it holds. Of two slices with the same key the one of
// the later restart counts, then the one that began later.
func (t *Tally) Add(s lab.Slice) {
	if s.Kind != lab.Measured {
		return
	}
	c, ok := t.byCell[s.Cell]
	if !ok {
		if t.byCell == nil {
			t.byCell = map[lab.Cell]*cell{}
		}
		c = &cell{errors: map[int]int64{}}
		t.byCell[s.Cell] = c
	}
	t.settled = false
	c.block = max(c.block, s.Block)
	at := place{int32(s.Block), int32(s.Set), int32(s.Seq)}
	for _, w := range s.Warnings {
		if c.doubts == nil {
			c.doubts = map[string]int{}
		}
		c.doubts[w]++
	}
	for _, e := range s.Errors {
		c.errors[e.Code] += e.Count
	}
	if !Counts(s) {
		c.failed = append(c.failed, failed{at, reason(s)})
		return
	}
	o := obs{
		place: at, restart: int32(s.Restart), position: int32(s.Position), start: s.Start.UnixNano(),
		ops: float64(s.Ops), wall: s.Wall, steal: s.Usage.Steal,
		busy: s.Usage.HostBusy, faults: float64(s.Usage.MajorFaults), offered: s.Offered,
		rss: float64(s.Usage.RSS),
	}
	o.ln = math.Log(o.ops / o.wall)
	for i, m := range lab.Metrics()[1:] {
		v, ok := s.Value(m)
		if !ok {
			v = math.NaN()
		}
		if m.Latency() {
			v = math.Log(v)
		}
		o.amount[i] = v * o.ops
	}
	c.strain.add(s.Usage, s.Wall)
	c.good = append(c.good, o)
	for _, p := range s.Parts {
		if !p.Sustained(s.Wall) {
			c.slow = append(c.slow, slow{at.block, p.Role, float64(p.Ops) / s.Wall, p.Offered})
		}
	}
}

// reason says why a slice does not count.
func reason(s lab.Slice) string {
	switch {
	case s.Err != "":
		return s.Err
	case s.Ops <= 0:
		return "no operation ended in the slice"
	default:
		return "the slice lasted no time"
	}
}

// settle sorts what has been added and keeps one slice of each place.
func (t *Tally) settle() {
	if t.settled {
		return
	}
	for _, c := range t.byCell {
		slices.SortFunc(c.good, func(a, b obs) int {
			return cmp.Or(a.place.compare(b.place), cmp.Compare(b.restart, a.restart), cmp.Compare(b.start, a.start))
		})
		c.good = slices.CompactFunc(c.good, func(a, b obs) bool { return a.place == b.place })
		slices.SortFunc(c.failed, func(a, b failed) int {
			return cmp.Or(a.place.compare(b.place), cmp.Compare(a.reason, b.reason))
		})
		c.use = spent(c.good)
	}
	t.settled = true
}

// of returns the cell of a variant at a level, an empty one if it has no slices.
func (t *Tally) of(v lab.Variant, l lab.Level) *cell {
	if c, ok := t.byCell[lab.Cell{Variant: v, Step: l.Step, Clients: l.Clients}]; ok {
		return c
	}
	return &cell{block: -1}
}
