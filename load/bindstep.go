package load

import (
	"errors"
	"fmt"
	"slices"

	"backslide/lab"
)

// maxForms bounds how many prepared texts one statement may need.
const maxForms = 4096

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
		retry: []int{1205, 1213, 1020}, ignore: f.Ignore, settle: f.Settle,
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

// located is a transaction of the file, or made up for a step that has one statement.
type located struct {
	f  transactionFile
	at path
}

// transactions returns the step's transactions, whichever of the three forms it has.
func (b *stepBinder) transactions() ([]located, error) {
	f := b.f
	forms := 0
	for _, has := range []bool{f.SQL != "", f.Choose != nil, f.Statement != nil, f.Transaction != nil} {
		if has {
			forms++
		}
	}
	if forms != 1 {
		return nil, bad(b.at, "step %q needs one of sql, choose, [[step.statement]], [[step.transaction]] and [[step.role]]", f.Name)
	}
	if f.SQL != "" || f.Choose != nil {
		one := statementFile{SQL: f.SQL, Choose: f.Choose, Rows: f.Rows, Each: f.Each}
		return []located{{transactionFile{Statement: []statementFile{one}}, b.at}}, nil
	}
	if f.Rows.set || f.Each != nil {
		return nil, bad(b.at.add("rows"), "step %q: rows and each belong to the statement that they are for", b.f.Name)
	}
	if f.Statement != nil {
		return []located{{transactionFile{Statement: f.Statement}, b.at}}, nil
	}
	var out []located
	for i, t := range f.Transaction {
		at := b.at.add(nth("transaction", i))
		if len(t.Statement) == 0 {
			return nil, bad(at, "transaction number %d of step %q has no statement", i+1, f.Name)
		}
		out = append(out, located{t, at})
	}
	return out, nil
}

func (b *stepBinder) tx(f transactionFile, at path) error {
	var t tx
	var err error
	if t.weight, err = b.number(b.sc, f.Weight, at.add("weight")); err != nil {
		return err
	}
	if t.weight != nil && t.weight.lo < 0 {
		return bad(at.add("weight"), "step %q: a weight may not be negative", b.f.Name)
	}
	begin, err := b.constant(b.sc, f.Begin.or(b.f.Begin), 0, at.add("begin"))
	if err != nil {
		return err
	}
	t.begin = begin != 0
	switch counts := f.Counts.or(b.f.Counts); counts.text {
	case "", "transactions":
	case "statements":
		t.sum = true
	default:
		if t.count, err = b.number(b.sc, counts, at.add("counts")); err != nil {
			return err
		}
	}
	for i, sf := range f.Statement {
		sat := at.add(nth("statement", i))
		if b.f.SQL != "" || b.f.Choose != nil {
			sat = at
		}
		s, err := b.stmt(sf, sat)
		if err != nil {
			return err
		}
		t.stmts = append(t.stmts, s)
	}
	b.s.txs = append(b.s.txs, t)
	return nil
}

func (b *stepBinder) stmt(f statementFile, at path) (stmt, error) {
	s := stmt{chance: 1, site: *b.sc.sites}
	*b.sc.sites++
	sc := *b.sc
	sc.args = map[string]*expr{}
	for k, e := range b.sc.args {
		sc.args[k] = e
	}
	var err error
	if s.args, err = b.args(&sc, f.Args, at); err != nil {
		return s, err
	}
	if s.repeat, err = b.number(b.sc, f.Repeat, at.add("repeat")); err != nil {
		return s, err
	}
	if s.chance, err = b.chance(f.Chance, at.add("chance")); err != nil {
		return s, err
	}
	prepared, err := b.constant(b.sc, f.Prepared.or(b.f.Prepared, b.w.f.Prepared), 1, at.add("prepared"))
	if err != nil {
		return s, err
	}
	s.prepared = prepared != 0 && !b.s.connect
	texts, key := f.Choose, "choose"
	if f.SQL != "" {
		texts, key = sqlList{{text: f.SQL}}, "sql"
	}
	if len(texts) == 0 || f.SQL != "" && f.Choose != nil {
		return s, bad(at, "a statement of step %q needs either sql or choose", b.f.Name)
	}
	if err := b.rows(&s, &sc, f, at); err != nil {
		return s, err
	}
	parts, ok, err := b.one(&sc, texts, at.add(key))
	if err != nil {
		return s, err
	}
	if !ok {
		t := b.p.Target
		b.s.unfit = fmt.Errorf("step %s has no SQL for %s %d.%d.%d with %s", b.f.Name, t.Family, t.Version[0], t.Version[1], t.Version[2], t.Engine)
		return s, nil
	}
	s.parts = parts
	if s.rows > 0 {
		if s.parts, s.tuple, s.tail, err = cut(parts); err != nil {
			return s, bad(at.add(key), "step %q: %v", b.f.Name, err)
		}
	}
	for _, p := range parts {
		if p.arg != nil && s.rows == 0 {
			s.binds = append(s.binds, p.arg)
		}
		if p.expr != nil && usesClient(p.expr) {
			b.s.static = true
		}
	}
	return s, b.forms(&s, at.add(key))
}

