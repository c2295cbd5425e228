package lab

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Experiment is what a user asks for: variants × workloads × clients and a plan.
type Experiment struct {
	Name      string        `json:"name"`
	File      string        `json:"file,omitempty"` // where it was read from; empty: from flags
	Builds    []string      `json:"builds"`
	Engines   []string      `json:"engines"` // proper names, as in Engines()
	Clients   []int         `json:"clients"`
	Base      string        `json:"base"` // build, build/config or build/config/engine
	Configs   []Config      `json:"configs"`
	Workloads []WorkloadUse `json:"workloads"`
	Plan      Plan          `json:"plan"`
}

// WorkloadUse is a workload as an experiment wants it.
type WorkloadUse struct {
	Name   string            `json:"name"`             // of a built-in one, or a path ending in .toml
	Steps  []string          `json:"steps,omitempty"`  // names, groups or subsets of the workload; empty: all
	Params map[string]string `json:"params,omitempty"` // over the workload's defaults
	Text   string            `json:"text,omitempty"`   // the workload itself, where it is neither built in nor a file
}

// experimentFile is the experiment file, key for key.
type experimentFile struct {
	Name     string         `toml:"name"`
	Builds   []string       `toml:"builds"`
	Engines  []string       `toml:"engines"`
	Clients  []int          `toml:"clients"`
	Base     string         `toml:"base"`
	Config   []configFile   `toml:"config"`
	Axis     []axisFile     `toml:"axis"`
	Workload []workloadFile `toml:"workload"`
	Plan     planFile       `toml:"plan"`
}

type configFile struct {
	Name     string         `toml:"name"`
	Cnf      string         `toml:"cnf"`
	Options  map[string]any `toml:"options"`
	MySQL    map[string]any `toml:"mysql"`
	MariaDB  map[string]any `toml:"mariadb"`
	Preload  string         `toml:"preload"`
	Launcher []string       `toml:"launcher"`
	Env      []string       `toml:"env"`
}

type workloadFile struct {
	Name   string         `toml:"name"`
	Steps  []string       `toml:"steps"`
	Params map[string]any `toml:"params"`
}

type planFile struct {
	Seed      uint64  `toml:"seed"`
	Blocks    *int    `toml:"blocks"` // nil: the default, so that 0 can be refused
	Budget    string  `toml:"budget"`
	Alpha     float64 `toml:"alpha"`
	AlphaEq   float64 `toml:"alpha_eq"`
	Margin    string  `toml:"margin"`
	Rho       float64 `toml:"rho"`
	Slice     string  `toml:"slice"`
	Discard   string  `toml:"discard"`
	Warm      string  `toml:"warm"`
	Slices    *int    `toml:"slices"` // likewise
	Placement string  `toml:"placement"`
	Freeze    string  `toml:"freeze"`
	GroupSize int     `toml:"group_size"`
	Rule      string  `toml:"rule"`
	Stop      string  `toml:"stop"`
	AA        bool    `toml:"aa"`
	Diagnose  int     `toml:"diagnose"`
	Memory    string  `toml:"memory"`
	Latency   string  `toml:"latency"`
}

// ParseExperiment reads an experiment file's text. readFile is called for configuration
// files that it names, with the path as written. Everything wrong is a *SyntaxError.
func ParseExperiment(file, text string, readFile func(string) (string, error)) (Experiment, error) {
	var f experimentFile
	if err := DecodeTOML(file, text, &f); err != nil {
		return Experiment{}, err
	}
	// Messages begin with the key at fault: "clients: …", "plan: budget = …".
	bad := func(format string, args ...any) error {
		msg := fmt.Sprintf(format, args...)
		key, rest, _ := strings.Cut(msg, ": ")
		line := LineOf(text, key)
		if name, _, ok := strings.Cut(rest, " = "); ok && key == "plan" {
			line = LineOf(text, key, name)
		}
		return &SyntaxError{File: file, Line: line, Msg: msg}
	}
	e := Experiment{
		Name: f.Name, File: file, Builds: f.Builds, Engines: f.Engines, Clients: f.Clients, Base: f.Base,
	}
	var err error
	for i, c := range f.Config {
		cfg, err := c.config(readFile)
		if err != nil {
			return Experiment{}, bad("config: number %d, %q: %v", i+1, c.Name, err)
		}
		e.Configs = append(e.Configs, cfg)
	}
	if e.Configs, err = multiply(e.Configs, f.Axis); err != nil {
		return Experiment{}, bad("%v", err)
	}
	for _, w := range f.Workload {
		use := WorkloadUse{Name: w.Name, Steps: w.Steps}
		for k, v := range w.Params {
			if use.Params == nil {
				use.Params = map[string]string{}
			}
			use.Params[k] = fmt.Sprint(v)
		}
		e.Workloads = append(e.Workloads, use)
	}
	if e.Plan, err = f.Plan.plan(); err != nil {
		return Experiment{}, bad("%v", err)
	}
	if e, err = e.Resolve(); err != nil {
		return Experiment{}, bad("%v", err)
	}
	return e, nil
}

