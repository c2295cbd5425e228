package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"backslide/lab"
	"backslide/workloads"
)

// experimentFlags are an experiment as flags: alone, or over a file.
type experimentFlags struct {
	builds, configs, engines, workloads, steps, params []string
	clients                                            clientsFlag
	name                                               string
	base, cnf, margin, placement, rule, stop, latency  string
	blocks, slices, diagnose                           int
	seed                                               uint64
	budget, slice                                      time.Duration
	query                                              queryFlags
	aa                                                 bool
	flags                                              *pflag.FlagSet // those of the verb, which know what was given
}

// latencyShare is what --latency without a share means.
const latencyShare = "70%"

// add defines the flags; what the fields hold are the defaults.
func (f *experimentFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	f.flags = fl
	fl.StringVar(&f.name, "name", f.name, "`name` of the experiment, for history and reports")
	fl.StringSliceVar(&f.builds, "build", f.builds, "`build` to run, as mariadb@11.8 or dir:/opt/mysql; repeat for more")
	fl.StringArrayVar(&f.configs, "config", f.configs, "config as `NAME[:option=value,...]`; repeat for more")
	fl.StringVar(&f.cnf, "cnf", f.cnf, "my.cnf `file` whose server options every --config starts with")
	fl.StringSliceVar(&f.engines, "engine", f.engines, "storage `engine`: innodb (default), myisam, aria, memory, myrocks; repeat for more")
	fl.StringSliceVar(&f.workloads, "workload", f.workloads, "`workload`: "+strings.Join(workloads.Names(), ", ")+", or a .toml file; repeat for more")
	fl.StringSliceVar(&f.steps, "steps", f.steps, "`steps`, groups or subsets of the workloads, with commas between them; else all")
	fl.StringArrayVar(&f.params, "param", f.params, "parameter of the workloads as `NAME=VALUE`; repeat for more")
	fl.Var(&f.clients, "clients", "`numbers` of clients: 1,4,32")
	fl.StringVar(&f.base, "base", f.base, "`variant` to compare with: build, build/config or build/config/engine")
	fl.IntVar(&f.blocks, "blocks", f.blocks, "restarts of every server at most, as a `number`; else 20")
	fl.IntVar(&f.slices, "slices", f.slices, "slices per variant, level and block, an even `number`; else as many as a pilot of the noise calls for")
	fl.DurationVar(&f.budget, "budget", f.budget, "wall `time` for all blocks, as 30m; else no limit")
	fl.DurationVar(&f.slice, "slice", f.slice, "measured `time` of a read slice; else 200ms or what a pilot finds better")
	fl.Uint64Var(&f.seed, "seed", f.seed, "`number` that order and operations follow from; else 1")
	fl.BoolVar(&f.aa, "aa", f.aa, "run the base twice, as a check of the lab itself")
	fl.IntVar(&f.diagnose, "diagnose", f.diagnose, "`rounds` of watching what was called, for explain and the page, after the measured blocks")
	fl.StringVar(&f.rule, "rule", f.rule, "`rule` of the verdicts: gst, for a planned number of blocks (default), or e, open-ended")
	fl.StringVar(&f.stop, "stop", f.stop, "`when` a difference has had blocks enough: red, it holds for the whole report (default), or amber, it is called")
	fl.StringVar(&f.latency, "latency", f.latency, "run read steps also at a set rate, to compare latencies: at this `share` of the base's speed")
	fl.Lookup("latency").NoOptDefVal = latencyShare
	fl.StringVar(&f.margin, "margin", f.margin, "difference that does not matter, as a `share`; else 5%")
	fl.StringVar(&f.query.query, "query", f.query.query, "`SQL` statement to run as the workload, or beside one")
	fl.StringVar(&f.query.schema, "schema", f.query.schema, "`file` of statements to run before --query")
	fl.StringVar(&f.placement, "placement", f.placement, "`CPUs` of servers and client: unpinned (default), one-core, split or co-located")
	for name, values := range map[string][]string{
		"placement": {string(lab.Unpinned), string(lab.OneCore), string(lab.Split), string(lab.CoLocated)},
		"rule":      {lab.GST, lab.EValues},
		"stop":      {lab.UntilRed, lab.UntilAmber},
		"workload":  workloads.Names(),
		"engine":    {"innodb", "myisam", "aria", "memory", "myrocks"},
	} {
		if err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(err) // a flag of that name was defined above
		}
	}
}

// given reports whether a flag stands on the command line.
func (f *experimentFlags) given(name string) bool { return f.flags != nil && f.flags.Changed(name) }

