package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"

	"backslide/extern"
	"backslide/lab"
	"backslide/load"
	"backslide/proc"
	"backslide/run"
	"backslide/server"
)

// toolGrain is the step of lengths of slices that another tool drives: sysbench knows
// whole seconds, and mysqlslap's clock of 1 ms wants about as much.
const toolGrain = time.Second

// grain returns the step of lengths of a step's slices; 0: any.
func grain(step load.StepInfo) time.Duration {
	if step.Tool == "" {
		return 0
	}
	return toolGrain
}

// tool returns what drives a step on v in place of our client, and false if nothing does.
func (s *setup) tool(v lab.Variant, step lab.Step) (lab.Tool, bool) {
	for i, w := range s.workloads {
		if w.use.Name != step.Workload || i >= len(s.programs[v]) {
			continue
		}
		t, ok := s.programs[v][i].Tool(step.Name)
		if strings.Contains(t.Script, "/") || strings.HasSuffix(t.Script, ".lua") {
			t.Script = filepath.Join(filepath.Dir(w.file), t.Script)
			if !strings.Contains(t.Script, "/") {
				t.Script = "./" + t.Script
			}
		}
		return t, ok
	}
	return lab.Tool{}, false
}

// checkTools finds the load tools that steps want, and checks what they will be asked.
func (s *setup) checkTools(ctx context.Context) error {
	s.tools = map[string]extern.Version{}
	for _, w := range s.workloads {
		for _, step := range w.steps {
			if step.Tool == "" {
				continue
			}
			if s.Plan.Inject != 0 {
				return fmt.Errorf("step %s: %s drives it, and cannot be slowed down; name others with --steps", step.Name, step.Tool)
			}
			if err := s.checkTool(ctx, w, step); err != nil {
				return fmt.Errorf("workload %s: step %s: %w", w.use.Name, step.Name, err)
			}
		}
	}
	return nil
}

func (s *setup) checkTool(ctx context.Context, w workload, step load.StepInfo) error {
	version, ok := s.tools[step.Tool]
	if !ok {
		var err error
		if version, err = toolVersion(ctx, step.Tool); err != nil {
			return err
		}
		s.tools[step.Tool] = version
	}
	seen := map[string]bool{}
	for _, v := range s.Variants() {
		t, _ := s.tool(v, lab.Step{Workload: w.use.Name, Name: step.Name})
		d := toolDriver{Tool: t, version: version, schema: schema(w.use.Name), clients: 1}
		if _, err := d.args(amount{ops: 1}); err != nil {
			return err
		}
		if t.Program != lab.Sysbench || seen[t.Script] {
			continue
		}
		seen[t.Script] = true
		if err := hasScript(ctx, t.Script); err != nil {
			return err
		}
	}
	return nil
}

// toolVersion asks a tool for its version.
func toolVersion(ctx context.Context, program string) (extern.Version, error) {
	out, err := proc.Output(ctx, proc.Command{Args: []string{program, "--version"}, Timeout: 10 * time.Second})
	if errors.Is(err, proc.ErrMissing) {
		return extern.Version{}, fmt.Errorf("%w; install it, or name other steps with --steps", err)
	} else if err != nil {
		return extern.Version{}, err
	}
	v, ok := extern.ParseVersion(string(out))
	if !ok {
		return v, fmt.Errorf("%s --version says %.100q, which names no version", program, out)
	}
	return v, nil
}

// hasScript asks sysbench whether it can load a script. Scripts without options of their
// own know no help, which is no fault.
func hasScript(ctx context.Context, script string) error {
	env := extern.Sysbench{Script: script}.Env(os.Environ())
	out, err := proc.Output(ctx, proc.Command{Args: []string{lab.Sysbench, script, "help"}, Env: env, Timeout: 10 * time.Second})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for line := range strings.Lines(string(out)) {
		if why, ok := strings.CutPrefix(line, "FATAL: "); ok {
			return fmt.Errorf("sysbench cannot load script %s: %s", script, strings.TrimSpace(why))
		}
	}
	if err != nil && !strings.Contains(err.Error(), "does not implement") && !strings.Contains(string(out), "does not implement") {
		return fmt.Errorf("load script %s: %w", script, err)
	}
	return nil
}

