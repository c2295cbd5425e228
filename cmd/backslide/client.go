package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"backslide/lab"
	"backslide/load"
	"backslide/server"
	"backslide/wire"
)

// The client child is this program again, started with this verb and with this variable
// set, so that a test binary knows what it is.
const (
	clientVerb    = "generate-load"
	clientEnvName = "BACKSLIDE_CLIENT"
	clientEnv     = clientEnvName + "=1"
)

func newClient(e *env) *cobra.Command {
	return &cobra.Command{
		Use:    clientVerb,
		Short:  "Generate load as a conductor on standard input says",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// The parent decides when to stop; a Ctrl-C reaches it, not us.
			return newGenerator(e.stdout).serve(context.WithoutCancel(cmd.Context()), e.stdin)
		},
	}
}

// generator is the client child: programs that were bound, sessions that are open.
type generator struct {
	mu       sync.Mutex // guards everything below, and writing
	out      *json.Encoder
	programs map[programKey]*load.Program
	order    map[lab.Variant][]string // workloads in the order in which they were bound
	sessions map[int64]session
	cancels  map[int64]context.CancelFunc
}

// session is a load session with the server's own clock, if it has one.
type session struct {
	*load.Session
	clock lab.ServerClock
	side  *wire.Conn // the clock's own; nil: none
}

// Close closes the session's connections.
func (s session) Close() error {
	if s.side != nil {
		s.side.Close()
	}
	return s.Session.Close()
}

type programKey struct {
	variant  lab.Variant
	workload string
}

func newGenerator(out io.Writer) *generator {
	return &generator{
		out: json.NewEncoder(out), programs: map[programKey]*load.Program{}, order: map[lab.Variant][]string{},
		sessions: map[int64]session{}, cancels: map[int64]context.CancelFunc{},
	}
}

// serve answers requests until in ends, each in a goroutine of its own so that it can be
// cancelled.
func (g *generator) serve(ctx context.Context, in io.Reader) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	dec := json.NewDecoder(bufio.NewReader(in))
	for {
		var q request
		if err := dec.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		if q.Cancel != nil {
			g.mu.Lock()
			if cancel := g.cancels[q.Cancel.Request]; cancel != nil {
				cancel()
			}
			g.mu.Unlock()
			continue
		}
		ctx, cancel := context.WithCancel(ctx)
		g.mu.Lock()
		g.cancels[q.ID] = cancel
		g.mu.Unlock()
		go func() {
			defer cancel()
			rep, err := g.answer(ctx, q)
			rep.ID, rep.Done = q.ID, true
			if err != nil {
				rep.Err = err.Error()
			}
			g.mu.Lock()
			delete(g.cancels, q.ID)
			g.mu.Unlock()
			g.reply(rep)
		}()
	}
}

// reply sends one line. An error means that nobody listens any more; the end of standard
// input follows.
func (g *generator) reply(r reply) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.out.Encode(r)
}

func (g *generator) answer(ctx context.Context, q request) (reply, error) {
	switch {
	case q.Bind != nil:
		return reply{}, g.bind(*q.Bind)
	case q.Load != nil:
		return reply{}, g.load(ctx, q.ID, *q.Load)
	case q.Open != nil:
		return g.open(ctx, q.ID, *q.Open)
	case q.Slice != nil:
		out, err := g.slice(ctx, q.ID, *q.Slice)
		return reply{Outcome: out}, err
	case q.Close != nil:
		return reply{}, g.close(q.Close.Session)
	case q.Clock != nil:
		return g.serverTime(*q.Clock), nil
	}
	return reply{}, errors.New("an empty request")
}

func (g *generator) bind(q bindRequest) error {
	w, err := load.Parse(q.File, q.Text)
	if err != nil {
		return err
	}
	p, err := w.Bind(q.Params, load.Target{Family: q.Family, Version: q.Version, Engine: q.Variant.Engine, Schema: schema(q.Workload), Clients: q.Clients})
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.programs[programKey{q.Variant, q.Workload}] = p
	g.order[q.Variant] = append(g.order[q.Variant], q.Workload)
	return nil
}

// dial returns how to connect to a server's socket, with one of its databases.
func dial(socket, schema string) load.Dial {
	return func(ctx context.Context) (load.Conn, error) {
		return wire.Dial(ctx, wire.Options{Network: "unix", Address: socket, User: server.User, Schema: schema})
	}
}