// file returns the experiment file that arguments name; empty: none. A share behind
// --latency, which takes one only with an equals sign, is that flag's.
func (f *experimentFlags) file(args []string) (string, error) {
	for i, arg := range args {
		if _, err := lab.ParseShare(arg); err == nil && f.given("latency") && f.latency == latencyShare {
			f.latency = arg
			args = slices.Delete(slices.Clone(args), i, i+1)
			break
		}
	}
	for _, arg := range args {
		_, err := os.Stat(arg)
		switch {
		case err != nil && (strings.Contains(arg, "@") || strings.HasPrefix(arg, "dir:") || strings.HasPrefix(arg, "tar:")):
			return "", fmt.Errorf("%q is no experiment file; a build is named with --build %s", arg, arg)
		case err != nil && slices.Contains(workloads.Names(), arg):
			return "", fmt.Errorf("%q is no experiment file; a workload is named with --workload %s", arg, arg)
		}
	}
	if len(args) > 1 {
		return "", fmt.Errorf("one experiment file at a time, not %d: %s", len(args), strings.Join(args, ", "))
	}
	return first(args), nil
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
		return e, f.asFlag(err)
	}
	return e, err
}

// asFlag adds the flag to an error of an experiment, which begins with a key of the file.
func (f *experimentFlags) asFlag(err error) error {
	key, rest, _ := strings.Cut(err.Error(), ": ")
	if key == "plan" {
		key, _, _ = strings.Cut(rest, " = ")
	}
	if key == "builds" || key == "engines" {
		key = strings.TrimSuffix(key, "s")
	}
	if f.flags == nil || f.flags.Lookup(key) == nil {
		return err
	}
	return fmt.Errorf("%w (as a flag: --%s)", err, key)
}

// over lays the flags that were given over an experiment.
func (f *experimentFlags) over(e *lab.Experiment) error {
	if f.name != "" {
		e.Name = f.name
	}
	if f.builds != nil {
		e.Builds, e.Base = f.builds, ""
	}
	if f.engines != nil {
		e.Engines, e.Base = f.engines, ""
	}
	if f.clients.numbers != nil {
		e.Clients = f.clients.numbers
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
	} else if f.given("query") {
		return errors.New("--query is empty; it is an SQL statement, as text")
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
	if err := f.overSteps(e.Workloads); err != nil {
		return err
	}
	for i := range e.Workloads {
		w := &e.Workloads[i]
		for k, v := range params {
			if w.Params == nil {
				w.Params = map[string]string{}
			}
			w.Params[k] = v
		}
	}
	return f.overPlan(&e.Plan)
}

// overSteps gives each workload those of --steps that it has. A --query has no others.
func (f *experimentFlags) overSteps(uses []lab.WorkloadUse) error {
	if f.steps == nil {
		return nil
	}
	var files []*lab.WorkloadUse
	for i := range uses {
		if uses[i].Text == "" {
			files = append(files, &uses[i])
		}
	}
	if len(files) == 1 {
		files[0].Steps = f.steps
		return nil
	}
	found := map[string]bool{}
	for _, use := range files {
		use.Steps = nil
		w, err := readWorkload(*use)
		if err != nil {
			return err
		}
		for _, step := range f.steps {
			if w.w.Has(step) {
				use.Steps, found[step] = append(use.Steps, step), true
			}
		}
		if len(use.Steps) == 0 {
			return fmt.Errorf("--steps %s: workload %s has none of them; leave it out, or name steps of it too", strings.Join(f.steps, ","), use.Name)
		}
	}
	for _, step := range f.steps {
		if !found[step] {
			return fmt.Errorf("--steps %s: no workload has a step, group or subset of that name", step)
		}
	}
	return nil
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
	for _, flag := range []string{"blocks", "slices", "slice"} {
		if f.given(flag) && slices.Contains([]string{"0", "0s"}, f.flags.Lookup(flag).Value.String()) {
			return fmt.Errorf("--%s 0 would measure nothing; leave it out for the default", flag)
		}
	}
	if f.blocks != 0 {
		p.BlocksMax = f.blocks
	}
	if f.slices != 0 {
		p.Slices, p.FitSlices = f.slices, false
	}
	if f.budget != 0 || f.given("budget") {
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
	if f.diagnose != 0 || f.given("diagnose") {
		p.Diagnose = f.diagnose
	}
	if f.latency != "" {
		share, err := lab.ParseShare(f.latency)
		if err != nil {
			return fmt.Errorf("--latency: %w, write it as 70%%", err)
		}
		p.Latency = share
	}
	if f.aa || f.given("aa") {
		p.AA = f.aa
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
