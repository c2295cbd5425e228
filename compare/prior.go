package compare

import (
	"slices"

	"backslide/lab"
	"backslide/stat"
)

// LeastBlocks is how many blocks a verdict needs.
const LeastBlocks = 4

const (
	// firstLook is the number of blocks before which nothing is called: the prior is
	// fitted to this many, and without a prior fewer say next to nothing of the noise.
	firstLook = LeastBlocks
	// priorTests is the number of levels from which on a prior is fitted. From 2 levels
	// false alarms would be 1.4 % where 1 % is allowed, from 4 up to 1.1 %, from 6 at most
	// 1 %, with variances that are all equal and with ones that differ widely.
	priorTests = 6
)

// priors holds what the levels of a run say of each other's noise, for one metric: per
// group where a group has levels enough, else over all of them.
type priors struct {
	metric  lab.Metric
	all     stat.Prior
	byGroup map[lab.Group]stat.Prior
}

func (p priors) of(l lab.LevelPlan) stat.Prior {
	if alone(l, p.metric) {
		return stat.Prior{}
	}
	if q, ok := p.byGroup[l.Group]; ok {
		return q
	}
	return p.all
}

// alone reports whether a level says nothing of the noise of others: throughput at a set
// rate has next to none.
func alone(l lab.LevelPlan, m lab.Metric) bool { return l.Open && m == lab.QPS }

// fitPriors fits the priors of the metric at index m of every pair's series. Only the run's first
// firstLook blocks enter, so that what comes later changes no earlier look.
func fitPriors(pairs []*pair, m int, metric lab.Metric) priors {
	out := priors{metric: metric, byGroup: map[lab.Group]stat.Prior{}}
	last, ok := firstBlocks(pairs, m)
	if !ok {
		return out
	}
	vars := map[lab.Group][]float64{}
	levels := map[lab.Group]map[lab.Level]bool{}
	var all []float64
	count := 0
	for _, p := range pairs {
		d := values(p.series[m].diffs)
		if alone(p.plan, metric) || len(d) < firstLook || p.series[m].diffs[firstLook-1].Block > last {
			continue
		}
		e := stat.Prior{}.Moderate(d[:firstLook])
		g := p.plan.Group
		if levels[g] == nil {
			levels[g] = map[lab.Level]bool{}
		}
		if !levels[g][p.plan.Level] {
			levels[g][p.plan.Level] = true
			count++
		}
		vars[g] = append(vars[g], e.SD*e.SD)
		all = append(all, e.SD*e.SD)
	}
	if count >= priorTests {
		out.all = stat.FitPrior(all, firstLook-1)
	}
	for g, v := range vars {
		if len(levels[g]) >= priorTests {
			out.byGroup[g] = stat.FitPrior(v, firstLook-1)
		}
	}
	return out
}

// firstBlocks returns the number of the block with which the run has firstLook blocks
// that any pair has a difference in.
func firstBlocks(pairs []*pair, m int) (last int, ok bool) {
	var blocks []int
	for _, p := range pairs {
		for i, d := range p.series[m].diffs {
			if i == firstLook {
				break
			}
			if !slices.Contains(blocks, d.Block) {
				blocks = append(blocks, d.Block)
			}
		}
	}
	if len(blocks) < firstLook {
		return 0, false
	}
	slices.Sort(blocks)
	return blocks[firstLook-1], true
}

func values(diffs []lab.BlockDiff) []float64 {
	out := make([]float64, len(diffs))
	for i, d := range diffs {
		out[i] = d.Diff
	}
	return out
}
