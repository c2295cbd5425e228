package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"backslide/lab"
)

// experimentFlags are an experiment as flags: alone, or over a file.
type experimentFlags struct {
	builds, configs, engines, workloads, steps, params []string
	clients                                            []int
	base, cnf, margin, placement, rule, stop, latency  string
	blocks, slices, diagnose                           int
	seed                                               uint64
	budget, slice                                      time.Duration
	query                                              queryFlags
	aa                                                 bool
}

// add defines the flags; what the fields hold are the defaults.
func (f *experimentFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringSliceVar(&f.builds, "build", f.builds, "`build` to run, as mariadb@11.8 or dir:/opt/mysql; repeat for more")
	fl.StringArrayVar(&f.configs, "config", f.configs, "config as `NAME[:option=value,…]`; repeat for more")
	fl.StringVar(&f.cnf, "cnf", f.cnf, "my.cnf `file` whose server options every --config starts with")
	fl.StringSliceVar(&f.engines, "engine", f.engines, "storage `engine`: innodb, myisam, aria, memory, myrocks")
	fl.StringSliceVar(&f.workloads, "workload", f.workloads, "`workload`: a built-in one, or a .toml file")
	fl.StringSliceVar(&f.steps, "steps", f.steps, "`steps`, groups or subsets of the workloads; empty: all")
	fl.StringArrayVar(&f.params, "param", f.params, "parameter of the workloads as `NAME=VALUE`; repeat for more")
	fl.IntSliceVar(&f.clients, "clients", f.clients, "`numbers` of clients: 1,4,32")
	fl.StringVar(&f.base, "base", f.base, "`variant` to compare with: build, build/config or build/config/engine")
	fl.IntVar(&f.blocks, "blocks", f.blocks, "restarts of every server at most")
	fl.IntVar(&f.slices, "slices", f.slices, "slices per variant, level and block; without it, as many as a pilot of the noise calls for")
	fl.DurationVar(&f.budget, "budget", f.budget, "wall `time` for all blocks")
	fl.DurationVar(&f.slice, "slice", f.slice, "measured `time` of a read slice; without it, 200ms or what a pilot finds better")
	fl.Uint64Var(&f.seed, "seed", f.seed, "`number` that order and operations follow from")
	fl.BoolVar(&f.aa, "aa", f.aa, "run the base twice, as a check of the lab itself")
	fl.IntVar(&f.diagnose, "diagnose", f.diagnose, "`rounds` of watching what was called, for explain and the page, after the measured blocks")
	fl.StringVar(&f.rule, "rule", f.rule, "`rule` of the verdicts: gst, for a planned number of blocks, or e, open-ended")
	fl.StringVar(&f.stop, "stop", f.stop, "a difference gets blocks until it holds for the whole report, red, or until it is called, `amber`")
	fl.StringVar(&f.latency, "latency", f.latency, "run read steps also at a set rate, to compare latencies: a `share` of the base's speed")
	fl.Lookup("latency").NoOptDefVal = "70%"
	fl.StringVar(&f.margin, "margin", f.margin, "difference that does not matter, as 5%")
	fl.StringVar(&f.query.query, "query", f.query.query, "`SQL` of a workload that is this one statement, as text")
	fl.StringVar(&f.query.schema, "schema", f.query.schema, "`file` of statements to run before --query")
	fl.StringVar(&f.placement, "placement", f.placement, "CPUs: unpinned, one-core, split or co-located")
	for name, values := range map[string][]string{
		"placement": {string(lab.Unpinned), string(lab.OneCore), string(lab.Split), string(lab.CoLocated)},
		"engine":    {"innodb", "myisam", "aria", "memory", "myrocks"},
	} {
		if err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // a flag of that name was defined above
		}
	}
}

// experiment returns the experiment of a file (path may be empty) with the flags over it.
func (f *experimentFlags) experiment(path string) (lab.Experiment, error) {
	var e lab.Experiment
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return e, fmt.Errorf("read experiment: %w", err)
		}
		near := func(name string) (string, error) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(filepath.Dir(path), name)
			}
			b, err := os.ReadFile(name)
			return string(b), err
		}
		if e, err = lab.ParseExperiment(path, string(text), near); err != nil {
			return e, err
		}
	}
	if err := f.over(&e); err != nil {
		return e, err
	}
	e, err := e.Resolve()
	if err != nil && path == "" {
		return e, fmt.Errorf("%w (as flags: --build, --config, --engine, --workload, --clients, --base)", err)
	}
	return e, err
}

