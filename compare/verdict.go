package compare

import (
	"fmt"
	"math"

	"backslide/lab"
	"backslide/stat"
)

// look is what one look at the first n blocks says.
type look struct {
	est      stat.Estimate
	critical float64
	rci, eq  stat.Interval
	call     stat.Call
}

// rule returns the plan's test at level alpha, with a prior of so many degrees of freedom.
func (j *judge) rule(prior int, alpha float64) stat.Rule {
	return stat.Rule{
		Max: j.plan.BlocksMax, First: firstLook, Prior: prior, Alpha: alpha, Rho: j.plan.Rho, Open: j.plan.Rule == lab.EValues,
	}
}

// critical returns what |t| of an estimate is held against in a test at level alpha.
func (j *judge) critical(e stat.Estimate, alpha float64) float64 {
	return j.bounds.Get(j.rule(e.Prior, alpha)).At(e.N)
}

func (j *judge) look(d []float64, prior stat.Prior) look {
	if len(d) < firstLook {
		prior = stat.Prior{}
	}
	l := look{est: prior.Moderate(d)}
	l.critical = j.critical(l.est, j.plan.Alpha)
	l.rci = l.est.Interval(l.critical)
	l.eq = l.est.Interval(j.critical(l.est, j.plan.AlphaEq))
	l.call = stat.Decide(l.rci, l.eq, j.plan.Margin)
	if l.est.SD == 0 && l.call == stat.Equivalent {
		l.call = stat.Open // the values may be coarser than the margin
	}
	return l
}

// comparison judges one metric of a pair: it looks after each block as the run did, and
// the first look that calls is the one that counts, whatever came later.
func (j *judge) comparison(p *pair, m lab.Metric, s series, prior stat.Prior) lab.Comparison {
	c := lab.Comparison{
		Base: j.run.Base, Candidate: p.candidate, Level: p.plan.Level, Group: p.plan.Group, Metric: m,
		Blocks: s.diffs, Verdict: lab.Inconclusive,
		Lo: math.Inf(-1), Hi: math.Inf(1), EqLo: math.Inf(-1), EqHi: math.Inf(1),
		MDE: math.Inf(1), Critical: math.Inf(1),
	}
	d := values(s.diffs)
	usable := len(d)
	if j.plan.Rule != lab.EValues {
		usable = min(usable, j.plan.BlocksMax)
	}
	if usable == 0 {
		c.Notes = append(j.unusable(s), needs(j.plan, 0)...)
		return c
	}
	n, doubts := usable, j.unusable(s)
	var l look
	if doubts == nil {
		doubts = append(orderDoubt(s.order[:usable]), j.slowDoubt(p)...)
	}
	if doubts == nil {
		n, l = j.stop(d[:usable], prior)
		if p.plan.Open && m == lab.QPS && n >= firstLook && l.est.Ties && l.est.Mean == 0 {
			l.call, l.est.Ties = stat.Equivalent, false // both kept the rate, every time
		}
	} else {
		l = j.look(d[:n], prior)
		l.call = stat.Open
	}
	red := false
	if (l.call == stat.Lower || l.call == stat.Higher) && !j.monitor(p.candidate) {
		n, l, red = j.goOn(d[:usable], n, l, prior, j.alphaRed(m))
	}
	j.fill(&c, l, s.diffs[:n])
	c.Done = len(d) >= j.plan.BlocksMax
	switch {
	case l.call == stat.Equivalent:
		c.Done = true
	case l.call != stat.Open:
		c.Done = c.Done || red || j.monitor(p.candidate) || j.plan.Stop == lab.UntilAmber
	}
	c.Notes = append(doubts, j.notes(c, l, d[:n], prior)...)
	c.Notes = append(c.Notes, j.openNotes(p, m)...)
	if later := len(d) - n; later > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("called after %d of %d blocks; the later %s not used", n, len(d), are(later)))
	}
	j.light(&c, p, red)
	return c
}

// stop returns the first look that calls, or the last.
func (j *judge) stop(d []float64, prior stat.Prior) (n int, l look) {
	for n = min(firstLook, len(d)); ; n++ {
		if l = j.look(d[:n], prior); l.call != stat.Open || n == len(d) {
			return n, l
		}
	}
}

// fill writes a look at the given blocks into a comparison.
func (j *judge) fill(c *lab.Comparison, l look, diffs []lab.BlockDiff) {
	for _, d := range diffs {
		c.BaseValue += d.Base / float64(len(diffs))
		c.CandidateValue += d.Candidate / float64(len(diffs))
	}
	c.BaseValue, c.CandidateValue = math.Exp(c.BaseValue), math.Exp(c.CandidateValue)
	c.LogRatio, c.DF = l.est.Mean, l.est.DF
	c.Lo, c.Hi, c.EqLo, c.EqHi = l.rci.Lo, l.rci.Hi, l.eq.Lo, l.eq.Hi
	c.Critical = l.critical
	if l.est.SD > 0 {
		c.SD = l.est.SD
		c.MDE = c.SD * j.bounds.Reach(j.rule(l.est.Prior, j.plan.Alpha)).Detect
	}
	up := lab.Improved
	down := lab.Regressed
	if !c.Metric.HigherIsBetter() {
		up, down = down, up
	}
	switch l.call {
	case stat.Higher:
		c.Verdict = up
	case stat.Lower:
		c.Verdict = down
	case stat.Equivalent:
		c.Verdict = lab.Equivalent
		c.Real = l.rci.Lo > 0 || l.rci.Hi < 0
	}
}
