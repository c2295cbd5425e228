package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// called returns a summary of one candidate and a copy of the base at three steps, with
// the ratios that are given.
func called(ratios map[string]float64) lab.Summary {
	base := lab.Variant{Build: "a@1", Config: "c", Engine: "InnoDB"}
	twin, next := base, base
	twin.Copy, next.Build = 1, "a@2"
	s := lab.Summary{Run: lab.Run{Base: base, Variants: []lab.Variant{base, twin, next}, Host: lab.Host{CPU: "Xeon"}}}
	s.Lamps = lab.Lamps{Tests: 8, Alpha: 0.01, Level: 0.05, FalseAmbers: 0.08}
	for _, st := range []struct {
		name  string
		group lab.Group
	}{{"p", lab.Point}, {"r", lab.Range}, {"g", lab.Aggregate}, {"w", lab.Write}, {"x", lab.Write}} {
		l := lab.Level{Step: lab.Step{Workload: "w", Name: st.name}, Clients: 1}
		s.Run.Levels = append(s.Run.Levels, lab.LevelPlan{Level: l, Group: st.group})
		for _, v := range s.Run.Variants[1:] {
			x, ok := ratios[st.name]
			if !ok {
				continue
			}
			if v == twin {
				x = 1
			}
			s.Comparisons = append(s.Comparisons, lab.Comparison{
				Base: base, Candidate: v, Level: l, Group: st.group, Metric: lab.QPS, LogRatio: math.Log(x),
				Lo: math.Log(x) - 0.01, Hi: math.Log(x) + 0.01, Blocks: make([]lab.BlockDiff, 5), Verdict: lab.Equivalent,
			}, lab.Comparison{Base: base, Candidate: v, Level: l, Group: st.group, Metric: lab.Runq, Verdict: lab.Inconclusive})
		}
	}
	return s
}

// TestLamps holds that what is counted is what Lamps.Tests counts: throughput and groups,
// and copies of the base only if they were slowed down on purpose.
func TestLamps(t *testing.T) {
	s := called(map[string]float64{"p": 0.8, "r": 0.9, "g": 1.2, "w": 1})
	lit := func(step string, copied int, m lab.Metric, v lab.Verdict, red, held bool) {
		for i := range s.Comparisons {
			if c := &s.Comparisons[i]; c.Level.Step.Name == step && c.Candidate.Copy == copied && c.Metric == m {
				c.Verdict, c.Red, c.Held = v, red, held
			}
		}
	}
	lit("p", 0, lab.QPS, lab.Regressed, true, false)
	lit("r", 0, lab.QPS, lab.Regressed, false, true)
	lit("g", 0, lab.QPS, lab.Improved, false, false)
	lit("w", 0, lab.Runq, lab.Regressed, true, false) // not by throughput
	lit("p", 1, lab.QPS, lab.Regressed, false, false) // a false alarm
	s.Groups = []lab.GroupSummary{
		{Candidate: s.Run.Variants[2], Group: lab.Point, Test: lab.Comparison{Verdict: lab.Regressed, Red: true}},
		{Candidate: s.Run.Variants[1], Group: lab.Point, Test: lab.Comparison{Verdict: lab.Improved}},
	}
	if got, want := newView(s, lab.QPS).lit(), (lampCount{red: 2, amber: 2, held: 1}); got != want {
		t.Errorf("lit are %+v, want %+v", got, want)
	}
	lines := strings.Split(text(t, s, Options{}), "\n")
	if want := "2 red, 2 amber; 0.08 false ambers are expected if nothing differs."; !strings.HasPrefix(lines[3], want) {
		t.Errorf("behind the sentences of the two candidates stands %q, want %q", lines[3], want)
	}
	s.Run.Plan.Inject = 0.05
	if got, want := newView(s, lab.QPS).lit(), (lampCount{red: 2, amber: 4, held: 1}); got != want {
		t.Errorf("with a copy that was slowed down lit are %+v, want %+v", got, want)
	}
	s.Lamps = lab.Lamps{}
	if got := text(t, s, Options{}); strings.Contains(got, "amber") {
		t.Errorf("a summary without lamps tells of them:\n%s", got)
	}
}

