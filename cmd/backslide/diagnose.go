package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"backslide/lab"
	"backslide/probe/stacks"
	"backslide/run"
)

// looking says how a diagnosis watches.
type looking struct {
	rounds    int           // how often servers are started for it
	slice     time.Duration // of slices at least
	callGraph string        // how callers are found, as perf names it
}

// watchedSlice is the usual length of a watched slice: enough samples of stacks, and
// longer than what reading the counters takes.
const watchedSlice = time.Second

// diagnose watches both sides of comparisons, on servers started for it.
func (e *env) diagnose(ctx context.Context, ev evidence, cs []lab.Comparison, how looking) (err error) {
	r, st := ev.run, ev.store
	s, err := e.setup(ctx, r.Experiment)
	if err != nil {
		return fmt.Errorf("diagnose run %d: %w", r.ID, err)
	}
	if err := errors.Join(sameBuilds(r, s), sameWorkloads(ctx, st, r.ID, s)); err != nil {
		return fmt.Errorf("diagnose run %d: %w", r.ID, err)
	}
	unlock, err := lockLab(st.Dir())
	if err != nil {
		return err
	}
	defer unlock()
	p := newProgress(e.stderr, 0)
	defer p.close()
	w, err := e.wire(ctx, st, s, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.conductor.Sweep(); err != nil {
		return err
	}
	if err := w.conductor.Prepare(ctx, r.Variants); err != nil {
		return err
	}
	return w.look(ctx, s, ev, cs, how)
}

// diagnose watches everything that was called in a run that has just ended.
func (w *wiring) diagnose(ctx context.Context, s *setup, sum lab.Summary) error {
	called := allCalled(sum)
	if len(called) == 0 {
		return nil
	}
	ev, err := evidenceOf(ctx, w.store, sum.Run, w.symbols)
	if err != nil {
		return err
	}
	return w.look(ctx, s, ev, called, looking{sum.Run.Plan.Diagnose, watchedSlice, stacks.FramePointers})
}

// look has the conductor watch comparisons of a run, in rounds after those that it has.
func (w *wiring) look(ctx context.Context, s *setup, ev evidence, cs []lab.Comparison, how looking) error {
	wanted := map[pair]bool{}
	for _, c := range cs {
		wanted[pair{c.Level, c.Candidate}] = true
	}
	next := 0
	for _, o := range ev.seen {
		next = max(next, o.Key.Block+1)
	}
	return w.conductor.Diagnose(ctx, ev.run, run.Diagnosis{
		Open:        func(l lab.Level, v lab.Variant) bool { return wanted[pair{l, v}] },
		Instruments: []lab.Instrument{lab.Plain, lab.Stacks, lab.Plans, lab.Waits},
		First:       next, Rounds: how.rounds, Slice: how.slice,
	}, newWatcher(w, s, ev.run, how.callGraph))
}

// toWatch returns what is to be watched: the comparison that is explained and, if all are
// asked for, what else was called. What was watched already is so again only if asked for.
func toWatch(sum lab.Summary, explained lab.Comparison, ev evidence, f explainFlags) []lab.Comparison {
	cs := []lab.Comparison{explained}
	if f.all {
		cs = append(cs, allCalled(sum)...)
	}
	return slices.DeleteFunc(cs, func(c lab.Comparison) bool { return f.stored || ev.both(c) && !f.again })
}

// allCalled returns the comparisons by throughput that have a verdict of a difference.
func allCalled(sum lab.Summary) []lab.Comparison {
	return slices.DeleteFunc(slices.Clone(sum.Comparisons), func(c lab.Comparison) bool { return c.Metric != lab.QPS || !isCalled(c) })
}

func isCalled(c lab.Comparison) bool { return c.Verdict == lab.Regressed || c.Verdict == lab.Improved }
