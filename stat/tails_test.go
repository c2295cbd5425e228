package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// False alarms of noise that is not normal, or remembers: 12 tests side by side, the prior
// fitted to their first four blocks, 20 blocks. Noise as likely up as down makes fewer of
// them; what is lopsided, since only one side has rare bad starts, makes more.
func TestRuleUnderOtherNoise(t *testing.T) {
	const tests, blocks, first = 12, 20, 4
	runs := chunk
	if *long {
		runs = 100 * chunk
	}
	independent := func(f func(*rand.Rand) float64) func(*rand.Rand, float64) float64 {
		return func(r *rand.Rand, _ float64) float64 { return f(r) }
	}
	after := func(phi float64) func(*rand.Rand, float64) float64 {
		return func(r *rand.Rand, last float64) float64 { return phi*last + math.Sqrt(1-phi*phi)*r.NormFloat64() }
	}
	var bounds Boundaries
	for _, tt := range []struct {
		name string
		next func(r *rand.Rand, last float64) float64
		most float64 // share of false alarms
	}{
		{"normal", independent((*rand.Rand).NormFloat64), 0.01},
		{"Student's t with 3 degrees of freedom", independent(func(r *rand.Rand) float64 { return r.NormFloat64() / math.Sqrt(gamma32(r)/1.5) }), 0.01},
		{"3 of 10 starts of either side 4 sd slower", independent(func(r *rand.Rand) float64 { return r.NormFloat64() + slowStart(r, 0.3, 4) - slowStart(r, 0.3, 4) }), 0.012},
		{"1 of 20 blocks 10 times as noisy", independent(func(r *rand.Rand) float64 {
			if x := r.NormFloat64(); r.Float64() < 0.05 {
				return 10 * x
			} else {
				return x
			}
		}), 0.01},
		{"3 of 10 starts of one side 4 sd slower, less their mean", independent(func(r *rand.Rand) float64 { return r.NormFloat64() - slowStart(r, 0.3, 4) + 1.2 }), 1},
		{"exponential, less its mean", independent(func(r *rand.Rand) float64 { return 1 - r.ExpFloat64() }), 1},
		{"a block resembles the last by 0.2", after(0.2), 1},
		{"a block resembles the last by 0.4", after(0.4), 1},
	} {
		var mu sync.Mutex
		alarms, all := 0, 0
		each(runs, func(rng *rand.Rand, _ sync.Locker) {
			series, vars := make([][]float64, tests), make([]float64, tests)
			for i := range series {
				last := rng.NormFloat64()
				for range blocks {
					last = tt.next(rng, last)
					series[i] = append(series[i], last)
				}
				e := Prior{}.Moderate(series[i][:first])
				vars[i] = e.SD * e.SD
			}
			prior, n := FitPrior(vars, first-1), 0
			for _, d := range series {
				if slices.ContainsFunc(looks(prior, d, first), func(e Estimate) bool {
					return math.Abs(e.T()) >= bounds.Get(Rule{Max: blocks, First: first, Prior: e.Prior, Alpha: 0.01, Rho: 2}).At(e.N)
				}) {
					n++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			alarms, all = alarms+n, all+tests
		})
		share := float64(alarms) / float64(all)
		t.Logf("%s: %.2f %% false alarms of %d", tt.name, 100*share, all)
		if share > tt.most+3.5*math.Sqrt(0.01/float64(all)) {
			t.Errorf("%s: %.4f false alarms, want %.3f at most", tt.name, share, tt.most)
		}
	}
}

// looks returns what is known after each block from the first look on.
func looks(p Prior, d []float64, first int) (out []Estimate) {
	for n := first; n <= len(d); n++ {
		out = append(out, p.Moderate(d[:n]))
	}
	return out
}

// gamma32 draws half a chi-square with 3 degrees of freedom.
func gamma32(r *rand.Rand) float64 {
	x := r.NormFloat64()
	return r.ExpFloat64() + x*x/2
}

// slowStart is by how much a start of a server is slower: size with that probability.
func slowStart(r *rand.Rand, probability, size float64) float64 {
	if r.Float64() < probability {
		return size
	}
	return 0
}
