package archive

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// columnsOf returns the indices of a published table's columns, the base first.
func columnsOf(t *testing.T, table Table, text string) (out []int) {
	t.Helper()
	for _, line := range strings.Split(text, "\n") {
		name, ok := strings.CutPrefix(line, "Relative to: ")
		if !ok && strings.HasPrefix(line, "col-") {
			_, name, ok = strings.Cut(line, " : ")
		}
		if !ok {
			continue
		}
		i := table.Column(strings.TrimSpace(name))
		if i < 0 {
			t.Fatalf("no column %s", name)
		}
		out = append(out, i)
	}
	return out
}

// lines without trailing blanks.
func trimmed(s string) []string {
	ls := strings.Split(strings.TrimSpace(s), "\n")
	for i := range ls {
		ls[i] = strings.TrimRight(ls[i], " \t\r")
	}
	return ls
}

// TestTablesFromOutputs makes the published tables of a folder from the outputs of sysbench
// in it, with the tables themselves taken away, and compares them byte by byte.
func TestTablesFromOutputs(t *testing.T) {
	dir := data(t, "data", "mytools", "nov25.sb.mysql", "dop1")
	r := imported(t, dir, Options{})
	if len(r.Problems) > 0 {
		t.Errorf("problems: %v", r.Problems)
	}
	var rs []Record
	for _, rec := range r.Records {
		if rec.Origin != Tabled {
			rs = append(rs, rec)
		}
	}
	table := Tabulate(rs, QPS)
	if least, most := table.Runs(); least != 1 || most != 1 {
		t.Errorf("%d to %d runs per cell, want 1: the folder holds one of each", least, most)
	}
	for _, tt := range []struct {
		file string
		make func(Table) string
	}{
		{"qps.abs.all.tsv", func(t Table) string { return t.publishedAbs(false) }},
		{"qps.rel.all.tsv", func(t Table) string { return t.publishedRel(false) }},
	} {
		want := readFile(t, filepath.Join(dir, tt.file))
		got := tt.make(table.Select(columnsOf(t, table, want)...))
		if d := cmp.Diff(trimmed(want), trimmed(got)); d != "" {
			t.Errorf("%s (-published +ours):\n%s", tt.file, d)
		}
	}
}

// TestBlocks makes the published blocks of averages from the averages of each test.
func TestBlocks(t *testing.T) {
	dir := data(t, "data", "mytools", "nov25.sb.mysql", "dop1")
	r := imported(t, dir, Options{})
	var rs []Record
	variants := map[string]Variant{}
	for _, rec := range r.Records {
		if rec.Origin == Averaged {
			rs = append(rs, rec)
		}
		variants[folder(rec.Variant)] = rec.Variant
	}
	p := newPatterns()
	blocks := 0
	for _, want := range strings.Split(strings.TrimSpace(readFile(t, filepath.Join(dir, "o.met.all"))), "\n\n") {
		name, _, _ := strings.Cut(want, "\n")
		test, _, ok := p.reference(name)
		if !ok {
			t.Fatalf("%q names no test", name)
		}
		if test.Step == "prepare" {
			continue // its averages are not in the folder
		}
		var order []Variant
		absolute, _, _ := strings.Cut(want, "--- relative")
		for _, line := range strings.Split(absolute, "\n") {
			if v, ok := variants[line[strings.LastIndex(line, "\t")+1:]]; ok {
				order = append(order, v)
			}
		}
		if d := cmp.Diff(trimmed(want), trimmed(block(rs, test, order))); d != "" {
			t.Errorf("%s (-published +ours):\n%s", name, d)
		}
		blocks++
	}
	if blocks != 37 {
		t.Errorf("%d blocks compared, want one for each of 37 tests", blocks)
	}
}

