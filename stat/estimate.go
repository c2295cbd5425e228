package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Estimate is what n differences, one per block, say of the true one.
type Estimate struct {
	N     int     // differences
	Mean  float64 // of the differences
	SD    float64 // of one difference, moderated by the prior; NaN when nothing says how much they vary
	DF    float64 // degrees of freedom of SD
	Prior int     // those of them that come from the prior
	Ties  bool    // two or more differences and all the same: the values are coarser than their noise
}

// tie is how much equal differences may differ, as a share of them, for having been
// computed from logarithms of different numbers.
const tie = 1e-12

// tied reports whether values around a mean are all the same.
func tied(d []float64, mean float64) bool { return slices.Max(d)-slices.Min(d) <= tie*math.Abs(mean) }

// Moderate estimates from differences d under a prior:
//
//	SD² = (d0·s0² + (n−1)·s²) / (d0+n−1)
//
// The prior is left out where the test's own variance is more than 1.5 times the prior's:
// this test is noisier than the others, so they say nothing about it. Leaving it out
// never makes a false alarm more likely, as both SD and the boundary become larger.
func (p Prior) Moderate(d []float64) Estimate {
	e := Estimate{N: len(d), Prior: p.DF}
	if len(d) == 0 {
		e.Mean, e.SD = math.NaN(), math.NaN()
		return e
	}
	var v float64 // s²; unknown, and of no weight, for one difference
	e.Mean = d[0]
	if len(d) > 1 {
		e.Mean, v = stat.MeanVariance(d, nil)
		if tied(d, e.Mean) {
			e.Ties, v = true, 0
		}
	}
	if v > priorRatio*p.Var {
		e.Prior = 0
	}
	own := float64(len(d) - 1)
	e.DF = own + float64(e.Prior)
	e.SD = math.Sqrt((float64(e.Prior)*p.Var + own*v) / e.DF) // NaN for 0/0
	return e
}

// T returns the moderated t: Mean/(SD/√N).
func (e Estimate) T() float64 { return e.Mean / (e.SD / math.Sqrt(float64(e.N))) }

// Interval is a closed range of true differences.
type Interval struct{ Lo, Hi float64 }

// Interval returns Mean ± c·SD/√N. With the boundary of a look for c it is the repeated
// confidence interval: it covers the truth at every look and at stopping, all at once,
// with the rule's 1−Alpha (Jennison and Turnbull 2000, chapter 9). It is unbounded where
// c is infinite or SD unknown.
func (e Estimate) Interval(c float64) Interval {
	if math.IsInf(c, 1) || math.IsNaN(e.SD) {
		return Interval{math.Inf(-1), math.Inf(1)}
	}
	h := c * e.SD / math.Sqrt(float64(e.N))
	return Interval{e.Mean - h, e.Mean + h}
}

// Student returns the interval that covers the truth with probability 1−alpha where it is
// looked at once, after a number of differences that was fixed before: Mean ± t·SD/√N with
// Student's t at DF degrees of freedom. It is unbounded where SD is unknown or DF 0.
func (e Estimate) Student(alpha float64) Interval {
	if !(e.DF > 0) {
		return Interval{math.Inf(-1), math.Inf(1)}
	}
	return e.Interval(tQuantile(alpha, e.DF))
}

// Call is what a look decides.
type Call int

// The calls. Open means that the next block is needed.
const (
	Open Call = iota
	Equivalent
	Lower
	Higher
)

// Decide judges one look: rci is the repeated confidence interval, eq the interval of the
// equivalence test, margin the largest difference that counts as none. Equivalence comes
// first, so that a difference which is sure but too small to matter is not an alarm.
func Decide(rci, eq Interval, margin float64) Call {
	switch {
	case eq.Lo > -margin && eq.Hi < margin:
		return Equivalent
	case rci.Hi < 0:
		return Lower
	case rci.Lo > 0:
		return Higher
	}
	return Open
}
