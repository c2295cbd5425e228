package compare

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// timed gives slices starts that follow each other, each after its discarded part, with
// so long between blocks.
func timed(all []lab.Slice, restart time.Duration) []lab.Slice {
	at, block := time.Unix(1000, 0), 0
	return change(all, func(s *lab.Slice) {
		if s.Block != block {
			at, block = at.Add(restart), s.Block
		}
		at = at.Add(10 * time.Millisecond) // the plan's discarded start
		s.Start = at
		at = at.Add(time.Duration(s.Wall * float64(time.Second)))
	})
}

// aa returns a simulated run of a base and its copy.
func aa(s sim) (lab.Run, []lab.Slice) {
	run := s.run()
	twin := run.Base
	twin.Copy = 1
	old := run.Variants[1]
	run.Variants[1] = twin
	return run, change(s.measure(), func(o *lab.Slice) {
		if o.Cell.Variant == old {
			o.Cell.Variant = twin
		}
	})
}

func rootMean(pairs []lab.PairNoise, f func(lab.PairNoise) float64) float64 {
	sum := 0.0
	for _, p := range pairs {
		sum += f(p) * f(p) / float64(len(pairs))
	}
	return math.Sqrt(sum)
}

// The parts of the noise are those that the simulation was given. One mirrored group's
// difference is of two slices a side: its deviation is that of a slice. A restart's effect
// comes from two servers: √2 times that of one.
func TestNoiseParts(t *testing.T) {
	s := sim{blocks: 40, slices: 8, levels: 20, clients: 1, candidates: 1, restart: 0.015, noise: 0.03, seed: 5}
	run := s.run()
	run.Plan.BlocksMax = 40
	for i := range run.Levels {
		run.Levels[i].Slices = 8
	}
	n := summary(t, run, timed(s.measure(), 10*time.Second)).Noise
	if len(n.Pairs) != 20 {
		t.Fatalf("%d pairs", len(n.Pairs))
	}
	near := func(what string, got, want, share float64) {
		t.Helper()
		if math.Abs(got/want-1) > share {
			t.Errorf("%s %.4f, want %.4f", what, got, want)
		}
	}
	near("slices", rootMean(n.Pairs, func(p lab.PairNoise) float64 { return p.SliceSD }), 0.03, 0.05)
	near("restarts", rootMean(n.Pairs, func(p lab.PairNoise) float64 { return p.RestartSD }), 0.015*math.Sqrt2, 0.1)
	if got := rootMean(n.Pairs, func(p lab.PairNoise) float64 { return p.DriftSD }); got > 0.01 {
		t.Errorf("drift %.4f where there is none", got)
	}
	for _, p := range n.Pairs {
		if p.Mirrors != 4 || p.Blocks != 40 || p.IAT > 1.6 {
			t.Errorf("%s: %g mirrored groups in %d blocks, resemblance %.2f", p.Level, p.Mirrors, p.Blocks, p.IAT)
		}
	}
	// 20 levels × 2 sides share 10 s of restart a block.
	p := n.Pairs[3]
	near("overhead", p.Overhead, 0.25, 0.01)
	v1 := p.SliceSD * p.SliceSD * p.IAT * p.Measured / p.Mirrors
	near("best", p.Best, math.Sqrt(p.Overhead*v1)/p.RestartSD, 1e-9)
	if want := 2 * int(math.Round(p.Best/(p.Measured/4))); p.Slices != want {
		t.Errorf("%d slices for %.2f s of %.2f s measured with 8", p.Slices, p.Best, p.Measured)
	}
	if !strings.Contains(n.Advice, "starts of a server differ more than slices: more blocks") {
		t.Errorf("advice %q", n.Advice)
	}
}

// A host that drifts: mirroring takes it out, and the diagnosis tells how much.
func TestNoiseDrift(t *testing.T) {
	s := sim{blocks: 20, slices: 8, levels: 1, clients: 1, candidates: 1, noise: 0.002, drift: -0.02, restart: 0.001, seed: 6}
	p := summary(t, s.run(), s.measure()).Noise.Pairs[0]
	// Two variants take turns: in half of a group one runs a place later, in the other it
	// is a place earlier or, at the turn, next to it. Half of a difference of one place.
	if math.Abs(p.Order+0.02) > 0.002 || p.OrderP > 1e-6 {
		t.Errorf("order %.4f, p %g; want −0.02", p.Order, p.OrderP)
	}
	if p.SliceSD > 0.004 {
		t.Errorf("slices %.4f: drift was not taken out", p.SliceSD)
	}
	rng := rand.New(rand.NewPCG(4, 4))
	weather := map[int]float64{}
	all := change(s.measure(), func(o *lab.Slice) { // another drift in every mirrored group
		g := o.Block*8 + o.Seq/2
		if _, ok := weather[g]; !ok {
			weather[g] = 0.05 * rng.NormFloat64()
		}
		o.Wall *= math.Exp(-weather[g] * float64(o.Position%4))
	})
	p = summary(t, s.run(), all).Noise.Pairs[0]
	if math.Abs(p.DriftSD/0.05-1) > 0.2 {
		t.Errorf("drift %.4f, want 0.05", p.DriftSD)
	}
}

