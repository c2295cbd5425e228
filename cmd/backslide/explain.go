package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"backslide/explain"
	"backslide/lab"
	"backslide/probe/plan"
	"backslide/probe/stacks"
	"backslide/report"
	"backslide/run"
	"backslide/store"
)

// explainFlags say what to explain and how to look.
type explainFlags struct {
	clients       int
	candidate     string
	rounds        int
	slice         time.Duration
	stored, again bool
	all           bool
	callGraph     string
	format        string
	stacks        string
}

func newExplain(e *env) *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [RUN [STEP]]",
		Short: "Say where the time went, ranked, with evidence",
		Long: "explain takes a verdict of a run apart: the time of an operation on both sides by what it\n" +
			"was spent on, CPU by function, waits, counters, plans, differences of set-up. What needs\n" +
			"watching is watched now, on servers started for it, unless the run has it stored. Without\n" +
			"STEP the worst cell is taken.",
		Example: "  backslide explain last point-query --clients 4\n  backslide explain 3 scan --format markdown",
		Args:    cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.callGraph != stacks.FramePointers && f.callGraph != stacks.Dwarf {
				return fmt.Errorf("--call-graph %s: it is %s or %s", f.callGraph, stacks.FramePointers, stacks.Dwarf)
			}
			x, err := e.explain(cmd.Context(), args, f)
			if err != nil {
				return err
			}
			o := report.Options{Color: e.color()}
			o.Width, _ = e.terminal()
			return report.Explain(e.stdout, f.format, x, o)
		},
	}
	cmd.Flags().IntVar(&f.clients, "clients", 0, "number of `clients`; 0: that with the largest difference")
	cmd.Flags().StringVar(&f.candidate, "candidate", "", "`variant`, as build/config/engine or the beginning of it; empty: that with the largest difference")
	cmd.Flags().IntVar(&f.rounds, "rounds", 5, "how often to start the servers for watching")
	cmd.Flags().DurationVar(&f.slice, "slice", watchedSlice, "`length` of watched slices")
	cmd.Flags().BoolVar(&f.stored, "stored", false, "start nothing: explain from what is stored")
	cmd.Flags().BoolVar(&f.all, "all", false, "watch all that was called, on the same servers, and not only what is explained")
	cmd.Flags().BoolVar(&f.again, "again", false, "watch more rounds, though there are some")
	cmd.Flags().StringVar(&f.callGraph, "call-graph", stacks.FramePointers, "how callers are found: `fp`, by frame pointers; dwarf, by copies of the stack, for builds without frame pointers")
	cmd.Flags().StringVar(&f.stacks, "stacks", "", "`directory` to write both sides' call stacks to, for go tool pprof and as folded text, and their flame graph")
	cmd.Flags().StringVar(&f.format, "format", "text", "`format`: text, markdown, json")
	return cmd
}

// explain explains the comparison that args and flags name.
func (e *env) explain(ctx context.Context, args []string, f explainFlags) (lab.Explanation, error) {
	st, err := e.existingLab()
	if err != nil {
		return lab.Explanation{}, err
	}
	defer st.Close()
	runs, err := st.Runs(ctx)
	if err != nil {
		return lab.Explanation{}, err
	}
	r, err := runArg(runs, first(args))
	if err != nil {
		return lab.Explanation{}, err
	}
	sum, err := e.judge(ctx, st, r)
	if err != nil {
		return lab.Explanation{}, err
	}
	step := ""
	if len(args) > 1 {
		step = args[1]
	}
	c, err := pick(sum, step, f)
	if err != nil {
		return lab.Explanation{}, err
	}
	var of []lab.Cell // to look at more, it has to be known what was looked at
	if f.stored {
		of = sides(c)
	}
	seen, err := observations(ctx, st, r.ID, of...)
	if err != nil {
		return lab.Explanation{}, err
	}
	if cs := toWatch(sum, c, seen, f); len(cs) > 0 {
		if err := e.diagnose(ctx, st, r, cs, seen, looking{f.rounds, f.slice, f.callGraph}); err != nil {
			return lab.Explanation{}, err
		}
		if seen, err = observations(ctx, st, r.ID); err != nil {
			return lab.Explanation{}, err
		}
		if r, err = st.Run(ctx, r.ID); err != nil {
			return lab.Explanation{}, err
		}
	}
	if f.stacks != "" {
		if err := exportStacks(ctx, st, r, c, seen, f.stacks); err != nil {
			return lab.Explanation{}, err
		}
	}
	x, _, err := explanation(ctx, st, r, c, seen)
	return x, err
}

