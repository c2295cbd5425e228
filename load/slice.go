package load

import (
	"context"
	"fmt"
	"sort"
	"time"

	"backslide/lab"
)

// SliceSpec is the length of one slice: either a time or a number of operations.
type SliceSpec struct {
	// Seq numbers a timed slice: equal Seq executes equal operations.
	Seq      int
	Discard  time.Duration // before measuring; timed slices only
	Duration time.Duration // of the measured interval; 0: fixed work
	// Ops is fixed work: this many operations over all clients, going on where the last
	// slice of fixed work ended. When the transactions of a step count as several
	// operations, enough of them; when that varies, this many transactions.
	Ops     int64
	Timeout time.Duration // from start to end, then the slice has failed; 0: 60 s over 20 times Duration
	// Rate makes an open loop of it: operations start at this rate per second over all
	// clients, and latency counts from when they should have started. 0: the step's own.
	Rate float64
	// Clock has the server's own clock note the beginning, for Session.ServerTime: it sends
	// statements before the interval.
	Clock bool
}

// Result is what a slice measured.
type Result struct {
	Start   time.Time // of the measured interval
	Wall    float64   // seconds measured
	Ops     int64     // operations that ended in Wall
	Rows    int64     // rows that they returned
	Retries int64     // statements or transactions that were tried again
	Errors  []lab.ErrorCount
	// Hist holds the latency of every transaction, from its first attempt to its end.
	Hist *Histogram
	// ClientUser and ClientSystem are the CPU seconds of this process in the interval.
	ClientUser, ClientSystem float64
	// Whole says that operations were so long, or clients so many, that the interval was made
	// to hold whole ones: Wall is Ops divided by the sum of the clients' rates.
	Whole bool
	// Offered is the rate per second that an open loop asked for; 0: closed loop.
	Offered float64
	// Parts is what each role did, in the order of the step; none for a step without. The
	// operations, rows and latencies above are the first role's.
	Parts []Part
	// Seconds is what happened second by second, for each role or the step itself; none of
	// slices under two seconds.
	Seconds [][]Second
	// Late counts clients whose first operation began when a tenth of the interval was over
	// already: their threads were waiting for a CPU.
	Late int
	// Behind counts operations of an open loop that should have started in the interval
	// and had not ended with it. The rate was not sustained when that is more than a few.
	Behind int64
}

// Part is what one role of a step did in a slice.
type Part struct {
	Role    string
	Ops     int64
	Rows    int64
	Offered float64 // operations per second that its rate asked for; 0: it has none
	Hist    *Histogram
}

// fewOps is how many transactions per client a timed slice needs, for the parts that its
// ends cut off not to matter.
const fewOps = 10

// Slice runs one slice. All clients start together. measuring is called when the measured
// interval begins, from the calling goroutine. A slice is an error, and the session can only be closed,
// when a statement is refused for a reason that the step does not retry, when a connection
// breaks, when ctx ends, or at Timeout.
func (s *Session) Slice(ctx context.Context, spec SliceSpec, measuring func()) (Result, error) {
	r, err := s.parts(ctx, spec, measuring)
	if err != nil {
		return r, fmt.Errorf("step %s: %w", s.st.name, err)
	}
	return r, nil
}

