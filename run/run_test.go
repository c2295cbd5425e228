package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
func (l *lot) Volatile(v lab.Variant) bool  { return v.Engine == "MEMORY" }
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
	data   string // what has been written, in order
}

func (s *simServer) PID() int                   { return 1 }
func (s *simServer) Socket() string             { return fmt.Sprintf("%p", s) }
func (s *simServer) Ready() time.Time           { return time.Now() }
func (s *simServer) Died() <-chan struct{}      { return s.died }
func (s *simServer) Err() error                 { return errors.New("signal: killed; log: gone") }
func (s *simServer) Serving() []int             { return nil }
func (s *simServer) Freeze() error              { s.frozen = true; return nil }
func (s *simServer) Thaw() error                { s.frozen = false; return nil }
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
		out = append(out, l.slices[k])
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

func TestRunEndsAtBlocksMax(t *testing.T) {
	l := newLot(t)
	var told []int // slices done and all, at the end of each block
	l.events.Slice = func(s lab.Slice, done, turns int, left time.Duration) {
		if done == turns {
			told = append(told, turns)
			if left != 0 {
				t.Errorf("block %d: %s left after its last slice", s.Block, left)
			}
		}
	}
	complete(t, l, simRun("a", "b"), never)
	if want := []int{16, 16, 16, 16, 16}; !slices.Equal(told, want) {
		t.Errorf("slices told of per block: %v, want %v", told, want)
	}
	if want := 5 * 2 * (4 + 2 + 2); len(l.slices) != want {
		t.Errorf("%d slices, want %d", len(l.slices), want)
	}
	if !l.ended {
		t.Error("the run was not ended")
	}
	if l.mostUp != 2 {
		t.Errorf("%d servers were up at once, want both", l.mostUp)
	}
	if l.sides[simRun("a").Variants[0]] != 1 {
		t.Errorf("settings stored %d times, want once", l.sides[simRun("a").Variants[0]])
	}
}

// A run that was raised to more blocks goes on where it ended.
func TestRaisedRunGoesOn(t *testing.T) {
	l, r := newLot(t), simRun("a", "b")
	complete(t, l, r, never)
	before := len(l.slices)
	r.Plan.BlocksMax, l.ended = 7, false
	complete(t, l, r, never)
	if want := before / 5 * 7; len(l.slices) != want || !l.ended {
		t.Errorf("%d slices after 7 blocks, want %d; ended %t", len(l.slices), want, l.ended)
	}
}

// Decided levels are not measured again; their writes are, while later levels need them.
func TestDecidedLevelsAreDropped(t *testing.T) {
	l := newLot(t)
	complete(t, l, simRun("a", "b"), func(step string) int {
		if step == "s" {
			return 3
		}
		return 1
	})
	per := map[string]int{}
	for k := range l.slices {
		per[fmt.Sprint(k.Cell.Step.Name, k.Block)]++
	}
	want := map[string]int{"r0": 8, "w0": 4, "s0": 4, "s1": 4, "s2": 4}
	if d := cmp.Diff(want, per); d != "" {
		t.Errorf("slices per step and block (-want +got):\n%s", d)
	}
	for k, found := range l.observed {
		if k.Cell.Step.Name == "s" && found != strings.Repeat("w", 20) {
			t.Errorf("block %d: s found data %q, want the writes of w", k.Block, found)
		}
	}
}

// A run that is interrupted at every single slice, one after the other, ends with the
// same slices, on the same data, as one that is not.
func TestResume(t *testing.T) {
	for _, together := range []int{0, 2, 1} {
		t.Run(fmt.Sprint(together, " together"), func(t *testing.T) {
			r := simRun("a", "b", "c")
			r.Plan.Together = together
			testResume(t, r)
		})
	}
}

