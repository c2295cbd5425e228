package stat

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
)

// False alarms at nominal 1 % when the prior is fitted to the run's own first 4 blocks:
// by the number of tests, by how much their true variances differ (drawn from spread
// degrees of freedom; 0: they do not), and by how much tests share a block's restart.
func TestRuleFittedPrior(t *testing.T) {
	type setting struct {
		tests, spread int
		common        float64 // correlation of the differences of one block
	}
	settings, least := []setting{{42, 0, 0}}, 4_000
	if *long {
		least = 100_000
		settings = nil
		for _, m := range []int{2, 4, 6, 12, 42} {
			for _, spread := range []int{0, 4, 20} {
				settings = append(settings, setting{m, spread, 0})
			}
		}
		for _, common := range []float64{0.3, 0.5, 0.7, 0.95} {
			settings = append(settings, setting{12, 0, common})
		}
	}
	var bounds Boundaries
	for _, s := range settings {
		var alarms, n int
		each((least/s.tests/chunk+1)*chunk, func(rng *rand.Rand, mu sync.Locker) {
			got := falseAlarms(rng, &bounds, s.tests, s.spread, s.common)
			mu.Lock()
			defer mu.Unlock()
			alarms += got
			n += s.tests
		})
		got := float64(alarms) / float64(n)
		t.Logf("%d tests, spread %d, correlation %g: %.2f %% false alarms", s.tests, s.spread, s.common, 100*got)
		if s.tests >= 6 && s.common <= 0.5 && got > 0.0107+3.5*math.Sqrt(0.01/float64(n)) {
			t.Errorf("%+v: %.4f false alarms", s, got)
		}
	}
}

// falseAlarms simulates one run of tests of nothing over 20 blocks.
func falseAlarms(rng *rand.Rand, bounds *Boundaries, tests, spread int, common float64) int {
	const blocks = 20
	var shared [blocks]float64
	for i := range shared {
		shared[i] = rng.NormFloat64()
	}
	d, vars := make([][]float64, tests), make([]float64, tests)
	for i := range d {
		sd := 1.0
		if spread > 0 {
			sd = 1 / math.Sqrt(truePrior(rng, spread, 1).Var)
		}
		for _, c := range shared {
			d[i] = append(d[i], sd*(math.Sqrt(common)*c+math.Sqrt(1-common)*rng.NormFloat64()))
		}
		sd = Prior{}.Moderate(d[i][:4]).SD
		vars[i] = sd * sd
	}
	prior, alarms := FitPrior(vars, 3), 0
	for _, d := range d {
		for n := 4; n <= blocks; n++ {
			e := prior.Moderate(d[:n])
			r := Rule{Max: blocks, First: 4, Prior: e.Prior, Alpha: 0.01, Rho: 2}
			if math.Abs(e.T()) >= bounds.Get(r).At(n) {
				alarms++
				break
			}
		}
	}
	return alarms
}
