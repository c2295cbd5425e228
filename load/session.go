package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

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
	gong    bell     // and when one begins, once for each ring
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
	s := &Session{st: st, work: work, dial: dial, base: time.Now(), clock: o.Clock, bell: noBell(), gong: noBell()}
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
	if s.gong, err = newBell(); err != nil {
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
	s.bell.close()
	s.gong.close()
	s.workers, s.bell, s.gong = nil, noBell(), noBell()
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
