package store

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// TestRaise: a run by e-values is raised while it goes on and after its end, and ends anew;
// its own row does not change.
func TestRaise(t *testing.T) {
	ctx := t.Context()
	s := openLab(t, t.TempDir())
	r := filledRun()
	r.Plan.Rule, r.Plan.BlocksMax = lab.EValues, 20
	id, err := s.NewRun(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	at := r.Started
	raise := func(blocks int, budget time.Duration) lab.Raise {
		at = at.Add(time.Hour)
		x := lab.Raise{At: at, Blocks: blocks, Budget: budget}
		if err := s.Raise(ctx, id, x); err != nil {
			t.Fatal(err)
		}
		return x
	}
	want := []lab.Raise{raise(30, 0), raise(40, time.Minute)}
	if err := s.EndRun(ctx, id, at.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	got, err := s.Run(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got.Raised); d != "" {
		t.Errorf("Raised (-want +got):\n%s", d)
	}
	if got.Plan.BlocksMax != 40 || got.Plan.Budget != time.Minute || got.Experiment.Plan.BlocksMax != r.Experiment.Plan.BlocksMax {
		t.Errorf("%d blocks in %s, want 40 in 1m; the experiment has %d", got.Plan.BlocksMax, got.Plan.Budget, got.Experiment.Plan.BlocksMax)
	}
	if want := at.Add(time.Minute); !got.Ended.Equal(want) {
		t.Errorf("ended %s, want %s", got.Ended, want)
	}
	want = append(want, raise(50, 0))
	if got, err = s.Run(ctx, id); err != nil || !got.Ended.IsZero() || got.Plan.BlocksMax != 50 || got.Plan.Budget != 0 || len(got.Raised) != len(want) {
		t.Errorf("raised after its end: ended %s, %d blocks, %v", got.Ended, got.Plan.BlocksMax, err)
	}
	for _, text := range []string{`UPDATE raised SET blocks_max = 99`, `DELETE FROM raised`, `UPDATE run SET blocks_max = 99`} {
		if _, err := s.write.ExecContext(ctx, text); err == nil || !strings.Contains(err.Error(), "write-once") {
			t.Errorf("%s: %v; want write-once", text, err)
		}
	}
}

func TestRaiseRefused(t *testing.T) {
	ctx := t.Context()
	s := openLab(t, t.TempDir())
	gst, _ := newRun(t, s)
	r := filledRun()
	r.Plan.Rule, r.Plan.BlocksMax = lab.EValues, 20
	e, err := s.NewRun(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		run    int64
		blocks int
		want   string
	}{
		{gst, 40, "rule \"gst\", whose level holds for the planned 20 only"}, {e, 20, "at most 20 already"}, {e, 5000, "outside 1 to 1000"}, {99, 40, "not in this lab"},
	} {
		err := s.Raise(ctx, c.run, lab.Raise{At: time.Now(), Blocks: c.blocks})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("run %d to %d blocks: %v; want %q", c.run, c.blocks, err, c.want)
		}
	}
}