// What blocks and slices do that they ought not to is said; of noise little is.
func TestSteady(t *testing.T) {
	base := sim{blocks: 20, slices: 8, levels: 1, clients: 1, candidates: 1, restart: 0.005, noise: 0.01, seed: 7}
	cand := func(o *lab.Slice) bool { return o.Cell.Variant.Build != "server@0" }
	slow := func(o *lab.Slice, by float64) { o.Wall *= math.Exp(by) }
	for _, tt := range []struct {
		name, want string
		f          func(o *lab.Slice)
	}{
		{"spike", "spike: the difference in block 8 is off by -1", func(o *lab.Slice) {
			if cand(o) && o.Block == 7 {
				slow(o, 0.15)
			}
		}},
		{"shift", "level shift: the difference changes by -", func(o *lab.Slice) {
			if cand(o) && o.Block >= 12 {
				slow(o, 0.05)
			}
		}},
		{"trend", "trend: the difference changes by -", func(o *lab.Slice) {
			if cand(o) {
				slow(o, 0.004*float64(o.Block))
			}
		}},
		{"two modes", "two modes: the difference is about -", func(o *lab.Slice) {
			if cand(o) && o.Block%3 == 0 {
				slow(o, 0.1)
			}
		}},
		{"host", "level shift: the speed of both sides changes by -", func(o *lab.Slice) {
			if o.Block >= 12 {
				slow(o, 0.1)
			}
		}},
		{"warm-up", "not warm: both sides change by +", func(o *lab.Slice) { slow(o, -0.01*float64(o.Seq)) }},
		{"one side warms up", "one side is not warm", func(o *lab.Slice) {
			if cand(o) {
				slow(o, -0.01*float64(o.Seq))
			}
		}},
	} {
		notes := strings.Join(summary(t, base.run(), change(base.measure(), tt.f)).Noise.Pairs[0].Notes, "\n")
		if !strings.Contains(notes, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, notes, tt.want)
		}
	}
	base.levels, base.seed = 200, 8
	said := 0
	for _, p := range summary(t, base.run(), base.measure()).Noise.Pairs {
		said += len(p.Notes)
	}
	if said > 8 { // 200 pairs × 7 tests × 0.1 % = 1.4
		t.Errorf("%d notes on 200 pairs of plain noise", said)
	}
}

// What the hypervisor takes: whole mirrored groups are left out, for all variants; a block
// disturbed all the way is kept; and which slices go depends on nothing but steal.
func TestDisturbed(t *testing.T) {
	s := sim{blocks: 6, slices: 8, levels: 1, clients: 1, candidates: 2, theta: -0.1, seed: 1}
	run := s.run()
	all := change(s.measure(), func(o *lab.Slice) {
		hit := o.Block == 1 && o.Seq == 2 && o.Cell.Variant == run.Variants[2] || o.Block == 4
		if hit {
			o.Wall *= 3
			o.Usage.Steal = 0.11 * o.Wall // of 2 CPUs
		}
	})
	sum := summary(t, run, all)
	for _, c := range qps(sum) {
		for _, d := range c.Blocks {
			want := map[int]int{1: 6}[d.Block]
			if want == 0 {
				want = 8
			}
			if d.Slices != want || math.Abs(d.Diff+0.1) > 1e-12 {
				t.Errorf("%s, block %d: %d slices, differs by %g", c.Candidate, d.Block, d.Slices, d.Diff)
			}
		}
	}
	want := []lab.Drops{
		{Variant: run.Variants[0], Slices: 48, Disturbed: 8, Dropped: 2},
		{Variant: run.Variants[1], Slices: 48, Disturbed: 8, Dropped: 2},
		{Variant: run.Variants[2], Slices: 48, Disturbed: 9, Dropped: 2},
	}
	if d := cmp.Diff(want, sum.Noise.Drops); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if n := sum.Noise.Pairs[0].Dropped; n != 1 {
		t.Errorf("%d mirrored groups dropped", n)
	}
	if notes := strings.Join(sum.Footnotes, "\n"); !strings.Contains(notes, "left out with their whole mirrored groups: 6 slices") || strings.Contains(notes, "alike") {
		t.Errorf("footnotes %q", notes)
	}
	uneven := change(s.measure(), func(o *lab.Slice) {
		if o.Cell.Variant == run.Variants[1] && o.Seq%4 == 0 {
			o.Usage.Steal = 0.2 * o.Wall
		}
	})
	if notes := strings.Join(summary(t, run, uneven).Footnotes, "\n"); !strings.Contains(notes, "did not treat the variants alike") {
		t.Errorf("one variant alone is hit: %q", notes)
	}
}

