package compare

import (
	"math"

	"backslide/lab"
)

// pair is a candidate against the base at one level: per metric, one difference per block.
type pair struct {
	plan      lab.LevelPlan
	candidate lab.Variant
	series    []series // as the metrics that were asked for
	lastBlock int      // last block that both sides tried; −1: none
	mirrors   []mirrored
	dropped   int     // mirrored groups that were disturbed from outside
	members   []*pair // of a summary: what it is made of
}

// mirrored is what one mirrored group says of throughput.
type mirrored struct {
	block int32
	diff  float64 // of its logarithms, candidate − base
	level float64 // of the four logarithms, mean
	later float64 // how much faster whichever side ran later in a half of the group; NaN: the halves do not mirror
	wall  float64 // seconds measured per side
}

// series is one metric of a pair.
type series struct {
	diffs []lab.BlockDiff
	order []float64 // of each diff: how unlike the places of the two sides in time were
	zeros int       // blocks without a ratio since a side had nothing of the metric
	alone bool      // in one of them, the other side had something
	doubt string    // why it cannot be judged
}

// sums of one side over the slices that count in a block.
type sums struct {
	n, ln, ops float64
	amount     [perOp]float64
	known      [perOp]float64 // operations of mirrored groups whose amount could be read on both sides
	position   float64
	first, end int32
}

// pair matches a candidate's slices with those of the base that were interleaved with
// them: same block, same set. A mirrored group counts whole or not at all: if one of its
// four slices is missing, the other three are left out, or what was left would no longer
// cancel drift.
func (j *judge) pair(l lab.LevelPlan, v lab.Variant, metrics []lab.Metric) *pair {
	a, b := j.of(j.run.Base, l.Level), j.of(v, l.Level)
	p := &pair{plan: l, candidate: v, series: make([]series, len(metrics)), lastBlock: min(a.block, b.block)}
	var base, cand sums
	block := int32(-1)
	flush := func() {
		if base.n > 0 {
			p.add(int(block), &base, &cand, metrics)
		}
		base, cand = sums{}, sums{}
	}
	for x, y := a.good, b.good; len(x) > 0 && len(y) > 0; {
		gx, gy := mirror(x), mirror(y)
		switch c := x[0].group().compare(y[0].group()); {
		case c < 0:
			x = x[gx:]
			continue
		case c > 0:
			y = y[gy:]
			continue
		}
		switch {
		case l.Whole():
			if x[0].block != block {
				flush()
				block = x[0].block
			}
			addGroup(&base, &cand, x[:gx], y[:gy])
		case gx != 2 || gy != 2:
		case j.disturbed[l.Level][x[0].group()]:
			p.dropped++
		default:
			if x[0].block != block {
				flush()
				block = x[0].block
			}
			addGroup(&base, &cand, x[:2], y[:2])
			p.mirrors = append(p.mirrors, mirroredGroup(x[:2], y[:2]))
		}
		x, y = x[gx:], y[gy:]
	}
	flush()
	if why := j.overloaded(l, v); why != "" {
		for i, m := range metrics {
			if m.Latency() {
				p.series[i].doubt = why
			}
		}
	}
	return p
}

// group returns the place of a slice's mirrored group.
func (p place) group() place { p.seq /= 2; return p }

// mirror returns how many slices of the first mirrored group there are: 1 or 2.
func mirror(s []obs) int {
	if len(s) > 1 && s[0].group() == s[1].group() {
		return 2
	}
	return 1
}

// mirroredGroup compares two slices of the base with two of a candidate. A host that
// gets faster by δ from one slice to the next gives both halves of the group a difference
// of its own sign, so that their mean is free of it and their contrast has nothing else.
func mirroredGroup(x, y []obs) mirrored {
	m := mirrored{block: x[0].block, wall: (x[0].wall + x[1].wall + y[0].wall + y[1].wall) / 2, later: math.NaN()}
	first, second := y[0].ln-x[0].ln, y[1].ln-x[1].ln
	m.diff = (first + second) / 2
	m.level = (x[0].ln + x[1].ln + y[0].ln + y[1].ln) / 4
	if after, before := y[0].position > x[0].position, y[1].position > x[1].position; after != before {
		m.later = (first - second) / 2
		if before {
			m.later = -m.later
		}
	}
	return m
}

func addGroup(base, cand *sums, x, y []obs) {
	base.add(x)
	cand.add(y)
	most := perOp
	if !sameRate(x, y) {
		most = firstLatency
	}
	for m := range most {
		vx, ox := amounts(x, m)
		vy, oy := amounts(y, m)
		if math.IsNaN(vx) || math.IsNaN(vy) {
			continue
		}
		base.amount[m] += vx
		base.known[m] += ox
		cand.amount[m] += vy
		cand.known[m] += oy
	}
}

// amounts adds up a metric and the operations of slices.
func amounts(group []obs, m int) (amount, ops float64) {
	for _, o := range group {
		amount += o.amount[m]
		ops += o.ops
	}
	return amount, ops
}

func (s *sums) add(group []obs) {
	for _, o := range group {
		if s.n == 0 {
			s.first, s.end = o.position, o.position
		}
		s.first, s.end = min(s.first, o.position), max(s.end, o.position)
		s.n++
		s.ln += o.ln
		s.ops += o.ops
		s.position += float64(o.position)
	}
}

// add appends a block. Throughput is the mean of logarithms over slices, so that a linear
// drift of the logarithm cancels exactly; a metric per operation is total over total,
// since bursts, such as of writes, leave many slices with nothing.
func (p *pair) add(block int, base, cand *sums, metrics []lab.Metric) {
	order := imbalance(base, cand)
	for i, m := range metrics {
		if m.Latency() && !p.plan.Open {
			continue
		}
		d := lab.BlockDiff{Block: block, Slices: int(base.n)}
		if m == lab.QPS {
			d.Base, d.Candidate = base.ln/base.n, cand.ln/cand.n
		} else {
			k := perOpIndex(m)
			if base.known[k] == 0 {
				continue
			}
			if m.Latency() {
				d.Base, d.Candidate = base.amount[k]/base.known[k], cand.amount[k]/cand.known[k]
				p.append(i, d, order)
				continue
			}
			if base.amount[k] <= 0 || cand.amount[k] <= 0 {
				p.series[i].zeros++
				p.series[i].alone = p.series[i].alone || base.amount[k] > 0 || cand.amount[k] > 0
				continue
			}
			d.Base, d.Candidate = math.Log(base.amount[k]/base.known[k]), math.Log(cand.amount[k]/cand.known[k])
		}
		p.append(i, d, order)
	}
}

// append adds a block's difference to one of the series.
func (p *pair) append(i int, d lab.BlockDiff, order float64) {
	d.Diff = d.Candidate - d.Base
	p.series[i].diffs = append(p.series[i].diffs, d)
	p.series[i].order = append(p.series[i].order, order)
}

// perOpIndex returns where a metric's amounts are kept.
func perOpIndex(m lab.Metric) int {
	for i, other := range lab.Metrics()[1:] {
		if m == other {
			return i
		}
	}
	panic("compare: no such metric: " + string(m))
}

// imbalance returns how much later, on average, the candidate's slices of a block ran
// than the base's, as a share of the time from the first to the last of them: 0 for
// mirrored groups, over one half either way when one side ran before the other.
func imbalance(base, cand *sums) float64 {
	span := float64(max(base.end, cand.end) - min(base.first, cand.first))
	if span == 0 {
		return 0
	}
	return (cand.position/cand.n - base.position/base.n) / span
}
