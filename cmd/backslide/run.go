package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"backslide/lab"
	"backslide/probe"
	"backslide/proc"
	"backslide/report"
	"backslide/run"
	"backslide/stat"
	"backslide/store"
)

func newRun(e *env) *cobra.Command {
	var f experimentFlags
	var resume, confirm string
	cmd := &cobra.Command{
		Use:   "run [EXPERIMENT.toml]",
		Short: "Run an experiment: interleaved, resumable, stopping where the answer is known",
		Long: "run measures an experiment, from a file, from flags, or from a file with flags over it, and prints\n" +
			"its verdicts. It exits with 0 when it could measure, whatever it found, and with 2 when it could\n" +
			"not: compare exits with what was found. After Ctrl-C it says how to go on.",
		Example: `  backslide run exp.toml
  backslide run --build mariadb@10.11 --build mariadb@11.8 --workload sysbench --steps point --clients 1,4
  backslide run --build mariadb@11.8 --query 'SELECT COUNT(*) FROM t' --schema ddl.sql --clients 1,8
  backslide run --resume last`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := alone(cmd, args); err != nil {
				return err
			}
			switch {
			case resume != "":
				return e.resume(ctx, resume, lab.Raise{At: time.Now(), Blocks: f.blocks, Budget: f.budget})
			case confirm != "":
				return e.confirm(ctx, confirm)
			}
			file, err := f.file(args)
			if err != nil {
				return err
			}
			x, err := f.experiment(file)
			if err != nil {
				return err
			}
			s, err := e.setup(ctx, x)
			if err != nil {
				return err
			}
			sum, err := e.execute(ctx, s, nil)
			if err != nil || f.query.query == "" {
				return err
			}
			return e.rounds(ctx, sum)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&confirm, "confirm", "", "measure the differences that a `run` found again, on fresh blocks with roles swapped")
	cmd.Flags().StringVar(&resume, "resume", "", "go on with the interrupted `run` of that number, or last; with --blocks and --rule e also with one that ended")
	return cmd
}

// alone checks that nothing is asked of a run that is resumed or confirmed which it fixed
// when it began: that would be passed over in silence.
func alone(cmd *cobra.Command, args []string) error {
	mode, may := "", []string{"lab", "cache", "symbols"}
	switch fl := cmd.Flags(); {
	case fl.Changed("resume"):
		mode, may = "resume", append(may, "resume", "blocks", "budget")
	case fl.Changed("confirm"):
		mode, may = "confirm", append(may, "confirm")
	default:
		return nil
	}
	var more []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(may, f.Name) {
			more = append(more, "--"+f.Name)
		}
	})
	if more = append(more, args...); len(more) > 0 {
		return fmt.Errorf("--%s takes everything from the run that it names; leave out %s", mode, strings.Join(more, ", "))
	}
	return nil
}

// resume goes on with a run of the lab that was interrupted, or is raised to more blocks.
func (e *env) resume(ctx context.Context, name string, to lab.Raise) error {
	r, s, err := e.toResume(ctx, name, to)
	if err != nil {
		return err
	}
	_, err = e.execute(ctx, s, &r)
	return err
}

