package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"backslide/lab"
	"backslide/proc"
)

// Work says which operations a session executes.
type Work struct {
	Step    string
	Clients int
	Seed    uint64
	Block   int
}

// Options are how a session drives its connections.
type Options struct {
	// Loops is the number of threads that share the connections, each waiting for all of
	// its own at once. 0: one for each CPU that the process may use if that is a single
	// one, else one for each connection.
	Loops int
	// ServerThread, if set, co-locates: it returns the server's thread that serves a
	// connection, and each is pinned to the CPU of the loop that drives the connection,
	// one loop for each CPU, until Close. It changes how the server is scheduled.
	ServerThread func(Conn) (tid int, err error)
	// Spin is busy time that is added to every operation, as if its last statement had
	// taken so much longer: a slowdown of known size, to try verdicts on.
	Spin time.Duration
	// Clock, if not nil, is the server's own, for Session.ServerTime.
	Clock Clock
}

// Session is an open set of connections, with everything prepared, for one step. Several
// sessions may be open at once; idle ones use no CPU. Slices run one at a time.
type Session struct {
	st      *step
	work    Work
	clients []*client
	pinned  []pinned // server threads, while co-located
	dial    Dial     // for steps whose operations connect
	bell    bell     // wakes the workers when a slice is to stop
	sides   []Conn
	workers []*worker
	wg      sync.WaitGroup

	base    time.Time // of all stamps
	cursor  int64     // next operation of fixed work, over all clients
	series  []*series // by role
	typical int64     // nanoseconds an operation took in the last slice
	broken  error     // why no further slice can run
	unreset bool      // a slice was run, and what comes behind it was not

	clock    Clock // the server's own; nil: it has none
	clockErr error // why it is of no use
	timed    bool  // clock noted where the last slice started
	noted    bool  // and where it ended
}

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

// Session opens the connections of a step, opens its side sessions, and prepares all
// statements. For a step that another tool drives it opens the side sessions alone. On an
// error nothing stays open.
func (p *Program) Session(ctx context.Context, work Work, dial Dial, o Options) (_ *Session, err error) {
	st, err := p.step(work.Step)
	if err != nil {
		return nil, err
	}
	if work.Clients < 1 {
		return nil, fmt.Errorf("step %s: %d clients", work.Step, work.Clients)
	}
	s := &Session{st: st, work: work, dial: dial, base: time.Now(), clock: o.Clock}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("step %s: %w", work.Step, err), s.Close())
		}
	}()
	for i, sd := range st.sides {
		c, err := dial(ctx)
		if err != nil {
			return nil, fmt.Errorf("side session %d: %w", i+1, limit(err))
		}
		s.sides = append(s.sides, c)
		if err := runAll(ctx, c, sd.open); err != nil {
			return nil, fmt.Errorf("side session %d: %w", i+1, err)
		}
	}
	if st.tool != nil {
		return s, nil // the clients are the tool's
	}
	for range max(1, len(st.roles)) {
		s.series = append(s.series, new(series))
	}
	if err := s.connect(ctx, dial); err != nil {
		return nil, err
	}
	return s, s.start(o)
}

// ConnectionIDs are the server's own numbers of the clients' connections.
func (s *Session) ConnectionIDs() []uint32 {
	out := make([]uint32, len(s.clients))
	for i, c := range s.clients {
		out[i] = c.conn.ThreadID()
	}
	return out
}

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

// coded is an error that carries a server's error number.
type coded interface{ ErrorCode() int }

// limit marks errors that say that a limit of the server was met.
func limit(err error) error {
	var c coded
	if errors.As(err, &c) {
		switch c.ErrorCode() {
		case 1040, 1203, 1226, 1461, 1135:
			return fmt.Errorf("%w: %w", ErrLimit, err)
		}
	}
	return err
}

// StatementError is a statement that the server refused.
type StatementError struct {
	SQL   string // as text, whatever protocol it was sent by
	Reply lab.Reply
}

func (e *StatementError) Error() string {
	return fmt.Sprintf("%s: error %d (%s): %s", e.SQL, e.Reply.Code, e.Reply.State, e.Reply.Message)
}

// ErrorCode returns the server's error number.
func (e *StatementError) ErrorCode() int { return e.Reply.Code }

