package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

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
}

func (c *Conductor) newFleet(name string) (*fleet, error) {
	dir, err := c.scratch(name)
	if err != nil {
		return nil, err
	}
	return &fleet{
		c: c, dir: dir, servers: map[lab.Variant]Server{}, broken: map[lab.Variant]error{},
		frozen: map[lab.Variant]bool{}, starts: map[lab.Variant]int{},
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
	s, err := f.fresh(ctx, v, filepath.Join(f.dir, name))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.starts[v]++
	f.frozen[v] = false
	if err != nil {
		f.broken[v] = fmt.Errorf("start %s: %w", v, err)
		return
	}
	delete(f.broken, v)
	f.servers[v] = s
}

func (f *fleet) fresh(ctx context.Context, v lab.Variant, dir string) (Server, error) {
	if err := f.c.Host.Clone(ctx, f.c.dataDir(v), dir); err != nil {
		return nil, err
	}
	return f.c.Host.Start(ctx, v, dir, f.watch)
}

// restart replaces a server that died or hung.
func (f *fleet) restart(ctx context.Context, v lab.Variant) {
	f.start(ctx, v, fmt.Sprintf("again-%s-%d", f.c.Host.DataKey(v), f.starts[v]))
	f.refill(ctx, v)
}

// fail kills v's server; the next level starts a fresh one.
func (f *fleet) fail(v lab.Variant, why error) {
	if s := f.servers[v]; s != nil {
		s.Kill()
	}
	delete(f.servers, v)
	f.broken[v] = why
}

// only lets the given variants run and freezes all others.
func (f *fleet) only(vs []lab.Variant) error {
	in := map[lab.Variant]bool{}
	for _, v := range vs {
		in[v] = true
	}
	for v, s := range f.servers {
		var err error
		switch {
		case in[v] && f.frozen[v]:
			err = s.Thaw()
		case !in[v] && !f.frozen[v]:
			err = s.Freeze()
		default:
			continue
		}
		if err != nil {
			return err
		}
		f.frozen[v] = !in[v]
	}
	return nil
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
