package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"backslide/compare"
	"backslide/lab"
	"backslide/report"
	"backslide/stat"
	"backslide/store"
)

// look is how results are shown.
type look struct {
	base, metric, view string
	decimals           int
}

func (l *look) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&l.base, "base", "", "compare against `variant`: build, build/config or build/config/engine; of an import build or build.config")
	cmd.Flags().StringVar(&l.metric, "metric", "", "`metric` of the tables; else qps")
	cmd.Flags().StringVar(&l.view, "view", report.Full, "`view`: "+strings.Join(report.Views(), ", "))
	cmd.Flags().IntVar(&l.decimals, "decimals", 3, "`number` of decimals of ratios: 3, or 2 and without intervals in tables that are not about verdicts")
	if err := cmd.RegisterFlagCompletionFunc("view", cobra.FixedCompletions(report.Views(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // a flag of that name was defined above
	}
}

// options returns what report needs to know, for standard output.
func (l *look) options(e *env) report.Options {
	width, _ := e.terminal()
	return report.Options{Metric: lab.Metric(l.metric), View: l.view, Width: width, Color: e.color(), Decimals: l.decimals}
}

func newCompare(e *env) *cobra.Command {
	var l look
	var format, out string
	var lamp gate
	cmd := &cobra.Command{
		Use:   "compare [RUN|IMPORT…]",
		Short: "Say what regressed, improved, stayed equal, or cannot be told",
		Long: "compare prints the verdicts of a run: the newest, or the one whose number, name or\n" +
			"experiment file is given. It exits with 0 when nothing regressed, 1 when something\ndid, 2 when it could not find out: nothing was measured, or a side broke. What is\ninconclusive has not regressed as far as anyone knows, and counts as 0.\n" +
			"Red is what counts: of all reports of equal servers at most 5 % exit with 1. With\n--gate amber, and in a run whose plan stops at amber, every regressed comparison\ncounts; 1 in 200 of those that are equal is one by chance.\n" +
			"Of imports (i1, i2, or their names; several together are replicates) it prints point\nestimates: they have no verdicts, and it exits with 0.",
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := formatFor(format, out)
			if err != nil {
				return err
			}
			s, est, err := e.subject(cmd.Context(), args, l.base)
			if err != nil {
				return err
			}
			if err := e.writeReport(cmd.Context(), format, out, s, est, l.options(e)); err != nil || est != nil {
				return err
			}
			return lamp.outcome(s)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "`file` to write; its ending gives the format")
	cmd.Flags().StringVar(&format, "format", "", "`format`: "+strings.Join(report.Formats(), ", ")+"; else text")
	l.flags(cmd)
	cmd.Flags().Var(&lamp, "gate", "what makes it exit with 1: `red`, or amber too")
	return cmd
}

// subject returns what args name: a run, judged, or imports, arranged. Without any it is
// what is newest in the lab.
func (e *env) subject(ctx context.Context, args []string, base string) (lab.Summary, *lab.Estimates, error) {
	st, err := e.existingLab()
	if err != nil {
		return lab.Summary{}, nil, err
	}
	defer st.Close()
	runs, err := st.Runs(ctx)
	if err != nil {
		return lab.Summary{}, nil, err
	}
	imports, err := st.Imports(ctx)
	if err != nil {
		return lab.Summary{}, nil, err
	}
	named, err := importArgs(runs, imports, args)
	if err != nil {
		return lab.Summary{}, nil, err
	}
	if len(named) > 0 {
		for i := range named {
			if named[i], err = st.Import(ctx, named[i].ID); err != nil {
				return lab.Summary{}, nil, err
			}
		}
		est, err := estimates(named, base)
		return lab.Summary{}, &est, err
	}
	if len(runs) == 0 && len(imports) > 0 {
		return lab.Summary{}, nil, onlyImports(args, imports)
	}
	r, err := runArg(runs, strings.Join(args, " "))
	if err != nil {
		return lab.Summary{}, nil, err
	}
	if base != "" {
		if r, err = rebased(r, base); err != nil {
			return lab.Summary{}, nil, err
		}
	}
	s, err := e.judge(ctx, st, r)
	return s, nil, err
}

// importArgs returns the imports that args name: i1, or a name that no run has. Without
// args it is the newest, unless a run is newer. Several args have to be imports, all.
func importArgs(runs []lab.Run, imports []lab.Import, args []string) ([]lab.Import, error) {
	if len(args) == 0 {
		if len(imports) > 0 && (len(runs) == 0 || imports[0].At.After(runs[0].Started)) {
			return imports[:1], nil
		}
		return nil, nil
	}
	var out []lab.Import
	for _, arg := range args {
		i := slices.IndexFunc(imports, func(im lab.Import) bool { return fmt.Sprintf("i%d", im.ID) == arg })
		if i < 0 && !slices.ContainsFunc(runs, func(r lab.Run) bool { return r.Name == arg }) {
			i = slices.IndexFunc(imports, func(im lab.Import) bool { return im.Name == arg })
		}
		if i >= 0 {
			out = append(out, imports[i])
		}
	}
	if len(out) == len(args) || len(args) == 1 {
		return out, nil
	}
	var known []string
	for _, im := range imports {
		known = append(known, fmt.Sprintf("i%d", im.ID), im.Name)
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("one run at a time, not %s: backslide history follows several runs, and report --format bug RUN STEP is about one step", strings.Join(args, ", "))
	}
	return nil, fmt.Errorf("only imports can be taken together, and not all of %s are one; name one run, or imports of %s", strings.Join(args, ", "), strings.Join(known, ", "))
}

// onlyImports is the error of who asks for a run of a lab that has none, and says what can
// be asked for.
func onlyImports(args []string, imports []lab.Import) error {
	var known []string
	for _, im := range imports {
		known = append(known, fmt.Sprintf("i%d (%s)", im.ID, im.Name))
	}
	const most = 5
	if n := len(known) - most; n > 0 {
		known = append(known[:most], fmt.Sprintf("%d older ones", n))
	}
	return fmt.Errorf("no run %q: this lab has no runs, only what was imported, newest first: %s; name one, as in backslide compare i%d, or several as replicates of each other",
		strings.Join(args, " "), strings.Join(known, ", "), imports[0].ID)
}

// rebased returns a run whose base is another of its variants. What it decided while it
// ran was about its own base, so its blocks may be few for another.
func rebased(r lab.Run, name string) (lab.Run, error) {
	if r.Plan.Confirms != 0 {
		return r, fmt.Errorf("run %d confirms what another found, so its base stays", r.ID)
	}
	e := r.Experiment
	e.Base = name
	e, err := e.Resolve()
	if err != nil {
		return r, fmt.Errorf("run %d: %w", r.ID, err)
	}
	i := slices.IndexFunc(r.Variants, func(v lab.Variant) bool { return v.String() == e.Base })
	if i < 0 {
		return r, fmt.Errorf("run %d: base %s was not run", r.ID, e.Base)
	}
	r.Experiment, r.Base = e, r.Variants[i]
	r.Variants = append([]lab.Variant{r.Base}, slices.Delete(slices.Clone(r.Variants), i, i+1)...)
	return r, nil
}

// judge returns everything that reports show of a run.
func (e *env) judge(ctx context.Context, st *store.Store, r lab.Run) (lab.Summary, error) {
	slices, err := st.Slices(ctx, r.ID, store.Filter{Kind: lab.Measured})
	if err != nil {
		return lab.Summary{}, err
	}
	s, err := e.verdicts(ctx, st, r, slices)
	if err != nil {
		return lab.Summary{}, fmt.Errorf("judge run %d: %w", r.ID, err)
	}
	if err := long(ctx, st, r, &s); err != nil {
		return lab.Summary{}, err
	}
	if err := latencies(ctx, st, r, &s); err != nil {
		return lab.Summary{}, err
	}
	s.Events, err = st.Events(ctx, r.ID)
	return s, err
}

// verdicts compares the sides of a run, or confirms what an earlier run has found.
func (e *env) verdicts(ctx context.Context, st *store.Store, r lab.Run, slices []lab.Slice) (lab.Summary, error) {
	b := new(stat.Boundaries)
	if r.Plan.Confirms == 0 {
		return compare.Compare(r, slices, b)
	}
	earlier, first, err := measured(ctx, st, r.Plan.Confirms)
	if err != nil {
		return lab.Summary{}, fmt.Errorf("the run that was confirmed: %w", err)
	}
	return compare.Confirm(earlier, first, r, slices, b)
}

func newReport(e *env) *cobra.Command {
	var l look
	var bug bugOptions
	formats := append(report.Formats(), bugFormat)
	var format, out string
	cmd := &cobra.Command{
		Use:   "report [RUN|IMPORT…]",
		Short: "Write results as HTML, text, CSV, JSON, Markdown, benchfmt, OpenMetrics, or a bug report",
		Long: "report writes results of the newest run or import, or of those that are named. With\n" +
			"--format bug RUN STEP it writes what a maintainer needs to repeat and judge a regression\n" +
			"of one step: versions, a script, expected and actual, evidence, environment.",
		RunE: func(cmd *cobra.Command, args []string) error {
			step := ""
			format, err := formatFor(format, out)
			if err != nil {
				return err
			}
			if format == bugFormat {
				if len(args) == 1 && !isRunWord(args[0]) {
					args = []string{"last", args[0]}
				}
				if len(args) != 2 {
					return errors.New("a bug report is about one step: backslide report --format bug [RUN] STEP")
				}
				args, step = args[:1], args[1]
			}
			s, est, err := e.subject(cmd.Context(), args, l.base)
			if err != nil {
				return err
			}
			if step != "" && est == nil {
				return e.writeTo(out, format, func(w io.Writer) error { return e.writeBug(cmd.Context(), w, s, step, bug) })
			}
			return e.writeReport(cmd.Context(), format, out, s, est, l.options(e))
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "`file` to write; its ending gives the format")
	cmd.Flags().StringVar(&format, "format", "", "`format`: "+strings.Join(formats, ", "))
	cmd.Flags().StringVar(&bug.candidate, "candidate", "", "`variant` that a bug report is about; else the one that is worst")
	cmd.Flags().IntVar(&bug.clients, "clients", 0, "`number` of clients that a bug report is about; else the one that is worst")
	cmd.Flags().BoolVar(&bug.private, "private", false, "keep paths, host names and secret options in a bug report")
	l.flags(cmd)
	if err := cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // a flag of that name was defined above
	}
	return cmd
}

// writeReport writes a summary, or imports if there are any, to a file or standard output.
func (e *env) writeReport(ctx context.Context, format, out string, s lab.Summary, est *lab.Estimates, o report.Options) (err error) {
	if format == "html" && est == nil {
		if o.Whys, err = e.whys(ctx, s); err != nil {
			return err
		}
		if o.Past, err = e.past(ctx, s.Run); err != nil {
			return err
		}
	}
	if out != "" && out != "-" {
		o.Width, o.Color = 0, false
	}
	return e.writeTo(out, format, func(w io.Writer) error {
		if est != nil {
			return report.Estimates(w, format, *est, o)
		}
		return report.Write(w, format, s, o)
	})
}

// writeTo writes what has a format to a file, whole or not at all, or to standard output for "" and "-".
func (e *env) writeTo(out, format string, write func(io.Writer) error) error {
	if out == "" || out == "-" {
		return e.show(format, write)
	}
	return writeFile(out, func(f *os.File) error { return write(f) })
}

// formatFor returns the format that is asked for, by its name or the ending of its files,
// or else the one that the name of the file to write ends in.
func formatFor(format, out string) (string, error) {
	if format == "" {
		return formatOf(out)
	}
	if f, err := formatOf("." + strings.ToLower(format)); err == nil {
		return f, nil
	}
	return format, nil
}

// isRunWord reports whether a word can only mean a run: its number, or last. A step may be
// called as a run is.
func isRunWord(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil || s == "last"
}

// formatOf returns the format that a file's name ends in.
func formatOf(name string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".html", ".htm":
		return "html", nil
	case ".csv":
		return "csv", nil
	case ".json":
		return "json", nil
	case ".md", ".markdown":
		return "markdown", nil
	case ".bench":
		return "benchfmt", nil
	case ".prom":
		return "openmetrics", nil
	case "", ".txt", ".text":
		return "text", nil
	default:
		return "", fmt.Errorf("write %s: no format has files that end in %s; name one with --format, or use .txt, .html, .csv, .json, .md, .bench or .prom", name, ext)
	}
}

// writeFile writes a file whole or not at all.
func writeFile(name string, write func(*os.File) error) (err error) {
	// With the permissions that the user's umask leaves, which os.CreateTemp's would not be.
	temp := filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s-%x", filepath.Base(name), rand.Uint64()))
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", name, err)
		}
	}()
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