// forms counts the texts that a prepared statement needs.
func (b *stepBinder) forms(s *stmt, at path) error {
	if !s.prepared {
		return nil
	}
	s.first, s.forms = b.s.ids, 1
	if n := s.params(); n > maxParams {
		return bad(at, "step %q: a prepared statement of %d rows has %d parameters, and the protocol allows %d; set prepared = false, or fewer rows", b.f.Name, s.rows, n, maxParams)
	}
	for _, p := range slices.Concat(s.tuple, s.tail) {
		if p.expr != nil {
			return bad(at, "step %q: in and behind the rows of a prepared statement values are bound with :name, not put in with {…}", b.f.Name)
		}
	}
	for _, p := range s.parts {
		if p.expr == nil {
			continue
		}
		n := p.expr.hi - p.expr.lo + 1
		if n < 1 || n > maxForms || int64(s.forms)*n > maxForms {
			return bad(at, "step %q: a prepared statement would need more than %d texts for what is put in with {…}; bind it with :name, bound it as in x %% 8, or set prepared = false", b.f.Name, maxForms)
		}
		s.forms *= int(n)
	}
	b.s.ids += s.forms
	return nil
}

func (b *stepBinder) chance(v value, at path) (float64, error) {
	if !v.set {
		return 1, nil
	}
	e, err := b.sc.compile(v.text)
	if err != nil {
		return 0, bad(at, "%v", err)
	}
	if e.kind > real || !e.isConst() || e.share() < 0 || e.share() > 100 {
		return 0, bad(at, "%s is not a chance of 0 to 100 %% that is known beforehand", quoteShort(v.text))
	}
	return e.share() / 100, nil
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

// PerTransaction returns how many operations one transaction of a step counts as, 0 if
// that varies or the step is unknown.
func (p *Program) PerTransaction(name string) int64 {
	if s, ok := p.steps[name]; ok {
		return s.per
	}
	return 0
}

// perTransaction returns how many operations each transaction counts as, 0 if that varies.
func (b *stepBinder) perTransaction() int64 {
	per := int64(-1)
	for _, t := range b.s.txs {
		if t.weight != nil && usesClient(t.weight) {
			b.s.static = true
		}
		n := t.per()
		if n == 0 || per >= 0 && n != per {
			return 0
		}
		per = n
	}
	return per
}

// per returns how many operations a transaction counts as, 0 if that varies or is none.
func (t tx) per() int64 {
	if t.count != nil {
		if t.count.isConst() {
			return t.count.n
		}
		return 0
	}
	if !t.sum {
		return 1
	}
	n := int64(0)
	if t.begin {
		n = 2
	}
	for _, s := range t.stmts {
		switch {
		case s.chance < 1 && s.chance > 0, s.repeat != nil && !s.repeat.isConst():
			return 0
		case s.chance == 0:
		case s.repeat != nil:
			n += max(s.repeat.n, 0)
		default:
			n++
		}
	}
	return n
}

// usesClient reports whether e depends on which client evaluates it.
func usesClient(e *expr) bool {
	if e.op == opVar && e.n == varClient {
		return true
	}
	for _, k := range e.kids {
		if usesClient(k) {
			return true
		}
	}
	return false
}
