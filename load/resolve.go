package load

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"time"

	"backslide/lab"
)

// scope is what names mean where an expression stands.
type scope struct {
	params map[string]*expr // constants
	args   map[string]*expr // opArg
	vars   map[string]int   // which of the frame's variables may be used, by name
	texts  map[string]string
	sites  *uint64 // draws numbered so far
}

func stepVars() map[string]int {
	return map[string]int{"op": varOp, "client": varClient, "clients": varClients, "serial": varSerial}
}

func rowVars() map[string]int { return map[string]int{"row": varRow, "t": varT} }

func tableVars() map[string]int { return map[string]int{"t": varT} }

// Limits of what a workload may ask for in one value.
const (
	maxText = 1 << 16 // letters of generated text
	maxList = 10000   // items
)

func wholeConst(n int64) *expr { return &expr{kind: whole, n: n, lo: n, hi: n} }

// compile parses and resolves src.
func (sc *scope) compile(src string) (*expr, error) {
	n, err := parseExpr(src)
	if err != nil {
		return nil, err
	}
	e, err := sc.resolve(n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quoteShort(src), err)
	}
	return e, nil
}

func (sc *scope) resolve(n *node) (*expr, error) {
	switch n.op {
	case "number":
		return number(n.text)
	case "text":
		return &expr{kind: text, s: n.text}, nil
	case "param":
		if e, ok := sc.params[n.text]; ok {
			return e, nil
		}
		return nil, fmt.Errorf("unknown parameter $%s%s", n.text, lab.Suggest(n.text, keys(sc.params)))
	case "name":
		return sc.name(n.text)
	}
	if n.op == "call" && n.text == "list" {
		return sc.list(n)
	}
	kids := make([]*expr, len(n.kids))
	for i, k := range n.kids {
		var err error
		if kids[i], err = sc.resolve(k); err != nil {
			return nil, err
		}
	}
	switch n.op {
	case "call":
		return sc.call(n.text, kids)
	case "neg":
		kids = []*expr{wholeConst(0), kids[0]}
		n = &node{op: "-"}
	}
	return operator(n.op, kids[0], kids[1])
}

func number(s string) (*expr, error) {
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return wholeConst(v), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%s is no number", s)
	}
	return &expr{kind: real, f: f}, nil
}

