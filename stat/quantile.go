package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// QuantileRanks returns which two of n sorted values, counted from 1, enclose their
// p-quantile with probability 1−alpha at least: P(lo ≤ Bin(n, p) < hi) ≥ 1−alpha. Values
// that resemble their neighbours count as n/factor ones, factor as Autocorrelation gives
// it. It is false where no two ranks do, as for the 99th percentile of 50 values.
//
// It describes one process only. What it says of two builds is no test.
func QuantileRanks(n int, p, alpha, factor float64) (lo, hi int, ok bool) {
	eff := math.Floor(float64(n) / math.Max(1, factor))
	if eff < 1 || p <= 0 || p >= 1 {
		return 0, 0, false
	}
	dist := distuv.Binomial{N: eff, P: p}
	// From both sides as far in as half of alpha allows.
	l := rank(eff, func(k float64) bool { return dist.CDF(k-1) > alpha/2 }) - 1 // P(Bin < l) ≤ alpha/2
	h := rank(eff+1, func(k float64) bool { return 1-dist.CDF(k-1) <= alpha/2 })
	if l < 1 || h > eff {
		return 0, 0, false
	}
	stretch := float64(n) / eff
	return int(math.Floor(l * stretch)), min(n, int(math.Ceil(h*stretch))), true
}

// rank returns the smallest whole number from 0 to n for which f, which turns from false
// to true once, is true; n+1 if it is nowhere.
func rank(n float64, f func(float64) bool) float64 {
	lo, hi := 0.0, n+1
	for lo < hi {
		if mid := math.Floor((lo + hi) / 2); f(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}
