package explain

import (
	"math"

	"backslide/lab"
	"backslide/stat"
)

const alpha = 0.01 // two-sided, of all intervals

// series is an amount by replicate, base beside candidate.
type series struct{ base, cand []float64 }

func (s series) diffs() []float64 {
	d := make([]float64, len(s.base))
	for i := range d {
		d[i] = s.cand[i] - s.base[i]
	}
	return d
}

// plus returns the sum of two series of the same replicates.
func (s series) plus(t series) series { return s.combine(t, 1) }

// minus returns the difference of two series of the same replicates.
func (s series) minus(t series) series { return s.combine(t, -1) }

func (s series) combine(t series, factor float64) series {
	out := series{make([]float64, len(s.base)), make([]float64, len(s.cand))}
	for i := range s.base {
		out.base[i] = s.base[i] + factor*t.base[i]
		out.cand[i] = s.cand[i] + factor*t.cand[i]
	}
	return out
}

// component estimates the difference of a series, paired by replicate: the mean of the
// differences and Student's interval around it, moderated by a prior if there is one.
func component(name, unit string, s series, prior stat.Prior) lab.Component {
	c := lab.Component{Name: name, Unit: unit, Base: mean(s.base), Candidate: mean(s.cand), N: len(s.base)}
	c.Diff = c.Candidate - c.Base
	e := prior.Moderate(s.diffs())
	if len(s.base) < 2 {
		e.DF = 0
	}
	i := e.Student(alpha)
	c.Lo, c.Hi = i.Lo, i.Hi
	return c
}

// less returns a − b of two components that were estimated from different replicates and
// are independent of each other, so that half-widths add by their squares.
func less(name string, a, b lab.Component) lab.Component {
	c := lab.Component{Name: name, Unit: a.Unit, Base: a.Base - b.Base, Candidate: a.Candidate - b.Candidate, Diff: a.Diff - b.Diff, N: min(a.N, b.N)}
	h := math.Hypot(a.Hi-a.Diff, b.Hi-b.Diff)
	c.Lo, c.Hi = c.Diff-h, c.Diff+h
	return c
}

func mean(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s / float64(len(x))
}