// exec runs one statement and makes an error of a refusal.
func exec(ctx context.Context, c Conn, sql string) (lab.Reply, error) {
	if err := c.SendQuery([]byte(sql)); err != nil {
		return lab.Reply{}, fmt.Errorf("%s: %w", quoteShort(sql), err)
	}
	r, err := await(ctx, c)
	if err != nil {
		return r, fmt.Errorf("%s: %w", quoteShort(sql), err)
	}
	if r.Code != 0 {
		return r, &StatementError{sql, r}
	}
	return r, nil
}

func runAll(ctx context.Context, c Conn, statements []string) error {
	for _, sql := range statements {
		if _, err := exec(ctx, c, sql); err != nil {
			return err
		}
	}
	return nil
}

// start starts the workers, which wait for a slice.
func (s *Session) start(o Options) error {
	loops := o.Loops
	if loops <= 0 {
		loops = s.work.Clients
		if cpus := affinity(); cpus == 1 {
			loops = 1
		}
	}
	if s.st.connect {
		loops = len(s.clients) // connecting blocks
	}
	var cpus []int
	if o.ServerThread != nil {
		var err error
		if cpus, err = proc.Affinity(os.Getpid()); err != nil {
			return err
		}
		loops = len(cpus)
	}
	loops = min(loops, s.work.Clients)
	var err error
	if s.bell, err = newBell(); err != nil {
		return err
	}
	// A thread that waits in a system call of ours keeps its P; others need some too.
	if need := loops + 2; runtime.GOMAXPROCS(0) < need {
		runtime.GOMAXPROCS(need)
	}
	for i := range loops {
		w := &worker{s: s, in: make(chan *slice), spin: int64(o.Spin)}
		for _, c := range s.clients { // all connections of a client share a worker
			if int(c.n)%loops == i {
				w.clients = append(w.clients, c)
			}
		}
		if err := w.init(); err != nil {
			return err
		}
		if o.ServerThread != nil {
			w.cpu = cpus[i : i+1]
			if err := s.coLocate(w, o.ServerThread); err != nil {
				return err
			}
		}
		s.workers = append(s.workers, w)
		s.wg.Go(w.work)
	}
	return nil
}

// coLocate pins the server threads of a worker's connections to the worker's CPU.
func (s *Session) coLocate(w *worker, thread func(Conn) (int, error)) error {
	for _, c := range w.clients {
		tid, err := thread(c.conn)
		if err != nil {
			return fmt.Errorf("find the server's thread of client %d: %w", c.n, err)
		}
		cpus, err := proc.Affinity(tid)
		if err == nil {
			err = proc.PinThread(tid, w.cpu)
		}
		if err != nil {
			return fmt.Errorf("co-locate the server's thread %d of client %d: %w", tid, c.n, err)
		}
		s.pinned = append(s.pinned, pinned{tid, cpus})
	}
	return nil
}

// pinned is a server thread with the CPUs that it had.
type pinned struct {
	tid  int
	cpus []int
}

// Close ends the side sessions' statements and closes all connections.
func (s *Session) Close() error {
	var errs []error
	if s.unreset && s.broken == nil {
		ctx, cancel := context.WithTimeout(context.Background(), resetLimit)
		errs = append(errs, s.reset(ctx))
		cancel()
	}
	for _, w := range s.workers {
		close(w.in)
	}
	s.wg.Wait()
	for _, w := range s.workers {
		w.poller.close()
	}
	if s.workers != nil {
		s.bell.close()
	}
	s.workers = nil
	for i, c := range s.sides {
		if s.broken == nil && (len(s.clients) > 0 || s.st.tool != nil) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			errs = append(errs, runAll(ctx, c, s.st.sides[i].close))
			cancel()
		}
		c.Close()
	}
	s.sides = nil
	for _, p := range s.pinned {
		// The server keeps threads for later connections. One that has ended needs nothing.
		if err := proc.PinThread(p.tid, p.cpus); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, err)
		}
	}
	s.pinned = nil
	for _, c := range s.clients {
		if c != nil {
			c.conn.Close()
		}
	}
	s.clients = nil
	return errors.Join(errs...)
}
