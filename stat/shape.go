package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// What is found in a series that ought to be the same throughout, by tests that are exact
// or safe when it is normal noise around one value.

// Zero tests whether values vary around zero: their mean and the p-value of Student's t.
// p is NaN for fewer than two values, or for equal ones.
func Zero(x []float64) (mean, p float64) {
	if len(x) < 2 {
		return math.NaN(), math.NaN()
	}
	mean, sd := stat.MeanStdDev(x, nil)
	if tied(x, mean) {
		return mean, math.NaN()
	}
	return mean, tTail(mean/(sd/math.Sqrt(float64(len(x)))), float64(len(x)-1))
}

// Trend returns the slope of a straight line through a series, per value, and its p-value.
// p is 1 where nothing can be said.
func Trend(x []float64) (slope, p float64) {
	n := float64(len(x))
	if n < 3 || tied(x, x[0]) {
		return 0, 1
	}
	at := make([]float64, len(x))
	for i := range at {
		at[i] = float64(i)
	}
	alpha, slope := stat.LinearRegression(at, x, nil, false)
	rest := 0.0
	for i, v := range x {
		d := v - alpha - slope*at[i]
		rest += d * d
	}
	se := math.Sqrt(rest / (n - 2) * 12 / (n * (n*n - 1)))
	if !(se > 0) {
		return slope, 1
	}
	return slope, tTail(slope/se, n-2)
}

// Shift returns where a series is best split in two levels of at least three values each,
// the second's mean less the first's, and its p-value, safe for having looked everywhere.
// p is 1 where nothing can be said.
func Shift(x []float64) (at int, size, p float64) {
	const least = 3
	n := len(x)
	if n < 2*least || tied(x, x[0]) {
		return 0, 0, 1
	}
	x, sum, square := centred(x)
	best, left := 0.0, 0.0
	for i, v := range x[:n-least] {
		left += v
		k := float64(i + 1)
		rest := float64(n) - k
		if i+1 < least {
			continue
		}
		d := (sum-left)/rest - left/k
		within := square - left*left/k - (sum-left)*(sum-left)/rest
		if t := d / math.Sqrt(math.Max(0, within)/float64(n-2)*(1/k+1/rest)); math.Abs(t) > math.Abs(best) {
			best, at, size = t, i+1, d
		}
	}
	if at == 0 || math.IsInf(best, 0) {
		return at, size, 1
	}
	return at, size, math.Min(1, float64(n-2*least+1)*tTail(best, float64(n-2)))
}

// Outlier returns the value that is farthest from the others, how far it is from their
// mean, and the p-value of there being one so far (Grubbs 1950, with Bonferroni's bound).
// p is 1 where nothing can be said.
func Outlier(x []float64) (at int, size, p float64) {
	n := float64(len(x))
	if n < 4 || tied(x, x[0]) {
		return 0, 0, 1
	}
	mean, sd := stat.MeanStdDev(x, nil)
	for i, v := range x {
		if math.Abs(v-mean) > math.Abs(x[at]-mean) {
			at = i
		}
	}
	// The farthest of n deviates by g standard deviations: with the value itself left out
	// of them, that is Student's t with n−2 degrees of freedom.
	g := (x[at] - mean) / sd
	t2 := n * (n - 2) * g * g / math.Max(1e-12, (n-1)*(n-1)-n*g*g)
	return at, (x[at] - mean) * n / (n - 1), math.Min(1, n*tTail(math.Sqrt(t2), n-2))
}

// Modes returns the means of two heaps that values fall into, and the share of the lower,
// if they do so more clearly than 1 in 1000 normal series does. Each heap has a sixth of
// the values, and two, at least; from fewer than ten values nothing is said.
func Modes(x []float64) (low, high, share float64, two bool) {
	n := len(x)
	if n < 10 || tied(x, x[0]) {
		return 0, 0, 0, false
	}
	mean := stat.Mean(x, nil)
	sorted, sum, square := centred(slices.Sorted(slices.Values(x)))
	all := square - sum*sum/float64(n)
	// Splitting a normal sample in the middle leaves 1−2/π of its squares; a thousandth of
	// samples of 10 to 80 fall under this line, by simulation.
	least := 0.363 - 1.06/math.Sqrt(float64(n))
	lower := 0.0
	for i, v := range sorted[:n-1] {
		lower += v
		k := float64(i + 1)
		rest := float64(n) - k
		if min(i+1, n-i-1) < max(2, n/6) {
			continue
		}
		within := square - lower*lower/k - (sum-lower)*(sum-lower)/rest
		if within < least*all {
			least = within / all
			low, high, share, two = mean+lower/k, mean+(sum-lower)/rest, k/float64(n), true
		}
	}
	return low, high, share, two
}

// centred returns values less their mean, with their sum and that of their squares.
func centred(x []float64) (out []float64, sum, square float64) {
	mean := stat.Mean(x, nil)
	out = make([]float64, len(x))
	for i, v := range x {
		out[i] = v - mean
		sum += out[i]
		square += out[i] * out[i]
	}
	return out, sum, square
}

// Same returns the p-value of a chi-square test of whether something happens in the same
// share of all of several groups: hits of tries. It is 1 where nothing can be said.
func Same(hits, tries []int) float64 {
	h, n, groups := 0, 0, 0
	for i := range hits {
		h += hits[i]
		n += tries[i]
		if tries[i] > 0 {
			groups++
		}
	}
	if groups < 2 || h == 0 || h == n {
		return 1
	}
	share := float64(h) / float64(n)
	x := 0.0
	for i := range hits {
		if expected := share * float64(tries[i]); expected > 0 {
			d := float64(hits[i]) - expected
			x += d * d / expected / (1 - share)
		}
	}
	return distuv.ChiSquared{K: float64(groups - 1)}.Survival(x)
}

// tTail returns P(|T| ≥ |t|).
func tTail(t, df float64) float64 {
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.CDF(-math.Abs(t))
}
