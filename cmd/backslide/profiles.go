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
	"backslide/store"
)

// profiles are the call stacks of both sides of a comparison, those of all rounds added up.
type profiles struct {
	base, candidate stacks.Side
	baseSeen        []lab.Observation // with the names that the stacks have
	candidateSeen   []lab.Observation
	spinners        []stacks.Spinner // of both families
}

// profiles reads the stacks of both sides of a comparison, with the names that functions
// have by the symbols that are there now: in the user's directory, and where they are
// looked for anyway. With an error it still has what was seen.
func (ev evidence) profiles(ctx context.Context, c lab.Comparison) (profiles, error) {
	p := profiles{candidateSeen: ev.of(c, c.Candidate)}
	p.baseSeen = beside(ev.of(c, c.Base), p.candidateSeen)
	kept, err := ev.store.Kept(ctx, ev.run.ID)
	if err != nil {
		return p, err
	}
	for _, s := range []struct {
		v    lab.Variant
		to   *stacks.Side
		seen *[]lab.Observation
	}{{c.Base, &p.base, &p.baseSeen}, {c.Candidate, &p.candidate, &p.candidateSeen}} {
		names := &stacks.Files{}
		if side := ev.run.Sides[s.v.String()]; side != nil {
			names.Debug = symbolDirs(ev.symbols, side.Build)
			p.spinners = append(p.spinners, stacks.Spinners(side.Build.Family)...)
		}
		if *s.to, *s.seen, err = profiled(ev.store, kept, *s.seen, names); err != nil {
			return p, err
		}
	}
	return p, nil
}

// profiled adds up the stacks of one side over all rounds; without a profile if there are
// none. What was seen comes back with the names that names finds.
func profiled(st *store.Store, kept []store.File, seen []lab.Observation, names *stacks.Files) (stacks.Side, []lab.Observation, error) {
	var all []*stacks.Profile
	cpu, n := 0.0, 0
	seen = slices.Clone(seen)
	for i, o := range seen {
		if o.Key.Kind != lab.Stacks.Kind() {
			continue
		}
		for _, f := range kept {
			if f.Kind != stacksKind || !slices.Contains(o.Files, f.Name) {
				continue
			}
			err := readKept(st, f, func(r io.Reader) error {
				p, err := stacks.ReadPprof(r)
				if err != nil {
					return err
				}
				p, renamed := names.Rename(p)
				if len(renamed) > 0 {
					seen[i] = withNames(o, p, renamed)
				}
				all = append(all, p)
				return nil
			})
			if err != nil {
				return stacks.Side{}, seen, fmt.Errorf("stacks %q: %w", f.Name, err)
			}
		}
		for _, f := range slices.Concat(o.Functions, o.Background) {
			cpu += f.Value
		}
		n++
	}
	if len(all) == 0 {
		return stacks.Side{}, seen, nil
	}
	p, err := stacks.Merge(all...)
	if p != nil && p.Total().Samples == 0 {
		return stacks.Side{}, seen, errors.Join(err, errors.New("the profiles have no samples"))
	}
	return stacks.Side{Profile: p, CPUPerOp: cpu / float64(n)}, seen, err
}

// both reports whether there are stacks of both sides.
func (p profiles) both() bool { return p.base.Profile != nil && p.candidate.Profile != nil }

// flame draws the difference of both sides' stacks. id tells the drawing from others of its page.
func (p profiles) flame(c lab.Comparison, id string) ([]byte, error) {
	d, err := stacks.Compare(p.base, p.candidate, p.spinners)
	if err != nil {
		return nil, err
	}
	root, err := stacks.Overlay(p.base, p.candidate, p.spinners, stacks.Anchors())
	if err != nil {
		return nil, err
	}
	var svg bytes.Buffer
	err = stacks.SVG{ID: id, Base: c.Base.String(), Candidate: c.Candidate.String(), Event: p.base.Profile.Event, Floor: d.Floor}.Write(&svg, root)
	return svg.Bytes(), err
}

// leastCall is the share of all CPU time under which a call is left out of a tree, with all
// that it calls.
const leastCall = 0.002

// calls returns the call tree of both sides.
func (p profiles) calls() (*lab.Call, error) {
	root, err := stacks.Overlay(p.base, p.candidate, p.spinners, stacks.Anchors())
	if err != nil {
		return nil, err
	}
	tree := callOf(root, leastCall*max(root.Total.Base, root.Total.Cand))
	return &tree, nil
}

// callOf turns a node of a flame graph into a call, and those below it that take at least
// so many µs on either side.
func callOf(f *stacks.Flame, least float64) lab.Call {
	name := f.Name
	if f.Kernel {
		name += kernelMark
	}
	c := lab.Call{Total: sampled(name, f.Total), Self: sampled(name, f.Self)}
	for _, to := range f.Calls {
		if max(to.Total.Base, to.Total.Cand) >= least {
			c.Calls = append(c.Calls, callOf(to, least))
		}
	}
	return c
}

// sampled turns µs into seconds, with the interval that the flame graph is coloured by.
func sampled(name string, d stacks.Delta) lab.Component {
	half := stacks.NoiseZ * d.SE
	return lab.Component{
		Name: name, Unit: "sec/op", Base: d.Base / 1e6, Candidate: d.Cand / 1e6,
		Diff: d.Diff() / 1e6, Lo: (d.Diff() - half) / 1e6, Hi: (d.Diff() + half) / 1e6,
	}
}
