package load

import (
	"fmt"
	"math"
	"sort"
	"strconv"

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
	switch name {
	case "null":
		return &expr{kind: null}, nil
	case "true":
		return wholeConst(1), nil
	case "false":
		return wholeConst(0), nil
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
