package load

import (
	"math"
	"math/bits"
	"strconv"
	"time"
)

// kind is the type of an expression's value.
type kind uint8

const (
	whole kind = iota // int64
	real              // constant only
	text
	list // of whole numbers
	null // SQL NULL, in columns only
)

func (k kind) String() string {
	return [...]string{"a whole number", "a fraction", "text", "a list", "null"}[k]
}

type opcode uint8

const (
	opConst opcode = iota
	opArg          // an argument of the step or statement, in a slot of the frame
	opVar          // a variable of the frame
	opAdd
	opSub
	opMul
	opDiv
	opMod
	opLess
	opLessEq
	opEq
	opNotEq
	opIf
	opMin
	opMax
	opUniform
	opZipf
	opHot
	opPattern
	opLetters
	opHex
	opHash
	opConcat
	opTime
	opList
	opJoin // texts made as the items of a list are
)

// The variables of a frame.
const (
	varOp      = iota // number of the operation among its client's, from 0
	varClient         // number of the client, from 0
	varClients        // how many clients there are
	varSerial         // op * clients + client: different for all operations
	varRow            // number of the row in its table, from 1
	varT              // number of the table, from 1
	varItem           // place in the list that is being made, from 0
	nVars
)

// expr is a resolved expression: parameters are constants, names are slots. It is
// evaluated against a frame without allocating, and may be shared by goroutines.
type expr struct {
	op     opcode
	kind   kind
	kids   []*expr
	n      int64   // constant; slot; variable; length of a list that is made
	size   int64   // length of a list
	site   uint64  // which random draw of the step this is, for opcodes that draw
	f      float64 // constant of kind real
	s      string  // constant of kind text; pattern
	zipf   *zipf
	lo, hi int64 // bounds of whole numbers and of the items of lists
}

// frame is what an expression's value depends on.
type frame struct {
	key   uint64 // of all randomness
	vars  [nVars]int64
	nums  []int64  // arguments by slot
	texts [][]byte // arguments by slot
	lists [][]int64
}

func (e *expr) isConst() bool { return e.op == opConst }

// draw returns the i-th random number of this place in the step, i < 2^16.
func (e *expr) draw(f *frame, i uint64) uint64 { return mix(f.key + (e.site<<16|i)*golden) }

// num returns the value of an expression of kind whole.
func (e *expr) num(f *frame) int64 {
	switch e.op {
	case opConst:
		return e.n
	case opArg:
		return f.nums[e.n]
	case opVar:
		return f.vars[e.n]
	case opUniform:
		lo, hi := e.kids[0].num(f), e.kids[1].num(f)
		if hi <= lo {
			return lo
		}
		return lo + int64(below(e.draw(f, 0), uint64(hi-lo)+1))
	case opZipf:
		return e.lo - 1 + e.zipf.draw(f.key, e.site<<16)
	case opHot:
		return e.hot(f)
	case opIf:
		if e.kids[0].num(f) != 0 {
			return e.kids[1].num(f)
		}
		return e.kids[2].num(f)
	}
	return arith(e.op, e.kids[0].num(f), e.kids[1].num(f))
}

// hot draws from the first share percent of a range in chance percent of draws, and from
// the rest otherwise. n is the size of the hot part.
func (e *expr) hot(f *frame) int64 {
	total := uint64(e.hi-e.lo) + 1
	hot := uint64(e.n)
	if unit(e.draw(f, 0)) < e.f || hot == total {
		return e.lo + int64(below(e.draw(f, 1), hot))
	}
	return e.lo + int64(hot+below(e.draw(f, 1), total-hot))
}

// arith is the arithmetic of whole numbers: it wraps, / rounds down, and x % n lies in
// 0…n-1. resolve sees to it that divisors are positive constants.
func arith(op opcode, a, b int64) int64 {
	truth := func(t bool) int64 {
		if t {
			return 1
		}
		return 0
	}
	switch op {
	case opAdd:
		return a + b
	case opSub:
		return a - b
	case opMul:
		return a * b
	case opDiv:
		return (a - mod(a, b)) / b
	case opMod:
		return mod(a, b)
	case opLess:
		return truth(a < b)
	case opLessEq:
		return truth(a <= b)
	case opEq:
		return truth(a == b)
	case opNotEq:
		return truth(a != b)
	case opMin:
		return min(a, b)
	case opMax:
		return max(a, b)
	}
	panic("load: not an operator of whole numbers: " + strconv.Itoa(int(op)))
}

