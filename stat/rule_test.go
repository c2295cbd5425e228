package stat

import (
	"flag"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
)

// long runs the simulations whose figures stand in docs/statistics.md:
//
//	go test ./stat -run 'Rule|Boundary|Reach' -long -v
var long = flag.Bool("long", false, "simulate as many paths as docs/statistics.md quotes")

// tally counts how sequential tests of many simulated paths end.
type tally struct {
	paths, higher, lower, equivalent, uncovered, blocks int
}

// share is a count as a share of all paths.
func (c tally) share(n int) float64 { return float64(n) / float64(c.paths) }

// plan is what a run tests with: a boundary for differences and one for equivalence.
type plan struct {
	max, prior int
	margin     float64
}

// follow simulates paths to their end as a run would, with the whole rule.
func (p plan) follow(paths int, theta float64) tally {
	rule := Rule{Max: p.max, First: 4, Prior: p.prior, Alpha: 0.01, Rho: 2}
	c := rule.Solve()
	rule.Alpha = 0.05
	eq := rule.Solve()
	total := tally{paths: paths}
	each(paths, func(rng *rand.Rand, mu sync.Locker) {
		call, n, covered := p.one(rng, c, eq, theta)
		mu.Lock()
		defer mu.Unlock()
		total.blocks += n
		if !covered {
			total.uncovered++
		}
		switch call {
		case Higher:
			total.higher++
		case Lower:
			total.lower++
		case Equivalent:
			total.equivalent++
		}
	})
	return total
}

// one follows one path; covered says that no look's interval missed theta.
func (p plan) one(rng *rand.Rand, c, eq Boundary, theta float64) (call Call, n int, covered bool) {
	prior, d := truePrior(rng, p.prior, 1), []float64(nil)
	covered = true
	for n = 1; n <= p.max; n++ {
		d = append(d, theta+rng.NormFloat64())
		e := moderate(prior, d)
		rci := e.Interval(c.At(n))
		covered = covered && rci.Lo <= theta && theta <= rci.Hi
		if call = Decide(rci, e.Interval(eq.At(n)), p.margin); call != Open {
			return call, n, covered
		}
	}
	return Open, p.max, covered
}

// False alarms of the sequential rule at nominal 1 %, half of them each way.
func TestRuleFalseAlarms(t *testing.T) {
	paths, tolerance := 20_000, 0.0025
	if *long {
		paths, tolerance = 200_000, 0.001 // 4 standard errors are 0.0009
	}
	plans := []plan{{max: 20}, {max: 20, prior: 8}}
	if *long {
		plans = append(plans, plan{max: 40}, plan{max: 40, prior: 10})
	}
	for _, p := range plans {
		c := p.follow(paths, 0)
		t.Logf("max %d, prior %d: %.3f %% false alarms of %d (%d higher, %d lower), intervals cover in %.2f %%",
			p.max, p.prior, 100*c.share(c.higher+c.lower), paths, c.higher, c.lower, 100*(1-c.share(c.uncovered)))
		if got := c.share(c.higher + c.lower); math.Abs(got-0.01) > tolerance {
			t.Errorf("max %d, prior %d: %.4f false alarms, want 0.01 ± %g", p.max, p.prior, got, tolerance)
		}
	}
}

// The repeated confidence interval covers the truth at all looks at once, whatever the
// truth, whatever the rule stops for.
func TestRuleCoverage(t *testing.T) {
	paths, tolerance := 1_000, 0.012
	if *long {
		paths, tolerance = 100_000, 0.001
	}
	for _, p := range []plan{{max: 20, margin: 0.9}, {max: 20, prior: 8, margin: 0.9}} {
		for _, theta := range []float64{0, 0.7, -1.5} {
			c := p.follow(paths, theta)
			got := 1 - c.share(c.uncovered)
			t.Logf("max %d, prior %d, true %g: intervals cover in %.2f %% of %d", p.max, p.prior, theta, 100*got, paths)
			if got < 0.99-tolerance {
				t.Errorf("max %d, prior %d, true %g: coverage %.4f under 0.99", p.max, p.prior, theta, got)
			}
		}
	}
}

// A true difference as large as the margin is called equivalent in 2.5 % at most.
func TestRuleFalseEquivalence(t *testing.T) {
	paths, tolerance := 4_000, 0.01
	if *long {
		paths, tolerance = 100_000, 0.002
	}
	for _, p := range []plan{{max: 20, margin: 0.9}, {max: 20, prior: 8, margin: 0.9}} {
		c := p.follow(paths, p.margin)
		t.Logf("max %d, prior %d: %.2f %% of %d called equivalent at the margin", p.max, p.prior, 100*c.share(c.equivalent), paths)
		if got := c.share(c.equivalent); got > 0.025+tolerance {
			t.Errorf("max %d, prior %d: %.4f called equivalent at the margin, want at most 0.025", p.max, p.prior, got)
		}
	}
}

// Power and mean number of blocks at the smallest detectable difference, with a prior of
// 8 degrees of freedom: differences in standard deviations of one block.
func TestReachReference(t *testing.T) {
	paths := 2_000
	if *long {
		paths = 40_000
	}
	for _, tt := range []struct {
		max                          int
		detect, blocks, red, certify float64
	}{
		{10, 1.45, 6.9, 1.97, 1.30},
		{20, 0.98, 13.3, 1.29, 0.89},
		{40, 0.67, 25.9, 0.86, 0.61},
		{80, 0.46, 50.5, 0.58, 0.43},
	} {
		if tt.max > 20 && !*long {
			continue
		}
		r := Rule{Max: tt.max, First: 4, Prior: 8, Alpha: 0.01, Rho: 2}
		got := r.Solve().Reach().Detect
		near(t, tt.max, "detect", got, tt.detect, 0.02)
		power := plan{max: tt.max, prior: 8}.follow(paths, tt.detect)
		near(t, tt.max, "power at the reference", power.share(power.higher), 0.9, 0.03)
		near(t, tt.max, "mean blocks", float64(power.blocks)/float64(paths), tt.blocks, 0.03)
		r.Alpha = 0.0005
		near(t, tt.max, "detect at 0.05 %", r.Solve().Reach().Detect, tt.red, 0.02)
		r.Alpha = 0.05
		near(t, tt.max, "certify", r.Solve().Reach().Certify, tt.certify, 0.02)
	}
}

func near(t *testing.T, max int, what string, got, want, share float64) {
	t.Helper()
	t.Logf("max %d: %s %.3f, reference %.3f", max, what, got, want)
	if math.Abs(got/want-1) > share {
		t.Errorf("max %d: %s = %.3f, want %.3f within %g %%", max, what, got, want, 100*share)
	}
}
