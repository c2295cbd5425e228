package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"backslide/lab"
	"backslide/probe/plan"
	"backslide/probe/stacks"
	"backslide/probe/waits"
	"backslide/run"
	"backslide/store"
)

// The kinds of kept files of a diagnosis.
const (
	observationKind = "observation" // JSON of a lab.Observation
	stacksKind      = "stacks"      // pprof, gzipped
)

// watcher looks into servers for the conductor. It is a run.Watcher.
type watcher struct {
	run     int64
	seed    uint64
	store   *store.Store
	setup   *setup
	symbols string // the user's directory with files of symbols; "": none
	sampler sampler
}

func newWatcher(w *wiring, s *setup, r lab.Run, callGraph string) *watcher {
	event := "cpu-clock"
	if r.Host.HardwareCycles {
		event = "cycles"
	}
	return &watcher{
		run: r.ID, seed: r.Plan.Seed, store: w.store, setup: s, symbols: w.symbols,
		sampler: sampler{dir: w.dir, event: event, callGraph: callGraph, guard: w.guard},
	}
}

// Apart is run.Watcher's: the timing of waits is switched on at the server's start.
func (w *watcher) Apart(i lab.Instrument) bool { return i == lab.Waits }

// Begin is run.Watcher's.
func (w *watcher) Begin(ctx context.Context, x run.Watched) (func(context.Context, lab.Slice) (lab.Observation, error), error) {
	switch x.Instrument {
	case lab.Plain, lab.Waits:
		return w.counts(ctx, x)
	case lab.Stacks:
		return w.stacks(ctx, x)
	}
	return nil, fmt.Errorf("no instrument %q", x.Instrument)
}

// counts reads what the server has counted, before and after: of its waits too, if it was
// started to time them.
func (w *watcher) counts(ctx context.Context, x run.Watched) (func(context.Context, lab.Slice) (lab.Observation, error), error) {
	db, err := openSide(x.Server, "")
	if err != nil {
		return nil, err
	}
	conns := numbers(x.Conns.IDs)
	asked := func(ctx context.Context, do func(waits.Query) error) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return do(waits.On(conn))
	}
	take := func(ctx context.Context) (s waits.Snapshot, err error) {
		err = asked(ctx, func(ask waits.Query) (err error) {
			if x.Instrument == lab.Waits {
				s, err = waits.Take(ctx, ask, conns)
			} else {
				s, err = waits.TakeCounters(ctx, ask)
			}
			return err
		})
		return s, err
	}
	a, err := take(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return func(ctx context.Context, sl lab.Slice) (lab.Observation, error) {
		defer db.Close()
		if sl.Err != "" {
			return lab.Observation{}, nil
		}
		b, err := take(ctx)
		if err != nil {
			return lab.Observation{}, err
		}
		d := waits.Between(a, b, sl.Ops)
		o := lab.Observation{
			Events: d.Events, Idle: d.Idle, Around: d.Around, Others: d.Others, Stages: d.Stages, Statements: d.Statements, Digests: d.Digests,
			Tables: d.Tables, FileIO: d.Files, Counters: d.Counters, Notes: d.Notes,
		}
		if x.Instrument == lab.Plain {
			if err := asked(ctx, func(ask waits.Query) (err error) { o.OldestTrx, err = waits.Oldest(ctx, ask, conns); return err }); err != nil {
				o.Notes = append(o.Notes, err.Error())
			}
		}
		return o, nil
	}, nil
}

func numbers(ids []uint32) []uint64 {
	out := make([]uint64, len(ids))
	for i, id := range ids {
		out[i] = uint64(id)
	}
	return out
}

// stacks samples call stacks.
func (w *watcher) stacks(ctx context.Context, x run.Watched) (func(context.Context, lab.Slice) (lab.Observation, error), error) {
	end, err := w.sampler.start(ctx, x.Server.PID())
	if err != nil {
		return nil, err
	}
	names := &stacks.Files{Debug: symbolDirs(w.symbols, w.setup.builds[x.Key.Cell.Variant.Build])}
	return func(ctx context.Context, sl lab.Slice) (lab.Observation, error) {
		selections := []stacks.Select{{Name: names.Name}}
		if len(x.Conns.Threads) > 0 {
			selections = append(selections, stacks.Select{TIDs: x.Conns.Threads, Name: names.Name})
		}
		seen, err := end(ctx, selections...)
		if err != nil || sl.Err != "" {
			return lab.Observation{}, err
		}
		all := seen.profiles[0]
		all.BuildIDs = names.BuildIDs()
		o := lab.Observation{Unknown: all.UnknownShare(), Nameless: nameless(all), Notes: seen.notes}
		family := w.setup.builds[x.Key.Cell.Variant.Build].Family
		cpu := (sl.Usage.ServerUser + sl.Usage.ServerSystem) / float64(sl.Ops)
		clients, conn := all, cpu
		if len(seen.profiles) > 1 && sl.Usage.ConnCPU >= 0 {
			clients, conn = seen.profiles[1], sl.Usage.ConnCPU/float64(sl.Ops)
			o.Background = without(amounts(all, cpu), amounts(clients, conn))
		}
		o.Functions = amounts(clients, conn)
		if total := clients.Total().Weight; total > 0 {
			for _, s := range clients.Spins(stacks.Spinners(family)) {
				name := s.Function + ", " + s.On
				if s.In != "" {
					name += ", in " + s.In
				}
				o.Spins = append(o.Spins, lab.Amount{Name: name, Value: conn * s.Amount.Weight / total})
			}
		}
		const few = 200
		if n := all.Total().Samples; n < few {
			o.Notes = append(o.Notes, fmt.Sprintf("only %d samples of stacks; lengthen the slices of the diagnosis", n))
		}
		var b bytes.Buffer
		if err := all.WritePprof(&b); err != nil {
			return o, err
		}
		name := fileName(x.Key)
		_, err = w.store.Keep(ctx, w.run, stacksKind, name, &b)
		o.Files = append(o.Files, name)
		return o, err
	}, nil
}

