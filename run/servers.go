package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"backslide/lab"
)

// fleet holds the servers of one block, each on a clone of its own.
type fleet struct {
	c       *Conductor
	dir     string
	watch   lab.Instrument // what the servers are started to be watched with; empty: nothing
	mu      sync.Mutex     // guards the maps while servers start side by side
	servers map[lab.Variant]Server
	broken  map[lab.Variant]error // why a variant has no server
	frozen  map[lab.Variant]bool
	starts  map[lab.Variant]int
	clones  map[lab.Variant]string // the data directories that the servers have, or had last
}

func (c *Conductor) newFleet(name string) (*fleet, error) {
	dir, err := c.scratch(name)
	if err != nil {
		return nil, err
	}
	return &fleet{
		c: c, dir: dir, servers: map[lab.Variant]Server{}, broken: map[lab.Variant]error{},
		frozen: map[lab.Variant]bool{}, starts: map[lab.Variant]int{}, clones: map[lab.Variant]string{},
	}, nil
}

// startAll starts a fresh server for every variant, two at a time. A variant that does
// not start is noted as broken; only the end of ctx is an error.
func (f *fleet) startAll(ctx context.Context, vs []lab.Variant) error {
	gate := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for i, v := range vs {
		wg.Add(1)
		gate <- struct{}{}
		go func() {
			defer wg.Done()
			defer func() { <-gate }()
			f.start(ctx, v, strconv.Itoa(i))
		}()
	}
	wg.Wait()
	for _, v := range vs { // one after the other: the client is one
		f.refill(ctx, v)
	}
	return context.Cause(ctx)
}

// refill loads v's data again where they lived in memory, and are gone after a start.
func (f *fleet) refill(ctx context.Context, v lab.Variant) {
	if s := f.servers[v]; s != nil && f.c.Host.Volatile(v) {
		if err := f.c.load(ctx, v, s); err != nil {
			f.fail(v, err)
		}
	}
}

// start clones v's data set into the fleet's directory under name and starts a server
// on it.
func (f *fleet) start(ctx context.Context, v lab.Variant, name string) {
	dir := filepath.Join(f.dir, name)
	s, err := f.fresh(ctx, v, dir)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.starts[v]++
	f.frozen[v] = false
	f.clones[v] = dir
	if err != nil {
		f.broken[v] = errors.Join(fmt.Errorf("start %s: %w", v, err), os.RemoveAll(dir))
		return
	}
	delete(f.broken, v)
	f.servers[v] = s
}

func (f *fleet) fresh(ctx context.Context, v lab.Variant, dir string) (Server, error) {
	if err := f.c.Host.Clone(ctx, f.c.dataDir(v), dir); err != nil {
		return nil, err
	}
	return f.c.startServer(ctx, v, dir, f.watch)
}

// longestStart is how long a server may take to be ready on data that were shut down
// cleanly. One that hangs must not hold up the run for ever.
const longestStart = 10 * time.Minute

func (c *Conductor) startServer(ctx context.Context, v lab.Variant, dir string, watch lab.Instrument) (Server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longestStart, fmt.Errorf("no answer within %s of its start", longestStart))
	defer cancel()
	return c.Host.Start(ctx, v, dir, watch)
}

// restart replaces a server that died or hung.
func (f *fleet) restart(ctx context.Context, v lab.Variant) {
	f.start(ctx, v, fmt.Sprintf("again-%s-%d", f.c.Host.DataKey(v), f.starts[v]))
	f.refill(ctx, v)
}

// fail kills v's server and removes its clone, which may be what fills the disk; the next
// level starts a fresh one.
func (f *fleet) fail(v lab.Variant, why error) {
	if s := f.servers[v]; s != nil {
		s.Kill()
		why = errors.Join(why, os.RemoveAll(f.clones[v]))
	}
	delete(f.servers, v)
	f.broken[v] = why
}

// only lets the given variants run and freezes all others. It returns why some could be
// neither: they died meanwhile, or cannot be kept still beside what is measured.
func (f *fleet) only(vs []lab.Variant) map[lab.Variant]error {
	bad := map[lab.Variant]error{}
	for v, s := range f.servers {
		in := slices.Contains(vs, v)
		var err error
		switch {
		case in && f.frozen[v]:
			err = s.Thaw()
		case !in && !f.frozen[v]:
			err = s.Freeze()
		default:
			continue
		}
		if err != nil {
			bad[v] = err
			continue
		}
		f.frozen[v] = !in
	}
	return bad
}

// dead returns why servers have ended that nobody asked to.
func (f *fleet) dead() map[lab.Variant]error {
	out := map[lab.Variant]error{}
	for v, s := range f.servers {
		select {
		case <-s.Died():
			out[v] = ended(s)
		default:
		}
	}
	return out
}

// end kills every server and removes the clones: nobody needs them again, so a clean
// stop would be time lost.
func (f *fleet) end() error {
	var wg sync.WaitGroup
	for _, s := range f.servers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s.Kill()
		}()
	}
	wg.Wait()
	return os.RemoveAll(f.dir)
}
