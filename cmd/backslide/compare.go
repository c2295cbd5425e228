package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"backslide/compare"
	"backslide/lab"
	"backslide/report"
	"backslide/stat"
	"backslide/store"
)

func newCompare(e *env) *cobra.Command {
	var metric, view string
	cmd := &cobra.Command{
		Use:   "compare [RUN]",
		Short: "Say what regressed, improved, stayed equal, or cannot be told",
		Long: "compare prints the verdicts of a run: the newest, or the one whose number, name or\n" +
			"experiment file is given. It exits with 0 when nothing regressed, 1 when something\ndid, 2 when it could not find out.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := e.summary(cmd.Context(), args)
			if err != nil {
				return err
			}
			width, _ := e.terminal()
			if err := report.Text(e.stdout, s, report.Options{Metric: lab.Metric(metric), View: view, Width: width, Color: e.color()}); err != nil {
				return err
			}
			return outcomeOf(s)
		},
	}
	cmd.Flags().StringVar(&metric, "metric", string(lab.QPS), "`metric` of the table")
	cmd.Flags().StringVar(&view, "view", report.Full, "`view`: "+strings.Join(report.Views(), ", "))
	return cmd
}

// outcomeOf returns errRegressed when something regressed, or an error when there is
// nothing that could have.
func outcomeOf(s lab.Summary) error {
	judged := false
	for _, c := range s.Comparisons {
		if c.Metric != lab.QPS {
			continue
		}
		judged = judged || len(c.Blocks) > 0
		if c.Verdict == lab.Regressed {
			return errRegressed
		}
	}
	if !judged && len(s.Run.Variants) > 1 {
		return errors.New("no block has results of both sides; see the failures above")
	}
	return nil
}

// summary judges the run that args name, from the lab.
func (e *env) summary(ctx context.Context, args []string) (lab.Summary, error) {
	st, err := e.existingLab()
	if err != nil {
		return lab.Summary{}, err
	}
	defer st.Close()
	runs, err := st.Runs(ctx)
	if err != nil {
		return lab.Summary{}, err
	}
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	r, err := runArg(runs, name)
	if err != nil {
		return lab.Summary{}, err
	}
	return e.judge(ctx, st, r)
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
	var format, out, metric, view string
	cmd := &cobra.Command{
		Use:   "report [RUN]",
		Short: "Write a run's results as HTML, text, CSV, JSON, Markdown or benchfmt",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := e.summary(cmd.Context(), args)
			if err != nil {
				return err
			}
			if format == "" {
				format = formatOf(out)
			}
			o := report.Options{Metric: lab.Metric(metric), View: view}
			if out == "" || out == "-" {
				o.Width, _ = e.terminal()
				o.Color = e.color()
				return report.Write(e.stdout, format, s, o)
			}
			return writeFile(out, func(f *os.File) error { return report.Write(f, format, s, o) })
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "`file` to write; its ending gives the format")
	cmd.Flags().StringVar(&format, "format", "", "`format`: text, html, csv, json, markdown, benchfmt")
	cmd.Flags().StringVar(&metric, "metric", string(lab.QPS), "`metric` of the text's table")
	cmd.Flags().StringVar(&view, "view", report.Full, "`view` of text and Markdown: "+strings.Join(report.Views(), ", "))
	if err := cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(report.Formats(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // a flag of that name was defined above
	}
	return cmd
}

// formatOf guesses a format from a file's name.
func formatOf(name string) string {
	switch filepath.Ext(name) {
	case ".html", ".htm":
		return "html"
	case ".csv":
		return "csv"
	case ".json":
		return "json"
	case ".md":
		return "markdown"
	case ".bench":
		return "benchfmt"
	}
	return "text"
}

// writeFile writes a file whole or not at all.
func writeFile(name string, write func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
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
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
