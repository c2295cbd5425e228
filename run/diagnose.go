package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"backslide/lab"
)

// Diagnosis says what is to be looked at in a run whose verdicts are there.
type Diagnosis struct {
	Open        Open             // which candidates, at which levels
	Instruments []lab.Instrument // Plain should be among them
	First       int              // number of the first round, after those of earlier diagnoses
	Rounds      int              // every variant is started afresh in each
	Slice       time.Duration    // of slices at least, those that write by whole multiples of their operations
}

// Watched is a cell's server with the clients of a level connected, about to be watched.
type Watched struct {
	Instrument lab.Instrument
	Key        lab.SliceKey // of the slice; Plans has none, and is not watched
	Server     Server
	Conns      Connections
}

// Watcher looks into servers.
type Watcher interface {
	// Begin returns when the instrument watches. What it returns is called once, after
	// the slice, and says what was seen during it; the slice is that of the observation.
	Begin(ctx context.Context, w Watched) (func(context.Context, lab.Slice) (lab.Observation, error), error)
	// Plans asks how the server would execute the step's statements.
	Plans(ctx context.Context, w Watched) (lab.Observation, error)
	// Apart reports whether the instrument needs servers that were started for it.
	Apart(i lab.Instrument) bool
	// Keep stores an observation.
	Keep(ctx context.Context, run int64, o lab.Observation) error
}

// Diagnose watches the cells of a run that d names, round after round, each on servers
// that were started afresh. Its slices have kinds of their own and enter no comparison.
// What an instrument cannot do becomes a note of its observations; a server that fails is
// an event of the run.
func (c *Conductor) Diagnose(ctx context.Context, r lab.Run, d Diagnosis, w Watcher) error {
	for i := range d.Rounds {
		for _, fleet := range fleets(d.Instruments, func(i lab.Instrument) bool { return w.Apart(i) || once(r, d) }) {
			c.phase("watch, round %d of %d: %s", i+1, d.Rounds, strings.Trim(fmt.Sprint(fleet), "[]"))
			b := &blockRun{c: c, run: r, block: d.First + i, done: map[lab.SliceKey]lab.Slice{}, earlier: map[lab.Variant]int{}}
			k := look{blockRun: b, diagnosis: d, watcher: w, instruments: fleet}
			if err := k.round(ctx); err != nil {
				return fmt.Errorf("diagnose, round %d: %w", i+1, err)
			}
		}
	}
	return nil
}

// fleets parts instruments into those that can share a server, and those that cannot.
func fleets(all []lab.Instrument, apart func(lab.Instrument) bool) [][]lab.Instrument {
	var out [][]lab.Instrument
	var together []lab.Instrument
	for _, i := range all {
		if apart(i) {
			out = append(out, []lab.Instrument{i})
		} else {
			together = append(together, i)
		}
	}
	if len(together) > 0 {
		out = append([][]lab.Instrument{together}, out...)
	}
	return out
}

// once reports whether something is to be watched that a server can do only once.
func once(r lab.Run, d Diagnosis) bool {
	return slices.ContainsFunc(r.Levels, func(l lab.LevelPlan) bool {
		return l.Whole() && slices.ContainsFunc(r.Variants, func(v lab.Variant) bool { return d.Open(l.Level, v) })
	})
}

// look is one round of a diagnosis, on servers that serve its instruments.
type look struct {
	*blockRun
	diagnosis   Diagnosis
	watcher     Watcher
	instruments []lab.Instrument
}