func (sc *scope) name(name string) (*expr, error) {
	if e, ok := sc.args[name]; ok {
		return e, nil
	}
	if v, ok := sc.vars[name]; ok {
		e := &expr{op: opVar, n: int64(v), lo: 0, hi: highest}
		switch v {
		case varRow, varT, varClients:
			e.lo = 1
		case varItem:
			e.hi = maxList - 1
		}
		return e, nil
	}
	if s, ok := sc.texts[name]; ok {
		return &expr{kind: text, s: s}, nil
	}
	if name == "null" {
		return &expr{kind: null}, nil
	}
	known := append(keys(sc.args), keys(sc.vars)...)
	known = append(known, keys(sc.texts)...)
	if _, ok := sc.params[name]; ok {
		return nil, fmt.Errorf("unknown name %q; parameters are written $%s", name, name)
	}
	return nil, fmt.Errorf("unknown name %q%s", name, lab.Suggest(name, known))
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// operator resolves a op b, at once if both are constants.
func operator(sign string, a, b *expr) (*expr, error) {
	ops := map[string]opcode{
		"+": opAdd, "-": opSub, "*": opMul, "/": opDiv, "%": opMod,
		"<": opLess, "<=": opLessEq, "==": opEq, "!=": opNotEq, ">": opLess, ">=": opLessEq,
	}
	if sign == ">" || sign == ">=" {
		a, b = b, a
	}
	op, ok := ops[sign]
	if !ok {
		return nil, fmt.Errorf("unknown operator %s", sign)
	}
	if a.kind == real || b.kind == real {
		return fraction(op, a, b)
	}
	if a.kind != whole || b.kind != whole {
		return nil, fmt.Errorf("%s needs whole numbers, not %s and %s", sign, a.kind, b.kind)
	}
	if op == opDiv || op == opMod {
		if !b.isConst() || b.n <= 0 {
			return nil, fmt.Errorf("what stands behind %s has to be a number above 0 that is known beforehand", sign)
		}
	}
	return combine(op, a, b), nil
}

// fraction computes with constants of which one is a fraction.
func fraction(op opcode, a, b *expr) (*expr, error) {
	if !a.isConst() || !b.isConst() || a.kind > real || b.kind > real {
		return nil, fmt.Errorf("fractions can only be combined with numbers that are known beforehand")
	}
	e := &expr{kind: real}
	switch x, y := a.share(), b.share(); op {
	case opAdd:
		e.f = x + y
	case opSub:
		e.f = x - y
	case opMul:
		e.f = x * y
	case opDiv:
		e.f = x / y
	default:
		return nil, fmt.Errorf("fractions know only + - * /")
	}
	if math.IsInf(e.f, 0) || math.IsNaN(e.f) {
		return nil, fmt.Errorf("division by 0")
	}
	return e, nil
}

// combine makes an operation on whole numbers, with bounds, and folds constants.
func combine(op opcode, a, b *expr) *expr {
	if a.isConst() && b.isConst() {
		return wholeConst(arith(op, a.n, b.n))
	}
	e := &expr{op: op, kids: []*expr{a, b}, lo: lowest, hi: highest}
	switch op {
	case opAdd:
		e.bound(a.lo, b.lo, a.hi, b.hi)
	case opSub:
		if b.lo > lowest {
			e.bound(a.lo, -max(b.hi, -highest), a.hi, -b.lo)
		}
	case opMod:
		e.lo, e.hi = 0, b.n-1
		if a.lo >= 0 {
			e.hi = min(e.hi, a.hi)
		}
	case opDiv:
		e.lo, e.hi = arith(opDiv, a.lo, b.n), arith(opDiv, a.hi, b.n)
	case opLess, opLessEq, opEq, opNotEq:
		e.lo, e.hi = 0, 1
	case opMin:
		e.lo, e.hi = min(a.lo, b.lo), min(a.hi, b.hi)
	case opMax:
		e.lo, e.hi = max(a.lo, b.lo), max(a.hi, b.hi)
	case opMul:
		if ah, al := bits.Mul64(uint64(max(a.hi, 0)), uint64(max(b.hi, 0))); a.lo >= 0 && b.lo >= 0 && ah == 0 && al <= highest {
			e.lo, e.hi = a.lo*b.lo, int64(al)
		}
	}
	return e
}

// bound sets the bounds of a sum, if it cannot overflow.
func (e *expr) bound(aLo, bLo, aHi, bHi int64) {
	lo, hi := aLo+bLo, aHi+bHi
	if (lo < aLo) == (bLo < 0) && (hi < aHi) == (bHi < 0) && lo <= hi {
		e.lo, e.hi = lo, hi
	}
}

// list resolves list(n, each), where each may use item.
func (sc *scope) list(n *node) (*expr, error) {
	if len(n.kids) != 2 {
		return nil, fmt.Errorf("list needs a length and what each item is, as in list(10, uniform(1, $rows))")
	}
	size, err := sc.resolve(n.kids[0])
	if err != nil {
		return nil, err
	}
	if size.kind != whole || !size.isConst() || size.n < 1 || size.n > maxList {
		return nil, fmt.Errorf("the length of a list has to be known beforehand and between 1 and %d", maxList)
	}
	inner := *sc
	inner.vars = map[string]int{"item": varItem}
	for k, v := range sc.vars {
		inner.vars[k] = v
	}
	each, err := inner.resolve(n.kids[1])
	if err != nil {
		return nil, err
	}
	if each.kind != whole {
		return nil, fmt.Errorf("the items of a list are whole numbers, not %s", each.kind)
	}
	return &expr{op: opList, kind: list, kids: []*expr{each}, n: size.n, size: size.n, lo: each.lo, hi: each.hi}, nil
}

// signature is how a function is called: w a whole number, c a constant whole number,
// r a constant number, s a constant text, v anything that can be printed.
func signatures() map[string]string {
	return map[string]string{
		"uniform": "ww", "zipf": "ccr", "hot": "ccrr", "min": "ww", "max": "ww", "if": "wvv",
		"pattern": "s", "letters": "ww", "hex": "c", "hash": "wc", "concat": "v*", "time": "sw",
	}
}

func (sc *scope) call(name string, kids []*expr) (*expr, error) {
	sig, ok := signatures()[name]
	if !ok {
		return nil, fmt.Errorf("unknown function %s%s", name, lab.Suggest(name, append(keys(signatures()), "list")))
	}
	if err := check(name, sig, kids); err != nil {
		return nil, err
	}
	e := &expr{kids: kids}
	if slices.Contains([]string{"uniform", "zipf", "hot", "pattern", "letters", "hex"}, name) {
		e.site = *sc.sites
		*sc.sites++
	}
	switch name {
	case "min":
		return combine(opMin, kids[0], kids[1]), nil
	case "max":
		return combine(opMax, kids[0], kids[1]), nil
	case "uniform":
		e.op, e.lo, e.hi = opUniform, kids[0].lo, max(kids[0].hi, kids[1].hi)
		if kids[0].isConst() && kids[1].isConst() && kids[0].n > kids[1].n {
			return nil, fmt.Errorf("uniform(%d, %d) holds no number", kids[0].n, kids[1].n)
		}
		return e, nil
	case "zipf", "hot":
		return e, e.skewed(name)
	case "if":
		return e, e.choose()
	case "concat":
		e.op, e.kind = opConcat, text
		return e, nil
	}
	return e, e.textual(name)
}

// check compares a call's arguments with the function's signature.
func check(name, sig string, kids []*expr) error {
	if sig == "v*" {
		if len(kids) == 0 {
			return fmt.Errorf("%s needs arguments", name)
		}
		sig = ""
		for range kids {
			sig += "v"
		}
	}
	if len(kids) != len(sig) {
		return fmt.Errorf("%s needs %d arguments, not %d", name, len(sig), len(kids))
	}
	for i, k := range kids {
		ok, want := false, ""
		switch sig[i] {
		case 'w':
			ok, want = k.kind == whole, "a whole number"
		case 'c':
			ok, want = k.kind == whole && k.isConst(), "a whole number that is known beforehand"
		case 'r':
			ok, want = k.kind <= real && k.isConst(), "a number that is known beforehand"
		case 's':
			ok, want = k.kind == text && k.isConst(), "a text in quotes"
		case 'v':
			ok, want = k.kind == whole || k.kind == text, "a whole number or text"
		}
		if !ok {
			return fmt.Errorf("argument %d of %s is not %s", i+1, name, want)
		}
	}
	return nil
}

// skewed finishes zipf(lo, hi, exponent) and hot(lo, hi, share, chance).
func (e *expr) skewed(name string) error {
	e.lo, e.hi = e.kids[0].n, e.kids[1].n
	if e.lo > e.hi {
		return fmt.Errorf("%s(%d, %d, …) holds no number", name, e.lo, e.hi)
	}
	a := e.kids[2].share()
	if name == "zipf" {
		if e.hi-e.lo < 0 || e.hi-e.lo >= 1<<53 {
			return fmt.Errorf("the range of zipf is too large")
		}
		if a <= 0 || a > 100 {
			return fmt.Errorf("the exponent of zipf is above 0, at most 100, not %g", a)
		}
		e.op, e.zipf = opZipf, newZipf(e.hi-e.lo+1, a)
		return nil
	}
	b := e.kids[3].share()
	if a <= 0 || a > 100 || b < 0 || b > 100 {
		return fmt.Errorf("hot needs a share above 0 %% and a chance, both at most 100 %%, not %g and %g", a, b)
	}
	size := float64(e.hi-e.lo) + 1
	e.op, e.n, e.f = opHot, int64(max(1, min(size, math.Round(size*a/100)))), b/100
	return nil
}

func (e *expr) choose() error {
	a, b := e.kids[1], e.kids[2]
	if a.kind != b.kind {
		return fmt.Errorf("if gives %s or %s; both have to be of one kind", a.kind, b.kind)
	}
	if e.kids[0].isConst() {
		if e.kids[0].n == 0 {
			a = b
		}
		*e = *a
		return nil
	}
	e.op, e.kind, e.lo, e.hi = opIf, a.kind, min(a.lo, b.lo), max(a.hi, b.hi)
	return nil
}

// textual finishes the functions that make text.
func (e *expr) textual(name string) error {
	e.kind = text
	switch name {
	case "pattern":
		e.op, e.s = opPattern, e.kids[0].s
		if len(e.s) > maxText {
			return fmt.Errorf("a pattern has at most %d places", maxText)
		}
	case "letters":
		e.op = opLetters
		if e.kids[0].lo < 0 || max(e.kids[0].hi, e.kids[1].hi) > maxText {
			return fmt.Errorf("letters makes 0 to %d letters, and its bounds have to be known to lie there", maxText)
		}
	case "hex", "hash":
		e.op, e.hi = opHex, e.kids[0].n
		if name == "hash" {
			e.op, e.hi = opHash, e.kids[1].n
		}
		if e.hi < 1 || e.hi > maxText {
			return fmt.Errorf("%s makes 1 to %d digits, not %d", name, maxText, e.hi)
		}
	case "time":
		at, err := time.Parse(time.DateTime, e.kids[0].s)
		if err != nil {
			if at, err = time.Parse(time.DateOnly, e.kids[0].s); err != nil {
				return fmt.Errorf("%q is no time such as 2024-01-31 or 2024-01-31 18:30:00", e.kids[0].s)
			}
		}
		e.op, e.n, e.kids = opTime, at.Unix(), e.kids[1:]
	}
	return nil
}
