package compare

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
	"backslide/stat"
)

// The red lamp of a clear difference is lit, with an interval at its look that covers the
// truth; of noise neither lamp is, and of a difference that is amber only the red is not.
func TestLamps(t *testing.T) {
	s := sim{blocks: 20, slices: 4, levels: 60, clients: 1, candidates: 1, restart: 0.01, noise: 0.01, seed: 31}
	for _, tt := range []struct {
		theta             float64
		leastRed, mostRed int
	}{{0, 0, 0}, {-0.012, 0, 30}, {-0.05, 60, 60}, {0.05, 60, 60}} {
		s.theta = tt.theta
		run := s.run()
		run.Plan.Margin = 0.001
		sum := summary(t, run, s.measure())
		red, amber := 0, 0
		for _, c := range qps(sum) {
			if called(c) {
				amber++
			}
			if !c.Red {
				continue
			}
			red++
			if !called(c) || c.Held || !c.Done || c.Lo > tt.theta || c.Hi < tt.theta {
				t.Errorf("true %g: red and %s, held %v, done %v, [%.3f, %.3f]", tt.theta, c.Verdict, c.Held, c.Done, c.Lo, c.Hi)
			}
			e := stat.Estimate{N: calledAt(c), Prior: int(c.DF) - calledAt(c) + 1}
			rule := stat.Rule{Max: 20, First: 4, Prior: e.Prior, Alpha: sum.Lamps.AlphaRed, Rho: 2}
			if got, least := math.Abs(c.LogRatio)/(c.SD/math.Sqrt(float64(e.N))), bounds.Get(rule).At(e.N); got < least {
				t.Errorf("true %g: red at t = %.2f, boundary %.2f", tt.theta, got, least)
			}
		}
		t.Logf("true %g: %d amber, %d of them red", tt.theta, amber, red)
		if red < tt.leastRed || red > tt.mostRed {
			t.Errorf("true %g: %d of 60 red, want %d to %d", tt.theta, red, tt.leastRed, tt.mostRed)
		}
	}
}

