package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
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
		round := d.First + i
		for _, fleet := range fleets(d.Instruments, func(i lab.Instrument) bool { return w.Apart(i) || once(r, d) }) {
			c.phase("look into it, round %d of %d: %v", i+1, d.Rounds, fleet)
			if err := c.lookInto(ctx, r, d, w, round, fleet); err != nil {
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

// lookInto runs one round on servers that serve the given instruments.
func (c *Conductor) lookInto(ctx context.Context, r lab.Run, d Diagnosis, w Watcher, round int, instruments []lab.Instrument) error {
	watched := map[lab.SliceKey]lab.Slice{}
	for _, p := range phases(r, round, d.Open) {
		b := &blockRun{c: c, run: r, block: round, done: watched, earlier: map[lab.Variant]int{}}
		b.forget()
		err := b.lookInto(ctx, d, w, p, instruments)
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *blockRun) lookInto(ctx context.Context, d Diagnosis, w Watcher, p phase, instruments []lab.Instrument) (err error) {
	if b.fleet, err = b.c.newFleet(fmt.Sprintf("run%d-look%d", b.run.ID, b.block)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.fleet.end()) }()
	if w.Apart(instruments[0]) {
		b.fleet.watch = instruments[0]
	}
	if err := b.fleet.startAll(ctx, p.up); err != nil {
		return err
	}
	for v, why := range b.fleet.broken {
		if err := b.event(ctx, v, "%v", why); err != nil {
			return err
		}
	}
	for _, l := range p.legs {
		for _, v := range l.replay {
			b.replay(ctx, v, write{l.plan, l.plan.Ops * int64(l.plan.Slices)})
		}
		for i, set := range l.sets {
			if err := b.watchSet(ctx, d, w, l.plan, l.turns[0].Set+i, set, instruments); err != nil {
				return err
			}
		}
	}
	return nil
}

// watchSet watches one set of variants side by side, with one instrument after the other.
// Their order turns round with every instrument and round. Servers that take turns come
// twice in a round, and are watched the first time.
func (b *blockRun) watchSet(ctx context.Context, d Diagnosis, w Watcher, lp lab.LevelPlan, number int, set []lab.Variant, instruments []lab.Instrument) error {
	if err := b.fleet.only(set); err != nil {
		return err
	}
	sessions := map[lab.Variant]Session{}
	defer func() {
		for _, s := range sessions {
			s.Close()
		}
	}()
	for _, v := range set {
		if err := b.join(ctx, lp, v, nil, sessions); err != nil {
			return err
		}
	}
	order := slices.Clone(set)
	if b.block%2 == 1 {
		slices.Reverse(order)
	}
	for seq, i := range instruments {
		for _, v := range order {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if sess := sessions[v]; sess != nil {
				key := lab.SliceKey{Block: b.block, Set: number, Cell: lab.Cell{Variant: v, Step: lp.Level.Step, Clients: lp.Level.Clients}, Seq: seq, Kind: i.Kind()}
				if _, ok := b.done[key]; ok {
					continue
				}
				b.done[key] = lab.Slice{SliceKey: key}
				if err := b.watch(ctx, d, w, lp, Watched{i, key, b.fleet.servers[v], Connections{sess.Connections().IDs, threads(b.fleet.servers[v], sess)}}, sess, sessions); err != nil {
					return err
				}
			}
		}
		slices.Reverse(order)
	}
	return nil
}

// watch takes one slice under an instrument and stores what was seen.
func (b *blockRun) watch(ctx context.Context, d Diagnosis, w Watcher, lp lab.LevelPlan, x Watched, sess Session, sessions map[lab.Variant]Session) error {
	v := x.Key.Cell.Variant
	if x.Instrument == lab.Plans {
		o, err := w.Plans(ctx, x)
		return b.keep(ctx, w, x, o, err)
	}
	end, err := w.Begin(ctx, x)
	if err != nil {
		return b.keep(ctx, w, x, lab.Observation{}, err)
	}
	sl := lab.Slice{SliceKey: x.Key, Position: b.position, Start: time.Now()}
	b.position++
	// Nothing is discarded: what the instrument sees is what is counted.
	err = b.measure(ctx, stretched(lp, d.Slice), &sl, sess, 0)
	if err != nil {
		sl.Err = err.Error()
	}
	o, endErr := end(context.WithoutCancel(ctx), sl)
	if err != nil {
		if fatal := fatal(ctx, err); fatal != nil {
			return fatal
		}
		sess.Close()
		delete(sessions, v)
		return b.lost(ctx, v, fmt.Errorf("%s, %s: %w", lp.Level, x.Instrument, err))
	}
	if err := b.c.Store.AddSlice(context.WithoutCancel(ctx), b.run.ID, sl); err != nil {
		return fmt.Errorf("store slice: %w", err)
	}
	o.Ops, o.Wall = sl.Ops, sl.Wall
	return b.keep(ctx, w, x, o, endErr)
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
func (b *blockRun) keep(ctx context.Context, w Watcher, x Watched, o lab.Observation, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	o.Key = x.Key
	if err != nil {
		o.Notes = append(o.Notes, err.Error())
	}
	if err := w.Keep(ctx, b.run.ID, o); err != nil {
		return fmt.Errorf("store what %s showed of %s: %w", x.Instrument, x.Key.Cell, err)
	}
	return nil
}
