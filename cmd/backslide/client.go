package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