// TestAverages holds what is published per operation against what is published per second,
// by the formulas, within what printing rounds off.
func TestAverages(t *testing.T) {
	r := imported(t, data(t, "data", "mytools", "nov25.sb.mysql", "dop1"), Options{})
	cells := map[Cell]map[string]float64{}
	for _, rec := range r.Records {
		if rec.Origin != Averaged {
			continue
		}
		if cells[rec.Cell] == nil {
			cells[rec.Cell] = map[string]float64{}
		}
		cells[rec.Cell][rec.Metric] = rec.Value
	}
	if len(cells) != 9*38 {
		t.Errorf("%d cells with averages, want 9 builds × 38 tests, warm-ups included", len(cells))
	}
	for c, m := range cells {
		if len(m) != 12 {
			t.Errorf("%s has %d metrics, want 12", c, len(m))
		}
		for _, f := range []struct {
			per, sec           string
			scale, half, digit float64 // of the figure per second: factor, what rounding hides; of the other
		}{
			{CSPerOp, CSPerSec, 1, 0.5, 0.0005}, {CPUPerOp, CPUPerSec, 1, 0.05, 0.0000005},
			{ReadPerOp, ReadPerSec, 1, 0.05, 0.0005}, {ReadKBPer, ReadMB, 1024, 0.05, 0.0005}, {WriteKBPer, WriteMB, 1024, 0.05, 0.0005},
		} {
			q := m[QPS]
			if got, most := m[f.sec]*f.scale/q-m[f.per], f.half*f.scale/q+f.digit+0.01*m[f.per]; math.Abs(got) > most {
				t.Errorf("%s: %s / rate differs from %s by %g, rounding explains %g", c, f.sec, f.per, got, most)
			}
		}
	}
}

