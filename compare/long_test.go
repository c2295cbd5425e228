package compare

import (
	"flag"
	"math"
	"testing"

	"backslide/lab"
)

// long runs the simulations whose figures stand in docs/statistics.md:
//
//	go test ./compare -run WholeRuns -long -v
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
