package main

import (
	"context"
	"fmt"
	"slices"

	"backslide/lab"
	"backslide/report"
)

// mostWhys is how many explanations a page has at most: those of the largest differences.
const mostWhys = 20

// whys explains what was watched on both sides in a run, for its page: what was called
// first, and of that the largest differences.
func (e *env) whys(ctx context.Context, sum lab.Summary) ([]report.Why, error) {
	st, err := e.existingLab()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	ev, err := evidenceOf(ctx, st, sum.Run, e.symbolDir)
	if err != nil || len(ev.seen) == 0 {
		return nil, err
	}
	watched := slices.DeleteFunc(slices.Clone(sum.Comparisons), func(c lab.Comparison) bool {
		return c.Metric != lab.QPS || !ev.both(c)
	})
	slices.SortStableFunc(watched, func(a, b lab.Comparison) int { return byDifference(b, a) })
	var out []report.Why
	for i, c := range watched[:min(len(watched), mostWhys)] {
		x, p, err := ev.explain(ctx, c)
		if err != nil {
			return nil, err
		}
		w := report.Why{Explanation: x}
		if p.both() {
			if w.Flame, err = p.flame(c, fmt.Sprint(i)); err != nil {
				w.Doubts = append(w.Doubts, "no flame graph: "+err.Error())
			}
		}
		out = append(out, w)
	}
	return out, nil
}