// over lays the flags that were given over an experiment.
func (f *experimentFlags) over(e *lab.Experiment) error {
	if f.builds != nil {
		e.Builds, e.Base = f.builds, ""
	}
	if f.engines != nil {
		e.Engines, e.Base = f.engines, ""
	}
	if f.clients != nil {
		e.Clients = f.clients
	}
	if f.base != "" {
		e.Base = f.base
	}
	if err := f.overConfigs(e); err != nil {
		return err
	}
	if f.workloads != nil {
		e.Workloads = nil
		for _, w := range f.workloads {
			e.Workloads = append(e.Workloads, lab.WorkloadUse{Name: w})
		}
	}
	if f.query.query != "" {
		text, err := f.query.workload()
		if err != nil {
			return err
		}
		e.Workloads = append(e.Workloads, lab.WorkloadUse{Name: queryWorkload, Text: text})
	} else if f.query.schema != "" {
		return errors.New("--schema is for --query; a workload has its own tables")
	}
	params := map[string]string{}
	for _, p := range f.params {
		name, value, ok := strings.Cut(p, "=")
		if !ok {
			return fmt.Errorf("--param %q is not NAME=VALUE", p)
		}
		params[name] = value
	}
	for i := range e.Workloads {
		w := &e.Workloads[i]
		if f.steps != nil {
			w.Steps = f.steps
		}
		for k, v := range params {
			if w.Params == nil {
				w.Params = map[string]string{}
			}
			w.Params[k] = v
		}
	}
	return f.overPlan(&e.Plan)
}

func (f *experimentFlags) overConfigs(e *lab.Experiment) error {
	var common []lab.Option
	if f.cnf != "" {
		text, err := os.ReadFile(f.cnf)
		if err != nil {
			return fmt.Errorf("read --cnf: %w", err)
		}
		if common, err = lab.ParseCnf(f.cnf, string(text)); err != nil {
			return err
		}
	}
	if f.configs == nil && common == nil {
		return nil
	}
	names := f.configs
	if names == nil {
		names = []string{"default"}
	}
	e.Configs, e.Base = nil, f.base
	for _, c := range names {
		name, opts, _ := strings.Cut(c, ":")
		cfg := lab.Config{Name: name, Options: append([]lab.Option(nil), common...)}
		for _, o := range strings.FieldsFunc(opts, func(r rune) bool { return r == ',' }) {
			k, v, ok := strings.Cut(o, "=")
			switch lab.NormalName(k) {
			case "preload":
				cfg.Preload = v
			case "launcher":
				cfg.Launcher = strings.Fields(v)
			default:
				cfg.Options = append(cfg.Options, lab.Option{Name: strings.TrimSpace(k), Value: v, Bare: !ok})
			}
		}
		e.Configs = append(e.Configs, cfg)
	}
	return nil
}

func (f *experimentFlags) overPlan(p *lab.Plan) error {
	if f.blocks != 0 {
		p.BlocksMax = f.blocks
	}
	if f.slices != 0 {
		p.Slices, p.FitSlices = f.slices, false
	}
	if f.budget != 0 {
		p.Budget = f.budget
	}
	if f.slice != 0 {
		p.Slice, p.FitLength = f.slice, false
	}
	if f.seed != 0 {
		p.Seed = f.seed
	}
	if f.placement != "" {
		p.Placement = lab.Placement(f.placement)
	}
	if f.rule != "" {
		p.Rule = f.rule
	}
	if f.stop != "" {
		p.Stop = f.stop
	}
	if f.diagnose > 0 {
		p.Diagnose = f.diagnose
	}
	if f.latency != "" {
		share, err := lab.ParseShare(f.latency)
		if err != nil {
			return fmt.Errorf("--latency: %w, write it as 70%%", err)
		}
		p.Latency = share
	}
	if f.aa {
		p.AA = true
	}
	if f.margin != "" {
		m, err := lab.ParseShare(f.margin)
		if err != nil {
			return fmt.Errorf("--margin: %w, write it as 5%%", err)
		}
		p.Margin = m
	}
	return nil
}

// runArg returns the run that an argument names: a number, or the newest for "" or "last".
func runArg(runs []lab.Run, arg string) (lab.Run, error) {
	if len(runs) == 0 {
		return lab.Run{}, fmt.Errorf("this lab has no runs yet")
	}
	if arg == "" || arg == "last" {
		return runs[0], nil
	}
	id, err := strconv.ParseInt(arg, 10, 64)
	var known []string
	for _, r := range runs {
		if err == nil && r.ID == id {
			return r, nil
		}
		if r.Name == arg || err != nil && r.Experiment.File == arg {
			return r, nil
		}
		known = append(known, strconv.FormatInt(r.ID, 10), r.Name)
	}
	return lab.Run{}, fmt.Errorf("no run %q in this lab%s", arg, lab.Suggest(arg, known))
}
