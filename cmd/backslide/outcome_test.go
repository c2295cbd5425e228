package main

import (
	"errors"
	"strings"
	"testing"

	"backslide/lab"
)

// The exit code is about every level: one that broke, or a latency that regressed, must not
// pass for "nothing regressed".
func TestOutcome(t *testing.T) {
	base, cand := lab.Variant{Build: "a", Config: "c", Engine: "InnoDB"}, lab.Variant{Build: "b", Config: "c", Engine: "InnoDB"}
	level := func(name string) lab.Level { return lab.Level{Step: lab.Step{Workload: "w", Name: name}, Clients: 1} }
	summary := func() lab.Summary {
		return lab.Summary{
			Run: lab.Run{Base: base, Variants: []lab.Variant{base, cand}, Levels: []lab.LevelPlan{{Level: level("closed")}, {Level: level("paced"), Open: true}}},
			Comparisons: []lab.Comparison{
				{Base: base, Candidate: cand, Level: level("closed"), Metric: lab.QPS, Verdict: lab.Inconclusive, Blocks: []lab.BlockDiff{{}}},
				{Base: base, Candidate: cand, Level: level("paced"), Metric: lab.QPS, Verdict: lab.Regressed, Blocks: []lab.BlockDiff{{}}},
				{Base: base, Candidate: cand, Level: level("paced"), Metric: lab.P95, Verdict: lab.Equivalent, Blocks: []lab.BlockDiff{{}}},
			},
		}
	}
	crash := lab.Failure{Cell: lab.Cell{Variant: cand, Step: level("closed").Step, Clients: 1}, Err: "the server is gone"}
	for name, tt := range map[string]struct {
		change func(*lab.Summary)
		want   string // of the error; "": none, "regressed": errRegressed
	}{
		"nothing is known to have regressed": {func(s *lab.Summary) {}, ""},
		"throughput regressed":               {func(s *lab.Summary) { s.Comparisons[0].Verdict = lab.Regressed }, "regressed"},
		"latency at a set rate regressed":    {func(s *lab.Summary) { s.Comparisons[2].Verdict = lab.Regressed }, "regressed"},
		"latency of a closed loop decides nothing": {func(s *lab.Summary) {
			s.Comparisons[2].Level, s.Comparisons[2].Verdict = level("closed"), lab.Regressed
		}, ""},
		"a block failed, others have both sides": {func(s *lab.Summary) { s.Failures = []lab.Failure{crash} }, ""},
		"a level broke on every block":           {func(s *lab.Summary) { s.Failures, s.Comparisons = []lab.Failure{crash}, s.Comparisons[1:] }, "1 comparison could not be run, so nobody knows"},
		"nothing has results":                    {func(s *lab.Summary) { s.Comparisons = nil }, "no block has results of both sides"},
		"one regressed and another broke: it regressed": {func(s *lab.Summary) {
			s.Failures, s.Comparisons = []lab.Failure{crash}, s.Comparisons[1:]
			s.Comparisons[1].Verdict = lab.Regressed
		}, "regressed"},
	} {
		s := summary()
		tt.change(&s)
		switch err := gate(lab.UntilAmber).outcome(s); {
		case tt.want == "" && err != nil, tt.want == "regressed" && !errors.Is(err, errRegressed):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		case tt.want != "" && tt.want != "regressed" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// TestGate: what is red makes compare exit with 1; what is amber does so if asked for, or
// if the run's plan asked for no more.
func TestGate(t *testing.T) {
	const passes, fails = false, true
	for name, c := range map[string]struct {
		gate    gate
		stop    string
		verdict lab.Verdict
		red     bool
		want    bool
	}{
		"red":                   {"", lab.UntilRed, lab.Regressed, true, fails},
		"amber":                 {"", lab.UntilRed, lab.Regressed, false, passes},
		"amber, asked for":      {lab.UntilAmber, lab.UntilRed, lab.Regressed, false, fails},
		"amber is the plan":     {"", lab.UntilAmber, lab.Regressed, false, fails},
		"amber, red asked for":  {lab.UntilRed, lab.UntilAmber, lab.Regressed, false, passes},
		"a plan that says none": {"", "", lab.Regressed, false, passes},
		"improved":              {lab.UntilAmber, lab.UntilRed, lab.Improved, true, passes},
	} {
		s := lab.Summary{
			Run:         lab.Run{Plan: lab.Plan{Stop: c.stop}, Variants: make([]lab.Variant, 2)},
			Comparisons: []lab.Comparison{{Metric: lab.QPS, Verdict: c.verdict, Red: c.red, Blocks: []lab.BlockDiff{{}}}},
		}
		err := c.gate.outcome(s)
		if err != nil && err != errRegressed {
			t.Errorf("%s: %v", name, err)
		}
		if got := err == errRegressed; got != c.want {
			t.Errorf("%s: fails the gate: %t, want %t", name, got, c.want)
		}
	}
	var g gate
	if err := g.Set("green"); err == nil {
		t.Error("a lamp that there is not was accepted")
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{"lab": "lab", "/tmp/my lab": "'/tmp/my lab'", "äöü": "'äöü'", "it's": `'it'\''s'`, "": "''"} {
		if got := shellWord(in); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", in, got, want)
		}
	}
}
