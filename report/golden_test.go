package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// update is asked for through the flag set, so that no package variable holds it.
func update() bool { return flag.Lookup("update").Value.(flag.Getter).Get().(bool) }

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite golden files")
	flag.Parse()
	os.Exit(m.Run())
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if update() {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, d)
	}
}

// part is what is left of the first summary for formats that have a line for everything:
// five levels with all that can happen, one candidate, two metrics and three blocks.
func part() lab.Summary {
	s := first()
	keep := func(l lab.Level) bool {
		return l.Clients == 4 && l.Step.Name != "scan" && l.Step.Name != "range-covered-pk" || l.Step.Name == "load"
	}
	var out []lab.Comparison
	for _, c := range s.Comparisons {
		if c.Candidate == s.Run.Variants[1] && keep(c.Level) && (c.Metric == lab.QPS || c.Metric == lab.ServerCPU) {
			c.Blocks = c.Blocks[:min(3, len(c.Blocks))]
			out = append(out, c)
		}
	}
	s.Comparisons = out
	return s
}

func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		file, format string
		s            lab.Summary
		o            Options
	}{
		{"first.txt", "text", first(), Options{}},
		{"first-80.txt", "text", first(), Options{Width: 80}},
		{"first-40-brief.txt", "text", first(), Options{Width: 40, View: Brief}},
		{"first-color.txt", "text", first(), Options{Width: 120, View: Brief, Color: true}},
		{"first-cpu.txt", "text", first(), Options{Metric: lab.ServerCPU, Width: 120, View: Brief}},
		{"first.md", "markdown", first(), Options{}},
		{"first-dense.txt", "text", first(), Options{View: Dense, Width: 100, Decimals: 2}},
		{"first-dense.md", "markdown", first(), Options{View: Dense, Decimals: 2}},
		{"first-concurrency.txt", "text", first(), Options{View: Concurrency, Width: 100, Decimals: 2}},
		{"part-concurrency.md", "markdown", part(), Options{View: Concurrency, Decimals: 2}},
		{"part-dense-3.txt", "text", part(), Options{View: Dense}},
		{"part-concurrency-3.txt", "text", part(), Options{View: Concurrency, Width: 100}},
		{"part-steps.txt", "text", part(), Options{View: Steps, Width: 120}},
		{"part-groups.txt", "text", part(), Options{View: Groups, Width: 120}},
		{"part-response.md", "markdown", part(), Options{View: Response}},
		{"part.openmetrics", "openmetrics", part(), Options{}},
		{"part.csv", "csv", part(), Options{}},
		{"first-groups.csv", "csv-groups", first(), Options{}},
		{"part.bench", "benchfmt", part(), Options{}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			var b bytes.Buffer
			if err := Write(&b, tt.format, tt.s, tt.o); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.file, b.Bytes())
		})
	}
}
