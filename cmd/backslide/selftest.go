package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"sort"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"backslide/lab"
	"backslide/stat"
)

func newSelftest(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Try the lab itself: its noise, its verdicts, its client",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(newNoise(e), newInject(e), newClientBench(e))
	return cmd
}

// twins compares the base of an experiment with a copy of itself, and prints what came of it.
func (e *env) twins(ctx context.Context, x lab.Experiment, print func(io.Writer, lab.Summary) error) error {
	x.Plan.AA = true
	s, err := e.setup(ctx, x)
	if err != nil {
		return err
	}
	sum, err := e.run(ctx, s, nil)
	if err != nil {
		return err
	}
	return print(harmless{e.stdout}, sum)
}

func newInject(e *env) *cobra.Command {
	var slowdown string
	f := experimentFlags{
		builds: []string{"mariadb@10.11"}, workloads: []string{"sysbench"}, clients: clientsFlag{numbers: []int{1}}, blocks: 20,
		steps:  []string{"point-query", "range-covered-si"},
		params: []string{"rows=50000", "tables=1"}, placement: string(lab.OneCore), slice: 100 * time.Millisecond, slices: 16,
	}
	cmd := &cobra.Command{
		Use:   "inject",
		Short: "Slow one side of a comparison down by a known amount, and show that it is found",
		Long: "inject compares a build with itself. The client adds busy time to every operation of one\n" +
			"side, as if the server had used so much more CPU. With --slowdown -5% the base is slowed\ndown, so the other side improves.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			share, err := lab.ParseShare(slowdown)
			if err != nil || share == 0 || math.Abs(share) > 1 {
				return fmt.Errorf("--slowdown %q is not a share such as 3%%", slowdown)
			}
			x, err := f.experiment("")
			if err != nil {
				return err
			}
			x.Name, x.Plan.Inject = "inject", share
			x.Plan.Margin = min(x.Plan.Margin, math.Abs(share)/4)
			return e.twins(cmd.Context(), x, printInjected)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&slowdown, "slowdown", "5%", "`share` by which one side is slowed down")
	return cmd
}

// truth returns the log-ratio that an injection makes of a comparison, from the speed of
// the side that was not slowed down.
func truth(r lab.Run, c lab.Comparison) float64 {
	spin := 0.0
	for _, lp := range r.Levels {
		if lp.Level == c.Level {
			spin = lp.Spin.Seconds()
		}
	}
	sum := 0.0
	for _, b := range c.Blocks {
		// A spin of s seconds per operation makes a rate of q one of q/(1+s·q).
		if r.Plan.Inject > 0 {
			sum -= math.Log1p(spin * math.Exp(b.Base))
		} else {
			sum += math.Log1p(spin * math.Exp(b.Candidate))
		}
	}
	return sum / float64(len(c.Blocks))
}

// printInjected says what was injected, and what was found. It fails when that is not so.
func printInjected(w io.Writer, s lab.Summary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "step\tclients\tinjected\tfound\tinterval\tblocks\tverdict\t")
	var wrong []string
	for _, c := range s.Comparisons {
		if c.Metric != lab.QPS || len(c.Blocks) == 0 {
			continue
		}
		want := truth(s.Run, c)
		verdict := lab.Regressed
		if want > 0 {
			verdict = lab.Improved
		}
		mark := ""
		switch {
		case c.Verdict != verdict:
			mark = "not found"
		case want < c.Lo || want > c.Hi:
			mark = "the interval misses the truth"
		}
		if mark != "" {
			wrong = append(wrong, fmt.Sprintf("%s: %s", c.Level, mark))
		}
		fmt.Fprintf(t, "%s\t%d\t%+.2f %%\t%+.2f %%\t[%+.2f, %+.2f]\t%d\t%s\t%s\n", c.Level.Step.Name, c.Level.Clients,
			100*math.Expm1(want), 100*math.Expm1(c.LogRatio), 100*math.Expm1(c.Lo), 100*math.Expm1(c.Hi), len(c.Blocks), c.Verdict, mark)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(wrong) > 0 {
		return fmt.Errorf("injected slowdown: %s", strings.Join(wrong, "; "))
	}
	return nil
}

