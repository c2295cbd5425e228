package main

import (
	"math"
	"strings"
	"testing"

	"backslide/lab"
)

// A run by e-values with latency at a set rate: every variant is asked the same, slices
// have quantiles and what the host showed, a pilot has chosen how many there are. It ends,
// and goes on to more blocks.
func TestOpenEndedLatency(t *testing.T) {
	c := newCLI(t)
	_, said := c.must(0, "run", "--build", "mariadb@10.11", "--aa", "--workload", "slap", "--steps", "PK", "--clients", "1", "--param", "rows=2000",
		"--slice", "50ms", "--latency=10%", "--blocks", "1", "--rule", "e")
	r, slices := c.slices()
	if len(r.Levels) != 2 || r.Plan.Latency != 0.1 {
		t.Fatalf("levels %+v of plan %+v, want a closed and an open one\n%s", r.Levels, r.Plan, said)
	}
	closed, open := r.Levels[0], r.Levels[1]
	if closed.Noise <= 0 || closed.Why == "" || closed.Slices < 4 || closed.Slice.Milliseconds() != 50 {
		t.Errorf("closed: %+v, want slices of 50 ms, as many as a pilot called for", closed)
	}
	if open.Rate <= 0 || !open.Open || open.Group != lab.Paced || open.Level.Step != closed.Level.Step.AtShare(0.1) {
		t.Errorf("open: %+v", open)
	}
	for _, s := range slices {
		if s.Err != "" {
			t.Fatalf("%+v: %s", s.SliceKey, s.Err)
		}
		want := 0.0
		if s.Cell.Level() == open.Level {
			want = open.Rate
		}
		if math.Abs(s.Offered-want) > 0.001*want {
			t.Errorf("%s: %v per second were asked for, want %v", s.Cell, s.Offered, want)
		}
		if !(s.P50 > 0 && s.P50 <= s.P95 && s.P95 <= s.P99) || s.Usage.Dirty < 0 {
			t.Errorf("%s: quantiles %v, %v, %v s; %d bytes dirty", s.Cell, s.P50, s.P95, s.P99, s.Usage.Dirty)
		}
	}
	if _, said := c.must(2, "run", "--resume", "last"); !strings.Contains(said, "more blocks than its 1: --blocks 2") {
		t.Errorf("resuming what ended says %q", said)
	}
	c.must(0, "run", "--resume", "last", "--blocks", "2")
	again, more := c.slices()
	if len(more) != 2*len(slices) || len(again.Raised) != 1 || again.Plan.BlocksMax != 2 || again.Ended.IsZero() {
		t.Errorf("%d slices after two blocks, want %d; raised %+v", len(more), 2*len(slices), again.Raised)
	}
	out, _ := c.must(0, "compare", "--metric", "p95")
	for _, want := range []string{"relative p95 at a set rate", "PK@10%", "raised to 2 blocks, without a limit in time", "a mirrored group of slices of 50ms varies by"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in what compare prints:\n%s", want, out)
		}
	}
}
