package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"backslide/lab"
	"backslide/proc"
	"backslide/run"
)

// remote is the conductor's end of the talk with the client child. It is a run.Client.
type remote struct {
	p    *proc.Process
	seed uint64 // of the data that Load makes
	near bool   // server threads are pinned beside their clients

	mu      sync.Mutex // guards the fields below, and writing
	in      io.Writer
	next    int64
	waiting map[int64]chan reply
	gone    error // why there will be no more replies
}

// startClient starts the client child on the given CPUs; nil: any. Should we be killed,
// the directory remove goes with it.
func startClient(cpus []int, seed uint64, guard *proc.Guard, remove string) (*remote, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	p, err := proc.Start(proc.Spec{
		Name: "client", Args: []string{self, clientVerb}, Env: append(os.Environ(), clientEnv), Talk: true,
		CPUs: cpus, Guard: guard, Remove: []string{remove},
	})
	if err != nil {
		return nil, err
	}
	r := &remote{p: p, seed: seed, in: p.In(), waiting: map[int64]chan reply{}}
	go r.read(p.Out())
	return r, nil
}

func (r *remote) read(out io.Reader) {
	lines := bufio.NewReaderSize(out, 1<<16)
	dec := json.NewDecoder(lines)
	for {
		var rep reply
		if err := dec.Decode(&rep); err != nil {
			r.end(err)
			return
		}
		r.mu.Lock()
		ch := r.waiting[rep.ID]
		if rep.Done {
			delete(r.waiting, rep.ID)
		}
		r.mu.Unlock()
		if ch != nil {
			ch <- rep
		}
	}
}

// end tells everyone who waits that no reply will come.
func (r *remote) end(err error) {
	<-r.p.Done()
	if why := r.p.Err(); why != nil {
		err = why
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = fmt.Errorf("%w: %w", run.ErrClient, err)
	for _, ch := range r.waiting {
		close(ch)
	}
	r.waiting = nil
}

// ask sends a request and hands its replies to each until the last one. When ctx ends it
// cancels the request and still waits for its end, so that nothing runs on unseen.
func (r *remote) ask(ctx context.Context, q request, each func(reply)) (int64, error) {
	ch, id, err := r.send(q)
	if err != nil {
		return 0, err
	}
	done := ctx.Done()
	for {
		select {
		case <-done:
			done = nil
			if _, _, err := r.send(request{Cancel: &cancelRequest{Request: id}}); err != nil {
				return id, err
			}
		case rep, ok := <-ch:
			switch {
			case !ok:
				r.mu.Lock()
				defer r.mu.Unlock()
				return id, r.gone
			case rep.Done && rep.Err != "":
				if ctx.Err() != nil {
					return id, context.Cause(ctx)
				}
				return id, errors.New(rep.Err)
			}
			if each != nil {
				each(rep)
			}
			if rep.Done {
				return id, nil
			}
		}
	}
}

func (r *remote) send(q request) (<-chan reply, int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone != nil {
		return nil, 0, r.gone
	}
	r.next++
	q.ID = r.next
	b, err := json.Marshal(q)
	if err != nil {
		return nil, 0, fmt.Errorf("ask the client: %w", err)
	}
	ch := make(chan reply, 16)
	if q.Cancel == nil {
		r.waiting[q.ID] = ch
	}
	if _, err := r.in.Write(append(b, '\n')); err != nil {
		delete(r.waiting, q.ID)
		return nil, 0, fmt.Errorf("%w: %w", run.ErrClient, err)
	}
	return ch, q.ID, nil
}

// PID returns the child's process number.
func (r *remote) PID() int { return r.p.PID() }

// Stop ends the child.
func (r *remote) Stop() { r.p.Kill() }

// Bind gives the child a workload for one variant.
func (r *remote) Bind(ctx context.Context, b bindRequest) error {
	_, err := r.ask(ctx, request{Bind: &b}, nil)
	return err
}

// Load is run.Client's.
func (r *remote) Load(ctx context.Context, v lab.Variant, socket string, progress func(done, total int64)) error {
	_, err := r.ask(ctx, request{Load: &loadRequest{Variant: v, Socket: socket, Seed: r.seed}}, func(rep reply) {
		if rep.Total > 0 {
			progress(rep.Rows, rep.Total)
		}
	})
	return err
}

// Open is run.Client's.
func (r *remote) Open(ctx context.Context, v lab.Variant, socket string, w run.Work) (run.Session, error) {
	s := &remoteSession{r: r}
	q := request{Open: &openRequest{Variant: v, Socket: socket, Level: w.Level, Seed: w.Seed, Block: w.Block, Spin: w.Spin, Near: r.near}}
	id, err := r.ask(ctx, q, func(rep reply) { s.notes, s.conns = rep.Notes, run.Connections{IDs: rep.Conns, Threads: rep.Threads} })
	if err != nil {
		return nil, err
	}
	s.id = id
	return s, nil
}

// remoteSession is a session that the child holds open. It is a run.Session.
type remoteSession struct {
	r     *remote
	id    int64
	notes []string
	conns run.Connections
}

// Notes is run.Session's.
func (s *remoteSession) Notes() []string { return s.notes }

// Connections is run.Session's.
func (s *remoteSession) Connections() run.Connections { return s.conns }

// Slice is run.Session's.
func (s *remoteSession) Slice(ctx context.Context, spec run.Spec, measuring func()) (run.Outcome, error) {
	var out run.Outcome
	_, err := s.r.ask(ctx, request{Slice: &sliceRequest{Session: s.id, Spec: spec}}, func(rep reply) {
		if rep.Measuring {
			measuring()
		}
		if rep.Outcome != nil {
			out = *rep.Outcome
		}
	})
	return out, err
}

// ServerTime is run.Session's.
func (s *remoteSession) ServerTime(ctx context.Context) (r lab.Reading, note string, err error) {
	_, err = s.r.ask(ctx, request{Clock: &clockRequest{Session: s.id}}, func(rep reply) {
		if rep.ServerClock != "" {
			r = lab.Reading{Name: rep.ServerClock.Reading(), Unit: "sec", Value: rep.ServerTime}
		}
		note = strings.Join(rep.Notes, "; ")
	})
	return r, note, err
}

// Close disconnects the clients. It does not wait longer than the child lives.
func (s *remoteSession) Close() error {
	_, err := s.r.ask(context.Background(), request{Close: &closeRequest{Session: s.id}}, nil)
	return err
}
