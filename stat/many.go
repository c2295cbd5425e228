package stat

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// RedAlpha returns the level of each of m tests at which the chance of even one false
// call in all of them is family at most (Bonferroni): the red lamp. The amber lamp is a
// test's own level, of which m·alpha are expected to be false.
func RedAlpha(family float64, m int) float64 { return family / float64(max(1, m)) }

// AtLeast returns the probability that k or more of m tests call when each does so with
// probability alpha: whether the alarms of two copies of one build are more than chance.
func AtLeast(k, m int, alpha float64) float64 {
	if k <= 0 {
		return 1
	}
	if k > m {
		return 0
	}
	return distuv.Beta{Alpha: float64(k), Beta: float64(m-k) + 1}.CDF(alpha)
}

// Uniform returns the probability that p-values of independent tests of nothing are as far
// from uniform as these or farther: the Kolmogorov-Smirnov test, with Stephens' (1970)
// correction for few values. It does not change p.
func Uniform(p []float64) float64 {
	n := float64(len(p))
	if n == 0 {
		return 1
	}
	d := farthest(slices.Sorted(slices.Values(p)))
	x := d * (math.Sqrt(n) + 0.12 + 0.11/math.Sqrt(n))
	if x < 0.2 {
		return 1
	}
	sum, sign := 0.0, 1.0
	for k := 1.0; k <= 100; k++ {
		sum += sign * math.Exp(-2*k*k*x*x)
		sign = -sign
	}
	return min(1, max(0, 2*sum))
}

// farthest returns how far sorted p-values are from uniform at most.
func farthest(sorted []float64) float64 {
	n := float64(len(sorted))
	d := 0.0
	for i, v := range sorted {
		d = max(d, v-float64(i)/n, float64(i+1)/n-v)
	}
	return d
}

// Exchangeable returns the probability that the p-values of t-tests of series of equal
// length, one value per block, are as far from uniform as these are, or farther, if in
// every block the two sides only differ in their names: names are exchanged in whole
// blocks at random, draws times, so that what all series of a block have in common is so
// in every draw. It is 1 for fewer than two series. n blocks cannot give less than 2^(1−n).
func Exchangeable(series [][]float64, draws int, seed uint64) float64 {
	if len(series) < 2 || len(series[0]) < 2 {
		return 1
	}
	n := len(series[0])
	square := make([]float64, len(series))
	for i, x := range series {
		for _, v := range x {
			square[i] += v * v
		}
	}
	table := newTails(float64(n - 1))
	p, sign := make([]float64, len(series)), make([]float64, n)
	distance := func() float64 {
		for i, x := range series {
			sum := 0.0
			for b, v := range x {
				sum += sign[b] * v
			}
			p[i] = 1
			if square[i] > 0 {
				p[i] = table.at(sum * sum / (float64(n) * square[i]))
			}
		}
		slices.Sort(p)
		return farthest(p)
	}
	for b := range sign {
		sign[b] = 1
	}
	observed := distance()
	r := rand.New(rand.NewPCG(seed, 0))
	beyond := 1
	for range draws {
		for b := range sign {
			sign[b] = float64(2*r.IntN(2) - 1)
		}
		if distance() >= observed*(1-rounding) {
			beyond++
		}
	}
	return float64(beyond) / float64(draws+1)
}

// tails holds two-sided p-values of Student's t by w = t²/(ν+t²), the share of a series'
// squares that its mean makes up.
type tails []float64

func newTails(df float64) tails {
	const steps = 512
	t := make(tails, steps+1)
	for i := range steps {
		r := float64(i) / steps // √w, in which p is nearly straight where it is not small
		t[i] = tTail(math.Sqrt(df*r*r/(1-r*r)), df)
	}
	return t
}

func (t tails) at(w float64) float64 {
	x := math.Sqrt(min(1, max(0, w))) * float64(len(t)-1)
	i := min(int(x), len(t)-2)
	return t[i] + (x-float64(i))*(t[i+1]-t[i])
}

// Holm returns p-values adjusted so that calling all those at or under alpha makes even
// one false call with probability alpha at most, whatever the tests have to do with each
// other. For sequential p-values, when all tests have stopped.
func Holm(p []float64) []float64 {
	order := ranks(p)
	out := make([]float64, len(p))
	worst := 0.0
	for i, at := range order {
		worst = max(worst, min(1, float64(len(p)-i)*p[at]))
		out[at] = worst
	}
	return out
}

// BH returns p-values adjusted so that of those called at or under q a share of q is
// false at most (Benjamini and Hochberg), if tests depend on each other positively or
// not at all.
func BH(p []float64) []float64 {
	order := ranks(p)
	out := make([]float64, len(p))
	best := 1.0
	for i := len(order) - 1; i >= 0; i-- {
		best = min(best, float64(len(p))/float64(i+1)*p[order[i]])
		out[order[i]] = best
	}
	return out
}

// EBH returns which tests to call so that a share of q of the calls is false at most,
// whatever the tests have to do with each other: the k with the largest e-values, for the
// largest k whose smallest is at least M/(k·q). The e-values have to be of one common
// stopping time, not the largest ones each test has ever had.
func EBH(e []float64, q float64) []bool {
	order := ranks(e)
	slices.Reverse(order)
	out := make([]bool, len(e))
	for k := len(order); k > 0; k-- {
		if e[order[k-1]] >= float64(len(e))/(float64(k)*q) {
			for _, at := range order[:k] {
				out[at] = true
			}
			break
		}
	}
	return out
}

// ranks returns the indices of x from its smallest value to its largest.
func ranks(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case x[a] < x[b]:
			return -1
		case x[a] > x[b]:
			return 1
		}
		return 0
	})
	return order
}
