package compare

import (
	"fmt"
	"math"
	"slices"

	"backslide/lab"
	"backslide/stat"
)

// Thresholds of the noise diagnosis.
const (
	oddP       = 0.001 // p-value under which something is said that ought not to be
	otherWork  = 0.05  // share of all CPU time, used by others or stolen, from which on it is the advice
	mostLonger = 4     // times the planned slices that are recommended at most
)

// noise diagnoses every pair by throughput, which is the first of its series.
func (j *judge) noise(pairs []*pair) lab.Noise {
	out := lab.Noise{Drops: j.drops()}
	costs := j.overhead()
	for _, p := range pairs {
		if len(p.mirrors) > 0 {
			out.Pairs = append(out.Pairs, j.pairNoise(p, costs))
		}
	}
	out.Advice = commonAdvice(out.Pairs)
	return out
}

// pairNoise splits the noise of a pair into its parts.
func (j *judge) pairNoise(p *pair, overhead float64) lab.PairNoise {
	n := lab.PairNoise{Candidate: p.candidate, Level: p.plan.Level, Dropped: p.dropped, Overhead: overhead}
	diffs, laters, levels := p.byBlock()
	n.Blocks = len(diffs)
	n.Mirrors = float64(len(p.mirrors)) / float64(n.Blocks)
	for _, m := range p.mirrors {
		n.Measured += m.wall / float64(n.Blocks)
	}
	slice, restart := stat.Components(diffs)
	drift, _ := stat.Components(laters)
	n.SliceSD, n.RestartSD, n.DriftSD = sqrt(slice), sqrt(restart), sqrt(math.Max(0, drift-slice))
	if math.IsNaN(drift - slice) {
		n.DriftSD = -1
	}
	n.IAT = stat.Resemblance(diffs)
	order, p1 := stat.Zero(means(laters))
	n.Order, n.OrderP = knownOr(order, 0), knownOr(p1, -1)
	n.Best = -1
	if n.Blocks >= firstLook && slice > 0 && n.Overhead > 0 {
		j.economy(&n, p, slice, restart)
	}
	j.outside(&n, p)
	strained(&n, j.of(j.run.Base, p.plan.Level).strain, j.of(p.candidate, p.plan.Level).strain)
	n.Notes = append(steady(p, diffs, levels), unlikeHost(n)...)
	n.Advice = advice(n, p.plan.Slices)
	return n
}

// economy fills in how long to measure in a block, from the parts of the noise.
func (j *judge) economy(n *lab.PairNoise, p *pair, slice, restart float64) {
	perMirror := n.Measured / n.Mirrors
	most := float64(mostLonger * max(2, p.plan.Slices))
	n.Best = math.Min(stat.SliceSeconds(n.Overhead, slice*n.IAT*perMirror, restart), most*perMirror/2)
	n.Slices = max(2, 2*int(math.Round(n.Best/perMirror)))
}

// outside fills in what host, server and client were doing meanwhile.
func (j *judge) outside(n *lab.PairNoise, p *pair) {
	a, b := j.of(j.run.Base, p.plan.Level).use, j.of(p.candidate, p.plan.Level).use
	cpus := float64(max(1, j.run.Host.CPUs))
	rate := func(x, y, per float64) float64 {
		if x < 0 || y < 0 {
			return -1
		}
		return (x + y) / (a.wall + b.wall) / per
	}
	n.Steal, n.HostBusy = rate(a.steal, b.steal, cpus), rate(a.busy, b.busy, cpus)
	n.Runq, n.MajorFaults = rate(a.runq, b.runq, 1), rate(a.faults, b.faults, 1)
	both := use{wall: a.wall + b.wall, client: rate(a.client, b.client, 1), server: rate(a.server, b.server, 1)}
	both.client *= both.wall
	both.server *= both.wall
	n.ClientBusy, n.ServerBusy, _ = j.busy(both, p.plan.Level.Clients)
}

// byBlock returns differences, order contrasts and levels of mirrored groups by block.
// Contrasts that are not known are left out.
func (p *pair) byBlock() (diffs, laters, levels [][]float64) {
	for i, m := range p.mirrors {
		if i == 0 || m.block != p.mirrors[i-1].block {
			diffs, laters, levels = append(diffs, nil), append(laters, nil), append(levels, nil)
		}
		b := len(diffs) - 1
		diffs[b] = append(diffs[b], m.diff)
		levels[b] = append(levels[b], m.level)
		if !math.IsNaN(m.later) {
			laters[b] = append(laters[b], m.later)
		}
	}
	return diffs, laters, levels
}

// means returns the means of blocks that have values.
func means(blocks [][]float64) []float64 {
	var out []float64
	for _, b := range blocks {
		if len(b) == 0 {
			continue
		}
		sum := 0.0
		for _, x := range b {
			sum += x
		}
		out = append(out, sum/float64(len(b)))
	}
	return out
}