// The family: 2 steps × 2 numbers of clients and, in either group, both and their mean, for
// 2 candidates; the copy of the base is in none of it.
func TestFamily(t *testing.T) {
	s := sim{blocks: 1, slices: 2, levels: 2, clients: 2, candidates: 2}
	run := s.run()
	twin := run.Base
	twin.Copy = 1
	run.Variants = append(run.Variants, twin)
	got := summary(t, run, s.measure()).Lamps
	want := lab.Lamps{
		Tests: 2 * (4 + 2*3), Secondary: 2 * 4 * 6, Alpha: 0.01, Level: 0.05,
		AlphaRed: 0.04 / 20, AlphaRedSecondary: 0.01 / 48, FalseAmbers: 0.2,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	one := sim{blocks: 1, slices: 2, levels: 1, clients: 1, candidates: 1}
	if got := summary(t, one.run(), one.measure()).Lamps; got.AlphaRed != 0.01 {
		t.Errorf("red of 2 tests at %g, want no laxer than amber", got.AlphaRed)
	}
}

// A called comparison gets blocks until it is red, unless the plan says it does not.
func TestStop(t *testing.T) {
	s := sim{blocks: 20, slices: 4, levels: 40, clients: 1, candidates: 1, theta: -0.02, restart: 0.01, noise: 0.01, seed: 12}
	all := s.measure()
	done := map[string]int{}
	for _, stop := range []string{lab.UntilRed, lab.UntilAmber} {
		for n := 4; n <= 19; n++ {
			run := s.run()
			run.Plan.Margin, run.Plan.Stop = 0.001, stop
			var tally Tally
			for _, o := range all {
				if o.Block < n {
					tally.Add(o)
				}
			}
			cs, err := tally.Verdicts(run, &bounds)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cs {
				if c.Done {
					done[stop]++
				}
				if stop == lab.UntilAmber && called(c) != c.Done || stop == lab.UntilRed && c.Red != c.Done {
					t.Errorf("until %s, %d blocks: %s, red %v, done %v", stop, n, c.Verdict, c.Red, c.Done)
				}
			}
		}
	}
	if done[lab.UntilRed] >= done[lab.UntilAmber] || done[lab.UntilRed] == 0 {
		t.Errorf("levels × blocks done: %v", done)
	}
}

// With e-values blocks beyond the plan's count too, and what was called stays called.
func TestEValueRule(t *testing.T) {
	s := sim{blocks: 30, slices: 4, levels: 40, clients: 1, candidates: 1, theta: -0.03, restart: 0.02, noise: 0.01, seed: 14}
	all := s.measure()
	run := s.run()
	run.Plan.Margin, run.Plan.Rule, run.Plan.Stop = 0.001, lab.EValues, lab.UntilAmber
	short := run
	short.Plan.BlocksMax = 10
	var early []lab.Slice
	for _, o := range all {
		if o.Block < 10 {
			early = append(early, o)
		}
	}
	before, after := qps(summary(t, short, early)), qps(summary(t, run, all))
	extended := qps(summary(t, short, all))
	for i := range after {
		if called(before[i]) && after[i].Verdict != before[i].Verdict {
			t.Errorf("%s: %s, and with more blocks %s", after[i].Level, before[i].Verdict, after[i].Verdict)
		}
		if a, b := after[i], extended[i]; a.Verdict != b.Verdict || a.Lo != b.Lo || a.Hi != b.Hi {
			t.Errorf("%s: the end that was planned matters: %s [%g, %g], %s [%g, %g]", a.Level, a.Verdict, a.Lo, a.Hi, b.Verdict, b.Lo, b.Hi)
		}
	}
	if a, b := count(before)[lab.Regressed], count(after)[lab.Regressed]; b < 38 || a >= b {
		t.Errorf("called after 10 blocks: %d, after 30: %d of 40", a, b)
	}
	s.theta, s.seed, s.levels = 0, 15, 200
	run = s.run()
	run.Plan.Margin, run.Plan.Rule = 0.001, lab.EValues
	if n := count(qps(summary(t, run, s.measure()))); n[lab.Regressed]+n[lab.Improved] > 4 { // at most 1 % of 200, usually a third of it
		t.Errorf("of nothing: %v", n)
	}
}

// The client of one side does the work: no red, and it says why.
func TestClientBound(t *testing.T) {
	s := sim{blocks: 10, slices: 4, levels: 8, clients: 3, candidates: 1, theta: -0.1, restart: 0.005, noise: 0.005, seed: 3}
	for _, tt := range []struct {
		name           string
		placement      lab.Placement
		cpus           int
		client, server float64 // CPU seconds per second
		bound          [3]bool // with 1, 2, 4 clients
	}{
		{"one core, the server works", lab.OneCore, 2, 0.3, 0.65, [3]bool{}},
		{"one core, the client works", lab.OneCore, 2, 0.65, 0.3, [3]bool{true, true, true}},
		{"one core, both wait for the disk", lab.OneCore, 2, 0.2, 0.1, [3]bool{}},
		{"a core each, the client's is full", lab.Split, 2, 0.95, 0.4, [3]bool{true, true, true}},
		{"a core each, both are full", lab.Split, 2, 0.95, 0.9, [3]bool{true, false, false}}, // one client: in turns, and mostly its own
		{"four cores each, enough for two clients", lab.Split, 8, 1.8, 0.9, [3]bool{true, true, false}},
		{"not pinned", lab.Unpinned, 2, 1.2, 0.7, [3]bool{true, true, true}},
		{"not known", lab.OneCore, 2, -1, 0.3, [3]bool{}},
	} {
		run := s.run()
		run.Plan.Placement, run.Host.CPUs = tt.placement, tt.cpus
		sum := summary(t, run, change(s.measure(), func(o *lab.Slice) {
			o.Usage.ClientUser, o.Usage.ClientSystem = tt.client*o.Wall, 0
			if tt.client < 0 {
				o.Usage.ClientUser = -1
			}
			o.Usage.ServerUser, o.Usage.ServerSystem = tt.server*o.Wall, 0
		}))
		for i, c := range qps(sum) {
			want := tt.bound[i%3]
			if c.Bound != want || c.Red == want || c.Held != want || hasNote(c, "client-bound") != want || c.Verdict != lab.Regressed {
				t.Errorf("%s, %d clients: %s, bound %v, red %v, held %v, %q", tt.name, c.Level.Clients, c.Verdict, c.Bound, c.Red, c.Held, c.Notes)
			}
		}
	}
}

// Groups by hand: three steps of one group with known ratios.
func TestGroups(t *testing.T) {
	s := sim{blocks: 6, slices: 4, levels: 9, clients: 2, candidates: 2, noise: 0.001, restart: 0.001, seed: 2}
	run := s.run()
	ratio := map[string]float64{"step0": 0.9, "step3": 1.1, "step6": 0.95}
	all := change(s.measure(), func(o *lab.Slice) {
		if r := ratio[o.Cell.Step.Name]; r != 0 && o.Cell.Variant == run.Variants[1] {
			o.Wall /= r
		}
	})
	sum := summary(t, run, all)
	if len(sum.Groups) != 2*3*3 {
		t.Fatalf("%d summaries, want 2 candidates × 3 groups × (1, 2 and all clients)", len(sum.Groups))
	}
	for i, want := range []int{1, 2, 0} {
		g := sum.Groups[i]
		if g.Group != lab.Point || g.Clients != want || g.Candidate != run.Variants[1] || g.Levels != 3+3*(1-min(1, want)) {
			t.Errorf("summary %d: %s, %d clients, %s, %d levels", i, g.Group, g.Clients, g.Candidate, g.Levels)
		}
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 0.003 {
				t.Errorf("%d clients: %s %.4f, want %.4f", g.Clients, what, got, want)
			}
		}
		near("min", g.Min, 0.9)
		near("max", g.Max, 1.1)
		near("average", g.Average, (0.9+1.1+0.95)/3)
		near("median", g.Median, 0.95)
		near("mean", g.Test.LogRatio, math.Log(0.9*1.1*0.95)/3)
		if g.Test.Lo > g.Test.LogRatio || g.Test.Hi < g.Test.LogRatio || len(g.Test.Blocks) != 6 {
			t.Errorf("%d clients: [%g, %g] of %d blocks", g.Clients, g.Test.Lo, g.Test.Hi, len(g.Test.Blocks))
		}
	}
	// A block without one of the steps says nothing of the group.
	sum = summary(t, run, change(all, func(o *lab.Slice) {
		if o.Block == 2 && o.Cell.Step.Name == "step3" && o.Cell.Clients == 1 {
			o.Err = "killed"
		}
	}))
	for i, want := range []int{5, 6, 5} {
		if got := len(sum.Groups[i].Test.Blocks); got != want {
			t.Errorf("summary %d has %d blocks, want %d", i, got, want)
		}
	}
	few := sim{blocks: 1, slices: 2, levels: 3, clients: 1, candidates: 1}
	text, err := json.Marshal(summary(t, few.run(), few.measure()).Groups)
	if err != nil {
		t.Fatal(err)
	}
	var back []lab.GroupSummary
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(summary(t, few.run(), few.measure()).Groups, back); d != "" || !strings.Contains(string(text), `"lo":null`) {
		t.Errorf("there and back through JSON (-want +got):\n%s", d)
	}
}

// Steps that all lose a little: the mean of four is called far more often than one.
func TestGroupSeesMore(t *testing.T) {
	steps, groups := 0, 0
	for seed := range uint64(20) {
		s := sim{blocks: 10, slices: 4, levels: 12, clients: 1, candidates: 1, theta: -0.012, restart: 0.01, noise: 0.01, seed: seed + 1}
		run := s.run()
		run.Plan.Margin, run.Plan.BlocksMax = 0.001, 10
		sum := summary(t, run, s.measure())
		steps += count(qps(sum))[lab.Regressed] // of 240
		for _, g := range sum.Groups {          // of 60
			if g.Test.Verdict == lab.Regressed {
				groups++
			}
		}
	}
	t.Logf("called: %.0f %% of steps, %.0f %% of groups", 100*float64(steps)/240, 100*float64(groups)/60)
	if share := float64(groups) / 60; share < 2*float64(steps)/240 {
		t.Errorf("%d of 240 steps are called, and only %d of 60 groups", steps, groups)
	}
}
