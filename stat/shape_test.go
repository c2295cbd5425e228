package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// What is said of a thousand series of noise is said of about one, and of a clear case it
// is said nearly always. Differences are in standard deviations.
func TestShapes(t *testing.T) {
	runs := 2_000
	if *long {
		runs = 100_000
	}
	trend := func(x []float64) bool { _, p := Trend(x); return p < 0.001 }
	shift := func(x []float64) bool { _, _, p := Shift(x); return p < 0.001 }
	outlier := func(x []float64) bool { _, _, p := Outlier(x); return p < 0.001 }
	modes := func(x []float64) bool { _, _, _, two := Modes(x); return two }
	bimodal := slices.Concat(flat(14, 0), flat(6, 8))
	for _, tt := range []struct {
		name   string
		says   func([]float64) bool
		levels []float64
		least  float64
		most   float64
	}{
		{"trend of noise", trend, flat(12, 0), 0, 0.001},
		{"trend", trend, line(20, 6), 0.9, 1},
		{"shift of noise", shift, flat(12, 0), 0, 0.001},
		{"shift", shift, slices.Concat(flat(10, 0), flat(10, 4)), 0.95, 1},
		{"outlier of noise", outlier, flat(12, 0), 0, 0.001},
		{"outlier", outlier, append(flat(19, 0), 10), 0.95, 1},
		{"two modes of noise", modes, flat(12, 0), 0, 0.001},
		{"two modes of noise, 40 values", modes, flat(40, 0), 0, 0.001},
		{"two modes", modes, bimodal, 0.95, 1},
	} {
		hits := 0
		each(runs, func(rng *rand.Rand, mu sync.Locker) {
			x := series(rng, tt.levels...)
			if tt.says(x) {
				mu.Lock()
				defer mu.Unlock()
				hits++
			}
		})
		share := float64(hits) / float64(runs)
		t.Logf("%s: %.3f %%", tt.name, 100*share)
		if share < tt.least || share > tt.most+3.5*math.Sqrt(0.001/float64(runs)) {
			t.Errorf("%s: said of %.4f, want %g to %g", tt.name, share, tt.least, tt.most)
		}
	}
}

// Sizes, by hand.
func TestShapeSizes(t *testing.T) {
	if slope, p := Trend([]float64{1, 3, 5, 7}); slope != 2 || p != 1 {
		t.Errorf("a line: slope %g, p %g; want 2, and no noise to hold it against", slope, p)
	}
	// Slope of 0 1 1 2: Σ(x−1.5)(y−1)/Σ(x−1.5)² = (1.5+0+0+1.5)/5 = 0.6; rest Σd² = 2−5·0.36 = 0.2;
	// t = 0.6/√(0.1/5) = 4.243 with 2 degrees of freedom: p = 1 − t/√(t²+2) = 0.0513.
	slope, p := Trend([]float64{0, 1, 1, 2})
	equal(t, "slope", slope, 0.6, 1e-12)
	equal(t, "p of the slope", p, 1-math.Sqrt(18)/math.Sqrt(20), 1e-9)
	at, size, _ := Shift([]float64{1, 2, 1, 5, 6, 5, 6})
	if at != 3 {
		t.Errorf("shift at %d", at)
	}
	equal(t, "shift", size, 5.5-4.0/3, 1e-12)
	at, size, _ = Outlier([]float64{1, 2, 1, 2, 9})
	if at != 4 {
		t.Errorf("outlier at %d", at)
	}
	equal(t, "outlier, from the mean of the others", size, 7.5, 1e-12)
	low, high, share, two := Modes([]float64{0, 1, 0, 1, 0, 1, 20, 21, 20, 21, 20, 21})
	if !two || low != 0.5 || high != 20.5 || share != 0.5 {
		t.Errorf("modes %g, %g, %g, %v", low, high, share, two)
	}
	// (7−5)²/5·2 over 1−0.05 for 7 and 3 of 100 each: χ² = 8/5/0.95 = 1.684, p = 0.194.
	equal(t, "same share", Same([]int{7, 3}, []int{100, 100}), math.Erfc(math.Sqrt(8/5.0/0.95/2)), 1e-9)
	for _, x := range [][]float64{nil, {1}, flat(20, 0.1)} {
		_, a := Trend(x)
		_, _, b := Shift(x)
		_, _, c := Outlier(x)
		_, _, _, two := Modes(x)
		if a != 1 || b != 1 || c != 1 || two {
			t.Errorf("%v: p %g, %g, %g, two modes %v", x, a, b, c, two)
		}
	}
}

// Noise without memory has none, in short blocks too; an AR(1) of 0.6 has some of its
// factor of 4 within blocks of 16.
func TestResemblance(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	blocks := func(n, m int, phi float64) [][]float64 {
		out := make([][]float64, n)
		for i := range out {
			x := rng.NormFloat64() / math.Sqrt(1-phi*phi)
			level := 3 * rng.NormFloat64()
			for range m {
				out[i] = append(out[i], level+x)
				x = phi*x + rng.NormFloat64()
			}
		}
		return out
	}
	for _, m := range []int{4, 8} {
		sum := 0.0
		for range 50 {
			sum += Resemblance(blocks(40, m, 0)) / 50
		}
		if sum > 1.15 {
			t.Errorf("white noise in blocks of %d: %.2f", m, sum)
		}
		t.Logf("white noise in blocks of %d: %.2f", m, sum)
	}
	got := Resemblance(blocks(40, 16, 0.6))
	t.Logf("AR(1) of 0.6 in blocks of 16: %.2f", got)
	if got < 2 || got > 4.5 {
		t.Errorf("AR(1) of 0.6: %.2f", got)
	}
}
