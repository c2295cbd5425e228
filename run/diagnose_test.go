package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"backslide/lab"
)

// simWatcher notes what it is asked for.
type simWatcher struct {
	l    *lot
	log  []string
	kept []lab.Observation
	fail lab.Instrument
}

func (w *simWatcher) Apart(i lab.Instrument) bool { return i == lab.Waits }

func (w *simWatcher) Begin(_ context.Context, x Watched) (func(context.Context, lab.Slice) (lab.Observation, error), error) {
	if x.Instrument == w.fail {
		return nil, errors.New("not here")
	}
	if got := x.Server.(*simServer).watch; (got != "") != w.Apart(x.Instrument) || got != "" && got != x.Instrument {
		w.l.t.Errorf("%s watches a server that was started for %q", x.Instrument, got)
	}
	if len(x.Conns.IDs) != x.Key.Cell.Clients {
		w.l.t.Errorf("%d connections, want %d", len(x.Conns.IDs), x.Key.Cell.Clients)
	}
	w.log = append(w.log, fmt.Sprintf("%d %s %s", x.Key.Block, x.Instrument, x.Key.Cell))
	return func(_ context.Context, s lab.Slice) (lab.Observation, error) {
		if s.Ops == 0 || s.SliceKey != x.Key {
			w.l.t.Errorf("the end is told of slice %+v, begun was %+v", s, x.Key)
		}
		return lab.Observation{}, nil
	}, nil
}

func (w *simWatcher) Plans(_ context.Context, x Watched) (lab.Observation, error) {
	return lab.Observation{Plans: []lab.StatementPlan{{Statement: x.Key.Cell.String()}}}, nil
}

func (w *simWatcher) Keep(_ context.Context, _ int64, o lab.Observation) error {
	w.kept = append(w.kept, o)
	return nil
}

// TestDiagnose: every cell is seen with every instrument in every round, on servers that
// were started for it, and nothing of it is taken for a measurement.
func TestDiagnose(t *testing.T) {
	l := newLot(t)
	r := simRun("a", "b", "c")
	c := l.conductor(t.TempDir(), func(string) int { return 1 })
	if err := c.Prepare(t.Context(), r.Variants); err != nil {
		t.Fatal(err)
	}
	w := &simWatcher{l: l, fail: lab.Stacks}
	d := Diagnosis{
		Open:        func(lv lab.Level, v lab.Variant) bool { return lv.Step.Name == "s" && v == r.Variants[1] },
		Instruments: []lab.Instrument{lab.Plain, lab.Stacks, lab.Plans, lab.Waits}, First: 3, Rounds: 2, Slice: time.Second,
	}
	if err := c.Diagnose(t.Context(), r, d, w); err != nil {
		t.Fatal(err)
	}
	if l.up != 0 {
		t.Errorf("%d servers are still up", l.up)
	}
	a, b := r.Variants[0], r.Variants[1]
	cell := func(round int, i lab.Instrument, v lab.Variant) string {
		return fmt.Sprintf("%d %s %s", round, i, lab.Cell{Variant: v, Step: lab.Step{Workload: "w", Name: "s"}, Clients: 1})
	}
	want := []string{
		cell(3, lab.Plain, b), cell(3, lab.Plain, a), cell(3, lab.Waits, b), cell(3, lab.Waits, a),
		cell(4, lab.Plain, a), cell(4, lab.Plain, b), cell(4, lab.Waits, a), cell(4, lab.Waits, b),
	}
	if !slices.Equal(w.log, want) {
		t.Errorf("watched\n%q, want\n%q", w.log, want)
	}
	if len(w.kept) != 16 { // two sides, four instruments, two rounds
		t.Errorf("%d observations, want 16", len(w.kept))
	}
	for _, o := range w.kept {
		if failed := o.Key.Kind == lab.Stacks.Kind(); failed != (len(o.Notes) > 0) {
			t.Errorf("%+v: a note where the instrument failed, and only there", o)
		}
	}
	// The write level before it in the workload left its rows on both.
	for k, data := range l.observed {
		if k.Kind == lab.Measured {
			t.Errorf("%+v counts as measured", k)
		}
		if data == "" {
			t.Errorf("%+v does not find what earlier levels wrote", k)
		}
	}
	if l.ended {
		t.Error("the run was ended again")
	}
}

// TestDiagnoseApart: servers that do not fit in memory together are watched too, each
// cell once in a round, and the base once with each set of candidates.
func TestDiagnoseApart(t *testing.T) {
	for _, c := range []struct{ together, group, want int }{
		{0, 4, 7},  // five candidates in sets of three: the base is in both
		{0, 2, 10}, // in pairs
		{2, 4, 10}, // in pairs that are up together
		{1, 4, 6},  // one after the other
	} {
		l := newLot(t)
		r := simRun("a", "b", "c", "d", "e", "f")
		r.Plan.Together, r.Plan.GroupSize = c.together, c.group
		con := l.conductor(t.TempDir(), func(string) int { return 1 })
		if err := con.Prepare(t.Context(), r.Variants); err != nil {
			t.Fatal(err)
		}
		w := &simWatcher{l: l}
		d := Diagnosis{Open: func(lv lab.Level, _ lab.Variant) bool { return lv.Step.Name == "r" }, Instruments: []lab.Instrument{lab.Plain}, Rounds: 1}
		if err := con.Diagnose(t.Context(), r, d, w); err != nil {
			t.Fatalf("%d together: %v", c.together, err)
		}
		if len(l.slices) != c.want {
			t.Errorf("%d together in groups of %d: %d slices, want %d", c.together, c.group, len(l.slices), c.want)
		}
	}
}

func TestStretched(t *testing.T) {
	read := lab.LevelPlan{Read: true, Slice: 200 * time.Millisecond}
	writes := lab.LevelPlan{Slice: 400 * time.Millisecond, Ops: 50}
	if got := stretched(read, time.Second); got.Slice != time.Second || got.Ops != 0 {
		t.Errorf("read: %+v", got)
	}
	if got := stretched(writes, time.Second); got.Slice != 1200*time.Millisecond || got.Ops != 150 {
		t.Errorf("writes: %+v, want 150 operations in 1.2 s", got)
	}
	if got := stretched(writes, 100*time.Millisecond); got != writes {
		t.Errorf("long enough: %+v, want no change", got)
	}
}

// TestDiagnoseWhole: what a server can do only once is done by one server for each
// instrument, after all that comes before it.
func TestDiagnoseWhole(t *testing.T) {
	l := newLot(t)
	r := chain("a", "b")
	con := l.conductor(t.TempDir(), func(string) int { return 1 })
	if err := con.Prepare(t.Context(), r.Variants); err != nil {
		t.Fatal(err)
	}
	w := &simWatcher{l: l}
	d := Diagnosis{
		Open:        func(lv lab.Level, _ lab.Variant) bool { return lv.Step.Name == "x" },
		Instruments: []lab.Instrument{lab.Plain, lab.Stacks, lab.Plans, lab.Waits}, Rounds: 1, Slice: time.Hour,
	}
	if err := con.Diagnose(t.Context(), r, d, w); err != nil {
		t.Fatal(err)
	}
	if len(l.slices) != 6 || len(w.kept) != 8 { // three instruments have slices, on two sides
		t.Errorf("%d slices and %d observations, want 6 and 8", len(l.slices), len(w.kept))
	}
	for k, data := range l.observed {
		if want := strings.Repeat("i", 10) + strings.Repeat("x", 10); data != want {
			t.Errorf("%+v finds %s, want %s", k, data, want)
		}
	}
}