func mod(a, b int64) int64 {
	if a %= b; a < 0 {
		a += b
	}
	return a
}

// app appends the value as SQL would print it, without quotes.
func (e *expr) app(f *frame, dst []byte) []byte {
	if e.kind == whole {
		return strconv.AppendInt(dst, e.num(f), 10)
	}
	switch e.op {
	case opConst:
		return append(dst, e.s...)
	case opArg:
		return append(dst, f.texts[e.n]...)
	case opIf:
		if e.kids[0].num(f) != 0 {
			return e.kids[1].app(f, dst)
		}
		return e.kids[2].app(f, dst)
	case opConcat:
		for _, k := range e.kids {
			dst = k.app(f, dst)
		}
		return dst
	case opPattern:
		return e.pattern(f, dst)
	case opLetters:
		return e.letters(f, dst)
	case opHex:
		return e.hex(f.key, e.site<<16, dst)
	case opHash:
		return e.hex(subkey(uint64(e.n), uint64(e.kids[0].num(f))), 0, dst)
	case opJoin:
		return e.join(f, dst)
	case opTime:
		return time.Unix(e.n+e.kids[0].num(f), 0).UTC().AppendFormat(dst, time.DateTime)
	}
	panic("load: not an operator of text: " + strconv.Itoa(int(e.op)))
}

// pattern replaces every # by a random digit and every @ by a random letter from a to z,
// 16 digits or 12 letters to a draw.
func (e *expr) pattern(f *frame, dst []byte) []byte {
	var r, draws uint64
	left := 0
	for i := range len(e.s) {
		c, base, zero := e.s[i], uint64(10), byte('0')
		switch c {
		case '@':
			base, zero = 26, 'a'
		case '#':
		default:
			dst = append(dst, c)
			continue
		}
		if left == 0 {
			r, left = e.draw(f, draws), 12
			draws++
		}
		var d uint64
		d, r = bits.Mul64(r, base) // the next digit of a random fraction in that base
		dst = append(dst, zero+byte(d))
		left--
	}
	return dst
}

// letters appends random letters from a to z, of a length between two bounds.
func (e *expr) letters(f *frame, dst []byte) []byte {
	lo, hi := e.kids[0].num(f), e.kids[1].num(f)
	n := lo
	if hi > lo {
		n += int64(below(e.draw(f, 0), uint64(hi-lo)+1))
	}
	var r uint64
	for i := range n {
		if i%12 == 0 {
			r = e.draw(f, uint64(1+i/12))
		}
		var d uint64
		d, r = bits.Mul64(r, 26)
		dst = append(dst, 'a'+byte(d))
	}
	return dst
}

// hex appends as many hexadecimal digits as hi says.
func (e *expr) hex(key, place uint64, dst []byte) []byte {
	var r uint64
	for i := range e.hi {
		if i%16 == 0 {
			r = mix(key + (place+uint64(i/16))*golden)
		}
		dst = append(dst, "0123456789abcdef"[r>>60])
		r <<= 4
	}
	return dst
}

// items appends the numbers of a list.
func (e *expr) items(f *frame, dst []int64) []int64 {
	if e.op == opArg {
		return append(dst, f.lists[e.n]...)
	}
	key, item := f.key, f.vars[varItem]
	for i := range e.n {
		f.key, f.vars[varItem] = subkey(key, uint64(i)), i
		dst = append(dst, e.kids[0].num(f))
	}
	f.key, f.vars[varItem] = key, item
	return dst
}

// join appends the texts of a list with commas between them.
func (e *expr) join(f *frame, dst []byte) []byte {
	key, item := f.key, f.vars[varItem]
	for i := range e.n {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		f.key, f.vars[varItem] = subkey(key, uint64(i)), i
		dst = e.kids[0].app(f, dst)
	}
	f.key, f.vars[varItem] = key, item
	return dst
}

// share returns a constant as a fraction.
func (e *expr) share() float64 {
	if e.kind == real {
		return e.f
	}
	return float64(e.n)
}

const (
	lowest  = math.MinInt64
	highest = math.MaxInt64
)
