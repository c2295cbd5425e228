package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"backslide/lab"
)

// client is one connection and the operation that is under way on it. Only its worker
// touches it while a slice runs.
type client struct {
	stream
	conn Conn
	fd   int
	n    int64 // number, from 0; connections of one client share it
	role int   // of the step's
	ids  []int // prepared statements of the connection, by form
	buf  []byte
	args []lab.Arg

	at      int  // place among its worker's clients
	pushing bool // part of its statement waits for room in the socket

	state state
	next  int64 // number of the next operation, of those that are the client's own
	to    int64 // of a role's fixed work: the number behind the last; endOfTime: until others have ended
	due   int64 // stamp at which the next operation of an open loop should start
	every int64 // nanoseconds between these

	burst   int64 // operations of a second that is not made up for; 0: all are, or there is no rate
	left    int64 // of them still to start
	check   int64 // stamp at which the second began
	offered float64

	follows, led *client // connections of the same client that go along, one operation for one
	lead         int64   // operations that the one that is followed may be ahead
	ended        int64   // transactions of the slice, whenever they ended
	began        int64   // stamp from which the latency of the operation counts
	sent         int64   // statements of the operation so far
	rows         int64   // of the operation
	tally
}

// tally is what a client did in one slice.
type tally struct {
	done, ops, rowsDone int64 // transactions, operations, rows that ended in the measured interval
	from                int64 // stamp at which the first transaction began that ended after the discarded part
	last                int64 // stamp at which the last transaction ended
	asked               int64 // statements of transactions that ended, whenever they did
	tail                int64 // latency of a transaction that ended behind the interval; -1: none
	tailOps             int64
	tailRows            int64
}

type state uint8

const (
	idle    state = iota // nothing more to do in this slice
	waiting              // for the time at which an operation is due
	blocked              // for the connection that it follows or is followed by
	running              // a statement was sent
	undoing              // ROLLBACK was sent, then the operation starts again
)

// connect opens and prepares all clients, some at a time.
func (s *Session) connect(ctx context.Context, dial Dial) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	roles := max(1, len(s.st.roles))
	s.clients = make([]*client, s.work.Clients*roles)
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(s.work.Clients, 8) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= int64(len(s.clients)) {
					return
				}
				c, err := s.open(ctx, i/int64(roles), int(i)%roles, dial)
				s.clients[i] = c
				if err != nil {
					cancel(fmt.Errorf("client %d of %d: %w", i/int64(roles)+1, s.work.Clients, limit(err)))
				}
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for _, c := range s.clients {
		if len(s.st.roles) == 0 {
			break
		}
		if r := s.st.roles[c.role]; r.follows >= 0 {
			c.follows, c.lead = s.clients[int(c.n)*roles+r.follows], r.lead
			c.follows.led = c
		}
	}
	return nil
}

// open connects client n in a role; it is returned for closing even with an error.
func (s *Session) open(ctx context.Context, n int64, role int, dial Dial) (*client, error) {
	conn, err := dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	st := s.st
	if len(st.roles) > 0 {
		st = st.roles[role].step
	}
	c := &client{stream: *newStream(st, s.work.Seed, s.work.Block, s.work.Clients), conn: conn, fd: conn.FD(), n: n, role: role}
	c.ids = make([]int, st.ids)
	c.buf = make([]byte, 0, 1024)
	for i := range st.txs {
		for j := range st.txs[i].stmts {
			if err := c.prepare(&st.txs[i].stmts[j]); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

func (c *client) prepare(st *stmt) error {
	for i := range st.forms {
		sql := st.formText(i)
		id, params, err := c.conn.Prepare(sql)
		if err != nil {
			return fmt.Errorf("prepare %s: %w", quoteShort(sql), err)
		}
		if want := st.params(); params != want {
			return fmt.Errorf("prepare %s: the server sees %d parameters, not %d", quoteShort(sql), params, want)
		}
		c.ids[st.first+i] = id
	}
	return nil
}

// take returns the number of the next operation of fixed work.
func (c *client) take(sl *slice) int64 {
	if !sl.static {
		return sl.next.Add(1) - 1
	}
	g := c.next
	c.next += c.f.vars[varClients]
	return g
}
