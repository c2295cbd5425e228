package run

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"backslide/lab"
)

// white is noise without memory: of slices of 200 ms it has a standard deviation of 1, of
// shorter ones more.
func white() func(int, time.Duration) float64 {
	rng := rand.New(rand.NewPCG(7, 7))
	return func(_ int, d time.Duration) float64 {
		return rng.NormFloat64() * math.Sqrt(0.2/max(0.001, d.Seconds()))
	}
}

// calibrated calibrates levels on two variants in a laboratory where the speed of the nth
// slice is off by sd·shape, and returns their plans by step.
func calibrated(t *testing.T, p lab.Plan, shape func(n int, d time.Duration) float64, sd map[string]float64, levels ...lab.LevelPlan) map[string]lab.LevelPlan {
	t.Helper()
	l := newLot(t)
	n := 0
	l.onRate = func(spec Spec, step string, _ lab.Variant) float64 {
		n++
		if sd[step] == 0 {
			return 10_000
		}
		return 10_000 * math.Exp(sd[step]*shape(n, spec.Duration))
	}
	r := testRun(4, levels, "a", "b")
	c := l.conductor(t.TempDir(), never)
	if err := c.Prepare(t.Context(), r.Variants); err != nil {
		t.Fatal(err)
	}
	got, err := c.Calibrate(t.Context(), p.WithDefaults(), r.Variants, r.Levels)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]lab.LevelPlan{}
	for _, lp := range got {
		out[lp.Level.Step.Name] = lp
	}
	return out
}

// Slices are as many as their noise calls for: v slices of sd s add 2·s²/v to the variance
// of a block's difference, which is to be under half of what restarts do, 2·(1.5 %)².
// With s = 3 % that is 8 slices, with 2 % 4.
func TestPilotChoosesSlices(t *testing.T) {
	got := calibrated(t, lab.Plan{Slice: 200 * time.Millisecond}, white(), map[string]float64{"quiet": 0.002, "fair": 0.03, "noisy": 0.3},
		level("quiet", true, 0), level("fair", true, 0), level("noisy", true, 0), level("w", false, 0))
	if lp := got["quiet"]; lp.Slices != 4 {
		t.Errorf("quiet: %d slices, want the fewest, 4 (%s)", lp.Slices, lp.Why)
	}
	if lp := got["fair"]; lp.Slices < 4 || lp.Slices > 16 || lp.Slices%2 != 0 || math.Abs(math.Log(lp.Noise/0.03)) > 0.7 {
		t.Errorf("fair: %d slices for a noise of %.3f, want about 8 for 0.03", lp.Slices, lp.Noise)
	}
	if lp := got["noisy"]; lp.Slices != 4*8 || !strings.Contains(lp.Why, "would be better") {
		t.Errorf("noisy: %d slices (%s), want 4 times the plan's and that more would be better", lp.Slices, lp.Why)
	}
	if lp := got["w"]; lp.Noise != 0 || lp.Why != "" {
		t.Errorf("writes: %+v, want no pilot", lp)
	}
}

// What the user has fixed stays, and pilots that a budget has no time for are not made.
func TestPilotIsAsked(t *testing.T) {
	for name, p := range map[string]lab.Plan{"slices fixed": {Slices: 6}, "short budget": {Budget: 5 * time.Second}} {
		got := calibrated(t, p, white(), map[string]float64{"r": 0.3}, level("r", true, 0))["r"]
		want := p.WithDefaults().Slices
		if got.Slices != want || got.Why != "" || got.Slice != 200*time.Millisecond {
			t.Errorf("%s: %d slices of %s (%s), want %d of 200ms and no pilot", name, got.Slices, got.Slice, got.Why, want)
		}
	}
}

// A budget that has no room for ten blocks takes slices away, but not below the plan.
func TestPilotBudget(t *testing.T) {
	sd := map[string]float64{"a": 0.3, "b": 0.3}
	free := calibrated(t, lab.Plan{Slice: 200 * time.Millisecond}, white(), sd, level("a", true, 0), level("b", true, 0))
	// 10 blocks × 2 variants × (1.5 s + 2 levels × (0.3 s + n × 0.21 s)) in 260 s: n ≤ 25.8
	p := lab.Plan{Slice: 200 * time.Millisecond, Budget: 260 * time.Second}
	for _, step := range []string{"a", "b"} {
		lp := calibrated(t, p, white(), sd, level("a", true, 0), level("b", true, 0))[step]
		if lp.Slices < 24 || lp.Slices > 26 || free[step].Slices != 32 || !strings.Contains(lp.Why, "the budget has no time for 32 slices") {
			t.Errorf("%s: %d slices (%s), want 24 to 26 of %d", step, lp.Slices, lp.Why, free[step].Slices)
		}
	}
	p.Budget, p.Warm = 140*time.Second, 2*time.Second // no room for ten blocks even of the plan's slices
	if lp := calibrated(t, p, white(), sd, level("a", true, 0), level("b", true, 0))["a"]; lp.Slices != 8 {
		t.Errorf("%d slices, want the plan's 8", lp.Slices)
	}
}

// Where the host is disturbed for longer than a slice, shorter slices cancel it; where each
// slice is noise of its own they only cost more discarded starts, but 16 slices can be
// mistaken.
func TestPilotChoosesLength(t *testing.T) {
	sd := map[string]float64{"r": 0.05}
	wave := func(n int, _ time.Duration) float64 { return math.Sin(2 * math.Pi * float64(n) / 20) }
	if lp := calibrated(t, lab.Plan{}, wave, sd, level("r", true, 0))["r"]; lp.Slice != 100*time.Millisecond {
		t.Errorf("waves of 2 s: slices of %s, want 100ms (%s)", lp.Slice, lp.Why)
	}
	long, shape := 0, white()
	for range 60 {
		if calibrated(t, lab.Plan{}, shape, sd, level("r", true, 0))["r"].Slice == 200*time.Millisecond {
			long++
		}
	}
	if long < 30 {
		t.Errorf("noise without memory: %d of 60 pilots keep slices of 200ms, want most", long)
	}
	slow := level("r", true, 0)
	slow.Level.Clients = 60 // 20 operations of each take 120 ms
	if lp := calibrated(t, lab.Plan{}, wave, sd, slow)["r"]; lp.Slice != 200*time.Millisecond {
		t.Errorf("slices of %s, too short for 20 operations of each client", lp.Slice)
	}
}

// A level at a set rate gets its share of what the base reached, and slices that hold
// operations enough for a 99 % quantile.
func TestPacedLevel(t *testing.T) {
	closed := level("r", true, 0)
	open := closed
	open.Open, open.Group, open.Level.Step = true, lab.Paced, closed.Level.Step.AtShare(0.7)
	got := calibrated(t, lab.Plan{Latency: 0.7, Slices: 8}, white(), nil, closed, open)["r@70%"]
	if got.Rate != 7000 || got.Slice != 200*time.Millisecond || got.Slices != 8 {
		t.Errorf("rate %v, %d slices of %s; want 7000, 8 of 200ms", got.Rate, got.Slices, got.Slice)
	}
	p := lab.Plan{Latency: 0.7}.WithDefaults()
	open.Rate = 70
	if lp := fit(p, open, 100); lp.Slice != 2860*time.Millisecond || lp.Slices != 2 {
		t.Errorf("at 70/s: %d slices of %s, want 2 of 2.86s, which hold 200 operations", lp.Slices, lp.Slice)
	}
	if rate := twoDigitRate(0.7 * 5.03); rate != 3.5 {
		t.Errorf("70 %% of 5.03/s are %v/s, want 3.5", rate)
	}
}
