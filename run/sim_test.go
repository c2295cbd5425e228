package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"backslide/lab"
)

// lot is a whole simulated laboratory: servers that remember which operations they have
// executed, a client that counts, a store in memory. Nothing takes time.
type lot struct {
	t      *testing.T
	mu     sync.Mutex // servers start and end side by side
	slices map[lab.SliceKey]lab.Slice
	order  []lab.SliceKey
	events Events
	noted  []string
	sides  map[lab.Variant]int
	ended  bool

	up        int
	mostUp    int
	onOutcome func(*Outcome)
	used      lab.Usage
	onSlice   func(n int, v lab.Variant, spec Spec) error // may fail the nth slice
	dies      func(v lab.Variant, spec Spec) bool         // whether the server ends by itself behind a slice
	onStart   func(v lab.Variant) error
	onRate    func(spec Spec, step string, v lab.Variant) float64 // operations per second; nil: 10,000
	notes     func(step string, v lab.Variant) []string           // of sessions
	taken     int
	observed  map[lab.SliceKey]string // what data a slice found
}

func newLot(t *testing.T) *lot {
	return &lot{t: t, slices: map[lab.SliceKey]lab.Slice{}, sides: map[lab.Variant]int{}, observed: map[lab.SliceKey]string{}}
}

func (l *lot) Init(_ context.Context, v lab.Variant, dir string) error {
	return os.MkdirAll(dir, 0o700)
}

func (l *lot) Clone(_ context.Context, from, to string) error {
	if _, err := os.Stat(from); err != nil {
		return err
	}
	return os.MkdirAll(to, 0o700)
}

func (l *lot) DataKey(v lab.Variant) string { return "data-" + v.Build + "-0000" }

func (l *lot) Volatile(v lab.Variant) bool { return v.Engine == "MEMORY" }

