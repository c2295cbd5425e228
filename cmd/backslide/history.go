package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"backslide/compare"
	"backslide/lab"
	"backslide/report"
	"backslide/stat"
	"backslide/store"
)

// historySeed is what the changes of a history are tested with: the same runs, the same answer.
const historySeed = 1

func newHistory(e *env) *cobra.Command {
	var format, out string
	var last int
	cmd := &cobra.Command{
		Use:   "history [EXPERIMENT]",
		Short: "Follow one experiment over its runs: what changed, from which run on",
		Long: "history follows the runs of one experiment in a lab, nights or releases: the one of the\n" +
			"newest run, or of the name, file or run number that is given. Where all runs have the same\n" +
			"base it follows the ratio to it, else throughput itself. It exits with 1 when something\n" +
			"became slower and is still.",
		Example: "  backslide history nightly\n  backslide history nightly -o history.html",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if last < 0 {
				return fmt.Errorf("--last %d: a number of runs, or 0 for all", last)
			}
			format, err := formatFor(format, out)
			if err != nil {
				return err
			}
			h, err := e.history(cmd.Context(), first(args), last)
			if err != nil {
				return err
			}
			var o report.Options
			if out == "" || out == "-" {
				o.Width, _ = e.terminal()
				o.Color = e.color()
				err = report.History(e.stdout, format, h, o)
			} else {
				err = writeFile(out, func(f *os.File) error { return report.History(f, format, h, o) })
			}
			if err == nil && slower(h) {
				return errRegressed
			}
			return err
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "`file` to write; its ending gives the format")
	cmd.Flags().StringVar(&format, "format", "", "`format`: text, html, csv, json")
	cmd.Flags().IntVar(&last, "last", 0, "only the newest `number` of runs; 0: all")
	if err := cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(report.HistoryFormats(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // a flag of that name was defined above
	}
	return cmd
}

// slower reports whether the last change of any track was for the worse.
func slower(h lab.History) bool {
	return slices.ContainsFunc(h.Tracks, func(t lab.Track) bool {
		n := len(t.Changes)
		return n > 0 && t.Changes[n-1].Size() < 0
	})
}

// history judges the runs of one experiment, the newest of them if there is a limit.
// Confirmations of other runs are none of them.
func (e *env) history(ctx context.Context, name string, last int) (lab.History, error) {
	st, err := e.existingLab()
	if err != nil {
		return lab.History{}, err
	}
	defer st.Close()
	runs, err := st.Runs(ctx)
	if err != nil {
		return lab.History{}, err
	}
	r, err := runArg(runs, name)
	if err != nil {
		return lab.History{}, err
	}
	return followed(ctx, st, runs, r.Name, time.Time{}, last)
}

// mostPast is how many runs the page of one looks back.
const mostPast = 60

// past judges the runs of the same experiment up to one, for its page; of the first run
// there is nothing to tell.
func (e *env) past(ctx context.Context, r lab.Run) (lab.History, error) {
	st, err := e.existingLab()
	if err != nil {
		return lab.History{}, err
	}
	defer st.Close()
	runs, err := st.Runs(ctx)
	if err != nil || r.Plan.Confirms != 0 {
		return lab.History{}, err
	}
	h, err := followed(ctx, st, runs, r.Name, r.Started, mostPast)
	if len(h.Runs) < 2 {
		return lab.History{}, err
	}
	return h, err
}

// followed judges the runs of that name which had started by then, if there is such a
// limit, and the newest of them at most.
func followed(ctx context.Context, st *store.Store, runs []lab.Run, name string, until time.Time, most int) (lab.History, error) {
	b := new(stat.Boundaries)
	var sums []lab.Summary
	for _, x := range runs { // the newest first
		if x.Name != name || x.Plan.Confirms != 0 || !until.IsZero() && x.Started.After(until) || most > 0 && len(sums) == most {
			continue
		}
		sl, err := st.Slices(ctx, x.ID, store.Filter{Kind: lab.Measured})
		if err != nil {
			return lab.History{}, err
		}
		s, err := compare.Compare(x, sl, b)
		if err != nil {
			return lab.History{}, fmt.Errorf("judge run %d: %w", x.ID, err)
		}
		sums = append(sums, s)
	}
	return compare.History(name, sums, historySeed), nil
}