// Resolve fills in what an experiment may leave out and checks the rest: names that are
// missing, double or unknown. Errors begin with the key at fault and a colon.
func (e Experiment) Resolve() (Experiment, error) {
	if len(e.Builds) == 0 {
		return e, fmt.Errorf("builds: none given; name at least one, as in builds = [\"mariadb@10.11\", \"mariadb@11.8\"]")
	}
	if len(e.Workloads) == 0 {
		return e, fmt.Errorf("workload: none given; add [[workload]] with name = \"slap\" or \"sysbench\"")
	}
	if len(e.Engines) == 0 {
		e.Engines = []string{"InnoDB"}
	}
	if len(e.Clients) == 0 {
		e.Clients = []int{1}
	}
	if len(e.Configs) == 0 {
		e.Configs = []Config{{Name: "default"}}
	}
	engines := append([]string(nil), e.Engines...)
	for i, name := range engines {
		proper, ok := Engines()[strings.ToLower(name)]
		if !ok {
			var known []string
			for _, n := range Engines() {
				known = append(known, n)
			}
			return e, fmt.Errorf("engines: unknown engine %q%s", name, Suggest(name, known))
		}
		engines[i] = proper
	}
	e.Engines = engines
	for _, c := range e.Clients {
		if c < 1 || c > 4096 {
			return e, fmt.Errorf("clients: %d is outside 1 to 4096", c)
		}
	}
	var configs, workloads []string
	for i, c := range e.Configs {
		if c.Name == "" {
			return e, fmt.Errorf("config: number %d has no name", i+1)
		}
		configs = append(configs, c.Name)
	}
	for i, w := range e.Workloads {
		if w.Name == "" {
			return e, fmt.Errorf("workload: number %d has no name", i+1)
		}
		workloads = append(workloads, w.Name)
	}
	clients := make([]string, len(e.Clients))
	for i, c := range e.Clients {
		clients[i] = strconv.Itoa(c)
	}
	for _, list := range []struct {
		key   string
		names []string
	}{{"builds", e.Builds}, {"engines", e.Engines}, {"config", configs}, {"workload", workloads}, {"clients", clients}} {
		if d := double(list.names); d != "" {
			return e, fmt.Errorf("%s: %q is there twice", list.key, d)
		}
		for _, n := range list.names {
			if strings.TrimSpace(n) == "" {
				return e, fmt.Errorf("%s: an empty name", list.key)
			}
		}
	}
	if e.Name == "" {
		e.Name = strings.Join(workloads, "+")
	}
	e.Plan = e.Plan.WithDefaults().spelled()
	if err := e.Plan.Check(); err != nil {
		return e, err
	}
	base, err := e.base()
	if err != nil {
		return e, err
	}
	e.Base = base.String()
	return e, nil
}

// Variants returns the variants of a resolved experiment, the base first, then its copy
// if the plan wants one, the others in the order build, config, engine.
func (e Experiment) Variants() []Variant {
	base, err := e.base()
	if err != nil {
		return nil
	}
	out := []Variant{base}
	if e.Plan.AA {
		twin := base
		twin.Copy = 1
		out = append(out, twin)
	}
	for _, v := range e.product() {
		if v != base {
			out = append(out, v)
		}
	}
	return out
}

// Config returns the config of that name.
func (e Experiment) Config(name string) (Config, bool) {
	for _, c := range e.Configs {
		if c.Name == name {
			return c, true
		}
	}
	return Config{}, false
}

func (e Experiment) product() []Variant {
	var out []Variant
	for _, b := range e.Builds {
		for _, c := range e.Configs {
			for _, g := range e.Engines {
				out = append(out, Variant{Build: b, Config: c.Name, Engine: g})
			}
		}
	}
	return out
}

