package compare

import (
	"cmp"
	"math"
	"slices"

	"backslide/lab"
)

// cells returns the absolute values of every cell that has good slices, whether the other
// side has them or not, in the order of levels and variants.
func (j *judge) cells() []lab.CellMean {
	var out []lab.CellMean
	for _, l := range j.levels {
		for _, v := range j.run.Variants {
			if good := j.of(v, l.Level).good; len(good) > 0 {
				m := mean(good)
				m.Memory = memory(good)
				m.Cell, m.Group = lab.Cell{Variant: v, Step: l.Level.Step, Clients: l.Level.Clients}, l.Group
				out = append(out, m)
			}
		}
	}
	return out
}

// mean returns total over total per block, averaged over blocks, of sorted slices. A
// metric that no slice could tell is absent.
func mean(good []obs) lab.CellMean {
	m := lab.CellMean{Slices: len(good), Values: map[lab.Metric]float64{}}
	var known [perOp]float64 // blocks that could tell
	metrics := lab.Metrics()
	for len(good) > 0 {
		n := slices.IndexFunc(good, func(o obs) bool { return o.block != good[0].block })
		if n < 0 {
			n = len(good)
		}
		var ops, wall float64
		var amount, over [perOp]float64
		for _, o := range good[:n] {
			ops += o.ops
			wall += o.wall
			for k, a := range o.amount {
				if !math.IsNaN(a) {
					amount[k] += a
					over[k] += o.ops
				}
			}
		}
		m.Values[lab.QPS] += ops / wall
		for k := range amount {
			if over[k] > 0 {
				m.Values[metrics[k+1]] += amount[k] / over[k]
				known[k]++
			}
		}
		m.Blocks++
		good = good[n:]
	}
	m.Values[lab.QPS] /= float64(m.Blocks)
	for k, n := range known {
		if n > 0 {
			m.Values[metrics[k+1]] /= n
		}
	}
	for metric, v := range m.Values {
		if metric.Latency() {
			m.Values[metric] = math.Exp(v)
		}
	}
	return m
}

// memory returns what a server held resident at the ends of its sorted slices: means over
// blocks of the first, the last and the largest. Zero where the host does not tell.
func memory(good []obs) lab.Memory {
	var m lab.Memory
	blocks := 0.0
	for len(good) > 0 {
		n := slices.IndexFunc(good, func(o obs) bool { return o.block != good[0].block })
		if n < 0 {
			n = len(good)
		}
		first, last, most := good[0].rss, good[n-1].rss, 0.0
		for _, o := range good[:n] {
			most = max(most, o.rss)
		}
		if first > 0 && last > 0 {
			m.First, m.Last, m.Most = m.First+first, m.Last+last, m.Most+most
			blocks++
		}
		good = good[n:]
	}
	if blocks > 0 {
		m.First, m.Last, m.Most = m.First/blocks, m.Last/blocks, m.Most/blocks
	}
	return m
}

// failures returns one entry per block, cell and distinct reason, by block and cell.
func (t *Tally) failures() []lab.Failure {
	var out []lab.Failure
	for id, c := range t.byCell {
		for _, f := range c.failed {
			out = append(out, lab.Failure{Block: int(f.block), Cell: id, Err: f.reason})
		}
	}
	slices.SortFunc(out, func(a, b lab.Failure) int {
		return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Cell.String(), b.Cell.String()), cmp.Compare(a.Err, b.Err))
	})
	return slices.Compact(out)
}
