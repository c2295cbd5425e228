package stacks

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Side is one side of a comparison: a profile, and the CPU time that it stands for.
type Side struct {
	Profile  *Profile
	CPUPerOp float64 // seconds of CPU per operation that the profile's samples are shares of, from accounting and not from samples
}

// NoiseZ is how many standard errors a difference of two profiles must exceed to count as
// more than sampling noise. At 3, one of 370 functions that did not change passes for one
// that did.
const NoiseZ = 3

// Delta is an amount of CPU time on both sides, in µs per operation.
type Delta struct {
	Base, Cand float64
	SE         float64 // of Cand - Base, from sampling alone
}

// Diff returns the difference, positive if the candidate spends more.
func (d Delta) Diff() float64 { return d.Cand - d.Base }

// Noise reports whether the difference is within the noise of sampling.
func (d Delta) Noise() bool { return !(math.Abs(d.Diff()) > NoiseZ*d.SE) }

// FuncDelta is a function's CPU time on both sides. It is found again by its short name,
// so that it may have moved to another file or have other parameters.
type FuncDelta struct {
	Name      string // short
	Kernel    bool
	Spin      bool     // waiting that burns CPU
	Full      []string // the names that perf wrote, of both sides
	BaseDSO   string   // "": not seen there
	CandDSO   string
	Self      Delta
	Total     Delta
	selfCount [2]Amount
	allCount  [2]Amount
}

// Difference is what two profiles differ in.
type Difference struct {
	Event     string
	Total     Delta       // all CPU time; its SE is 0, since samples do not decide it
	Floor     float64     // µs per operation; no smaller difference can count, of however small a function
	Functions []FuncDelta // that with the largest difference of self time first
	Warnings  []string    // what makes the differences doubtful
}

// ErrNotComparable means that two profiles do not measure the same.
var ErrNotComparable = errors.New("these profiles cannot be compared")

func (s Side) check(which string) error {
	switch {
	case s.Profile == nil || s.Profile.total.Weight <= 0:
		return fmt.Errorf("%w: that of the %s has no samples", ErrNotComparable, which)
	case !(s.CPUPerOp > 0) || math.IsInf(s.CPUPerOp, 0):
		return fmt.Errorf("%w: the CPU time per operation of the %s is not known", ErrNotComparable, which)
	}
	return nil
}

func checkSides(base, cand Side) error {
	if err := errors.Join(base.check("base"), cand.check("candidate")); err != nil {
		return err
	}
	if b, c := base.Profile, cand.Profile; b.Event != c.Event || b.Unit != c.Unit {
		return fmt.Errorf("%w: the base counts %s in %s, the candidate %s in %s", ErrNotComparable, b.Event, b.Unit, c.Event, c.Unit)
	}
	return nil
}

// Compare sets two profiles of the same event against each other, in µs per operation.
// Spinners of the table are marked.
func Compare(base, cand Side, table []Spinner) (Difference, error) {
	if err := checkSides(base, cand); err != nil {
		return Difference{}, fmt.Errorf("compare profiles: %w", err)
	}
	d := Difference{Event: base.Profile.Event, Total: Delta{Base: base.CPUPerOp * 1e6, Cand: cand.CPUPerOp * 1e6}}
	d.Floor = NoiseZ * delta(base, cand, Amount{}, Amount{}).SE
	spin := spinNames(table)
	byName := map[funcKey]*FuncDelta{}
	var order []funcKey
	l := labelsOf(base.Profile, cand.Profile)
	for side, s := range []Side{base, cand} {
		for _, f := range s.Profile.byLabel(l) {
			k := funcKey{f.Name, f.Kernel}
			fd := byName[k]
			if fd == nil {
				fd = &FuncDelta{Name: f.Name, Kernel: f.Kernel, Spin: spin[f.Name]}
				byName[k] = fd
				order = append(order, k)
			}
			fd.selfCount[side], fd.allCount[side] = f.Self, f.Total
			fd.Full = append(fd.Full, f.full...)
			if side == 0 {
				fd.BaseDSO = f.DSO
			} else {
				fd.CandDSO = f.DSO
			}
		}
	}
	for _, k := range order {
		fd := byName[k]
		slices.Sort(fd.Full)
		fd.Full = slices.Compact(fd.Full)
		fd.Self = delta(base, cand, fd.selfCount[0], fd.selfCount[1])
		fd.Total = delta(base, cand, fd.allCount[0], fd.allCount[1])
		d.Functions = append(d.Functions, *fd)
	}
	slices.SortStableFunc(d.Functions, func(a, b FuncDelta) int {
		return cmp.Or(compareDown(math.Abs(a.Self.Diff()), math.Abs(b.Self.Diff())), compareDown(math.Abs(a.Total.Diff()), math.Abs(b.Total.Diff())), strings.Compare(a.Name, b.Name))
	})
	d.Warnings = append(doubts("base", base.Profile), doubts("candidate", cand.Profile)...)
	return d, nil
}