// exportStacks writes the call stacks of both sides, all rounds together, and their
// difference as a flame graph.
func exportStacks(ctx context.Context, st *store.Store, r lab.Run, c lab.Comparison, seen []lab.Observation, dir string) error {
	p, err := profilesOf(ctx, st, r, c, seen)
	if err != nil {
		return err
	}
	if !p.both() {
		return fmt.Errorf("no stacks of %s were taken on both sides; see the doubts of: backslide explain %d %s", c.Level, r.ID, c.Level.Step.Name)
	}
	svg, err := p.flame(c, "flame")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, write := range map[string]func(io.Writer) error{
		"base.pb.gz": p.base.Profile.WritePprof, "candidate.pb.gz": p.candidate.Profile.WritePprof,
		"base.folded": p.base.Profile.Folded, "candidate.folded": p.candidate.Profile.Folded,
		"flame.svg": func(w io.Writer) error { _, err := w.Write(svg); return err },
	} {
		if err := writeFile(filepath.Join(dir, name), func(f *os.File) error { return write(f) }); err != nil {
			return err
		}
	}
	return nil
}

// first returns the first argument of a verb, "" if it was left out.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// pick returns the comparison by throughput that is meant: of those that fit, the called
// one with the largest difference, else the one with the largest difference.
func pick(s lab.Summary, step string, f explainFlags) (lab.Comparison, error) {
	var fit []lab.Comparison
	var steps, variants []string
	for _, c := range s.Comparisons {
		if c.Metric != lab.QPS || len(c.Blocks) == 0 {
			continue
		}
		steps, variants = append(steps, c.Level.Step.Name), append(variants, c.Candidate.String())
		if (step == "" || c.Level.Step.Name == step || c.Level.Step.String() == step) &&
			(f.clients == 0 || c.Level.Clients == f.clients) && strings.HasPrefix(c.Candidate.String(), f.candidate) {
			fit = append(fit, c)
		}
	}
	switch {
	case len(steps) == 0:
		return lab.Comparison{}, fmt.Errorf("run %d compares nothing", s.Run.ID)
	case len(fit) == 0 && step != "" && !slices.Contains(steps, step):
		return lab.Comparison{}, fmt.Errorf("run %d has no step %q%s", s.Run.ID, step, lab.Suggest(step, slices.Compact(slices.Sorted(slices.Values(steps)))))
	case len(fit) == 0:
		return lab.Comparison{}, fmt.Errorf("run %d has no comparison of %s at %d clients with a candidate %q; candidates: %s",
			s.Run.ID, cmp.Or(step, "any step"), f.clients, f.candidate, strings.Join(slices.Compact(slices.Sorted(slices.Values(variants))), ", "))
	}
	return slices.MaxFunc(fit, byDifference), nil
}

