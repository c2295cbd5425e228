package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// published is a small import: two hosts, one of them with two runs of each cell.
func published() lab.Estimates {
	est := func(v float64, runs int, sd float64) lab.Estimate { return lab.Estimate{Value: v, Runs: runs, SD: sd} }
	return lab.Estimates{
		Name: "dop1", Sources: []string{"dop1"}, Config: "z12a",
		Columns: []lab.EstimateColumn{
			{Name: "my5651", Full: "my5651.z12a", Host: "small"}, {Name: "my8044", Full: "my8044.z12a", Host: "small"},
			{Name: "my5651", Full: "my5651.z12a", Host: "big", Base: 2}, {Name: "my8044", Full: "my8044.z12a", Host: "big", Base: 2},
		},
		Rows: []lab.EstimateRow{
			{Workload: "sysbench", Step: "point-query", Group: lab.Point, Clients: 1, Metric: "qps", Unit: "op/sec",
				Values: []lab.Estimate{est(1000, 1, 0), est(900, 1, 0), est(2000, 2, 0.01), est(1500, 2, 0.02)}},
			{Workload: "sysbench", Step: "point-query", Group: lab.Point, Clients: 1, Metric: "cpu/o", Unit: "%-sec/op",
				Values: []lab.Estimate{est(0.000409, 1, 0), est(0.0005, 1, 0), {}, {}}},
			{Workload: "sysbench", Step: "point-query", Group: lab.Point, Clients: 40, Metric: "qps", Unit: "op/sec",
				Values: []lab.Estimate{est(8000, 1, 0), est(8800, 1, 0), {}, {}}},
			{Workload: "sysbench", Step: "scan", Group: lab.Range, Clients: 1, Metric: "qps", Unit: "krow/sec",
				Values: []lab.Estimate{est(100, 1, 0), est(50, 1, 0), {}, {}}},
		},
		Groups: []lab.EstimateSummary{{Group: lab.Point, Clients: 1, Column: 1, Steps: 1, Min: 0.9, Max: 0.9, Average: 0.9, Median: 0.9}},
		Dense: []lab.EstimateSummary{
			{Group: lab.Point, Clients: 1, Column: 1, Steps: 1, Average: 0.9}, {Group: lab.Point, Clients: 1, Column: 3, Steps: 1, Average: 0.75},
			{Group: lab.Range, Clients: 1, Column: 1, Steps: 1, Average: 0.5},
		},
		Doubts: []string{"dop1/sb.met: cs/s is 4.7 % low"}, Problems: []string{"dop1/x:3: x is no figure"},
	}
}

func estimatesIn(t *testing.T, format string, e lab.Estimates, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Estimates(&b, format, e, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestEstimatesGolden(t *testing.T) {
	for _, tt := range []struct {
		file, format string
		o            Options
	}{
		{"imported.txt", "text", Options{}},
		{"imported-2.txt", "text", Options{Decimals: 2, View: Groups}},
		{"imported-steps.txt", "text", Options{View: Steps}},
		{"imported-dense.txt", "text", Options{View: Dense}},
		{"imported-concurrency.txt", "text", Options{View: Concurrency}},
		{"imported-response.txt", "text", Options{View: Response}},
		{"imported.md", "markdown", Options{}},
		{"imported.csv", "csv", Options{}},
		{"imported.openmetrics", "openmetrics", Options{}},
		{"imported.bench", "benchfmt", Options{}},
	} {
		t.Run(tt.file, func(t *testing.T) { golden(t, tt.file, []byte(estimatesIn(t, tt.format, published(), tt.o))) })
	}
}

// Figures of a large import are in its page too.
func TestEstimatesFigures(t *testing.T) {
	e := published()
	for len(e.Doubts) < 30_000 {
		e.Doubts = append(e.Doubts, strings.Repeat("x", 100))
	}
	f, err := estimateFigures(e)
	if err != nil || f.Inline != "" || f.Name != "backslide-import.json.gz" {
		t.Fatalf("%s, %d bytes inline, %v", f.Name, len(f.Inline), err)
	}
	_, text, _ := strings.Cut(string(f.Packed), "base64,")
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(text)))
	if err != nil {
		t.Fatal(err)
	}
	var back lab.Estimates
	if err := json.NewDecoder(z).Decode(&back); err != nil || len(back.Doubts) != len(e.Doubts) || len(back.Rows) != len(e.Rows) {
		t.Errorf("%d doubts and %d rows come back, %v; want %d and %d", len(back.Doubts), len(back.Rows), err, len(e.Doubts), len(e.Rows))
	}
	if page := estimatesIn(t, "html", e, Options{}); !strings.Contains(page, `download="backslide-import.json.gz"`) {
		t.Error("the page does not offer them")
	}
}

