package load

import (
	"fmt"
	"time"
)

// Clock reads what a server itself says of how long statements took. It is asked outside
// of what is measured.
type Clock interface {
	// Begin notes where the statements sent over conns stand. They are the same at every
	// call.
	Begin(conns []Conn) error
	// Since returns the time that statements sent since Begin, or since the last call of
	// Since, took, added up over conns: so many over each. It waits until the server has
	// counted them all, for a while.
	Since(conns []Conn, statements []int64) (time.Duration, error)
}

// beginClock has the server's clock note where a slice starts. What it noted behind the
// last slice serves, where no statements of ours came in between.
func (s *Session) beginClock(spec SliceSpec) {
	noted := s.noted && !s.st.resets()
	s.timed, s.noted = false, false
	if s.clock == nil || s.clockErr != nil || !spec.Clock {
		return
	}
	if !noted {
		s.clockErr = s.clock.Begin(s.first())
	}
	s.timed = s.clockErr == nil
}

// ServerTime returns the time that the statements of the last slice took by the server's
// own clock, added up over the connections of the first role. It is to be asked when
// nothing more is measured of the slice, for it sends statements. An error says why it is
// not known.
func (s *Session) ServerTime() (time.Duration, error) {
	switch {
	case s.clockErr != nil:
		return 0, s.clockErr
	case !s.timed || s.broken != nil:
		return 0, fmt.Errorf("step %s: no slice that was to be timed by the server", s.st.name)
	}
	var n []int64
	for _, c := range s.clients {
		if c.role == 0 {
			n = append(n, c.asked)
		}
	}
	s.timed = false
	d, err := s.clock.Since(s.first(), n)
	if err != nil {
		s.clockErr = fmt.Errorf("step %s: %w", s.st.name, err)
	}
	s.noted = err == nil
	return d, s.clockErr
}

// first returns the connections of the first role.
func (s *Session) first() []Conn {
	var out []Conn
	for _, c := range s.clients {
		if c.role == 0 {
			out = append(out, c.conn)
		}
	}
	return out
}

// Statements returns how many statements each client sends in a slice of a step of whole
// statements, at most, and whether all are text: 0 if the length of the slice decides, if
// it varies, or each operation has a connection of its own.
func (p *Program) Statements(name string) (n int64, text bool) {
	s, ok := p.steps[name]
	if !ok || !s.finite() || s.connect || s.tool != nil {
		return 0, false
	}
	w := s.works()[0]
	text = true
	for _, t := range w.txs {
		per := int64(len(t.stmts))
		if t.begin {
			per += 2
		}
		for _, q := range t.stmts {
			text = text && !q.prepared
			if q.repeat != nil && !q.repeat.isConst() {
				return 0, false
			} else if q.repeat != nil {
				per += max(0, q.repeat.n-1)
			}
		}
		n = max(n, per)
	}
	return n * w.ops, text
}