// without returns all less part, name by name; what comes to nothing is left out.
func without(all, part []lab.Amount) []lab.Amount {
	of := map[string]float64{}
	for _, a := range part {
		of[a.Name] = a.Value
	}
	var out []lab.Amount
	for _, a := range all {
		if a.Value -= of[a.Name]; a.Value > 0 {
			out = append(out, a)
		}
	}
	return out
}

// Plans is run.Watcher's.
func (w *watcher) Plans(ctx context.Context, x run.Watched) (lab.Observation, error) {
	v, step := x.Key.Cell.Variant, x.Key.Cell.Step
	i := slices.IndexFunc(w.setup.workloads, func(u workload) bool { return u.use.Name == step.Workload })
	if i < 0 {
		return lab.Observation{}, fmt.Errorf("no workload %s", step.Workload)
	}
	p := w.setup.programs[v][i]
	db, err := openSide(x.Server, p.Target.Schema)
	if err != nil {
		return lab.Observation{}, err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return lab.Observation{}, err
	}
	defer conn.Close()
	var o lab.Observation
	build := w.setup.builds[v.Build]
	for _, text := range p.Examples(step.Name, w.seed, x.Key.Block, x.Key.Cell.Clients) {
		sp, ok, err := explainStatement(ctx, conn, build, text)
		if err != nil {
			o.Notes = append(o.Notes, fmt.Sprintf("no plan of %s: %v", text, err))
		}
		if ok {
			o.Plans = append(o.Plans, sp)
		}
	}
	return o, nil
}

// explainStatement asks for a statement's plan: first in the form that says most about
// how its tables are accessed, then, if that changes nothing, by having it run, for the
// rows that it reads. It returns false for statements that have no plan.
func explainStatement(ctx context.Context, conn *sql.Conn, b lab.Build, text string) (lab.StatementPlan, bool, error) {
	sp := lab.StatementPlan{Statement: text, RowsExamined: plan.Unknown}
	var first error
	for _, st := range plan.Statements(b.Family, b.VersionNumber(), text) {
		if sp.Tree != "" && !st.Executes {
			continue
		}
		n, err := askPlan(ctx, conn, st)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		if sp.Tree == "" {
			sp.Tree = n.String()
			if sp.Node, err = json.Marshal(n); err != nil {
				return sp, false, err
			}
		}
		if rows, ok := n.RowsExamined(); ok {
			sp.RowsExamined, sp.Actual = rows, true
			break
		}
	}
	if sp.Tree == "" {
		return sp, false, first
	}
	return sp, true, nil
}

func askPlan(ctx context.Context, conn *sql.Conn, st plan.Statement) (*plan.Node, error) {
	for _, before := range st.Before {
		if _, err := conn.ExecContext(ctx, before); err != nil {
			return nil, fmt.Errorf("%s: %w", before, err)
		}
	}
	columns, rows, err := waits.On(conn)(ctx, st.SQL)
	if err != nil {
		return nil, err
	}
	return plan.Parse(columns, rows)
}

// openSide opens a pool of connections to a server that is being watched.
func openSide(s run.Server, schema string) (*sql.DB, error) {
	x, ok := s.(*side)
	if !ok {
		return nil, fmt.Errorf("a server of type %T cannot be asked", s)
	}
	return x.DB(schema)
}

// Keep is run.Watcher's.
func (w *watcher) Keep(ctx context.Context, id int64, o lab.Observation) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = w.store.Keep(ctx, id, observationKind, fileName(o.Key), bytes.NewReader(b))
	return err
}

// fileName is the label of what is kept of a slice.
func fileName(k lab.SliceKey) string {
	return fmt.Sprintf("round %d set %d %s %s", k.Block+1, k.Set, k.Cell, k.Kind)
}

// isOf reports whether a label, as fileName makes them, is of a cell's slice.
func isOf(label string, c lab.Cell) bool {
	var round, set int
	if _, err := fmt.Sscanf(label, "round %d set %d ", &round, &set); err != nil {
		return false
	}
	kind := label[strings.LastIndexByte(label, ' ')+1:]
	return label == fmt.Sprintf("round %d set %d %s %s", round, set, c, kind)
}