func (g *generator) load(ctx context.Context, id int64, q loadRequest) error {
	g.mu.Lock()
	names := g.order[q.Variant]
	g.mu.Unlock()
	for _, name := range names {
		g.mu.Lock()
		p := g.programs[programKey{q.Variant, name}]
		g.mu.Unlock()
		if err := createSchema(ctx, q.Socket, schema(name)); err != nil {
			return fmt.Errorf("workload %s: %w", name, err)
		}
		o := load.LoadOptions{Seed: q.Seed, Progress: func(rows, total int64) { g.reply(reply{ID: id, Rows: rows, Total: total}) }}
		if err := p.Load(ctx, dial(q.Socket, schema(name)), o); err != nil {
			return fmt.Errorf("workload %s: %w", name, err)
		}
	}
	return nil
}

func createSchema(ctx context.Context, socket, name string) error {
	c, err := dial(socket, "")(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := c.Query("CREATE DATABASE IF NOT EXISTS " + name)
	if err != nil {
		return err
	}
	if r.Code != 0 {
		return fmt.Errorf("create database %s: error %d: %s", name, r.Code, r.Message)
	}
	return nil
}

// open brings the server to rest as the step wants it, and connects the step's clients.
func (g *generator) open(ctx context.Context, id int64, q openRequest) (rep reply, err error) {
	workload, step := q.Level.Step.Workload, q.Level.Step.Closed().Name
	g.mu.Lock()
	p := g.programs[programKey{q.Variant, workload}]
	g.mu.Unlock()
	if p == nil {
		return rep, fmt.Errorf("workload %s was not bound for %s", workload, q.Variant)
	}
	to := dial(q.Socket, schema(workload))
	settled, err := p.Settle(ctx, step, to)
	if err != nil {
		return rep, err
	}
	for _, st := range settled {
		if !st.Reached {
			rep.Notes = append(rep.Notes, fmt.Sprintf("the server was not at rest: %s was not reached in %s", st.Name, st.Took.Round(time.Second)))
		}
	}
	l, err := actual(ctx, to)
	if err != nil {
		return rep, err
	}
	if err := l.allow(p, step, q.Level.Clients); err != nil {
		return rep, err
	}
	o := load.Options{Spin: q.Spin}
	if q.Near {
		o.ServerThread = func(c load.Conn) (int, error) { return serverThread(c, p.Target.Family) }
	}
	var side *wire.Conn
	var clock lab.ServerClock
	o.Clock, clock, side = serverClock(ctx, p, step, to)
	s, err := p.Session(ctx, load.Work{Step: step, Clients: q.Level.Clients, Seed: q.Seed, Block: q.Block}, to, o)
	if err != nil {
		if side != nil {
			side.Close()
		}
		return rep, err
	}
	rep.Conns = s.ConnectionIDs()
	// Without them the server's time is told for all of its threads together only.
	rep.Threads, _ = serverThreads(ctx, to, p.Target.Family, rep.Conns)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sessions[id] = session{s, clock, side}
	return rep, nil
}

// serverThreads asks a server which of its threads serve connections, over a connection
// of its own.
func serverThreads(ctx context.Context, to load.Dial, f lab.Family, conns []uint32) ([]int, error) {
	c, err := to(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	of, err := threadsOf(c, f, "IS NOT NULL")
	if err != nil {
		return nil, err
	}
	out := make([]int, 0, len(conns))
	for _, id := range conns {
		tid := of[id]
		if tid == 0 {
			return nil, fmt.Errorf("the server does not tell the thread of connection %d", id)
		}
		out = append(out, tid)
	}
	return out, nil
}

// serverThread asks a server which of its threads serves a connection.
func serverThread(c load.Conn, f lab.Family) (int, error) {
	of, err := threadsOf(c, f, "= CONNECTION_ID()")
	if err != nil {
		return 0, err
	}
	tid := of[c.ThreadID()]
	if tid == 0 {
		return 0, errors.New("the server does not tell which thread serves a connection; on MySQL the Performance Schema has to be on")
	}
	return tid, nil
}

// threadsOf returns the server's threads by the connections that they serve, of which
// the condition which selects.
func threadsOf(c load.Conn, f lab.Family, which string) (map[uint32]int, error) {
	w, ok := c.(*wire.Conn)
	if !ok {
		return nil, fmt.Errorf("a connection of type %T cannot be asked", c)
	}
	sql := "SELECT processlist_id, thread_os_id FROM performance_schema.threads WHERE processlist_id " + which
	if f == lab.MariaDB {
		sql = "SELECT id, tid FROM information_schema.processlist WHERE id " + which
	}
	_, rows, err := w.Rows(sql)
	if err != nil {
		return nil, err
	}
	out := map[uint32]int{}
	for _, r := range rows {
		if len(r) != 2 {
			return nil, fmt.Errorf("%s: %d columns", sql, len(r))
		}
		id, err1 := strconv.ParseUint(r[0], 10, 32)
		tid, err2 := strconv.Atoi(r[1])
		if err1 == nil && err2 == nil {
			out[uint32(id)] = tid
		}
	}
	return out, nil
}

func (g *generator) slice(ctx context.Context, id int64, q sliceRequest) (*outcome, error) {
	g.mu.Lock()
	s, ok := g.sessions[q.Session]
	g.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("no session %d", q.Session)
	}
	// A collection in mid-slice would be measured as latency, and the loop does not
	// allocate; what little long slices do is bounded.
	debug.SetMemoryLimit(clientMemory)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	r, err := s.Slice(ctx, load.SliceSpec{
		Seq: q.Seq, Discard: q.Discard, Duration: q.Duration, Ops: q.Ops, Timeout: q.Timeout, Rate: q.Rate, Clock: q.Clock,
	}, func() { g.reply(reply{ID: id, Measuring: true}) })
	if err != nil {
		return nil, err
	}
	return &outcome{
		Start: r.Start, Wall: r.Wall, Ops: r.Ops, Offered: r.Offered, Behind: r.Behind, Latency: latency(r), Rows: r.Rows, Retries: r.Retries, Errors: r.Errors, Hist: r.Hist.Encode(),
		Parts: parts(r), Series: series(r),
		ClientUser: r.ClientUser, ClientSys: r.ClientSystem, Warnings: doubts(r),
		Quantiles: [3]float64{r.Hist.Quantile(0.5).Seconds(), r.Hist.Quantile(0.95).Seconds(), r.Hist.Quantile(0.99).Seconds()},
	}, nil
}

// serverTime asks a session's server how long the statements of the last slice took.
func (g *generator) serverTime(q clockRequest) reply {
	g.mu.Lock()
	s, ok := g.sessions[q.Session]
	g.mu.Unlock()
	if !ok || s.clock == "" {
		return reply{}
	}
	d, err := s.ServerTime()
	if err != nil {
		return reply{Notes: []string{"no time by the server's own clock: " + err.Error()}}
	}
	return reply{ServerTime: d.Seconds(), ServerClock: s.clock}
}

// doubts says what is odd about one slice.
func doubts(r load.Result) []string {
	if r.Whole {
		return []string{"operations are so long that it counts whole ones only, over the time that they took"}
	}
	return nil
}

// latency is the mean latency of an operation, in seconds. A transaction may count as
// several.
func latency(r load.Result) float64 {
	if r.Ops == 0 {
		return 0
	}
	return r.Hist.Mean().Seconds() * float64(r.Hist.N()) / float64(r.Ops)
}

// clientMemory is how much memory the child takes before it collects garbage even during a
// slice.
const clientMemory = 128 << 20

// parts are what each role did, on their way to the conductor.
func parts(r load.Result) []lab.Part {
	var out []lab.Part
	for _, p := range r.Parts {
		out = append(out, lab.Part{Role: p.Role, Ops: p.Ops, Rows: p.Rows, Offered: p.Offered, Hist: p.Hist.Encode()})
	}
	return out
}

// series are the whole seconds of a slice as the client saw them.
func series(r load.Result) []lab.Series {
	var out []lab.Series
	for i, seconds := range r.Seconds {
		prefix := ""
		if i < len(r.Parts) {
			prefix = r.Parts[i].Role + " "
		}
		n := int(r.Wall)
		rate := lab.Series{Name: prefix + "rate", Unit: "op/sec", Values: make([]float64, n)}
		worst := lab.Series{Name: prefix + "worst", Unit: "sec", Values: make([]float64, n)}
		for j, s := range seconds[:min(n, len(seconds))] {
			rate.Values[j], worst.Values[j] = float64(s.Ops), float64(s.Worst)/1e9
		}
		out = append(out, rate, worst)
	}
	return out
}

func (g *generator) close(id int64) error {
	g.mu.Lock()
	s, ok := g.sessions[id]
	delete(g.sessions, id)
	g.mu.Unlock()
	if !ok {
		return nil
	}
	return s.Close()
}
