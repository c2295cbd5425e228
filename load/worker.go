package load

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"backslide/lab"
	"backslide/proc"
)

// unhurried is from which latency on another time stamp before the next operation costs
// nothing to speak of. After a long wait caches are cold, and making the operation takes
// microseconds that are not the server's.
const unhurried = int64(100 * time.Microsecond)

// worker drives its share of a session's clients from one locked thread.
type worker struct {
	s       *Session
	clients []*client
	poller  *poller
	in      chan *slice
	spin    int64 // nanoseconds added to each transaction
	cpu     []int // the only one it runs on; nil: any
	paced   bool  // some client's operations are due at times

	active  int     // clients that have something to do
	parts   []pulse // by role
	errs    []lab.ErrorCount
	retries int64
}

// slice is what the workers of a session share while a slice runs. Stamps are
// nanoseconds since the session's base.
type slice struct {
	timed  bool
	t0, t1 int64 // the measured interval; of fixed work t1 is the end of time
	first  int64 // number of the first operation of a timed slice

	next   atomic.Int64 // fixed work: the next operation over all clients
	end    int64        // and the one behind the last
	ops    int64        // how much fixed work, in operations
	static bool         // each client does its own
	roles  bool         // clients do their own, up to their own ends
	open   atomic.Int64 // clients that have not come to theirs
	over   atomic.Int64 // stamp at which the last has; 0: not yet

	visit func(*client) error // runs the current operation over a connection of its own

	stop     atomic.Bool
	bell     bell // rings when stop is set
	once     sync.Once
	err      error // why stop was set; read after finished
	begin    atomic.Bool
	ready    sync.WaitGroup
	finished sync.WaitGroup
}

// fail stops the slice for err, unless it was stopped already.
func (sl *slice) fail(err error) {
	sl.once.Do(func() {
		sl.err = err
		sl.stop.Store(true)
		sl.bell.ring()
	})
}

func (w *worker) init() error {
	fds := make([]int, len(w.clients))
	for i, c := range w.clients {
		fds[i], c.at = c.fd, i
	}
	w.errs = make([]lab.ErrorCount, 0, 16)
	for _, s := range w.s.series {
		w.parts = append(w.parts, pulse{to: s})
	}
	var err error
	w.poller, err = newPoller(fds, w.s.bell, w.s.gong)
	return err
}

// work runs slices until there are no more. Between slices it sleeps.
func (w *worker) work() {
	lockThread()
	if w.cpu != nil {
		// Were it to fail, the worker would run elsewhere: slower, not wrong.
		_ = proc.PinThread(0, w.cpu)
	}
	for sl := range w.in {
		sl.ready.Done()
		w.hold(sl)
		w.run(sl)
		sl.finished.Done()
	}
}

// hold waits until the slice begins, in the kernel and not in Go's scheduler: that wakes
// locked threads one after the other, each waiting for a CPU among those that have begun.
func (w *worker) hold(sl *slice) {
	for !sl.begin.Load() {
		w.poller.wait(-1)
	}
}

func (s *Session) now() int64 { return int64(time.Since(s.base)) }

// run keeps every client busy until the slice ends and the last reply has come.
func (w *worker) run(sl *slice) {
	now := w.s.now()
	w.active = len(w.clients)
	for _, c := range w.clients {
		w.begin(c, sl, now)
	}
	for w.active > 0 && !sl.stop.Load() {
		ready := w.poller.wait(w.nap(now))
		for i := range ready {
			at := w.poller.ready(i)
			if at < 0 {
				continue // the bell: stop is set
			}
			c := w.clients[at]
			done, r, err := c.conn.Receive()
			if err != nil {
				sl.fail(gone(c, err))
				return
			}
			if c.pushing {
				w.push(c, sl)
			}
			if !done {
				continue
			}
			now = w.s.now()
			if !w.reply(c, sl, r, now) {
				w.active--
			}
		}
		if w.paced {
			now = w.s.now()
			w.wake(sl, now)
		}
	}
}

// advance starts the client's next operation, or lets it wait for its time. It reports
// whether there is one.
func (w *worker) advance(c *client, sl *slice, now int64) bool {
	for !sl.stop.Load() {
		c.state = idle
		switch {
		case sl.timed && now >= sl.t1 && c.next > sl.first: // one at least, however late its thread came
			return w.leave(c, sl, now)
		case sl.roles && c.exhausted(sl, now):
			return false
		case !c.isDue(now):
			if c.due >= sl.t1 {
				return w.leave(c, sl, now)
			}
			c.state = waiting
			return true
		case c.waits():
			c.state = blocked
			return true
		}
		began := now
		if c.every > 0 {
			began = c.due
			c.due += c.every
		}
		client, op := c.n, c.next
		if sl.timed || sl.roles {
			c.next++
		} else {
			g := c.take(sl)
			if g >= sl.end {
				return false
			}
			client, op = place(g, c.f.vars[varClients])
		}
		c.left--
		slow := c.every == 0 && now-c.began > unhurried
		c.start(client, op)
		c.began, c.sent, c.rows = began, 0, 0
		if c.st.connect {
			if slow {
				c.began = w.s.now()
			}
			if err := sl.visit(c); err != nil {
				sl.fail(err)
				return false
			}
			now = w.s.now()
			w.finish(c, sl, now)
			continue
		}
		if c.stream.next() {
			if slow {
				c.began = w.s.now()
			}
			return w.send(c, sl)
		}
		now = w.s.now() // the operation has no statement this time
		w.finish(c, sl, now)
	}
	return false
}

