package load

import (
	"fmt"
	"slices"

	"backslide/lab"
)

// A step can be driven by another load tool. The workload says which, and with what; whoever runs
// it is told by Program.Tool, and has a session for what surrounds it: settle actions and
// side sessions.

type toolFile struct {
	Program string            `toml:"program"`
	Script  string            `toml:"script"`
	Options map[string]option `toml:"options"`
}

// option is the value of a tool's option: a template, as SQL is.
type option string

// UnmarshalTOML implements toml.Unmarshaler.
func (o *option) UnmarshalTOML(x any) error {
	switch x := x.(type) {
	case string:
		*o = option(x)
	case int64, float64:
		*o = option(fmt.Sprint(x))
	case bool:
		*o = "off"
		if x {
			*o = "on"
		}
	default:
		return fmt.Errorf("neither number, true/false nor text")
	}
	return nil
}

// over returns f with what it does not say taken from o, options one by one.
func (f *toolFile) over(o *toolFile) *toolFile {
	switch {
	case f == nil:
		return o
	case o == nil || f.Program != "" && f.Program != o.Program:
		return f
	}
	r := toolFile{Program: o.Program, Script: f.Script, Options: overlay(o.Options, f.Options)}
	if r.Script == "" {
		r.Script = o.Script
	}
	return &r
}

// scripted reports whether the tool has statements of its own.
func (f *toolFile) scripted() bool { return f != nil && f.Program == lab.Sysbench }

// forTool returns s without what it says for our client, and without statements if the
// tool has its own.
func (s stepFile) forTool(f *toolFile) stepFile {
	s.Begin, s.Rate, s.Catchup, s.Limit = value{}, value{}, value{}, ""
	s.Connect, s.Before, s.After, s.Retry, s.Ignore = nil, nil, nil, nil, nil
	if f.scripted() {
		s.SQL, s.Choose, s.Statement, s.Transaction, s.Role = "", nil, nil, nil, nil
		s.Args, s.Rows, s.Each = nil, value{}, nil
	}
	return s
}

// ours are the options that whoever runs a tool sets, from the step and the experiment.
func ours(program string) []string {
	if program == lab.Sysbench {
		return []string{
			"threads", "num_threads", "time", "max_time", "events", "max_requests", "warmup_time", "report_interval", "report_checkpoints", "rate", "percentile",
			"histogram", "rand_seed", "config_file", "luajit_cmd", "validate", "db_driver", "db_ps_mode", "mysql_socket", "mysql_host", "mysql_port", "mysql_user", "mysql_password", "mysql_db",
		}
	}
	return []string{
		"concurrency", "iterations", "number_of_queries", "query", "delimiter", "create", "create_schema", "auto_generate_sql", "engine", "no_drop", "only_print",
		"csv", "silent", "detach", "pre_query", "post_query", "pre_system", "post_system", "defaults_file", "no_defaults", "socket", "host", "port", "user", "password", "protocol",
	}
}

