package load

import (
	"fmt"
	"math"
	"math/bits"
)

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
