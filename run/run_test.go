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

func TestRunEndsAtBlocksMax(t *testing.T) {
	l := newLot(t)
	var told []int // slices done and all, at the end of each block
	l.events.Slice = func(s lab.Slice, done, turns int, left time.Duration) {
		if done == turns {
			told = append(told, turns)
			if left != 0 {
				t.Errorf("block %d: %s left after its last slice", s.Block, left)
			}
		}
	}
	complete(t, l, simRun("a", "b"), never)
	if want := []int{16, 16, 16, 16, 16}; !slices.Equal(told, want) {
		t.Errorf("slices told of per block: %v, want %v", told, want)
	}
	if want := 5 * 2 * (4 + 2 + 2); len(l.slices) != want {
		t.Errorf("%d slices, want %d", len(l.slices), want)
	}
	if !l.ended {
		t.Error("the run was not ended")
	}
	if l.mostUp != 2 {
		t.Errorf("%d servers were up at once, want both", l.mostUp)
	}
	if l.sides[simRun("a").Variants[0]] != 1 {
		t.Errorf("settings stored %d times, want once", l.sides[simRun("a").Variants[0]])
	}
}

// A run that was raised to more blocks goes on where it ended.
func TestRaisedRunGoesOn(t *testing.T) {
	l, r := newLot(t), simRun("a", "b")
	complete(t, l, r, never)
	before := len(l.slices)
	r.Plan.BlocksMax, l.ended = 7, false
	complete(t, l, r, never)
	if want := before / 5 * 7; len(l.slices) != want || !l.ended {
		t.Errorf("%d slices after 7 blocks, want %d; ended %t", len(l.slices), want, l.ended)
	}
}

// Decided levels are not measured again; their writes are, while later levels need them.
func TestDecidedLevelsAreDropped(t *testing.T) {
	l := newLot(t)
	complete(t, l, simRun("a", "b"), func(step string) int {
		if step == "s" {
			return 3
		}
		return 1
	})
	per := map[string]int{}
	for k := range l.slices {
		per[fmt.Sprint(k.Cell.Step.Name, k.Block)]++
	}
	want := map[string]int{"r0": 8, "w0": 4, "s0": 4, "s1": 4, "s2": 4}
	if d := cmp.Diff(want, per); d != "" {
		t.Errorf("slices per step and block (-want +got):\n%s", d)
	}
	for k, found := range l.observed {
		if k.Cell.Step.Name == "s" && found != strings.Repeat("w", 20) {
			t.Errorf("block %d: s found data %q, want the writes of w", k.Block, found)
		}
	}
}

// A run that is interrupted at every single slice, one after the other, ends with the
// same slices, on the same data, as one that is not.
func TestResume(t *testing.T) {
	for _, together := range []int{0, 2, 1} {
		t.Run(fmt.Sprint(together, " together"), func(t *testing.T) {
			r := simRun("a", "b", "c")
			r.Plan.Together = together
			testResume(t, r)
		})
	}
}

func testResume(t *testing.T, r lab.Run) {
	whole := newLot(t)
	complete(t, whole, r, never)
	if n := r.Plan.Together; n > 0 && whole.mostUp > n {
		t.Errorf("%d servers were up at once, want at most %d", whole.mostUp, n)
	}
	// What a slice found is a function of the writes before it, whatever phase it is in.
	for k, found := range whole.observed {
		want := ""
		switch k.Cell.Step.Name {
		case "w":
			want = strings.Repeat("w", 10*(k.Seq+1))
		case "s":
			want = strings.Repeat("w", 20)
		}
		if found != want {
			t.Errorf("%+v found %q, want %q", k, found, want)
		}
	}

	parts := newLot(t)
	dir := t.TempDir()
	for try := 0; !parts.ended; try++ {
		if try > 1000 {
			t.Fatal("no end")
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		c := parts.conductor(dir, never)
		if err := c.Prepare(ctx, r.Variants); err != nil {
			t.Fatal(err)
		}
		first := parts.taken
		parts.onSlice = func(n int, _ lab.Variant, _ Spec) error {
			if n-first == 7+try%5 {
				cancel(errors.New("interrupted"))
				return context.Canceled
			}
			return nil
		}
		err := c.Run(ctx, r)
		if err == nil != parts.ended {
			t.Fatalf("run returned %v, ended is %v", err, parts.ended)
		}
		if parts.up != 0 {
			t.Fatalf("try %d: %d servers are still up", try, parts.up)
		}
		cancel(nil)
	}
	if d := cmp.Diff(keys(whole), keys(parts)); d != "" {
		t.Errorf("slices (-whole +interrupted):\n%s", d)
	}
	for k, found := range whole.observed {
		if got := parts.observed[k]; got != found {
			t.Errorf("%+v found data %q when interrupted, %q when not", k, got, found)
		}
	}
}

// A tool's CPU time is the client's, not that of strangers.
func TestToolOutcome(t *testing.T) {
	l := newLot(t)
	r := simRun("a", "b")
	r.Plan.BlocksMax = 1
	l.onOutcome = func(o *Outcome) { o.ClientUser, o.ClientSys, o.Apart, o.Latency = 0.25, 0.25, true, 0.002 }
	l.used = lab.Usage{HostBusy: 0.75}
	complete(t, l, r, never)
	for k, s := range l.slices {
		if s.Usage.HostBusy != 0.25 || s.Usage.ClientUser != 0.25 || s.Latency != 0.002 {
			t.Errorf("%+v: %+v, latency %g; of 0.75 s, 0.5 are the tool's", k, s.Usage, s.Latency)
		}
	}
}

func TestBaseDoesNotStart(t *testing.T) {
	l := newLot(t)
	r := simRun("a", "b")
	c := l.conductor(t.TempDir(), never)
	if err := c.Prepare(t.Context(), r.Variants); err != nil {
		t.Fatal(err)
	}
	l.onStart = func(v lab.Variant) error {
		if v == r.Variants[0] {
			return errors.New("unknown option --nosuch")
		}
		return nil
	}
	err := c.Run(t.Context(), r)
	if !errors.Is(err, ErrBase) || !strings.Contains(err.Error(), "unknown option --nosuch") {
		t.Errorf("Run: %v; want ErrBase with the reason", err)
	}
	if l.ended {
		t.Error("the run was ended; it could not be resumed")
	}
	_, err = c.Calibrate(t.Context(), r.Plan, r.Variants, r.Levels)
	if !errors.Is(err, ErrBase) {
		t.Errorf("Calibrate: %v; want ErrBase", err)
	}
}

// TestUnsettled: a server that was not at rest before a warm-up is a doubt about all slices
// of the level that is measured next, and about no others.
func TestUnsettled(t *testing.T) {
	l := newLot(t)
	warm := level("warm", true, 2)
	warm.Warm, warm.Group = true, ""
	r := testRun(4, []lab.LevelPlan{level("r", true, 2), warm, level("s", true, 2), level("u", true, 2)}, "a", "b")
	r.Plan.BlocksMax = 2
	l.notes = func(step string, v lab.Variant) []string {
		if step == "warm" && v.Build == "b" {
			return []string{"not at rest"}
		}
		return nil
	}
	complete(t, l, r, never)
	for k, s := range l.slices {
		want := k.Cell.Step.Name == "s" && k.Cell.Variant.Build == "b"
		if got := slices.Equal(s.Warnings, []string{"not at rest"}); got != want || !want && len(s.Warnings) > 0 {
			t.Errorf("%s: doubts %q", k.Cell, s.Warnings)
		}
	}
	if len(l.slices) != 2*2*3*2 {
		t.Errorf("%d slices", len(l.slices))
	}
}