// toResume returns a run that can go on, raised if more blocks are asked for.
func (e *env) toResume(ctx context.Context, name string, to lab.Raise) (r lab.Run, s *setup, err error) {
	st, err := e.existingLab()
	if err != nil {
		return r, nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	runs, err := st.Runs(ctx)
	if err != nil {
		return r, nil, err
	}
	if r, err = runArg(runs, name); err != nil {
		return r, nil, err
	}
	if err := resumable(r, to); err != nil {
		return r, nil, err
	}
	if s, err = e.setup(ctx, r.Experiment); err == nil {
		err = sameBuilds(r, s)
	}
	if err != nil {
		return r, nil, fmt.Errorf("resume run %d: %w", r.ID, err)
	}
	if to.Blocks > 0 {
		if err := st.Raise(ctx, r.ID, to); err != nil {
			return r, nil, err
		}
		if r, err = st.Run(ctx, r.ID); err != nil {
			return r, nil, err
		}
		s.Plan.BlocksMax = r.Plan.BlocksMax
	}
	return r, s, nil
}

// resumable says why a run cannot go on, to as many blocks as are asked for if any are.
func resumable(r lab.Run, to lab.Raise) error {
	rule := r.Plan.WithDefaults().Rule
	switch {
	case to.Blocks == 0 && to.Budget != 0:
		return fmt.Errorf("resume run %d: --budget comes with --blocks, for a run that is raised", r.ID)
	case to.Blocks == 0 && !r.Ended.IsZero() && rule == lab.EValues:
		return fmt.Errorf("run %d ended %s; it can go on with more blocks than its %d: --blocks %d", r.ID, r.Ended.Format(time.DateTime), r.Plan.BlocksMax, 2*r.Plan.BlocksMax)
	case to.Blocks == 0 && !r.Ended.IsZero():
		return fmt.Errorf("run %d ended %s; there is nothing to resume", r.ID, r.Ended.Format(time.DateTime))
	case to.Blocks > 0 && rule != lab.EValues:
		return fmt.Errorf("resume run %d: it decides by rule %s, whose false alarms are kept in bounds over the %d planned blocks; more blocks after a look at the result would break that: start a new run, with --rule e if its end is to stay open",
			r.ID, rule, r.Plan.BlocksMax)
	case to.Blocks > 0 && to.Blocks <= r.Plan.BlocksMax:
		return fmt.Errorf("resume run %d: it has %d blocks already; --blocks %d would be no more", r.ID, r.Plan.BlocksMax, to.Blocks)
	}
	return nil
}

// sameBuilds checks that the builds are still those that a run began with.
func sameBuilds(r lab.Run, s *setup) error {
	for v, side := range r.Sides {
		if b := s.builds[side.Build.Name]; b.ID != side.Build.ID {
			return fmt.Errorf("the build of %s is another one now (id %.12s, was %.12s); start a new run", v, b.ID, side.Build.ID)
		}
	}
	return nil
}

// execute runs an experiment, or goes on with the run old, and prints the verdicts.
func (e *env) execute(ctx context.Context, s *setup, old *lab.Run) (lab.Summary, error) {
	sum, err := e.run(ctx, s, old)
	if err != nil {
		return sum, err
	}
	width, _ := e.terminal()
	return sum, report.Text(e.stdout, sum, report.Options{Metric: lab.QPS, Width: width, Color: e.color()})
}

// run runs an experiment, or goes on with the run old, and judges it.
func (e *env) run(ctx context.Context, s *setup, old *lab.Run) (_ lab.Summary, err error) {
	st, err := e.openLab()
	if err != nil {
		return lab.Summary{}, err
	}
	defer st.Close()
	unlock, err := lockLab(st.Dir())
	if err != nil {
		return lab.Summary{}, err
	}
	defer unlock()
	if old != nil {
		if err := sameWorkloads(ctx, st, old.ID, s); err != nil {
			return lab.Summary{}, err
		}
	}

	p := newProgress(e.stderr, s.Plan.BlocksMax)
	defer p.close()
	w, err := e.wire(ctx, st, s, p)
	if err != nil {
		return lab.Summary{}, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.conductor.Sweep(); err != nil {
		return lab.Summary{}, err
	}
	var r lab.Run
	if old != nil {
		r = *old
		if err := w.conductor.Prepare(ctx, r.Variants); err != nil {
			return lab.Summary{}, err
		}
	} else if r, err = w.begin(ctx, s, p); err != nil {
		return lab.Summary{}, err
	}
	if err := w.conductor.Run(ctx, r); err != nil {
		if ctx.Err() != nil {
			return lab.Summary{}, fmt.Errorf("%w; go on with: backslide run --resume %d%s", context.Cause(ctx), r.ID, e.labFlag())
		}
		return lab.Summary{}, fmt.Errorf("run %d: %w; go on with: backslide run --resume %d%s", r.ID, err, r.ID, e.labFlag())
	}
	if r, err = st.Run(ctx, r.ID); err != nil {
		return lab.Summary{}, err
	}
	sum, err := e.judge(ctx, st, r)
	if err != nil || r.Plan.Diagnose == 0 {
		return sum, err
	}
	if err := w.diagnose(ctx, s, sum); err != nil {
		return sum, fmt.Errorf("run %d is measured, but its diagnosis is not complete: %w; go on with: backslide explain %d%s", r.ID, err, r.ID, e.labFlag())
	}
	return sum, nil
}

func (e *env) labFlag() string {
	if e.labDir == "lab" {
		return ""
	}
	return " --lab " + shellWord(e.labDir)
}

// shellWord quotes a word where a shell would take it apart.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%=", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// lockLab keeps a second run out of a lab: two would disturb each other's figures.
func lockLab(dir string) (func(), error) {
	f, err := os.OpenFile(filepath.Join(dir, "run.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another run is going on in lab %s; wait for it, or use another --lab", dir)
	}
	return func() { f.Close() }, nil
}

// wiring is everything that a run needs, put together.
type wiring struct {
	*rig
	conductor *run.Conductor
	store     *store.Store
	freezer   *proc.Freezer
	symbols   string // directory with files of debug symbols; "": none
}

func (e *env) wire(ctx context.Context, st *store.Store, s *setup, p *progress) (*wiring, error) {
	cache, err := filepath.Abs(e.cacheDir)
	if err != nil {
		return nil, err
	}
	left, err := proc.CleanUp(guards(cache))
	if err != nil {
		return nil, fmt.Errorf("end what an earlier run left: %w", err)
	}
	for _, what := range left {
		p.line("note: left by an earlier run: %s", what)
	}
	b := new(stat.Boundaries)
	only, err := suspects(ctx, st, s.Plan.Confirms, b)
	if err != nil {
		return nil, err
	}
	w := &wiring{store: st, symbols: e.symbolDir}
	if w.freezer, err = newFreezer(ctx, s.Plan.Freeze); err != nil {
		return nil, err
	}
	if w.rig, err = e.rig(ctx, s, w.freezer); err != nil {
		return nil, err
	}
	w.conductor = &run.Conductor{
		Host: w.host, Client: &tooled{remote: w.client, setup: s, cpus: w.cpus, guard: w.guard}, Store: keeper{st}, Dir: st.Dir(), Events: p.events(),
		Meter: (&meter{}).begin, Follow: follow, Account: account,
		Judge: func(r lab.Run, slices []lab.Slice) (run.Outlook, error) { return outlook(r, slices, b, only) },
	}
	return w, nil
}

// begin prepares the data, fixes what the run will do, and stores it.
func (w *wiring) begin(ctx context.Context, s *setup, p *progress) (lab.Run, error) {
	r := lab.Run{
		Name: s.Name, Started: time.Now(), Experiment: s.Experiment, Plan: s.Plan, Variants: s.Variants(),
		Host: probe.Host(w.conductor.Dir), Freezer: w.freezer.String(),
	}
	r.Base, r.Host.Client = r.Variants[0], s.drivers()
	f, limit := s.forecast(), memoryLimit(s.Plan, probe.Free(w.conductor.Dir))
	if r.Plan.Together = f.together(limit); r.Plan.Together > 0 {
		p.line("note: the servers need about %s, and may use %s: %s", size(f.memory), size(limit), atOnce(r.Plan.Together))
	}
	for _, note := range s.notes {
		p.line("note: %s", note)
	}
	for _, warning := range r.Host.Warnings {
		p.line("host: %s", warning)
	}
	if err := s.checkOptions(ctx); err != nil {
		return r, err
	}
	if err := w.conductor.Prepare(ctx, r.Variants); err != nil {
		return r, err
	}
	var err error
	if r.Levels, err = w.conductor.Calibrate(ctx, r.Plan, r.Variants, s.levels); err != nil {
		return r, err
	}
	if r.ID, err = w.store.NewRun(ctx, r); err != nil {
		return r, err
	}
	for _, wl := range s.workloads {
		if _, err := w.store.Keep(ctx, r.ID, workloadKind, wl.use.Name, strings.NewReader(wl.text)); err != nil {
			return r, err
		}
	}
	return r, nil
}

// newFreezer returns the freezer that a plan asks for.
func newFreezer(ctx context.Context, kind string) (*proc.Freezer, error) {
	if kind != "cgroup" {
		return proc.NewFreezer(ctx, kind)
	}
	f, err := proc.NewFreezer(ctx, proc.CgroupV2)
	if err == nil {
		return f, nil
	}
	f, err1 := proc.NewFreezer(ctx, proc.CgroupV1)
	if err1 == nil {
		return f, nil
	}
	return nil, errors.Join(err, err1)
}

// keeper is the lab's store as the conductor wants it.
type keeper struct{ *store.Store }

// Slices is run.Store's: measured ones, without histograms, which decide nothing.
func (k keeper) Slices(ctx context.Context, id int64) ([]lab.Slice, error) {
	return k.Store.Slices(ctx, id, store.Filter{Kind: lab.Measured})
}
