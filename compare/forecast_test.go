package compare

import (
	"math"
	"testing"
	"time"

	"backslide/lab"
)

// tallied returns a tally of a run's first blocks.
func tallied(all []lab.Slice, blocks int) *Tally {
	var t Tally
	for _, s := range all {
		if s.Block < blocks {
			t.Add(s)
		}
	}
	return &t
}

// What is expected after six blocks is compared with what comes: the sum of blocks over
// many levels within a third, and the calls mostly.
func TestForecast(t *testing.T) {
	for _, theta := range []float64{0, -0.03, -0.05} {
		s := sim{blocks: 40, slices: 4, levels: 60, clients: 1, candidates: 1, theta: theta, restart: 0.02, noise: 0.02, seed: 17}
		run := s.run()
		run.Plan.BlocksMax, run.Plan.Margin, run.Plan.Stop = 40, 0.03, lab.UntilAmber
		all := s.measure()
		f, err := tallied(all, 6).Forecast(run, &bounds)
		if err != nil {
			t.Fatal(err)
		}
		end := map[lab.Level]lab.Comparison{}
		for _, c := range qps(summary(t, run, all)) {
			end[c.Level] = c
		}
		var expected, real, right int
		for i, o := range f.Outlooks {
			expected += o.Blocks
			real += calledAt(end[o.Level]) - 6
			if o.Call == end[o.Level].Verdict {
				right++
			}
			if o.Blocks < 1 || o.Blocks > 34 || i > 0 && o.Blocks < f.Outlooks[i-1].Blocks {
				t.Errorf("%s: %d blocks after one of %d", o.Level, o.Blocks, f.Outlooks[max(0, i-1)].Blocks)
			}
		}
		t.Logf("true %g: %d open, %d blocks expected, %d came, %d calls right", theta, len(f.Outlooks), expected, real, right)
		if ratio := float64(expected) / float64(real); len(f.Outlooks) < 20 || ratio < 0.5 || ratio > 1.5 || 2*right < len(f.Outlooks) {
			t.Errorf("true %g: %d blocks expected, %d came; %d of %d calls right", theta, expected, real, right, len(f.Outlooks))
		}
	}
}

// Before the fourth block the whole plan is expected; time is that of all sides.
func TestForecastTime(t *testing.T) {
	s := sim{blocks: 3, slices: 4, levels: 2, clients: 1, candidates: 2, restart: 0.02, noise: 0.02, seed: 1}
	run := s.run()
	run.Plan.BlocksMax = 10
	for i := range run.Levels {
		run.Levels[i].Slice, run.Levels[i].Slices = time.Second, 4
	}
	f, err := tallied(timed(s.measure(), 0), 3).Forecast(run, &bounds)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Outlooks) != 4 || f.Blocks != 7 || f.Outlooks[0].Blocks != 7 || f.Outlooks[0].Slices != 4 || f.Outlooks[0].Each != 8080*time.Millisecond {
		t.Errorf("%+v", f)
	}
	// 7 blocks × 2 levels × 3 sides × 4 × 1.01 s
	if want := 7 * 2 * 3 * 4.04; math.Abs(f.Left.Seconds()-want) > 1e-6 {
		t.Errorf("%s left, want %g s", f.Left, want)
	}
	done := sim{blocks: 5, slices: 4, levels: 2, clients: 1, candidates: 1, restart: 0.001, noise: 0.001, seed: 1}
	if f, err = tallied(done.measure(), 5).Forecast(done.run(), &bounds); err != nil || len(f.Outlooks) != 0 || f.Left != 0 || f.Blocks != 0 {
		t.Errorf("all is done, and still to come: %+v, %v", f, err)
	}
}

// Confirmations: real differences are red, what only one of two runs calls is not, and a
// bias that stays with a place when roles are swapped turns round.
func TestConfirm(t *testing.T) {
	s := sim{blocks: 20, slices: 4, levels: 30, clients: 1, candidates: 1, theta: -0.04, restart: 0.01, noise: 0.02, seed: 41}
	fresh := s
	fresh.seed = 42
	run, again := s.run(), fresh.run()
	run.Plan.Margin, again.Plan.Margin, again.ID = 0.001, 0.001, 2
	half := func(all []lab.Slice) []lab.Slice { // half of the steps differ
		return change(all, func(o *lab.Slice) {
			if o.Cell.Variant != run.Base && len(o.Cell.Step.Name) == len("step0") {
				o.Wall *= math.Exp(s.theta)
			}
		})
	}
	first, second := half(s.measure()), half(fresh.measure())
	suspects, err := Suspects(run, first, &bounds)
	if err != nil || len(suspects) < 19 || len(suspects) > 23 {
		t.Fatalf("%d suspects, want the 20 that differ and few others: %v", len(suspects), err)
	}
	sum, err := Confirm(run, first, again, second, &bounds)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range qps(sum) {
		differs := len(c.Level.Step.Name) > len("step0")
		if differs != c.Red || differs && !hasNote(c, "confirmed: regressed by -") {
			t.Errorf("%s: %s, red %v, %q", c.Level, c.Verdict, c.Red, c.Notes)
		}
	}
	// Each suspect alone is red with a probability of 1 % if it does not differ: that it was
	// called before is why it is here.
	if want := 0.01 * float64(len(suspects)); math.Abs(sum.Lamps.Level-want) > 1e-12 {
		t.Errorf("a false red in %g of such reports at most, want %g for %d suspects", sum.Lamps.Level, want, len(suspects))
	}
	if want := len(suspects) + len(sum.Groups); sum.Lamps.Tests != want || math.Abs(sum.Lamps.FalseAmbers-0.02*float64(want)) > 1e-12 {
		t.Errorf("%g false ambers of %d tests, want 2 %% of %d", sum.Lamps.FalseAmbers, sum.Lamps.Tests, want)
	}
	for _, g := range sum.Groups {
		if g.Test.Red {
			t.Errorf("a group that nobody confirmed is red")
		}
	}
	swapped := change(second, func(o *lab.Slice) {
		if o.Cell.Variant != run.Base {
			o.Wall *= math.Exp(2 * s.theta) // now the better place is the candidate's
		}
	})
	if sum, err = Confirm(run, first, again, swapped, &bounds); err != nil {
		t.Fatal(err)
	}
	turned := 0
	for _, c := range qps(sum) {
		if c.Red {
			t.Errorf("%s: the places differ, and it is red", c.Level)
		}
		if hasNote(c, "not confirmed: regressed") {
			turned++
		}
	}
	if turned < 19 {
		t.Errorf("%d of 20 said to be not confirmed", turned)
	}
	if _, err := Confirm(run, first, run, first, &bounds); err == nil {
		t.Error("a run confirmed itself")
	}
}
