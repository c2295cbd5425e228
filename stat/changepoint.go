package stat

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// ChangePoint is where the values of a series have a new level, or begin to drift to one.
type ChangePoint struct {
	At            int     // first value that is not of the old level
	To            int     // first value of the new level: At for a step, later for a drift
	Before, After float64 // mean of the old level and of the new one
	P             float64 // of the surest test that there is a change here at all
}

// Drift reports whether the level changes gradually.
func (c ChangePoint) Drift() bool { return c.To > c.At }

// ChangeOptions is how changes are looked for; zero fields are filled in.
type ChangeOptions struct {
	Alpha float64 // chance of any change in a series of which nothing changes; 0: 0.01
	Least int     // values that a level has at least; 0: 3. Fewer are spikes, and no change
}

func (o ChangeOptions) withDefaults() ChangeOptions {
	if o.Alpha == 0 {
		o.Alpha = 0.01
	}
	if o.Least < 2 {
		o.Least = 3
	}
	return o
}

// ChangePoints returns where a series of independent values changes, in order. It is of
// the E-divisive family (Matteson and James 2014): the best split by energy distance, if
// it is surer than chance, and then the same in both parts. What is different:
//
//   - The distance that a split is held against is the largest over all splits of a
//     shuffled series. A t-test at the best split, which other tools took up for its speed,
//     ignores that the split was chosen, and calls several times as often as it says.
//   - The level of a shuffled series' p-value is kept exactly, ties included, and shuffles
//     are as many as the level needs; a p-value is never 0.
//   - Within parts, which are short, shuffling their own few values could never be sure
//     enough. They are held against values drawn from all parts' residuals.
//   - A level that comes and goes is looked for as one thing, against all that is around
//     it (as Olshen and others 2004 do): each of its two ends alone hides the other.
//   - A level has Least values, at the ends of the series too, so that a spike is none.
//   - After all splits each is put at its best place between its neighbours and tested
//     again: the first split of many is often misplaced, or an artefact of the others.
//   - Steps in one direction that a ramp explains better are one drift.
//
// The same seed gives the same answer. 100 values take some 0.1 s, and the time grows with
// the square of their number.
func ChangePoints(series []float64, o ChangeOptions, seed uint64) []ChangePoint {
	s := search{x: series, opt: o.withDefaults(), rand: rand.New(rand.NewPCG(seed, 0))}
	s.split()
	s.settle()
	return s.points()
}

// search is the state of ChangePoints: cuts are where parts begin, with 0 and the end.
type search struct {
	x    []float64
	opt  ChangeOptions
	rand *rand.Rand
	cuts []int
	p    map[int]float64 // of a cut
}

// split cuts parts until none is surely to be cut.
func (s *search) split() {
	s.cuts, s.p = []int{0, len(s.x)}, map[int]float64{}
	for i := 0; i+1 < len(s.cuts); {
		at, p := s.test(s.cuts[i], s.cuts[i+1], true)
		if p > s.opt.Alpha {
			i++
			continue
		}
		for _, cut := range at {
			s.p[cut] = p
		}
		s.cuts = slices.Insert(s.cuts, i+1, at...)
	}
}

// settle moves every cut to its best place between its neighbours and drops those that
// are no longer sure, until nothing changes.
func (s *search) settle() {
	const rounds = 10 // more than ever needed; two places could take turns
	for range rounds {
		changed := false
		for i := 1; i+1 < len(s.cuts); i++ {
			old := s.cuts[i]
			s.cuts = slices.Delete(s.cuts, i, i+1)
			at, p := s.test(s.cuts[i-1], s.cuts[i], false)
			if p > s.opt.Alpha {
				i--
				changed = true
				continue
			}
			s.cuts, s.p[at[0]] = slices.Insert(s.cuts, i, at[0]), p
			changed = changed || at[0] != old
		}
		if !changed {
			return
		}
	}
}

// test returns the best cut of a part, or the two cuts of the best level that comes and
// goes in it if those are asked for and surer, and the p-value, 1 for a part too short.
func (s *search) test(from, to int, pairs bool) (cuts []int, p float64) {
	if to-from < 2*s.opt.Least {
		return nil, 1
	}
	pairs = pairs && to-from >= 4*s.opt.Least // in a shorter part hardly one could be surer
	d := newDistances(to-from, s.opt.Least)
	step, stay := d.best(s.x[from:to], pairs)
	alpha, tests := s.opt.Alpha, 1.0
	if pairs {
		tests = 2
	}
	draws := int(math.Ceil(10*tests/alpha)) - 1
	pool := s.residuals()
	part := make([]float64, to-from)
	beyondStep, beyondStay := 1, 1
	if !pairs {
		beyondStay = draws + 1
	}
	for range draws {
		for i := range part { // the first of a shuffle, as far as needed
			k := i + s.rand.IntN(len(pool)-i)
			pool[i], pool[k] = pool[k], pool[i]
			part[i] = pool[i]
		}
		a, b := d.best(part, pairs)
		if a.q >= step.q*(1-rounding) {
			beyondStep++
		}
		if pairs && b.q >= stay.q*(1-rounding) {
			beyondStay++
		}
		if tests*float64(min(beyondStep, beyondStay)) > alpha*float64(draws+1) {
			return []int{from + step.to}, 1 // it cannot be sure any more
		}
	}
	p = min(1, tests*float64(min(beyondStep, beyondStay))/float64(draws+1))
	if beyondStay < beyondStep || beyondStay == beyondStep && stay.q > step.q {
		return []int{from + stay.from, from + stay.to}, p
	}
	return []int{from + step.to}, p
}

// rounding is how much two ways to add up the same distances differ at most.
const rounding = 1e-9

