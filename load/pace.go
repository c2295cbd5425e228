package load

import (
	"math"
	"time"
)

// When a connection starts its next operation: by its rate, by what the other connections
// of its client have done, and until when.

// share gives a role's client its part of a slice's fixed work, which is a multiple of
// the step's own.
func (s *Session) share(sl *slice, c *client) {
	own := s.st.ended().ops * int64(s.work.Clients)
	n := sl.ops / own
	before := (s.cursor - sl.ops) / own
	c.to = s.st.each(c.role, n)
	if c.to == endOfTime {
		c.next = before << 32
		return
	}
	c.next = s.st.each(c.role, before)
	c.to += c.next
	sl.open.Add(1)
}

// pace sets the client's times for an open loop, if there is one.
func (c *client) pace(s *Session, rate float64, start int64) {
	n := float64(s.work.Clients)
	if c.role > 0 {
		rate = 0 // a slice's rate is that of the step's result
	}
	perClient := rate / n
	if rate <= 0 && c.st.rate != nil {
		c.f.key = c.base
		c.f.vars[varClient] = c.n
		perClient = float64(c.st.rate.num(&c.f))
	}
	c.every, c.due, c.burst, c.left, c.check = 0, start, 0, 0, start
	c.offered = max(0, perClient)
	if perClient <= 0 {
		return
	}
	// What varies counts as one.
	per := float64(max(c.st.per, 1))
	if !c.st.catchup {
		c.burst = max(1, int64(math.Ceil(perClient/per)))
		return
	}
	c.every = max(int64(per*1e9/perClient), 1)
	c.due = start + int64(float64(c.every)*float64(c.n)/n)
}

// begin starts the client's next operation if there is one.
func (w *worker) begin(c *client, sl *slice, now int64) {
	if !w.advance(c, sl, now) {
		w.active--
	}
}

// nap returns how long there is nothing to do but wait for replies, in nanoseconds; -1
// when that is so until one comes.
func (w *worker) nap(now int64) int64 {
	d := int64(-1)
	if !w.paced {
		return d
	}
	for _, c := range w.clients {
		if left := max(0, c.due-now); c.state == waiting && (d < 0 || left < d) {
			d = left
		}
	}
	return d
}

// wake starts the operations that have become due.
func (w *worker) wake(sl *slice, now int64) {
	for _, c := range w.clients {
		if c.state == waiting && c.due <= now {
			w.begin(c, sl, now)
		}
	}
}

// leave ends a timed slice for the client: who is blocked by it is so no longer. It
// returns false.
func (w *worker) leave(c *client, sl *slice, now int64) bool {
	c.ended = endOfTime / 2
	w.rouse(c, sl, now)
	return false
}

// exhausted reports whether a role's client has done its operations, or those without an
// end of their own have to stop since the others have.
func (c *client) exhausted(sl *slice, now int64) bool {
	switch {
	case c.to == endOfTime:
		return sl.over.Load() != 0
	case c.next < c.to:
		return false
	}
	if sl.open.Add(-1) == 0 {
		sl.over.Store(now)
	}
	return true
}

// isDue reports whether the client may start its next operation by its pace.
func (c *client) isDue(now int64) bool {
	if c.burst == 0 {
		return c.every == 0 || c.due <= now
	}
	if c.left > 0 {
		return true
	}
	if c.due = c.check + int64(time.Second); now-c.check < nearlySecond {
		return false
	}
	c.check, c.left = now, c.burst
	return true
}

// waits reports whether the client's next operation has to wait for another role's.
func (c *client) waits() bool {
	return c.follows != nil && c.ended >= c.follows.ended || c.led != nil && c.ended >= c.led.ended+c.led.lead
}

// rouse lets go on whoever was blocked until the client had ended an operation.
func (w *worker) rouse(c *client, sl *slice, now int64) {
	for _, o := range [2]*client{c.led, c.follows} {
		if o != nil && o.state == blocked {
			w.begin(o, sl, now)
		}
	}
}

// nearlySecond is when, without catching up, a second counts as over: as the insert
// benchmark's clients have it.
const nearlySecond = int64(950 * time.Millisecond)