// base resolves Base, of which trailing parts may be missing, to the first such variant.
func (e Experiment) base() (Variant, error) {
	all := e.product()
	if e.Base == "" {
		return all[0], nil
	}
	var names []string
	for _, v := range all {
		s := v.String()
		if s == e.Base || strings.HasPrefix(s, e.Base+"/") || v.Config == e.Base || v.Build+"/"+v.Config == e.Base {
			return v, nil
		}
		names = append(names, v.Build, v.String())
	}
	sort.Strings(names)
	return Variant{}, fmt.Errorf("base: %q is no variant of this experiment%s", e.Base, Suggest(e.Base, slices.Compact(names)))
}

func (c configFile) config(readFile func(string) (string, error)) (Config, error) {
	out := Config{Name: c.Name, Preload: c.Preload, Launcher: c.Launcher, Env: c.Env}
	if c.Cnf != "" {
		text, err := readFile(c.Cnf)
		if err != nil {
			return out, err
		}
		if out.Options, err = ParseCnf(c.Cnf, text); err != nil {
			return out, err
		}
	}
	opts, err := options(c.Options)
	if err != nil {
		return out, err
	}
	out.Options = append(out.Options, opts...)
	for family, m := range map[Family]map[string]any{MySQL: c.MySQL, MariaDB: c.MariaDB} {
		opts, err := options(m)
		if err != nil {
			return out, err
		}
		if len(opts) > 0 {
			if out.ByFamily == nil {
				out.ByFamily = map[Family][]Option{}
			}
			out.ByFamily[family] = opts
		}
	}
	for _, e := range c.Env {
		if !strings.Contains(e, "=") {
			return out, fmt.Errorf("env %q is not NAME=VALUE", e)
		}
	}
	return out, nil
}

// options returns a TOML table of options, sorted by name so that the order is stable.
func options(m map[string]any) ([]Option, error) {
	var out []Option
	for name, v := range m {
		o := Option{Name: name}
		switch v := v.(type) {
		case bool:
			o.Value = "ON"
			if !v {
				o.Value = "OFF"
			}
		case string:
			o.Value = v
			o.Bare = v == ""
		case int64, float64:
			o.Value = fmt.Sprint(v)
		default:
			return nil, fmt.Errorf("option %s is neither text, number nor true/false", name)
		}
		out = append(out, o)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

func (p planFile) plan() (Plan, error) {
	out := Plan{
		Seed: p.Seed, Alpha: p.Alpha, AlphaEq: p.AlphaEq, Rho: p.Rho,
		Placement: Placement(p.Placement), Freeze: p.Freeze, GroupSize: p.GroupSize, AA: p.AA, Diagnose: p.Diagnose, Rule: p.Rule, Stop: p.Stop,
	}
	for _, n := range []struct {
		name string
		n    *int
		to   *int
	}{{"blocks", p.Blocks, &out.BlocksMax}, {"slices", p.Slices, &out.Slices}} {
		if n.n == nil {
			continue
		}
		if *n.to = *n.n; *n.n == 0 {
			return out, fmt.Errorf("plan: %s = 0 would measure nothing; leave it out for the default", n.name)
		}
	}
	for _, d := range []struct {
		name, text string
		to         *time.Duration
	}{{"budget", p.Budget, &out.Budget}, {"slice", p.Slice, &out.Slice}, {"discard", p.Discard, &out.Discard}, {"warm", p.Warm, &out.Warm}} {
		if d.text == "" {
			continue
		}
		v, err := time.ParseDuration(d.text)
		if err != nil {
			return out, fmt.Errorf("plan: %s = %q is not a time such as 90s or 10m", d.name, d.text)
		}
		if v == 0 && d.name == "slice" {
			return out, errors.New("plan: slice = 0 would measure nothing; leave it out for the default")
		}
		*d.to = v
	}
	if p.Latency != "" {
		v, err := ParseShare(p.Latency)
		if err != nil {
			return out, fmt.Errorf("plan: latency = %q is not a share such as 70%%", p.Latency)
		}
		out.Latency = v
	}
	if p.Margin != "" {
		v, err := ParseShare(p.Margin)
		if err != nil {
			return out, fmt.Errorf("plan: margin = %q is not a share such as 5%%", p.Margin)
		}
		out.Margin = v
	}
	if p.Memory != "" {
		v, err := ParseBytes(p.Memory)
		if err != nil {
			return out, fmt.Errorf("plan: memory = %q is not a size such as 8G", p.Memory)
		}
		out.Memory = v
	}
	return out, nil
}

func double(names []string) string {
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			return n
		}
		seen[n] = true
	}
	return ""
}
