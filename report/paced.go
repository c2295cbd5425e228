package report

import (
	"fmt"
	"slices"
	"strings"

	"backslide/lab"
)

// paced reports whether operations come to a level at a set rate. Its throughput is that
// rate or less, so what is said of it is latency.
func (v *view) paced(l lab.Level) bool {
	return v.open[l]
}

// shownEntry returns what tables of verdicts show of a level: at a set rate the latency, or
// why there is none.
func (v *view) shownEntry(candidate lab.Variant, l lab.Level) (entry, bool) {
	e, ok := v.entry(candidate, l, v.metric)
	if !ok || v.metric != lab.QPS || !v.paced(l) || e.state == broken {
		return e, ok
	}
	x, _ := v.entry(candidate, l, lab.P95)
	if x.state == notRun && e.comp != nil && len(e.comp.Notes) > 0 {
		x.why = strings.Join(e.comp.Notes, "; ")
	}
	return x, ok
}

// shownStep is how tables of verdicts call a step: with its metric, where that is another.
func (v *view) shownStep(s lab.Step) string {
	if v.metric == lab.QPS && v.pacedStep(s) {
		return v.step(s) + ", p95 latency"
	}
	return v.step(s)
}

// pacedStep reports whether a step has a level at a set rate.
func (v *view) pacedStep(s lab.Step) bool {
	return slices.ContainsFunc(v.clients, func(n int) bool { return v.paced(lab.Level{Step: s, Clients: n}) })
}

// told returns the entries of a candidate that count in what is said of it: of throughput,
// those of closed loops.
func (v *view) told(candidate lab.Variant) []entry {
	all := v.entries(candidate)
	if v.metric != lab.QPS {
		return all
	}
	return slices.DeleteFunc(all, func(e entry) bool { return v.paced(e.level) })
}

// pacedSentence says what became of a candidate's latency at set rates, by the quantile
// that decides there; empty if no level has one. Where a side did not keep up with the
// rate there is no comparison of latency, and a footnote says so.
func (v *view) pacedSentence(candidate lab.Variant) string {
	if v.metric != lab.QPS {
		return ""
	}
	var t tally
	for _, e := range v.entries(candidate) {
		if !v.paced(e.level) {
			continue
		}
		x, _ := v.entry(candidate, e.level, lab.P95)
		if e.state == broken {
			x.state = broken
		}
		t.add(x)
	}
	if t.total == 0 {
		return ""
	}
	var parts []string
	if n := t.by[regressed]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d regressed, %s %s", n, t.total, extreme("worst", n), v.said(t.worst)))
	} else {
		parts = append(parts, fmt.Sprintf("none of %d regressed", t.total))
	}
	if n := t.by[improved]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d improved, %s %s", n, extreme("best", n), v.said(t.best)))
	}
	for _, s := range []struct {
		n    int
		word string
	}{
		{t.by[equivalent] + t.by[smallWorse] + t.by[smallBetter], "equivalent within " + share(v.plan.Margin)}, {t.by[inconclusive], "inconclusive"},
		{t.by[broken], "broken"}, {t.by[notRun], "not compared, since a side did not keep up with the rate or there is too little to tell"},
	} {
		if s.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", s.n, s.word))
		}
	}
	return "At a set rate, p95 latency: " + strings.Join(parts, "; ") + "."
}