// What host and client did is told as shares, and unknown as such.
func TestOutside(t *testing.T) {
	s := sim{blocks: 4, slices: 2, levels: 1, clients: 1, candidates: 1, seed: 1, noise: 0.01}
	run := s.run()
	run.Plan.Placement = lab.OneCore
	all := change(s.measure(), func(o *lab.Slice) {
		o.Usage = lab.Usage{
			ServerUser: 0.5 * o.Wall, ServerSystem: 0.1 * o.Wall, ClientUser: 0.2 * o.Wall, ClientSystem: 0.1 * o.Wall,
			ServerRunq: 0.02 * o.Wall, Steal: 0.02 * o.Wall, HostBusy: 0.5 * o.Wall, MajorFaults: -1,
		}
	})
	sum := summary(t, run, all)
	if notes := strings.Join(sum.Footnotes, "\n"); !strings.Contains(notes, "other work on the host took 25 % of the CPU time") {
		t.Errorf("footnotes %q", notes)
	}
	p := sum.Noise.Pairs[0]
	for what, x := range map[string][2]float64{
		"steal": {p.Steal, 0.01}, "host": {p.HostBusy, 0.25}, "runq": {p.Runq, 0.02}, "faults": {p.MajorFaults, -1},
		"client": {p.ClientBusy, 0.3}, "server": {p.ServerBusy, 0.6},
	} {
		if math.Abs(x[0]-x[1]) > 1e-9 {
			t.Errorf("%s %g, want %g", what, x[0], x[1])
		}
	}
	if !strings.Contains(p.Advice, "other work takes 25 % of the CPU time") {
		t.Errorf("advice %q", p.Advice)
	}
}

// Two copies of the base: what chance allows holds nothing, a side that is favoured holds
// every red of the run.
func TestTwins(t *testing.T) {
	s := sim{blocks: 12, slices: 4, levels: 42, clients: 1, candidates: 2, restart: 0.01, noise: 0.02, seed: 3}
	run, all := aa(s)
	all = change(all, func(o *lab.Slice) {
		if o.Cell.Variant == run.Variants[2] {
			o.Wall *= 1.2
		}
	})
	run.Plan.Margin = 0.001
	sum := summary(t, run, all)
	a := sum.AA
	if a == nil || a.Tests != 42 || a.Held || a.Alarms > 3 || a.Expected != 0.42 || a.Values != 42 || !strings.Contains(a.Text, "of 42 comparisons; 0.4 are expected") {
		t.Fatalf("%+v", a)
	}
	reds := func(s lab.Summary) (twin, other, held int) {
		for _, c := range qps(s) {
			switch {
			case c.Red && c.Candidate.Copy > 0:
				twin++
			case c.Red:
				other++
			case c.Held:
				held++
			}
		}
		return
	}
	if twin, other, held := reds(sum); twin != 0 || other != 42 || held != 0 {
		t.Errorf("red: %d of the copy, %d of 42 others, %d held", twin, other, held)
	}
	favoured := change(all, func(o *lab.Slice) {
		if o.Cell.Variant.Copy > 0 {
			o.Wall *= 0.97
		}
	})
	sum = summary(t, run, favoured)
	if twin, other, held := reds(sum); !sum.AA.Held || twin != 0 || other != 0 || held != 42 || !hasNote(qps(sum)[1], "red is held") {
		t.Errorf("favoured copy: %+v; red %d and %d, %d held", sum.AA, twin, other, held)
	}
	run.Plan.Inject = 0.03
	if sum = summary(t, run, favoured); sum.AA != nil {
		t.Errorf("a copy that was slowed down on purpose watches over the lab: %+v", sum.AA)
	}
	if sum = summary(t, s.run(), s.measure()); sum.AA != nil {
		t.Errorf("no copy, and %+v", sum.AA)
	}
}
