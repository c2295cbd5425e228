package run

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// A server that dies costs its cell in that block, with the reason; the next level has a
// fresh server with the same data.
func TestServerDies(t *testing.T) {
	l := newLot(t)
	r := simRun("a", "b")
	b := r.Variants[1]
	died := false
	l.onSlice = func(n int, v lab.Variant, spec Spec) error {
		if v == b && spec.Ops > 0 && !died {
			died = true
			return errors.New("server went away")
		}
		return nil
	}
	complete(t, l, r, never)
	var broken []string
	for k, s := range l.slices {
		if s.Err != "" {
			broken = append(broken, fmt.Sprint(k.Block, k.Cell.Variant.Build, k.Cell.Step.Name, ": ", s.Err))
		}
	}
	sort.Strings(broken)
	if d := cmp.Diff([]string{"0bw: not run: w/w/1: server went away", "0bw: server went away"}, broken); d != "" {
		t.Errorf("broken slices (-want +got):\n%s", d)
	}
	for k, found := range l.observed {
		if k.Cell.Step.Name == "s" && found != strings.Repeat("w", 20) {
			t.Errorf("block %d, %s: s found data %q", k.Block, k.Cell.Variant.Build, found)
		}
	}
	if len(l.noted) == 0 || !strings.Contains(l.noted[0], "server went away") {
		t.Errorf("events %q do not tell", l.noted)
	}
}

// A server that ends while others are measured costs nothing that is not measured on it,
// and is fresh again at the next level; an event says why it ended.
func TestServerDiesUnused(t *testing.T) {
	l := newLot(t)
	levels := []lab.LevelPlan{level("w", false, 2), level("r", true, 4), level("s", true, 2)}
	for i := range levels {
		if levels[i].Read {
			levels[i].Slice = 200 * time.Millisecond
		}
	}
	r := testRun(2, levels, "a", "b", "c")
	r.Plan.BlocksMax = 3
	taken := map[lab.Variant]int{}
	l.dies = func(v lab.Variant, spec Spec) bool {
		if v == r.Variants[0] || spec.Duration == 0 {
			return false
		}
		taken[v]++
		return taken[v] == 1+4 // the last of r: a warm-up and four slices
	}
	complete(t, l, r, never)
	for k, s := range l.slices {
		if s.Err != "" {
			t.Errorf("%+v: %s", k, s.Err)
		}
		if k.Cell.Step.Name == "s" && string(s.Hist) != strings.Repeat("w", 20) {
			t.Errorf("block %d, %s: s found data %q", k.Block, k.Cell.Variant.Build, s.Hist)
		}
	}
	if want := 3 * (2*3 + 4*4 + 2*4); len(l.slices) != want {
		t.Errorf("%d slices, want %d", len(l.slices), want)
	}
	sort.Strings(l.noted)
	if len(l.noted) != 2 || !strings.Contains(l.noted[0], "signal: killed; log: gone") || !strings.Contains(l.noted[1], "the server was shut down by somebody else") {
		t.Errorf("events %q; want one for each server, with its reason", l.noted)
	}
}

// hanging is a host on which the servers of one variant never answer.
type hanging struct {
	Host
	v lab.Variant
}

func (h hanging) Start(ctx context.Context, v lab.Variant, dir string, watch lab.Instrument) (Server, error) {
	if v != h.v {
		return h.Host.Start(ctx, v, dir, watch)
	}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// A server that hangs while it starts does not hold up the run: its cells say so, the
// others are measured.
func TestServerHangsAtStart(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l, r := newLot(t), simRun("a", "b")
		r.Plan.BlocksMax = 1
		c := l.conductor(dir, never)
		if err := c.Prepare(t.Context(), r.Variants); err != nil {
			t.Fatal(err)
		}
		c.Host = hanging{c.Host, r.Variants[1]}
		if err := c.Run(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		for k, s := range l.slices {
			if hung := strings.Contains(s.Err, "no answer within 10m0s of its start"); hung != (k.Cell.Variant == r.Variants[1]) || !hung && s.Err != "" {
				t.Errorf("%+v: %s", k, s.Err)
			}
		}
		if len(l.slices) != 2*(4+2+2) {
			t.Errorf("%d slices", len(l.slices))
		}
	})
}
