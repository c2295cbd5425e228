package main

import (
	"context"
	"fmt"

	"backslide/compare"
	"backslide/lab"
	"backslide/run"
	"backslide/stat"
	"backslide/store"
)

// pair is one candidate at one level.
type pair struct {
	level     lab.Level
	candidate lab.Variant
}

// confirm runs the differences that an earlier run found again. Only they are measured;
// writes before them are repeated, so that they find the same data.
func (e *env) confirm(ctx context.Context, name string) error {
	r, found, err := e.toConfirm(ctx, name)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		_, err := fmt.Fprintf(e.stdout, "run %d found no difference that could be confirmed\n", r.ID)
		return err
	}
	x := r.Experiment
	x.Plan.Confirms, x.Plan.AA = r.ID, false
	x.Plan.Alpha, x.Plan.Stop = compare.ConfirmAlpha, lab.UntilAmber
	x.Plan.Seed++ // other operations, other order, other rows
	s, err := e.setup(ctx, x)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "confirm %s of run %d\n", plural(len(found), "comparison"), r.ID)
	_, err = e.execute(ctx, s, nil)
	return err
}

// toConfirm returns the run of that name, and what it found.
func (e *env) toConfirm(ctx context.Context, name string) (lab.Run, map[pair]bool, error) {
	st, err := e.existingLab()
	if err != nil {
		return lab.Run{}, nil, err
	}
	defer st.Close()
	runs, err := st.Runs(ctx)
	if err != nil {
		return lab.Run{}, nil, err
	}
	r, err := runArg(runs, name)
	if err != nil {
		return r, nil, err
	}
	found, err := suspects(ctx, st, r.ID, new(stat.Boundaries))
	return r, found, err
}

// suspects returns what a run found that a confirmation is to measure again; nil for run 0.
func suspects(ctx context.Context, st *store.Store, id int64, b *stat.Boundaries) (map[pair]bool, error) {
	if id == 0 {
		return nil, nil
	}
	r, slices, err := measured(ctx, st, id)
	if err != nil {
		return nil, fmt.Errorf("the run to be confirmed: %w", err)
	}
	found, err := compare.Suspects(r, slices, b)
	if err != nil {
		return nil, err
	}
	out := map[pair]bool{}
	for _, c := range found {
		out[pair{c.Level, c.Candidate}] = true
	}
	return out, nil
}

// measured returns a run with its measured slices.
func measured(ctx context.Context, st *store.Store, id int64) (lab.Run, []lab.Slice, error) {
	r, err := st.Run(ctx, id)
	if err != nil {
		return r, nil, err
	}
	slices, err := st.Slices(ctx, id, store.Filter{Kind: lab.Measured})
	return r, slices, err
}

// outlook judges a run for its conductor. Where only some pairs are to be measured, all
// others are done.
func outlook(r lab.Run, slices []lab.Slice, b *stat.Boundaries, only map[pair]bool) (run.Outlook, error) {
	var t compare.Tally
	for _, s := range slices {
		t.Add(s)
	}
	cs, err := t.Verdicts(r, b)
	if err != nil {
		return run.Outlook{}, err
	}
	f, err := t.Forecast(r, b)
	if err != nil {
		return run.Outlook{}, err
	}
	for i, c := range cs {
		cs[i].Done = c.Done || only != nil && !only[pair{c.Level, c.Candidate}]
	}
	return run.Outlook{Comparisons: cs, Left: f.Left}, nil
}
