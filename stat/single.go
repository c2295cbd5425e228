package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// NoiseFor returns how large the standard deviation of single runs may be at most for a
// difference d of the means of n1 and n2 runs to be told from noise in a two-sided test at
// level alpha:
//
//	|d| / (z(1−alpha/2) · √(1/n1 + 1/n2))
//
// It is on the scale of d. It is what one run a side can say: not whether the difference
// is real, but how quiet the host must have been for it to be.
func NoiseFor(d float64, n1, n2 int, alpha float64) float64 {
	if n1 < 1 || n2 < 1 {
		return 0
	}
	z := distuv.UnitNormal.Quantile(1 - alpha/2)
	return math.Abs(d) / (z * math.Sqrt(1/float64(n1)+1/float64(n2)))
}

// Welch returns the half width of the 1−alpha interval for the difference of two means
// from the standard deviations and numbers of their runs, with the degrees of freedom of
// Welch (1947) and Satterthwaite. It is infinite where a side has fewer than two runs.
func Welch(sd1 float64, n1 int, sd2 float64, n2 int, alpha float64) float64 {
	if n1 < 2 || n2 < 2 {
		return math.Inf(1)
	}
	a, b := sd1*sd1/float64(n1), sd2*sd2/float64(n2)
	if a+b == 0 {
		return 0
	}
	df := (a + b) * (a + b) / (a*a/float64(n1-1) + b*b/float64(n2-1))
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(1-alpha/2) * math.Sqrt(a+b)
}
