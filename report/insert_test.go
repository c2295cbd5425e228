package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// benchmark returns a summary of a load and a query step with four variants; the third did
// not keep its rate.
func benchmark() lab.Summary {
	var s lab.Summary
	s.Run = lab.Run{ID: 3, Name: "ib", Plan: lab.Plan{}.WithDefaults()}
	for i := range 4 {
		s.Run.Variants = append(s.Run.Variants, lab.Variant{Build: fmt.Sprintf("server@%d", i), Config: "c", Engine: "InnoDB"})
	}
	s.Run.Base = s.Run.Variants[0]
	for _, name := range []string{"l.i0", "qr100"} {
		s.Run.Levels = append(s.Run.Levels, lab.LevelPlan{
			Level: lab.Level{Step: lab.Step{Workload: "insert", Name: name}, Clients: 1}, Group: lab.Load, Ops: 1000, Slices: 1, Limit: time.Hour,
		})
	}
	values := map[string][]float64{"l.i0": {1000, 1051, 949, 990}, "qr100": {400, 800, 100, 520}}
	for _, l := range s.Run.Levels {
		for i, v := range s.Run.Variants {
			cell := lab.Cell{Variant: v, Step: l.Level.Step, Clients: 1}
			s.Cells = append(s.Cells, lab.CellMean{Cell: cell, Group: l.Group, Blocks: 1, Values: map[lab.Metric]float64{lab.QPS: values[l.Level.Step.Name][i], lab.ServerCPU: 1e-5}})
			c := lab.LongCell{Cell: cell, Blocks: 2, Roles: []lab.RoleMean{{Role: "", Rate: values[l.Level.Step.Name][i], Shares: []float64{0.5, 0.499999, 0, 1e-6}, Max: 0.02}}}
			if l.Level.Step.Name == "qr100" {
				c.Roles[0].Role = "query"
				w := lab.RoleMean{Role: "insert", Rate: 99, Offered: 100}
				if i == 2 {
					w.Rate, w.Slow = 80, 1
				}
				c.Roles = append(c.Roles, w)
				c.Readings = []lab.Reading{{Name: "redo", Unit: "B", Value: 3 << 20}, {Name: lab.PageReads, Unit: "1", Value: 1e6 / 99}}
				c.Traces = []lab.Trace{{Series: []lab.Series{
					{Name: "query rate", Unit: "op/sec", Values: []float64{100, 110, 90, 105, 1, 100, 95, 100, 105, 100, 98, 102, 99, 101}},
					{Name: "rss", Unit: "B", Values: []float64{1 << 20, 2 << 20, -1, 4 << 20}},
				}}}
			}
			s.Long = append(s.Long, c)
		}
	}
	return s
}

