package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func equal(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))) {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}

func TestModerate(t *testing.T) {
	d := []float64{0.01, 0.03, 0.02, 0.06} // mean 0.03, squares 4+0+1+9 = 14e-4, s² = 14e-4/3
	e := Prior{}.Moderate(d)
	equal(t, "mean", e.Mean, 0.03, 1e-12)
	equal(t, "sd", e.SD, math.Sqrt(14e-4/3), 1e-12)
	equal(t, "df", e.DF, 3, 0)
	equal(t, "t", e.T(), 0.03/(math.Sqrt(14e-4/3)/2), 1e-12)

	// With d0 = 6 and s0² = 5e-4: (6·5e-4 + 14e-4)/9 = 44e-4/9.
	e = Prior{DF: 6, Var: 5e-4}.Moderate(d)
	equal(t, "sd", e.SD, math.Sqrt(44e-4/9), 1e-12)
	equal(t, "df", e.DF, 9, 0)
	if e.Prior != 6 {
		t.Errorf("prior used with %d degrees of freedom, want 6", e.Prior)
	}

	// s² = 4.67e-4 is more than 1.5 times 3e-4: no prior.
	e = Prior{DF: 6, Var: 3e-4}.Moderate(d)
	equal(t, "sd", e.SD, math.Sqrt(14e-4/3), 1e-12)
	if e.Prior != 0 || e.DF != 3 {
		t.Errorf("noisy test kept %d of %g degrees of freedom from the prior", e.Prior, e.DF)
	}
}

func TestModerateFew(t *testing.T) {
	one := Prior{}.Moderate([]float64{0.4})
	if one.Mean != 0.4 || !math.IsNaN(one.SD) || one.Ties {
		t.Errorf("one difference gives %+v", one)
	}
	if got := one.Interval(3); !math.IsInf(got.Lo, -1) || !math.IsInf(got.Hi, 1) {
		t.Errorf("one difference has interval %v", got)
	}
	if got := (Prior{}.Moderate(nil)); got.N != 0 || !math.IsNaN(got.Mean) {
		t.Errorf("no difference gives %+v", got)
	}
	ties := Prior{}.Moderate([]float64{math.Log(1.46), math.Log(1.46), math.Log(146) - math.Log(100)})
	if !ties.Ties || ties.SD != 0 {
		t.Errorf("equal differences give %+v", ties)
	}
	if got := ties.Interval(5); got.Lo != ties.Mean || got.Hi != ties.Mean {
		t.Errorf("equal differences have interval %v around %v", got, ties.Mean)
	}
	if two := (Prior{}.Moderate([]float64{0, 0})); !two.Ties || two.Interval(math.Inf(1)).Hi != math.Inf(1) {
		t.Errorf("two zeros give %+v with interval %v", two, two.Interval(math.Inf(1)))
	}
}

// Scaling all differences and the prior scales estimates and leaves t alone.
func TestScale(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	d := make([]float64, 12)
	for i := range d {
		d[i] = 0.01 + 0.02*r.NormFloat64()
	}
	prior := Prior{DF: 4, Var: 4e-4}
	want := prior.Moderate(d)
	for _, k := range []float64{1e-9, 0.37, 1e6} {
		scaled := make([]float64, len(d))
		for i := range d {
			scaled[i] = k * d[i]
		}
		got := Prior{DF: 4, Var: k * k * 4e-4}.Moderate(scaled)
		equal(t, "t", got.T(), want.T(), 1e-12)
		equal(t, "sd/k", got.SD/k, want.SD, 1e-12)
		equal(t, "E", EValue(got, 1), EValue(want, 1), 1e-10)
	}
}

