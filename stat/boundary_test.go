package stat

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
)

// Values of Monte Carlo with 2 million paths, looks from 4 blocks, alpha 1 %, rho 2.
func TestBoundaryReference(t *testing.T) {
	for _, tt := range []struct {
		prior, max int
		want       map[int]float64
	}{
		{0, 20, map[int]float64{5: 11.77, 6: 8.60, 8: 5.95, 10: 4.87, 12: 4.30, 15: 3.80, 20: 3.31}},
		{0, 40, map[int]float64{6: 11.72, 8: 7.57, 10: 5.96, 15: 4.61, 20: 3.98, 30: 3.41, 40: 3.10}},
		{8, 20, map[int]float64{4: 5.01, 5: 4.86, 6: 4.66, 8: 4.24, 10: 3.96, 12: 3.73, 15: 3.44, 20: 3.14}},
		{8, 40, map[int]float64{4: 5.95, 5: 5.74, 6: 5.46, 8: 4.99, 10: 4.64, 15: 4.08, 20: 3.75, 30: 3.32, 40: 3.06}},
	} {
		b := Rule{Max: tt.max, First: 4, Prior: tt.prior, Alpha: 0.01, Rho: 2}.Solve()
		for n, want := range tt.want {
			if got := b.At(n); math.Abs(got/want-1) > 0.02 {
				t.Errorf("prior %d, max %d: c at %d = %.3f, want %.2f within 2 %%", tt.prior, tt.max, n, got, want)
			}
		}
	}
}

// The grid is fine enough: one with twice the cells says the same to
// 0.25 %, after the tenth block to 0.1 %.
func TestBoundaryConverged(t *testing.T) {
	rules := []Rule{{Max: 8, First: 4, Alpha: 0.01, Rho: 2}}
	if *long {
		rules = []Rule{
			{Max: 20, First: 4, Alpha: 0.01, Rho: 2},
			{Max: 40, First: 4, Prior: 8, Alpha: 0.0005, Rho: 2},
			{Max: 12, First: 3, Prior: 6, Alpha: 0.05, Rho: 1},
		}
	}
	for _, r := range rules {
		coarse, fine := r.Solve(), r.solve(2)
		for n := r.First; n <= r.Max; n++ {
			if a, b := coarse.At(n), fine.At(n); math.Abs(a/b-1) > 2.5e-3 || n > 10 && math.Abs(a/b-1) > 1e-3 {
				t.Errorf("%+v: c at %d = %.5f, on the finer grid %.5f", r, n, a, b)
			}
		}
	}
}

// Simulated by the public functions, as many null paths cross by each look as the rule
// spends up to it.
func TestBoundarySpends(t *testing.T) {
	paths, tolerance := 10_000, 4.0
	if *long {
		paths = 1_000_000
	}
	for _, r := range []Rule{
		{Max: 20, First: 4, Alpha: 0.05, Rho: 2},
		{Max: 20, First: 4, Prior: 8, Alpha: 0.01, Rho: 2},
		{Max: 15, First: 4, Prior: 3, Alpha: 0.05, Rho: 1},
	} {
		b := r.Solve()
		crossed := make([]float64, r.Max+1) // first crossings by look
		each(paths, func(rng *rand.Rand, mu sync.Locker) {
			if n := crossing(rng, b, 0, 1); n > 0 {
				mu.Lock()
				crossed[n]++
				mu.Unlock()
			}
		})
		sum := 0.0
		for n := r.First; n <= r.Max; n++ {
			sum += crossed[n]
			want := r.Spent(n) * float64(paths)
			if math.Abs(sum-want) > tolerance*math.Sqrt(want)+1 {
				t.Errorf("%+v: %v of %d null paths crossed by look %d, want %.0f", r, sum, paths, n, want)
			}
		}
		t.Logf("%+v: %.4f %% of %d null paths crossed", r, 100*sum/float64(paths), paths)
	}
}

