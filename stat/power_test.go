package stat

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
)

// host is a simulated machine: logarithms of the speed, second by second.
type host struct {
	name    string
	within  float64 // standard deviation of a second within one start of a server
	restart float64 // of a start
	drift   float64 // of the host's slow drift, with a memory of half an hour
	common  float64 // share of the variance within that both servers feel
	memory  float64 // of what is common, in seconds; a server's own noise has one of 5
}

// ar is a process that forgets with a time constant in steps.
type ar struct{ x, keep, sd float64 }

func newAR(rng *rand.Rand, sd, memory float64) ar {
	keep := math.Exp(-1 / memory)
	return ar{sd * rng.NormFloat64(), keep, sd * math.Sqrt(1-keep*keep)}
}

func (a *ar) next(rng *rand.Rand) float64 {
	a.x = a.keep*a.x + a.sd*rng.NormFloat64()
	return a.x
}

// blocks returns differences of blocks of 30 s: four slices of 5 s, each after 1 s that is
// discarded, in the order ABBA or BAAB, and 6 s of restarts.
func (h host) blocks(rng *rand.Rand, n int, theta float64) []float64 {
	both := newAR(rng, h.within*math.Sqrt(h.common), h.memory)
	drift := newAR(rng, h.drift, 1800)
	out := make([]float64, n)
	for b := range out {
		own := [2]ar{}
		level := [2]float64{h.restart * rng.NormFloat64(), theta + h.restart*rng.NormFloat64()}
		for i := range own {
			own[i] = newAR(rng, h.within*math.Sqrt(1-h.common), 5)
		}
		first := rng.IntN(2)
		var sum [2]float64
		for s := range 30 {
			shared := both.next(rng) + drift.next(rng)
			slice := s / 6
			if slice == 4 {
				continue // restarts
			}
			side := (first + (slice+1)/2) % 2 // 0 1 1 0
			mine := own[side].next(rng)       // the idle server is frozen
			if s%6 > 0 {
				sum[side] += level[side] + shared + mine
			}
		}
		out[b] = (sum[1] - sum[0]) / 10
	}
	return out
}

// Power and mean time to the call on simulated machines, against reference figures of
// another simulation of the same model: looks from the third block, a prior of 10 degrees
// of freedom.
func TestPowerTable(t *testing.T) {
	paths := 100
	if *long {
		paths = 4_000
	}
	quiet, middling, noisy := host{"quiet", 0.03, 0.007, 0.005, 0, 0}, host{"moderate", 0.04, 0.015, 0.01, 0, 0}, host{"noisy", 0.05, 0.02, 0.02, 0, 0}
	h80 := func(h host) host { h.name += " h80"; h.common, h.memory = 0.8, 30; return h }
	h50 := func(h host) host { h.name += " h50"; h.common, h.memory = 0.5, 5; return h }
	var bounds Boundaries
	for _, tt := range []struct {
		host    host
		theta   float64
		max     int
		seconds float64
		power   float64
	}{
		{h80(quiet), 0.05, 40, 163, 1}, {h80(quiet), 0.03, 40, 298, 1}, {h80(quiet), 0.02, 40, 487, 0.999},
		{h50(quiet), 0.05, 40, 249, 1}, {h50(quiet), 0.03, 40, 461, 1}, {h50(quiet), 0.02, 40, 746, 0.92},
		{h80(middling), 0.05, 40, 276, 1}, {h80(middling), 0.03, 40, 513, 0.998}, {h80(middling), 0.02, 40, 811, 0.86}, {h80(middling), 0.02, 80, 1016, 0.996},
		{h50(middling), 0.05, 40, 389, 1}, {h50(middling), 0.03, 40, 719, 0.94}, {h50(middling), 0.03, 80, 869, 1}, {h50(middling), 0.02, 40, 1003, 0.55}, {h50(middling), 0.02, 80, 1446, 0.92},
		{h80(noisy), 0.05, 40, 374, 1}, {h80(noisy), 0.03, 40, 693, 0.95}, {h80(noisy), 0.02, 40, 984, 0.59}, {h80(noisy), 0.02, 80, 1395, 0.94},
		{h50(noisy), 0.05, 40, 522, 0.997}, {h50(noisy), 0.03, 40, 904, 0.74}, {h50(noisy), 0.03, 80, 1188, 0.98}, {h50(noisy), 0.02, 80, 1815, 0.71},
	} {
		if !*long && (tt.max > 40 || tt.host.name != "moderate h50") {
			continue
		}
		sd := spreadOf(tt.host)
		c := bounds.Get(Rule{Max: tt.max, First: 3, Prior: 10, Alpha: 0.01, Rho: 2})
		called, blocks := 0, 0
		each(paths, func(rng *rand.Rand, mu sync.Locker) {
			d := tt.host.blocks(rng, tt.max, -tt.theta)
			prior := truePrior(rng, 10, sd)
			n := 3
			for ; n < tt.max && math.Abs(moderate(prior, d[:n]).T()) < c.At(n); n++ {
			}
			e := moderate(prior, d[:n])
			mu.Lock()
			defer mu.Unlock()
			blocks += n
			if e.Mean < 0 && -e.T() >= c.At(n) {
				called++
			}
		})
		power, seconds := float64(called)/float64(paths), 30*float64(blocks)/float64(paths)
		t.Logf("%s, %.0f %%, %d blocks: one block varies by %.2f %%; called in %.3f after %.0f s; reference %.3f after %.0f s",
			tt.host.name, 100*tt.theta, tt.max, 100*sd, power, seconds, tt.power, tt.seconds)
		tolerance := 0.03 + 4*math.Sqrt(tt.power*(1-tt.power)/float64(paths)+1e-5)
		if math.Abs(power-tt.power) > tolerance || math.Abs(seconds/tt.seconds-1) > 0.05+1.5/math.Sqrt(float64(paths)) {
			t.Errorf("%s, %.0f %%, %d blocks: called in %.3f after %.0f s; reference %.3f after %.0f s",
				tt.host.name, 100*tt.theta, tt.max, power, seconds, tt.power, tt.seconds)
		}
	}
}

// spreadOf returns the standard deviation of one block's difference.
func spreadOf(h host) float64 {
	rng := rand.New(rand.NewPCG(1, 77))
	d := h.blocks(rng, 20_000, 0)
	return Prior{}.Moderate(d).SD
}