// round runs all phases of the look. What a phase has watched, none watches again.
func (k *look) round(ctx context.Context) error {
	for _, p := range phases(k.run, k.block, k.diagnosis.Open) {
		k.forget()
		if err := k.watchPhase(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// watchPhase starts servers, watches them at each level, and ends them.
func (k *look) watchPhase(ctx context.Context, p phase) (err error) {
	if k.fleet, err = k.c.newFleet(fmt.Sprintf("run%d-look%d", k.run.ID, k.block)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.fleet.end()) }()
	if k.watcher.Apart(k.instruments[0]) {
		k.fleet.watch = k.instruments[0]
	}
	if err := k.fleet.startAll(ctx, p.up); err != nil {
		return err
	}
	for v, why := range k.fleet.broken {
		if err := k.event(ctx, v, "%v", why); err != nil {
			return err
		}
	}
	for _, l := range p.legs {
		for _, v := range l.replay {
			if err := k.replay(ctx, v, write{l.plan, l.plan.Ops * int64(l.plan.Slices)}); err != nil {
				return err
			}
		}
		for i, set := range l.sets {
			if err := k.watchSet(ctx, l.plan, l.turns[0].Set+i, set); err != nil {
				return err
			}
		}
	}
	return nil
}

// watchSet watches one set of variants side by side, with one instrument after the other.
// Their order turns round with every instrument and round. Servers that take turns come
// twice in a round, and are watched the first time.
func (k *look) watchSet(ctx context.Context, lp lab.LevelPlan, number int, set []lab.Variant) error {
	if err := k.only(ctx, set); err != nil {
		return err
	}
	ss := sessions{}
	defer ss.close()
	for _, v := range set {
		if err := k.join(ctx, lp, v, nil, ss); err != nil {
			return err
		}
	}
	order := slices.Clone(set)
	if k.block%2 == 1 {
		slices.Reverse(order)
	}
	for seq, i := range k.instruments {
		for _, v := range order {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			cell := lab.Cell{Variant: v, Step: lp.Level.Step, Clients: lp.Level.Clients}
			key := lab.SliceKey{Block: k.block, Set: number, Cell: cell, Seq: seq, Kind: i.Kind()}
			if _, seen := k.done[key]; seen || ss[v] == nil {
				continue
			}
			k.done[key] = lab.Slice{SliceKey: key}
			if err := k.watch(ctx, lp, k.watched(i, key, ss[v]), ss); err != nil {
				return err
			}
		}
		slices.Reverse(order)
	}
	return nil
}

// watched is what an instrument is shown.
func (k *look) watched(i lab.Instrument, key lab.SliceKey, sess Session) Watched {
	s := k.fleet.servers[key.Cell.Variant]
	return Watched{i, key, s, Connections{sess.Connections().IDs, threads(s, sess)}}
}

// watch takes one slice under an instrument and stores what was seen.
func (k *look) watch(ctx context.Context, lp lab.LevelPlan, x Watched, ss sessions) error {
	v := x.Key.Cell.Variant
	if x.Instrument == lab.Plans {
		o, err := k.watcher.Plans(ctx, x)
		return k.keep(ctx, x, o, err)
	}
	end, err := k.watcher.Begin(ctx, x)
	if err != nil {
		return k.keep(ctx, x, lab.Observation{}, err)
	}
	sl := lab.Slice{SliceKey: x.Key, Position: k.position, Start: time.Now()}
	k.position++
	// Nothing is discarded: what the instrument sees is what is counted.
	err = k.measure(ctx, stretched(lp, k.diagnosis.Slice), &sl, ss[v], 0)
	if err != nil {
		sl.Err = err.Error()
	}
	o, endErr := end(context.WithoutCancel(ctx), sl)
	if err != nil {
		if fatal := fatal(ctx, err); fatal != nil {
			return fatal
		}
		ss.drop(v)
		return k.lost(ctx, v, fmt.Errorf("%s, %s: %w", lp.Level, x.Instrument, err))
	}
	if err := k.c.Store.AddSlice(context.WithoutCancel(ctx), k.run.ID, sl); err != nil {
		return fmt.Errorf("store slice: %w", err)
	}
	o.Ops, o.Wall = sl.Ops, sl.Wall
	return k.keep(ctx, x, o, endErr)
}

// stretched returns lp with slices of length d at least.
func stretched(lp lab.LevelPlan, d time.Duration) lab.LevelPlan {
	if lp.Slice <= 0 || lp.Slice >= d || lp.Whole() {
		return lp
	}
	if !lp.Timed() {
		n := int64(math.Ceil(float64(d) / float64(lp.Slice)))
		lp.Ops *= n
		d = lp.Slice * time.Duration(n)
	}
	lp.Slice = d
	return lp
}

// keep stores an observation; what went wrong with the instrument is a note of it.
func (k *look) keep(ctx context.Context, x Watched, o lab.Observation, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	o.Key = x.Key
	if err != nil {
		o.Notes = append(o.Notes, err.Error())
	}
	if err := k.watcher.Keep(ctx, k.run.ID, o); err != nil {
		return fmt.Errorf("store what %s showed of %s: %w", x.Instrument, x.Key.Cell, err)
	}
	return nil
}
