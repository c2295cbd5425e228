package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"backslide/lab"
	"backslide/probe/stacks"
	"backslide/report"
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
			if f.rounds < 1 || f.slice < 100*time.Millisecond || f.clients < 0 {
				return fmt.Errorf("--rounds is at least 1, --slice at least 100ms, and --clients not negative; they are %d, %s and %d", f.rounds, f.slice, f.clients)
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
	cmd.Flags().IntVar(&f.rounds, "rounds", 5, "how often, as a `number`, to start the servers for watching")
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
func (e *env) explain(ctx context.Context, args []string, f explainFlags) (x lab.Explanation, err error) {
	st, err := e.existingLab()
	if err != nil {
		return x, err
	}
	defer st.Close()
	runs, err := st.Runs(ctx)
	if err != nil {
		return x, err
	}
	name, step := runAndStep(runs, args)
	r, err := runArg(runs, name)
	if err != nil {
		return x, err
	}
	sum, err := e.judge(ctx, st, r)
	if err != nil {
		return x, err
	}
	c, err := pick(sum, step, f)
	if err != nil {
		return x, err
	}
	ev, err := e.gather(ctx, st, sum, c, f)
	if err != nil {
		return x, err
	}
	if f.stacks != "" {
		if err := exportStacks(ctx, ev, c, f.stacks); err != nil {
			return x, err
		}
	}
	x, _, err = ev.explain(ctx, c)
	return x, err
}

// gather returns what was seen of the sides of a comparison, after watching what is asked
// for and was not watched.
func (e *env) gather(ctx context.Context, st *store.Store, sum lab.Summary, c lab.Comparison, f explainFlags) (evidence, error) {
	var of []lab.Cell // to look at more, it has to be known what was looked at
	if f.stored {
		of = sides(c)
	}
	ev, err := evidenceOf(ctx, st, sum.Run, e.symbolDir, of...)
	if err != nil {
		return ev, err
	}
	cs := toWatch(sum, c, ev, f)
	if len(cs) == 0 {
		return ev, nil
	}
	if err := e.diagnose(ctx, ev, cs, looking{f.rounds, f.slice, f.callGraph}); err != nil {
		return ev, err
	}
	r, err := st.Run(ctx, sum.Run.ID)
	if err != nil {
		return ev, err
	}
	return evidenceOf(ctx, st, r, e.symbolDir)
}

// exportStacks writes the call stacks of both sides, all rounds together, and their
// difference as a flame graph.
func exportStacks(ctx context.Context, ev evidence, c lab.Comparison, dir string) error {
	p, err := ev.profiles(ctx, c)
	if err != nil {
		return err
	}
	if !p.both() {
		return fmt.Errorf("no stacks of %s were taken on both sides; see the doubts of: backslide explain %d %s", c.Level, ev.run.ID, c.Level.Step.Name)
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

// runAndStep takes RUN and STEP of a verb apart. A step of the newest run may stand alone,
// unless a run is called so.
func runAndStep(runs []lab.Run, args []string) (name, step string) {
	name = first(args)
	if len(args) > 1 {
		return name, args[1]
	}
	if _, err := runArg(runs, name); err == nil || len(runs) == 0 {
		return name, ""
	}
	for _, lp := range runs[0].Levels {
		if s := lab.Spelled(name, []string{lp.Level.Step.Name, lp.Level.Step.String()}); s == lp.Level.Step.Name || s == lp.Level.Step.String() {
			return "last", s
		}
	}
	return name, ""
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
	var clients []int
	for _, lp := range s.Run.Levels {
		step = lab.Spelled(step, []string{lp.Level.Step.Name})
	}
	for _, c := range s.Comparisons {
		if c.Metric != lab.QPS || len(c.Blocks) == 0 {
			continue
		}
		steps, variants, clients = append(steps, c.Level.Step.Name), append(variants, c.Candidate.String()), append(clients, c.Level.Clients)
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
		what := cmp.Or(step, "any step")
		if f.clients != 0 {
			what += " at " + plural(f.clients, "client")
		}
		if f.candidate != "" {
			what += fmt.Sprintf(" with a candidate %q", f.candidate)
		}
		return lab.Comparison{}, fmt.Errorf("run %d has no comparison of %s; it has clients %s, and candidates %s",
			s.Run.ID, what, join(slices.Compact(slices.Sorted(slices.Values(clients)))), strings.Join(slices.Compact(slices.Sorted(slices.Values(variants))), ", "))
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
