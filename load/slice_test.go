package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"backslide/lab"
)

const pointText = `
name = "point"
[params]
rows = 1000
[[step]]
name = "read"
group = "point"
read = true
sql = "SELECT c FROM t WHERE id = :id"
args.id = "uniform(1, $rows)"
[[step]]
name = "write"
group = "write"
sql = "UPDATE t SET c = c + 1 WHERE id = :id"
args.id = "serial"
[[step]]
name = "trx"
group = "write"
begin = true
counts = "statements"
[[step.statement]]
sql = "UPDATE t SET c = 1 WHERE id = :id"
repeat = 2
args.id = "uniform(1, $rows)"
`

func open(t testing.TB, s *fakeServer, p *Program, step string, clients, loops int) *Session {
	t.Helper()
	sess, err := p.Session(context.Background(), Work{Step: step, Clients: clients, Seed: 7}, s.dial, Options{Loops: loops})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sess.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return sess
}

func TestTimedSlice(t *testing.T) {
	for _, c := range []struct{ clients, loops int }{{1, 1}, {4, 4}, {4, 1}, {5, 2}} {
		t.Run(fmt.Sprintf("%d clients, %d loops", c.clients, c.loops), func(t *testing.T) {
			srv := newFake(t)
			sess := open(t, srv, mustBind(t, pointText), "read", c.clients, c.loops)
			measuring := 0
			spec := SliceSpec{Discard: 5 * time.Millisecond, Duration: 50 * time.Millisecond}
			r, err := sess.Slice(context.Background(), spec, func() { measuring++ })
			if err != nil {
				t.Fatal(err)
			}
			sent := srv.n.Load()
			if measuring != 1 || r.Ops < 20 || r.Ops > sent || r.Rows != r.Ops || r.Hist.N() != r.Ops {
				t.Errorf("measuring %d, ops %d of %d, rows %d, latencies %d", measuring, r.Ops, sent, r.Rows, r.Hist.N())
			}
			if !r.Whole && r.Wall != 0.05 {
				t.Errorf("wall = %g s", r.Wall)
			}
			if max := r.Hist.Max(); max > 2*time.Second {
				t.Errorf("longest latency %s", max)
			}
		})
	}
}

// TestFixedWork cuts the same work into slices in different ways: it has to come to the
// same statements.
func TestFixedWork(t *testing.T) {
	p := mustBind(t, pointText)
	statements := func(step string, clients, loops int, cuts ...int64) map[string]int {
		srv := newFake(t)
		srv.record()
		sess := open(t, srv, p, step, clients, loops)
		total := int64(0)
		for _, n := range cuts {
			r, err := sess.Slice(context.Background(), SliceSpec{Ops: n}, func() {})
			if err != nil {
				t.Fatal(err)
			}
			total += r.Ops
		}
		want := int64(0)
		for _, n := range cuts {
			want += n
		}
		if step == "trx" {
			want = (want + 3) / 4 * 4
		}
		if total != want {
			t.Errorf("%s %d %v: %d operations, want %d", step, clients, cuts, total, want)
		}
		out := map[string]int{}
		for _, sql := range srv.logged() {
			out[sql]++
		}
		return out
	}
	for _, step := range []string{"write", "trx"} {
		for _, clients := range []int{1, 3} {
			a := statements(step, clients, 1, 100)
			for _, cuts := range [][]int64{{50, 50}, {33, 34, 33}, {1, 99}} {
				if b := statements(step, clients, clients, cuts...); fmt.Sprint(a) != fmt.Sprint(b) {
					t.Errorf("%s with %d clients, cut as %v: other statements\n%v\n%v", step, clients, cuts, a, b)
				}
			}
		}
	}
	if a := statements("trx", 2, 2, 40); a["BEGIN"] != 10 || a["COMMIT"] != 10 {
		t.Errorf("40 statements in transactions of 4: %d BEGIN, %d COMMIT", a["BEGIN"], a["COMMIT"])
	}
}