// checkTool looks at what a tool's step may say, whatever its parameters are.
func (s *stepFile) checkTool(at path) error {
	f := s.Tool
	if f == nil {
		return nil
	}
	programs := []string{lab.Sysbench, lab.Mysqlslap}
	switch {
	case f.Program == "":
		return bad(at.add("tool"), "step %q: a tool without a program; it is %s or %s", s.Name, lab.Sysbench, lab.Mysqlslap)
	case f.Program != lab.Sysbench && f.Program != lab.Mysqlslap:
		return bad(at.add("tool", "program"), "step %q: unknown program %q%s", s.Name, f.Program, lab.Suggest(f.Program, programs))
	case f.scripted() && f.Script == "":
		return bad(at.add("tool"), "step %q: sysbench needs a script: oltp_read_only or another that comes with it, or the path of a Lua file", s.Name)
	case !f.scripted() && f.Script != "":
		return bad(at.add("tool", "script"), "step %q: %s has no scripts; it runs the step's sql", s.Name, f.Program)
	case f.scripted() && (s.SQL != "" || s.Choose != nil || s.Statement != nil || s.Transaction != nil || s.Role != nil):
		return bad(at, "step %q: sysbench runs its script, so there can be no statement beside it", s.Name)
	}
	for _, key := range []struct {
		name string
		set  bool
	}{
		{"args", len(s.Args) > 0}, {"begin", s.Begin.set}, {"rate", s.Rate.set}, {"catchup", s.Catchup.set}, {"limit", s.Limit != ""},
		{"connect", s.Connect != nil}, {"before", s.Before != nil}, {"after", s.After != nil}, {"rows", s.Rows.set}, {"each", s.Each != nil},
		{"role", s.Role != nil}, {"retry", s.Retry != nil}, {"ignore", s.Ignore != nil},
	} {
		if key.set {
			return bad(at.add(key.name), "step %q: %s is for steps that our own client drives; %s has options of its own", s.Name, key.name, f.Program)
		}
	}
	for _, name := range keys(f.Options) {
		if slices.Contains(ours(f.Program), lab.NormalName(name)) {
			return bad(at.add("tool", "options", name), "step %q: %s of %s follows from the step and the experiment, and cannot be an option", s.Name, name, f.Program)
		}
	}
	switch text := s.Counts.text; {
	case text == "" || text == "transactions":
	case text != "statements":
		return bad(at.add("counts"), "step %q: %s counts transactions or statements", s.Name, f.Program)
	case s.Read == nil || !*s.Read || s.Ops.set:
		return bad(at.add("counts"), "step %q: a step that writes or has ops ends after a number of %s's transactions, so it has to count these", s.Name, f.Program)
	}
	return nil
}

// tool resolves what drives the step.
func (b *stepBinder) tool() error {
	f, at := b.f.Tool, b.at.add("tool")
	t := &lab.Tool{Program: f.Program, Queries: b.f.Counts.text == "statements"}
	sc := b.scope(b.sc.params)
	text := func(tmpl string, at path) (string, error) {
		s, err := sc.fixed(tmpl, nil)
		if err != nil {
			return "", bad(at, "step %q: %v", b.f.Name, err)
		}
		return s, nil
	}
	prepared, err := b.constant(b.sc, b.f.Prepared.or(b.w.f.Prepared), 1, b.at.add("prepared"))
	if err != nil {
		return err
	}
	t.Text = prepared == 0
	if t.Script, err = text(f.Script, at.add("script")); err != nil {
		return err
	}
	for _, name := range keys(f.Options) {
		value, err := text(string(f.Options[name]), at.add("options", name))
		if err != nil {
			return err
		}
		t.Options = append(t.Options, lab.Option{Name: name, Value: value})
	}
	if b.s.ops, err = b.ops(); err != nil {
		return err
	}
	if !f.scripted() {
		if t.Query, err = b.toolQuery(); err != nil {
			return err
		}
	}
	b.s.tool, b.s.ids = t, 0
	return nil
}

// toolQuery returns the statement of a step for a tool that sends it as it is.
func (b *stepBinder) toolQuery() (string, error) {
	txs, err := b.transactions()
	if err != nil {
		return "", err
	}
	for _, t := range txs {
		if err := b.tx(t.f, t.at); err != nil {
			return "", err
		}
	}
	var one stmt
	if len(b.s.txs) == 1 && len(b.s.txs[0].stmts) == 1 {
		one = b.s.txs[0].stmts[0]
	}
	switch {
	case b.s.unfit != nil:
		return "", nil
	case len(one.parts) != 1 || one.parts[0].lit == "" || one.repeat != nil || one.chance < 1:
		return "", bad(b.at, "step %q: %s sends one statement as it is: one sql or choose without arguments", b.f.Name, b.f.Tool.Program)
	}
	return one.parts[0].lit, nil
}

// Tool returns what drives a step in place of our client, and false for steps that our
// client drives.
func (p *Program) Tool(name string) (lab.Tool, bool) {
	s, ok := p.steps[name]
	if !ok || s.tool == nil {
		return lab.Tool{}, false
	}
	return *s.tool, true
}
