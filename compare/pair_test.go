package compare

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// change applies f to every slice that it is asked about.
func change(all []lab.Slice, f func(*lab.Slice)) []lab.Slice {
	out := append([]lab.Slice(nil), all...)
	for i := range out {
		f(&out[i])
	}
	return out
}

// diffs returns block: difference of a run's only comparison by throughput.
func diffs(t *testing.T, run lab.Run, all []lab.Slice) map[int]float64 {
	t.Helper()
	out := map[int]float64{}
	for _, d := range qps(summary(t, run, all))[0].Blocks {
		out[d.Block] = d.Diff
	}
	return out
}

// If one side of a mirrored group failed, its other slices are left out as well: what is
// left still cancels the drift. Without that, the block would differ by half of it.
func TestDropSymmetric(t *testing.T) {
	s := sim{blocks: 3, slices: 4, levels: 1, clients: 1, candidates: 1, theta: -0.2, drift: 0.05, seed: 1}
	run, all := s.run(), s.measure()
	for _, tt := range []struct {
		name string
		bad  func(s lab.Slice) bool
		want []int // slices per side that blocks 0, 1, 2 rest on
	}{
		{"nothing", func(s lab.Slice) bool { return false }, []int{4, 4, 4}},
		{"one slice of the base", func(s lab.Slice) bool {
			return s.Block == 1 && s.Seq == 2 && s.Cell.Variant == run.Base
		}, []int{4, 2, 4}},
		{"one of the candidate", func(s lab.Slice) bool {
			return s.Block == 1 && s.Seq == 1 && s.Cell.Variant != run.Base
		}, []int{4, 2, 4}},
		{"one of each, in different groups", func(s lab.Slice) bool {
			return s.Block == 1 && (s.Seq == 0) == (s.Cell.Variant == run.Base) && s.Seq%3 == 0
		}, []int{4, 0, 4}},
		{"a whole side", func(s lab.Slice) bool { return s.Block == 2 && s.Cell.Variant == run.Base }, []int{4, 4, 0}},
	} {
		bad := change(all, func(s *lab.Slice) {
			if tt.bad(*s) {
				s.Err = "server died"
			}
		})
		c := qps(summary(t, run, bad))[0]
		got := make([]int, 3)
		for _, d := range c.Blocks {
			got[d.Block] = d.Slices
			if math.Abs(d.Diff+0.2) > 1e-12 {
				t.Errorf("%s: block %d differs by %v, want −0.2", tt.name, d.Block, d.Diff)
			}
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: slices per side (-want +got):\n%s", tt.name, d)
		}
	}
}

// The base of another set ran at another time: it is no partner.
func TestSets(t *testing.T) {
	s := sim{blocks: 4, slices: 2, levels: 1, clients: 1, candidates: 2, seed: 1}
	run := s.run()
	level := run.Levels[0].Level
	var all []lab.Slice
	position := 0
	for b := range 4 {
		for set := range 2 { // the host is 30 % slower for the second set
			slow := -0.3 * float64(set)
			for _, step := range []struct{ variant, seq int }{{0, 0}, {set + 1, 0}, {set + 1, 1}, {0, 1}} {
				ln := 7 + slow + 0.1*float64(step.variant)
				o := slice(b, run.Variants[step.variant], level, step.seq, position, ln)
				o.Set = set
				position++
				all = append(all, o)
			}
		}
	}
	got := qps(summary(t, run, all))
	for i, want := range []float64{0.1, 0.2} {
		if len(got[i].Blocks) != 4 || math.Abs(got[i].LogRatio-want) > 1e-12 {
			t.Errorf("%s: %d blocks, %v, want %v", got[i].Candidate, len(got[i].Blocks), got[i].LogRatio, want)
		}
	}
	if c := summary(t, run, all).Cells[0]; c.Slices != 16 || c.Blocks != 4 {
		t.Errorf("the base has %d slices in %d blocks, want all 16 in 4", c.Slices, c.Blocks)
	}
}

// Slices of another kind never enter, whatever they hold.
func TestKinds(t *testing.T) {
	s := sim{blocks: 5, slices: 2, levels: 2, clients: 1, candidates: 1, theta: -0.1, noise: 0.01, seed: 1}
	run, all := s.run(), s.measure()
	want := summary(t, run, all)
	for _, kind := range []lab.Kind{lab.Stacks.Kind(), "", "profile"} {
		diagnosed := change(all, func(s *lab.Slice) {
			s.Kind = kind
			s.Wall *= 7
			s.Restart = 3
			if s.Seq == 0 {
				s.Err = "perf: no such file"
			}
		})
		if d := cmp.Diff(want, summary(t, run, append(diagnosed, all...))); d != "" {
			t.Errorf("slices of kind %q changed the summary (-want +got):\n%s", kind, d)
		}
		if Counts(diagnosed[1]) {
			t.Errorf("a slice of kind %q counts", kind)
		}
	}
}