// byDifference puts what was called behind what was not, and of either the larger
// difference behind the smaller.
func byDifference(a, b lab.Comparison) int {
	called := func(c lab.Comparison) int {
		if isCalled(c) {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(called(a), called(b)), cmp.Compare(math.Abs(a.LogRatio), math.Abs(b.LogRatio)))
}

// observations returns what diagnoses of a run have seen, by round: of the given cells, or
// of all without any.
func observations(ctx context.Context, st *store.Store, id int64, of ...lab.Cell) ([]lab.Observation, error) {
	kept, err := st.Kept(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []lab.Observation
	for _, f := range kept {
		if f.Kind != observationKind || len(of) > 0 && !slices.ContainsFunc(of, func(c lab.Cell) bool { return isOf(f.Name, c) }) {
			continue
		}
		var o lab.Observation
		if err := readKept(st, f, func(r io.Reader) error { return json.NewDecoder(r).Decode(&o) }); err != nil {
			return nil, fmt.Errorf("observation %q of run %d: %w", f.Name, id, err)
		}
		out = append(out, o)
	}
	return out, nil
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

// hasBoth reports whether both sides of a comparison were watched.
func hasBoth(seen []lab.Observation, c lab.Comparison) bool {
	base, cand := ofCell(seen, c, c.Base), ofCell(seen, c, c.Candidate)
	return len(base) > 0 && len(cand) > 0
}

// ofCell returns the observations of one side of a comparison.
func ofCell(seen []lab.Observation, c lab.Comparison, v lab.Variant) []lab.Observation {
	var out []lab.Observation
	for _, o := range seen {
		if o.Key.Cell.Variant == v && o.Key.Cell.Level() == c.Level {
			out = append(out, o)
		}
	}
	return out
}

// diagnose watches both sides of comparisons, on servers started for it.
func (e *env) diagnose(ctx context.Context, st *store.Store, r lab.Run, cs []lab.Comparison, seen []lab.Observation, how looking) (err error) {
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
	return w.look(ctx, s, r, cs, seen, how)
}

// diagnose watches everything that was called in a run that has just ended.
func (w *wiring) diagnose(ctx context.Context, s *setup, sum lab.Summary) error {
	called := allCalled(sum)
	if len(called) == 0 {
		return nil
	}
	seen, err := observations(ctx, w.store, sum.Run.ID)
	if err != nil {
		return err
	}
	return w.look(ctx, s, sum.Run, called, seen, looking{sum.Run.Plan.Diagnose, watchedSlice, stacks.FramePointers})
}

// toWatch returns what is to be watched: the comparison that is explained and, if all are
// asked for, what else was called. What was watched already is so again only if asked for.
func toWatch(sum lab.Summary, explained lab.Comparison, seen []lab.Observation, f explainFlags) []lab.Comparison {
	cs := []lab.Comparison{explained}
	if f.all {
		cs = append(cs, allCalled(sum)...)
	}
	return slices.DeleteFunc(cs, func(c lab.Comparison) bool { return f.stored || hasBoth(seen, c) && !f.again })
}

// allCalled returns the comparisons by throughput that have a verdict of a difference.
func allCalled(sum lab.Summary) []lab.Comparison {
	return slices.DeleteFunc(slices.Clone(sum.Comparisons), func(c lab.Comparison) bool { return c.Metric != lab.QPS || !isCalled(c) })
}

func isCalled(c lab.Comparison) bool { return c.Verdict == lab.Regressed || c.Verdict == lab.Improved }

// watchedSlice is the usual length of a watched slice: enough samples of stacks, and
// longer than what reading the counters takes.
const watchedSlice = time.Second

// looking says how a diagnosis watches.
type looking struct {
	rounds    int           // how often servers are started for it
	slice     time.Duration // of slices at least
	callGraph string        // how callers are found, as perf names it
}

// look has the conductor watch comparisons of a run.
func (w *wiring) look(ctx context.Context, s *setup, r lab.Run, cs []lab.Comparison, seen []lab.Observation, how looking) error {
	wanted := map[pair]bool{}
	for _, c := range cs {
		wanted[pair{c.Level, c.Candidate}] = true
	}
	next := 0
	for _, o := range seen {
		next = max(next, o.Key.Block+1)
	}
	return w.conductor.Diagnose(ctx, r, run.Diagnosis{
		Open:        func(l lab.Level, v lab.Variant) bool { return wanted[pair{l, v}] },
		Instruments: []lab.Instrument{lab.Plain, lab.Stacks, lab.Plans, lab.Waits},
		First:       next, Rounds: how.rounds, Slice: how.slice,
	}, newWatcher(w, s, r, how.callGraph))
}

// explanation judges what is known of a comparison, and returns the stacks that it has the
// call tree from.
func explanation(ctx context.Context, st *store.Store, r lab.Run, c lab.Comparison, seen []lab.Observation) (lab.Explanation, profiles, error) {
	in := explain.Input{
		Comparison: c, Run: r, At: time.Now(),
		CandidateSeen: ofCell(seen, c, c.Candidate), PlanDiff: planDiff,
	}
	in.BaseSeen = beside(ofCell(seen, c, c.Base), in.CandidateSeen)
	for _, side := range []struct {
		v  lab.Variant
		to *[]lab.Slice
	}{{c.Base, &in.Base}, {c.Candidate, &in.Candidate}} {
		var err error
		if *side.to, err = st.Slices(ctx, r.ID, store.Filter{Kind: lab.Measured, Variant: &side.v, Level: &c.Level}); err != nil {
			return lab.Explanation{}, profiles{}, err
		}
	}
	x := explain.Explain(in)
	p, err := profilesOf(ctx, st, r, c, seen)
	if err == nil && p.both() {
		x.SampledBy = p.base.Profile.Event
		x.Calls, err = p.calls()
	}
	if err != nil {
		x.Doubts = append(x.Doubts, "no call tree: "+err.Error())
	}
	return x, p, nil
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

// planDiff says in what the plans of a statement differ.
func planDiff(base, candidate lab.StatementPlan) []string {
	var b, c plan.Node
	if json.Unmarshal(base.Node, &b) != nil || json.Unmarshal(candidate.Node, &c) != nil || plan.Equal(&b, &c) {
		return nil
	}
	return plan.Diff(&b, &c)
}
