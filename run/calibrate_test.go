package run

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

func TestFit(t *testing.T) {
	p := lab.Plan{}.WithDefaults()
	for _, tt := range []struct {
		read    bool
		clients int
		rate    float64
		want    lab.LevelPlan
	}{
		{true, 1, 50_000, lab.LevelPlan{Slice: 200 * time.Millisecond, Slices: 8}},
		{true, 4, 10, lab.LevelPlan{Slice: 8 * time.Second, Slices: 2}},   // 20 operations of 0.4 s
		{true, 1, 0.1, lab.LevelPlan{Slice: 10 * time.Second, Slices: 2}}, // at most 10 s; the client lengthens it
		{true, 1, 50, lab.LevelPlan{Slice: 400 * time.Millisecond, Slices: 4}},
		{false, 4, 10_130, lab.LevelPlan{Ops: 4100, Slice: 4100 * time.Second / 10_130, Slices: 4}}, // 0.4 s are 4052, in two digits
		// Another tool's clock knows seconds, so there are fewer slices in a block of 1.6 s.
		{true, 1, 50_000, lab.LevelPlan{Grain: time.Second, Slice: time.Second, Slices: 2}},
		{true, 1, 9, lab.LevelPlan{Grain: time.Second, Slice: 3 * time.Second, Slices: 2}}, // 20 operations take 2.2 s
		{false, 1, 2000, lab.LevelPlan{Grain: time.Second, Ops: 2000, Slice: time.Second, Slices: 2}},
	} {
		lp := lab.LevelPlan{Level: lab.Level{Clients: tt.clients}, Read: tt.read, Grain: tt.want.Grain}
		got := fit(p, lp, tt.rate)
		if got.Slice != tt.want.Slice || got.Slices != tt.want.Slices || got.Ops != tt.want.Ops {
			t.Errorf("fit(read %t, %d clients, %v/s) = %d ops, %s × %d; want %d ops, %s × %d", tt.read, tt.clients, tt.rate,
				got.Ops, got.Slice, got.Slices, tt.want.Ops, tt.want.Slice, tt.want.Slices)
		}
	}
}

func TestFitFixedWork(t *testing.T) {
	p := lab.Plan{}.WithDefaults() // 8 slices of 0.2 s
	for _, tt := range []struct {
		ops    int64
		rate   float64
		slice  time.Duration
		slices int
	}{
		{4, 0.1, 40 * time.Second, 2}, // one statement of each client, 10 s each
		{400, 1000, 400 * time.Millisecond, 4},
		{4, 1000, 4 * time.Millisecond, 8}, // not more than the plan's
	} {
		got := fit(p, lab.LevelPlan{Level: lab.Level{Clients: 4}, Read: true, Ops: tt.ops}, tt.rate)
		if got.Ops != tt.ops || got.Slice != tt.slice || got.Slices != tt.slices || got.Timed() {
			t.Errorf("fit(%d operations at %v/s) = %d ops, %s × %d; want %s × %d", tt.ops, tt.rate, got.Ops, got.Slice, got.Slices, tt.slice, tt.slices)
		}
	}
}

// TestFixedReads runs a level that leaves data as they are and yet ends by operations: all
// its slices have them and are timed by the server, and it is warmed up once by as many.
func TestFixedReads(t *testing.T) {
	l := newLot(t)
	r := testRun(4, []lab.LevelPlan{level("r", true, 4), level("s", true, 2)}, "a", "b")
	r.Plan.BlocksMax = 2
	for i := range r.Levels {
		r.Levels[i].Ops, r.Levels[i].Slice = 3, time.Second
	}
	specs := map[Spec]int{}
	l.onSlice = func(_ int, _ lab.Variant, s Spec) error {
		s.Seq, s.Timeout = 0, 0
		specs[s]++
		return nil
	}
	complete(t, l, r, never)
	// 2 blocks of 2 variants: 4 slices and a warm-up of r, 2 and a warm-up of s
	want := map[Spec]int{{Ops: 3, Clock: true}: 2 * 2 * (4 + 2), {Ops: 3}: 2 * 2 * (1 + 1)}
	if d := cmp.Diff(want, specs); d != "" {
		t.Errorf("slices (-want +got):\n%s", d)
	}
}
