package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"backslide/extern"
	"backslide/lab"
	"backslide/proc"
	"backslide/run"
)

// toolSession is a run.Session whose slices are runs of another tool, each a process of
// its own.
type toolSession struct {
	run.Session // of our client, which has settled the server and holds side sessions open
	toolDriver
	work  run.Work
	cpus  []int
	guard *proc.Guard
	near  bool // our client would be co-located

	rate  float64       // operations per second of the last run; mysqlslap knows no time
	start time.Duration // CPU that mysqlslap costs to start and end; 0: not measured yet
}

// Notes is run.Session's.
func (s *toolSession) Notes() []string {
	notes := s.Session.Notes()
	if s.near {
		notes = append(notes, s.Program+" is not co-located: its server threads run where the kernel puts them")
	}
	return notes
}

// Slice is run.Session's. Times are rounded to whole seconds, the measured one up to one
// at least, so a short discard is none. What a tool does before its clock starts is not
// measured: it connects and prepares.
func (s *toolSession) Slice(ctx context.Context, spec run.Spec, measuring func()) (run.Outcome, error) {
	if spec.Timeout > 0 {
		var cancel context.CancelFunc
		// A tool starts anew for each slice, and what it rounds up takes its time too.
		timeout := spec.Timeout + 2*toolGrain
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no end after %s; a server that hangs, or operations that are too long", timeout))
		defer cancel()
	}
	if spec.Rate > 0 {
		return run.Outcome{}, fmt.Errorf("%s cannot be paced", s.Program)
	}
	a := amount{ops: spec.Ops, seed: s.seed(spec.Seq)}
	if spec.Ops == 0 {
		a.time = max(toolGrain, spec.Duration.Round(toolGrain))
		if err := s.discard(ctx, &a, spec.Discard.Round(toolGrain)); err != nil {
			return run.Outcome{}, err
		}
	}
	out, err := s.measure(ctx, a, measuring)
	// mysqlslap's rate was that of its last run. One that was over far too soon is discarded.
	for again := 0; again < 2 && err == nil && a.time > 0 && s.Program == lab.Mysqlslap && out.Wall < a.time.Seconds()/2; again++ {
		out, err = s.measure(ctx, a, measuring)
	}
	return out, err
}

// discard runs the unmeasured beginning of a slice, or leaves it to the tool.
func (s *toolSession) discard(ctx context.Context, a *amount, long time.Duration) error {
	switch {
	case long == 0:
		return nil
	case s.Program == lab.Sysbench && s.version.AtLeast(1, 1):
		a.warmup = long
		return nil
	}
	first := *a
	first.time = long
	_, err := s.measure(ctx, first, func() {})
	return err
}

// measure runs the tool once. Whatever makes its figures unusable is an error.
func (s *toolSession) measure(ctx context.Context, a amount, measuring func()) (run.Outcome, error) {
	if s.Program == lab.Mysqlslap {
		if err := s.prepare(ctx, &a); err != nil {
			return run.Outcome{}, err
		}
	}
	e, err := s.execute(ctx, a, measuring)
	if err != nil {
		return run.Outcome{}, err
	}
	f, mean, p95, err := s.parse(a, e.output)
	if err != nil {
		return run.Outcome{}, err
	}
	switch {
	case f.Err != "":
		return run.Outcome{}, errors.New(f.Err)
	case e.began.IsZero():
		return run.Outcome{}, fmt.Errorf("%s was done before it could be watched; ask for more operations", s.Program)
	}
	s.rate = float64(f.Ops) / f.Wall
	return run.Outcome{
		Start: e.began, Wall: f.Wall, Ops: f.Ops, Latency: mean, P95: p95, Retries: f.Retries, Errors: f.Errors, Warnings: f.Warnings,
		ClientUser: e.user, ClientSys: e.system, Apart: true,
	}, nil
}

