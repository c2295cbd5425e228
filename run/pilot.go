package run

import (
	"errors"
	"fmt"
	"math"
	"time"

	"backslide/lab"
)

// How many slices a level needs is a question of its noise, and has to be answered before
// the first block: to change them later would make blocks unlike each other. So the base
// is measured against itself for a moment: slices of one server, in a row, are taken in
// fours as if they were of two sides in mirrored order.
const (
	// A pilot is short, so that many levels are tried in seconds: slices of an eighth of the
	// planned length where that holds operations enough, of the whole length and half as
	// many where it has to.
	pilotSlices = 16
	pilotPart   = 8
	// restartSD is by how much a block's difference is taken to vary for the servers' being
	// started afresh, before any block can tell: 1.5 % on either side.
	restartSD = 0.015 * math.Sqrt2
	// little is what slices may add to the variance of a block's difference, as a share of
	// what restarts do.
	little = 0.5
	// A level has at least two mirrored groups, so that the noise within a block can be
	// told from that between blocks, and at most so many times the slices of the plan.
	fewest     = 4
	mostLonger = 4
	// pilotShare is the share of a budget that pilots may take.
	pilotShare = 0.05
	// enoughBlocks is how many blocks a budget should have room for.
	enoughBlocks = 10
)

// noise is what a pilot has found of a level.
type noise struct {
	rate   float64       // operations per second
	length time.Duration // of slices that are best used
	sd     float64       // of a mirrored group's difference with them, as a log-ratio
	taken  time.Duration // length of the pilot's own slices
	count  int           // of them
}

// affordable reports whether the plan leaves the number of slices to pilots, and has time
// for them.
func affordable(p lab.Plan, levels int) bool {
	cost := time.Duration(levels*pilotSlices) * p.Slice / pilotPart
	return p.FitSlices && (p.Budget == 0 || float64(cost) <= pilotShare*float64(p.Budget))
}

// pilotFits reports whether a level is one for a pilot: its operations are short, so that
// slices can be many, leave the data as they were, and are ours: another tool starts anew
// with each slice.
func pilotFits(p lab.Plan, lp lab.LevelPlan) bool {
	return lp.Timed() && !lp.Warm && !lp.Open && lp.Grain == 0 && lp.Slice == p.Slice
}

// takePilot measures the noise of a level that reaches rate operations per second.
func takePilot(one func(Spec) (Outcome, error), p lab.Plan, lp lab.LevelPlan, rate float64) (noise, error) {
	n := noise{length: p.Slice, taken: p.Slice / pilotPart, count: pilotSlices}
	for opsPerSlice*float64(lp.Level.Clients)/rate > n.taken.Seconds() && n.taken < p.Slice {
		n.taken *= 2
	}
	if n.taken > p.Slice/2 {
		n.count /= 2
	}
	var ln []float64
	var ops, wall float64
	for i := range n.count {
		out, err := one(Spec{Seq: i, Duration: n.taken, Timeout: n.taken + slack}) // nobody else ran before it
		if err != nil {
			return noise{}, err
		}
		if out.Ops == 0 || out.Wall <= 0 {
			return noise{}, errors.New("no operation ended")
		}
		ops, wall = ops+float64(out.Ops), wall+out.Wall
		ln = append(ln, math.Log(float64(out.Ops)/out.Wall))
	}
	n.rate = ops / wall
	// Variance times seconds: the same for slices of any length when each is noise of its
	// own, more for longer ones where the host is disturbed for longer than a slice.
	short, long := contrast(ln)*n.taken.Seconds(), contrast(pairs(ln))*2*n.taken.Seconds()
	half := p.Slice / 2
	if p.FitLength && long > 2*short && opsPerSlice*float64(lp.Level.Clients)/rate <= half.Seconds() {
		n.length = half // neighbours cancel better when slices are short
	}
	n.sd = math.Sqrt((short + long) / 2 / n.length.Seconds())
	return n, nil
}

// contrast returns the variance of the difference that mirrored groups ABBA of consecutive
// values have, over all places where such a group can begin. The true difference is zero.
func contrast(x []float64) float64 {
	sum, n := 0.0, 0
	for i := 0; i+3 < len(x); i++ {
		d := (x[i] - x[i+1] - x[i+2] + x[i+3]) / 2
		sum += d * d
		n++
	}
	return sum / float64(max(1, n))
}

// pairs returns the means of neighbours.
func pairs(x []float64) []float64 {
	var out []float64
	for i := 0; i+1 < len(x); i += 2 {
		out = append(out, (x[i]+x[i+1])/2)
	}
	return out
}

// choose returns the level with as many slices as its noise calls for.
func (n noise) choose(p lab.Plan, lp lab.LevelPlan) lab.LevelPlan {
	groups := math.Ceil(n.sd * n.sd / (little * restartSD * restartSD))
	most := even(int(mostLonger * float64(p.Slices) * p.Slice.Seconds() / n.length.Seconds()))
	lp.Slice, lp.Noise = n.length, n.sd
	lp.Slices = max(fewest, min(2*int(math.Min(groups, 1e6)), most))
	lp.Why = fmt.Sprintf("a mirrored group of slices of %s varies by %.1f %%, going by %d slices of %s on the base; a restart is taken to vary by %.1f %%",
		n.length, 100*n.sd, n.count, n.taken, 100*restartSD)
	if lp.Slices == most && 2*int(math.Min(groups, 1e6)) > most {
		lp.Why += fmt.Sprintf("; %d slices would be better, and are too long", 2*int(math.Min(groups, 1e6)))
	}
	return lp
}

// withinBudget takes slices away from those levels that pilots gave more time than the
// plan has, the longest first, until the budget has room for enough blocks.
func withinBudget(p lab.Plan, variants int, levels []lab.LevelPlan) []lab.LevelPlan {
	wanted := make([]int, len(levels))
	for i, lp := range levels {
		wanted[i] = lp.Slices
	}
	for blocks := time.Duration(min(p.BlocksMax, enoughBlocks)); p.Budget > 0 && blocks*blockTime(p, variants, levels) > p.Budget; {
		most := -1
		for i, lp := range levels {
			if lp.Noise > 0 && lp.Slices > fewest && cellTime(p, lp) > time.Duration(p.Slices)*(p.Slice+p.Discard) &&
				(most < 0 || cellTime(p, lp) > cellTime(p, levels[most])) {
				most = i
			}
		}
		if most < 0 {
			break
		}
		levels[most].Slices -= 2
	}
	for i := range levels {
		if levels[i].Slices < wanted[i] {
			levels[i].Why += fmt.Sprintf("; the budget has no time for %d slices", wanted[i])
		}
	}
	return levels
}

// cellTime is about how long the slices of a cell take in a block.
func cellTime(p lab.Plan, lp lab.LevelPlan) time.Duration {
	return time.Duration(lp.Slices) * (lp.Slice + p.Discard)
}

// blockTime is about how long a block takes.
func blockTime(p lab.Plan, variants int, levels []lab.LevelPlan) time.Duration {
	d := startTime
	for _, lp := range levels {
		d += cellTime(p, lp)
		if lp.Read {
			d += p.Warm
		}
	}
	return time.Duration(variants) * d
}
