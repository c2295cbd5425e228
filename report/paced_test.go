package report

import (
	"strings"
	"testing"

	"backslide/lab"
)

// At a set rate throughput is given, so what is said of such a level is its latency.
func TestPacedSentence(t *testing.T) {
	s := first()
	candidate := s.Run.Variants[1]
	level := s.Run.Levels[0].Level
	before := newView(s, lab.QPS).tally(candidate).total
	s.Run.Levels[0].Open, s.Run.Levels[0].Rate = true, 1000
	own := lab.Comparison{
		Base: s.Run.Base, Candidate: candidate, Level: level, Metric: lab.P95, LogRatio: 0.27, Lo: 0.2, Hi: 0.34, Verdict: lab.Regressed, Blocks: make([]lab.BlockDiff, 5),
	}
	s.Comparisons = append(s.Comparisons, own)
	v := newView(s, lab.QPS)
	if got := v.tally(candidate).total; got != before-1 {
		t.Errorf("%d levels count by throughput, want %d", got, before-1)
	}
	want := "At a set rate, p95 latency: 1 of 1 regressed, namely " + v.at(level) + " +31.0 % [+22.1, +40.5]."
	if got := v.sentence(candidate); !strings.HasSuffix(got, want) {
		t.Errorf("it says %q, want %q at the end", got, want)
	}
	if e, _ := v.shownEntry(candidate, level); e.comp == nil || e.comp.Metric != lab.P95 || e.mark() != "▼" {
		t.Errorf("tables show %v of it, want its latency", e)
	}
	if got := v.shownStep(level.Step); got != v.step(level.Step)+", p95 latency" {
		t.Errorf("tables call the step %q", got)
	}
	if page := html(t, s); !strings.Contains(page, ", p95 latency</th>") || !strings.Contains(page, "31.0 %</b> <small>[&#43;22.1, &#43;40.5]") {
		t.Error("the page does not show its latency among the comparisons")
	}
	s.Comparisons = s.Comparisons[:len(s.Comparisons)-1]
	if got := newView(s, lab.QPS).sentence(candidate); !strings.HasSuffix(got, "p95 latency: none of 1 regressed; 1 not compared, since a side did not keep up with the rate or there is too little to tell.") {
		t.Errorf("without a comparison of latency it says %q", got)
	}
	// A level that is its own metric is said as it is.
	if got := newView(s, lab.ServerCPU).sentence(candidate); strings.Contains(got, "set rate") {
		t.Errorf("of server CPU it says %q", got)
	}
}
