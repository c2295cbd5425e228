package load

import (
	"fmt"
	"slices"
)

// duplicateKey is the error of a row whose key is there already. What one client deletes and
// inserts again, another may have inserted meanwhile where BEGIN does nothing.
const duplicateKey = 1062

// Limits of what one statement may ask for.
const (
	maxForms  = 4096      // prepared texts
	maxRows   = 10000     // rows of an INSERT
	maxParams = 1<<16 - 1 // of a prepared statement, in the protocol
)

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
	if t.begin && slices.Contains(lawless(), b.p.Target.Engine) && !slices.Contains(b.s.ignore, duplicateKey) {
		b.s.ignore = append(slices.Clone(b.s.ignore), duplicateKey)
	}
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

// rows resolves how many rows a statement has, and what is made for each.
func (b *stepBinder) rows(s *stmt, sc *scope, f statementFile, at path) error {
	n, err := b.constant(b.sc, f.Rows, 0, at.add("rows"))
	switch {
	case err != nil:
		return err
	case f.Rows.set && (n < 1 || n > maxRows):
		return bad(at.add("rows"), "step %q: rows = %d is outside 1 to %d", b.f.Name, n, maxRows)
	case f.Each != nil && n == 0:
		return bad(at.add("each"), "step %q: each is for statements with rows", b.f.Name)
	case n == 0:
		return nil
	}
	s.rows = n
	vars := map[string]int{"item": varItem}
	for k, v := range sc.vars {
		vars[k] = v
	}
	sc.vars = vars
	s.each, err = b.args(sc, f.Each, at)
	return err
}
