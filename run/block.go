package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"backslide/lab"
)

// startTime is about how long a server takes to be there, on a clone of its data.
const startTime = 1500 * time.Millisecond

// longestWarm is the longest slice of fixed work that is run once more to warm a server up.
const longestWarm = 2 * time.Second

// blockRun is the execution of one block.
type blockRun struct {
	c      *Conductor
	run    lab.Run
	block  int
	phases []phase
	done   map[lab.SliceKey]lab.Slice // stored by an earlier, interrupted execution

	fleet    *fleet
	earlier  map[lab.Variant]int      // restarts that stored slices say were before this execution
	wrote    map[lab.Variant][]write  // unmeasured and measured writes so far, for repeats
	unquiet  map[lab.Variant][]string // doubts about the state that warm-ups were run in, for what is measured next
	doubts   map[lab.Variant][]string // and about that of the level that is measured
	position int
	added    []lab.Slice
	total    int           // slices of the block
	left     time.Duration // that its missing slices are expected to take
}

// turns are all slices of the block, in order.
func (b *blockRun) turns() iter.Seq2[lab.SliceKey, leg] {
	return func(yield func(lab.SliceKey, leg) bool) {
		for _, p := range b.phases {
			for _, l := range p.legs {
				for _, k := range l.turns {
					if !yield(k, l) {
						return
					}
				}
			}
		}
	}
}

// complete reports whether every slice of the block is stored.
func (b *blockRun) complete() bool {
	for _, p := range b.phases {
		if !b.finished(p) {
			return false
		}
	}
	return true
}

// finished reports whether every slice of a phase is stored.
func (b *blockRun) finished(p phase) bool {
	for _, l := range p.legs {
		for _, k := range l.turns {
			if _, ok := b.done[k]; !ok {
				return false
			}
		}
	}
	return true
}

// expected is about how long the block will take.
func (b *blockRun) expected() time.Duration {
	var d time.Duration
	for k, l := range b.turns() {
		if _, ok := b.done[k]; !ok {
			d += l.plan.Slice + b.run.Plan.Discard
		}
	}
	for _, p := range b.phases {
		d += b.overhead(p)
	}
	return d
}

// overhead is about how long a phase takes beside its slices.
func (b *blockRun) overhead(p phase) time.Duration {
	d := time.Duration(len(p.up)) * startTime
	for _, l := range p.legs {
		if l.plan.Timed() {
			for _, set := range l.sets {
				d += time.Duration(len(set)) * b.run.Plan.Warm
			}
		}
	}
	return d
}

// execute runs the block's missing slices and returns them. Everything that a server
// does wrong ends up in slices and events; an error is one that ends the run.
func (b *blockRun) execute(ctx context.Context) (_ []lab.Slice, err error) {
	b.earlier = map[lab.Variant]int{}
	for k, s := range b.done {
		b.earlier[k.Cell.Variant] = max(b.earlier[k.Cell.Variant], s.Restart+1)
	}
	b.position = len(b.done)
	b.left = b.expected()
	for range b.turns() {
		b.total++
	}
	if len(b.done) > 0 {
		if err := b.event(ctx, lab.Variant{}, "resumed after %d slices", len(b.done)); err != nil {
			return nil, err
		}
	}
	for _, p := range b.phases {
		if b.finished(p) {
			continue
		}
		if err := b.phase(ctx, p); err != nil {
			return b.added, err
		}
	}
	return b.added, nil
}