func (s *Session) slice(ctx context.Context, spec SliceSpec, measuring func()) (Result, error) {
	switch {
	case s.broken != nil:
		return Result{}, fmt.Errorf("an earlier slice broke the session: %w", s.broken)
	case s.st.tool != nil:
		return Result{}, fmt.Errorf("it is driven by %s", s.st.tool.Program)
	case len(s.clients) == 0:
		return Result{}, fmt.Errorf("the session is closed")
	case (spec.Ops > 0) == (spec.Duration > 0):
		return Result{}, fmt.Errorf("a slice has either a duration or a number of operations")
	}
	if len(s.st.roles) > 0 && spec.Ops > 0 {
		own := s.st.ended()
		if own == nil || spec.Ops%(own.ops*int64(s.work.Clients)) != 0 {
			return Result{}, fmt.Errorf("%d operations are no multiple of the step's own", spec.Ops)
		}
	}
	if spec.Timeout <= 0 {
		spec.Timeout = 20*spec.Duration + time.Minute
	}
	if err := s.lead(ctx, spec); err != nil {
		s.broken = err
		return Result{}, err
	}
	s.beginClock(spec)
	done := make(chan struct{})
	timeout, cancel := context.WithTimeout(ctx, spec.Timeout)
	defer cancel()
	sl := s.newSlice(timeout, spec)
	for _, w := range s.workers {
		w.in <- sl
	}
	sl.ready.Wait() // every worker runs and waits for begin

	early := !sl.timed || s.typical > int64(spec.Discard)
	var m meter
	if early {
		measuring()
		m.start()
	}
	start := s.now()
	s.place(sl, spec, start, early)
	sl.begin.Store(true)
	s.gong.ring()
	go func() {
		sl.finished.Wait()
		close(done)
	}()
	if !early {
		s.until(timeout, sl.t0, done)
		m.start()
		measuring()
	}
	if sl.timed {
		s.until(timeout, sl.t1, done)
		m.stop()
	}
	select {
	case <-done:
	case <-timeout.Done():
		sl.fail(s.late(ctx, spec))
		<-done
	}
	if !sl.timed {
		m.stop()
	}
	if sl.err != nil {
		s.broken = sl.err
		return Result{}, sl.err
	}
	return s.result(sl, spec, &m)
}

// late says why a slice did not end by itself.
func (s *Session) late(ctx context.Context, spec SliceSpec) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return fmt.Errorf("no end after %s with %d clients; a server that hangs, or operations that are too long", spec.Timeout, s.work.Clients)
}

func (s *Session) newSlice(ctx context.Context, spec SliceSpec) *slice {
	sl := &slice{timed: spec.Duration > 0, static: s.st.static}
	sl.roles = !sl.timed && len(s.st.roles) > 0
	sl.first = int64(spec.Seq) << 32
	sl.visit = func(c *client) error { return c.visit(ctx, s.dial) }
	sl.bell = s.bell
	s.bell.mute()
	sl.ready.Add(len(s.workers))
	sl.finished.Add(len(s.workers))
	return sl
}

// place puts the slice on the time line, from stamp start on, and resets all tallies.
func (s *Session) place(sl *slice, spec SliceSpec, start int64, early bool) {
	sl.t0, sl.t1 = start, endOfTime
	if sl.timed {
		if !early {
			sl.t0 += int64(spec.Discard)
		}
		sl.t1 = sl.t0 + int64(spec.Duration)
	} else {
		sl.ops = spec.Ops
		from := s.st.transactions(s.cursor)
		s.cursor += spec.Ops
		sl.next.Store(from)
		sl.end = s.st.transactions(s.cursor)
	}
	for _, r := range s.series {
		r.reset()
	}
	for _, w := range s.workers {
		w.reset(sl, start)
	}
	for _, w := range s.workers {
		w.paced = false
		for _, c := range w.clients {
			c.pace(s, spec.Rate, start)
			w.paced = w.paced || c.offered > 0
		}
	}
}

// until waits for a stamp, or the end of ctx or of the slice.
func (s *Session) until(ctx context.Context, stamp int64, done chan struct{}) {
	t := time.NewTimer(time.Duration(stamp - s.now()))
	defer t.Stop()
	select {
	case <-t.C:
	case <-done:
	case <-ctx.Done():
	}
}

