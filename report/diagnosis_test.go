package report

import (
	"math"
	"strings"
	"testing"

	"backslide/lab"
)

// What stands beside the verdicts is said: lamps, groups, copies of the base, noise,
// events with blocks counted from 1.
func TestDiagnosis(t *testing.T) {
	base := lab.Variant{Build: "mysql@5.6", Config: "default", Engine: "InnoDB"}
	cand := lab.Variant{Build: "mysql@9.7", Config: "default", Engine: "InnoDB"}
	level := func(step string) lab.Level {
		return lab.Level{Step: lab.Step{Workload: "sysbench", Name: step}, Clients: 1}
	}
	comparison := func(step string, log float64, red, held bool) lab.Comparison {
		return lab.Comparison{
			Base: base, Candidate: cand, Level: level(step), Group: lab.Point, Metric: lab.QPS, LogRatio: log, Lo: log - 0.01, Hi: log + 0.01,
			Blocks: make([]lab.BlockDiff, 6), Verdict: lab.Regressed, Done: true, Red: red, Held: held,
		}
	}
	s := lab.Summary{
		Run: lab.Run{ID: 1, Name: "x", Base: base, Variants: []lab.Variant{base, cand}, Levels: []lab.LevelPlan{
			{Level: level("a"), Group: lab.Point, Read: true}, {Level: level("b"), Group: lab.Point, Read: true}, {Level: level("c"), Group: lab.Point, Read: true},
		}},
		Comparisons: []lab.Comparison{comparison("a", -0.2, true, false), comparison("b", -0.1, false, false), comparison("c", -0.3, false, true)},
		Lamps:       lab.Lamps{Tests: 40, Alpha: 0.01, Level: 0.05, FalseAmbers: 0.4},
		AA:          &lab.AA{Text: "the base and its copy were called different in 0 of 3 comparisons"},
		Groups: []lab.GroupSummary{{
			Candidate: cand, Group: lab.Point, Clients: 1, Levels: 3, Min: 0.741, Max: 0.905, Average: 0.8216, Median: 0.819,
			Test: lab.Comparison{Metric: lab.QPS, LogRatio: math.Log(0.819), Lo: math.Log(0.8), Hi: math.Log(0.84), Verdict: lab.Regressed, Blocks: make([]lab.BlockDiff, 6)},
		}},
		Noise:  lab.Noise{Advice: "Stop other work.", Pairs: []lab.PairNoise{{Candidate: cand, Level: level("a"), Notes: []string{"spike in block 2"}}}, Drops: []lab.Drops{{Variant: cand, Slices: 48, Disturbed: 1, Dropped: 4}}},
		Events: []lab.Event{{Block: 2, Variant: cand, Text: "signal: killed"}, {Block: -1, Text: "froze by stop"}},
	}
	for name, write := range map[string]func(*strings.Builder) error{
		"text":     func(b *strings.Builder) error { return Text(b, s, Options{}) },
		"markdown": func(b *strings.Builder) error { return Markdown(b, s, Options{}) },
	} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(b.String(), "\\_", "_")
		for _, want := range []string{
			"1 red, 3 amber; 0.4 false ambers are expected if nothing differs. These are of 40 tests, those of groups of steps included; at most 5 % of such",
			"1 amber would be red, but for a doubt", "3 of 3 regressed (1 red), worst a at 1 client", "A/A: the base and its copy were called different in 0 of 3", "Groups of steps", "0.741", "0.905", "0.822", "[0.800, 0.840]",
			"Stop other work.", "spike in block 2", "4 of 48 slices were left out: mirrored groups with 1 disturbed slice", "block 3, mysql@9.7: signal: killed", "froze by stop",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s does not say %q:\n%s", name, want, got)
			}
		}
	}
	if err := Text(new(strings.Builder), s, Options{View: "desne"}); err == nil || !strings.Contains(err.Error(), "did you mean dense") {
		t.Errorf("an unknown view: %v", err)
	}
}
