package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// Components splits the variance of slices into what differs between slices of a block
// and what differs between blocks (Kalibera and Jones, ISMM 2013): T1² = S1² and
// T2² = S2² − S1²/m, not under 0, with m slices in a block, their harmonic mean where
// blocks differ. Blocks without slices do not count; NaN for what cannot be said: slice
// needs a block with two slices, block two blocks as well.
func Components(blocks [][]float64) (slice, block float64) {
	var means []float64
	var within, df, inverse float64
	for _, b := range blocks {
		if len(b) == 0 {
			continue
		}
		mean := stat.Mean(b, nil)
		for _, x := range b {
			within += (x - mean) * (x - mean)
		}
		df += float64(len(b) - 1)
		inverse += 1 / float64(len(b))
		means = append(means, mean)
	}
	slice = within / df // NaN for 0/0
	if len(means) < 2 {
		return slice, math.NaN()
	}
	return slice, math.Max(0, stat.Variance(means, nil)-slice*inverse/float64(len(means)))
}

// Autocorrelation returns the factor by which neighbouring values that resemble each
// other widen the variance of their mean, 1 + 2·Σρ, at least 1. The sum ends where two
// successive correlations together are no longer positive (Geyer 1992).
func Autocorrelation(x []float64) float64 {
	n := len(x)
	if n < 4 {
		return 1
	}
	mean := stat.Mean(x, nil)
	at := func(lag int) float64 {
		s := 0.0
		for i := 0; i+lag < n; i++ {
			s += (x[i] - mean) * (x[i+lag] - mean)
		}
		return s
	}
	zero := at(0)
	if zero == 0 {
		return 1
	}
	factor := 1.0
	for lag := 1; lag+1 < n/2; lag += 2 {
		pair := (at(lag) + at(lag+1)) / zero
		if pair <= 0 {
			break
		}
		factor += 2 * pair
	}
	return factor
}

// Resemblance is Autocorrelation of values within blocks, pooled over blocks of which each
// may have a mean of its own. Subtracting the mean of m values makes any two of them seem
// unlike by 1/m of their variance, which is put back; so it is about 1 for noise without
// memory even in blocks of four. It is at least 1, and 1 where too little is known.
func Resemblance(blocks [][]float64) float64 {
	const pairs = 30 // of neighbours at least
	variance, _ := Components(blocks)
	longest, neighbours := 0, 0
	for _, b := range blocks {
		longest = max(longest, len(b))
		neighbours += max(0, len(b)-1)
	}
	if !(variance > 0) || longest < 4 || neighbours < pairs {
		return 1
	}
	means := make([]float64, len(blocks))
	for i, b := range blocks {
		if len(b) > 0 {
			means[i] = stat.Mean(b, nil)
		}
	}
	at := func(lag int) float64 {
		sum, n := 0.0, 0
		for i, b := range blocks {
			for k := 0; k+lag < len(b); k++ {
				sum += (b[k]-means[i])*(b[k+lag]-means[i])/variance + 1/float64(len(b))
				n++
			}
		}
		return sum / float64(max(1, n))
	}
	factor := 1.0
	for lag := 1; lag <= longest/2; lag += 2 {
		pair := at(lag) + at(lag+1)
		if pair <= 0 {
			break
		}
		factor += 2 * pair
	}
	return factor
}

// SliceSeconds returns for how many seconds per block one side is best measured,
// w = √(c·V1/σr²): overhead c is in seconds per restart, shared out over the steps that
// it serves; noise V1 is the slices' variance times their seconds (autocorrelation
// included), restart σr² the variance between blocks. It is +Inf when blocks do not
// differ: then one long block would do.
func SliceSeconds(overhead, noise, restart float64) float64 {
	return math.Sqrt(overhead * noise / restart)
}