// result adds up what the clients did.
func (s *Session) result(sl *slice, spec SliceSpec, m *meter) (Result, error) {
	r := Result{Start: s.base.Add(time.Duration(sl.t0)), Hist: new(Histogram)}
	counts := map[int]int64{}
	for _, w := range s.workers {
		r.Hist.Merge(&w.parts[0].hist)
		r.Retries += w.retries
		for _, e := range w.errs {
			counts[e.Code] += e.Count
		}
	}
	for code, n := range counts {
		r.Errors = append(r.Errors, lab.ErrorCount{Code: code, Count: n})
	}
	sort.Slice(r.Errors, func(i, j int) bool { return r.Errors[i].Code < r.Errors[j].Code })
	done, fewest := int64(0), int64(endOfTime)
	end := sl.t0
	for _, c := range s.clients {
		if c.to < endOfTime || !sl.roles {
			end = max(end, c.last)
		}
		if c.role > 0 {
			continue
		}
		r.Ops += c.ops
		r.Rows += c.rowsDone
		done += c.done
		fewest = min(fewest, c.done)
		if sl.timed && c.offered == 0 && c.from > sl.t0+int64(spec.Duration)/10 {
			r.Late++
		}
		r.Offered += c.offered
		if c.every > 0 && sl.timed {
			r.Behind += c.behind(sl)
		}
	}
	r.Wall = float64(spec.Duration) / 1e9
	if !sl.timed {
		r.Wall = float64(end-sl.t0) / 1e9
	}
	r.Parts = s.roleParts()
	r.Seconds = s.seconds(r.Wall)
	if sl.timed && r.Offered == 0 && (done < fewOps*int64(s.work.Clients) || fewest == 0) {
		s.whole(&r, sl, m)
	}
	r.ClientUser, r.ClientSystem = m.user, m.system
	if n := r.Hist.N(); n > 0 {
		s.typical = int64(r.Hist.Mean())
	}
	if sl.roles {
		return r, nil // its end is the writers', and that nothing was read meanwhile is a result
	}
	if r.Hist.N() == 0 || r.Wall <= 0 {
		return r, fmt.Errorf("no operation ended in %s; lengthen the slice", spec.Duration)
	}
	return r, nil
}

// roleParts adds up what each role did.
func (s *Session) roleParts() []Part {
	var out []Part
	for i, r := range s.st.roles {
		p := Part{Role: r.name[len(s.st.name)+1:], Hist: new(Histogram)}
		for _, c := range s.clients {
			if c.role == i {
				p.Ops += c.ops
				p.Rows += c.rowsDone
				p.Offered += c.offered
			}
		}
		for _, w := range s.workers {
			p.Hist.Merge(&w.parts[i].hist)
		}
		out = append(out, p)
	}
	return out
}

// whole makes r count whole operations only: of each client those from the first to the
// last that it ended, the one that was under way at the end of the interval included. The
// time of a client whose thread came late counts from the interval's beginning: what it
// did in a rush then is not its rate.
func (s *Session) whole(r *Result, sl *slice, m *meter) {
	r.Whole, r.Ops, r.Rows = true, 0, 0
	rate, raw := 0.0, int64(0)
	for _, c := range s.clients {
		if c.role > 0 {
			continue
		}
		ops, n := c.ops, c.done
		r.Rows += c.rowsDone
		if c.tail >= 0 {
			ops, n = ops+c.tailOps, n+1
			r.Rows += c.tailRows
			r.Hist.add(c.tail)
		}
		r.Ops += ops
		raw += n
		if from := min(c.from, sl.t0); n > 0 && c.last > from {
			rate += float64(n) / (float64(c.last-from) / 1e9)
		}
	}
	r.Wall = 0
	if rate > 0 {
		r.Wall = float64(raw) / rate
	}
	m.stop() // the interval goes on to the end of the last
}

// behind returns how many of the client's operations were due in the interval and had
// not ended with it.
func (c *client) behind(sl *slice) int64 {
	n := int64(0)
	if c.due < sl.t1 {
		n = (sl.t1-c.due-1)/c.every + 1
	}
	if c.tail >= 0 {
		n++
	}
	return n
}

// meter reads the CPU time of this process.
type meter struct {
	user0, system0 float64
	user, system   float64 // from start to the last stop
}

func (m *meter) start() { m.user0, m.system0 = processCPU() }

func (m *meter) stop() {
	u, s := processCPU()
	m.user, m.system = u-m.user0, s-m.system0
}