func testResume(t *testing.T, r lab.Run) {
	whole := newLot(t)
	complete(t, whole, r, never)
	if n := r.Plan.Together; n > 0 && whole.mostUp > n {
		t.Errorf("%d servers were up at once, want at most %d", whole.mostUp, n)
	}
	// What a slice found is a function of the writes before it, whatever phase it is in.
	for k, found := range whole.observed {
		want := ""
		switch k.Cell.Step.Name {
		case "w":
			want = strings.Repeat("w", 10*(k.Seq+1))
		case "s":
			want = strings.Repeat("w", 20)
		}
		if found != want {
			t.Errorf("%+v found %q, want %q", k, found, want)
		}
	}

	parts := newLot(t)
	dir := t.TempDir()
	for try := 0; !parts.ended; try++ {
		if try > 1000 {
			t.Fatal("no end")
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		c := parts.conductor(dir, never)
		if err := c.Prepare(ctx, r.Variants); err != nil {
			t.Fatal(err)
		}
		first := parts.taken
		parts.onSlice = func(n int, _ lab.Variant, _ Spec) error {
			if n-first == 7+try%5 {
				cancel(errors.New("interrupted"))
				return context.Canceled
			}
			return nil
		}
		err := c.Run(ctx, r)
		if err == nil != parts.ended {
			t.Fatalf("run returned %v, ended is %v", err, parts.ended)
		}
		if parts.up != 0 {
			t.Fatalf("try %d: %d servers are still up", try, parts.up)
		}
		cancel(nil)
	}
	if d := cmp.Diff(keys(whole), keys(parts)); d != "" {
		t.Errorf("slices (-whole +interrupted):\n%s", d)
	}
	for k, found := range whole.observed {
		if got := parts.observed[k]; got != found {
			t.Errorf("%+v found data %q when interrupted, %q when not", k, got, found)
		}
	}
}

// A server that dies costs its cell in that block, with the reason; the next level has a
// fresh server with the same data.
func TestServerDies(t *testing.T) {
	l := newLot(t)
	r := simRun("a", "b")
	b := r.Variants[1]
	died := false
	l.onSlice = func(n int, v lab.Variant, spec Spec) error {
		if v == b && spec.Ops > 0 && !died {
			died = true
			return errors.New("server went away")
		}
		return nil
	}
	complete(t, l, r, never)
	var broken []string
	for k, s := range l.slices {
		if s.Err != "" {
			broken = append(broken, fmt.Sprint(k.Block, k.Cell.Variant.Build, k.Cell.Step.Name, ": ", s.Err))
		}
	}
	sort.Strings(broken)
	if d := cmp.Diff([]string{"0bw: not run: w/w/1: server went away", "0bw: server went away"}, broken); d != "" {
		t.Errorf("broken slices (-want +got):\n%s", d)
	}
	for k, found := range l.observed {
		if k.Cell.Step.Name == "s" && found != strings.Repeat("w", 20) {
			t.Errorf("block %d, %s: s found data %q", k.Block, k.Cell.Variant.Build, found)
		}
	}
	if len(l.noted) == 0 || !strings.Contains(l.noted[0], "server went away") {
		t.Errorf("events %q do not tell", l.noted)
	}
}

// A tool's CPU time is the client's, not that of strangers.
func TestToolOutcome(t *testing.T) {
	l := newLot(t)
	r := simRun("a", "b")
	r.Plan.BlocksMax = 1
	l.onOutcome = func(o *Outcome) { o.ClientUser, o.ClientSys, o.Apart, o.Latency = 0.25, 0.25, true, 0.002 }
	l.used = lab.Usage{HostBusy: 0.75}
	complete(t, l, r, never)
	for k, s := range l.slices {
		if s.Usage.HostBusy != 0.25 || s.Usage.ClientUser != 0.25 || s.Latency != 0.002 {
			t.Errorf("%+v: %+v, latency %g; of 0.75 s, 0.5 are the tool's", k, s.Usage, s.Latency)
		}
	}
}

func TestBaseDoesNotStart(t *testing.T) {
	l := newLot(t)
	r := simRun("a", "b")
	c := l.conductor(t.TempDir(), never)
	if err := c.Prepare(t.Context(), r.Variants); err != nil {
		t.Fatal(err)
	}
	l.onStart = func(v lab.Variant) error {
		if v == r.Variants[0] {
			return errors.New("unknown option --nosuch")
		}
		return nil
	}
	err := c.Run(t.Context(), r)
	if !errors.Is(err, ErrBase) || !strings.Contains(err.Error(), "unknown option --nosuch") {
		t.Errorf("Run: %v; want ErrBase with the reason", err)
	}
	if l.ended {
		t.Error("the run was ended; it could not be resumed")
	}
	_, err = c.Calibrate(t.Context(), r.Plan, r.Variants, r.Levels)
	if !errors.Is(err, ErrBase) {
		t.Errorf("Calibrate: %v; want ErrBase", err)
	}
}

func TestFit(t *testing.T) {
	p := lab.Plan{}.WithDefaults()
	for _, tt := range []struct {
		read    bool
		clients int
		rate    float64
		want    lab.LevelPlan
	}{
		{true, 1, 50_000, lab.LevelPlan{Slice: 200 * time.Millisecond, Slices: 8}},
		{true, 4, 10, lab.LevelPlan{Slice: 8 * time.Second, Slices: 2}},   // 20 operations of 0.4 s
		{true, 1, 0.1, lab.LevelPlan{Slice: 10 * time.Second, Slices: 2}}, // at most 10 s; the client lengthens it
		{true, 1, 50, lab.LevelPlan{Slice: 400 * time.Millisecond, Slices: 4}},
		{false, 4, 10_130, lab.LevelPlan{Ops: 4100, Slice: 4100 * time.Second / 10_130, Slices: 4}}, // 0.4 s are 4052, in two digits
		// Another tool's clock knows seconds, so there are fewer slices in a block of 1.6 s.
		{true, 1, 50_000, lab.LevelPlan{Grain: time.Second, Slice: time.Second, Slices: 2}},
		{true, 1, 9, lab.LevelPlan{Grain: time.Second, Slice: 3 * time.Second, Slices: 2}}, // 20 operations take 2.2 s
		{false, 1, 2000, lab.LevelPlan{Grain: time.Second, Ops: 2000, Slice: time.Second, Slices: 2}},
	} {
		lp := lab.LevelPlan{Level: lab.Level{Clients: tt.clients}, Read: tt.read, Grain: tt.want.Grain}
		got := fit(p, lp, tt.rate)
		if got.Slice != tt.want.Slice || got.Slices != tt.want.Slices || got.Ops != tt.want.Ops {
			t.Errorf("fit(read %t, %d clients, %v/s) = %d ops, %s × %d; want %d ops, %s × %d", tt.read, tt.clients, tt.rate,
				got.Ops, got.Slice, got.Slices, tt.want.Ops, tt.want.Slice, tt.want.Slices)
		}
	}
}

func TestFitFixedWork(t *testing.T) {
	p := lab.Plan{}.WithDefaults() // 8 slices of 0.2 s
	for _, tt := range []struct {
		ops    int64
		rate   float64
		slice  time.Duration
		slices int
	}{
		{4, 0.1, 40 * time.Second, 2}, // one statement of each client, 10 s each
		{400, 1000, 400 * time.Millisecond, 4},
		{4, 1000, 4 * time.Millisecond, 8}, // not more than the plan's
	} {
		got := fit(p, lab.LevelPlan{Level: lab.Level{Clients: 4}, Read: true, Ops: tt.ops}, tt.rate)
		if got.Ops != tt.ops || got.Slice != tt.slice || got.Slices != tt.slices || got.Timed() {
			t.Errorf("fit(%d operations at %v/s) = %d ops, %s × %d; want %s × %d", tt.ops, tt.rate, got.Ops, got.Slice, got.Slices, tt.slice, tt.slices)
		}
	}
}

// TestFixedReads runs a level that leaves data as they are and yet ends by operations: all
// its slices have them and are timed by the server, and it is warmed up once by as many.
func TestFixedReads(t *testing.T) {
	l := newLot(t)
	r := testRun(4, []lab.LevelPlan{level("r", true, 4), level("s", true, 2)}, "a", "b")
	r.Plan.BlocksMax = 2
	for i := range r.Levels {
		r.Levels[i].Ops, r.Levels[i].Slice = 3, time.Second
	}
	specs := map[Spec]int{}
	l.onSlice = func(_ int, _ lab.Variant, s Spec) error {
		s.Seq, s.Timeout = 0, 0
		specs[s]++
		return nil
	}
	complete(t, l, r, never)
	// 2 blocks of 2 variants: 4 slices and a warm-up of r, 2 and a warm-up of s
	want := map[Spec]int{{Ops: 3, Clock: true}: 2 * 2 * (4 + 2), {Ops: 3}: 2 * 2 * (1 + 1)}
	if d := cmp.Diff(want, specs); d != "" {
		t.Errorf("slices (-want +got):\n%s", d)
	}
}

// TestUnsettled: a server that was not at rest before a warm-up is a doubt about all slices
// of the level that is measured next, and about no others.
func TestUnsettled(t *testing.T) {
	l := newLot(t)
	warm := level("warm", true, 2)
	warm.Warm, warm.Group = true, ""
	r := testRun(4, []lab.LevelPlan{level("r", true, 2), warm, level("s", true, 2), level("u", true, 2)}, "a", "b")
	r.Plan.BlocksMax = 2
	l.notes = func(step string, v lab.Variant) []string {
		if step == "warm" && v.Build == "b" {
			return []string{"not at rest"}
		}
		return nil
	}
	complete(t, l, r, never)
	for k, s := range l.slices {
		want := k.Cell.Step.Name == "s" && k.Cell.Variant.Build == "b"
		if got := slices.Equal(s.Warnings, []string{"not at rest"}); got != want || !want && len(s.Warnings) > 0 {
			t.Errorf("%s: doubts %q", k.Cell, s.Warnings)
		}
	}
	if len(l.slices) != 2*2*3*2 {
		t.Errorf("%d slices", len(l.slices))
	}
}