// sqrt returns a variance's root, −1 for one that is not known.
func sqrt(v float64) float64 {
	if math.IsNaN(v) {
		return -1
	}
	return math.Sqrt(v)
}

// knownOr returns x, or another value for NaN.
func knownOr(x, or float64) float64 {
	if math.IsNaN(x) {
		return or
	}
	return x
}

// overhead returns the seconds per cell and block that go neither into measuring nor into
// the discarded starts of slices: restarts, clones, warm-up, connecting. It is the median
// over blocks, 0 where the slices' times do not tell.
func (j *judge) overhead() float64 {
	type span struct {
		from, to int64
		used     float64
		cells    int
	}
	blocks := map[int32]*span{}
	for _, l := range j.levels {
		for _, v := range j.run.Variants {
			last := int32(-1)
			for _, o := range j.of(v, l.Level).good {
				b, ok := blocks[o.block]
				if !ok {
					b = &span{from: o.start, to: o.start}
					blocks[o.block] = b
				}
				b.from = min(b.from, o.start)
				b.to = max(b.to, o.start+int64(o.wall*1e9))
				b.used += o.wall
				if l.Timed() {
					b.used += j.plan.Discard.Seconds()
				}
				if o.block != last {
					b.cells++
					last = o.block
				}
			}
		}
	}
	var each []float64
	for n, b := range blocks {
		lost := float64(b.to-b.from)/1e9 - b.used
		if next, ok := blocks[n+1]; ok {
			lost += float64(next.from-b.to) / 1e9
		}
		each = append(each, lost/float64(b.cells))
	}
	if len(each) == 0 {
		return 0
	}
	slices.Sort(each)
	return math.Max(0, each[len(each)/2])
}

// advice says in a sentence what would make a pair's differences surer; "" when too
// little is known. What comes from outside goes first: it is cheapest to mend.
func advice(n lab.PairNoise, planned int) string {
	inBlock := n.SliceSD * n.SliceSD * n.IAT / n.Mirrors // of a block's variance, by its slices
	switch {
	case math.Max(0, n.Steal) >= otherWork:
		return fmt.Sprintf("the hypervisor takes %.0f %% of the CPU time: measure at another hour or on another machine", 100*n.Steal)
	case math.Max(0, n.HostBusy) >= otherWork:
		return fmt.Sprintf("other work takes %.0f %% of the CPU time: stop it", 100*n.HostBusy)
	case n.Throttled > 0:
		return fmt.Sprintf("CPUs were slowed down for their heat %d times: cool the machine, or limit its frequency", n.Throttled)
	case n.StallMemory >= shortMemory:
		return fmt.Sprintf("tasks waited for memory in %.0f %% of the time: smaller caches, or fewer servers at once", 100*n.StallMemory)
	case n.Blocks < firstLook || n.SliceSD < 0 || n.RestartSD < 0:
		return ""
	case n.DriftSD > n.SliceSD && n.OrderP >= 0 && n.OrderP < oddP:
		return fmt.Sprintf("the host changes by %s within a mirrored group: shorter slices", percent(n.DriftSD))
	case n.RestartSD*n.RestartSD > inBlock:
		return fmt.Sprintf("one start of a server differs from the next by %s, slices leave %s: more blocks help, longer ones do not", percent(n.RestartSD), percent(math.Sqrt(inBlock)))
	case n.Slices > planned:
		return fmt.Sprintf("slices leave %s, starts of a server differ by %s: %d slices per block instead of %d", percent(math.Sqrt(inBlock)), percent(n.RestartSD), n.Slices, planned)
	}
	return "slices and starts of a server are in balance: only more blocks help"
}

// commonAdvice returns what most pairs are advised.
func commonAdvice(pairs []lab.PairNoise) string {
	kinds := []struct {
		text string
		is   func(lab.PairNoise) bool
	}{
		{"the hypervisor takes CPU time: measure at another hour or on another machine", func(n lab.PairNoise) bool { return n.Steal >= otherWork }},
		{"other work on this host disturbs: stop it", func(n lab.PairNoise) bool { return n.HostBusy >= otherWork }},
		{"starts of a server differ more than slices: more blocks, not longer ones", func(n lab.PairNoise) bool {
			return n.RestartSD*n.RestartSD*n.Mirrors > n.SliceSD*n.SliceSD*n.IAT
		}},
		{"slices differ more than starts of a server: more of them in a block", func(n lab.PairNoise) bool {
			return n.RestartSD*n.RestartSD*n.Mirrors <= n.SliceSD*n.SliceSD*n.IAT
		}},
	}
	var best string
	most := 0
	for i, k := range kinds {
		n := 0
		for _, p := range pairs {
			if (i < 2 || p.Blocks >= firstLook && p.SliceSD >= 0 && p.RestartSD >= 0) && k.is(p) {
				n++
			}
		}
		if n > most {
			best, most = fmt.Sprintf("%s (%d of %d)", k.text, n, len(pairs)), n
		}
	}
	return best
}
