package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// series returns noise of standard deviation 1 around the given levels.
func series(rng *rand.Rand, levels ...float64) []float64 {
	out := make([]float64, len(levels))
	for i, l := range levels {
		out[i] = l + rng.NormFloat64()
	}
	return out
}

// flat returns n times a level.
func flat(n int, level float64) []float64 { return slices.Repeat([]float64{level}, n) }

// line returns a straight line from 0 to a level, both excluded.
func line(n int, to float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = to * float64(i+1) / float64(n+1)
	}
	return out
}

// several is each for a number of times that is no multiple of a chunk.
func several(times int, f func(rng *rand.Rand, mu sync.Locker)) {
	if times%chunk == 0 {
		each(times, f)
		return
	}
	rng := rand.New(rand.NewPCG(42, 42))
	for range times {
		f(rng, nil)
	}
}

// Simulated histories: what is found, and how often. Least shares are some standard errors
// below what was measured.
func TestChangePoints(t *testing.T) {
	runs := 12
	if *long {
		runs = 500
	}
	for _, tt := range []struct {
		name   string
		levels []float64
		want   []int // where steps are, or where a drift begins, within 1, or 6 for a drift
		drift  bool
		least  float64 // share that finds just that
	}{
		{"step of 4 sd", slices.Concat(flat(20, 0), flat(20, 4)), []int{20}, false, 0.9},
		{"step in the last three of 20 nights, 6 sd", slices.Concat(flat(17, 0), flat(3, -6)), []int{17}, false, 0.9},
		{"step with a spike on either side", slices.Concat(flat(10, 0), []float64{12}, flat(10, 0), flat(12, 4), []float64{-8}, flat(8, 4)), []int{21}, false, 0.8},
		{"spike", slices.Concat(flat(20, 0), []float64{15}, flat(19, 0)), nil, false, 0.95},
		{"two nights off", slices.Concat(flat(20, 0), flat(2, 15), flat(18, 0)), nil, false, 0.85},
		{"spike at the end", slices.Concat(flat(39, 0), []float64{15}), nil, false, 0.85},
		{"there and back", slices.Concat(flat(15, 0), flat(8, 4), flat(17, 0)), []int{15, 23}, false, 0.85},
		{"staircase, five nights a step", slices.Concat(flat(5, 0), flat(5, 6), flat(5, 12), flat(5, 18)), []int{5, 10, 15}, false, 0.75},
		{"drift", slices.Concat(flat(20, 0), line(30, 9), flat(15, 9)), []int{20}, true, 0.8},
	} {
		var mu sync.Mutex
		hit := 0
		several(runs, func(rng *rand.Rand, _ sync.Locker) {
			got := ChangePoints(series(rng, tt.levels...), ChangeOptions{}, 1)
			slack := 1
			if tt.drift {
				slack = 6
			}
			ok := len(got) == len(tt.want)
			for i := range got {
				ok = ok && got[i].Drift() == tt.drift && math.Abs(float64(got[i].At-tt.want[i])) <= float64(slack)
			}
			mu.Lock()
			defer mu.Unlock()
			if ok {
				hit++
			}
		})
		share := float64(hit) / float64(runs)
		t.Logf("%s: found in %.1f %%", tt.name, 100*share)
		if share < tt.least {
			t.Errorf("%s: found in %.3f of the series, want %.2f", tt.name, share, tt.least)
		}
	}
}

// False alarms of series in which nothing changes, and of more changes than there are.
func TestChangePointsFalseAlarms(t *testing.T) {
	runs := chunk
	if *long {
		runs = 10_000
	}
	for _, tt := range []struct {
		n      int
		levels []float64
		tails  bool
		most   float64
	}{
		{n: 12, most: 0.01}, {n: 40, most: 0.01}, {n: 40, tails: true, most: 0.01},
		{n: 40, levels: slices.Concat(flat(20, 0), flat(20, 6)), most: 0.02}, // two parts, 1 % each
	} {
		var mu sync.Mutex
		alarms, all := 0, 0
		each(runs, func(rng *rand.Rand, _ sync.Locker) {
			x := make([]float64, tt.n)
			for i := range x {
				x[i] = rng.NormFloat64()
				if tt.tails {
					x[i] /= math.Sqrt(rng.ExpFloat64())
				}
				if tt.levels != nil {
					x[i] += tt.levels[i]
				}
			}
			expected := 0
			if tt.levels != nil {
				expected = 1
			}
			got := len(ChangePoints(x, ChangeOptions{}, rng.Uint64()))
			mu.Lock()
			defer mu.Unlock()
			all++
			if got > expected {
				alarms++
			}
		})
		share := float64(alarms) / float64(all)
		t.Logf("%d values, steps %v, heavy tails %v: %.2f %% false alarms of %d", tt.n, tt.levels != nil, tt.tails, 100*share, all)
		if share > tt.most+3.5*math.Sqrt(tt.most/float64(all)) {
			t.Errorf("%+v: %.4f false alarms", tt, share)
		}
	}
}

func TestChangePointsEdges(t *testing.T) {
	for _, x := range [][]float64{nil, {1}, flat(5, 1), flat(50, 0.1), {1, 2, 3, 4, 5}} {
		if got := ChangePoints(x, ChangeOptions{}, 1); len(got) != 0 {
			t.Errorf("%v: %+v", x, got)
		}
	}
	// No noise at all: the step is there, nothing else is.
	got := ChangePoints(slices.Concat(flat(10, 0.1), flat(10, 0.3)), ChangeOptions{}, 1)
	if len(got) != 1 || got[0].At != 10 || got[0].Drift() || math.Abs(got[0].Before-0.1) > 1e-12 || math.Abs(got[0].After-0.3) > 1e-12 || !(got[0].P > 0 && got[0].P <= 0.01) {
		t.Errorf("a step without noise: %+v", got)
	}
	x := series(rand.New(rand.NewPCG(3, 3)), slices.Concat(flat(20, 0), flat(20, 3))...)
	scaled := make([]float64, len(x))
	for i, v := range x {
		scaled[i] = 1000*v - 77
	}
	a, b := ChangePoints(x, ChangeOptions{}, 5), ChangePoints(scaled, ChangeOptions{}, 5)
	if len(a) != 1 || len(b) != 1 || a[0].At != b[0].At || a[0].P != b[0].P {
		t.Errorf("in other units: %+v, %+v", a, b)
	}
	if c := ChangePoints(x, ChangeOptions{}, 5); fmt.Sprint(a) != fmt.Sprint(c) {
		t.Errorf("the same seed: %+v, %+v", a, c)
	}
	began := time.Now()
	ChangePoints(series(rand.New(rand.NewPCG(1, 1)), slices.Concat(flat(50, 0), flat(50, 3))...), ChangeOptions{}, 1)
	t.Logf("100 values: %s", time.Since(began))
}