// benchstat reads every cell of an import, and from it the values.
func TestEstimatesBenchfmt(t *testing.T) {
	r := benchfmt.NewReader(strings.NewReader(estimatesIn(t, "benchfmt", published(), Options{})), "imported.bench")
	cells, values := 0, 0
	for r.Scan() {
		switch x := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Error(x)
		case *benchfmt.Result:
			cells++
			values += len(x.Values)
		}
	}
	want := 0
	for _, row := range published().Rows {
		for _, v := range row.Values {
			want += min(v.Runs, 1)
		}
	}
	if err := r.Err(); err != nil || values != want || cells == 0 {
		t.Errorf("%d values of %d cells, %v; want %d values", values, cells, err, want)
	}
}

// No format of an import may look like verdicts.
func TestEstimatesAreNoVerdicts(t *testing.T) {
	for _, format := range EstimateFormats() {
		for _, view := range Views() {
			out := estimatesIn(t, format, published(), Options{View: view})
			if format != "html" {
				for _, word := range []string{"regressed", "improved", "equivalent", "inconclusive", "▼", "▲"} {
					if strings.Contains(out, word) {
						t.Errorf("%s, view %s: %q is in it", format, view, word)
					}
				}
			}
			if format != "csv" && !strings.Contains(out, "no verdict") && !strings.Contains(out, `"verdict": "none`) {
				t.Errorf("%s, view %s does not say that there is no verdict", format, view)
			}
		}
	}
}

// The noise that a difference stands: ln 0.9 / (2.5758 √2) = 2.892 %; and the response
// time of 40 clients that make 8000 op/s is 5 ms, five times that of one that makes 1000.
func TestEstimatesNumbers(t *testing.T) {
	if out := estimatesIn(t, "text", published(), Options{View: Groups}); !strings.Contains(out, "0.900 (2.9%)") {
		t.Errorf("the noise is not said:\n%s", out)
	}
	if out := estimatesIn(t, "text", published(), Options{View: Response}); !strings.Contains(out, "1.000       5.000") {
		t.Errorf("normalised response time:\n%s", out)
	}
	rows, err := csv.NewReader(strings.NewReader(estimatesIn(t, "csv", published(), Options{}))).ReadAll()
	if err != nil || len(rows) != 1+4+2+2+2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	var back struct {
		Schema string
		lab.Estimates
	}
	if err := json.Unmarshal([]byte(estimatesIn(t, "json", published(), Options{})), &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(published(), back.Estimates); d != "" || back.Schema != EstimatesSchema {
		t.Errorf("JSON read back, schema %q (-want +got):\n%s", back.Schema, d)
	}
}

func TestEstimatesRefused(t *testing.T) {
	for _, tt := range []struct {
		format string
		o      Options
		change func(*lab.Estimates)
		want   string
	}{
		{"csv-groups", Options{}, nil, "report format csv-groups is for runs"},
		{"pdf", Options{}, nil, `"pdf" is unknown`},
		{"text", Options{Metric: "cpu/oo"}, nil, `metric "cpu/oo" is not in dop1; did you mean cpu/o?; it has qps, cpu/o`},
		{"text", Options{Decimals: 5}, nil, "2 or 3 decimals, not 5"},
		{"text", Options{}, func(e *lab.Estimates) { e.Rows[0].Values = nil }, "0 values for 4 columns"},
		{"text", Options{}, func(e *lab.Estimates) { e.Columns[1].Base = 9 }, "no such base"},
	} {
		e := published()
		if tt.change != nil {
			tt.change(&e)
		}
		if err := Estimates(&bytes.Buffer{}, tt.format, e, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %+v: %v, want %q", tt.format, tt.o, err, tt.want)
		}
	}
	for _, format := range EstimateFormats() {
		for _, view := range Views() {
			if out := estimatesIn(t, format, lab.Estimates{Name: "x"}, Options{View: view}); out == "" {
				t.Errorf("%s, view %s of an import without absolute figures: nothing", format, view)
			}
		}
	}
}

// What comes from imported files is escaped, and control characters are not passed on.
func TestEstimatesHostile(t *testing.T) {
	const evil = "<script>alert(1)</script>\x1b[31m\u202e"
	e := published()
	e.Name, e.Config = evil, evil
	for i := range e.Columns {
		e.Columns[i].Name, e.Columns[i].Full, e.Columns[i].Host = evil+e.Columns[i].Name, evil, evil
	}
	for i := range e.Rows {
		e.Rows[i].Step, e.Rows[i].Unit, e.Rows[i].Group = evil+e.Rows[i].Step, evil, lab.Group(evil)
		e.Rows[i].Values[1].Value = math.Inf(1)
	}
	e.Doubts, e.Problems = []string{evil}, []string{evil}
	for _, view := range Views() {
		page := estimatesIn(t, "html", e, Options{View: view})
		if strings.Contains(page, "<script>alert") {
			t.Errorf("view %s: a name became markup", view)
		}
		for _, format := range []string{"text", "html", "markdown"} {
			if out := estimatesIn(t, format, e, Options{View: view}); strings.ContainsAny(out, "\x1b\u202e") {
				t.Errorf("%s, view %s: a control character is passed on", format, view)
			}
		}
	}
}
