package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"backslide/lab"
)

// slowestFactor is how much longer than planned a slice of fixed work may take on the
// slowest variant.
const slowestFactor = 5

// shorten cuts the fixed work that was found for the base to what the slowest variant can
// do in a few times the planned time: work for 0.4 s on a server that need not sync its
// log takes a minute on one that must. Levels whose step says how much work there is keep
// it. A variant that does not start, or a step that fails, is not this func's to judge.
func (c *Conductor) shorten(ctx context.Context, p lab.Plan, candidates []lab.Variant, asked, fitted []lab.LevelPlan) (err error) {
	free := make([]bool, len(fitted))
	for i, lp := range fitted {
		free[i] = asked[i].Ops == 0 && lp.Ops > 0 && !lp.Whole() && !lp.Warm
	}
	if !slices.Contains(free, true) {
		return nil
	}
	walls := make([]float64, len(fitted)) // seconds of all variants' slices of the base's work
	for i, lp := range fitted {
		walls[i] = lp.Slice.Seconds()
	}
	slowest := slices.Clone(walls)
	variants := 1
	for _, v := range candidates {
		if v.Copy > 0 {
			continue // the base again
		}
		rates, err := c.rates(ctx, p, v, asked, free)
		if err != nil {
			return err
		}
		variants++
		for i, rate := range rates {
			wall := walls[i] / float64(variants-1) // as the others, where it could not be tried
			if rate > 0 {
				wall = float64(fitted[i].Ops) / rate
			}
			walls[i] += wall
			slowest[i] = max(slowest[i], wall)
		}
	}
	for i := range fitted {
		lp := &fitted[i]
		if !free[i] {
			continue
		}
		clients := int64(lp.Level.Clients)
		share := 1.0
		if most := slowestFactor * lp.Slice.Seconds(); slowest[i] > most {
			share = most / slowest[i]
			lp.Ops = max(1, twoDigits(float64(lp.Ops)*share)/clients) * clients
		}
		lp.Slice = time.Duration(walls[i] / float64(variants) * share * float64(time.Second))
	}
	return nil
}

// rates returns the operations per second that v reaches at the levels that are free; 0
// where it does not say.
func (c *Conductor) rates(ctx context.Context, p lab.Plan, v lab.Variant, levels []lab.LevelPlan, free []bool) (_ []float64, err error) {
	out := make([]float64, len(levels))
	f, err := c.newFleet("calibrate")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.end()) }()
	c.phase("try what writes on %s", v)
	if err := f.startAll(ctx, []lab.Variant{v}); err != nil {
		return nil, err
	}
	s := f.servers[v]
	if s == nil {
		return out, nil
	}
	t := trials{c: c, plan: p, base: v, server: s}
	for i, lp := range levels {
		if !free[i] {
			continue
		}
		_, rate, err := t.level(ctx, lp)
		if fatal := fatal(ctx, err); err != nil && fatal != nil {
			return nil, fatal
		}
		out[i] = rate
	}
	return out, nil
}