// send sends the current statement. It reports whether a reply is to be awaited.
func (w *worker) send(c *client, sl *slice) bool {
	c.state = running
	c.sent++
	var err error
	if st := c.stmt(); st != nil && st.prepared {
		c.args = c.bound(c.args[:0])
		err = c.conn.SendExecute(c.ids[c.form()], c.args)
	} else {
		c.buf = c.sql(c.buf[:0])
		err = c.conn.SendQuery(c.buf)
	}
	if err != nil {
		sl.fail(gone(c, err))
		return false
	}
	if c.conn.WantWrite() {
		w.push(c, sl)
	}
	return true
}

// push has the poller watch for room to write as long as part of a long statement was not
// taken by the kernel.
func (w *worker) push(c *client, sl *slice) {
	c.pushing = c.conn.WantWrite()
	if err := w.poller.writing(c.fd, c.at, c.pushing); err != nil {
		sl.fail(err)
	}
}

// reply handles a whole reply, at stamp now: it sends what comes next. It reports whether
// the client is still busy.
func (w *worker) reply(c *client, sl *slice, r lab.Reply, now int64) bool {
	if c.state == idle || c.state == waiting || c.state == blocked {
		sl.fail(fmt.Errorf("client %d: a reply that nothing had asked for: %d %s", c.n, r.Code, r.Message))
		return false
	}
	if c.state == undoing {
		if r.Code != 0 {
			sl.fail(&StatementError{"ROLLBACK", r})
			return false
		}
		c.rewind()
		c.sent, c.rows = 0, 0
		return c.stream.next() && w.send(c, sl)
	}
	if r.Code != 0 {
		if again, ok := w.refused(c, sl, r, now); again || !ok {
			return ok
		}
	}
	c.rows += r.Rows
	if c.stream.next() {
		return w.send(c, sl)
	}
	for end := now + w.spin; now < end; {
		now = w.s.now()
	}
	w.finish(c, sl, now)
	return w.advance(c, sl, now)
}

// refused handles a server's error. again: the statement or transaction is tried again;
// ok: the slice goes on.
func (w *worker) refused(c *client, sl *slice, r lab.Reply, now int64) (again, ok bool) {
	counts := now >= sl.t0 && now <= sl.t1
	if counts {
		w.count(r.Code)
	}
	if slices.Contains(c.st.ignore, r.Code) {
		return false, true
	}
	if !slices.Contains(c.st.retry, r.Code) {
		sl.fail(fmt.Errorf("client %d: %w", c.n, &StatementError{clip(c.sql(nil)), r}))
		return false, false
	}
	if counts {
		w.retries++
	}
	if !c.tx.begin {
		c.sent--
		return true, w.send(c, sl)
	}
	c.state = undoing
	if err := c.conn.SendQuery(append(c.buf[:0], "ROLLBACK"...)); err != nil {
		sl.fail(gone(c, err))
		return true, false
	}
	return true, true
}

func (w *worker) count(code int) {
	for i := range w.errs {
		if w.errs[i].Code == code {
			w.errs[i].Count++
			return
		}
	}
	w.errs = append(w.errs, lab.ErrorCount{Code: code, Count: 1})
}

// finish counts a transaction that ended at stamp now.
func (w *worker) finish(c *client, sl *slice, now int64) {
	c.ended++
	c.asked += c.sent
	w.rouse(c, sl, now)
	if now < sl.t0 {
		return
	}
	if c.from < 0 {
		c.from = c.began
	}
	c.last = now
	ops := c.counted(c.sent)
	if now > sl.t1 || sl.roles && c.to == endOfTime && sl.over.Load() != 0 {
		c.tail, c.tailOps, c.tailRows = now-c.began, ops, c.rows
		return
	}
	c.done++
	c.ops += ops
	c.rowsDone += c.rows
	w.parts[c.role].add(now, now-c.began, ops)
}

// reset prepares a worker for a slice that starts at stamp start.
func (w *worker) reset(sl *slice, start int64) {
	for i := range w.parts {
		w.parts[i].reset(sl.t0)
	}
	w.errs = w.errs[:0]
	w.retries = 0
	for _, c := range w.clients {
		c.tally = tally{from: -1, last: start, tail: -1}
		c.state, c.next, c.to, c.ended = idle, sl.first, endOfTime, 0
		if sl.roles {
			w.s.share(sl, c)
		} else if !sl.timed && sl.static {
			// The first operation from where the last slice ended that is this client's.
			clients := c.f.vars[varClients]
			g := sl.next.Load()
			c.next = g + mod(c.n-g, clients)
		}
	}
}

const endOfTime = math.MaxInt64
