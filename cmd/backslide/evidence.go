package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"backslide/explain"
	"backslide/lab"
	"backslide/probe/plan"
	"backslide/store"
)

// evidence is a stored run with what diagnoses of it have seen.
type evidence struct {
	store *store.Store
	run   lab.Run
	seen  []lab.Observation // by round

	symbols string // the user's directory with files of symbols; "": none
}

// evidenceOf reads what diagnoses of a run have seen: of the given cells, or of all
// without any. symbols is the user's directory with files of symbols; "": none.
func evidenceOf(ctx context.Context, st *store.Store, r lab.Run, symbols string, of ...lab.Cell) (evidence, error) {
	ev := evidence{store: st, run: r, symbols: symbols}
	kept, err := st.Kept(ctx, r.ID)
	if err != nil {
		return ev, err
	}
	for _, f := range kept {
		if f.Kind != observationKind || len(of) > 0 && !slices.ContainsFunc(of, func(c lab.Cell) bool { return isOf(f.Name, c) }) {
			continue
		}
		var o lab.Observation
		if err := readKept(st, f, func(r io.Reader) error { return json.NewDecoder(r).Decode(&o) }); err != nil {
			return ev, fmt.Errorf("observation %q of run %d: %w", f.Name, r.ID, err)
		}
		ev.seen = append(ev.seen, o)
	}
	return ev, nil
}

// explain judges what is known of a comparison, and returns the stacks that it has the
// call tree from.
func (ev evidence) explain(ctx context.Context, c lab.Comparison) (lab.Explanation, profiles, error) {
	p, unread := ev.profiles(ctx, c)
	in := explain.Input{
		Comparison: c, Run: ev.run, At: time.Now(),
		BaseSeen: p.baseSeen, CandidateSeen: p.candidateSeen, PlanDiff: planDiff,
	}
	for _, side := range []struct {
		v  lab.Variant
		to *[]lab.Slice
	}{{c.Base, &in.Base}, {c.Candidate, &in.Candidate}} {
		var err error
		if *side.to, err = ev.store.Slices(ctx, ev.run.ID, store.Filter{Kind: lab.Measured, Variant: &side.v, Level: &c.Level}); err != nil {
			return lab.Explanation{}, profiles{}, err
		}
	}
	x := explain.Explain(in)
	if unread == nil && p.both() {
		x.SampledBy = p.base.Profile.Event
		x.Calls, unread = p.calls()
	}
	if unread != nil {
		x.Doubts = append(x.Doubts, "no call tree: "+unread.Error())
	}
	return x, p, nil
}

// planDiff says in what the plans of a statement differ.
func planDiff(base, candidate lab.StatementPlan) []string {
	var b, c plan.Node
	if json.Unmarshal(base.Node, &b) != nil || json.Unmarshal(candidate.Node, &c) != nil || plan.Equal(&b, &c) {
		return nil
	}
	return plan.Diff(&b, &c)
}

// beside returns those observations of the base that were made in the rounds and sets of
// the candidate's: it is watched once with each set of candidates.
func beside(base, candidate []lab.Observation) []lab.Observation {
	type place struct{ round, set int }
	of := map[place]bool{}
	for _, o := range candidate {
		of[place{o.Key.Block, o.Key.Set}] = true
	}
	return slices.DeleteFunc(base, func(o lab.Observation) bool { return !of[place{o.Key.Block, o.Key.Set}] })
}

// of returns the observations of one side of a comparison.
func (ev evidence) of(c lab.Comparison, v lab.Variant) []lab.Observation {
	var out []lab.Observation
	for _, o := range ev.seen {
		if o.Key.Cell.Variant == v && o.Key.Cell.Level() == c.Level {
			out = append(out, o)
		}
	}
	return out
}

// both reports whether both sides of a comparison were watched.
func (ev evidence) both(c lab.Comparison) bool {
	return len(ev.of(c, c.Base)) > 0 && len(ev.of(c, c.Candidate)) > 0
}

// sides returns both cells of a comparison.
func sides(c lab.Comparison) []lab.Cell {
	return []lab.Cell{
		{Variant: c.Base, Step: c.Level.Step, Clients: c.Level.Clients},
		{Variant: c.Candidate, Step: c.Level.Step, Clients: c.Level.Clients},
	}
}

// readKept reads a kept file.
func readKept(st *store.Store, f store.File, read func(io.Reader) error) error {
	c, err := st.Content(f.Digest)
	if err != nil {
		return err
	}
	return errors.Join(read(c), c.Close())
}
