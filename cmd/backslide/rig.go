package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"backslide/lab"
	"backslide/proc"
)

// rig is what runs servers and load on this host: a guard that outlives us, the client
// child with its workloads, a host that starts servers. Whoever makes one closes it.
type rig struct {
	guard  *proc.Guard
	dir    string // short, for sockets
	client *remote
	host   *host
	cpus   []int // of clients; nil: any
}

// rig starts the client child where the plan wants it and gives it the workloads. Servers
// can be kept still by freezer; nil: they cannot.
func (e *env) rig(ctx context.Context, s *setup, freezer *proc.Freezer) (_ *rig, err error) {
	g := &rig{}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	cache, err := filepath.Abs(e.cacheDir)
	if err != nil {
		return nil, err
	}
	if g.guard, err = proc.NewGuard(guards(cache)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(cache, "run"), 0o700); err != nil {
		return nil, err
	}
	if g.dir, err = os.MkdirTemp(filepath.Join(cache, "run"), ""); err != nil {
		return nil, fmt.Errorf("make a directory for the servers' sockets in the cache: %w; servers can be started from a cache that can be written: --cache", err)
	}
	servers, clients, err := placement(s.Plan.Placement)
	if err != nil {
		return nil, err
	}
	g.cpus = clients
	if g.client, err = startClient(clients, s.Plan.Seed, g.guard, g.dir); err != nil {
		return nil, err
	}
	g.client.near = s.Plan.Placement == lab.CoLocated
	if err := s.bind(ctx, g.client); err != nil {
		return nil, err
	}
	g.host = &host{
		builds: s.builds, configs: map[string]lab.Config{}, data: s.dataIDs(), cpus: servers,
		guard: g.guard, freezer: freezer, runDir: g.dir,
	}
	for _, c := range s.Configs {
		g.host.configs[c.Name] = c
	}
	return g, nil
}

// guards is where guards keep their records.
func guards(cache string) string { return filepath.Join(cache, "guard") }

// close ends the client and removes the directory.
func (g *rig) close() error {
	if g.client != nil {
		g.client.Stop()
	}
	var errs []error
	if g.guard != nil {
		errs = append(errs, g.guard.Close())
	}
	if g.dir != "" {
		errs = append(errs, os.RemoveAll(g.dir))
	}
	return errors.Join(errs...)
}
