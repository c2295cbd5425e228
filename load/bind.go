package load

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"backslide/lab"
)

// Program is a workload bound to a kind of server and to parameters: every expression is
// resolved and every SQL text chosen. It is not changed by use.
type Program struct {
	Workload *Workload
	Target   Target
	// Values are the parameters' values, as text.
	Values map[string]string

	params  map[string]*expr
	tables  []table
	setup   []string
	finish  []string
	settles map[string]settle
	steps   map[string]*step
}

// step is a step that is ready to be turned into operations.
type step struct {
	name   string
	read   bool
	args   []arg
	txs    []tx
	per    int64 // operations that every transaction counts as; 0: it varies
	weigh  bool  // there is more than one kind of transaction
	rate   *expr // operations per second and client; nil: closed loop
	retry  []int
	ignore []int
	sides  []side
	settle []string
	slots  int
	ops    int64    // of each client in a slice; 0: the slice's length decides
	before [][]part // statements that each client sends before a slice
	after  [][]part // and behind it
	// connect: every operation opens a connection of its own and closes it.
	connect bool
	static  bool // what a client does depends on its number, so it does its own operations only
	ids     int  // statements that each connection prepares
	unfit   error

	limit   time.Duration // of a slice of a chain's step that has ops
	catchup bool          // an open loop; otherwise what a stall has cost is not made up for
	tool    *lab.Tool     // what drives it in place of our client; nil: nothing
	roles   []role        // what each connection of a client does; none: it has one, for the step itself
}

// role is what one of a client's connections does in a step. The embedded step holds its
// operations.
type role struct {
	*step
	follows int   // role whose operations it goes along with, one for one; -1: none
	lead    int64 // operations that one may be ahead
}

// arg is a named value that is made anew for every operation or statement.
type arg struct {
	slot int
	expr *expr
}

// tx is a kind of transaction of a step.
type tx struct {
	weight *expr // nil: 1
	begin  bool
	stmts  []stmt
	count  *expr // operations that it counts as; nil: one, or its statements
	sum    bool  // counts as many operations as statements it sent
}

// stmt is a statement of a transaction.
type stmt struct {
	args     []arg
	repeat   *expr // nil: 1
	chance   float64
	site     uint64 // of the draw that decides by chance
	prepared bool
	parts    []part
	binds    []*expr
	first    int // of its prepared forms among the step's
	forms    int // prepared texts, one for each value of what is put into the text

	rows  int64  // how often tuple is there, each time with args of its own; 0: there is none
	each  []arg  // made for each row
	tuple []part // one (…) of VALUES
	tail  []part // what comes behind the rows
}

type side struct{ open, close []string }

// settle is an action that brings a server to rest, and the condition that says so.
type settle struct {
	name         string
	do, undo     []string
	until        string
	every, limit time.Duration
}

// binder makes a Program; its methods return faults.
type binder struct {
	w *Workload
	p *Program
}

// Bind resolves the workload for servers of kind t, with params over its defaults.
// Errors are *lab.SyntaxError, or name a parameter that is not the workload's.
func (w *Workload) Bind(params map[string]string, t Target) (*Program, error) {
	b := &binder{w: w, p: &Program{Workload: w, Target: t, steps: map[string]*step{}, settles: map[string]settle{}}}
	if err := b.bind(params); err != nil {
		return nil, syntaxError(w.file, w.text, err)
	}
	return b.p, nil
}

func (b *binder) bind(given map[string]string) error {
	var err error
	if b.p.params, err = b.params(b.w.f.Params, given, nil, path{"params"}); err != nil {
		return err
	}
	b.p.Values = map[string]string{}
	for k, e := range b.p.params {
		b.p.Values[k] = print(e)
	}
	sc := b.scope(b.p.params)
	if b.p.setup, err = b.all(sc, b.w.f.Setup, nil, path{"setup"}); err != nil {
		return err
	}
	if b.p.finish, err = b.all(sc, b.w.f.Finish, nil, path{"finish"}); err != nil {
		return err
	}
	for i := range b.w.f.Table {
		if err := b.table(i); err != nil {
			return err
		}
	}
	for i := range b.w.f.Settle {
		if err := b.settle(i); err != nil {
			return err
		}
	}
	for i := range b.w.f.Step {
		if err := b.step(i); err != nil {
			return err
		}
	}
	return nil
}