// phase starts servers, runs their legs, and ends them.
func (b *blockRun) phase(ctx context.Context, p phase) (err error) {
	b.forget()
	if b.fleet, err = b.c.newFleet(fmt.Sprintf("run%d-block%d", b.run.ID, b.block)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.fleet.end()) }()
	order := slices.Clone(p.up)
	if b.run.Plan.Confirms > 0 {
		// Who starts first has the first directory, port and pages of the disk.
		slices.Reverse(order)
	}
	if err := b.fleet.startAll(ctx, order); err != nil {
		return err
	}
	b.left -= b.overhead(p)
	if err := b.sides(ctx); err != nil {
		return err
	}
	for _, l := range p.legs {
		if err := b.leg(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// forget has b know nothing of what servers have executed: there are fresh ones.
func (b *blockRun) forget() {
	b.wrote = map[lab.Variant][]write{}
	b.unquiet, b.doubts = map[lab.Variant][]string{}, map[lab.Variant][]string{}
}

// sides stores what the servers say of themselves, and events for those that do not start.
func (b *blockRun) sides(ctx context.Context) error {
	for v, s := range b.fleet.servers {
		if known := b.run.Sides[v.String()]; known != nil && known.Settings != nil {
			continue
		}
		side, err := s.Side(ctx)
		if err != nil {
			b.fleet.fail(v, fmt.Errorf("read the settings of %s: %w", v, err))
			continue
		}
		if err := b.c.Store.SetSide(ctx, b.run.ID, v, side); err != nil {
			return err
		}
		b.run.Sides[v.String()] = &side
	}
	for v, why := range b.fleet.broken {
		if err := b.event(ctx, v, "%v", why); err != nil {
			return err
		}
	}
	return nil
}

func (b *blockRun) event(ctx context.Context, v lab.Variant, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	b.c.note("block %d: %s", b.block+1, text)
	return b.c.Store.AddEvent(ctx, b.run.ID, b.block, v, text)
}

// leg runs one level: repeats of writes, then set after set of mirrored slices.
func (b *blockRun) leg(ctx context.Context, l leg) error {
	for _, v := range l.replay {
		if err := b.replay(ctx, v, write{l.plan, l.plan.Ops * int64(l.plan.Slices)}); err != nil {
			return err
		}
	}
	first := 0
	if len(l.turns) > 0 {
		first = l.turns[0].Set
	}
	for i, set := range l.sets {
		var turns []lab.SliceKey
		missing := false
		for _, k := range l.turns {
			if k.Set == first+i {
				turns = append(turns, k)
				_, ok := b.done[k]
				missing = missing || !ok
			}
		}
		if !missing && l.plan.Read {
			continue
		}
		if err := b.set(ctx, l.plan, set, turns); err != nil {
			return err
		}
	}
	return nil
}

// set runs the turns of one set of variants, which are up and connected side by side.
func (b *blockRun) set(ctx context.Context, lp lab.LevelPlan, set []lab.Variant, turns []lab.SliceKey) error {
	if err := b.reviveAll(ctx, set); err != nil {
		return err
	}
	if lp.Whole() {
		return b.whole(ctx, lp, turns)
	}
	if err := b.only(ctx, set); err != nil {
		return err
	}
	ss := sessions{}
	defer ss.close()
	for _, v := range set {
		if err := b.join(ctx, lp, v, turns, ss); err != nil {
			return err
		}
	}
	for _, k := range turns {
		if _, ok := b.done[k]; ok {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := b.turn(ctx, lp, k, ss); err != nil {
			return err
		}
	}
	if lp.Read {
		return nil
	}
	for _, v := range set {
		if sess := ss[v]; sess != nil {
			if err := b.rest(ctx, lp, v, sess, turns); err != nil {
				return err
			}
		}
		b.wrote[v] = append(b.wrote[v], write{lp, lp.Ops * int64(lp.Slices)})
	}
	return nil
}

// join connects v's clients, repeats the writes that an interrupted execution had
// already measured, and warms v up.
func (b *blockRun) join(ctx context.Context, lp lab.LevelPlan, v lab.Variant, turns []lab.SliceKey, ss sessions) error {
	s := b.fleet.servers[v]
	if s == nil {
		return nil
	}
	sess, err := b.open(ctx, v, s, b.work(lp, v))
	if err != nil {
		if fatal := fatal(ctx, err); fatal != nil {
			return fatal
		}
		return b.lost(ctx, v, fmt.Errorf("connect %d clients for %s: %w", lp.Level.Clients, lp.Level, err))
	}
	ss[v] = sess
	b.doubts[v] = append(b.unquiet[v], sess.Notes()...)
	delete(b.unquiet, v)
	for _, note := range b.doubts[v] {
		if err := b.event(ctx, v, "%s on %s: %s", lp.Level, v, note); err != nil {
			return err
		}
	}
	spec := Spec{Seq: lp.Slices, Duration: b.run.Plan.Warm, Timeout: b.run.Plan.Warm + slack}
	if !lp.Timed() {
		before := b.before(v, turns)
		if lp.Read && lp.Slice <= longestWarm {
			before++ // the data stay as they are, and caches are warm then
		}
		spec = write{lp, before * lp.Ops}.spec()
	}
	if spec.Ops == 0 && spec.Duration == 0 {
		return nil
	}
	if _, err := b.slice(ctx, v, sess, spec, func() {}); err != nil {
		if fatal := fatal(ctx, err); fatal != nil {
			return fatal
		}
		ss.drop(v)
		return b.lost(ctx, v, fmt.Errorf("warm up %s: %w", lp.Level, err))
	}
	return nil
}