func newNoise(e *env) *cobra.Command {
	f := experimentFlags{
		builds: []string{"mariadb@10.11"}, workloads: []string{"sysbench"}, clients: clientsFlag{numbers: []int{1, 4}}, blocks: 12,
		steps:  []string{"point-query", "range-covered-si", "range-notcovered-si", "read-only-100", "update-index", "insert"},
		params: []string{"rows=50000", "tables=1"}, placement: string(lab.OneCore),
	}
	cmd := &cobra.Command{
		Use:   "noise",
		Short: "Compare a build with itself, and say what differences can be seen here, in what time",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			x, err := f.experiment("")
			if err != nil {
				return err
			}
			x.Name, x.Plan.Margin = "noise", never
			return e.twins(cmd.Context(), x, printNoise)
		},
	}
	f.add(cmd)
	return cmd
}

// never is a margin of equivalence that no comparison reaches, so that none stops early.
const never = 1e-6

// noiseRow is one level of a build compared with itself.
type noiseRow struct {
	level lab.Level
	sd    float64       // of one block's difference, as a log-ratio
	block time.Duration // wall time of both sides' slices in a block
	alarm bool
}

// printNoise says what can be seen on this host.
func printNoise(w io.Writer, s lab.Summary) error {
	b := new(stat.Boundaries)
	var rows []noiseRow
	blocks := 0
	for _, c := range s.Comparisons {
		if c.Metric != lab.QPS || len(c.Blocks) < 3 {
			continue
		}
		blocks = max(blocks, len(c.Blocks))
		rows = append(rows, noiseRow{c.Level, c.SD, blockTime(s.Run, c.Level), c.Verdict == lab.Regressed || c.Verdict == lab.Improved})
	}
	if len(rows) == 0 {
		return fmt.Errorf("no level has 3 blocks; see the failures of run %d", s.Run.ID)
	}
	fmt.Fprintf(w, "A build against itself (%s), %d blocks, placement %s\n\n", s.Run.Base, blocks, s.Run.Plan.Placement)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "step\tclients\tone block varies by\t20 blocks see\tin\t40 blocks see\tin\t")
	var sds []float64
	alarms := 0
	for _, r := range rows {
		mark := ""
		if r.alarm {
			mark = "false alarm"
			alarms++
		}
		fmt.Fprintf(t, "%s\t%d\t%.1f %%\t%s\t%s\t%s\t%s\t%s\n", r.level.Step.Name, r.level.Clients, 100*r.sd,
			seen(b, s.Run.Plan, r.sd, 20), took(r.block, 20), seen(b, s.Run.Plan, r.sd, 40), took(r.block, 40), mark)
		sds = append(sds, r.sd)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	sort.Float64s(sds)
	median := sds[len(sds)/2]
	fmt.Fprintf(w, "\n%d of %d comparisons of equal servers were called different; %.1f are expected at %g %%.\n", alarms, len(rows), float64(len(rows))*s.Run.Plan.Alpha, 100*s.Run.Plan.Alpha)
	_, err := fmt.Fprintln(w, fitness(b, s.Run.Plan, median))
	return err
}

// fitness says in a sentence what this host is good for.
func fitness(b *stat.Boundaries, p lab.Plan, sd float64) string {
	d := 100 * math.Expm1(detect(b, p, sd, 40))
	switch {
	case d <= 3:
		return fmt.Sprintf("This host is fit: in 40 blocks half of the steps show a difference of %.1f %%.", d)
	case d <= 10:
		return fmt.Sprintf("This host is fair: in 40 blocks half of the steps show a difference of %.1f %%; smaller ones need more blocks or a quieter host.", d)
	}
	return fmt.Sprintf("This host is noisy: in 40 blocks half of the steps show only differences of %.0f %% or more. Stop other work, pin servers and client (--placement one-core), or use another host.", d)
}

// detect is the smallest log-ratio that n blocks at most show with 90 % power.
func detect(b *stat.Boundaries, p lab.Plan, sd float64, n int) float64 {
	return sd * b.Reach(stat.Rule{Max: n, First: 4, Alpha: p.Alpha, Rho: p.Rho}).Detect
}

func seen(b *stat.Boundaries, p lab.Plan, sd float64, n int) string {
	return fmt.Sprintf("%.1f %%", 100*math.Expm1(detect(b, p, sd, n)))
}

func took(block time.Duration, n int) string {
	return (time.Duration(n) * block).Round(time.Second).String()
}

// blockTime is the wall time that a level's slices of two variants take in a block.
func blockTime(r lab.Run, l lab.Level) time.Duration {
	for _, lp := range r.Levels {
		if lp.Level == l {
			return 2 * (time.Duration(lp.Slices)*(lp.Slice+r.Plan.Discard) + r.Plan.Warm)
		}
	}
	return 0
}
