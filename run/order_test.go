package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

func variants(names ...string) []lab.Variant {
	var out []lab.Variant
	for _, n := range names {
		out = append(out, lab.Variant{Build: n, Config: "c", Engine: "InnoDB"})
	}
	return out
}

func testRun(group int, levels []lab.LevelPlan, names ...string) lab.Run {
	return lab.Run{
		Plan:     lab.Plan{Seed: 7, GroupSize: group}.WithDefaults(),
		Variants: variants(names...), Levels: levels,
	}
}

func level(step string, read bool, slices int) lab.LevelPlan {
	lp := lab.LevelPlan{Level: lab.Level{Step: lab.Step{Workload: "w", Name: step}, Clients: 1}, Read: read, Slices: slices}
	if !read {
		lp.Ops = 10
	}
	return lp
}

func all(lab.Level, lab.Variant) bool { return true }

// A linear drift cancels exactly in every contrast when, within each mirrored group, the
// positions of every variant have the same sum.
func TestMirroredGroupsCancelDrift(t *testing.T) {
	for _, names := range [][]string{{"a", "b"}, {"a", "b", "c"}, {"a", "b", "c", "d"}} {
		run := testRun(4, []lab.LevelPlan{level("s", true, 8)}, names...)
		for block := range 20 {
			ls := legs(run, block, all)
			if len(ls) != 1 || len(ls[0].turns) != 8*len(names) {
				t.Fatalf("%d variants: %d legs, want 1 of %d turns", len(names), len(ls), 8*len(names))
			}
			sums := map[int]map[lab.Variant]int{}
			for i, k := range ls[0].turns {
				if sums[k.Seq/2] == nil {
					sums[k.Seq/2] = map[lab.Variant]int{}
				}
				sums[k.Seq/2][k.Cell.Variant] += i
			}
			for m, bySide := range sums {
				want := bySide[run.Variants[0]]
				for v, got := range bySide {
					if got != want {
						t.Errorf("block %d mirror %d: positions of %s sum to %d, of the base to %d", block, m, v, got, want)
					}
				}
			}
		}
	}
}

func TestOrderIsAFunctionOfSeedAndBlock(t *testing.T) {
	levels := []lab.LevelPlan{level("r", true, 8), level("s", true, 8)}
	run := testRun(4, levels, "a", "b", "c")
	again := legs(run, 3, all)
	if d := cmp.Diff(again, legs(run, 3, all), cmp.AllowUnexported(leg{})); d != "" {
		t.Errorf("same seed and block, other order:\n%s", d)
	}
	if cmp.Equal(again[0].turns, legs(run, 4, all)[0].turns, cmp.AllowUnexported(leg{})) {
		t.Error("blocks 3 and 4 have the same order")
	}
	// What else is open must not change the order of a level.
	only := legs(run, 3, func(l lab.Level, _ lab.Variant) bool { return l.Step.Name == "s" })
	if d := cmp.Diff(again[1].turns, only[0].turns); d != "" {
		t.Errorf("order of s depends on r being open:\n%s", d)
	}
}

func TestSetsOfManyVariants(t *testing.T) {
	run := testRun(4, []lab.LevelPlan{level("r", true, 2), level("w", false, 2)}, "a", "b", "c", "d", "e", "f")
	ls := legs(run, 0, all)
	if got := len(ls[0].sets); got != 2 {
		t.Fatalf("5 candidates in groups of base + 3: %d sets, want 2", got)
	}
	seen := map[lab.Variant]int{}
	for _, set := range ls[0].sets {
		if set[0] != run.Variants[0] {
			t.Errorf("set without the base first: %v", set)
		}
		for _, v := range set[1:] {
			seen[v]++
		}
	}
	for _, v := range run.Variants[1:] {
		if seen[v] != 1 {
			t.Errorf("%s is in %d sets, want 1", v, seen[v])
		}
	}
	if got := len(ls[1].sets); got != 1 {
		t.Errorf("writes: %d sets, want 1, or the base would write more than the others", got)
	}
	keys := map[lab.SliceKey]bool{}
	for _, l := range ls {
		for _, k := range l.turns {
			if keys[k] {
				t.Errorf("slice twice: %+v", k)
			}
			keys[k] = true
		}
	}
}

// A level that warms up is run by every variant that a later level of its workload needs,
// and is not measured.
func TestWarmLevel(t *testing.T) {
	warm := level("warm", true, 2)
	warm.Warm = true
	run := testRun(4, []lab.LevelPlan{warm, level("r", true, 2)}, "a", "b", "c")
	ls := legs(run, 0, func(_ lab.Level, v lab.Variant) bool { return v != run.Variants[2] })
	if len(ls) != 2 || len(ls[0].turns) != 0 {
		t.Fatalf("legs %+v; want warm without turns, and r", ls)
	}
	if d := cmp.Diff(run.Variants[:2], ls[0].replay); d != "" {
		t.Errorf("variants warmed up (-want +got):\n%s", d)
	}
	if ls := legs(run, 0, func(lab.Level, lab.Variant) bool { return false }); len(ls) != 0 {
		t.Errorf("nothing is open and there are legs %+v", ls)
	}
}

// Servers that do not fit in memory together are up a few at a time, and each candidate
// is measured as often as when they do.
func TestPhases(t *testing.T) {
	run := testRun(4, []lab.LevelPlan{level("r", true, 4), level("w", false, 2)}, "a", "b", "c", "d", "e")
	for _, together := range []int{0, 1, 2, 3, 5} {
		run.Plan.Together = together
		n := map[lab.Variant]int{}
		keys := map[lab.SliceKey]bool{}
		for _, p := range phases(run, 3, all) {
			if together > 0 && len(p.up) > together {
				t.Errorf("together %d: %d are up", together, len(p.up))
			}
			for _, l := range p.legs {
				for _, k := range l.turns {
					if keys[k] {
						t.Errorf("together %d: slice twice: %+v", together, k)
					}
					keys[k] = true
					n[k.Cell.Variant]++
				}
			}
		}
		for _, v := range run.Variants[1:] {
			if n[v] != 6 {
				t.Errorf("together %d: %s has %d slices, want 4 + 2", together, v, n[v])
			}
		}
	}
	run.Plan.Together = 1
	var order []lab.Variant
	for _, p := range phases(run, 3, all) {
		order = append(order, p.up...)
	}
	for i := range order {
		if order[i] != order[len(order)-1-i] {
			t.Errorf("taking turns, the order %v is not mirrored", order)
			break
		}
	}
}

// A write level whose verdict is in is repeated unmeasured while a later level of the
// workload still needs the data it leaves.
func TestReplay(t *testing.T) {
	run := testRun(4, []lab.LevelPlan{level("w", false, 2), level("r", true, 2), level("w2", false, 2)}, "a", "b", "c")
	b, c := run.Variants[1], run.Variants[2]
	ls := legs(run, 5, func(l lab.Level, v lab.Variant) bool { return l.Step.Name == "r" && v == c })
	if len(ls) != 2 {
		t.Fatalf("%d legs, want the replay of w and r", len(ls))
	}
	if d := cmp.Diff([]lab.Variant{run.Variants[0], c}, ls[0].replay); d != "" {
		t.Errorf("replay of w (-want +got):\n%s", d)
	}
	if len(ls[0].turns) != 0 || ls[0].has(b) {
		t.Error("w is done and still measured")
	}
	if d := cmp.Diff([]lab.Variant{run.Variants[0], c}, present(run, ls)); d != "" {
		t.Errorf("present (-want +got):\n%s", d)
	}
}
