package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"backslide/lab"
)

var night0 = time.Date(2026, 11, 1, 2, 0, 0, 0, time.UTC)

// night is a run whose only candidate is off by the given log-ratios, one for each level.
func night(i int, base, candidate lab.Variant, off ...float64) lab.Summary {
	r := lab.Run{
		ID: int64(i + 1), Name: "nightly", Started: night0.AddDate(0, 0, i), Base: base, Variants: []lab.Variant{base, candidate},
		Plan: lab.Plan{}.WithDefaults(), Host: lab.Host{CPU: "Xeon", CPUs: 2, Kernel: "6.1", Memory: 8 << 30, Client: "v1"},
		Sides: map[string]*lab.Side{
			base.String():      {Build: lab.Build{ID: "base", Version: "10.11.1"}},
			candidate.String(): {Build: lab.Build{ID: fmt.Sprint("night", i), Version: fmt.Sprintf("12.0.%d", i)}},
		},
	}
	s := lab.Summary{Run: r}
	for n, d := range off {
		l := lab.Level{Step: lab.Step{Workload: "w", Name: fmt.Sprintf("step%d", n)}, Clients: 1}
		s.Run.Levels = append(s.Run.Levels, lab.LevelPlan{Level: l, Group: lab.Point})
		c := lab.Comparison{
			Base: base, Candidate: candidate, Level: l, Metric: lab.QPS, LogRatio: d, Lo: d - 0.03, Hi: d + 0.03, Verdict: lab.Inconclusive,
			Blocks: make([]lab.BlockDiff, 10),
		}
		s.Comparisons = append(s.Comparisons, c)
		for _, v := range r.Variants {
			q := 10_000.0
			if v == candidate {
				q *= math.Exp(d)
			}
			s.Cells = append(s.Cells, lab.CellMean{Cell: lab.Cell{Variant: v, Step: l.Step, Clients: 1}, Blocks: 10, Values: map[lab.Metric]float64{lab.QPS: q}})
		}
	}
	return s
}

// nights returns runs of one candidate at one level, whose levels have noise of 1 %.
func nights(seed uint64, levels ...float64) []lab.Summary {
	rng := rand.New(rand.NewPCG(seed, 2))
	var out []lab.Summary
	for i, l := range levels {
		out = append(out, night(i, variant(0), variant(1), l+0.01*rng.NormFloat64()))
	}
	return out
}

func stay(n int, level float64) []float64 { return slices.Repeat([]float64{level}, n) }

func ramp(n int, to float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = to * float64(i+1) / float64(n)
	}
	return out
}

// What happens over nights is called by its name: a step, a staircase, a drift; a spike and
// nothing at all are no change.
func TestHistoryChanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		levels []float64
		steps  []int // first night of each new level
		drift  bool
		spikes []int
	}{
		{"nothing", stay(30, 0), nil, false, nil},
		{"step", slices.Concat(stay(15, 0), stay(15, -0.08)), []int{15}, false, nil},
		{"step that is fixed", slices.Concat(stay(12, 0), stay(10, -0.08), stay(12, 0)), []int{12, 22}, false, nil},
		{"staircase", slices.Concat(stay(10, 0), stay(10, -0.08), stay(10, -0.16)), []int{10, 20}, false, nil},
		{"spike", slices.Concat(stay(14, 0), stay(1, -0.2), stay(14, 0)), nil, false, []int{14}},
		{"drift", slices.Concat(stay(8, 0), ramp(24, -0.2), stay(8, -0.2)), []int{8}, true, nil},
	} {
		h := History("nightly", nights(3, c.levels...), 1)
		if len(h.Tracks) != 1 || !h.Ratio || h.Base != variant(0) || h.Tracks[0].Name != variant(1).String() || len(h.Doubts) > 0 {
			t.Fatalf("%s: %+v", c.name, h)
		}
		tr := h.Tracks[0]
		var steps []int
		for _, x := range tr.Changes {
			steps = append(steps, x.At)
		}
		near := len(steps) == len(c.steps)
		for i := range min(len(steps), len(c.steps)) {
			slack := 0
			if c.drift {
				slack = 6
			}
			if d := steps[i] - c.steps[i]; d < -slack || d > slack {
				near = false
			}
		}
		if !near || !slices.Equal(tr.Spikes, c.spikes) {
			t.Errorf("%s: changes at %v, spikes at %v; want %v and %v", c.name, steps, tr.Spikes, c.steps, c.spikes)
		}
		if c.drift && len(tr.Changes) > 0 && tr.Changes[0].To <= tr.Changes[0].At {
			t.Errorf("%s: %+v is a step", c.name, tr.Changes[0])
		}
		if tr.Moved() != (len(c.steps) > 0) {
			t.Errorf("%s: moved is %t", c.name, tr.Moved())
		}
		if c.name == "step" && math.Abs(tr.Changes[0].Size()+0.08) > 0.015 {
			t.Errorf("step of %.3f, want -0.08", tr.Changes[0].Size())
		}
	}
}