func TestSameSeqSameOperations(t *testing.T) {
	p := mustBind(t, pointText)
	run := func(seq int) []string {
		srv := newFake(t)
		srv.record()
		sess := open(t, srv, p, "read", 1, 1)
		if _, err := sess.Slice(context.Background(), SliceSpec{Seq: seq, Duration: 20 * time.Millisecond}, func() {}); err != nil {
			t.Fatal(err)
		}
		return srv.logged()
	}
	a, b, c := run(3), run(3), run(4)
	n := min(len(a), len(b), len(c), 20)
	if n < 5 {
		t.Fatalf("only %d operations", n)
	}
	if fmt.Sprint(a[:n]) != fmt.Sprint(b[:n]) {
		t.Errorf("two slices with one Seq differ:\n%v\n%v", a[:n], b[:n])
	}
	if fmt.Sprint(a[:n]) == fmt.Sprint(c[:n]) {
		t.Errorf("slices 3 and 4 execute the same operations")
	}
}

func TestRefused(t *testing.T) {
	srv := newFake(t)
	var n atomic.Int64
	srv.handle = func(_ int, sql string) lab.Reply {
		if n.Add(1) == 10 {
			return lab.Reply{Code: 1054, Message: "Unknown column 'c'"}
		}
		return lab.Reply{Rows: 1}
	}
	sess := open(t, srv, mustBind(t, pointText), "read", 2, 2)
	_, err := sess.Slice(context.Background(), SliceSpec{Duration: 5 * time.Second}, func() {})
	var refused *StatementError
	if !errors.As(err, &refused) || refused.Reply.Code != 1054 || !strings.HasPrefix(refused.SQL, "SELECT c FROM t WHERE id = ") || strings.Contains(refused.SQL, "?") {
		t.Fatalf("got %v, want error 1054 with the statement", err)
	}
	if _, err := sess.Slice(context.Background(), SliceSpec{Duration: time.Second}, func() {}); err == nil {
		t.Error("a broken session runs another slice")
	}
}

func TestRetries(t *testing.T) {
	srv := newFake(t)
	srv.record()
	inner := srv.handle
	var n atomic.Int64
	srv.handle = func(client int, sql string) lab.Reply {
		inner(client, sql)
		// every fourth update fails once, after 20 ms
		if strings.HasPrefix(sql, "UPDATE") && n.Add(1)%4 == 0 {
			time.Sleep(20 * time.Millisecond)
			return lab.Reply{Code: 1213, Message: "Deadlock found"}
		}
		return lab.Reply{}
	}
	for _, c := range []struct {
		step              string
		ops               int64
		retries, rollback int64
	}{
		// Updates 4, 8 and 12 fail. A lone update is sent again: 12 updates for 9 operations.
		{"write", 9, 2, 0},
		// In transactions of two updates, update 4 ends a transaction that starts again: T1
		// is updates 1 and 2, T2 3 and 4, again 5 and 6, T3 7 and 8, again 9 and 10.
		{"trx", 12, 2, 2},
	} {
		n.Store(0)
		sess := open(t, srv, mustBind(t, pointText), c.step, 1, 1)
		before := len(srv.logged())
		r, err := sess.Slice(context.Background(), SliceSpec{Ops: c.ops}, func() {})
		if err != nil {
			t.Fatal(err)
		}
		rollbacks := int64(0)
		for _, sql := range srv.logged()[before:] {
			if sql == "ROLLBACK" {
				rollbacks++
			}
		}
		if r.Ops != c.ops || r.Retries != c.retries || rollbacks != c.rollback {
			t.Errorf("%s: ops %d, retries %d, rollbacks %d, want %+v", c.step, r.Ops, r.Retries, rollbacks, c)
		}
		if len(r.Errors) != 1 || r.Errors[0] != (lab.ErrorCount{Code: 1213, Count: c.retries}) {
			t.Errorf("%s: errors %v", c.step, r.Errors)
		}
		if r.Hist.Max() < 20*time.Millisecond {
			t.Errorf("%s: longest latency %s leaves out the first attempt", c.step, r.Hist.Max())
		}
	}
}