// Builds of one's own are named by the end of their path that tells them apart.
func TestShortBuilds(t *testing.T) {
	var all []lab.Variant
	want := map[string]string{
		"mysql@9.7": "mysql@9.7", "dir:/opt/old/install": "dir:old/install", "dir:/opt/new/install/": "dir:new/install", "dir:/opt/mine": "dir:mine", "dir:both": "dir:both", "dir:/opt/both": "dir:opt/both",
		"tar:/tmp/m.tar#sha256=12": "tar:m.tar", "tar:https://host/a/x.tar.gz#sha256=34": "tar:x.tar.gz",
		"tar:/tmp/same.tar#sha256=56": "tar:/tmp/same.tar#sha256=56", "tar:/tmp/same.tar#sha256=78": "tar:/tmp/same.tar#sha256=78",
	}
	for b := range want {
		all = append(all, lab.Variant{Build: b, Config: "c", Engine: "InnoDB"})
	}
	if d := cmp.Diff(want, shortBuilds(all)); d != "" {
		t.Errorf("names (-want +got):\n%s", d)
	}
}

// A run that was interrupted says so before what it has found, and a run that ended does not.
func TestUnfinished(t *testing.T) {
	s := first()
	if got := text(t, s, Options{}); strings.Contains(got, "has not ended") {
		t.Errorf("a run that ended is said not to have:\n%.400s", got)
	}
	s.Run.Ended = time.Time{}
	got := text(t, s, Options{})
	said, found := strings.Index(got, "This run has not ended: what follows is of the blocks so far, and backslide run --resume 7 goes on."), strings.Index(got, " regressed")
	if said < 0 || said > found {
		t.Errorf("a run that has not ended does not say so first:\n%.400s", got)
	}
}

// TestRedFirst holds that a red difference is named before a larger amber one.
func TestRedFirst(t *testing.T) {
	s := called(map[string]float64{"p": 0.9, "r": 0.5})
	for i := range s.Comparisons {
		if c := &s.Comparisons[i]; c.Candidate.Copy == 0 && c.Metric == lab.QPS {
			c.Verdict, c.Red = lab.Regressed, c.Level.Step.Name == "p"
		}
	}
	got := newView(s, lab.QPS).sentence(s.Run.Variants[2])
	if want := "a@2 against a@1: 2 of 5 regressed (1 red), worst p at 1 client −10.0 %"; !strings.HasPrefix(got, want) {
		t.Errorf("got  %s\nwant %s…", got, want)
	}
}

func TestFew(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.08: "0.08", 0.123: "0.12", 0.5: "0.5", 1: "1.0", 2.34: "2.3", 54.5: "54", 400: "400"} {
		if got := few(x); got != want {
			t.Errorf("few(%v) = %s, want %s", x, got, want)
		}
	}
}