func print(e *expr) string {
	if e.kind == real {
		return fmt.Sprint(e.f)
	}
	return string(e.app(nil, nil))
}

// scope is where only parameters and facts about the server are known.
func (b *binder) scope(params map[string]*expr) *scope {
	sites := uint64(1)
	t := b.p.Target
	engine := t.Engine
	if engine == "MyRocks" {
		engine = "ROCKSDB" // its name in SQL
	}
	return &scope{params: params, args: map[string]*expr{}, sites: &sites, texts: map[string]string{
		"engine": engine, "schema": t.Schema, "family": string(t.Family),
	}}
}

// params resolves parameters, which may be made of each other and of those in outer.
// Those that are given replace the defaults: whole texts where the default is text.
func (b *binder) params(defs map[string]value, given map[string]string, outer map[string]*expr, at path) (map[string]*expr, error) {
	for _, k := range keys(given) {
		if _, ok := defs[k]; !ok {
			return nil, bad(nil, "workload %s has no parameter %q%s", b.w.f.Name, k, lab.Suggest(k, keys(defs)))
		}
	}
	out := map[string]*expr{}
	for k, e := range outer {
		out[k] = e
	}
	sources := map[string]string{}
	for k, v := range defs {
		sources[k] = v.text
		if g, ok := given[k]; ok {
			sources[k] = g
			if n, err := parseExpr(v.text); err == nil && n.op == "text" {
				sources[k] = string(quoteExpr(g))
			}
		}
	}
	err := ordered(sources, "$", func(k, src string) error {
		sc := b.scope(out)
		e, err := sc.compile(src)
		if err == nil && (!e.isConst() || e.kind == null) {
			err = fmt.Errorf("%s is not known beforehand", quoteShort(src))
		}
		if err != nil {
			if _, ok := given[k]; ok {
				return bad(nil, "workload %s: parameter %s: %v", b.w.f.Name, k, err)
			}
			return bad(at.add(k), "parameter %s: %v", k, err)
		}
		out[k] = e
		return nil
	})
	var loop *loopError
	if errors.As(err, &loop) {
		return nil, bad(at.add(loop.name), "parameter %s is made of itself", loop.name)
	}
	return out, err
}

func quoteExpr(s string) []byte {
	out := []byte{'\''}
	for i := range len(s) {
		if s[i] == '\'' {
			out = append(out, '\'')
		}
		out = append(out, s[i])
	}
	return append(out, '\'')
}

type loopError struct{ name string }

func (e *loopError) Error() string { return e.name + " is made of itself" }

// ordered calls f for every source after those that it mentions; mark is $ when it is
// parameters that are mentioned.
func ordered(sources map[string]string, mark string, f func(name, src string) error) error {
	state := map[string]int{} // 1: under way, 2: done
	var visit func(name string) error
	visit = func(name string) error {
		src, ok := sources[name]
		switch {
		case !ok || state[name] == 2:
			return nil
		case state[name] == 1:
			return &loopError{name}
		}
		state[name] = 1
		if n, err := parseExpr(src); err == nil { // f reports what is wrong
			for _, m := range mentions(n, mark) {
				if err := visit(m); err != nil {
					return err
				}
			}
		}
		state[name] = 2
		return f(name, src)
	}
	for _, name := range keys(sources) {
		if err := visit(name); err != nil {
			return err
		}
	}
	return nil
}

func mentions(n *node, mark string) []string {
	var out []string
	if n.op == "param" && mark == "$" || n.op == "name" && mark == "" {
		out = append(out, n.text)
	}
	for _, k := range n.kids {
		out = append(out, mentions(k, mark)...)
	}
	return out
}

// all expands every choice of a list that fits the server; the others are checked too.
func (b *binder) all(sc *scope, l sqlList, f *frame, at path) ([]string, error) {
	var out []string
	for _, c := range l {
		s, err := sc.fixed(c.text, f)
		if err != nil {
			return nil, bad(at, "%v", err)
		}
		if c.fits(b.p.Target) {
			out = append(out, s)
		}
	}
	return out, nil
}