func spinNames(table []Spinner) map[string]bool {
	names := map[string]bool{}
	for _, s := range table {
		names[s.Name] = true
	}
	return names
}

// delta scales two amounts to µs per operation. With W the weight of all samples, Q the
// sum of their squares, w and q those of the part, the part's share p = w/W has, to first
// order and for samples that come at random (a compound Poisson process), the variance
//
//	((1-p)² q + p² (Q-q)) / W²
//
// which for equal periods is the binomial p(1-p)/n. One sample of mean size is added to q,
// because a function that was never seen may still be run: without it, a handful of
// samples against none would pass for certain.
func delta(base, cand Side, b, c Amount) Delta {
	bv, bVar := share(base, b)
	cv, cVar := share(cand, c)
	return Delta{Base: bv, Cand: cv, SE: math.Sqrt(bVar + cVar)}
}

func share(s Side, a Amount) (µs, variance float64) {
	all := s.Profile.total
	p := a.Weight / all.Weight
	scale := s.CPUPerOp * 1e6
	q := a.Squares + all.Squares/float64(all.Samples)
	v := ((1-p)*(1-p)*q + p*p*math.Max(0, all.Squares-a.Squares)) / (all.Weight * all.Weight)
	return p * scale, v * scale * scale
}

// doubts says what is wrong with a profile as evidence.
func doubts(which string, p *Profile) []string {
	var w []string
	if n := p.total.Samples; n < enough {
		w = append(w, fmt.Sprintf("the %s has only %d samples", which, n))
	}
	if u := p.UnknownShare(); u > 0.1 {
		w = append(w, fmt.Sprintf("%.0f %% of the %s's time is in code without symbols", 100*u, which))
	}
	return w
}

type funcKey struct {
	name   string
	kernel bool
}

type shortFunc struct {
	Func
	full []string
}

// labels are the names by which functions are found again in another profile: their short
// names. A function without a symbol is found again by its address if both sides ran the
// same file; else all of a file are one.
type labels map[string]bool // the files of both profiles

func labelsOf(a, b *Profile) labels {
	inA, both := map[string]bool{}, labels{}
	for _, f := range a.frames {
		inA[f.DSO] = true
	}
	for _, f := range b.frames {
		both[f.DSO] = inA[f.DSO]
	}
	return both
}

func (l labels) of(f Frame) string {
	switch {
	case f.addressed() && l[f.DSO]:
		return f.Name
	case f.nameless():
		return foldedName(Frame{Name: Unknown, DSO: f.DSO})
	}
	return Short(f.Name)
}

// all returns the labels of a profile's frames, by their number.
func (l labels) all(p *Profile) []string {
	names := make([]string, len(p.frames))
	for i, f := range p.frames {
		names[i] = l.of(f)
	}
	return names
}

// byLabel is Flat by label: functions that share one are added up, and a sample counts
// once for a label, however often it is on the stack.
func (p *Profile) byLabel(l labels) []shortFunc {
	q := &Profile{}
	full := map[funcKey]map[string]bool{}
	dso := map[funcKey]string{}
	names := l.all(p)
	p.Stacks(func(stack []Frame, a Amount) bool {
		renamed := make([]Frame, len(stack))
		for i, f := range stack {
			renamed[i] = Frame{Name: names[p.byName[f]], Kernel: f.Kernel}
			k := funcKey{renamed[i].Name, f.Kernel}
			if full[k] == nil {
				full[k] = map[string]bool{}
				dso[k] = f.DSO
			}
			full[k][f.Name] = true
		}
		q.Add(renamed, a)
		return true
	})
	var out []shortFunc
	for _, f := range q.Flat() {
		k := funcKey{f.Name, f.Kernel}
		f.DSO = dso[k]
		sf := shortFunc{Func: f}
		for name := range full[k] {
			sf.full = append(sf.full, name)
		}
		out = append(out, sf)
	}
	return out
}
