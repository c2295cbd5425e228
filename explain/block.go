package explain

import (
	"maps"
	"math"
	"slices"

	"backslide/lab"
)

// quantity is one of the things that slices say of a block.
type quantity int

// The quantities: seconds, bytes and counts are per operation.
const (
	period       quantity = iota // from one operation of a client to its next
	latency                      // of an operation, as the client saw it
	serverUser                   // CPU of the server
	serverSystem                 // likewise, in the kernel
	serverRunq                   // waiting of its threads for a CPU
	connCPU                      // of the threads that serve the clients
	connRunq                     // likewise
	clientUser
	clientSystem
	voluntary // context switches of the server
	forced
	readBytes
	writeBytes
	readCalls
	writeCalls
	majorFaults
	hostBusy // CPUs that other processes kept busy, on average
	steal    // CPUs that the hypervisor took, on average

	quantities
)

// block is what slices of one cell say of one block; NaN: not known.
type block [quantities]float64

// both is a block of the base beside that of the candidate.
type both struct{ base, cand block }

// place is where in a run a slice was taken.
type place struct{ block, set, seq int }

// pairBlocks returns the blocks that both cells have, in order. As in the comparison, a
// mirrored group of slices counts whole or not at all, so that drift cancels, but for
// levels that are one long slice; and only slices of the two cells that gave a result.
func pairBlocks(in Input) []both {
	level := in.Comparison.Level
	whole := slices.ContainsFunc(in.Run.Levels, func(l lab.LevelPlan) bool { return l.Level == level && l.Whole() })
	base := good(in.Base, lab.Cell{Variant: in.Comparison.Base, Step: level.Step, Clients: level.Clients})
	cand := good(in.Candidate, lab.Cell{Variant: in.Comparison.Candidate, Step: level.Step, Clients: level.Clients})
	type pair struct{ base, cand []lab.Slice }
	byBlock := map[int]pair{}
	for at, b := range base {
		c, mirror := cand[at], place{at.block, at.set, at.seq ^ 1}
		_, mirrored := base[mirror]
		_, also := cand[mirror]
		if c.Ops == 0 || !(mirrored && also || whole) {
			continue
		}
		p := byBlock[at.block]
		p.base, p.cand = append(p.base, b), append(p.cand, c)
		byBlock[at.block] = p
	}
	var out []both
	for _, n := range slices.Sorted(maps.Keys(byBlock)) {
		p := byBlock[n]
		out = append(out, both{blockOf(p.base, level.Clients), blockOf(p.cand, level.Clients)})
	}
	return out
}

// steady scales the times of each block, of both sides alike, to the geometric mean of all
// blocks' periods. A host that is slower in one block than in the next makes every time of
// both sides longer; the ratio, which verdicts are about, stays. What a block says is then
// as sure as its ratio is.
func steady(blocks []both) {
	periods := make([]float64, len(blocks))
	for i, b := range blocks {
		periods[i] = math.Sqrt(b.base[period] * b.cand[period])
	}
	for i, f := range paces(periods) {
		for q := period; q <= clientSystem; q++ {
			blocks[i].base[q] *= f
			blocks[i].cand[q] *= f
		}
	}
}

// paces returns what each replicate's times are to be multiplied with for all periods to
// be their geometric mean; 1 where a period is not known.
func paces(periods []float64) []float64 {
	first, sum, n := 0.0, 0.0, 0 // relative to the first, so that equal periods give exactly 1
	good := func(p float64) bool { return p > 0 && sane(p) }
	for _, p := range periods {
		if good(p) {
			if n == 0 {
				first = p
			}
			sum, n = sum+math.Log(p/first), n+1
		}
	}
	out := make([]float64, len(periods))
	for i, p := range periods {
		out[i] = 1
		if good(p) {
			out[i] = math.Exp(sum/float64(n)) / (p / first)
		}
	}
	return out
}

// good returns the usable slices of a cell by their place.
func good(all []lab.Slice, cell lab.Cell) map[place]lab.Slice {
	out := map[place]lab.Slice{}
	for _, s := range all {
		if s.Kind == lab.Measured && s.Cell == cell && s.Err == "" && s.Ops > 0 && s.Wall > 0 && sane(s.Wall) {
			out[place{s.Block, s.Set, s.Seq}] = s
		}
	}
	return out
}

// blockOf returns total over total of slices. What one of them does not know is not known
// of the block.
func blockOf(all []lab.Slice, clients int) block {
	slices.SortFunc(all, func(a, b lab.Slice) int { // sums of floats depend on their order
		if a.Set != b.Set {
			return a.Set - b.Set
		}
		return a.Seq - b.Seq
	})
	var sum block
	var ops, wall float64
	for _, s := range all {
		ops += float64(s.Ops)
		wall += s.Wall
		for q, v := range amountsOf(s) {
			sum[q] += v
		}
	}
	for q := range sum {
		over := ops
		if quantity(q) == hostBusy || quantity(q) == steal {
			over = wall
		}
		sum[q] /= over
	}
	sum[period] = float64(clients) * wall / ops
	if slices.ContainsFunc(all, func(s lab.Slice) bool { return s.Offered > 0 }) {
		sum[period] = sum[latency] // clients of an open loop rest between operations
	}
	return sum
}

// amountsOf returns the totals of a slice.
func amountsOf(s lab.Slice) block {
	u := s.Usage
	b := block{
		latency:    s.Latency * float64(s.Ops),
		serverUser: u.ServerUser, serverSystem: u.ServerSystem, serverRunq: u.ServerRunq,
		connCPU: u.ConnCPU, connRunq: u.ConnRunq,
		clientUser: u.ClientUser, clientSystem: u.ClientSystem,
		voluntary: float64(u.CtxVoluntary), forced: float64(u.CtxForced),
		readBytes: float64(u.ReadBytes), writeBytes: float64(u.WriteBytes),
		readCalls: float64(u.ReadCalls), writeCalls: float64(u.WriteCalls), majorFaults: float64(u.MajorFaults),
		hostBusy: u.HostBusy, steal: u.Steal,
	}
	for q, v := range b {
		if !sane(v) || v < 0 {
			b[q] = math.NaN()
		}
	}
	if !(s.Latency > 0) {
		b[latency] = math.NaN()
	}
	return b
}

// sane reports whether a value can be of this world: a broken counter shall not make
// infinities of sums.
func sane(v float64) bool { return math.Abs(v) < 1e15 }

// known reports whether enough blocks can tell a quantity on both sides: half of them. The
// others are then left out of what it takes part in.
func known(blocks []both, q quantity) bool {
	n := 0
	for _, b := range blocks {
		if b.knows(q) {
			n++
		}
	}
	return n > 0 && 2*n >= len(blocks)
}

func (b both) knows(q quantity) bool { return !math.IsNaN(b.base[q]) && !math.IsNaN(b.cand[q]) }

// of returns a quantity by block, those left out that cannot tell it.
func of(blocks []both, q quantity) series {
	var s series
	for _, b := range blocks {
		if b.knows(q) {
			s.base, s.cand = append(s.base, b.base[q]), append(s.cand, b.cand[q])
		}
	}
	return s
}
