package compare

import (
	"cmp"
	"math"
	"slices"
	"time"

	"backslide/lab"
	"backslide/stat"
)

// Forecast is what a run is expected to still take. It is a guess for whoever schedules
// and waits, and decides nothing.
type Forecast struct {
	Outlooks []Outlook     // of what is not Done, the nearest to its end first
	Blocks   int           // until the last of them ends
	Left     time.Duration // that they take, each without the levels that have ended by then
}

// Outlook is what is expected of one level and candidate.
type Outlook struct {
	Level     lab.Level
	Candidate lab.Variant
	Blocks    int           // until it is Done: at the earliest the next
	Call      lab.Verdict   // expected then; inconclusive if the plan ends first
	Each      time.Duration // that its slices take in a block, the base's shared with nobody
	Slices    int           // per side and block that use time best; the plan's where nothing is known
}

// Forecast says what the run is expected to still take, going by what has been added so
// far: differences stay where they are, and their noise too. Before the fourth block, a
// level is taken to need the whole plan.
func (t *Tally) Forecast(run lab.Run, b *stat.Boundaries) (Forecast, error) {
	j, err := t.judge(run, b)
	if err != nil {
		return Forecast{}, err
	}
	metrics := j.deciding()
	pairs := j.pairs(metrics)
	overhead := j.overhead()
	var f Forecast
	for i, own := range j.byPair(pairs, metrics) {
		if own[0].Done {
			continue
		}
		o := j.outlook(pairs[i], decides(pairs[i].plan.Open, own))
		o.Slices = pairs[i].plan.Slices
		if len(pairs[i].mirrors) > 0 {
			if n := j.pairNoise(pairs[i], overhead); n.Slices > 0 && pairs[i].plan.Timed() {
				o.Slices = n.Slices
			}
		}
		f.Outlooks = append(f.Outlooks, o)
		f.Blocks = max(f.Blocks, o.Blocks)
	}
	slices.SortStableFunc(f.Outlooks, func(a, b Outlook) int {
		return cmp.Compare(float64(a.Blocks)*a.Each.Seconds(), float64(b.Blocks)*b.Each.Seconds())
	})
	f.Left = j.left(f.Outlooks, overhead)
	return f, nil
}

// outlook predicts after how many more blocks a comparison ends: the first at which its
// difference and noise as they are now would be called, and, if the plan asks for it,
// light the red lamp.
func (j *judge) outlook(p *pair, c lab.Comparison) Outlook {
	o := Outlook{Level: c.Level, Candidate: c.Candidate, Call: lab.Inconclusive, Each: j.each(p.plan)}
	now := max(len(c.Blocks), p.lastBlock+1)
	o.Blocks = max(1, j.plan.BlocksMax-now)
	if len(c.Blocks) < firstLook || c.SD == 0 {
		return o
	}
	e := stat.Estimate{N: len(c.Blocks), Mean: c.LogRatio, SD: c.SD, DF: c.DF}
	e.Prior = int(math.Round(c.DF)) - calledAt(c) + 1
	for more := 1; more <= o.Blocks; more++ {
		e.N = len(c.Blocks) + more
		eq := e.Interval(j.critical(e, j.plan.AlphaEq))
		far := math.Abs(e.T())
		verdict := lab.Regressed
		if e.Mean > 0 {
			verdict = lab.Improved
		}
		alpha := j.plan.Alpha
		if c.Metric == lab.QPS && j.plan.Stop == lab.UntilRed && !j.monitor(c.Candidate) {
			alpha = j.alphaRed(lab.QPS)
		}
		switch {
		case !called(c) && stat.Decide(stat.Interval{}, eq, j.plan.Margin) == stat.Equivalent:
			o.Blocks, o.Call = more, lab.Equivalent
			return o
		case far >= j.critical(e, alpha):
			o.Blocks, o.Call = more, verdict
			return o
		case far >= j.critical(e, j.plan.Alpha):
			o.Call = verdict
		}
	}
	if called(c) {
		o.Call = c.Verdict
	}
	return o
}

// calledAt returns the number of blocks that a comparison's figures are of: the mean of so
// many is its LogRatio.
func calledAt(c lab.Comparison) int {
	sum := 0.0
	for i, d := range c.Blocks {
		sum += d.Diff
		n := i + 1
		if n >= firstLook && math.Abs(sum/float64(n)-c.LogRatio) <= 1e-12*(1+math.Abs(c.LogRatio)) {
			return n
		}
	}
	return len(c.Blocks)
}

// each returns how long a level's slices of two sides take in a block.
func (j *judge) each(l lab.LevelPlan) time.Duration {
	each := time.Duration(l.Slices) * l.Slice
	if l.Timed() {
		each += time.Duration(l.Slices) * j.plan.Discard
	}
	return 2 * each
}

// left adds up the blocks to come: in each, the levels still open, with as many sides as
// have an open candidate there and the base once per set, and what a restart costs.
func (j *judge) left(open []Outlook, overhead float64) time.Duration {
	most := 0
	for _, o := range open {
		most = max(most, o.Blocks)
	}
	total := 0.0
	for block := 1; block <= most; block++ {
		sides := map[lab.Level]int{}
		each := map[lab.Level]float64{}
		for _, o := range open {
			if o.Blocks >= block {
				sides[o.Level]++
				each[o.Level] = o.Each.Seconds() / 2
			}
		}
		for l, n := range sides {
			bases := (n + j.plan.GroupSize - 2) / max(1, j.plan.GroupSize-1)
			total += float64(n+bases) * (each[l] + overhead)
		}
	}
	return time.Duration(total * float64(time.Second))
}