func (l *lot) Start(_ context.Context, v lab.Variant, dir string, watch lab.Instrument) (Server, error) {
	if l.onStart != nil {
		if err := l.onStart(v); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up++
	l.mostUp = max(l.mostUp, l.up)
	return &simServer{lot: l, v: v, watch: watch, died: make(chan struct{})}, nil
}

type simServer struct {
	lot    *lot
	v      lab.Variant
	watch  lab.Instrument // what it was started for
	died   chan struct{}
	killed bool
	frozen bool
	well   bool   // it ended with exit status 0
	data   string // what has been written, in order
}

func (s *simServer) PID() int { return 1 }

func (s *simServer) Socket() string { return fmt.Sprintf("%p", s) }

func (s *simServer) Ready() time.Time { return time.Now() }

func (s *simServer) Died() <-chan struct{} { return s.died }

func (s *simServer) Err() error {
	if s.well {
		return nil
	}
	return errors.New("signal: killed; log: gone")
}

func (s *simServer) Serving() []int { return nil }

func (s *simServer) Freeze() error {
	if s.killed {
		return errors.New("freeze: it has ended")
	}
	s.frozen = true
	return nil
}

func (s *simServer) Thaw() error { s.frozen = false; return nil }

func (s *simServer) Stop(context.Context) error { s.Kill(); return nil }

func (s *simServer) Side(context.Context) (lab.Side, error) {
	return lab.Side{Settings: map[string]string{"a": "1"}}, nil
}

func (s *simServer) Kill() {
	s.lot.mu.Lock()
	defer s.lot.mu.Unlock()
	if !s.killed {
		s.killed = true
		s.lot.up--
	}
}

type simClient struct {
	lot     *lot
	servers map[string]*simServer
}

func (c *simClient) PID() int { return 2 }

func (c *simClient) Load(_ context.Context, v lab.Variant, socket string, _ func(int64, int64)) error {
	return nil
}

func (c *simClient) Open(_ context.Context, v lab.Variant, socket string, w Work) (Session, error) {
	s := c.servers[socket]
	if s.killed {
		return nil, errors.New("connection refused")
	}
	return &simSession{c: c, s: s, w: w}, nil
}

type simSession struct {
	c *simClient
	s *simServer
	w Work
}

func (x *simSession) Close() error { return nil }

func (x *simSession) Notes() []string {
	if x.c.lot.notes == nil {
		return nil
	}
	return x.c.lot.notes(x.w.Level.Step.Name, x.s.v)
}

func (x *simSession) ServerTime(context.Context) (lab.Reading, string, error) {
	return lab.Reading{}, "", nil
}

func (x *simSession) Connections() Connections {
	return Connections{IDs: make([]uint32, x.w.Level.Clients)}
}

func (x *simSession) Slice(ctx context.Context, spec Spec, measuring func()) (Outcome, error) {
	l := x.c.lot
	if err := context.Cause(ctx); err != nil {
		return Outcome{}, err
	}
	if x.s.frozen {
		l.t.Error("a slice on a frozen server")
	}
	if x.s.killed {
		return Outcome{}, errors.New("server went away")
	}
	l.taken++
	if l.onSlice != nil {
		if err := l.onSlice(l.taken, x.s.v, spec); err != nil {
			return Outcome{}, err
		}
	}
	measuring()
	ops := int64(1000)
	if spec.Ops > 0 {
		ops = spec.Ops
		x.s.data += strings.Repeat(x.w.Level.Step.Name, int(ops))
	}
	out := Outcome{Start: time.Now(), Wall: 0.1, Ops: ops, Hist: []byte(x.s.data)}
	if l.onRate != nil {
		out.Wall = float64(ops) / l.onRate(spec, x.w.Level.Step.Name, x.s.v)
	}
	if l.onOutcome != nil {
		l.onOutcome(&out)
	}
	if l.dies != nil && l.dies(x.s.v, spec) {
		x.s.Kill()
		x.s.well = x.s.v.Build == "c"
		close(x.s.died)
	}
	return out, nil
}

func (l *lot) SetSide(_ context.Context, _ int64, v lab.Variant, _ lab.Side) error {
	l.sides[v]++
	return nil
}

func (l *lot) AddSlice(_ context.Context, _ int64, s lab.Slice) error {
	if _, ok := l.slices[s.SliceKey]; ok {
		l.t.Errorf("slice stored twice: %+v", s.SliceKey)
	}
	l.slices[s.SliceKey] = s
	l.order = append(l.order, s.SliceKey)
	l.observed[s.SliceKey] = string(s.Hist)
	return nil
}

func (l *lot) Slices(context.Context, int64) ([]lab.Slice, error) {
	var out []lab.Slice
	for _, k := range l.order {
		out = append(out, kept([]lab.Slice{l.slices[k]})...)
	}
	return out, nil
}

func (l *lot) AddEvent(_ context.Context, _ int64, block int, v lab.Variant, text string) error {
	l.noted = append(l.noted, fmt.Sprintf("%d %s", block, text))
	return nil
}

func (l *lot) EndRun(context.Context, int64, time.Time) error { l.ended = true; return nil }

// conductor returns a conductor over the lot; decided says which blocks are enough.
func (l *lot) conductor(dir string, enough func(step string) int) *Conductor {
	cl := &simClient{lot: l, servers: map[string]*simServer{}}
	return &Conductor{
		Host: &tracked{l, cl}, Client: cl, Store: l, Dir: dir, Events: l.events,
		Meter: func(int, int, []int) (func() (lab.Usage, error), error) {
			return func() (lab.Usage, error) { return l.used, nil }, nil
		},
		Judge: func(r lab.Run, slices []lab.Slice) (Outlook, error) {
			blocks := map[lab.Cell]map[int]bool{}
			for _, s := range slices {
				if s.Hist != nil {
					l.t.Errorf("%v: its histogram is kept for the whole run", s.SliceKey)
				}
				if blocks[s.Cell] == nil {
					blocks[s.Cell] = map[int]bool{}
				}
				blocks[s.Cell][s.Block] = true
			}
			var out []lab.Comparison
			for cell, n := range blocks {
				out = append(out, lab.Comparison{Candidate: cell.Variant, Level: cell.Level(), Metric: lab.QPS, Done: len(n) >= enough(cell.Step.Name)})
			}
			return Outlook{Comparisons: out}, nil
		},
	}
}

// tracked lets the client find the simulated server behind a socket.
type tracked struct {
	*lot
	c *simClient
}

func (h *tracked) Start(ctx context.Context, v lab.Variant, dir string, watch lab.Instrument) (Server, error) {
	s, err := h.lot.Start(ctx, v, dir, watch)
	if err == nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.c.servers[s.Socket()] = s.(*simServer)
	}
	return s, err
}

func keys(l *lot) []string {
	var out []string
	for k := range l.slices {
		out = append(out, fmt.Sprintf("%+v", k))
	}
	sort.Strings(out)
	return out
}

func simRun(names ...string) lab.Run {
	r := testRun(4, []lab.LevelPlan{level("r", true, 4), level("w", false, 2), level("s", true, 2)}, names...)
	r.Plan.BlocksMax = 5
	return r
}

func complete(t *testing.T, l *lot, r lab.Run, enough func(string) int) {
	t.Helper()
	c := l.conductor(t.TempDir(), enough)
	if err := c.Prepare(t.Context(), r.Variants); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if l.up != 0 {
		t.Errorf("%d servers are still up", l.up)
	}
	if left, _ := filepath.Glob(filepath.Join(c.Dir, "tmp", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func never(string) int { return 99 }