func TestUnion(t *testing.T) {
	r := Rule{Max: 40, First: 4, Prior: 8, Alpha: 0.01, Rho: 2}
	u, b := r.Union(), r.Solve()
	for n := r.First; n <= r.Max; n++ {
		// Equal at the first look, where there is nothing to share, larger ever after.
		if n == r.First && math.Abs(u.At(n)/b.At(n)-1) > 1e-12 || n > r.First && u.At(n) <= b.At(n) {
			t.Errorf("c at %d: union %.4f, solved %.4f", n, u.At(n), b.At(n))
		}
	}
	// At 40 of 40 blocks the level is (40²−39²)/40² of 1 %, with 47 degrees of freedom.
	if got, want := u.At(40), tQuantile(0.01*79/1600, 47); math.Abs(got-want) > 1e-12 {
		t.Errorf("union at 40 = %v, want %v", got, want)
	}
}

func TestRuleEdges(t *testing.T) {
	r := Rule{Max: 3, First: 4, Alpha: 0.01, Rho: 2}
	if b := r.Solve(); !math.IsInf(b.At(3), 1) || !math.IsInf(b.At(4), 1) {
		t.Errorf("a rule that never looks has c = %v, %v", b.At(3), b.At(4))
	}
	if got := r.Solve().Reach(); !math.IsInf(got.Detect, 1) {
		t.Errorf("a rule that never looks can see %v", got.Detect)
	}
	one := Rule{Max: 4, First: 4, Alpha: 0.01, Rho: 2}
	if got, want := one.Solve().At(4), 5.8409; math.Abs(got-want) > 1e-4 { // t, 3 degrees of freedom, 0.995
		t.Errorf("a single look at 4 has c = %v, want %v", got, want)
	}
	for _, bad := range []Rule{
		{Max: 9, First: 1, Alpha: 0.01, Rho: 2}, {Max: 9, First: 4, Alpha: 0, Rho: 2}, {Max: 9, First: 4, Alpha: math.NaN(), Rho: 2},
		{Max: 9, First: 4, Alpha: 0.01}, {Max: 9, First: 4, Prior: -1, Alpha: 0.01, Rho: 2},
	} {
		if bad.Check() == nil {
			t.Errorf("Check(%+v) found nothing wrong", bad)
		}
	}
}

func TestBoundariesShared(t *testing.T) {
	var b Boundaries
	r := Rule{Max: 10, First: 4, Prior: 2, Alpha: 0.01, Rho: 2}
	want := r.Solve()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := b.Get(r); got.At(10) != want.At(10) {
				t.Errorf("c at 10 = %v, want %v", got.At(10), want.At(10))
			}
			b.Reach(r)
		})
	}
	wg.Wait()
}

func BenchmarkSolve(b *testing.B) {
	for b.Loop() {
		Rule{Max: 40, First: 4, Prior: 8, Alpha: 0.01, Rho: 2}.Solve()
	}
}

// chunk is how many calls each makes from one seed.
const chunk = 50

// each runs f so often, on all processors; what f is given to draw from depends only on
// the number of the call's chunk.
func each(times int, f func(rng *rand.Rand, mu sync.Locker)) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				rng := rand.New(rand.NewPCG(i, 42))
				for range chunk {
					f(rng, &mu)
				}
			}
		})
	}
	for i := range times / chunk {
		next <- uint64(i)
	}
	close(next)
	wg.Wait()
}

// crossing simulates differences around theta with standard deviation sd, by the public
// functions, and returns the first look at which |t| reaches the boundary; 0: at none.
func crossing(rng *rand.Rand, b Boundary, theta, sd float64) int {
	prior, d := truePrior(rng, b.Prior, sd), []float64(nil)
	for n := 1; n <= b.Max; n++ {
		d = append(d, theta+sd*rng.NormFloat64())
		if n >= b.First && math.Abs(moderate(prior, d).T()) >= b.At(n) {
			return n
		}
	}
	return 0
}

// truePrior draws a prior that df differences of standard deviation sd would give.
func truePrior(rng *rand.Rand, df int, sd float64) Prior {
	p := Prior{DF: df}
	for range df {
		x := sd * rng.NormFloat64()
		p.Var += x * x / float64(df)
	}
	return p
}

// moderate is Moderate without its fallback, which makes false alarms fewer than the rule
// allows and so hides what the boundary does.
func moderate(p Prior, d []float64) Estimate {
	e := Prior{}.Moderate(d)
	own := e.DF
	e.DF += float64(p.DF)
	e.SD = math.Sqrt((float64(p.DF)*p.Var + own*e.SD*e.SD) / e.DF)
	e.Prior = p.DF
	return e
}
