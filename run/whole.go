package run

import (
	"context"
	"fmt"
	"time"

	"backslide/lab"
)

// A level that is whole is minutes of work that cannot be cut or done again. While one
// server does it, all others stand still, with whatever they still have to do in the
// background: what they would do meanwhile, such as purging, would be the other's noise.

// whole runs the one slice that each variant has of a level.
func (b *blockRun) whole(ctx context.Context, lp lab.LevelPlan, turns []lab.SliceKey) error {
	for _, k := range turns {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := b.wholeTurn(ctx, lp, k); err != nil {
			return err
		}
		if !lp.Read {
			v := k.Cell.Variant
			b.wrote[v] = append(b.wrote[v], write{lp, lp.Ops})
		}
	}
	return nil
}

func (b *blockRun) wholeTurn(ctx context.Context, lp lab.LevelPlan, k lab.SliceKey) error {
	v := k.Cell.Variant
	if err := b.only(ctx, []lab.Variant{v}); err != nil {
		return err
	}
	ss := sessions{}
	defer ss.close()
	// What an interrupted execution has measured is done again for what it leaves.
	if err := b.join(ctx, lp, v, []lab.SliceKey{k}, ss); err != nil {
		return err
	}
	if _, ok := b.done[k]; ok {
		return nil
	}
	return b.turn(ctx, lp, k, ss)
}

// follow begins to observe a whole slice second by second, if anybody can.
func (c *Conductor) follow(ctx context.Context, v lab.Variant, s Server) func() ([]lab.Series, []lab.Reading) {
	if c.Follow == nil {
		return func() ([]lab.Series, []lab.Reading) { return nil, nil }
	}
	return c.Follow(ctx, v, s)
}

// into says how far into a whole slice something went wrong.
func into(lp lab.LevelPlan, began time.Time, err error) error {
	if !lp.Whole() {
		return err
	}
	return fmt.Errorf("%.1f s into the step, at %s: %w", time.Since(began).Seconds(), time.Now().Format(time.TimeOnly), err)
}

// learn gives whole levels, whose length nobody knows beforehand, the mean length of the
// slices so far, for the time that is left.
func learn(levels []lab.LevelPlan, slices []lab.Slice) []lab.LevelPlan {
	sum, n := map[lab.Level]time.Duration{}, map[lab.Level]time.Duration{}
	for _, s := range slices {
		if s.Err == "" {
			sum[s.Cell.Level()] += time.Duration(s.Wall * float64(time.Second))
			n[s.Cell.Level()]++
		}
	}
	out := append([]lab.LevelPlan(nil), levels...)
	for i, l := range out {
		if l.Whole() && n[l.Level] > 0 {
			out[i].Slice = sum[l.Level] / n[l.Level]
		}
	}
	return out
}
