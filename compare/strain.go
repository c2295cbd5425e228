package compare

import (
	"fmt"
	"math"

	"backslide/lab"
)

// Shortage and heat of the host, as figures and doubts. None of it takes a slice out: that
// is for what the hypervisor took alone, since a server can bring these about itself.
const (
	shortMemory = 0.01     // share of the time with tasks waiting for memory from which on it is said
	unlikeClock = 0.02     // ln of the sides' CPU frequencies that is said
	muchDirty   = 64 << 20 // bytes of dirty file cache that the sides may differ by
)

// strain adds up what the good slices of a cell say of the host's shortage and heat. Each
// figure has the seconds or slices that could tell it.
type strain struct {
	cpu, memory, io, frequency, dirty ratio
	throttled                         int64
	heat                              bool // throttled is known
}

// ratio is a sum over what it is a sum of.
type ratio struct{ sum, over float64 }

func (r *ratio) add(sum, over float64) {
	if sum >= 0 {
		r.sum += sum
		r.over += over
	}
}

// with returns both together.
func (r ratio) with(s ratio) ratio { return ratio{r.sum + s.sum, r.over + s.over} }

// value returns the ratio, −1 where nothing could tell.
func (r ratio) value() float64 {
	if r.over == 0 {
		return -1
	}
	return r.sum / r.over
}

// add takes in what the host showed during a good slice.
func (t *strain) add(u lab.Usage, wall float64) {
	t.cpu.add(u.StallCPU, wall)
	t.memory.add(u.StallMemory, wall)
	t.io.add(u.StallIO, wall)
	t.dirty.add(float64(u.Dirty), 1)
	if u.Frequency > 0 {
		t.frequency.add(math.Log(u.Frequency), 1)
	}
	if u.Throttled >= 0 {
		t.throttled, t.heat = t.throttled+u.Throttled, true
	}
}

// strained fills in shortage and heat of the host during a pair's slices.
func strained(n *lab.PairNoise, base, cand strain) {
	n.StallCPU, n.StallMemory, n.StallIO = base.cpu.with(cand.cpu).value(), base.memory.with(cand.memory).value(), base.io.with(cand.io).value()
	n.BaseDirty, n.Dirty = base.dirty.value(), cand.dirty.value()
	n.Throttled = -1
	if base.heat || cand.heat {
		n.Throttled = base.throttled + cand.throttled
	}
	n.Frequency = -1
	if base.frequency.over > 0 && cand.frequency.over > 0 {
		n.Frequency = math.Exp(base.frequency.with(cand.frequency).value())
		n.FasterClock = cand.frequency.value() - base.frequency.value()
	}
}

// unlikeHost says what of the host was not the same for both sides of a pair.
func unlikeHost(n lab.PairNoise) []string {
	var out []string
	if math.Abs(n.FasterClock) >= unlikeClock {
		out = append(out, fmt.Sprintf("the CPUs' frequency was %s in the candidate's slices: a fixed one (turbo off, governor performance) would take that out", signed(n.FasterClock)))
	}
	if n.Dirty >= 0 && n.BaseDirty >= 0 && math.Abs(n.Dirty-n.BaseDirty) >= muchDirty {
		out = append(out, fmt.Sprintf("%.0f MiB of the file cache were not on storage after the candidate's slices, %.0f MiB after the base's: writing them may fall into the other side's slices",
			n.Dirty/(1<<20), n.BaseDirty/(1<<20)))
	}
	return out
}

// shortage says what the host was short of during the run, if anything.
func (j *judge) shortage() []string {
	var all strain
	for _, l := range j.levels {
		for _, v := range j.run.Variants {
			c := j.of(v, l.Level)
			all.memory = all.memory.with(c.strain.memory)
			all.throttled += c.strain.throttled
		}
	}
	var out []string
	if all.throttled > 0 {
		out = append(out, fmt.Sprintf("CPUs were slowed down for their heat %d times during slices: what is seen is also of the cooling; limit the frequency, or cool the machine", all.throttled))
	}
	if m := all.memory.value(); m >= shortMemory {
		out = append(out, fmt.Sprintf("tasks waited for memory in %.0f %% of the time: paging is in the figures; use smaller caches, or fewer servers at once", 100*m))
	}
	return out
}
