package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
)

// Prior is what tests that ran side by side say of each other's variance: as much as DF
// further differences of variance Var would. The zero value is no prior.
type Prior struct {
	DF  int
	Var float64
}

// The prior is held back where it could do harm.
const (
	priorMax   = 10  // degrees of freedom at most, whatever the fit says
	priorRatio = 1.5 // a test whose own variance is beyond this multiple of Var goes without
)

// FitPrior fits a prior to the variances of tests of one run, each with df degrees of
// freedom, by the moments of their logarithms (Smyth 2004, Statistical Applications in
// Genetics and Molecular Biology 3(1), section 6.2). Variances of zero come from values
// that are too coarse and are left out; from fewer than two others no prior is returned.
//
// It has to be fitted once, on the first look, and used as it is ever after: refitted at
// every look it would make the looks depend on each other in a way that no boundary knows.
func FitPrior(vars []float64, df int) Prior {
	half := float64(df) / 2
	var e []float64
	for _, v := range vars {
		if v > 0 && !math.IsInf(v, 1) {
			e = append(e, math.Log(v)-mathext.Digamma(half)+math.Log(half))
		}
	}
	if len(e) < 2 {
		return Prior{}
	}
	mean, excess := stat.MeanVariance(e, nil)
	excess -= Trigamma(half)
	d0 := float64(priorMax)
	if excess > 0 {
		d0 = 2 * TrigammaInverse(excess)
	}
	p := Prior{DF: int(math.Min(math.Floor(d0), priorMax))}
	if p.DF < 1 {
		return Prior{}
	}
	p.Var = math.Exp(mean + mathext.Digamma(d0/2) - math.Log(d0/2))
	return p
}

// Trigamma returns the derivative of the digamma function at x > 0.
func Trigamma(x float64) float64 { return mathext.Zeta(2, x) }

// TrigammaInverse returns x > 0 with Trigamma(x) = y, for y > 0.
func TrigammaInverse(y float64) float64 {
	// 1/x < trigamma(x) < 1/x + 1/x²: both sides solved for x enclose the answer.
	lo, hi := 1/y, 0.5/y+math.Sqrt(0.25/(y*y)+1/y)
	for range 80 {
		if mid := (lo + hi) / 2; Trigamma(mid) > y {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}