// TestLongOperations has operations of 40 ms in slices of 50 ms: whole ones are measured,
// so the rate is that of the operations.
func TestLongOperations(t *testing.T) {
	srv := newFake(t)
	srv.handle = func(int, string) lab.Reply { time.Sleep(40 * time.Millisecond); return lab.Reply{Rows: 1} }
	sess := open(t, srv, mustBind(t, pointText), "read", 2, 1)
	for _, d := range []time.Duration{50 * time.Millisecond, 10 * time.Millisecond} {
		r, err := sess.Slice(context.Background(), SliceSpec{Discard: 5 * time.Millisecond, Duration: d}, func() {})
		if err != nil {
			t.Fatal(err)
		}
		// Two clients, each 25 per second when the host is idle. When it is not, operations
		// take longer, and the rate has to go with how long they took.
		rate, most := float64(r.Ops)/r.Wall, 2/r.Hist.Mean().Seconds()
		if !r.Whole || rate > 50.5 || rate < most/2 || r.Hist.N() != r.Ops {
			t.Errorf("%s: whole %v, %d operations in %g s, %g per second of %s; want 50, or %g", d, r.Whole, r.Ops, r.Wall, rate, r.Hist.Mean(), most)
		}
	}
}

// TestLateClients has a client whose thread came when nine tenths of a second were over,
// and then did as much in a rush as the other in all of it: that is not its rate.
func TestLateClients(t *testing.T) {
	const ms = int64(time.Millisecond)
	sl := &slice{timed: true, t0: 1000 * ms, t1: 2000 * ms}
	busy := tally{from: 990 * ms, last: 2000 * ms, done: 100, ops: 100, tail: 10 * ms, tailOps: 1}
	late := tally{from: 1900 * ms, last: 2001 * ms, done: 100, ops: 100, tail: ms, tailOps: 1}
	never := tally{from: 2010 * ms, last: 2020 * ms, tail: 10 * ms, tailOps: 1}
	s := &Session{st: &step{}, work: Work{Clients: 3}}
	w := &worker{s: s, parts: make([]pulse, 1)}
	for _, c := range []tally{busy, late, never} {
		w.clients = append(w.clients, &client{tally: c, to: endOfTime})
	}
	s.clients, s.workers, s.series = w.clients, []*worker{w}, []*series{new(series)}
	w.parts[0].hist.add(ms)
	r, err := s.result(sl, SliceSpec{Duration: time.Second}, &meter{})
	if err != nil {
		t.Fatal(err)
	}
	// 101 operations in 1.01 s, 101 in 1.001 s, and 1 in 1.02 s
	if rate := float64(r.Ops) / r.Wall; !r.Whole || r.Ops != 203 || rate < 201.8 || rate > 201.9 {
		t.Errorf("whole %t, %d operations in %g s, %g per second, want 203 and 201.9", r.Whole, r.Ops, r.Wall, rate)
	}
	if r.Late != 2 {
		t.Errorf("%d clients were late, want 2", r.Late)
	}
}

// TestOpenLoop stalls the server for 200 ms of a second at 200 per second: 40 operations
// come due meanwhile, and their latencies have to say so.
func TestOpenLoop(t *testing.T) {
	srv := newFake(t)
	base := time.Now()
	var began atomic.Int64
	gate := func(int, string) lab.Reply {
		if since := time.Since(base) - time.Duration(began.Load()); since > 300*time.Millisecond && since < 500*time.Millisecond {
			time.Sleep(500*time.Millisecond - since)
		}
		return lab.Reply{Rows: 1}
	}
	srv.handle = gate
	sess := open(t, srv, mustBind(t, pointText), "read", 4, 1)
	began.Store(int64(time.Since(base)))
	spec := SliceSpec{Duration: time.Second, Rate: 200}
	r, err := sess.Slice(context.Background(), spec, func() {})
	if err != nil {
		t.Fatal(err)
	}
	if r.Offered < 199.9 || r.Offered > 200.1 || r.Ops < 190 || r.Ops > 200 || r.Behind > 8 {
		t.Errorf("offered %g, done %d, behind %d", r.Offered, r.Ops, r.Behind)
	}
	if late := r.Hist.Quantile(0.9); late < 60*time.Millisecond {
		t.Errorf("90 %% of latencies are below %s; a stall of 200 ms hides", late)
	}
	spec.Rate = 0
	began.Store(int64(time.Since(base)))
	if r, err = sess.Slice(context.Background(), spec, func() {}); err != nil {
		t.Fatal(err)
	}
	if late := r.Hist.Quantile(0.9); r.Offered != 0 || late > 60*time.Millisecond {
		t.Errorf("closed loop: offered %g, 90 %% of latencies below %s", r.Offered, late)
	}
}

