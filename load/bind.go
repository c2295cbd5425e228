package load

import (
	"errors"
	"fmt"
	"time"

	"backslide/lab"
)

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
