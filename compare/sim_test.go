package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"backslide/lab"
)

// sim makes the slices of a run whose truth is known.
type sim struct {
	blocks, slices, levels, clients, candidates int

	theta   float64 // of every candidate: true ln(candidate/base)
	restart float64 // standard deviation of a restart's effect, per variant and block
	shared  float64 // share of its variance that all levels of a block have in common
	noise   float64 // standard deviation of a slice
	drift   float64 // of ln per position within a block: how the host changes
	blocked bool    // all slices of one side, then all of the other, instead of mirrored groups
	seed    uint64
}

func variant(i int) lab.Variant {
	return lab.Variant{Build: fmt.Sprintf("server@%d", i), Config: "default", Engine: "InnoDB"}
}

// run returns a run of a base and candidates with the standard plan.
func (s sim) run() lab.Run {
	r := lab.Run{ID: 1, Base: variant(0), Sides: map[string]*lab.Side{}, Plan: lab.Plan{BlocksMax: 20}.WithDefaults()}
	for i := range s.candidates + 1 {
		r.Variants = append(r.Variants, variant(i))
	}
	groups := []lab.Group{lab.Point, lab.Range, lab.Write}
	for i := range s.levels {
		for c := range s.clients {
			r.Levels = append(r.Levels, lab.LevelPlan{
				Level: lab.Level{Step: lab.Step{Workload: "w", Name: fmt.Sprintf("step%d", i)}, Clients: 1 << c},
				Group: groups[i%len(groups)], Read: true, Slices: s.slices,
			})
		}
	}
	r.Host.CPUs = 2
	return r
}

// measure returns the run's slices, in the order in which they were taken.
func (s sim) measure() []lab.Slice {
	rng := rand.New(rand.NewPCG(s.seed, 1))
	run := s.run()
	var out []lab.Slice
	for b := range s.blocks {
		effect := make([]float64, len(run.Variants))
		common := make([]float64, len(run.Variants))
		if s.shared > 0 {
			for v := range common {
				common[v] = rng.NormFloat64()
			}
		}
		position := 0
		for l, level := range run.Levels {
			for v := range effect {
				effect[v] = s.restart * (math.Sqrt(s.shared)*common[v] + math.Sqrt(1-s.shared)*rng.NormFloat64())
				if v > 0 {
					effect[v] += s.theta
				}
			}
			for i, at := range s.order(rng, len(run.Variants)) {
				seq := at / len(run.Variants)
				v := at % len(run.Variants)
				ln := math.Log(1000*float64(l+1)) + effect[v] + s.drift*float64(i) + s.noise*rng.NormFloat64()
				out = append(out, slice(b, run.Variants[v], level.Level, seq, position, ln))
				position++
			}
		}
	}
	return out
}

// order returns seq·variants + variant for every slice of a level in a block.
func (s sim) order(rng *rand.Rand, variants int) []int {
	var out []int
	if s.blocked {
		for v := range variants {
			for seq := range s.slices {
				out = append(out, seq*variants+v)
			}
		}
		return out
	}
	for g := range s.slices / 2 {
		perm := rng.Perm(variants)
		for _, v := range perm {
			out = append(out, 2*g*variants+v)
		}
		for i := range perm {
			out = append(out, (2*g+1)*variants+perm[variants-1-i])
		}
	}
	return out
}

// slice returns a good slice of 0.2 s at exp(ln) operations a second.
func slice(block int, v lab.Variant, l lab.Level, seq, position int, ln float64) lab.Slice {
	const ops = 1000
	wall := ops / math.Exp(ln)
	return lab.Slice{
		SliceKey: lab.SliceKey{
			Block: block, Cell: lab.Cell{Variant: v, Step: l.Step, Clients: l.Clients}, Seq: seq, Kind: lab.Measured,
		},
		Position: position, Start: time.Unix(int64(position), 0), Wall: wall, Ops: ops,
		Usage: lab.Usage{
			ServerUser: 0.6 * wall, ServerSystem: 0.1 * wall, ServerRunq: 0.01 * wall, ClientUser: 0.1 * wall, ClientSystem: 0.05 * wall,
			CtxVoluntary: 2 * ops, ReadBytes: 0, WriteBytes: 4096,
		},
	}
}

// exact returns slices of one candidate that is ln(ratio) off in every block, without noise.
func exact(blocks int, ratio float64) (lab.Run, []lab.Slice) {
	s := sim{blocks: blocks, slices: 2, levels: 1, clients: 1, candidates: 1, theta: math.Log(ratio)}
	return s.run(), s.measure()
}