// one compiles every choice of a list and returns the first that fits the server.
func (b *binder) one(sc *scope, l sqlList, at path) (parts []part, found bool, err error) {
	for _, c := range l {
		got, err := sc.parts(c.text)
		if err != nil {
			return nil, false, bad(at, "%v", err)
		}
		if !found && c.fits(b.p.Target) {
			parts, found = got, true
		}
	}
	return parts, found, nil
}

// constant resolves a value that has to be known beforehand; unset gives def.
func (b *binder) constant(sc *scope, v value, def int64, at path) (int64, error) {
	if !v.set {
		return def, nil
	}
	e, err := sc.compile(v.text)
	if err != nil {
		return 0, bad(at, "%v", err)
	}
	if e.kind != whole || !e.isConst() {
		return 0, bad(at, "%s is not a whole number that is known beforehand", quoteShort(v.text))
	}
	return e.n, nil
}

// number resolves a whole number that may change; unset gives nil.
func (b *binder) number(sc *scope, v value, at path) (*expr, error) {
	if !v.set {
		return nil, nil
	}
	e, err := sc.compile(v.text)
	if err != nil {
		return nil, bad(at, "%v", err)
	}
	if e.kind != whole {
		return nil, bad(at, "%s is %s, not a whole number", quoteShort(v.text), e.kind)
	}
	return e, nil
}

func (b *binder) settle(i int) error {
	f, at, sc := b.w.f.Settle[i], path{nth("settle", i)}, b.scope(b.p.params)
	s := settle{name: f.Name, every: 200 * time.Millisecond, limit: time.Minute}
	var err error
	if s.do, err = b.each(sc, f.Count, f.Do, at); err != nil {
		return err
	}
	if s.undo, err = b.all(sc, f.Undo, nil, at.add("undo")); err != nil {
		return err
	}
	until, err := b.all(sc, f.Until, nil, at.add("until"))
	if err != nil {
		return err
	}
	if len(until) > 0 {
		s.until = until[0]
	}
	if f.Every != "" {
		s.every, _ = time.ParseDuration(f.Every) // checked by check
	}
	if f.Limit != "" {
		s.limit, _ = time.ParseDuration(f.Limit)
	}
	b.p.settles[s.name] = s
	return nil
}

// each expands what a settle action does, as often as it is to be done, t being 1 to count.
func (b *binder) each(sc *scope, count value, do sqlList, at path) (out []string, err error) {
	if !count.set {
		return b.all(sc, do, nil, at.add("do"))
	}
	n, err := b.constant(sc, count, 1, at.add("count"))
	if err == nil && (n < 0 || n > maxTables) {
		err = bad(at.add("count"), "count = %d is outside 0 to %d", n, maxTables)
	}
	own := *sc
	own.vars = tableVars()
	var f frame
	for f.vars[varT] = 1; err == nil && f.vars[varT] <= n; f.vars[varT]++ {
		var list []string
		list, err = b.all(&own, do, &f, at.add("do"))
		out = append(out, list...)
	}
	return out, err
}

// Check returns why a step cannot be run on this kind of server, or nil.
func (p *Program) Check(name string) error {
	s, ok := p.steps[name]
	if !ok {
		return fmt.Errorf("workload %s has no step %q%s", p.Workload.Name, name, lab.Suggest(name, p.Workload.stepNames()))
	}
	return s.unfit
}

// Needs returns how many connections, and prepared statements over all of them, a step
// takes up on the server.
func (p *Program) Needs(name string, clients int) (connections, statements int) {
	s, ok := p.steps[name]
	if !ok {
		return 0, 0
	}
	if s.connect {
		return 2*clients + len(s.sides), 0
	}
	connections, statements = clients, clients*s.ids
	if len(s.roles) > 0 {
		connections = clients * len(s.roles)
		for _, r := range s.roles {
			statements += clients * r.ids
		}
	}
	if s.tool != nil && s.tool.Program == lab.Mysqlslap {
		connections++ // its own, beside its clients
	}
	return connections + len(s.sides), statements
}

// step returns a step that fits the server.
func (p *Program) step(name string) (*step, error) {
	if err := p.Check(name); err != nil {
		return nil, err
	}
	return p.steps[name], nil
}

func contains(codes []int, code int) bool { return slices.Contains(codes, code) }