// TestNotSustained asks for more than the server does.
func TestNotSustained(t *testing.T) {
	srv := newFake(t)
	srv.handle = func(int, string) lab.Reply { time.Sleep(10 * time.Millisecond); return lab.Reply{} }
	sess := open(t, srv, mustBind(t, pointText), "read", 1, 1)
	r, err := sess.Slice(context.Background(), SliceSpec{Duration: 300 * time.Millisecond, Rate: 1000}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	if r.Ops > 30 || r.Behind < 250 || r.Ops+r.Behind < 295 || r.Ops+r.Behind > 305 {
		t.Errorf("300 operations were due, %d done, %d behind", r.Ops, r.Behind)
	}
}

func TestNoAllocation(t *testing.T) {
	for _, loops := range []int{1, 3} {
		srv := newFake(t)
		sess := open(t, srv, mustBind(t, pointText), "read", 3, loops)
		warm := SliceSpec{Ops: 300}
		if _, err := sess.Slice(context.Background(), warm, func() {}); err != nil {
			t.Fatal(err)
		}
		ops := int64(3000)
		// testing.AllocsPerRun would leave one P, which the waiting thread keeps.
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := sess.Slice(context.Background(), SliceSpec{Ops: ops}, func() {}); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		// what a slice itself needs: channels, timers, a result
		if allocs := after.Mallocs - before.Mallocs; allocs > 100 {
			t.Errorf("%d loops: %d allocations in a slice of %d operations", loops, allocs, ops)
		}
	}
}

// TestIdle holds sessions open between slices: they may use no CPU. What the runtime does
// behind a slice is over after a while, so the least of some intervals counts.
func TestIdle(t *testing.T) {
	srv := newFake(t)
	p := mustBind(t, pointText)
	sess := open(t, srv, p, "read", 8, 8)
	open(t, srv, p, "read", 8, 1)
	if _, err := sess.Slice(context.Background(), SliceSpec{Duration: 10 * time.Millisecond}, func() {}); err != nil {
		t.Fatal(err)
	}
	least := time.Hour
	for range 5 {
		var before, after syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &before)
		time.Sleep(200 * time.Millisecond)
		syscall.Getrusage(syscall.RUSAGE_SELF, &after)
		least = min(least, time.Duration(after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano()))
	}
	if least > 20*time.Millisecond {
		t.Errorf("idle sessions used %s of CPU in 200ms at the least", least)
	}
}

// TestSwitching alternates between two sessions.
func TestSwitching(t *testing.T) {
	srv := newFake(t)
	p := mustBind(t, pointText)
	a, b := open(t, srv, p, "read", 4, 4), open(t, srv, p, "read", 4, 4)
	var gaps []time.Duration
	last := time.Now()
	for i := range 20 {
		sess := a
		if i%2 == 1 {
			sess = b
		}
		gap := time.Duration(0)
		if _, err := sess.Slice(context.Background(), SliceSpec{Seq: i, Duration: 5 * time.Millisecond}, func() { gap = time.Since(last) }); err != nil {
			t.Fatal(err)
		}
		last = time.Now()
		if i > 1 {
			gaps = append(gaps, gap)
		}
	}
	slow := 0
	for _, g := range gaps {
		if g > 10*time.Millisecond {
			slow++
		}
	}
	if slow > len(gaps)/2 {
		t.Errorf("switching sides took %v", gaps)
	}
}
