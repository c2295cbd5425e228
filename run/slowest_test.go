package run

import (
	"math"
	"testing"
	"time"

	"backslide/lab"
)

// TestShorten: fixed work is what the slowest variant does in five planned slices, and its
// expected time the mean of all variants'. What a step says itself is kept.
func TestShorten(t *testing.T) {
	l := newLot(t)
	speed := map[string]float64{"base": 10_000, "equal": 10_000, "slow": 100}
	l.onRate = func(_ Spec, step string, v lab.Variant) float64 { return speed[v.Build] }
	said := level("said", false, 0)
	free, read := level("free", false, 0), level("read", true, 0)
	free.Ops, read.Ops = 0, 0
	for _, c := range []struct {
		candidate string
		ops       int64
		slice     time.Duration
	}{
		{"equal", 4000, 400 * time.Millisecond},
		// 4000 operations would take 40 s; in 2 s it does 200, which take the base 20 ms.
		{"slow", 200, 1010 * time.Millisecond},
	} {
		r := testRun(4, []lab.LevelPlan{free, said, read}, "base", c.candidate)
		con := l.conductor(t.TempDir(), never)
		if err := con.Prepare(t.Context(), r.Variants); err != nil {
			t.Fatal(err)
		}
		p := lab.Plan{Slice: 200 * time.Millisecond}.WithDefaults()
		got, err := con.Calibrate(t.Context(), p, r.Variants, r.Levels)
		if err != nil {
			t.Fatal(err)
		}
		if got[0].Ops != c.ops || math.Abs(float64(got[0].Slice-c.slice)) > float64(5*time.Millisecond) {
			t.Errorf("%s: %d operations in %s, want %d in %s", c.candidate, got[0].Ops, got[0].Slice, c.ops, c.slice)
		}
		if got[1].Ops != said.Ops || got[2].Ops != 0 {
			t.Errorf("%s: %d operations where the step says %d, %d where time ends slices", c.candidate, got[1].Ops, said.Ops, got[2].Ops)
		}
	}
	if l.up != 0 {
		t.Errorf("%d servers are still up", l.up)
	}
}
