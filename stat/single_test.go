package stat

import (
	"math"
	"testing"
)

func TestNoiseFor(t *testing.T) {
	for _, tt := range []struct {
		d      float64
		n1, n2 int
		want   float64
	}{
		{math.Log(0.9), 1, 1, 0.028923}, // 0.1053605 / (2.5758293 · √2)
		{-0.10, 4, 4, 0.0549037},        // 0.10 / (2.5758293 · √0.5)
		{0.10, 0, 1, 0},
	} {
		if got := NoiseFor(tt.d, tt.n1, tt.n2, 0.01); math.Abs(got-tt.want) > 1e-6 {
			t.Errorf("NoiseFor(%g, %d, %d) = %.7f, want %.7f", tt.d, tt.n1, tt.n2, got, tt.want)
		}
	}
}

func TestWelch(t *testing.T) {
	// Equal sides of 3 runs: df 4, t(0.995) = 4.604095, half = t·sd·√(2/3).
	if got, want := Welch(0.02, 3, 0.02, 3, 0.01), 4.604095*0.02*math.Sqrt(2.0/3); math.Abs(got-want) > 1e-7 {
		t.Errorf("half width %.7f, want %.7f", got, want)
	}
	// One quiet side: df is that of the noisy one, 2, t(0.995) = 9.924843.
	if got, want := Welch(0.02, 3, 0, 3, 0.01), 9.924843*0.02/math.Sqrt(3); math.Abs(got-want) > 1e-6 {
		t.Errorf("half width %.7f, want %.7f", got, want)
	}
	if got := Welch(0.02, 1, 0.02, 9, 0.01); !math.IsInf(got, 1) {
		t.Errorf("half width %g from one run, want infinity", got)
	}
}