func TestDecide(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct {
		name    string
		rci, eq Interval
		want    Call
	}{
		{"nothing known", Interval{-inf, inf}, Interval{-inf, inf}, Open},
		{"around zero, wide", Interval{-0.1, 0.1}, Interval{-0.06, 0.06}, Open},
		{"around zero, narrow", Interval{-0.06, 0.06}, Interval{-0.04, 0.04}, Equivalent},
		{"small but real is equivalent", Interval{0.001, 0.06}, Interval{0.002, 0.04}, Equivalent},
		{"below", Interval{-0.2, -0.01}, Interval{-0.15, -0.02}, Lower},
		{"above", Interval{0.01, 0.2}, Interval{0.02, 0.15}, Higher},
		{"the margin itself is outside", Interval{-0.06, 0.06}, Interval{-0.05, 0.04}, Open},
		{"zero itself is not excluded", Interval{0, 0.2}, Interval{0.01, 0.15}, Open},
	} {
		if got := Decide(tt.rci, tt.eq, 0.05); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestTrigamma(t *testing.T) {
	equal(t, "trigamma(1)", Trigamma(1), math.Pi*math.Pi/6, 1e-12)
	equal(t, "trigamma(1/2)", Trigamma(0.5), math.Pi*math.Pi/2, 1e-12)
	equal(t, "trigamma(3/2)", Trigamma(1.5), math.Pi*math.Pi/2-4, 1e-12)
	for _, x := range []float64{1e-4, 0.03, 0.5, 1, 4, 70, 3e4} {
		equal(t, "inverse", TrigammaInverse(Trigamma(x)), x, 1e-9)
	}
}

func TestFitPrior(t *testing.T) {
	// Equal variances: their logarithms vary less than those of chance, so the cap holds.
	// e = ln v − ψ(3/2) + ln(3/2) each, and s0² = exp(e + ψ(5) − ln 5); ψ(3/2) = 0.03648997,
	// ψ(5) = 1.50611767, so s0² = v·exp(−0.03649 + 0.40547 + 1.50612 − 1.60944) = v·1.304...
	p := FitPrior([]float64{4, 4, 4, 4, 4, 4}, 3)
	if p.DF != 10 {
		t.Errorf("equal variances give %d degrees of freedom, want the cap", p.DF)
	}
	equal(t, "s0²", p.Var, 4*math.Exp(-0.03648997+math.Log(1.5)+1.50611767-math.Log(5)), 1e-7)

	// Two variances e^±a times one: var(e) = 2a². With 2a² = ψ'(3/2) + ψ'(2): d0/2 = 2.
	a := math.Sqrt((Trigamma(1.5) + Trigamma(2)) / 2)
	p = FitPrior([]float64{math.Exp(a + 1e-9), math.Exp(-a - 1e-9), 0}, 3) // the zero is left out
	if p.DF != 3 {                                                         // a hair under 4, and rounded down
		t.Errorf("d0 = %d, want 3", p.DF)
	}
	// mean(e) = −ψ(3/2) + ln(3/2), s0² = exp(that + ψ(2) − ln 2), ψ(2) = 1 − γ = 0.42278434.
	equal(t, "s0²", p.Var, math.Exp(-0.03648997+math.Log(1.5)+0.42278434-math.Log(2)), 1e-6)

	for _, few := range [][]float64{nil, {1}, {0, 0, 1}, {math.Inf(1), 1}, {math.NaN(), 1}} {
		if p := FitPrior(few, 3); p != (Prior{}) {
			t.Errorf("FitPrior(%v) = %+v, want none", few, p)
		}
	}
	if p := FitPrior([]float64{1e-12, 1, 1e12}, 3); p != (Prior{}) {
		t.Errorf("variances that have nothing in common give %+v, want none", p)
	}
}

// Fitted to many variances that were drawn from a prior, the fit finds that prior.
func TestFitPriorRecovers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	chi2 := func(df int) float64 {
		s := 0.0
		for range df {
			x := r.NormFloat64()
			s += x * x
		}
		return s
	}
	for _, d0 := range []int{2, 4, 8} {
		vars := make([]float64, 20_000)
		for i := range vars {
			sigma2 := 2.5 * float64(d0) / chi2(d0)
			vars[i] = sigma2 * chi2(3) / 3
		}
		p := FitPrior(vars, 3)
		if p.DF < d0-1 || p.DF > d0+1 || math.Abs(p.Var/2.5-1) > 0.05 {
			t.Errorf("drawn from %d degrees of freedom around 2.5, fitted %+v", d0, p)
		}
	}
}

// Mirrored slices cancel a linear drift exactly.
func TestMirrorCancelsDrift(t *testing.T) {
	for _, order := range []string{"ABBA", "BAAB", "ABBABAAB"} {
		var sum [2]float64
		for at, side := range order {
			sum[side-'A'] += 11.5 + 0.013*float64(at)
		}
		half := float64(len(order) / 2)
		if d := sum[1]/half - sum[0]/half; math.Abs(d) > 1e-12 {
			t.Errorf("%s leaves %g of a linear drift", order, d)
		}
	}
}
