package load

import (
	"errors"
	"fmt"

	"backslide/lab"
)

// stepBinder resolves one step.
type stepBinder struct {
	*binder
	f  stepFile
	s  *step
	sc *scope // with the step's arguments
	at path
}

func (b *binder) step(i int) error {
	f, at := b.w.f.Step[i], path{nth("step", i)}
	params, err := b.params(f.Params, nil, b.p.params, at.add("params"))
	if err != nil {
		return err
	}
	for _, k := range keys(f.Params) {
		if _, ok := b.w.f.Params[k]; !ok {
			return bad(at.add("params", k), "step %q sets parameter %q, which the workload does not have%s", f.Name, k, lab.Suggest(k, keys(b.w.f.Params)))
		}
	}
	sb := &stepBinder{binder: b, f: f, at: at, sc: b.scope(params)}
	sb.sc.vars = stepVars()
	sb.s = &step{
		name: f.Name, read: f.Read != nil && *f.Read, connect: f.Connect != nil && *f.Connect,
		retry: retried(), ignore: f.Ignore, settle: f.Settle,
	}
	for _, r := range [][]int{b.w.f.Retry, f.Retry} {
		if r != nil {
			sb.s.retry = r
		}
	}
	if sb.s.limit, err = f.limit(); err != nil {
		return bad(at.add("limit"), "step %q: %v", f.Name, err)
	}
	if err := sb.bind(); err != nil {
		return err
	}
	b.p.steps[f.Name] = sb.s
	return nil
}

// retried are the errors after which a statement or transaction is tried again unless the
// file says otherwise: another one was in the way.
func retried() []int {
	return []int{
		1020, // ER_CHECKREAD: MariaDB's InnoDB, when a record has changed since the snapshot
		1205, // ER_LOCK_WAIT_TIMEOUT
		1213, // ER_LOCK_DEADLOCK
	}
}

func (b *stepBinder) bind() error {
	var err error
	if b.s.args, err = b.args(b.sc, b.f.Args, b.at); err != nil {
		return err
	}
	if b.f.Tool != nil {
		err = b.tool()
	} else if b.f.Role != nil {
		err = b.roles()
	} else {
		err = b.operations()
	}
	if err != nil {
		return err
	}
	if err := b.ends(); err != nil {
		return err
	}
	if err := b.bounds(); err != nil {
		return err
	}
	for i, name := range b.f.Settle {
		if _, ok := b.p.settles[name]; !ok {
			return bad(b.at.add("settle"), "step %q: settle number %d, %q, is not in the file%s", b.f.Name, i+1, name, lab.Suggest(name, keys(b.p.settles)))
		}
	}
	return b.sides()
}

// operations resolves what is done, how often and how fast.
func (b *stepBinder) operations() error {
	txs, err := b.transactions()
	if err != nil {
		return err
	}
	for _, t := range txs {
		if err := b.tx(t.f, t.at); err != nil {
			return err
		}
	}
	b.s.weigh = len(b.s.txs) > 1
	b.s.per = b.perTransaction()
	if b.s.rate, err = b.number(b.sc, b.f.Rate, b.at.add("rate")); err != nil {
		return err
	}
	catchup, err := b.constant(b.sc, b.f.Catchup, 1, b.at.add("catchup"))
	if err != nil {
		return err
	}
	b.s.catchup = catchup != 0
	if !b.s.catchup && b.s.rate == nil {
		return bad(b.at.add("catchup"), "step %q has catchup and no rate", b.f.Name)
	}
	b.s.ops, err = b.ops()
	return err
}

// ops returns how many operations each client does in a slice; 0: the step does not say.
func (b *stepBinder) ops() (int64, error) {
	n, err := b.constant(b.sc, b.f.Ops, 0, b.at.add("ops"))
	if err == nil && (n < 0 || b.f.Ops.set && n == 0) {
		err = bad(b.at.add("ops"), "step %q: ops = %d is under 1", b.f.Name, n)
	}
	return n, err
}

func (b *stepBinder) sides() error {
	sc := b.scope(b.sc.params)
	for i, f := range b.f.Side {
		at := b.at.add(nth("side", i))
		open, err := b.all(sc, f.Open, nil, at.add("open"))
		if err != nil {
			return err
		}
		end, err := b.all(sc, f.Close, nil, at.add("close"))
		if err != nil {
			return err
		}
		b.s.sides = append(b.s.sides, side{open, end})
	}
	return nil
}

// args resolves arguments into slots, those first that others are made of, and adds them
// to sc.
func (b *stepBinder) args(sc *scope, defs map[string]value, at path) ([]arg, error) {
	var out []arg
	sources := map[string]string{}
	for k, v := range defs {
		if _, ok := sc.vars[k]; ok || sc.texts[k] != "" || k == "null" {
			return nil, bad(at.add("args", k), "step %q: %s has a meaning already and cannot name an argument", b.f.Name, k)
		}
		if _, ok := sc.args[k]; ok {
			return nil, bad(at.add("args", k), "step %q: argument %s is there already for the whole step", b.f.Name, k)
		}
		sources[k] = v.text
	}
	err := ordered(sources, "", func(k, src string) error {
		e, err := sc.compile(src)
		if err == nil && (e.kind == real || e.kind == null) {
			err = fmt.Errorf("%s is %s; an argument is a whole number, text or a list", quoteShort(src), e.kind)
		}
		if err != nil {
			return bad(at.add("args", k), "step %q: argument %s: %v", b.f.Name, k, err)
		}
		a := arg{slot: b.s.slots, expr: e}
		b.s.slots++
		sc.args[k] = &expr{op: opArg, kind: e.kind, n: int64(a.slot), size: e.size, lo: e.lo, hi: e.hi}
		out = append(out, a)
		if usesClient(e) {
			b.s.static = true
		}
		return nil
	})
	var loop *loopError
	if errors.As(err, &loop) {
		return nil, bad(at.add("args", loop.name), "step %q: argument %s is made of itself", b.f.Name, loop.name)
	}
	return out, err
}
