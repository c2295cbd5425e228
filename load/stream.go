package load

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"

	"backslide/lab"
)

// stream makes the operations of one client of a step, one at a time and in any order:
// an operation is a function of seed, block, step, client and its number, and of nothing
// that happened before. It does not allocate once its buffers have grown.
type stream struct {
	st   *step
	f    frame
	base uint64 // key of the step and block
	key  uint64 // key of the current operation

	arena []byte // texts of rows that are bound

	kind int // which transaction of the step
	tx   *tx
	at   int   // what comes now: -1 BEGIN, 0… a statement, len(tx.stmts) COMMIT
	rep  int64 // repetition of the statement, from 0
	reps int64
}

// newStream makes the stream of a step; clients is how many share its operations.
func newStream(st *step, seed uint64, block, clients int) *stream {
	s := &stream{st: st, base: subkey(keyOf(mix(seed+golden), st.name), uint64(block))}
	s.f.vars[varClients] = int64(clients)
	s.f.nums = make([]int64, st.slots)
	s.f.texts = make([][]byte, st.slots)
	s.f.lists = make([][]int64, st.slots)
	return s
}

// start makes operation op of a client the current one, before its first statement.
func (s *stream) start(client, op int64) {
	s.key = subkey(subkey(s.base, uint64(client)), uint64(op))
	s.f.key = s.key
	s.f.vars[varOp], s.f.vars[varClient] = op, client
	s.f.vars[varSerial] = op*s.f.vars[varClients] + client
	s.set(s.st.args)
	s.kind = 0
	if s.st.weigh {
		s.kind = s.choose()
	}
	s.tx = &s.st.txs[s.kind]
	s.rewind()
}

// rewind goes back to before the first statement of the current operation.
func (s *stream) rewind() {
	s.at, s.rep, s.reps = -2, 0, 0
	if !s.tx.begin {
		s.at = -1
	}
}

// choose draws a transaction by weight; the first when no weight is above 0.
func (s *stream) choose() int {
	total := int64(0)
	for i := range s.st.txs {
		total += s.weight(i)
	}
	if total <= 0 {
		return 0
	}
	r := int64(below(mix(s.key), uint64(total)))
	for i := range s.st.txs {
		if r -= s.weight(i); r < 0 {
			return i
		}
	}
	return 0
}

func (s *stream) weight(i int) int64 {
	if w := s.st.txs[i].weight; w != nil {
		return max(w.num(&s.f), 0)
	}
	return 1
}

// next goes to the next statement of the current operation and reports whether there is
// one. Its arguments are then in the frame.
func (s *stream) next() bool {
	if s.at >= 0 && s.at < len(s.tx.stmts) && s.rep+1 < s.reps {
		s.rep++
		s.enter()
		return true
	}
	for s.at++; s.at < len(s.tx.stmts); s.at++ {
		if s.at < 0 {
			return true
		}
		st := &s.tx.stmts[s.at]
		s.f.key = s.key
		if st.chance < 1 && unit(mix(s.key+(st.site<<16)*golden)) >= st.chance {
			continue
		}
		s.rep, s.reps = 0, 1
		if st.repeat != nil {
			s.reps = st.repeat.num(&s.f)
		}
		if s.reps > 0 {
			s.enter()
			return true
		}
	}
	return s.at == len(s.tx.stmts) && s.tx.begin
}

// enter draws the arguments of the current statement and repetition.
func (s *stream) enter() {
	s.f.key = subkey(s.key, uint64(s.rep))
	s.set(s.tx.stmts[s.at].args)
}

func (s *stream) set(args []arg) {
	for i := range args {
		a := &args[i]
		switch a.expr.kind {
		case whole:
			s.f.nums[a.slot] = a.expr.num(&s.f)
		case list:
			s.f.lists[a.slot] = a.expr.items(&s.f, s.f.lists[a.slot][:0])
		default:
			s.f.texts[a.slot] = a.expr.app(&s.f, s.f.texts[a.slot][:0])
		}
	}
}

// stmt returns the current statement, or nil at BEGIN and COMMIT.
func (s *stream) stmt() *stmt {
	if s.at < 0 || s.at >= len(s.tx.stmts) {
		return nil
	}
	return &s.tx.stmts[s.at]
}

// sql appends the current statement as text.
func (s *stream) sql(dst []byte) []byte {
	st := s.stmt()
	if st == nil {
		if s.at < 0 {
			return append(dst, "BEGIN"...)
		}
		return append(dst, "COMMIT"...)
	}
	dst = s.text(st.parts, dst)
	if st.rows == 0 {
		return dst
	}
	for i := range st.rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		s.row(st, i)
		dst = s.text(st.tuple, dst)
	}
	return s.text(st.tail, dst)
}

func (s *stream) text(parts []part, dst []byte) []byte {
	for i := range parts {
		switch p := &parts[i]; {
		case p.arg != nil:
			dst = literal(p.arg, &s.f, dst)
		case p.expr != nil:
			dst = p.expr.app(&s.f, dst)
		default:
			dst = append(dst, p.lit...)
		}
	}
	return dst
}

// row draws the arguments of the i-th row of a statement.
func (s *stream) row(st *stmt, i int64) {
	s.f.key, s.f.vars[varItem] = subkey(subkey(s.key, uint64(s.rep)), uint64(i)), i
	s.set(st.each)
}