// TestBlocksLine holds that metrics that decide nothing do not count.
func TestBlocksLine(t *testing.T) {
	s := called(map[string]float64{"p": 1, "r": 1}) // 5 blocks of QPS each, none of run-queue wait
	if got, want := newView(s, lab.QPS).blocksLine(), "blocks: 5 per comparison, of at most 20"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Comparisons[0].Blocks = s.Comparisons[0].Blocks[:3]
	if got, want := newView(s, lab.QPS).blocksLine(), "blocks: 3 to 5 per comparison"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestDense holds the averages to hand-made ones: range and aggregate steps together, a
// step without a result not in the average and said.
func TestDense(t *testing.T) {
	s := called(map[string]float64{"p": 0.8, "r": 0.9, "g": 1.25, "w": 1.1})
	got := text(t, s, Options{View: Dense, Decimals: 2})
	for _, want := range []string{"a@2        0.80-1.07-1.10", "a@1#1      1.00-1.00-1.00", "1 of 2 write steps without a result, and not in the average", "Xeon"} { // 1.075 is below its half in binary
		if !strings.Contains(got, want) {
			t.Errorf("the dense view does not say %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "Groups of steps") || strings.Contains(got, "equivalent within ±") {
		t.Errorf("the dense view is not dense:\n%s", got)
	}
}

func TestConcurrency(t *testing.T) {
	got := text(t, first(), Options{View: Concurrency, Decimals: 2})
	for _, want := range []string{
		"scan: QPS, op/s\nvariant              1 client  4 clients\nmariadb@10.5 (base)     22500      68207\n",
		"scan: relative QPS to mariadb@10.5¹ ²\nvariant         1 client  4 clients\nmariadb@11.8    1.09 ▲▲   1.11 ▲▲\nmariadb@10.5#1  0.98 =    1.00 =\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the concurrency view does not have\n%s\nbut\n%s", want, got)
		}
	}
}

// TestCSVLamps holds that columns were only added behind those that were there.
func TestCSVLamps(t *testing.T) {
	var b bytes.Buffer
	s := first()
	if err := CSV(&b, s); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	n := len(rows[0])
	if d := cmp.Diff([]string{"notes", "red", "amber", "held"}, rows[0][n-4:]); d != "" {
		t.Errorf("last columns (-want +got):\n%s", d)
	}
	for i, c := range s.Comparisons {
		amber := c.Candidate.Copy == 0 && !c.Red && (c.Verdict == lab.Regressed || c.Verdict == lab.Improved)
		want := []string{strconv.FormatBool(c.Red), strconv.FormatBool(amber), strconv.FormatBool(c.Held)}
		if got := rows[i+1][n-3:]; !slices.Equal(got, want) {
			t.Errorf("row %d: red, amber, held are %v, want %v", i+1, got, want)
		}
	}
}

// TestEventPlace holds that people count blocks from 1, and that an event of a variant
// that the run does not have is still told.
func TestEventPlace(t *testing.T) {
	s := first()
	v := newView(s, lab.QPS)
	for _, tt := range []struct {
		e    lab.Event
		want string
	}{
		{lab.Event{Block: 0}, "block 1: "},
		{lab.Event{Block: 2, Variant: s.Run.Variants[1]}, "block 3, mariadb@11.8: "},
		{lab.Event{Block: -1, Variant: s.Run.Variants[1]}, "mariadb@11.8: "},
		{lab.Event{Block: -1}, ""},
		{lab.Event{Block: -1, Variant: lab.Variant{Build: "z", Config: "c", Engine: "Aria"}}, "z/c/Aria: "},
	} {
		if got := v.eventPlace(tt.e); got != tt.want {
			t.Errorf("eventPlace(%+v) = %q, want %q", tt.e, got, tt.want)
		}
	}
}

// TestNoiseLevels holds that a level has one line, that advice for some candidates says
// for which, and that medians leave out what is not known.
func TestNoiseLevels(t *testing.T) {
	s := called(map[string]float64{"p": 1, "r": 1})
	twin, next := s.Run.Variants[1], s.Run.Variants[2]
	at := s.Run.Levels[0].Level
	s.Noise.Pairs = []lab.PairNoise{
		{Candidate: twin, Level: at, SliceSD: -1, OrderP: -1, Advice: "wait", Steal: -1, HostBusy: -1},
		{Candidate: next, Level: at, SliceSD: math.Log(1.02), OrderP: 0.001, Order: math.Log(1.03), Notes: []string{"odd"}, Advice: "wait", Steal: -1, HostBusy: 0.02},
		{Candidate: next, Level: s.Run.Levels[1].Level},
	}
	v := newView(s, lab.QPS)
	if d := cmp.Diff([]string{"p at 1 client: wait; a@2: odd"}, v.noise().list); d != "" {
		t.Errorf("noise (-want +got):\n%s", d)
	}
	rows := v.noiseTable().Rows
	if len(rows) != 2 {
		t.Fatalf("%d rows of noise, want 2", len(rows))
	}
	if r := rows[0]; r.Slice != "2.0" || r.Order != "+3.0" || !r.Odd || r.Steal != none || r.Others != "2.0" {
		t.Errorf("the first level is %+v", r)
	}
	for i := range noiseLines + 2 {
		l := lab.Level{Step: at.Step, Clients: 2 + i}
		s.Run.Levels = append(s.Run.Levels, lab.LevelPlan{Level: l, Group: lab.Point})
		s.Noise.Pairs = append(s.Noise.Pairs, lab.PairNoise{Candidate: next, Level: l, Advice: "wait"})
	}
	list := newView(s, lab.QPS).noise().list
	if got, want := list[len(list)-1], "and 3 levels more, in the page and in JSON"; len(list) != noiseLines+1 || got != want {
		t.Errorf("%d lines, the last %q; want %d and %q", len(list), got, noiseLines+1, want)
	}
}