// prepare finds out what mysqlslap costs to start, and makes a number of queries of a
// time, for it knows none.
func (s *toolSession) prepare(ctx context.Context, a *amount) error {
	if s.start == 0 {
		idle := *s
		idle.Query, idle.Options = "DO 0", nil
		e, err := idle.execute(ctx, amount{ops: int64(s.clients)}, func() {})
		if err != nil {
			return err
		}
		s.start = time.Duration((e.user + e.system) * float64(time.Second))
	}
	if a.time == 0 {
		return nil
	}
	clients := int64(s.clients)
	for n := clients; s.rate == 0; n *= 10 {
		try := amount{ops: n}
		e, err := s.execute(ctx, try, func() {})
		if err != nil {
			return err
		}
		r, err := s.slap(try).Parse(e.output)
		switch {
		case err != nil:
			return err
		case r.Invalid != "":
			return errors.New(r.Invalid)
		case len(r.Rows) == 1 && r.Rows[0].Avg >= 0.1:
			s.rate = float64(n) / r.Rows[0].Avg
		case n > math.MaxInt32:
			return fmt.Errorf("%d queries take no time", n)
		}
	}
	a.ops = max(1, int64(s.rate*a.time.Seconds())/clients) * clients
	a.time = 0
	return nil
}

// ended is what a run of a tool left, from when it began to measure.
type ended struct {
	output       extern.Output
	began        time.Time // zero: it was over before that was seen
	user, system float64   // CPU seconds
}

// execute runs the tool to its end. measuring is called when its clock starts, as far as
// that can be seen from outside, unless it fails before.
func (s *toolSession) execute(ctx context.Context, a amount, measuring func()) (e ended, err error) {
	args, err := s.args(a)
	if err != nil {
		return e, err
	}
	spec := proc.Spec{Name: s.Program, Args: args, Env: s.slap(a).Env(os.Environ()), CPUs: s.cpus, Guard: s.guard}
	out, errs := newTranscript(""), newTranscript("")
	if s.Program == lab.Sysbench {
		spec.Env = s.sysbench(a).Env(os.Environ())
		out = newTranscript("Threads started!")
	}
	spec.Stdout, spec.Stderr = out, errs
	p, err := proc.Start(spec)
	if err != nil {
		return e, err
	}
	defer p.Kill()
	before := s.start
	if out.wait(ctx, p, a.warmup) {
		if s.Program == lab.Sysbench {
			before, err = proc.CPUTime(p.PID())
		}
		if err == nil { // otherwise it has ended already
			e.began = time.Now()
			measuring()
		}
	}
	if err := p.Wait(ctx); err != nil && ctx.Err() != nil {
		return e, context.Cause(ctx)
	}
	stdout, all := out.text()
	stderr, allErrs := errs.text()
	if !all || !allErrs {
		return e, fmt.Errorf("%s printed more than %s, which nobody reads", s.Program, size(maxTranscript))
	}
	e.output = extern.Output{Stdout: stdout, Stderr: stderr, Exit: extern.Exit(p.Err())}
	// The kernel does not tell the two parts of what came before.
	user, system := p.Times()
	if all := (user + system).Seconds(); all > 0 {
		rest := max(0, all-before.Seconds()) / all
		e.user, e.system = user.Seconds()*rest, system.Seconds()*rest
	}
	return e, nil
}

// maxTranscript bounds what is kept of a tool's output, in bytes.
const maxTranscript = 4 << 20

// transcript keeps what a tool prints, and says when a mark was among it.
type transcript struct {
	mark []byte
	seen chan struct{} // closed when it was

	mu   sync.Mutex // guards the fields below
	b    bytes.Buffer
	over bool // more was printed than is kept
}

// newTranscript waits for a mark; empty: it is there at once.
func newTranscript(mark string) *transcript {
	t := &transcript{mark: []byte(mark), seen: make(chan struct{})}
	if mark == "" {
		close(t.seen)
	}
	return t
}

// Write implements io.Writer. It never fails, so that the tool is not held up.
func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b.Write(p[:min(len(p), maxTranscript-t.b.Len())])
	t.over = t.over || t.b.Len() == maxTranscript
	select {
	case <-t.seen:
	default:
		if bytes.Contains(t.b.Bytes(), t.mark) {
			close(t.seen)
		}
	}
	return len(p), nil
}

// text returns what was printed so far, and false if that was more than is kept.
func (t *transcript) text() (io.Reader, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.NewReader(t.b.Bytes()), !t.over
}

// wait waits for the mark and then for a time more. It returns false when the tool or ctx
// ends before.
func (t *transcript) wait(ctx context.Context, p *proc.Process, more time.Duration) bool {
	select {
	case <-t.seen:
	case <-ctx.Done():
		return false
	case <-p.Done(): // everything that it printed is here
		select {
		case <-t.seen:
		default:
			return false
		}
	}
	if more == 0 {
		return true
	}
	timer := time.NewTimer(more)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.Done():
	case <-ctx.Done():
	}
	return false
}