// form returns which of its prepared forms the current statement needs.
func (s *stream) form() int {
	st := &s.tx.stmts[s.at]
	if st.forms == 1 {
		return st.first
	}
	i := int64(0)
	for _, p := range st.parts {
		if p.expr != nil {
			i = i*(p.expr.hi-p.expr.lo+1) + p.expr.num(&s.f) - p.expr.lo
		}
	}
	return st.first + int(i)
}

// bound appends the values that the current statement binds. Texts belong to the stream
// until its next statement.
func (s *stream) bound(dst []lab.Arg) []lab.Arg {
	st := &s.tx.stmts[s.at]
	for _, b := range st.binds {
		dst = s.bind(b, dst)
	}
	if st.rows == 0 {
		return dst
	}
	s.arena = s.arena[:0]
	for _, p := range st.parts {
		dst = s.bindPart(p, dst)
	}
	for i := range st.rows {
		s.row(st, i)
		for _, p := range st.tuple {
			from := len(dst)
			dst = s.bindPart(p, dst)
			for ; from < len(dst); from++ { // the next row overwrites its texts
				if a := &dst[from]; a.IsText {
					start := len(s.arena)
					s.arena = append(s.arena, a.Text...)
					a.Text = s.arena[start:]
				}
			}
		}
	}
	for _, p := range st.tail {
		dst = s.bindPart(p, dst)
	}
	return dst
}

func (s *stream) bindPart(p part, dst []lab.Arg) []lab.Arg {
	if p.arg == nil {
		return dst
	}
	return s.bind(p.arg, dst)
}

func (s *stream) bind(b *expr, dst []lab.Arg) []lab.Arg {
	switch b.kind {
	case whole:
		return append(dst, lab.Arg{Int: s.f.nums[b.n]})
	case list:
		for _, v := range s.f.lists[b.n] {
			dst = append(dst, lab.Arg{Int: v})
		}
		return dst
	}
	return append(dst, lab.Arg{Text: s.f.texts[b.n], IsText: true})
}

// formText returns the text of form i of a statement, with question marks.
func (st *stmt) formText(i int) string {
	values := make([]int64, len(st.parts))
	for j := len(st.parts) - 1; j >= 0; j-- {
		if e := st.parts[j].expr; e != nil {
			n := e.hi - e.lo + 1
			values[j], i = e.lo+int64(i)%n, i/int(n)
		}
	}
	b := form(st.parts, values, nil)
	for i := range st.rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = form(st.tuple, nil, b)
	}
	return string(form(st.tail, nil, b))
}

func form(parts []part, values []int64, b []byte) []byte {
	for j, p := range parts {
		switch {
		case p.arg != nil:
			b = append(b, '?')
			if p.arg.kind == list {
				for range p.arg.size - 1 {
					b = append(b, ",?"...)
				}
			}
		case p.expr != nil:
			b = wholeConst(values[j]).app(nil, b)
		default:
			b = append(b, p.lit...)
		}
	}
	return b
}

// counted returns how many operations the current transaction counts as, of which sent
// statements were sent.
func (s *stream) counted(sent int64) int64 {
	switch {
	case s.tx.sum:
		return sent
	case s.tx.count != nil:
		s.f.key = s.key
		return s.tx.count.num(&s.f)
	}
	return 1
}

// place returns the client and number of the g-th operation of all clients.
func place(g, clients int64) (client, op int64) { return g % clients, g / clients }

// Digest returns a digest, in hex, of the first n operations of a step: which transactions
// and statements, with which arguments. It depends on seed, block, step and clients, and
// not on the server, whatever SQL that is given. An unknown step has an empty digest; of
// one that another tool drives it is known only what that is told.
func (p *Program) Digest(name string, seed uint64, block, clients int, n int64) string {
	st, ok := p.steps[name]
	if !ok || clients < 1 || st.unfit != nil {
		return ""
	}
	h := sha256.New()
	if st.tool != nil {
		fmt.Fprintf(h, "%+v %d", *st.tool, clients)
		return hex.EncodeToString(h.Sum(nil)[:16])
	}
	for _, st := range st.works() {
		s := newStream(st, seed, block, clients)
		for g := range n {
			s.start(place(g, int64(clients)))
			put(h, int64(s.kind))
			for s.next() {
				s.digest(h)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (s *stream) digest(h hash.Hash) {
	put(h, int64(s.at))
	st := s.stmt()
	if st == nil {
		return
	}
	s.put(h, s.st.args)
	s.put(h, st.args)
	for _, p := range st.parts {
		if p.expr != nil {
			put(h, p.expr.num(&s.f))
		}
	}
	for i := range st.rows {
		s.row(st, i)
		s.put(h, st.each)
	}
}

func (s *stream) put(h hash.Hash, args []arg) {
	for _, a := range args {
		switch a.expr.kind {
		case whole:
			put(h, s.f.nums[a.slot])
		case list:
			for _, v := range s.f.lists[a.slot] {
				put(h, v)
			}
		default:
			put(h, int64(len(s.f.texts[a.slot])))
			h.Write(s.f.texts[a.slot])
		}
	}
}

func put(h hash.Hash, v int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(v))
	h.Write(b[:])
}
