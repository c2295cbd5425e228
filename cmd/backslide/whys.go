package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"backslide/lab"
	"backslide/probe/stacks"
	"backslide/report"
	"backslide/store"
)

// mostWhys is how many explanations a page has at most: those of the largest differences.
const mostWhys = 20

// whys explains what was watched on both sides in a run, for its page: what was called
// first, and of that the largest differences.
func (e *env) whys(ctx context.Context, sum lab.Summary) ([]report.Why, error) {
	st, err := e.existingLab()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	seen, err := observations(ctx, st, sum.Run.ID)
	if err != nil || len(seen) == 0 {
		return nil, err
	}
	watched := slices.DeleteFunc(slices.Clone(sum.Comparisons), func(c lab.Comparison) bool {
		return c.Metric != lab.QPS || !hasBoth(seen, c)
	})
	slices.SortStableFunc(watched, func(a, b lab.Comparison) int { return byDifference(b, a) })
	var out []report.Why
	for i, c := range watched[:min(len(watched), mostWhys)] {
		x, err := explanation(ctx, st, sum.Run, c, seen)
		if err != nil {
			return nil, err
		}
		w := report.Why{Explanation: x}
		if w.Flame, err = flame(ctx, st, sum.Run, c, seen, fmt.Sprint(i)); err != nil {
			w.Doubts = append(w.Doubts, "no flame graph: "+err.Error())
		}
		out = append(out, w)
	}
	return out, nil
}

// flame draws the difference of the stacks of both sides of a comparison; nil if either
// side has none.
func flame(ctx context.Context, st *store.Store, r lab.Run, c lab.Comparison, seen []lab.Observation, id string) ([]byte, error) {
	a, b, err := bothProfiled(ctx, st, r, c, seen)
	if err != nil || a.Profile == nil || b.Profile == nil {
		return nil, err
	}
	return drawFlame(r, c, a, b, id)
}

// bothProfiled returns the stacks of both sides of a comparison.
func bothProfiled(ctx context.Context, st *store.Store, r lab.Run, c lab.Comparison, seen []lab.Observation) (base, candidate stacks.Side, err error) {
	kept, err := st.Kept(ctx, r.ID)
	if err != nil {
		return base, candidate, err
	}
	cand := ofCell(seen, c, c.Candidate)
	if base, err = profiled(st, kept, beside(ofCell(seen, c, c.Base), cand)); err != nil {
		return base, candidate, err
	}
	candidate, err = profiled(st, kept, cand)
	return base, candidate, err
}

func drawFlame(r lab.Run, c lab.Comparison, a, b stacks.Side, id string) ([]byte, error) {
	var spinners []stacks.Spinner
	for _, v := range []lab.Variant{c.Base, c.Candidate} {
		if side := r.Sides[v.String()]; side != nil {
			spinners = append(spinners, stacks.Spinners(side.Build.Family)...)
		}
	}
	d, err := stacks.Compare(a, b, spinners)
	if err != nil {
		return nil, err
	}
	root, err := stacks.Overlay(a, b, spinners, stacks.Anchors())
	if err != nil {
		return nil, err
	}
	var svg bytes.Buffer
	err = stacks.SVG{ID: id, Base: c.Base.String(), Candidate: c.Candidate.String(), Event: a.Profile.Event, Floor: d.Floor}.Write(&svg, root)
	return svg.Bytes(), err
}

// profiled adds up the stacks of one side over all rounds; without a profile if there are none.
func profiled(st *store.Store, kept []store.File, seen []lab.Observation) (stacks.Side, error) {
	var all []*stacks.Profile
	cpu, n := 0.0, 0
	for _, o := range seen {
		if o.Key.Kind != lab.Stacks.Kind() {
			continue
		}
		for _, f := range kept {
			if f.Kind != stacksKind || !slices.Contains(o.Files, f.Name) {
				continue
			}
			err := readKept(st, f, func(r io.Reader) error {
				p, err := stacks.ReadPprof(r)
				all = append(all, p)
				return err
			})
			if err != nil {
				return stacks.Side{}, fmt.Errorf("stacks %q: %w", f.Name, err)
			}
		}
		for _, f := range slices.Concat(o.Functions, o.Background) {
			cpu += f.Value
		}
		n++
	}
	if len(all) == 0 {
		return stacks.Side{}, nil
	}
	p, err := stacks.Merge(all...)
	if p != nil && p.Total().Samples == 0 {
		return stacks.Side{}, errors.Join(err, errors.New("the profiles have no samples"))
	}
	return stacks.Side{Profile: p, CPUPerOp: cpu / float64(n)}, err
}
