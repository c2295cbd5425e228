package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"backslide/lab"
)

// slack is how much longer than planned a slice may take before its server is taken to
// hang: it has to end long operations, and a loaded host stalls for seconds.
const slack = 60 * time.Second

// sessions are a level's open clients, by the variant whose server they use.
type sessions map[lab.Variant]Session

func (ss sessions) close() {
	for _, s := range ss {
		s.Close()
	}
}

// drop closes and forgets the clients of v.
func (ss sessions) drop(v lab.Variant) {
	ss[v].Close()
	delete(ss, v)
}

func (b *blockRun) open(ctx context.Context, v lab.Variant, s Server, w Work) (Session, error) {
	ctx, cancel := untilDead(ctx, s)
	defer cancel()
	sess, err := b.c.Client.Open(ctx, v, s.Socket(), w)
	if err != nil {
		return nil, cause(ctx, err)
	}
	return sess, nil
}

// slice runs one slice and ends it early when the server dies.
func (b *blockRun) slice(ctx context.Context, v lab.Variant, sess Session, spec Spec, measuring func()) (Outcome, error) {
	ctx, cancel := untilDead(ctx, b.fleet.servers[v])
	defer cancel()
	out, err := sess.Slice(ctx, spec, measuring)
	if err != nil {
		return out, cause(ctx, err)
	}
	return out, nil
}

// turn runs and stores one slice. What goes wrong with the server becomes the slice's
// reason, and v's later slices of the level carry it too.
func (b *blockRun) turn(ctx context.Context, lp lab.LevelPlan, k lab.SliceKey, ss sessions) error {
	v := k.Cell.Variant
	sl := lab.Slice{SliceKey: k, Position: b.position, Restart: b.restarts(v), Start: time.Now()}
	b.position++
	sess := ss[v]
	if sess == nil {
		sl.Err = "not run: no server"
		if why := b.fleet.broken[v]; why != nil {
			sl.Err = "not run: " + why.Error()
		}
		return b.store(ctx, lp, sl)
	}
	if err := b.measure(ctx, lp, &sl, sess, b.run.Plan.Discard); err != nil {
		if fatal := fatal(ctx, err); fatal != nil {
			return fatal // the user's or the client's, not the server's: nothing to store
		}
		ss.drop(v)
		sl.Err = err.Error()
		if err := b.store(ctx, lp, sl); err != nil {
			return err
		}
		return b.lost(ctx, v, fmt.Errorf("%s: %w", lp.Level, err))
	}
	return b.store(ctx, lp, sl)
}

// measure runs one slice and fills sl with what client and host say of it. A read slice
// has its beginning discarded.
func (b *blockRun) measure(ctx context.Context, lp lab.LevelPlan, sl *lab.Slice, sess Session, discard time.Duration) error {
	v := sl.Cell.Variant
	s := b.fleet.servers[v]
	spec := specOf(lp, *sl, discard)
	var usage func() (lab.Usage, error)
	var failed error
	seconds := func() ([]lab.Series, []lab.Reading) { return nil, nil }
	began := time.Now()
	out, err := b.slice(ctx, v, sess, spec, func() {
		if lp.Whole() {
			seconds = b.c.follow(ctx, v, s)
		}
		usage, failed = b.c.Meter(s.PID(), b.c.Client.PID(), threads(s, sess))
	})
	if err != nil {
		seconds()
		return into(lp, began, err)
	}
	if usage == nil {
		return errors.Join(errors.New("the client did not say when it began to measure"), failed)
	}
	if sl.Usage, err = usage(); err != nil {
		return err
	}
	observed, readings := seconds()
	late, notes, err := b.behind(ctx, lp, *sl, sess)
	if err != nil {
		return err
	}
	sl.Series, sl.Readings = append(out.Series, observed...), append(readings, late...)
	sl.Warnings = slices.Concat(out.Warnings, notes, b.doubts[v])
	sl.Age = out.Start.Sub(s.Ready()).Seconds()
	return fill(sl, out)
}

// specOf says how the slice of a level's plan is run.
func specOf(lp lab.LevelPlan, sl lab.Slice, discard time.Duration) Spec {
	if lp.Timed() {
		// Every set runs the same operations, so that all candidates do.
		return Spec{Seq: sl.Seq, Timeout: 20*lp.Slice + slack, Discard: discard, Duration: lp.Slice, Rate: lp.Rate}
	}
	spec := Spec{Seq: sl.Set*lp.Slices + sl.Seq, Timeout: 20*lp.Slice + slack, Ops: lp.Ops, Clock: sl.Kind == lab.Measured}
	if lp.Whole() {
		spec.Timeout = lp.Limit + slack
	}
	return spec
}