// Of two slices of one place, that of the later restart counts.
func TestSecondRestart(t *testing.T) {
	run, all := exact(2, 0.9)
	again := change(all[:1], func(s *lab.Slice) { s.Restart, s.Wall = 1, s.Wall*2 })
	stale := change(all[1:2], func(s *lab.Slice) { s.Start, s.Wall = s.Start.Add(-time.Hour), s.Wall*2 })
	want := diffs(t, run, append(again, all[1:]...))
	if d := cmp.Diff(want, diffs(t, run, append(append(again, stale...), all...))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	notes := strings.Join(summary(t, run, append(again, all...)).Footnotes, "\n")
	if !strings.Contains(notes, "resumed in the middle of block 0:") {
		t.Errorf("footnotes %q do not name the resumed block", notes)
	}
}

// Metrics per operation: total over total, in the metric's own direction.
func TestPerOp(t *testing.T) {
	s := sim{blocks: 8, slices: 4, levels: 1, clients: 1, candidates: 1, noise: 0.001, seed: 6}
	run := s.run()
	all := change(s.measure(), func(s *lab.Slice) {
		s.Usage.WriteBytes = 0
		if s.Seq == 1 { // writes come in bursts: a mean of logarithms would have nothing to take
			s.Usage.WriteBytes = 1 << 20
		}
		if s.Cell.Variant != run.Base {
			s.Usage.ServerUser *= 1.3
			s.Usage.ServerSystem *= 1.3
			s.Usage.WriteBytes /= 2
			s.Usage.CtxVoluntary = 0
			s.Usage.ClientUser = -1
		}
	})
	sum := summary(t, run, all)
	for _, tt := range []struct {
		metric lab.Metric
		want   lab.Verdict
		ratio  float64
	}{
		{lab.QPS, lab.Equivalent, 0}, {lab.ServerCPU, lab.Regressed, math.Log(1.3)}, {lab.WriteIO, lab.Improved, math.Log(0.5)},
	} {
		c := of(sum, tt.metric)[0]
		if c.Verdict != tt.want || math.Abs(c.LogRatio-tt.ratio) > 0.01 || !c.Done {
			t.Errorf("%s: %s %g, done %v; want %s %g, done as throughput is", tt.metric, c.Verdict, c.LogRatio, c.Done, tt.want, tt.ratio)
		}
	}
	if c := of(sum, lab.Switches)[0]; c.Verdict != lab.Inconclusive || !hasNote(c, "a side had none of it") {
		t.Errorf("switches on one side only: %s %q", c.Verdict, c.Notes)
	}
	if got := of(sum, lab.ClientCPU); got != nil {
		t.Errorf("a metric that could not be read is compared: %+v", got)
	}
	if got := of(sum, lab.ReadIO); got != nil {
		t.Errorf("a metric that is nothing on both sides is compared: %+v", got)
	}
	base, cand := sum.Cells[0].Values, sum.Cells[1].Values
	if base[lab.WriteIO] != float64(1<<20)/4/1000 || cand[lab.WriteIO] != base[lab.WriteIO]/2 {
		t.Errorf("bytes per operation: %g and %g", base[lab.WriteIO], cand[lab.WriteIO])
	}
	if v, ok := cand[lab.ClientCPU]; ok {
		t.Errorf("client CPU that could not be read has value %g", v)
	}
}

// A metric besides throughput never ends a level.
func TestSecondaryNeverDone(t *testing.T) {
	s := sim{blocks: 6, slices: 4, levels: 1, clients: 1, candidates: 1, restart: 0.3, seed: 6}
	run := s.run()
	sum := summary(t, run, change(s.measure(), func(s *lab.Slice) {
		s.Usage.ServerUser = 1 + 0.001*float64(s.Position%7)
		if s.Cell.Variant != run.Base {
			s.Usage.ServerUser *= 2
		}
	}))
	if c := of(sum, lab.ServerCPU)[0]; c.Verdict != lab.Regressed || c.Done || qps(sum)[0].Done {
		t.Errorf("CPU: %s, done %v; throughput: done %v", c.Verdict, c.Done, qps(sum)[0].Done)
	}
}

func TestFailures(t *testing.T) {
	s := sim{blocks: 2, slices: 4, levels: 1, clients: 1, candidates: 1, seed: 1}
	run := s.run()
	all := change(s.measure(), func(s *lab.Slice) {
		switch {
		case s.Block == 1 && s.Cell.Variant != run.Base && s.Seq < 3:
			s.Err = "connection lost"
		case s.Block == 1 && s.Cell.Variant != run.Base:
			s.Ops = 0
		}
	})
	cell := lab.Cell{Variant: run.Variants[1], Step: run.Levels[0].Level.Step, Clients: 1}
	want := []lab.Failure{
		{Block: 1, Cell: cell, Err: "connection lost"}, {Block: 1, Cell: cell, Err: "no operation ended in the slice"},
	}
	if d := cmp.Diff(want, summary(t, run, all).Failures); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A level whose last block both sides tried is done, though a block failed on the way.
func TestDoneAfterFailures(t *testing.T) {
	s := sim{blocks: 20, slices: 2, levels: 1, clients: 1, candidates: 1, restart: 0.2, seed: 1}
	run := s.run()
	all := change(s.measure(), func(s *lab.Slice) {
		if s.Block%2 == 1 {
			s.Err = "killed"
		}
	})
	if c := qps(summary(t, run, all))[0]; len(c.Blocks) != 10 || !c.Done {
		t.Errorf("%d blocks, done %v; want 10 and done", len(c.Blocks), c.Done)
	}
	var early []lab.Slice
	for _, s := range all {
		if s.Block < 19 {
			early = append(early, s)
		}
	}
	if c := qps(summary(t, run, early))[0]; c.Done {
		t.Error("done before the last block")
	}
}

// A level that is whole has one slice of each side in a block. Those who take turns to be
// first cancel drift over two blocks; a role that fell behind its rate takes the verdict.
func TestWhole(t *testing.T) {
	s := sim{blocks: 6, slices: 2, levels: 1, clients: 1, candidates: 1, theta: -0.2, seed: 1}
	run, all := s.run(), slices.DeleteFunc(s.measure(), func(s lab.Slice) bool { return s.Seq > 0 })
	run.Levels[0].Limit, run.Levels[0].Read, run.Levels[0].Slices = time.Hour, false, 1
	all = change(all, func(s *lab.Slice) {
		base := s.Cell.Variant == run.Base
		s.Position = 1
		if base == (s.Block%2 == 0) {
			s.Position = 0
		}
		s.Parts = []lab.Part{{Role: "query", Ops: s.Ops}, {Role: "insert", Ops: int64(math.Ceil(9500 * s.Wall)), Offered: 10000}}
	})
	c := qps(summary(t, run, all))[0]
	if len(c.Blocks) != 6 || c.Verdict != lab.Regressed || math.Abs(c.LogRatio+0.2) > 1e-9 {
		t.Errorf("%d blocks, %s, %v, notes %q; want −0.2 in 6 blocks, regressed", len(c.Blocks), c.Verdict, c.LogRatio, c.Notes)
	}
	slow := change(all, func(s *lab.Slice) {
		if s.Block == 3 && s.Cell.Variant != run.Base {
			s.Parts = []lab.Part{s.Parts[0], {Role: "insert", Ops: int64(math.Ceil(9490 * s.Wall)), Offered: 10000}}
		}
	})
	c = qps(summary(t, run, slow))[0]
	if c.Verdict != lab.Inconclusive || !strings.Contains(strings.Join(c.Notes, "\n"), "insert came to 949") {
		t.Errorf("a writer at 94.9 %% of its rate: %s, notes %q; want no verdict, and why", c.Verdict, c.Notes)
	}
	alone := run
	alone.Variants = run.Variants[:1]
	base := change(slow, func(s *lab.Slice) {
		s.Parts = []lab.Part{s.Parts[0], {Role: "insert", Ops: int64(math.Ceil(9490 * s.Wall)), Offered: 10000}}
	})
	base = slices.DeleteFunc(base, func(s lab.Slice) bool { return s.Cell.Variant != run.Base })
	if notes := strings.Join(summary(t, alone, base).Footnotes, "\n"); !strings.Contains(notes, "insert came to 949") {
		t.Errorf("a writer that fell behind in a run of one variant: footnotes %q do not say it", notes)
	}
	if notes := strings.Join(summary(t, run, slow).Footnotes, "\n"); strings.Contains(notes, "fell behind") {
		t.Errorf("footnotes %q say of a writer what stands beside the verdict", notes)
	}
	first := change(all, func(s *lab.Slice) {
		s.Position = 0
		if s.Cell.Variant == run.Base {
			s.Position = 1
		}
	})
	if c = qps(summary(t, run, first))[0]; c.Verdict != lab.Inconclusive || !strings.Contains(c.Notes[0], "order effect") {
		t.Errorf("one side first in every block: %s, notes %q", c.Verdict, c.Notes)
	}
}
