package run

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"backslide/lab"
)

// leg is what happens at one level within one block: which variants it is measured on,
// in which order, and which variants only repeat its writes so that their data stay
// equal to what earlier blocks had.
type leg struct {
	plan   lab.LevelPlan
	sets   [][]lab.Variant // sets of variants that are interleaved together, base first in each
	turns  []lab.SliceKey  // in the order of execution, set after set
	replay []lab.Variant   // variants that execute the level unmeasured, for what it leaves
}

// phase is a part of a block: the servers that are up together, and what they do.
type phase struct {
	up   []lab.Variant // base first
	legs []leg
}

// phases returns a block's phases: one when all servers fit in memory together. Where
// they do not, a few candidates at a time are up with a base started afresh; where not
// even two fit, the servers take turns, in a random order and then in the reverse.
func phases(run lab.Run, block int, open Open) []phase {
	all := legs(run, block, open)
	up := present(run, all)
	n := run.Plan.Together
	if n <= 0 || n >= len(up) {
		return []phase{{up, all}}
	}
	r := random(run.Plan.Seed, block, lab.Level{})
	if n == 1 {
		return alternating(run, r, block, open, up)
	}
	var out []phase
	candidates := append([]lab.Variant(nil), up[1:]...)
	r.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
	for len(candidates) > 0 {
		part := run
		part.Plan.GroupSize = n
		m := min(n-1, len(candidates))
		part.Variants = append([]lab.Variant{up[0]}, candidates[:m]...)
		candidates = candidates[m:]
		ls := legs(part, block, open)
		for i := range ls {
			for j := range ls[i].turns {
				ls[i].turns[j].Set = len(out)
			}
		}
		out = append(out, phase{present(part, ls), ls})
	}
	return out
}

// alternating returns phases of a single server each: every variant twice, with half of
// its slices in either.
func alternating(run lab.Run, r *rand.Rand, block int, open Open, up []lab.Variant) []phase {
	var out []phase
	perm := r.Perm(len(up))
	for i := range 2 * len(perm) {
		at, half := i, 0
		if i >= len(perm) {
			at, half = 2*len(perm)-1-i, 1
		}
		v := up[perm[at]]
		ls := legs(run, block, open)
		var kept []leg
		for _, l := range ls {
			l.turns, l.sets = ofHalf(l, v, half), nil
			if len(l.turns) > 0 {
				l.sets = [][]lab.Variant{{v}}
			}
			l.replay = slices.DeleteFunc(l.replay, func(x lab.Variant) bool { return x != v })
			if l.plan.Whole() && half == 1 {
				l.replay = []lab.Variant{v} // measured in the first half, for what the rest finds
			}
			if len(l.turns)+len(l.replay) > 0 {
				kept = append(kept, l)
			}
		}
		for len(kept) > 0 && len(kept[len(kept)-1].turns) == 0 {
			kept = kept[:len(kept)-1]
		}
		out = append(out, phase{[]lab.Variant{v}, kept})
	}
	return out
}

// ofHalf returns one half of a variant's turns at a level; the base, which is in every
// set of it, has its turns of the first.
func ofHalf(l leg, v lab.Variant, half int) []lab.SliceKey {
	var out []lab.SliceKey
	for _, k := range l.turns {
		if k.Cell.Variant == v && k.Seq/max(1, l.plan.Slices/2) == half {
			k.Set = 0
			if len(out) == 0 || out[len(out)-1].Seq < k.Seq {
				out = append(out, k)
			}
		}
	}
	return out
}

// Open tells whether a candidate still needs blocks at a level.
type Open func(lab.Level, lab.Variant) bool

