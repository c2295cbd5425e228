package report

import (
	"bytes"
	"encoding/csv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/perf/benchfmt"

	"backslide/lab"
)

func TestJSONRoundTrip(t *testing.T) {
	for name, want := range map[string]lab.Summary{"first": first(), "hostile": hostile(), "zero": {Comparisons: []lab.Comparison{}}} {
		t.Run(name, func(t *testing.T) {
			var b, again bytes.Buffer
			if err := JSON(&b, want); err != nil {
				t.Fatal(err)
			}
			got, err := ReadJSON(bytes.NewReader(b.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("read back (-want +got):\n%s", d)
			}
			if err := JSON(&again, want); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
				t.Errorf("written twice, it differs, or: %v", err)
			}
		})
	}
}

func TestReadJSONErrors(t *testing.T) {
	for in, want := range map[string]string{"": "EOF", "{}": `schema is ""`, `{"schema":"backslide-summary/9"}`: "backslide-summary/9", "[1]": "read a summary"} {
		if _, err := ReadJSON(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadJSON(%q): error %v, want one that says %q", in, err, want)
		}
	}
}

func TestCSV(t *testing.T) {
	s := first()
	s.Comparisons[0].Candidate.Build = "=cmd|' /C calc'!A0,\"x\"\nz" // a formula; see csvWriter
	var b bytes.Buffer
	if err := CSV(&b, s); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n") - strings.Count(b.String(), "\r\n"); n != 0 {
		t.Errorf("%d lines end without CR", n)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+len(s.Comparisons) {
		t.Fatalf("%d rows, want one per comparison and metric, and the head: %d", len(rows), 1+len(s.Comparisons))
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for i, c := range s.Comparisons {
		row := rows[i+1]
		text := func(name string) string { return row[column[name]] }
		if strings.TrimPrefix(text("build"), "'") != c.Candidate.Build || formula(text("build")) || text("unit") != c.Metric.Unit() || text("metric") != string(c.Metric) {
			t.Errorf("row %d is of %q in %q", i, text("build"), text("unit"))
		}
		for name, want := range map[string]float64{"lo": c.Lo, "hi": c.Hi, "mde": c.MDE, "value": c.CandidateValue, "log_ratio": c.LogRatio} {
			got := text(name)
			switch {
			case len(c.Blocks) == 0 || math.IsInf(want, 0):
				if got != "" {
					t.Errorf("row %d: %s = %q, want nothing", i, name, got)
				}
			default:
				if x, err := strconv.ParseFloat(got, 64); err != nil || x != want {
					t.Errorf("row %d: %s = %q, want %v", i, name, got, want)
				}
			}
		}
	}
}

// TestCSVAlone holds that a run of one variant still has its values.
func TestCSVAlone(t *testing.T) {
	s := first()
	s.Comparisons, s.Run.Variants = nil, s.Run.Variants[:1]
	s.Cells = s.Cells[:2]
	var b bytes.Buffer
	if err := CSV(&b, s); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 1+2*len(closed()) {
		t.Errorf("%d rows, error %v; want two cells of every metric and the head", len(rows), err)
	}
}

// benchmarks parses what Benchfmt writes, with the reader that benchstat uses.
func benchmarks(t *testing.T, s lab.Summary) []*benchfmt.Result {
	t.Helper()
	var b bytes.Buffer
	if err := Benchfmt(&b, s); err != nil {
		t.Fatal(err)
	}
	var out []*benchfmt.Result
	r := benchfmt.NewReader(&b, "out.bench")
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			out = append(out, rec.Clone())
		case *benchfmt.SyntaxError:
			t.Errorf("%v", rec)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBenchfmt(t *testing.T) {
	s := first()
	results := benchmarks(t, s)
	// The base and its twin have 12 blocks at 15 levels; the candidate at 12, two at one,
	// none at two.
	if want := 12*15*2 + 12*12 + 2; len(results) != want {
		t.Errorf("%d results, want %d: one per block and cell, the base once", len(results), want)
	}
	for _, c := range s.Comparisons {
		if c.Metric != lab.QPS || c.Candidate != s.Run.Variants[1] || c.Level.Step.Name != "scan" || c.Level.Clients != 4 {
			continue
		}
		const name = "Scan/workload=sysbench/build=mariadb@11.8/config=default/engine=InnoDB/clients=4"
		n := 0
		for _, r := range results {
			if string(r.Name) != name {
				continue
			}
			got, ok := r.Value("op/sec")
			if want := math.Exp(c.Blocks[n].Candidate); !ok || abs(got/want-1) > 1e-7 {
				t.Errorf("block %d is %v op/sec, want %v", n, got, want)
			}
			if cpu, ok := r.Value("cpu-sec/op"); !ok || cpu < 1e-7 || cpu > 1e-3 {
				t.Errorf("block %d takes %v s of CPU per op, want microseconds", n, cpu)
			}
			if got := r.GetConfig("kernel"); got != s.Run.Host.Kernel {
				t.Errorf("kernel is %q", got)
			}
			n++
		}
		if n != len(c.Blocks) {
			t.Errorf("%d results of %s, want %d", n, name, len(c.Blocks))
		}
	}
}

func TestBenchfmtNames(t *testing.T) {
	for in, want := range map[string]string{
		"dir:/opt/mysql 8.0": "dir:%2Fopt%2Fmysql%208.0", "100%": "100%25", "a\u2028b\nc": "a%E2%80%A8b%0Ac", "gcc-12": "gcc-12", "ümlaut": "ümlaut",
	} {
		if got := encode(in); got != want {
			t.Errorf("encode(%q) = %q, want %q", in, got, want)
		}
	}
	s := hostile()
	seen := map[string]bool{}
	for _, r := range benchmarks(t, s) {
		base, parts := r.Name.Parts()
		if len(base) == 0 || len(parts) != 5 {
			t.Fatalf("name %q has %d parts, want workload, build, config, engine, clients", r.Name, len(parts))
		}
		seen[string(parts[1])] = true
	}
	if len(seen) != 3 {
		t.Errorf("%d builds, want 3", len(seen))
	}
}

// TestBenchstat holds that the real benchstat finds the same difference.
func TestBenchstat(t *testing.T) {
	if testing.Short() {
		t.Skip("builds benchstat")
	}
	file := filepath.Join(t.TempDir(), "out.bench")
	var b bytes.Buffer
	if err := Benchfmt(&b, first()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", "golang.org/x/perf/cmd/benchstat", "-format", "csv", "-col", "/build", "-row", ".name,/clients", file).CombinedOutput()
	if err != nil {
		t.Fatalf("benchstat: %v\n%s", err, out)
	}
	for _, want := range []string{",mariadb@10.5,", ",mariadb@11.8,", ",mariadb@10.5#1,", "RangeNotcoveredSi 4,"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("benchstat does not say %q:\n%s", want, out)
		}
	}
	for _, line := range strings.Split(string(out), "\n") {
		if strings.HasPrefix(line, "RangeNotcoveredSi 4,") {
			// Its estimate is a ratio of medians, ours is −13.6 %.
			if !strings.Contains(line, ",-13.") && !strings.Contains(line, ",-14.") {
				t.Errorf("benchstat says %s", line)
			}
			break // the table of op/sec is the first
		}
	}
}

func TestMarkdownEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"a|b": `a\|b`, "<b>": "&lt;b>", "[x](javascript:y)": `[x\](javascript:y)`, "[0.9, 1.1]": "[0.9, 1.1]", "a_b*c`d": "a\\_b\\*c\\`d", "&amp;": "&amp;amp;",
	} {
		if got := markdown(in); got != want {
			t.Errorf("markdown(%q) = %q, want %q", in, got, want)
		}
	}
}

// What a spreadsheet would run is text to it, and numbers stay numbers.
func TestCSVFormula(t *testing.T) {
	var b bytes.Buffer
	w := newCSV(&b)
	w.Write([]string{"=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "-0.25", "+1e-9", "mariadb@10.5", "", "a=1", "−4 %"})
	w.Flush()
	want := "'=1+1,'+cmd,'-2+3,'@SUM(A1),'\t=1,-0.25,+1e-9,mariadb@10.5,,a=1,−4 %\r\n"
	if got := b.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
