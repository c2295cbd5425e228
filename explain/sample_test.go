package explain

import (
	"fmt"
	"math"
	"testing"

	"backslide/lab"
)

// TestOneSample: functions that were met once on one side in each of two rounds are no
// difference, however alike the rounds are. A sample stands for 2 µs here.
func TestOneSample(t *testing.T) {
	const sample = 2e-6
	seen := func(v lab.Variant, extra map[string]int) (out []lab.Observation) {
		for round := range 2 {
			o := lab.Observation{Key: lab.SliceKey{Block: round, Cell: lab.Cell{Variant: v, Step: step, Clients: 1}, Kind: lab.Stacks.Kind()}, Ops: 1000, Wall: 1}
			for i := range 60 { // what both have
				o.Functions = append(o.Functions, lab.Amount{Name: fmt.Sprintf("f%d", i), Value: float64(1+(i*7+round)%5) * sample})
			}
			for name, n := range extra {
				o.Functions = append(o.Functions, lab.Amount{Name: name, Value: float64(n) * sample})
			}
			out = append(out, o)
		}
		return out
	}
	x := &evidence{Input: Input{BaseSeen: seen(baseVariant, nil), CandidateSeen: seen(candVariant, map[string]int{"once": 1, "often": 100})}}
	got := map[string]lab.Component{}
	for _, c := range x.rounds(lab.Stacks, "sec/op", func(o lab.Observation) []lab.Amount { return o.Functions }, byMean) {
		got[c.Name] = c
	}
	if c := got["once"]; c.Holds() || c.Diff != sample {
		t.Errorf("once: %+v", c)
	}
	// 200 samples in both rounds: 100 ± 2.58·√(100/2) each, 18.2.
	if c := got["often"]; !c.Holds() || c.Hi-c.Diff < 18.2*sample || math.Abs(c.Diff-100*sample) > 1e-12 {
		t.Errorf("often: %+v", c)
	}
}