// Colours are of quarters of a column's range over what counts: of 1000, 1051, 949, 990
// the range is 949 to 1051 and a quarter 25.5; nothing is low since 949 > 0.8·1051. Of
// 400, 800, 520 (100 missed its rate) it is 400 to 800 and a quarter 100.
func TestBoards(t *testing.T) {
	s := benchmark()
	v := newView(s, lab.QPS)
	got := map[string][][]shade{}
	for i, b := range v.boards(1) {
		for _, r := range b.cells {
			var line []shade
			for _, c := range r {
				line = append(line, c.shade)
			}
			name := []string{"absolute", "relative", "rates"}[i]
			got[name] = append(got[name], line)
		}
	}
	want := map[string][][]shade{
		"absolute": {{"", low}, {high, high}, {"", missed}, {"", ""}},
		"relative": {{"", ""}, {better, better}, {worse, worse}, {"", better}},
		"rates":    {{""}, {""}, {behind}, {""}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("shades (-want +got):\n%s", d)
	}
	// Where small is good: 1, 2, 9, 10 with a range of 1 to 10.
	b := board{steps: s.Run.Levels[:1], cells: [][]shaded{{{1, ""}}, {{2, ""}}, {{9, ""}}, {{10, ""}}}}
	b.colour(true)
	if b.cells[0][0].shade != high || b.cells[1][0].shade != high || b.cells[2][0].shade != low || b.cells[3][0].shade != low {
		t.Errorf("small is good: %v", b.cells)
	}
}

func TestInsertView(t *testing.T) {
	var out bytes.Buffer
	if err := Text(&out, benchmark(), Options{View: Insert}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"server@0 (base) 1000 400 ↓", "server@2 949 100 ✗", "server@1 1.05 + 2.00 +", "server@2 80.0 ✗", "asked 100",
		"50.000 50.000 nonzero", "qr100 insert", "redo",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if err := Markdown(&out, benchmark(), Options{View: Insert}); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := Write(&out, "csv", benchmark(), Options{View: Insert}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, r := range rows {
		if r[1] == "qr100" && r[3] == "server@2" && (r[8] == "throughput" && r[11] == "missed" || r[8] == "rate of writers" && r[9] == "80" && r[11] == "behind") {
			found++
		}
	}
	if found != 2 {
		t.Errorf("%d of 2 rows found in %v", found, rows)
	}
	var none bytes.Buffer
	if err := Text(&none, first(), Options{View: Insert}); err != nil || !strings.Contains(none.String(), "No step of this run is one long piece") {
		t.Errorf("a run of short slices: %v\n%s", err, none.String())
	}
}

// The page has the three tables with their colours, and a chart for every series: its line
// broken where nothing is known, its stall marked.
func TestLongPage(t *testing.T) {
	v := newView(benchmark(), lab.QPS)
	p := v.longPart()
	if len(p.Boards) != 3 || len(p.Keys) != 4 || len(p.Steps) != 1 || len(p.Steps[0].Charts) != 2 {
		t.Fatalf("%d tables, %d lines, %d steps: %+v", len(p.Boards), len(p.Keys), len(p.Steps), p.Steps)
	}
	rate, rss := p.Steps[0].Charts[0], p.Steps[0].Charts[1]
	// 14 seconds over 240: second 4 stands at 4·240/13 = 73.8.
	if rate.Lines[0].Stalls != "M73.8 2v5" || !strings.Contains(p.Steps[0].About, "4 seconds with next to no work") {
		t.Errorf("stalls %q, %s", rate.Lines[0].Stalls, p.Steps[0].About)
	}
	// 1, 2 and 4 of 4 MiB: 62 − 52·x; two pieces around what is not known.
	if got, want := rss.Lines[0].Path, "M0 49L80 36M240 10"; got != want || rss.Most != "4.00 MiB" {
		t.Errorf("path %s up to %s, want %s up to 4.00 MiB", got, rss.Most, want)
	}
	many := make([]float64, 2400) // ten to a place
	many[1203] = 5
	if got := curve(many, len(many), 5, true); strings.Count(got, "L") != 239 || !strings.Contains(got, " 10L") {
		t.Errorf("%d places, %.80s…; want 240, one of them at the top", 1+strings.Count(got, "L"), got)
	}
	var out bytes.Buffer
	if err := HTML(&out, benchmark(), Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<section id="long"`, `class="num missed">100 `, `class="num behind">80.0 `, `class="stall" d="M73.8 2v5"`, `aria-label="query rate over 14 seconds, at most 110 op/s`, `href="#long"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q on the page", want)
		}
	}
}

// Of 1000 rows inserted at 99 a second, 4040 queries at 400 a second beside them: 10101
// page reads are 2.5 for a query, 3 MiB of redo 3.07 KiB for a row. The second server's
// queries were twice as many.
func TestEngineIO(t *testing.T) {
	var b strings.Builder
	if err := Text(&b, benchmark(), Options{View: Insert}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"I/O of the engines per operation",
		"  page reads  redo KiB\n",
		"qr100  server@0 (base)        2.50      3.07\n",
		"       server@1               1.25      3.07\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Count(b.String(), "page reads") != 1 {
		t.Errorf("page reads are not in one table alone:\n%s", b.String())
	}
}
