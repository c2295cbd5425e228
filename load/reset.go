package load

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// resetLimit is how long the statements behind the last slice may take.
const resetLimit = 10 * time.Minute

// resets reports whether something is to be done around the step's slices.
func (s *step) resets() bool { return len(s.before)+len(s.after) > 0 }

// Ops returns how many operations each client of a step does in a slice, 0 if the length
// of the slice decides that or the step is unknown. With roles they are those of the first
// role that says so.
func (p *Program) Ops(name string) int64 {
	if s, ok := p.steps[name]; ok && s.finite() {
		return s.ended().ops
	}
	return 0
}

// bounds resolves what is sent around a slice of the step.
func (b *stepBinder) bounds() error {
	var err error
	if b.s.before, err = b.around(b.f.Before, "before"); err != nil {
		return err
	}
	if b.s.after, err = b.around(b.f.After, "after"); err != nil {
		return err
	}
	if b.s.resets() && !b.s.read && !b.s.finite() {
		return bad(b.at, "step %q has before or after and writes; it needs ops, the operations of each client in a slice", b.f.Name)
	}
	return nil
}

// around resolves statements that each client sends outside of what is measured.
func (b *stepBinder) around(l sqlList, key string) ([][]part, error) {
	sc := b.scope(b.sc.params)
	sc.vars = map[string]int{"client": varClient, "clients": varClients}
	var out [][]part
	for _, c := range l {
		parts, err := sc.parts(c.text)
		if err != nil {
			return nil, bad(b.at.add(key), "%v", err)
		}
		if c.fits(b.p.Target) {
			out = append(out, parts)
		}
	}
	return out, nil
}

// parts runs a slice. Several slices' work at once, of a step that has something done
// around each, is cut into these slices; what is done between them is then in the CPU time
// of the result, and not in its Wall.
func (s *Session) parts(ctx context.Context, spec SliceSpec, measuring func()) (Result, error) {
	per := int64(0)
	if s.st.finite() {
		per = s.st.ended().ops * int64(s.work.Clients)
	}
	if !s.st.resets() || per == 0 || spec.Ops <= per {
		return s.slice(ctx, spec, measuring)
	}
	whole := Result{Hist: new(Histogram)}
	for left := spec.Ops; left > 0; left -= per {
		spec.Ops = min(per, left)
		r, err := s.slice(ctx, spec, measuring)
		if err != nil {
			return Result{}, err
		}
		measuring = func() {}
		whole.add(r)
	}
	return whole, nil
}

// add counts what a later slice did into r.
func (r *Result) add(o Result) {
	if r.Start.IsZero() {
		r.Start = o.Start
	}
	r.Wall += o.Wall
	r.Ops += o.Ops
	r.Rows += o.Rows
	r.Retries += o.Retries
	r.ClientUser += o.ClientUser
	r.ClientSystem += o.ClientSystem
	r.Errors = append(r.Errors, o.Errors...)
	r.Hist.Merge(o.Hist)
}

// lead brings the data to where the next slice starts: what comes behind the last slice,
// then what comes before this one. None of it is measured.
func (s *Session) lead(ctx context.Context, spec SliceSpec) error {
	if !s.st.resets() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, spec.Timeout)
	defer cancel()
	if s.unreset {
		if err := s.reset(ctx); err != nil {
			return err
		}
	}
	if err := s.send(ctx, s.st.before); err != nil {
		return fmt.Errorf("before the slice: %w", err)
	}
	s.unreset = true
	return nil
}

// reset sends what comes behind a slice. It is put off until the next slice or the end,
// so that it is nothing of what the host sees of the slice.
func (s *Session) reset(ctx context.Context) error {
	s.unreset = false
	if err := s.send(ctx, s.st.after); err != nil {
		return fmt.Errorf("after the slice: %w", err)
	}
	return nil
}

// send sends statements over each client's connection, one client behind the other.
func (s *Session) send(ctx context.Context, statements [][]part) error {
	for _, c := range s.clients {
		if c.role > 0 {
			continue
		}
		var f frame
		f.vars[varClient], f.vars[varClients] = c.n, int64(s.work.Clients)
		for _, parts := range statements {
			if _, err := exec(ctx, c.conn, string(appendParts(nil, parts, &f))); err != nil {
				return fmt.Errorf("client %d: %w", c.n, err)
			}
		}
	}
	return nil
}

// appendParts appends a text that binds nothing.
func appendParts(dst []byte, parts []part, f *frame) []byte {
	for _, p := range parts {
		if p.expr != nil {
			dst = p.expr.app(f, dst)
		} else {
			dst = append(dst, p.lit...)
		}
	}
	return dst
}

// visit runs the current operation over a connection that is opened for it and closed
// behind it. It blocks; the end of ctx ends it.
func (c *client) visit(ctx context.Context, dial Dial) error {
	conn, err := dial(ctx)
	if err != nil {
		return fmt.Errorf("client %d: connect: %w", c.n, limit(err))
	}
	defer conn.Close()
	for c.stream.next() {
		c.sent++
		c.buf = c.sql(c.buf[:0])
		if err := conn.SendQuery(c.buf); err != nil {
			return gone(c, err)
		}
		r, err := await(ctx, conn)
		if err != nil {
			return gone(c, err)
		}
		if r.Code != 0 && !slices.Contains(c.st.ignore, r.Code) {
			return fmt.Errorf("client %d: %w", c.n, &StatementError{string(c.buf), r})
		}
		c.rows += r.Rows
	}
	return nil
}