// TestTrueAverages reads raw samples: the reference's averages of vmstat are 4.5 % low, those
// of iostat are right. Both are reproduced, the wrong ones as such.
func TestTrueAverages(t *testing.T) {
	r := imported(t, data(t, "data", "mytools", "feb25.pg.perf"), Options{})
	got := map[string]float64{}
	averaged := map[string]float64{}
	for _, rec := range r.Records {
		switch rec.Origin {
		case Sampled:
			got[rec.Metric] = rec.Value
		case Averaged:
			averaged[rec.Metric] = rec.Value
		}
	}
	six := func(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
	if got, want := six(got[CSPerSec]), "1.32562e+06"; got != want {
		t.Errorf("cs/s = %s, want %s", got, want)
	}
	if got, want := fmt.Sprintf("%.2f", got[CPUPerSec]), "45.78"; got != want {
		t.Errorf("cpu/s = %s, want %s", got, want)
	}
	// 1 325 624 / 174 646.25, 45.78 / 174 646.25: the averages by the published rate
	if got, want := fmt.Sprintf("%.3f %.6f", got[CSPerOp], got[CPUPerOp]), "7.590 0.000262"; got != want {
		t.Errorf("cs/o, cpu/o = %s, want %s", got, want)
	}
	for metric, format := range map[string]string{
		ReadPerSec: "%.1f", WritePer: "%.1f", ReadMB: "%.1f", WriteMB: "%.1f", ReadPerOp: "%.3f", ReadKBPer: "%.3f", WriteKBPer: "%.3f",
	} {
		if got, want := fmt.Sprintf(format, got[metric]), fmt.Sprintf(format, averaged[metric]); got != want {
			t.Errorf("%s of iostat = %s, published %s", metric, got, want)
		}
	}
	if averaged[CSPerSec] != 1263828 {
		t.Errorf("published cs/s = %v", averaged[CSPerSec])
	}
	said := 0
	for _, d := range r.Doubts {
		if strings.Contains(d.Msg, "cs/s is published as 1263828, -4.7 % off: the mean of the 634 samples is 1325624; the script counted 30 headings as samples of zero and the row since boot as one more, which gives 1263828") ||
			strings.Contains(d.Msg, "cpu/s is published as 43.70, -4.5 % off") {
			said++
		}
	}
	if said != 2 {
		t.Errorf("doubts do not say how far the published averages are off: %v", r.Doubts)
	}
	for _, rec := range Best(r.Records) {
		if rec.Metric == CSPerSec && rec.Origin != Sampled {
			t.Errorf("the best cs/s is %s", rec.Origin)
		}
	}
}

// TestRelativeTables recomputes every published table of ratios from its table of rates.
func TestRelativeTables(t *testing.T) {
	root := data(t, "data", "mytools")
	files, err := filepath.Glob(filepath.Join(root, "*", "qps.rel.*.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 10 {
		t.Errorf("%d tables, want 10", len(files))
	}
	for _, file := range files {
		dir, name := filepath.Split(file)
		abs := strings.Replace(name, "rel", "abs", 1)
		r, err := Read(t.Context(), os.DirFS(dir), Options{Root: dir, Files: []string{abs}})
		if err != nil {
			t.Fatal(err)
		}
		table := Tabulate(r.Records, QPS)
		text := readFile(t, file)
		pre := strings.Contains(text, ".pre")
		got := table.Select(columnsOf(t, table, text)...)
		if d := cmp.Diff(sorted(text), sorted(got.publishedRel(pre))); d != "" {
			t.Errorf("%s (-published +ours):\n%s", file, d)
		}
		text = readFile(t, filepath.Join(dir, abs))
		if d := cmp.Diff(sorted(text), sorted(table.publishedAbs(pre))); d != "" {
			t.Errorf("%s (-published +ours):\n%s", abs, d)
		}
	}
}

// sorted returns a table's lines by the test, since the order of tests that differ only in
// ".pre" is the locale's.
func sorted(text string) map[string]string {
	m := map[string]string{}
	for _, line := range trimmed(text) {
		i := strings.LastIndex(line, "\t")
		m[line[i+1:]] = line
	}
	return m
}

// TestGroups holds the summaries of groups to figures that were computed from the published
// rates independently of this code.
func TestGroups(t *testing.T) {
	dir := data(t, "data", "mytools", "apr26.sb.hetz")
	const file = "qps.abs.my.latest.tsv"
	r, err := Read(t.Context(), os.DirFS(dir), Options{Root: dir, Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	table := Tabulate(r.Records, QPS)
	base := table.Column("x.my5651_rel_o2nofp.z12a_c32r128.pk1")
	got := map[string]string{}
	for _, s := range table.Groups(base, Group) {
		got[fmt.Sprintf("%s %d", s.Group, s.Tests)] += fmt.Sprintf("%.3f %.3f %.3f %.3f|", s.Min, s.Max, s.Avg, s.Median)
	}
	want := map[string]string{} // columns 5.7.44, 8.0.44, 8.4.7, 9.5.0
	for group, rows := range map[string][4]string{
		"point 9":     {"0.868 0.757 0.751 0.772", "3.341 2.577 2.537 2.608", "2.295 1.862 1.837 1.869", "2.884 2.348 2.340 2.397"},
		"range 5":     {"0.857 0.687 0.685 0.679", "0.919 0.751 0.746 0.751", "0.887 0.728 0.722 0.720", "0.889 0.734 0.729 0.729"},
		"aggregate 8": {"0.848 0.727 0.704 0.706", "1.813 1.600 1.582 1.577", "1.253 1.113 1.096 1.086", "1.238 1.093 1.074 1.048"},
		"write 10":    {"1.302 1.198 1.169 1.151", "7.360 7.047 6.962 6.770", "2.506 2.536 2.455 2.332", "2.078 2.235 2.120 2.019"},
	} {
		for col := range 4 {
			var of []string
			for _, row := range rows {
				of = append(of, strings.Fields(row)[col])
			}
			want[group] += strings.Join(of, " ") + "|"
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("min, max, avg, median per group and build (-want +got):\n%s", d)
	}
	// Counted as three groups, ranges are both kinds of ranges.
	for _, s := range table.Groups(base, Dense) {
		if s.Group == lab.Range && s.Tests != 13 {
			t.Errorf("%d ranges, want 5 + 8", s.Tests)
		}
	}
}

// TestHandMade reads the hand-made copies of tables, with titles and without ranges, and
// finds the same ratios in them as in the tables they were made from.
func TestHandMade(t *testing.T) {
	r := imported(t, data(t, "data", "mytools", "apr26.sb.hetz"), Options{})
	if len(r.Problems) > 0 {
		t.Errorf("problems: %v", r.Problems)
	}
	n := 0
	for _, rec := range r.Records {
		if strings.HasSuffix(rec.File, ".edit") {
			n++
			// The author's slip: "read-only-simplex" in one of the four.
			if rec.Step != "read-only-simplex" {
				t.Errorf("%s %s of %s in %s:%d is no copy", rec.Variant, rec.Test, rec.Base, rec.File, rec.Line)
			}
		}
	}
	if n != 2 {
		t.Errorf("%d cells differ from the tables, want the 2 under a misspelt name", n)
	}
	for _, d := range r.Doubts {
		t.Errorf("doubt: %v", d)
	}
}

// TestConcurrency recomputes the relative tables of a published text from its rates. One of
// the cells is wrong there: 159/273 is 0.58.
func TestConcurrency(t *testing.T) {
	dir := data(t, "seeds")
	files, err := filepath.Glob(filepath.Join(dir, "003*.txt"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	r, err := Read(t.Context(), os.DirFS(dir), Options{Files: []string{filepath.Base(files[0])}})
	if err != nil {
		t.Fatal(err)
	}
	rates := map[Cell]float64{}
	ratios := 0
	for _, rec := range r.Records {
		if rec.Base == "" {
			rates[rec.Cell] = rec.Value
		}
	}
	var wrong []string
	for _, rec := range r.Records {
		if rec.Base == "" {
			continue
		}
		ratios++
		base := rec.Cell
		base.Variant = Variant{Build: rec.Base}
		if rates[base] == 0 || rates[rec.Cell] == 0 {
			t.Fatalf("no rates for %s relative to %s", rec.Cell, rec.Base)
		}
		got, want := fmt.Sprintf("%.2f", rates[rec.Cell]/rates[base]), fmt.Sprintf("%.2f", rec.Value)
		if got != want {
			wrong = append(wrong, fmt.Sprintf("%s %s: %s, given as %s", rec.Test, rec.Build, got, want))
		}
	}
	if len(rates) != 12*3*3 || ratios != 12*3*2 {
		t.Errorf("%d rates and %d ratios, want 12 tests × 3 numbers of clients × 3 and 2 builds", len(rates), ratios)
	}
	if d := cmp.Diff([]string{"read-only.range10000/1 inno801: 0.58, given as 0.68"}, wrong); d != "" {
		t.Errorf("cells that the text has wrong (-want +got):\n%s", d)
	}
	if len(r.Doubts) != 1 || !strings.Contains(r.Doubts[0].Msg, "given as 0.68; 159 and 273 make it 0.58") {
		t.Errorf("doubts: %v", r.Doubts)
	}
	if len(r.Problems) != 5 {
		t.Errorf("%d problems, want one for each of 5 tables that do not say what they hold: %v", len(r.Problems), r.Problems)
	}
}

// TestScanRates: 4023.55 ms for 10 million rows, on 40 connections.
func TestScanRates(t *testing.T) {
	if got := math.Round(ScanRate(10_000_000, 4.02355)); got != 2485 {
		t.Errorf("one connection's scan rate = %v, want 2485 thousand rows a second", got)
	}
	if got := math.Round(ScanTotalRate(10_000_000, 9.89)); got != 98900 {
		t.Errorf("all connections' scan rate = %v, want 98900 thousand rows a second", got)
	}
}

func TestRatio(t *testing.T) {
	for in, want := range map[[2]float64]string{{0, 0}: "1", {1, 0}: "inf", {0, 2}: "0.00", {0.506, 0.5}: "1.01"} {
		if got := ratio(in[0], in[1]); got != want {
			t.Errorf("Ratio(%v, %v) = %s, want %s", in[0], in[1], got, want)
		}
	}
}
