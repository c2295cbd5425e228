package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

func chain(names ...string) lab.Run {
	r := testRun(4, []lab.LevelPlan{level("i", false, 1), level("x", false, 1), level("q", false, 1)}, names...)
	for i := range r.Levels {
		r.Levels[i].Limit = time.Hour
	}
	r.Plan.BlocksMax = 4
	return r
}

// Each variant has one slice, on what the steps before it have left, while no other server
// runs; who is first in one block is last in the next.
func TestWholeLevels(t *testing.T) {
	l := newLot(t)
	r := chain("a", "b", "c")
	l.onSlice = func(_ int, v lab.Variant, s Spec) error {
		if s.Ops != 10 || s.Timeout < time.Hour {
			t.Errorf("a slice of %d operations, at most %s", s.Ops, s.Timeout)
		}
		return nil
	}
	complete(t, l, r, never)
	if want := 4 * 3 * 3; len(l.slices) != want {
		t.Errorf("%d slices, want blocks × levels × variants = %d", len(l.slices), want)
	}
	order := map[string][]string{}
	for _, k := range l.order {
		at := fmt.Sprint(k.Cell.Step.Name, k.Block)
		order[at] = append(order[at], k.Cell.Variant.Build)
		want := map[string]string{"i": "", "x": "iiiiiiiiii", "q": "iiiiiiiiiixxxxxxxxxx"}[k.Cell.Step.Name]
		if got := strings.TrimSuffix(l.observed[k], strings.Repeat(k.Cell.Step.Name, 10)); got != want {
			t.Errorf("%+v found %q, want %q", k, got, want)
		}
	}
	for _, step := range []string{"i", "x", "q"} {
		for _, block := range []int{0, 2} {
			first, second := order[fmt.Sprint(step, block)], slices.Clone(order[fmt.Sprint(step, block+1)])
			slices.Reverse(second)
			if d := cmp.Diff(first, second); d != "" || len(first) != 3 {
				t.Errorf("%s: block %d ran %v, block %d not in reverse:\n%s", step, block, first, block+1, d)
			}
		}
	}
}

// A chain that is interrupted goes on where it was, on the same data; when servers have to
// take turns, each does its chain once.
func TestWholeLevelsResume(t *testing.T) {
	for _, together := range []int{0, 2, 1} {
		r := chain("a", "b", "c")
		r.Plan.Together = together
		l, again := newLot(t), newLot(t)
		complete(t, l, r, never)
		want := 4 * 3 * 3
		if together == 2 {
			want += 4 * 3 // the base runs with either candidate
		}
		if len(l.slices) != want {
			t.Errorf("together %d: %d slices, want %d", together, len(l.slices), want)
		}
		dir := t.TempDir()
		for try := 0; !again.ended && try < 200; try++ {
			ctx, cancel := context.WithCancelCause(t.Context())
			c := again.conductor(dir, never)
			if err := c.Prepare(ctx, r.Variants); err != nil {
				t.Fatal(err)
			}
			first := again.taken
			again.onSlice = func(n int, _ lab.Variant, _ Spec) error {
				if n-first == 8+try%3 {
					cancel(errors.New("interrupted"))
					return context.Canceled
				}
				return nil
			}
			if err := c.Run(ctx, r); err == nil != again.ended {
				t.Fatalf("run returned %v, ended is %v", err, again.ended)
			}
			cancel(nil)
		}
		if d := cmp.Diff(keys(l), keys(again)); d != "" {
			t.Errorf("together %d: slices (-whole +interrupted):\n%s", together, d)
		}
		for k, found := range l.observed {
			if again.observed[k] != found {
				t.Errorf("%+v found %q when interrupted, %q when not", k, again.observed[k], found)
			}
		}
	}
}

// A server that dies in the middle of a step: when, how far into it, and its own words are
// told; the steps behind it run on a fresh server with the same data.
func TestWholeLevelServerDies(t *testing.T) {
	l := newLot(t)
	r := chain("a", "b")
	r.Plan.BlocksMax = 1
	died := false
	l.onSlice = func(_ int, v lab.Variant, s Spec) error {
		if v.Build == "b" && l.taken >= 3 && !died {
			died = true
			return errors.New("signal: killed; log: InnoDB: the last line")
		}
		return nil
	}
	complete(t, l, r, never)
	failed := ""
	for k, s := range l.slices {
		switch {
		case s.Err != "":
			failed = k.Cell.Variant.Build + " " + k.Cell.Step.Name + " " + s.Err
		case k.Cell.Step.Name == "q" && !strings.HasPrefix(l.observed[k], "iiiiiiiiiixxxxxxxxxx"):
			t.Errorf("%+v found %q", k, l.observed[k])
		}
	}
	for _, want := range []string{"b x", "into the step, at ", "the last line"} {
		if !strings.Contains(failed, want) || !strings.Contains(strings.Join(l.noted, "\n"), "the last line") {
			t.Errorf("failure %q, events %v; want %q", failed, l.noted, want)
		}
	}
}

// Nothing is tried of work that can be done only once.
func TestCalibrateWhole(t *testing.T) {
	c := &Conductor{} // it would panic if it started anything
	got, err := c.Calibrate(t.Context(), lab.Plan{}.WithDefaults(), variants("a"), chain("a").Levels)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range got {
		if l.Slices != 1 || l.Ops != 10 {
			t.Errorf("%+v: want one slice of what the step says", l)
		}
	}
	learned := learn(got, []lab.Slice{
		{SliceKey: lab.SliceKey{Cell: lab.Cell{Step: got[0].Level.Step, Clients: 1}}, Wall: 20},
		{SliceKey: lab.SliceKey{Cell: lab.Cell{Step: got[0].Level.Step, Clients: 1}}, Wall: 40},
	})
	if learned[0].Slice != 30*time.Second || learned[1].Slice != 0 {
		t.Errorf("slices are expected to take %s and %s, want the mean 30s and nothing known", learned[0].Slice, learned[1].Slice)
	}
}
