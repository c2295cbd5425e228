package lab

import (
	"slices"
	"testing"
)

// The rule is 95 % of what was asked for over all clients, rounded: of 3 · 33 a second it is
// round(94.05) = 94.
func TestSustained(t *testing.T) {
	for _, c := range []struct {
		ops           int64
		offered, wall float64
		want          bool
	}{
		{940, 99, 10, true},
		{939, 99, 10, false},
		{9500, 1000, 10, true},
		{9499, 1000, 10, false},
		{0, 0, 10, true}, // no rate was set
		{0, 100, 10, false},
	} {
		if got := (Part{Ops: c.ops, Offered: c.offered}).Sustained(c.wall); got != c.want {
			t.Errorf("%d operations in %g s, %g a second asked for: sustained %v", c.ops, c.wall, c.offered, got)
		}
	}
}

func TestStalls(t *testing.T) {
	values := slices.Repeat([]float64{100}, 12)
	values[3], values[7], values[9] = 9.9, 10, -1 // under a tenth, just not, not known
	if got := (Series{Values: values}).Stalls(); !slices.Equal(got, []int{3}) {
		t.Errorf("stalls at %v, want second 3", got)
	}
	if got := (Series{Values: values[:11]}).Stalls(); got != nil {
		t.Errorf("a series that is too short has stalls at %v", got)
	}
}
