package load

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"backslide/lab"
)

// clocked is a Conn that times every exchange by a clock that is not load's, from just
// before a statement is sent until its whole reply was received.
type clocked struct {
	Conn
	t    testing.TB
	sent int64
	took []int64 // nanoseconds
}

func (c *clocked) clock() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		c.t.Fatal(err)
	}
	return ts.Nano()
}

func (c *clocked) SendExecute(stmt int, args []lab.Arg) error {
	c.sent = c.clock()
	return c.Conn.SendExecute(stmt, args)
}

func (c *clocked) Receive() (bool, lab.Reply, error) {
	done, r, err := c.Conn.Receive()
	if done {
		c.took = append(c.took, c.clock()-c.sent)
	}
	return done, r, err
}

// TestLatency has replies delayed by 1 to 20 ms and compares what a slice records with
// what the connections' own clock says: count, mean and longest, which a histogram keeps
// exactly, and quantiles to a bucket. They may differ by 2 µs without the race detector,
// and by the time that a reading of the connections' clock takes, a system call. A host
// may take the CPU away between two clocks' readings, which is no error of either: the
// best of some tries counts.
func TestLatency(t *testing.T) {
	p := mustBind(t, pointText)
	const clients, each = 4, 50
	var meanOff, maxOff time.Duration
	near := near + readingTime(t)
	for try := range 10 {
		r, took := delayed(t, p, clients, clients*each)
		if r.Hist.N() != clients*each || len(took) != clients*each {
			t.Fatalf("%d latencies recorded and %d clocked, want %d", r.Hist.N(), len(took), clients*each)
		}
		slices.Sort(took)
		sum := int64(0)
		for _, d := range took {
			sum += d
		}
		meanOff = (r.Hist.Mean() - time.Duration(sum/int64(len(took)))).Abs()
		maxOff = (r.Hist.Max() - time.Duration(took[len(took)-1])).Abs()
		t.Logf("try %d: mean %s, off by %s; longest %s, off by %s; near is %s", try, r.Hist.Mean(), meanOff, r.Hist.Max(), maxOff, near)
		if meanOff > near || maxOff > near {
			continue
		}
		for _, q := range []float64{0.05, 0.25, 0.5, 0.75, 0.95} {
			// A latency's neighbours in rank bound what may lie between them.
			rank := int(q * float64(len(took)))
			low, high := float64(took[rank-1]-int64(near))*63/64, float64(took[rank]+int64(near))*65/64
			if got := float64(r.Hist.Quantile(q)); got < low || got > high {
				t.Errorf("quantile %g is %g ns, want %g to %g", q, got, low, high)
			}
		}
		return
	}
	t.Errorf("the last try's mean is off by %s, and its longest by %s; want at most %s", meanOff, maxOff, near)
}

// readingTime is how long it usually takes to read the connections' clock.
func readingTime(t *testing.T) time.Duration {
	c := clocked{t: t}
	var took []int64
	last := c.clock()
	for range 1001 {
		now := c.clock()
		took, last = append(took, now-last), now
	}
	slices.Sort(took)
	return time.Duration(took[len(took)/2])
}

// delayed runs a slice against a server that waits 1 to 20 ms before each reply, and
// returns what the connections clocked.
func delayed(t *testing.T, p *Program, clients int, ops int64) (Result, []int64) {
	srv := newFake(t)
	var mu sync.Mutex
	n := 0
	srv.handle = func(int, string) lab.Reply {
		mu.Lock()
		n++
		d := time.Duration(n%20+1) * time.Millisecond
		mu.Unlock()
		time.Sleep(d)
		return lab.Reply{Rows: 1}
	}
	var conns []*clocked
	dial := func(ctx context.Context) (Conn, error) {
		c, err := srv.dial(ctx)
		k := &clocked{Conn: c, t: t, took: make([]int64, 0, ops)}
		mu.Lock()
		defer mu.Unlock()
		conns = append(conns, k)
		return k, err
	}
	s, err := p.Session(context.Background(), Work{Step: "read", Clients: clients, Seed: 7}, dial, Options{Loops: clients})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Slice(context.Background(), SliceSpec{Ops: ops}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	var took []int64
	for _, c := range conns {
		took = append(took, c.took...)
	}
	return r, took
}
