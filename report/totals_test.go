package report

import (
	"encoding/csv"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// totalsRun has two categories of fixed work, and a step that ends by time. The base does
// 100 operations at 50/s (2 s) and 10 at 10/s (1 s) in insert, 4 at 1/s (4 s) in select; the
// candidate takes 1.5, 2 and 0.5 times as long: 3 s, 2 s, 2 s.
func totalsRun(missing bool) lab.Summary {
	base, cand := lab.Variant{Build: "a", Config: "default", Engine: "InnoDB"}, lab.Variant{Build: "b", Config: "default", Engine: "InnoDB"}
	s := lab.Summary{Run: lab.Run{ID: 7, Name: "t", Base: base, Variants: []lab.Variant{base, cand}}}
	for _, l := range []struct {
		name       string
		ops        int64
		qps, times float64
	}{{"insert.row", 100, 50, 1.5}, {"insert.ten", 10, 10, 2}, {"select.key", 4, 1, 0.5}, {"timed", 0, 1000, 1}} {
		level := lab.Level{Step: lab.Step{Workload: "w", Name: l.name}, Clients: 1}
		s.Run.Levels = append(s.Run.Levels, lab.LevelPlan{Level: level, Group: lab.Write, Read: true, Ops: l.ops, Slices: 2})
		for _, x := range s.Run.Variants {
			qps := l.qps
			if x == cand {
				qps /= l.times
			}
			if missing && l.name == "insert.ten" && x == cand {
				continue
			}
			s.Cells = append(s.Cells, lab.CellMean{Cell: lab.Cell{Variant: x, Step: level.Step, Clients: 1}, Group: lab.Write, Blocks: 2, Slices: 4, Values: map[lab.Metric]float64{lab.QPS: qps}})
		}
		c := lab.Comparison{Base: base, Candidate: cand, Level: level, Group: lab.Write, Metric: lab.QPS, Verdict: lab.Inconclusive, LogRatio: -math.Log(l.times), Lo: -3, Hi: 3}
		if !missing || l.name != "insert.ten" {
			c.Blocks = make([]lab.BlockDiff, 2)
		}
		s.Comparisons = append(s.Comparisons, c)
	}
	return s
}

// Where servers tell their own time of fixed work, it stands beside the client's; where one
// does not, that is said, and is not zero.
func TestServerClocks(t *testing.T) {
	var b strings.Builder
	s := totalsRun(false)
	if err := Text(&b, s, Options{View: Totals}); err != nil || strings.Contains(b.String(), "own clocks") {
		t.Errorf("without clocks: %v\n%s", err, b.String())
	}
	s.Cells[0].Clocks = lab.Clocks{Server: 0.019, Client: 0.020, By: []lab.ServerClock{lab.PerformanceSchema}, Slices: 4}
	b.Reset()
	if err := Text(&b, s, Options{View: Totals}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"own clocks (Performance Schema)", "  insert.row  19.0 95 %  n/a\n", "n/a: not available"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := CSVTotals(&b, s); err != nil {
		t.Fatal(err)
	}
	if want := ",1.9,Performance Schema\r\n"; strings.Count(b.String(), want) != 1 {
		t.Errorf("not one %q in\n%s", want, b.String())
	}
}

func TestTotals(t *testing.T) {
	var b strings.Builder
	if err := Text(&b, totalsRun(false), Options{View: Totals}); err != nil {
		t.Fatal(err)
	}
	// (3+2)/(2+1) = 1.67, (3+2+2)/(2+1+4) = 1.00
	for _, want := range []string{
		"variant   insert      select      total\n",
		"b         5.00 ×1.67  2.00 ×0.50  7.00 ×1.00\n",
		"  row         100  2.00      3.00 ×1.50\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "timed") {
		t.Error("a step that ends by time has no total")
	}
}

// Reports that are about more have the sums of categories, if a workload fixes its work.
func TestTotalsInFullReports(t *testing.T) {
	s := totalsRun(false)
	var text, page strings.Builder
	if err := errors.Join(Text(&text, s, Options{}), HTML(&page, s, Options{})); err != nil {
		t.Fatal(err)
	}
	if want := "b         5.00 ×1.67  2.00 ×0.50  7.00 ×1.00\n"; !strings.Contains(text.String(), want) || strings.Contains(text.String(), "by step, 1 client") {
		t.Errorf("want %q, and no steps, in\n%s", want, text.String())
	}
	if want := `<td class="num">5.00 ×1.67</td>`; !strings.Contains(page.String(), want) {
		t.Errorf("the page has no %s", want)
	}
	for i := range s.Run.Levels {
		s.Run.Levels[i].Read = s.Run.Levels[i].Ops == 0 // writes that calibration fixed
	}
	text.Reset()
	if err := Text(&text, s, Options{}); err != nil || strings.Contains(text.String(), "seconds for the same work") {
		t.Errorf("totals of writes whose number was chosen on this host: %v\n%s", err, text.String())
	}
}

func TestTotalsWithoutAResult(t *testing.T) {
	var b strings.Builder
	if err := Text(&b, totalsRun(true), Options{View: Totals}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"without insert.ten, of which some variant has no result", "3.00 ×1.50  2.00 ×0.50  5.00 ×0.83"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestCSVTotals(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, "csv", totalsRun(true), Options{View: Totals}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows[1:] {
		if r[5] == "b" {
			got = append(got, strings.Join([]string{r[2], r[3], r[10], r[11], r[12], r[13]}, ","))
		}
	}
	want := []string{
		"insert,insert.row,100,3,1.5,", "insert,insert.ten,10,,,", "select,select.key,4,2,0.5,",
		"insert,,,3,1.5,insert.ten", "select,,,2,0.5,", ",,,5,0.833333,insert.ten",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rows of b (-want +got):\n%s", d)
	}
}

func TestThreeDigits(t *testing.T) {
	for s, want := range map[float64]string{1234.5: "1234", 12.345: "12.3", 1.2345: "1.23", 0.012345: "0.0123", 0.00001: "0.000010", 0: "0.000000"} {
		if got := threeDigits(s); got != want {
			t.Errorf("threeDigits(%v) = %s, want %s", s, got, want)
		}
	}
}