// Copies of one build over nights: changes are found in 1 of 100 tracks at most.
func TestHistoryAA(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var sums []lab.Summary
	for i := range 20 {
		off := make([]float64, 60)
		for k := range off {
			off[k] = 0.02 * rng.NormFloat64()
		}
		sums = append(sums, night(i, variant(0), variant(1), off...))
	}
	moved := 0
	for _, tr := range History("nightly", sums, 1).Tracks {
		if tr.Moved() {
			moved++
		}
	}
	if moved > 3 { // 0.6 are expected; more than 3 have a probability of 0.3 %
		t.Errorf("%d of 60 tracks of nothing moved", moved)
	}
}

// Too few runs say nothing of changes.
func TestHistoryShort(t *testing.T) {
	h := History("nightly", nights(3, 0, 0, 0, -0.5, -0.5), 1)
	if tr := h.Tracks[0]; tr.Moved() || len(tr.Points) != 5 {
		t.Errorf("of five runs: %+v", tr)
	}
	if h := History("nightly", nil, 1); len(h.Tracks)+len(h.Runs) != 0 {
		t.Errorf("of no run: %+v", h)
	}
}

// Runs come in any order, and each point says which build and run it is of.
func TestHistoryPoints(t *testing.T) {
	sums := nights(3, 0.01, 0.02, 0.03)
	slices.Reverse(sums)
	h := History("nightly", sums, 1)
	for i, p := range h.Tracks[0].Points {
		if p.Run != i || h.Runs[i].ID != int64(i+1) || p.Version != fmt.Sprintf("12.0.%d", i) || p.Blocks != 10 || p.Lo == nil || math.Abs(*p.Lo-p.Value+0.03) > 1e-12 {
			t.Errorf("point %d is %+v of run %d", i, p, h.Runs[i].ID)
		}
	}
}

// When each run compares a release with the one before, there is no common base:
// throughput itself is followed, and the page says so.
func TestHistoryOfReleases(t *testing.T) {
	var sums []lab.Summary
	for i := range 8 {
		off := 0.0
		if i >= 4 {
			off = -0.3
		}
		sums = append(sums, night(i, variant(i), variant(i+1), off))
	}
	h := History("releases", sums, 1)
	if h.Ratio || len(h.Tracks) != 1 || h.Tracks[0].Name != newest || len(h.Tracks[0].Points) != 8 {
		t.Fatalf("%+v", h)
	}
	p := h.Tracks[0].Points[7]
	if p.Variant != variant(8) || math.Abs(p.Value-(math.Log(10_000)-0.3)) > 1e-9 {
		t.Errorf("last point %+v, want %s at %.3f", p, variant(8), math.Log(10_000)-0.3)
	}
	if len(h.Doubts) == 0 || !strings.Contains(h.Doubts[0], "throughput itself is followed, and with it whatever the host did") {
		t.Errorf("doubts %q", h.Doubts)
	}
}

// A base that is another build under the same name makes no ratios; hosts, seeds and
// parameters that differ are named with their runs.
func TestHistoryDoubts(t *testing.T) {
	sums := nights(3, 0, 0, 0)
	sums[1].Run.Host.Kernel, sums[2].Run.Plan.Seed = "6.8", 9
	sums[2].Run.Experiment.Workloads = []lab.WorkloadUse{{Name: "w", Params: map[string]string{"rows": "5"}}}
	h := History("nightly", sums, 1)
	want := []string{"kernels differ: 6.1 (run 1, 3); 6.8 (run 2)", "seeds, and with them the operations, differ: 1 (run 1, 2); 9 (run 3)", "parameters of workloads differ:  (run 1, 2); w rows=5 (run 3)"}
	if !slices.Equal(h.Doubts, want) {
		t.Errorf("doubts %q, want %q", h.Doubts, want)
	}
	sums[2].Run.Sides[variant(0).String()].Build.ID = "rebuilt"
	if h := History("nightly", sums, 1); h.Ratio || !strings.Contains(h.Doubts[0], "is another build in run 3 than in run 1") {
		t.Errorf("a rebuilt base: ratio %t, doubts %q", h.Ratio, h.Doubts)
	}
}

// Of several candidates those in two runs or more are followed under their names.
func TestHistoryOfSeveral(t *testing.T) {
	sums := nights(3, 0, 0)
	third := sums[1].Comparisons[0]
	third.Candidate = variant(2)
	sums[1].Run.Variants = append(sums[1].Run.Variants, variant(2))
	sums[1].Comparisons = append(sums[1].Comparisons, third)
	h := History("nightly", sums, 1)
	if len(h.Tracks) != 1 || h.Tracks[0].Name != variant(1).String() || len(h.Doubts) != 1 || !strings.Contains(h.Doubts[0], "not followed: "+variant(2).String()) {
		t.Errorf("%+v", h)
	}
}
