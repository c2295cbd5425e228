package stat

import "math"

// EValue returns the evidence against "no difference" in an estimate, as a bet that pays
// 1 on average when nothing differs, whenever one stops: calling a difference at
// E ≥ 1/alpha is wrong with probability alpha at most, with no number of blocks planned.
// g is (typical difference / SD of a block)²; 0 means 1.
//
//	E = (1+ng)^(−1/2) · [ (1+t²/ν) / (1 + t²/(ν(1+ng))) ]^((ν+1)/2)
//
// It is the Bayes factor of a normal effect with an unknown scale (Wang and Ramdas,
// arXiv 2310.03722). A run uses this or boundaries, chosen before its first block, never
// whichever calls first. It is NaN where t is not known.
func EValue(e Estimate, g float64) float64 {
	if g == 0 {
		g = 1
	}
	t := e.T()
	t2, grow := t*t, 1+float64(e.N)*g
	gain := grow // the limit of the bracket for t → ∞
	if !math.IsInf(t2, 1) {
		gain = (1 + t2/e.DF) / (1 + t2/(e.DF*grow))
	}
	return math.Exp((e.DF+1)/2*math.Log(gain) - math.Log(grow)/2)
}

// eBound returns |t| at which EValue is 1/alpha after n blocks with df degrees of freedom,
// for g = 1; +Inf if it is at none, as when blocks are too few. Where |t| would have to be
// beyond it for another true difference, that one is outside an interval which covers the
// truth at all times at once. From E = 1/alpha follows, with w = t²/ν,
//
//	(1+w)/(1+w/(1+n)) = q,   q = ( (1+n)^(1/2)/alpha )^(2/(ν+1)),   w = (q−1)/(1−q/(1+n))
func eBound(n int, df, alpha float64) float64 {
	grow := 1 + float64(n)
	q := math.Pow(math.Sqrt(grow)/alpha, 2/(df+1))
	if q >= grow {
		return math.Inf(1)
	}
	return math.Sqrt(df * (q - 1) / (1 - q/grow))
}

// AnytimeP returns the p-value, valid at any stopping time, of e-values seen in order.
func AnytimeP(e []float64) float64 {
	best := 1.0
	for _, v := range e {
		best = max(best, v)
	}
	return 1 / best
}

// Symmetry audits a call without assuming any shape of noise: when the two sides differ
// in nothing but their names, each difference is as likely to be +x as −x, and |sum|
// reaches bound at some block with probability alpha at most:
//
//	bound = √( (V+r)·( ln((V+r)/r) + 2·ln(1/alpha) ) ),   V = Σ d²
//
// r is four times a guess of one difference's variance that does not come from d. It is
// slow to see anything, so it only backs doubts about heavy tails.
func Symmetry(d []float64, r, alpha float64) (sum, bound float64) {
	v := r
	for _, x := range d {
		sum += x
		v += x * x
	}
	return math.Abs(sum), math.Sqrt(v * (math.Log(v/r) + 2*math.Log(1/alpha)))
}
