package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"backslide/lab"
	"backslide/load"
	"backslide/report"
)

// bugFormat is the format of report that is about one step, and so has a second argument.
const bugFormat = "bug"

// bugOptions choose what a bug report is about, where a step has several candidates and
// numbers of clients.
type bugOptions struct {
	candidate string
	clients   int
	private   bool
}

// recipeBytes bounds the statements of clients in a bug report, so that it can be pasted.
const recipeBytes = 24 << 10

// writeBug writes a bug report on a step of a run, with where the time went if that has
// been watched.
func (e *env) writeBug(ctx context.Context, w io.Writer, s lab.Summary, step string, o bugOptions) error {
	c, err := bugComparison(s, step, o)
	if err != nil {
		return err
	}
	b := report.Bug{Candidate: c.Candidate, Level: c.Level, Private: o.private}
	if b.Explanation, err = e.storedExplanation(ctx, s.Run, c); err != nil {
		return err
	}
	recipe, err := recipeOf(s.Run, c)
	if err != nil {
		b.NoRecipe = fmt.Sprintf("How to repeat it without backslide is not known: %v.", err)
	} else {
		b.Recipe = &recipe
	}
	return report.WriteBug(w, s, b)
}

// storedExplanation explains a comparison from what a run has stored; nil: nothing has
// been watched.
func (e *env) storedExplanation(ctx context.Context, r lab.Run, c lab.Comparison) (*lab.Explanation, error) {
	st, err := e.existingLab()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	ev, err := evidenceOf(ctx, st, r, e.symbolDir, sides(c)...)
	if err != nil || !ev.both(c) {
		return nil, err
	}
	x, _, err := ev.explain(ctx, c)
	return &x, err
}

// bugComparison finds what a bug report is about: of a step's comparisons that match the
// worst, one that regressed before one that did not.
func bugComparison(s lab.Summary, step string, o bugOptions) (lab.Comparison, error) {
	var found []lab.Comparison
	var steps, candidates []string
	for _, c := range s.Comparisons {
		if c.Metric != lab.QPS || len(c.Blocks) == 0 {
			continue
		}
		name := c.Level.Step
		if !slices.Contains(steps, name.Name) {
			steps = append(steps, name.Name)
		}
		if name.Name != step && name.String() != step {
			continue
		}
		if !slices.Contains(candidates, c.Candidate.String()) {
			candidates = append(candidates, c.Candidate.String())
		}
		v := c.Candidate
		if o.candidate != "" && !slices.Contains([]string{v.String(), v.Build, v.Build + "/" + v.Config}, o.candidate) || o.clients != 0 && c.Level.Clients != o.clients {
			continue
		}
		found = append(found, c)
	}
	switch {
	case len(candidates) == 0:
		return lab.Comparison{}, fmt.Errorf("run %d has no results of step %q%s; it has %s", s.Run.ID, step, lab.Suggest(step, steps), strings.Join(steps, ", "))
	case len(found) == 0:
		return lab.Comparison{}, fmt.Errorf("run %d has no such results of step %q; its candidates are %s", s.Run.ID, step, strings.Join(candidates, ", "))
	}
	return slices.MinFunc(found, func(a, b lab.Comparison) int {
		if x, y := a.Verdict == lab.Regressed, b.Verdict == lab.Regressed; x != y {
			if x {
				return -1
			}
			return 1
		}
		return int(math.Copysign(1, a.LogRatio-b.LogRatio))
	}), nil
}

// recipeOf returns a comparison's step as plain SQL, as the candidate got it.
func recipeOf(r lab.Run, c lab.Comparison) (lab.Recipe, error) {
	side := r.Sides[c.Candidate.String()]
	if side == nil || side.Build.Family == "" {
		return lab.Recipe{}, errors.New("the candidate's server has not said what it is")
	}
	for _, use := range r.Experiment.Workloads {
		w, err := readWorkload(use)
		if err != nil {
			return lab.Recipe{}, err
		}
		if w.w.Name != c.Level.Step.Workload && use.Name != c.Level.Step.Workload {
			continue
		}
		p, err := w.w.Bind(use.Params, load.Target{
			Family: side.Build.Family, Version: side.Build.VersionNumber(), Engine: c.Candidate.Engine, Schema: schema(use.Name), Clients: c.Level.Clients,
		})
		if err != nil {
			return lab.Recipe{}, err
		}
		return p.Recipe(c.Level.Step.Name, r.Plan.Seed, c.Level.Clients, recipeBytes, earlier(r, c.Level))
	}
	return lab.Recipe{}, fmt.Errorf("workload %s is none of the experiment's", c.Level.Step.Workload)
}

// earlier returns what each block of a run had written to the tables of a level's workload
// before it came to that level, and the warm-ups among it.
func earlier(r lab.Run, l lab.Level) []load.Earlier {
	var out []load.Earlier
	for _, lp := range r.Levels {
		if lp.Level == l {
			break
		}
		if ops := lp.Ops * int64(lp.Slices); lp.Level.Step.Workload == l.Step.Workload && !lp.Read && ops > 0 {
			out = append(out, load.Earlier{Step: lp.Level.Step.Name, Clients: lp.Level.Clients, Ops: ops})
		}
	}
	return out
}
