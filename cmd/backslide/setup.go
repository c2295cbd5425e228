package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"backslide/compare"
	"backslide/extern"
	"backslide/lab"
	"backslide/load"
	"backslide/proc"
	"backslide/server"
	"backslide/store"
	"backslide/workloads"
)

// setup is an experiment with all that its names stand for.
type setup struct {
	lab.Experiment
	builds    map[string]lab.Build
	workloads []workload
	levels    []lab.LevelPlan
	notes     []string                        // what is not as a reader would expect on some engine
	programs  map[lab.Variant][]*load.Program // one for each workload
	tools     map[string]extern.Version       // programs that drive steps in place of our client
}

// workload is one that the experiment uses, with its text, for the client child.
type workload struct {
	use   lab.WorkloadUse
	file  string
	text  string
	w     *load.Workload
	steps []load.StepInfo
}

// setup finds builds and workloads of an experiment and checks that they fit each other.
// It fetches builds that are not installed.
func (e *env) setup(ctx context.Context, x lab.Experiment) (*setup, error) {
	s := &setup{Experiment: x, programs: map[lab.Variant][]*load.Program{}}
	for _, use := range x.Workloads {
		w, err := readWorkload(use)
		if err != nil {
			return nil, err
		}
		if w.w.Chain && len(x.Clients) > 1 {
			return nil, fmt.Errorf("clients: the steps of workload %s build on each other's data, so there can be only one number of clients, not %s; make an experiment of each", use.Name, join(x.Clients))
		}
		s.workloads = append(s.workloads, w)
	}
	var err error
	if s.builds, err = e.builds(ctx, x.Builds); err != nil {
		return nil, err
	}
	if err := e.preloads(ctx, s); err != nil {
		return nil, err
	}
	for _, c := range x.Configs {
		if len(c.Launcher) > 0 {
			if _, err := proc.Find(c.Launcher[0]); err != nil {
				return nil, fmt.Errorf("config %s: launcher: %w", c.Name, err)
			}
		}
	}
	var facts engineFacts
	for _, v := range x.Variants() {
		if err := server.HasEngine(s.builds[v.Build], v.Engine); err != nil {
			return nil, fmt.Errorf("engines: %w", err)
		}
		for _, w := range s.workloads {
			p, err := w.w.Bind(w.use.Params, s.target(v, w))
			if err != nil {
				return nil, fmt.Errorf("workload %s for %s: %w", w.use.Name, v, err)
			}
			facts.add(p, w.steps)
			if n := s.heapNote(v, p); n != "" && !slices.Contains(s.notes, n) {
				s.notes = append(s.notes, n)
			}
			s.programs[v] = append(s.programs[v], p)
		}
	}
	if err := facts.err(); err != nil {
		return nil, err
	}
	s.notes = append(factLines(facts.notes), s.notes...)
	if n := s.Plan.BlocksMax; n < compare.LeastBlocks && len(x.Variants()) > 1 {
		s.notes = append(s.notes, fmt.Sprintf("the plan has %s; a verdict needs at least %d, so there will be point estimates only", plural(n, "block"), compare.LeastBlocks))
	}
	s.levels = s.plan()
	return s, errors.Join(s.checkLimits(), s.checkTools(ctx))
}

// plan returns the levels of the experiment, of which steps may say how much work a slice is.
func (s *setup) plan() []lab.LevelPlan {
	var out []lab.LevelPlan
	base := s.programs[s.Variants()[0]]
	for i, w := range s.workloads {
		for _, step := range w.steps {
			for _, n := range s.Clients {
				lp := lab.LevelPlan{
					Level: lab.Level{Step: lab.Step{Workload: w.use.Name, Name: step.Name}, Clients: n},
					Group: step.Group, Read: step.Read, Warm: step.Warm, Ops: base[i].Ops(step.Name) * int64(n), Limit: step.Limit, Slice: base[i].Paced(step.Name), Grain: grain(step),
				}
				lp.Open = lp.Timed() && base[i].Open(step.Name)
				out = append(out, lp)
				if s.Plan.Latency > 0 && lp.Timed() && !lp.Warm && base[i].Pacable(step.Name) {
					lp.Level.Step, lp.Group, lp.Open = lp.Level.Step.AtShare(s.Plan.Latency), lab.Paced, true
					out = append(out, lp)
				}
			}
		}
	}
	return out
}

func readWorkload(use lab.WorkloadUse) (workload, error) {
	out := workload{use: use}
	if use.Text != "" {
		out.file, out.text = "--query", use.Text
	} else if strings.HasSuffix(use.Name, ".toml") {
		b, err := os.ReadFile(use.Name)
		if err != nil {
			return out, fmt.Errorf("read workload: %w", err)
		}
		out.file, out.text = use.Name, string(b)
	} else {
		var ok bool
		if out.file, out.text, ok = workloads.Text(use.Name); !ok {
			return out, fmt.Errorf("no built-in workload is called %q%s (one of your own is a path that ends in .toml)", use.Name, lab.Suggest(use.Name, workloads.Names()))
		}
	}
	var err error
	if out.w, err = load.Parse(out.file, out.text); err != nil {
		return out, err
	}
	if out.steps, err = out.w.Select(use.Steps); err != nil {
		return out, err
	}
	if len(out.steps) == 0 {
		return out, errors.New("workload " + use.Name + " has no steps")
	}
	return out, nil
}

func (s *setup) target(v lab.Variant, w workload) load.Target {
	b := s.builds[v.Build]
	return load.Target{Family: b.Family, Version: b.VersionNumber(), Engine: v.Engine, Schema: schema(w.use.Name), Clients: s.Clients[0]}
}

// schema is the name of a workload's database.
func schema(workload string) string {
	name := strings.TrimSuffix(workload[strings.LastIndex(workload, "/")+1:], ".toml")
	return "bs_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToLower(name))
}

// dataIDs names the rows that the workloads load for each variant.
func (s *setup) dataIDs() map[lab.Variant]string {
	out := map[lab.Variant]string{}
	for v, ps := range s.programs {
		for _, p := range ps {
			out[v] += p.Target.Schema + " " + p.DataID(s.Plan.Seed) + "\n"
		}
	}
	return out
}

// sameWorkloads checks that the workloads are still those that a run began with.
func sameWorkloads(ctx context.Context, st *store.Store, id int64, s *setup) error {
	kept, err := st.Kept(ctx, id)
	if err != nil {
		return err
	}
	digests := map[string]string{}
	for _, f := range kept {
		if f.Kind == workloadKind {
			digests[f.Name] = f.Digest
		}
	}
	for _, w := range s.workloads {
		if digests[w.use.Name] != fmt.Sprintf("%x", sha256.Sum256([]byte(w.text))) {
			return fmt.Errorf("workload %s has changed since run %d; start a new run", w.use.Name, id)
		}
	}
	return nil
}

// workloadKind is the kind of the kept files that hold a run's workloads.
const workloadKind = "workload"

// bind gives the client child every workload for every variant.
func (s *setup) bind(ctx context.Context, c *remote) error {
	for _, v := range s.Variants() {
		b := s.builds[v.Build]
		for _, w := range s.workloads {
			err := c.Bind(ctx, bindRequest{
				Variant: v, Workload: w.use.Name, File: w.file, Text: w.text, Params: w.use.Params,
				Family: b.Family, Version: b.VersionNumber(), Clients: s.Clients[0],
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
