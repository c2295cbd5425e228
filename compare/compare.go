// Package compare turns the slices of a run into verdicts, doubts and footnotes. It is
// pure: it measures nothing, reads no clock, and says the same of the same slices in
// whatever order they come. How things are computed is stat's; docs/statistics.md tells
// it in words.
//
// It leaves the latency quantiles of a Summary's cells at zero: histograms are load's to
// read. Whoever fills them in takes the slices that Counts.
package compare

import (
	"fmt"
	"slices"

	"backslide/lab"
	"backslide/stat"
)

// Compare judges every candidate of a run against the base at every level and metric.
// b keeps boundaries between calls; nil computes them anew. An error means that the run
// itself makes no sense, never that data are missing: those are notes and footnotes.
func Compare(run lab.Run, slices []lab.Slice, b *stat.Boundaries) (lab.Summary, error) {
	var t Tally
	for _, s := range slices {
		t.Add(s)
	}
	return t.Summary(run, b)
}

// Summary judges what has been added so far, at every level and metric. See Compare.
func (t *Tally) Summary(run lab.Run, b *stat.Boundaries) (lab.Summary, error) {
	j, err := t.judge(run, b)
	if err != nil {
		return lab.Summary{}, err
	}
	pairs := j.pairs(lab.Metrics())
	s := lab.Summary{
		Run:         run,
		Comparisons: j.comparisons(pairs, lab.Metrics()),
		Cells:       j.cells(),
		Failures:    t.failures(),
		Footnotes:   j.footnotes(),
		Lamps:       j.lamps,
		Noise:       j.noise(pairs),
	}
	s.Groups = j.groups(pairs, s.Comparisons)
	s.AA = j.twins(s.Comparisons)
	if s.AA != nil && s.AA.Held {
		hold(s.Comparisons, s.Groups)
	}
	return s, nil
}

// Verdicts judges what has been added so far by the metric that decides, lab.QPS: for a
// conductor that wants to know which levels and candidates are Done. The comparisons are
// those of Summary.
func (t *Tally) Verdicts(run lab.Run, b *stat.Boundaries) ([]lab.Comparison, error) {
	j, err := t.judge(run, b)
	if err != nil {
		return nil, err
	}
	metrics := j.deciding()
	cs := j.comparisons(j.pairs(metrics), metrics)
	cs = slices.DeleteFunc(cs, func(c lab.Comparison) bool { return c.Metric != lab.QPS })
	if aa := j.twins(cs); aa != nil && aa.Held {
		hold(cs, nil)
	}
	return cs, nil
}

// judge is a tally with all that is fixed about a run's verdicts.
type judge struct {
	*Tally
	run        lab.Run
	plan       lab.Plan
	levels     []lab.LevelPlan
	candidates []lab.Variant
	bounds     *stat.Boundaries
	lamps      lab.Lamps
	disturbed  map[lab.Level]map[place]bool // mirrored groups to leave out
}

func (t *Tally) judge(run lab.Run, b *stat.Boundaries) (*judge, error) {
	j := &judge{Tally: t, run: run, plan: run.Plan.WithDefaults(), bounds: b}
	if err := j.plan.Check(); err != nil {
		return nil, fmt.Errorf("compare run %d: %w", run.ID, err)
	}
	for _, l := range run.Levels {
		if !l.Warm {
			j.levels = append(j.levels, l)
		}
	}
	based := false
	for _, v := range run.Variants {
		if v == run.Base {
			based = true
		} else {
			j.candidates = append(j.candidates, v)
		}
	}
	if !based {
		return nil, fmt.Errorf("compare run %d: base %q is none of its %d variants", run.ID, run.Base, len(run.Variants))
	}
	if b == nil {
		j.bounds = &stat.Boundaries{}
	}
	t.settle()
	j.lamps = j.family()
	j.disturbed = j.disturbances()
	return j, nil
}

// pairs returns every level and candidate, in that order, with series of the metrics.
func (j *judge) pairs(metrics []lab.Metric) []*pair {
	var out []*pair
	for _, l := range j.levels {
		for _, c := range j.candidates {
			out = append(out, j.pair(l, c, metrics))
		}
	}
	return out
}

// comparisons returns one comparison per pair and metric, in that order. A metric other
// than QPS that no block could tell is left out.
func (j *judge) comparisons(pairs []*pair, metrics []lab.Metric) []lab.Comparison {
	return slices.Concat(j.byPair(pairs, metrics)...)
}

// byPair returns the comparisons of each pair, that of QPS first.
func (j *judge) byPair(pairs []*pair, metrics []lab.Metric) [][]lab.Comparison {
	priors := make([]priors, len(metrics))
	for i := range metrics {
		priors[i] = fitPriors(pairs, i, metrics[i])
	}
	out := make([][]lab.Comparison, len(pairs))
	for n, p := range pairs {
		var own []lab.Comparison
		for i, m := range metrics {
			if s := p.series[i]; i == 0 || len(s.diffs) > 0 || s.alone {
				own = append(own, j.comparison(p, m, s, priors[i].of(p.plan)))
			}
		}
		done := decides(p.plan.Open, own).Done || p.lastBlock >= j.plan.BlocksMax-1
		for i := range own {
			own[i].Done = done
		}
		out[n] = own
	}
	return out
}
