package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"backslide/lab"
)

// How a level's slices are chosen from its speed on the base.
const (
	pilot       = 100 * time.Millisecond // length of the trial
	opsPerSlice = 20                     // that each client should end in a read slice
	pacedOps    = 200                    // that end in a slice at a set rate, so that two are beyond its 99 %
	longest     = 10 * time.Second       // of a read slice
	writeFactor = 2                      // write slices are longer than read slices, and as much fewer
	quickTry    = time.Second            // fixed work that took less is tried twice
	longestTry  = 2 * time.Hour          // of fixed work
)

// Calibrate tries every level once on the base, the first of the variants, and fixes the
// length and number of its slices; levels that write get a number of operations, unless
// their step has one, that the slowest variant can do, and those at a share of the base's speed get their rate. An error of
// the base's server or of a statement is an error of the run, since nothing could be compared.
func (c *Conductor) Calibrate(ctx context.Context, p lab.Plan, variants []lab.Variant, levels []lab.LevelPlan) (_ []lab.LevelPlan, err error) {
	out := slices.Clone(levels)
	if !slices.ContainsFunc(levels, func(l lab.LevelPlan) bool { return !l.Whole() }) {
		for i := range out {
			out[i].Slices = 1
		}
		return out, nil // all of it can be done only once
	}
	base := variants[0]
	c.phase("calibrate on %s", base)
	f, err := c.newFleet("calibrate")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	if err := f.startAll(ctx, []lab.Variant{base}); err != nil {
		return nil, err
	}
	s := f.servers[base]
	if s == nil {
		return nil, fmt.Errorf("%w: %w", ErrBase, f.broken[base])
	}
	t := trials{c: c, plan: p, base: base, server: s, pilots: affordable(p, len(levels))}
	closed := map[lab.Level]float64{} // operations per second of those levels that found their own speed
	for i, lp := range levels {
		if lp.Whole() {
			out[i].Slices = 1
			continue
		}
		of := lab.Level{Step: lp.Level.Step.Closed(), Clients: lp.Level.Clients}
		if rate := closed[of]; lp.Open && rate > 0 {
			lp.Rate = twoDigitRate(p.Latency * rate)
			out[i] = fit(p, lp, rate)
			continue
		}
		if out[i], closed[of], err = t.level(ctx, lp); err != nil {
			return nil, fmt.Errorf("try %s on %s: %w", lp.Level, base, err)
		}
	}
	if err := c.shorten(ctx, p, variants[1:], levels, out); err != nil {
		return nil, err
	}
	return withinBudget(p, len(variants), out), nil
}

// trials tries levels on one server.
type trials struct {
	c      *Conductor
	plan   lab.Plan
	base   lab.Variant
	server Server
	pilots bool // the plan leaves it to pilots how many slices there are, and has time for them
}

// level tries a level: it returns its plan, and the operations per second that it reached.
func (t trials) level(ctx context.Context, lp lab.LevelPlan) (lab.LevelPlan, float64, error) {
	b := &blockRun{c: t.c, fleet: &fleet{servers: map[lab.Variant]Server{t.base: t.server}}}
	sess, err := b.open(ctx, t.base, t.server, Work{Level: lp.Level, Seed: t.plan.Seed, Block: -1})
	if err != nil {
		return lp, 0, err
	}
	defer sess.Close()
	one := func(spec Spec) (Outcome, error) { return b.slice(ctx, t.base, sess, spec, func() {}) }
	rate, err := speed(one, lp)
	if err != nil {
		return lp, 0, err
	}
	fitted := fit(t.plan, lp, rate)
	if !t.pilots || !pilotFits(t.plan, fitted) {
		return fitted, rate, nil
	}
	n, err := takePilot(one, t.plan, fitted, rate)
	if err != nil {
		return lp, 0, fmt.Errorf("pilot of its noise: %w", err)
	}
	return n.choose(t.plan, fitted), n.rate, nil
}

// speed returns the operations per second of a short trial.
func speed(one func(Spec) (Outcome, error), lp lab.LevelPlan) (float64, error) {
	long := max(pilot, lp.Grain)
	spec := Spec{Discard: pilot, Duration: long, Timeout: long + 10*slack}
	if lp.Ops > 0 {
		spec = Spec{Ops: lp.Ops, Timeout: longestTry}
	}
	out, err := one(spec)
	if err == nil && lp.Ops > 0 && out.Wall < quickTry.Seconds() {
		out, err = one(spec) // caches are warm now
	}
	if err != nil {
		return 0, err
	}
	if out.Ops == 0 || out.Wall <= 0 {
		return 0, errors.New("no operation ended")
	}
	return float64(out.Ops) / out.Wall, nil
}

// fit chooses slices for a level that reaches rate operations per second.
func fit(p lab.Plan, lp lab.LevelPlan, rate float64) lab.LevelPlan {
	clients := float64(lp.Level.Clients)
	lp.Spin = time.Duration(math.Abs(p.Inject) / rate * float64(time.Second))
	whole := time.Duration(p.Slices) * p.Slice // of a level in a block, about
	if lp.Ops > 0 {
		lp.Ops = max(1, lp.Ops/int64(clients)) * int64(clients)
		lp.Slice = time.Duration(float64(lp.Ops) / rate * float64(time.Second))
		lp.Slices = min(even(p.Slices), even(int(whole/lp.Slice)))
		return lp
	}
	if !lp.Read {
		lp.Slice = max(writeFactor*p.Slice, lp.Grain)
		lp.Slices = even(int(whole / lp.Slice))
		lp.Ops = twoDigits(rate * lp.Slice.Seconds())
		lp.Ops = max(1, lp.Ops/int64(clients)) * int64(clients)
		lp.Slice = time.Duration(float64(lp.Ops) / rate * float64(time.Second))
		return lp
	}
	perOp, ops := clients/rate, float64(opsPerSlice)
	if lp.Rate > 0 {
		perOp, ops = 1/lp.Rate, pacedOps
	}
	need := time.Duration(ops * perOp * float64(time.Second)).Round(10 * time.Millisecond)
	lp.Slice = min(max(p.Slice, need), max(p.Slice, longest))
	if g := lp.Grain; g > 0 {
		lp.Slice = (lp.Slice + g - 1).Truncate(g)
	}
	lp.Slices = even(int(whole / lp.Slice))
	return lp
}

// even returns the largest even number up to n, and at least 2.
func even(n int) int { return max(2, n/2*2) }

// twoDigits rounds to two significant digits, so that plans are readable.
func twoDigits(x float64) int64 {
	if x < 10 {
		return int64(math.Ceil(x))
	}
	scale := math.Pow(10, math.Floor(math.Log10(x))-1)
	return int64(math.Round(x/scale) * scale)
}

// twoDigitRate is twoDigits of a rate, which may be small.
func twoDigitRate(x float64) float64 { return float64(twoDigits(1000*x)) / 1000 }
