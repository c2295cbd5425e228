package run

import (
	"context"
	"fmt"
	"time"

	"backslide/lab"
)

// Writes change what later slices find. So every server of a level executes the same
// ones, whether they are measured on it or not: this file is about those that are not.

// write is what a server has executed of a level, for what it left.
type write struct {
	plan lab.LevelPlan
	ops  int64
}

// spec runs the write unmeasured.
func (w write) spec() Spec {
	if w.plan.Whole() {
		return Spec{Ops: w.ops, Timeout: w.plan.Limit + slack}
	}
	whole := w.plan.Slice * time.Duration(w.plan.Slices)
	if w.plan.Timed() {
		return Spec{Duration: whole, Timeout: whole + 10*slack}
	}
	return Spec{Ops: w.ops, Timeout: 10*whole + 10*slack}
}

// before counts v's slices that come before the first of turns that is still missing:
// those an interrupted execution has stored, and those of the half that another phase ran.
func (b *blockRun) before(v lab.Variant, turns []lab.SliceKey) int64 {
	n := int64(0)
	for _, k := range turns {
		if k.Cell.Variant != v {
			continue
		}
		if _, ok := b.done[k]; !ok {
			return int64(k.Seq)
		}
		n = int64(k.Seq) + 1
	}
	return n
}

// rest executes those of a level's writes that another phase measures, so that the next
// level finds the same data in every phase.
func (b *blockRun) rest(ctx context.Context, lp lab.LevelPlan, v lab.Variant, sess Session, turns []lab.SliceKey) error {
	left := int64(lp.Slices) - b.before(v, turns)
	if left <= 0 {
		return nil
	}
	if _, err := b.slice(ctx, v, sess, write{lp, left * lp.Ops}.spec(), func() {}); err != nil {
		if fatal := fatal(ctx, err); fatal != nil {
			return fatal
		}
		return b.lost(ctx, v, fmt.Errorf("end the writes of %s: %w", lp.Level, err))
	}
	return nil
}

// mostStarts is how many servers a variant gets in a block: one that dies again and again
// is not worth the time.
const mostStarts = 3

// reviveAll starts fresh servers for those of a set that have none, or whose own died
// while nobody looked.
func (b *blockRun) reviveAll(ctx context.Context, set []lab.Variant) error {
	if err := b.lose(ctx, b.fleet.dead()); err != nil {
		return err
	}
	for _, v := range set {
		if b.fleet.servers[v] == nil && b.fleet.starts[v] < mostStarts {
			if err := b.revive(ctx, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// revive starts a fresh server for a variant that lost its own, and brings its data to
// where the block is.
func (b *blockRun) revive(ctx context.Context, v lab.Variant) error {
	b.fleet.restart(ctx, v)
	writes := b.wrote[v]
	b.wrote[v] = nil
	for _, w := range writes {
		if err := b.replay(ctx, v, w); err != nil {
			return err
		}
	}
	return nil
}

// replay executes a level's writes unmeasured, so that v's data are what they would be
// had the level been measured. A server that fails at it is lost.
func (b *blockRun) replay(ctx context.Context, v lab.Variant, w write) error {
	b.wrote[v] = append(b.wrote[v], w)
	if err := b.only(ctx, []lab.Variant{v}); err != nil {
		return err
	}
	s := b.fleet.servers[v]
	if s == nil {
		return nil
	}
	sess, err := b.open(ctx, v, s, Work{Level: w.plan.Level, Seed: b.run.Plan.Seed, Block: b.block})
	if err == nil {
		b.unquiet[v] = append(b.unquiet[v], sess.Notes()...)
		_, err = b.slice(ctx, v, sess, w.spec(), func() {})
		sess.Close()
	}
	if err == nil {
		return nil
	}
	if fatal := fatal(ctx, err); fatal != nil {
		return fatal
	}
	return b.lost(ctx, v, fmt.Errorf("repeat %s: %w", w.plan.Level, err))
}
