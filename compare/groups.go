package compare

import (
	"math"
	"slices"

	"backslide/lab"
)

// grouping is what steps are summarised by.
type grouping struct {
	group   lab.Group
	clients int // 0: over all numbers of clients
}

// groupings returns the run's groups and numbers of clients, in the order of reports; over
// all clients only where there are several.
func (j *judge) groupings() []grouping {
	clients := map[lab.Group][]int{}
	for _, l := range j.levels {
		if l.Open { // throughput at a set rate is no result
			continue
		}
		if !slices.Contains(clients[l.Group], l.Level.Clients) {
			clients[l.Group] = append(clients[l.Group], l.Level.Clients)
		}
	}
	var out []grouping
	for _, g := range lab.Groups() {
		slices.Sort(clients[g])
		for _, c := range clients[g] {
			out = append(out, grouping{g, c})
		}
		if len(clients[g]) > 1 {
			out = append(out, grouping{g, 0})
		}
	}
	return out
}

// groups summarises candidates by group and clients, in that order.
func (j *judge) groups(pairs []*pair, cs []lab.Comparison) []lab.GroupSummary {
	ratio := map[*pair]float64{}
	i := 0
	for _, p := range pairs { // the order of both is the same
		for cs[i].Metric != lab.QPS || cs[i].Candidate != p.candidate || cs[i].Level != p.plan.Level {
			i++
		}
		ratio[p] = math.Exp(cs[i].LogRatio)
	}
	var out []lab.GroupSummary
	var one, all []*pair // of a number of clients, and over all: each has its own noise
	var tests []*pair
	for _, v := range j.candidates {
		for _, g := range j.groupings() {
			var ratios []float64
			members := slices.DeleteFunc(slices.Clone(pairs), func(p *pair) bool { return p.candidate != v || !g.has(p) })
			for _, p := range members {
				ratios = append(ratios, ratio[p])
			}
			if len(members) == 0 {
				continue
			}
			t := together(v, g, members)
			if g.clients == 0 {
				all = append(all, t)
			} else {
				one = append(one, t)
			}
			tests = append(tests, t)
			s := lab.GroupSummary{Candidate: v, Group: g.group, Clients: g.clients, Levels: len(members)}
			s.Min, s.Max, s.Average, s.Median = spread(ratios)
			out = append(out, s)
		}
	}
	priorOne, priorAll := fitPriors(one, 0, lab.QPS), fitPriors(all, 0, lab.QPS)
	for i, t := range tests {
		prior := priorOne
		if out[i].Clients == 0 {
			prior = priorAll
		}
		out[i].Test = j.comparison(t, lab.QPS, t.series[0], prior.all)
	}
	return out
}

// has reports whether a pair belongs to the grouping, and has blocks.
func (g grouping) has(p *pair) bool {
	return p.plan.Group == g.group && !p.plan.Open && (g.clients == 0 || g.clients == p.plan.Level.Clients) && len(p.series[0].diffs) > 0
}

// together returns the geometric mean of pairs of one candidate: in each block in which
// all of them have a difference, the mean of these. A level that was decided early ends
// the group's blocks too: what went on without it would be a mean of other steps.
func together(v lab.Variant, g grouping, members []*pair) *pair {
	out := &pair{
		plan:      lab.LevelPlan{Level: lab.Level{Clients: g.clients}, Group: g.group},
		candidate: v, series: make([]series, 1), members: members,
	}
	at := make([]int, len(members))
	for _, d := range members[0].series[0].diffs {
		sum, order, complete := lab.BlockDiff{Block: d.Block}, 0.0, true
		for i, m := range members {
			s := m.series[0]
			for at[i] < len(s.diffs) && s.diffs[at[i]].Block < d.Block {
				at[i]++
			}
			if at[i] == len(s.diffs) || s.diffs[at[i]].Block != d.Block {
				complete = false
				break
			}
			b := s.diffs[at[i]]
			sum.Base += b.Base / float64(len(members))
			sum.Candidate += b.Candidate / float64(len(members))
			sum.Slices += b.Slices
			order += s.order[at[i]] / float64(len(members))
		}
		if complete {
			sum.Diff = sum.Candidate - sum.Base
			out.series[0].diffs = append(out.series[0].diffs, sum)
			out.series[0].order = append(out.series[0].order, order)
		}
	}
	return out
}

// spread returns the smallest, largest, mean and middle of ratios, which it sorts.
func spread(ratios []float64) (lo, hi, average, median float64) {
	slices.Sort(ratios)
	n := len(ratios)
	for _, r := range ratios {
		average += r / float64(n)
	}
	return ratios[0], ratios[n-1], average, (ratios[(n-1)/2] + ratios[n/2]) / 2
}
