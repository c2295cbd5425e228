package load

import (
	"fmt"
	"math"
	"slices"
	"time"

	"backslide/lab"
)

// Limits of what a workload may ask for in one value.
const (
	maxText = 1 << 16 // letters of generated text
	maxList = 10000   // items
)

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
	if each.kind == text {
		return folded(&expr{op: opJoin, kind: text, kids: []*expr{each}, n: size.n}), nil
	}
	if each.kind != whole {
		return nil, fmt.Errorf("the items of a list are whole numbers or texts, not %s", each.kind)
	}
	return &expr{op: opList, kind: list, kids: []*expr{each}, n: size.n, size: size.n, lo: each.lo, hi: each.hi}, nil
}

// folded returns a text that depends on nothing as a constant, and others as they are.
func folded(e *expr) *expr {
	if !fixedBut(e, false) {
		return e
	}
	return &expr{op: opConst, kind: text, s: string(e.app(&frame{}, nil))}
}

// fixedBut reports whether e depends on nothing; item says that its place in a list that
// is being made counts as nothing.
func fixedBut(e *expr, item bool) bool {
	switch e.op {
	case opConst:
		return e.kind == whole || e.kind == text
	case opVar:
		return item && e.n == varItem
	case opJoin:
		return fixedBut(e.kids[0], true)
	case opAdd, opSub, opMul, opDiv, opMod, opLess, opLessEq, opEq, opNotEq, opMin, opMax, opIf, opConcat:
		return !slices.ContainsFunc(e.kids, func(k *expr) bool { return !fixedBut(k, item) })
	}
	return false
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
		return folded(e), nil
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
