// Package stat decides, from one number per block, whether two servers differ. It holds
// group-sequential boundaries, moderated variances, intervals, power, and what is needed
// to judge many tests at once. Numbers in, numbers out: it knows nothing of databases,
// reads no clock, and draws random numbers only from seeds that it is given.
package stat

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Rule is a two-sided group-sequential test: a look after every block from First to Max,
// of which all together cross their boundary with probability Alpha when nothing differs.
// It is a map key.
type Rule struct {
	Max   int     // blocks at most
	First int     // blocks at the first look, at least 2
	Prior int     // degrees of freedom of the variance prior; 0: none
	Alpha float64 // two-sided
	Rho   float64 // power of the spending function; larger saves more for later looks

	// Open makes a test by e-values, which may look on beyond Max for as long as it likes
	// and is as good at every look. Max then only says how far Reach looks, Rho nothing.
	Open bool
}

// Check returns what is wrong with the rule. A rule with Max under First is sound: it
// never looks.
func (r Rule) Check() error {
	switch {
	case r.First < 2:
		return fmt.Errorf("rule: first look at %d blocks; a variance needs 2", r.First)
	case r.Prior < 0:
		return fmt.Errorf("rule: prior of %d degrees of freedom", r.Prior)
	case !(r.Alpha > 0 && r.Alpha < 1):
		return fmt.Errorf("rule: alpha = %g is outside 0 to 1", r.Alpha)
	case !r.Open && !(r.Rho > 0):
		return fmt.Errorf("rule: rho = %g is not positive", r.Rho)
	}
	return nil
}

// Spent returns how much of Alpha may be used up to and including the look at n blocks:
// Alpha·(n/Max)^Rho, the power family of Kim and DeMets (1987). It is 0 before First.
func (r Rule) Spent(n int) float64 {
	switch {
	case n < r.First || r.Max < r.First:
		return 0
	case n >= r.Max:
		return r.Alpha
	}
	return r.Alpha * math.Pow(float64(n)/float64(r.Max), r.Rho)
}

// df returns the degrees of freedom of the moderated variance at n blocks.
func (r Rule) df(n int) float64 { return float64(r.Prior + n - 1) }

// Boundary is what |t| is held against at each look of a rule.
type Boundary struct {
	Rule
	c []float64 // from the look at First on
}

// At returns the boundary at n blocks, +Inf where the rule does not look.
func (b Boundary) At(n int) float64 {
	if b.Open && n > b.Max {
		return eBound(n, b.df(n), b.Alpha)
	}
	if i := n - b.First; i >= 0 && i < len(b.c) {
		return b.c[i]
	}
	return math.Inf(1)
}

// Union returns a boundary that is safe whatever the looks have to do with each other:
// each is a test of its own at what the rule spends there. It needs no computing and
// costs power: about 0.3 % false alarms where 1 % is allowed.
func (r Rule) Union() Boundary {
	b := Boundary{Rule: r}
	for n := r.First; n <= r.Max; n++ {
		b.c = append(b.c, tQuantile(r.Spent(n)-r.Spent(n-1), r.df(n)))
	}
	return b
}

// tQuantile returns c with P(|T| ≥ c) = p for Student's T with df degrees of freedom.
func tQuantile(p, df float64) float64 {
	if p <= 0 {
		return math.Inf(1)
	}
	return -distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(p / 2)
}
