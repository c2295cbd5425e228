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

// revive starts a fresh server for a variant that lost its own, and brings its data to
// where the block is.
func (b *blockRun) revive(ctx context.Context, v lab.Variant) {
	b.fleet.restart(ctx, v)
	writes := b.wrote[v]
	b.wrote[v] = nil
	for _, w := range writes {
		b.replay(ctx, v, w)
	}
}

// replay executes a level's writes unmeasured, so that v's data are what they would be
// had the level been measured.
func (b *blockRun) replay(ctx context.Context, v lab.Variant, w write) {
	s := b.fleet.servers[v]
	if s == nil {
		b.wrote[v] = append(b.wrote[v], w)
		return
	}
	err := b.fleet.only([]lab.Variant{v})
	if err == nil {
		var sess Session
		if sess, err = b.open(ctx, v, s, Work{Level: w.plan.Level, Seed: b.run.Plan.Seed, Block: b.block}); err == nil {
			defer sess.Close()
			b.unquiet[v] = append(b.unquiet[v], sess.Notes()...)
			_, err = b.slice(ctx, v, sess, w.spec(), func() {})
		}
	}
	if err != nil && context.Cause(ctx) == nil {
		b.fleet.fail(v, fmt.Errorf("repeat %s: %w", w.plan.Level, err))
	}
	b.wrote[v] = append(b.wrote[v], w)
}