// legs returns the order of one block: a pure function of the plan, the block's number
// and what is open. Levels keep the order of their workload, since what a step finds
// depends on what ran before it. Within a level, every mirrored group is a random
// permutation of the variants followed by its reverse, so that any linear drift cancels.
func legs(run lab.Run, block int, open Open) []leg {
	var out []leg
	for _, lp := range run.Levels {
		if lp.Warm {
			out = append(out, leg{plan: lp})
			continue
		}
		base := run.Variants[0]
		var candidates []lab.Variant
		for _, v := range run.Variants[1:] {
			if open(lp.Level, v) {
				candidates = append(candidates, v)
			}
		}
		if len(run.Variants) == 1 && !open(lp.Level, base) {
			continue
		}
		if len(candidates) == 0 && len(run.Variants) > 1 {
			out = append(out, leg{plan: lp})
			continue
		}
		l := leg{plan: lp}
		size := run.Plan.GroupSize - 1
		if !lp.Read {
			// The base would execute its writes once per set; its data would run ahead.
			size = len(candidates)
		}
		r := random(run.Plan.Seed, block, lp.Level)
		r.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
		for len(l.sets) == 0 || len(candidates) > 0 {
			n := min(size, len(candidates))
			set := append([]lab.Variant{base}, candidates[:n]...)
			candidates = candidates[n:]
			if lp.Whole() {
				l.turns = append(l.turns, wholeTurns(run, block, set, lp)...)
			} else {
				l.turns = append(l.turns, turns(r, block, len(l.sets), set, lp)...)
			}
			l.sets = append(l.sets, set)
		}
		out = append(out, l)
	}
	return withReplays(run, out)
}

// withReplays fills in which variants have to repeat a level's writes, or run a level
// that warms up: those that are not measured there but are at a later level of the same
// workload. Legs with nothing to
// do are dropped.
func withReplays(run lab.Run, all []leg) []leg {
	var out []leg
	for i, l := range all {
		if !l.plan.Read || l.plan.Warm {
			for _, v := range run.Variants {
				if !l.has(v) && neededLater(all[i+1:], l.plan.Level.Step.Workload, v) {
					l.replay = append(l.replay, v)
				}
			}
		}
		if len(l.turns) > 0 || len(l.replay) > 0 {
			out = append(out, l)
		}
	}
	return out
}

func neededLater(later []leg, workload string, v lab.Variant) bool {
	for _, l := range later {
		if l.plan.Level.Step.Workload == workload && l.has(v) {
			return true
		}
	}
	return false
}

// has reports whether v is measured in the leg.
func (l leg) has(v lab.Variant) bool {
	for _, set := range l.sets {
		for _, x := range set {
			if x == v {
				return true
			}
		}
	}
	return false
}

// turns orders the slices of one set: mirrored groups, each with its own permutation.
func turns(r *rand.Rand, block, set int, variants []lab.Variant, lp lab.LevelPlan) []lab.SliceKey {
	var out []lab.SliceKey
	for m := range lp.Slices / 2 {
		perm := r.Perm(len(variants))
		for i := range 2 * len(perm) {
			half := i / len(perm)
			at := i
			if half == 1 {
				at = 2*len(perm) - 1 - i
			}
			out = append(out, lab.SliceKey{
				Block: block, Set: set, Seq: 2*m + half, Kind: lab.Measured,
				Cell: lab.Cell{Variant: variants[perm[at]], Step: lp.Level.Step, Clients: lp.Level.Clients},
			})
		}
	}
	return out
}

// wholeTurns orders the one slice that each variant has of a level that is whole: a
// random permutation in every second block, and its reverse in the next, so that drift
// cancels over two blocks.
func wholeTurns(run lab.Run, block int, set []lab.Variant, lp lab.LevelPlan) []lab.SliceKey {
	var out []lab.SliceKey
	for _, i := range random(run.Plan.Seed, block&^1, lp.Level).Perm(len(run.Variants)) {
		if v := run.Variants[i]; slices.Contains(set, v) {
			out = append(out, lab.SliceKey{
				Block: block, Kind: lab.Measured,
				Cell: lab.Cell{Variant: v, Step: lp.Level.Step, Clients: lp.Level.Clients},
			})
		}
	}
	if block&1 == 1 {
		slices.Reverse(out)
	}
	return out
}

// random returns the generator of one block and level, whatever else is open.
func random(seed uint64, block int, l lab.Level) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(l.String()))
	return rand.New(rand.NewPCG(seed, h.Sum64()^uint64(block)<<32))
}

// present returns the variants that a block needs at all, base first.
func present(run lab.Run, block []leg) []lab.Variant {
	var out []lab.Variant
	for _, v := range run.Variants {
		for _, l := range block {
			if l.has(v) {
				out = append(out, v)
				break
			}
		}
	}
	return out
}
