package load

import (
	"fmt"
	"time"

	"backslide/lab"
)

// Program is a workload bound to a kind of server and to parameters: every expression is
// resolved and every SQL text chosen. It is not changed by use.
type Program struct {
	Workload *Workload
	Target   Target
	// Values are the parameters' values, as text.
	Values map[string]string

	params  map[string]*expr
	tables  []table
	setup   []string
	finish  []string
	settles map[string]settle
	steps   map[string]*step
}

// step is a step that is ready to be turned into operations.
type step struct {
	name   string
	read   bool
	args   []arg
	txs    []tx
	per    int64 // operations that every transaction counts as; 0: it varies
	weigh  bool  // there is more than one kind of transaction
	rate   *expr // operations per second and client; nil: closed loop
	retry  []int
	ignore []int
	sides  []side
	settle []string
	slots  int
	ops    int64    // of each client in a slice; 0: the slice's length decides
	before [][]part // statements that each client sends before a slice
	after  [][]part // and behind it
	// connect: every operation opens a connection of its own and closes it.
	connect bool
	static  bool // what a client does depends on its number, so it does its own operations only
	ids     int  // statements that each connection prepares
	unfit   error

	limit   time.Duration // of a slice of a chain's step that has ops
	catchup bool          // an open loop; otherwise what a stall has cost is not made up for
	tool    *lab.Tool     // what drives it in place of our client; nil: nothing
	roles   []role        // what each connection of a client does; none: it has one, for the step itself
}

// role is what one of a client's connections does in a step. The embedded step holds its
// operations.
type role struct {
	*step
	follows int   // role whose operations it goes along with, one for one; -1: none
	lead    int64 // operations that one may be ahead
}

// arg is a named value that is made anew for every operation or statement.
type arg struct {
	slot int
	expr *expr
}

// tx is a kind of transaction of a step.
type tx struct {
	weight *expr // nil: 1
	begin  bool
	stmts  []stmt
	count  *expr // operations that it counts as; nil: one, or its statements
	sum    bool  // counts as many operations as statements it sent
}

// stmt is a statement of a transaction.
type stmt struct {
	args     []arg
	repeat   *expr // nil: 1
	chance   float64
	site     uint64 // of the draw that decides by chance
	prepared bool
	parts    []part
	binds    []*expr
	first    int // of its prepared forms among the step's
	forms    int // prepared texts, one for each value of what is put into the text

	rows  int64  // how often tuple is there, each time with args of its own; 0: there is none
	each  []arg  // made for each row
	tuple []part // one (…) of VALUES
	tail  []part // what comes behind the rows
}

type side struct{ open, close []string }

// settle is an action that brings a server to rest, and the condition that says so.
type settle struct {
	name         string
	do, undo     []string
	until        string
	every, limit time.Duration
}

// Check returns why a step cannot be run on this kind of server, or nil.
func (p *Program) Check(name string) error {
	s, ok := p.steps[name]
	if !ok {
		return fmt.Errorf("workload %s has no step %q%s", p.Workload.Name, name, lab.Suggest(name, p.Workload.stepNames()))
	}
	return s.unfit
}

// Needs returns how many connections, and prepared statements over all of them, a step
// takes up on the server.
func (p *Program) Needs(name string, clients int) (connections, statements int) {
	s, ok := p.steps[name]
	if !ok {
		return 0, 0
	}
	if s.connect {
		return 2*clients + len(s.sides), 0
	}
	connections, statements = clients, clients*s.ids
	if len(s.roles) > 0 {
		connections = clients * len(s.roles)
		for _, r := range s.roles {
			statements += clients * r.ids
		}
	}
	if s.tool != nil && s.tool.Program == lab.Mysqlslap {
		connections++ // its own, beside its clients
	}
	return connections + len(s.sides), statements
}

// step returns a step that fits the server.
func (p *Program) step(name string) (*step, error) {
	if err := p.Check(name); err != nil {
		return nil, err
	}
	return p.steps[name], nil
}

// PerTransaction returns how many operations one transaction of a step counts as, 0 if
// that varies or the step is unknown.
func (p *Program) PerTransaction(name string) int64 {
	if s, ok := p.steps[name]; ok {
		return s.per
	}
	return 0
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

// Roles returns the names of a step's roles in their order; none if it has none.
func (p *Program) Roles(name string) []string {
	s, ok := p.steps[name]
	if !ok {
		return nil
	}
	var out []string
	for _, r := range s.roles {
		out = append(out, r.name[len(name)+1:])
	}
	return out
}

// transactions returns how many transactions make ops operations, rounded up.
func (s *step) transactions(ops int64) int64 {
	per := max(s.per, 1)
	return (ops + per - 1) / per
}

// each returns how many transactions of a role every client does in a slice of n times
// the step's own work; endOfTime if the role goes on until others have ended.
func (s *step) each(role int, n int64) int64 {
	r := s.roles[role]
	switch {
	case r.follows >= 0:
		return s.each(r.follows, n)
	case r.ops == 0:
		return endOfTime
	}
	return n * r.transactions(r.ops)
}

// works returns what makes the step's operations: itself, or its roles.
func (s *step) works() []*step {
	if len(s.roles) == 0 && len(s.txs) == 0 {
		return nil // another tool has a script of its own
	}
	if len(s.roles) == 0 {
		return []*step{s}
	}
	var out []*step
	for _, r := range s.roles {
		out = append(out, r.step)
	}
	return out
}

// ended returns what says how many operations a slice has: the step itself, or its first
// role that does; nil when neither does.
func (s *step) ended() *step {
	if s.ops > 0 {
		return s
	}
	for _, r := range s.roles {
		if r.ops > 0 {
			return r.step
		}
	}
	return nil
}

// finite reports whether the step says itself how many operations it has.
func (s *step) finite() bool { return s.ended() != nil }

// params returns how many parameters the statement has when it is prepared.
func (s *stmt) params() int {
	n := boundOf(s.parts) + boundOf(s.tail)
	return n + int(s.rows)*boundOf(s.tuple)
}

func boundOf(parts []part) int {
	n := 0
	for _, p := range parts {
		if p.arg != nil {
			n += max(1, int(p.arg.size))
		}
	}
	return n
}