// residuals returns all values less the mean of their part, made as wide as they would be
// without the mean having been fitted to them. Before the first cut that is the series.
func (s *search) residuals() []float64 {
	out := make([]float64, 0, len(s.x))
	for i := range len(s.cuts) - 1 {
		part := s.x[s.cuts[i]:s.cuts[i+1]]
		mean, n := stat.Mean(part, nil), float64(len(part))
		for _, v := range part {
			out = append(out, (v-mean)*math.Sqrt(n/(n-1)))
		}
	}
	return out
}

// stretch is a run of values and its energy distance from all others of its part,
//
//	q = n·m/(n+m) · ( 2·mean|x−y| − mean|x−x'| − mean|y−y'| ).
type stretch struct {
	from, to int
	q        float64
}

// distances finds stretches in parts of one length. It keeps its memory between parts.
type distances struct {
	n, least int
	upTo     []float64 // row i holds the sums of |x_i − x_k| over k < 0, 1, …, n
}

func newDistances(n, least int) *distances {
	return &distances{n: n, least: least, upTo: make([]float64, n*(n+1))}
}

// best returns the farthest stretch that begins the part, and, if asked for, the farthest
// that neither begins nor ends it. No side, nor either end of it, is shorter than least.
func (d *distances) best(x []float64, pairs bool) (step, stay stretch) {
	width := d.n + 1
	total := 0.0
	for i, v := range x {
		row, sum := d.upTo[i*width:(i+1)*width], 0.0
		for k, w := range x {
			sum += math.Abs(v - w)
			row[k+1] = sum
		}
		total += sum / 2
	}
	step.to = d.least
	d.from(0, total, &step)
	if pairs {
		stay = stretch{from: d.least, to: 2 * d.least}
		for from := d.least; from <= d.n-2*d.least; from++ {
			d.from(from, total, &stay)
		}
	}
	return step, stay
}

// from puts the farthest stretch that begins at from into best if it is farther.
func (d *distances) from(from int, total float64, best *stretch) {
	width := d.n + 1
	var inside, rows float64
	for to := from + 1; to <= d.n-d.least; to++ {
		row := d.upTo[(to-1)*width : to*width]
		inside += row[to] - row[from]
		rows += row[d.n]
		if to-from < d.least {
			continue
		}
		a, b := float64(to-from), float64(d.n-to+from)
		cross := rows - 2*inside
		// 2·cross/(ab) − 2·inside/a² − 2·outside/b², times ab/(a+b)
		q := 2 / (a + b) * (cross - inside*b/a - (total-inside-cross)*a/b)
		if q > best.q {
			*best = stretch{from, to, q}
		}
	}
}

// points turns cuts into changes: one each, or one drift for several in one direction.
func (s *search) points() []ChangePoint {
	var out []ChangePoint
	level := make([]float64, len(s.cuts)-1)
	for i := range level {
		if part := s.x[s.cuts[i]:s.cuts[i+1]]; len(part) > 0 {
			level[i] = stat.Mean(part, nil)
		}
	}
	up := func(i int) bool { return level[i] > level[i-1] } // at cut i
	for i := 1; i < len(level); {
		j := i + 1
		for j < len(level) && up(j) == up(i) {
			j++
		}
		if d, ok := s.drift(i, j); ok {
			out = append(out, d)
			i = j
			continue
		}
		for ; i < j; i++ {
			at := s.cuts[i]
			out = append(out, ChangePoint{at, at, level[i-1], level[i], s.p[at]})
		}
	}
	return out
}

// strong is the difference in BIC from which on a ramp is preferred to steps: odds of 20
// to 1 and more (Kass and Raftery 1995).
const strong = 6

// drift returns the ramp that explains cuts i to j−1 and the parts around them strongly
// better than steps do, if so. A ramp has two levels and two places, k steps have k+1
// levels and k places.
func (s *search) drift(i, j int) (ChangePoint, bool) {
	from, to := s.cuts[i-1], s.cuts[j]
	x := s.x[from:to]
	n := float64(len(x))
	steps := 0.0
	for k := i - 1; k < j; k++ {
		part := s.x[s.cuts[k]:s.cuts[k+1]]
		steps += stat.Variance(part, nil) * float64(len(part)-1)
	}
	c, ramp := bestRamp(x)
	bic := func(rest, parameters float64) float64 {
		return n*math.Log(math.Max(rest, math.SmallestNonzeroFloat64)/n) + parameters*math.Log(n)
	}
	k := float64(j - i)
	if !(bic(ramp, 4)+strong < bic(steps, 2*k+1)) {
		return c, false
	}
	c.At += from
	c.To += from
	c.P = 1
	for _, cut := range s.cuts[i:j] {
		c.P = min(c.P, s.p[cut])
	}
	return c, true
}

// bestRamp fits a level, a straight line of three values or more, and a level again, by
// least squares, and returns what is left over. It tries at most some 800 places.
func bestRamp(x []float64) (best ChangePoint, rest float64) {
	const places = 40
	n := len(x)
	stride := max(1, n/places)
	rest = math.Inf(1)
	shape := make([]float64, n)
	for at := 0; at < n; at += stride {
		for to := at + 3; to <= n; to += stride {
			for i := range shape { // 0 before, 1 after, in equal steps between
				shape[i] = min(1, max(0, float64(i-at+1)/float64(to-at+1)))
			}
			a, b := stat.LinearRegression(shape, x, nil, false)
			sum := 0.0
			for i, v := range x {
				d := v - a - b*shape[i]
				sum += d * d
			}
			if sum < rest {
				rest, best = sum, ChangePoint{At: at, To: to, Before: a, After: a + b}
			}
		}
	}
	return best, rest
}