// behind asks the server what it alone knows of the slice that has just ended, and of the
// level with its last one: behind all that is measured, since asking is work too.
func (b *blockRun) behind(ctx context.Context, lp lab.LevelPlan, sl lab.Slice, sess Session) (readings []lab.Reading, notes []string, err error) {
	if sl.Kind != lab.Measured {
		return nil, nil, nil
	}
	if !lp.Timed() {
		r, note, err := sess.ServerTime(ctx)
		if err != nil {
			return nil, nil, err
		}
		if r.Name != "" {
			readings = append(readings, r)
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	if b.c.Account != nil && !lp.Whole() && sl.Seq == lp.Slices-1 {
		readings = append(readings, b.c.Account(ctx, b.fleet.servers[sl.Cell.Variant])...)
	}
	return readings, notes, nil
}

// fill copies into sl what the client measured. A slice in which nothing ended is an error.
func fill(sl *lab.Slice, out Outcome) error {
	sl.Start, sl.Wall, sl.Ops, sl.Rows, sl.Retries = out.Start, out.Wall, out.Ops, out.Rows, out.Retries
	sl.Offered, sl.Behind, sl.Latency = out.Offered, out.Behind, out.Latency
	sl.P50, sl.P95, sl.P99 = out.P50, out.P95, out.P99
	sl.Errors, sl.Hist, sl.Parts = out.Errors, out.Hist, out.Parts
	sl.Usage.ClientUser, sl.Usage.ClientSystem = out.ClientUser, out.ClientSys
	if out.Apart && sl.Usage.HostBusy >= 0 {
		// The meter knows our client's process only.
		sl.Usage.HostBusy = max(0, sl.Usage.HostBusy-out.ClientUser-out.ClientSys)
	}
	if out.Ops == 0 {
		return errors.New("no operation ended in the slice")
	}
	return nil
}

// threads returns the server's threads that serve a session; nil: not known.
func threads(s Server, sess Session) []int {
	if t := sess.Connections().Threads; t != nil {
		return t
	}
	return s.Serving()
}

// restarts is how often the block's server of v was started before the one it has now.
func (b *blockRun) restarts(v lab.Variant) int {
	return b.earlier[v] + max(0, b.fleet.starts[v]-1)
}

// store keeps a slice and tells of it. It runs between slices, so it is to be short.
func (b *blockRun) store(ctx context.Context, lp lab.LevelPlan, sl lab.Slice) error {
	// A slice that has ended is kept even if the user has just stopped the run.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := b.c.Store.AddSlice(ctx, b.run.ID, sl); err != nil {
		return fmt.Errorf("store slice: %w", err)
	}
	b.added = append(b.added, sl)
	b.done[sl.SliceKey] = sl
	b.left -= lp.Slice + b.run.Plan.Discard
	if b.c.Events.Slice != nil {
		b.c.Events.Slice(sl, len(b.done), b.total, max(0, b.left))
	}
	return nil
}

// lost notes that v's server is of no more use at this level, and ends it.
func (b *blockRun) lost(ctx context.Context, v lab.Variant, why error) error {
	b.fleet.fail(v, why)
	return b.event(ctx, v, "%s: %v", v, why)
}

// only lets the servers of the given variants run and keeps all others still. One that
// cannot be is lost; the others go on.
func (b *blockRun) only(ctx context.Context, vs []lab.Variant) error {
	return b.lose(ctx, b.fleet.only(vs))
}

// lose is lost for several.
func (b *blockRun) lose(ctx context.Context, why map[lab.Variant]error) error {
	for _, v := range b.run.Variants {
		if err := why[v]; err != nil {
			if err := b.lost(ctx, v, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// work is what v executes at a level. Only sides that Plan.Inject slows down differ.
func (b *blockRun) work(lp lab.LevelPlan, v lab.Variant) Work {
	w := Work{Level: lp.Level, Seed: b.run.Plan.Seed, Block: b.block}
	if in := b.run.Plan.Inject; in > 0 && v.Copy > 0 || in < 0 && v == b.run.Variants[0] {
		w.Spin = lp.Spin
	}
	return w
}

// fatal returns the error that ends the run, if err is not the server's doing.
func fatal(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil {
		return why
	}
	if errors.Is(err, ErrClient) {
		return err
	}
	return nil
}