// drivers names our client and the tools that drive steps, with their versions.
func (s *setup) drivers() string {
	out := version()
	for _, name := range []string{lab.Sysbench, lab.Mysqlslap} {
		if v, ok := s.tools[name]; ok {
			out += ", " + v.String()
		}
	}
	return out
}

// tooled is a run.Client that has other tools drive the steps that want them, and leaves
// all else to the client child.
type tooled struct {
	*remote
	setup *setup
	cpus  []int // of the tools; nil: any
	guard *proc.Guard
}

// Open is run.Client's. Settle actions and side sessions are the child's work in any case.
func (c *tooled) Open(ctx context.Context, v lab.Variant, socket string, w run.Work) (run.Session, error) {
	inner, err := c.remote.Open(ctx, v, socket, w)
	if err != nil {
		return nil, err
	}
	t, ok := c.setup.tool(v, w.Level.Step)
	if !ok {
		return inner, nil
	}
	return &toolSession{
		Session: inner, work: w, cpus: c.cpus, guard: c.guard, near: c.near,
		toolDriver: toolDriver{
			Tool: t, version: c.setup.tools[t.Program], schema: schema(w.Level.Step.Workload), socket: socket, clients: w.Level.Clients,
		},
	}, nil
}

// toolDriver knows how a tool is called for a level.
type toolDriver struct {
	lab.Tool
	version extern.Version
	schema  string
	socket  string
	clients int
}

// amount is how much a tool is to do: a time, or a number of operations.
type amount struct {
	time   time.Duration // whole seconds; of sysbench only
	warmup time.Duration // whole seconds before, unmeasured; of sysbench 1.1 only
	ops    int64
	seed   int64
}

func (d *toolDriver) sysbench(a amount) extern.Sysbench {
	inv := extern.Sysbench{
		Script: d.Script, Options: d.Options, Threads: d.clients, Time: a.time, Events: a.ops, Warmup: a.warmup, Seed: a.seed, Text: d.Text,
		Socket: d.socket, User: server.User, Schema: d.schema,
	}
	if a.time > 2*time.Second {
		inv.Report = time.Second // shows threads that end and seconds in which nothing happens
	}
	return inv
}

func (d *toolDriver) slap(a amount) extern.Slap {
	return extern.Slap{
		Query: d.Query, Options: d.Options, Clients: []int{d.clients}, Queries: a.ops,
		Socket: d.socket, User: server.User, Schema: d.schema, NoTLS: true,
	}
}

func (d *toolDriver) args(a amount) ([]string, error) {
	if d.Program == lab.Sysbench {
		return d.sysbench(a).Args(d.version, extern.Run)
	}
	return d.slap(a).Args(d.version)
}

// parse reads what a tool left: what counts, and an operation's mean latency and the one that 95 of 100 do
// not exceed, in seconds; 0: not said.
func (d *toolDriver) parse(a amount, o extern.Output) (f extern.Figures, mean, p95 float64, err error) {
	if d.Program != lab.Sysbench {
		r, err := d.slap(a).Parse(o)
		return r.Figures(d.clients), 0, 0, err
	}
	r, err := d.sysbench(a).Parse(o)
	if d.Queries {
		return r.Figures(extern.Queries), 0, 0, err // its latencies are of events
	}
	if s := r.Summary; s != nil && s.Events > 0 {
		mean = max(0, s.Latency.Sum/float64(s.Events)) // the printed one has but two digits
		if q := s.Latency.Percentile; q.P == 95 && !q.Bucketed && !q.Ceiling {
			p95 = max(0, q.Value)
		}
	}
	return r.Figures(extern.Events), mean, p95, err
}

// seed returns a seed of sysbench's: equal for the same slice of all variants, else
// different.
func (s *toolSession) seed(seq int) int64 {
	h := fnv.New64a()
	fmt.Fprint(h, s.work.Seed, " ", s.work.Block, " ", s.work.Level, " ", seq)
	return int64(h.Sum64()%(1<<30)) + 1
}
