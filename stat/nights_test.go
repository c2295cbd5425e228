package stat

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// A history is looked at every night, each time with one value more: how often a series of
// nothing is said to change on any of the nights, how often it then has its last change for
// the worse on a given night, and after how many nights a step is found.
func TestChangePointsNights(t *testing.T) {
	runs, nights, delayed, steps := 20, 20, 8, []float64{4}
	if *long {
		runs, nights, delayed, steps = 2000, 60, 200, []float64{2, 3, 4, 6}
	}
	const from = 6
	var mu sync.Mutex
	var all, ever, alarmed, down int
	several(runs, func(rng *rand.Rand, _ sync.Locker) {
		x := series(rng, flat(nights, 0)...)
		any, a, d := false, 0, 0
		for n := from; n <= nights; n++ {
			if c := ChangePoints(x[:n], ChangeOptions{}, 1); len(c) > 0 {
				any = true
				a++
				if last := c[len(c)-1]; last.After < last.Before {
					d++
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		all++
		alarmed, down = alarmed+a, down+d
		if any {
			ever++
		}
	})
	looks := float64(all * (nights - from + 1))
	t.Logf("%d series of nothing over %d nights: %.2f %% said to change on some night, %.2f %% on a given one, %.2f %% for the worse",
		all, nights, 100*float64(ever)/float64(all), 100*float64(alarmed)/looks, 100*float64(down)/looks)
	if share := float64(alarmed) / looks; share > 0.015 { // looks of one series depend on each other
		t.Errorf("on a given night %.4f of the series are said to change, want 0.01 at most", share)
	}
	for _, step := range steps {
		var delays []int
		several(delayed, func(rng *rand.Rand, _ sync.Locker) {
			x := series(rng, slices.Concat(flat(20, 0), flat(20, step))...)
			found := 21
			for n := 21; n <= 40; n++ {
				if c := ChangePoints(x[:n], ChangeOptions{}, 1); len(c) > 0 && c[len(c)-1].After > c[len(c)-1].Before {
					found = n - 20
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			delays = append(delays, found)
		})
		slices.Sort(delays)
		t.Logf("step of %g sd after 20 nights: found after %d nights in half of %d series, after %d in 9 of 10 (21: not within 20)",
			step, delays[len(delays)/2], len(delays), delays[len(delays)*9/10])
		if step >= 4 && delays[len(delays)/2] > 5 {
			t.Errorf("a step of %g sd is found after %d nights in the middle", step, delays[len(delays)/2])
		}
	}
}
