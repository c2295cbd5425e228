package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"backslide/lab"
	"backslide/probe/waits"
	"backslide/proc"
	"backslide/run"
	"backslide/server"
)

// host starts servers for the conductor. It is a run.Host.
type host struct {
	builds  map[string]lab.Build
	configs map[string]lab.Config
	data    map[lab.Variant]string // names the rows of its tables
	cpus    []int                  // servers' CPUs; nil: any
	guard   *proc.Guard
	freezer *proc.Freezer
	runDir  string // short: sockets lie below it
	started atomic.Int64
}

func (h *host) spec(v lab.Variant, dir string) server.Spec {
	n := h.started.Add(1)
	name := filepath.Join(h.runDir, fmt.Sprint(n))
	return server.Spec{
		Build: h.builds[v.Build], Config: h.configs[v.Config], Engine: v.Engine,
		DataDir: dir, RunDir: name, LogFile: dir + ".log",
		CPUs:    h.cpus, // equal for all variants
		Freezer: h.freezer, Guard: h.guard, Remove: []string{dir},
	}
}

// Init is run.Host's.
func (h *host) Init(ctx context.Context, v lab.Variant, dir string) error {
	return server.Init(ctx, h.spec(v, dir))
}

// Start is run.Host's.
func (h *host) Start(ctx context.Context, v lab.Variant, dir string, watch lab.Instrument) (run.Server, error) {
	spec := h.spec(v, dir)
	if watch == lab.Waits {
		spec.Extra = waits.Options(spec.Build, v.Engine)
	}
	s, err := server.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	out := &side{Server: s, build: h.builds[v.Build], config: h.configs[v.Config], engine: v.Engine, dir: dir}
	if out.build.Family == lab.MySQL {
		out.own = ownThreads(s.PID())
	}
	return out, nil
}

// ownThreads returns the threads that a server that has just become ready has for itself.
// One has answered us already: of servers that name their threads that which is named for
// it, of others the one that was made last.
func ownThreads(pid int) []int {
	all := tasks(pid)
	own := slices.DeleteFunc(slices.Clone(all), func(tid int) bool {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", pid, tid))
		return err == nil && strings.TrimSpace(string(name)) == "connection" // MySQL from 8.0.27 on
	})
	if len(own) == len(all) {
		own = own[:max(0, len(own)-1)]
	}
	return own
}

// Clone is run.Host's.
func (h *host) Clone(ctx context.Context, from, to string) error {
	return server.CloneDir(ctx, from, to)
}

// DataKey is run.Host's: a digest of the build, what of the config can show in data, and
// the workloads. Copies of a variant share one data set, and so do configs that differ only
// in how a server runs: fewer loads, and nothing of the layout is between them.
func (h *host) DataKey(v lab.Variant) string {
	text, err := json.Marshal(struct {
		Build  string
		Config lab.Config
		Engine string
		Data   string
	}{h.builds[v.Build].ID, traces(h.configs[v.Config]), v.Engine, h.data[v]})
	if err != nil {
		panic(err) // plain strings
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

// traces returns of a config what may show in the data that a server leaves behind.
// Options that are not known to leave no trace stay.
func traces(c lab.Config) lab.Config {
	kept := func(all []lab.Option) []lab.Option {
		return slices.DeleteFunc(slices.Clone(all), func(o lab.Option) bool { return traceless(lab.NormalName(o.Name)) })
	}
	out := lab.Config{Options: kept(c.Options), ByFamily: map[lab.Family][]lab.Option{}}
	for f, all := range c.ByFamily {
		if left := kept(all); len(left) > 0 {
			out.ByFamily[f] = left
		}
	}
	return out
}

// traceless reports whether an option changes how a server runs and nothing of what it
// writes when it is loaded and stopped.
func traceless(name string) bool {
	switch name {
	case "innodb_ddl_threads", "innodb_ddl_buffer_size", "innodb_parallel_read_threads", "innodb_purge_threads",
		"innodb_thread_concurrency", "innodb_concurrency_tickets", "innodb_spin_wait_delay", "innodb_sync_spin_loops",
		"sync_binlog", "innodb_flush_log_at_trx_commit", "innodb_buffer_pool_size", "max_connections":
		return true
	}
	return strings.HasPrefix(name, "performance_schema") || strings.HasPrefix(name, "innodb_adaptive_hash_index")
}

// Volatile is run.Host's.
func (h *host) Volatile(v lab.Variant) bool { return v.Engine == "MEMORY" }

// side is a running server with what the lab records about it.
type side struct {
	*server.Server
	build  lab.Build
	config lab.Config
	engine string
	dir    string // of its data
	own    []int  // threads, ascending, that the server had for itself when it was ready; nil: it tells which serve whom
}

// Serving is run.Server's, for servers that do not tell which thread serves whom, as MySQL
// does not before 5.7 and without its Performance Schema. A server has all threads of its
// own when it is ready; those that come later serve connections.
func (s *side) Serving() []int {
	if s.own == nil {
		return nil
	}
	return slices.DeleteFunc(tasks(s.PID()), func(tid int) bool {
		_, own := slices.BinarySearch(s.own, tid)
		return own
	})
}

// tasks returns the threads of a process, ascending.
func tasks(pid int) []int {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	var out []int
	for _, f := range files {
		if tid, err := strconv.Atoi(f.Name()); err == nil {
			out = append(out, tid)
		}
	}
	slices.Sort(out)
	return out
}

// Freeze is run.Server's.
func (s *side) Freeze() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return s.Server.Freeze(ctx)
}

// Side is run.Server's.
func (s *side) Side(ctx context.Context) (lab.Side, error) {
	settings, err := s.Settings(ctx)
	if err != nil {
		return lab.Side{}, err
	}
	return lab.Side{
		Build: s.build, Config: s.config, Settings: settings, Engine: s.engine,
		Ignored: server.Ignored(s.config.For(s.build.Family), settings, s.Log()),
	}, nil
}

// placement returns the CPUs of servers and client on this host.
func placement(p lab.Placement) (servers, client []int, err error) {
	mine, err := proc.Affinity(os.Getpid())
	if err != nil {
		return nil, nil, err
	}
	switch p {
	case lab.OneCore:
		last := mine[len(mine)-1:]
		return last, last, nil
	case lab.Split:
		if len(mine) < 2 {
			return nil, nil, fmt.Errorf("placement split needs 2 CPUs, there is %d; use one-core", len(mine))
		}
		half := len(mine) / 2
		return mine[:half], mine[half:], nil
	}
	return nil, nil, nil
}
