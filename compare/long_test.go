package compare

import (
	"flag"
	"math"
	"testing"

	"backslide/lab"
)

// long runs the simulations whose figures stand in docs/statistics.md:
//
//	go test ./compare -run 'WholeRuns|Report|Copies|Confirmations' -long -v
var long = flag.Bool("long", false, "simulate as many runs as docs/statistics.md quotes")

// Whole runs of 42 steps, with the prior fitted in each: false alarms by throughput, and
// how often and how soon a difference is called.
func TestWholeRuns(t *testing.T) {
	runs, tolerance := 3, 0.02
	if *long {
		runs, tolerance = 240, 0.0015 // 10,000 tests
	}
	for _, theta := range []float64{0, -0.03, -0.05} {
		s := sim{blocks: 20, slices: 8, levels: 42, clients: 1, candidates: 1, theta: theta, restart: 0.02, noise: 0.04}
		run := s.run()
		run.Plan.Margin = 0.0001 // nothing ends early for being equivalent
		var alarms, called, missed, tests int
		var blocks float64
		for i := range runs {
			s.seed = uint64(i + 1)
			var tally Tally
			for _, o := range s.measure() {
				tally.Add(o)
			}
			cs, err := tally.Verdicts(run, &bounds)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cs {
				tests++
				switch {
				case c.Verdict == lab.Improved || c.Verdict == lab.Regressed && theta == 0:
					alarms++
				case c.Verdict == lab.Regressed:
					called++
				}
				if c.Lo > theta || c.Hi < theta {
					missed++
				}
				blocks += at(c)
			}
		}
		share := func(n int) float64 { return float64(n) / float64(tests) }
		t.Logf("true %+.0f %%, %d tests: %.2f %% regressed, %.2f %% false, after %.1f blocks of 20; %.2f %% of intervals miss",
			100*theta, tests, 100*share(called), 100*share(alarms), blocks/float64(tests), 100*share(missed))
		if got := share(alarms); got > 0.01+tolerance {
			t.Errorf("true %g: %.4f false alarms, want at most 0.01", theta, got)
		}
		if got := share(missed); got > 0.01+tolerance {
			t.Errorf("true %g: %.4f of intervals miss, want at most 0.01", theta, got)
		}
	}
}

// at returns after how many blocks a comparison was called, or all of them: the mean of
// so many is its LogRatio.
func at(c lab.Comparison) float64 {
	sum := 0.0
	for i, d := range c.Blocks {
		sum += d.Diff
		if i+1 >= firstLook && math.Abs(sum/float64(i+1)-c.LogRatio) < 1e-12 {
			return float64(i + 1)
		}
	}
	return float64(len(c.Blocks))
}

// Whole reports of nothing: how often is any lamp red, how often a summary of a group
// amber, with planned looks and with e-values; how many tests would be amber by chance.
func TestReportOfNothing(t *testing.T) {
	runs := 4
	if *long {
		runs = 400
	}
	for _, rule := range []string{lab.GST, lab.EValues} {
		s := sim{blocks: 20, slices: 4, levels: 42, clients: 1, candidates: 1, restart: 0.02, noise: 0.04, shared: 0.3}
		run := s.run()
		run.Plan.Margin, run.Plan.Rule = 0.0001, rule
		var red, amber, tests, groupAmber, groups int
		for i := range runs {
			s.seed = uint64(i + 1)
			sum := summary(t, run, s.measure())
			any := false
			for _, c := range qps(sum) {
				tests++
				any = any || c.Red
				if called(c) {
					amber++
				}
			}
			for _, g := range sum.Groups {
				groups++
				any = any || g.Test.Red
				if called(g.Test) {
					groupAmber++
				}
			}
			for _, c := range sum.Comparisons {
				any = any || c.Red
			}
			if any {
				red++
			}
		}
		t.Logf("rule %s, %d reports: %.2f %% have a red lamp; amber are %.2f %% of steps, %.2f %% of %d groups",
			rule, runs, 100*float64(red)/float64(runs), 100*float64(amber)/float64(tests), 100*float64(groupAmber)/float64(groups), groups)
		if share := float64(red) / float64(runs); share > 0.05+3.5*math.Sqrt(0.05*0.95/float64(runs)) {
			t.Errorf("rule %s: %.3f of reports have a red lamp", rule, share)
		}
		if share := float64(groupAmber) / float64(groups); share > 0.012+3.5*math.Sqrt(0.01/float64(groups)) {
			t.Errorf("rule %s: %.4f of groups are called", rule, share)
		}
	}
}

// Copies of the base that differ in nothing: how often are reds held, when restarts set
// levels back independently and when half of what they do is common to all.
func TestCopiesHeld(t *testing.T) {
	runs := 10
	if *long {
		runs = 1000
	}
	for _, shared := range []float64{0, 0.5} {
		s := sim{blocks: 12, slices: 2, levels: 42, clients: 1, candidates: 1, restart: 0.02, noise: 0.01, shared: shared}
		held, uneven := 0, 0
		for i := range runs {
			s.seed = uint64(i + 1)
			run, all := aa(s)
			run.Plan.Margin = 0.0001
			var tally Tally
			for _, o := range all {
				tally.Add(o)
			}
			cs, err := tally.Verdicts(run, &bounds)
			if err != nil {
				t.Fatal(err)
			}
			j, err := tally.judge(run, &bounds)
			if err != nil {
				t.Fatal(err)
			}
			a := j.twins(cs)
			if a.Held {
				held++
			}
			if a.Uniform <= distrust {
				uneven++
			}
		}
		t.Logf("half shared %g: %d runs, held %.1f %%, for uneven p-values %.1f %%", shared, runs, 100*float64(held)/float64(runs), 100*float64(uneven)/float64(runs))
	}
}

// Confirmations of nothing, and of a difference.
func TestConfirmations(t *testing.T) {
	runs := 2
	if *long {
		runs = 120
	}
	for _, theta := range []float64{0, -0.03, -0.05} {
		s := sim{blocks: 20, slices: 8, levels: 42, clients: 1, candidates: 1, theta: theta, restart: 0.02, noise: 0.04}
		run, again := s.run(), s.run()
		run.Plan.Margin, again.Plan.Margin, again.ID = 0.0001, 0.0001, 2
		red, tests := 0, 0
		for i := range runs {
			s.seed = uint64(2*i + 1)
			first := s.measure()
			s.seed++
			sum, err := Confirm(run, first, again, s.measure(), &bounds)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range qps(sum) {
				tests++
				if c.Red {
					red++
				}
			}
		}
		t.Logf("true %+.0f %%: %d of %d red, %.3f %%", 100*theta, red, tests, 100*float64(red)/float64(tests))
		if theta == 0 && float64(red) > 0.0004*float64(tests)+3 {
			t.Errorf("%d of %d confirmed, of nothing", red, tests)
		}
	}
}
