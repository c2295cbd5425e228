package archive

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCut: a file that ends in the middle of a line may end in the middle of a figure.
func TestCut(t *testing.T) {
	const told = ": the last line does not end"
	for name, text := range map[string]string{
		"sb.met." + testName: metText, "o.met.all": metsText[:strings.Index(metsText, "--- relative")], "qps.rel.tsv": relText[:strings.Index(relText, "0.88")],
		"t.csv": "qps,a\npoint,12345\n", "blog.txt": clientsText, "mrg.l.i1": stepsText, "l.i1/o.ib.dop1.1": ibenchText,
	} {
		whole := readMap(t, map[string]string{name: text}, Options{})
		cut := readMap(t, map[string]string{name: strings.TrimSuffix(text, "\n")}, Options{})
		says := func(r Result) bool {
			return slices.ContainsFunc(r.Doubts, func(p Problem) bool { return strings.Contains(p.Error(), told) && p.Line == strings.Count(text, "\n") })
		}
		if says(whole) || !says(cut) {
			t.Errorf("%s: whole %v, cut %v", name, whole.Doubts, cut.Doubts)
		}
		if d := cmp.Diff(asText(whole.Records), asText(cut.Records)); d != "" {
			t.Errorf("%s (-whole +cut):\n%s", name, d)
		}
	}
}

// TestRelativeAmongAbsolute: of a table of averages whose second heading is lost, ratios are
// no rates.
func TestRelativeAmongAbsolute(t *testing.T) {
	r := readMap(t, map[string]string{"o.met.all": strings.ReplaceAll(metsText, "--- relative to first result\n", "")}, Options{})
	wantProblems(t, r.Problems, `o.met.all:10: "x" is no figure`, "o.met.all:11: a row of figures relative to the first build")
	for _, rec := range r.Records {
		if rec.Metric == QPS && rec.Value < 1000 {
			t.Errorf("a ratio as a rate: %+v", rec)
		}
	}
}

// TestUnfairSamples: with a separator of thousands only the small samples can be read, and
// their mean would be that of none.
func TestUnfairSamples(t *testing.T) {
	name := folderName + "sb.vm." + testName
	for _, separator := range []string{",", ".", "\u00a0"} {
		text := strings.ReplaceAll(vmstatText(), " 13", " 1"+separator+"3") // context switches from 1300 to 1399
		r := readMap(t, map[string]string{name: text}, Options{})
		if len(r.Records) > 0 {
			t.Errorf("averages of what could be read: %v", asText(r.Records))
		}
		if !slices.ContainsFunc(r.Problems, func(p Problem) bool { return strings.Contains(p.Msg, "no fair sample of them: no averages") }) {
			t.Errorf("thousands with %q: %d problems, and none says that there are no averages", separator, len(r.Problems))
		}
	}
	io := folderName + "sb.io." + testName
	r := readMap(t, map[string]string{io: strings.ReplaceAll(iostatText, ".00", ",00")}, Options{})
	if len(r.Records) > 0 || len(r.Problems) == 0 {
		t.Errorf("iostat with decimal commas: %v, %v", asText(r.Records), r.Problems)
	}
}

// TestScanUnits: rows, thousands and millions of rows per second are one figure, not three.
func TestScanUnits(t *testing.T) {
	const abs = "col-1 : x.my5621.z10a_bee.pk1\n\ncol-1\n3.875\tscan_range=100\n2444\thot-points_range=100\n"
	const met = "sb.met.scan.range100.pk1.dop1\n--- absolute\ncpu/o\to/s\tdbms\n0.000003\t3875218\tx.my5621.z10a_bee.pk1\n"
	r := readMap(t, map[string]string{"qps.abs.tsv": abs, "met.txt": met}, Options{})
	table := Tabulate(r.Records, QPS)
	i := slices.IndexFunc(table.Rows, func(r Row) bool { return r.Test.Step == "scan" })
	if i < 0 || fmt.Sprint(table.Rows[i].Values) != "[{3875.218 1}]" {
		t.Errorf("table %+v", table)
	}
	wantProblems(t, r.Doubts, "met.txt:4: scans are given in rows per second", "qps.abs.tsv:4: scans are given in millions of rows per second")
	r = readMap(t, map[string]string{"qps.abs.tsv": abs}, Options{})
	wantProblems(t, r.Doubts, "qps.abs.tsv:4: scans of fewer than 100 thousand rows per second")
}

// TestPublishedScans: no folder of published results averages figures of different units.
func TestPublishedScans(t *testing.T) {
	r := imported(t, data(t, "data", "mytools", "feb24.bee.sysbench.my"), Options{})
	for _, row := range Tabulate(r.Records, QPS).Rows {
		if row.Test.Step != "scan" {
			continue
		}
		for i, v := range row.Values {
			if v.N != 1 || v.Mean < 2000 || v.Mean > 4000 { // 2.113 to 3.875 million rows per second
				t.Errorf("%s, column %d: %+v %s", row.Test, i, v, row.Unit)
			}
		}
	}
}

// TestOwnTables: what people's own tables do not say is said, and times are no rates.
func TestOwnTables(t *testing.T) {
	const unsaid = "a.csv:1: nothing says what its figures are"
	for _, tt := range []struct {
		text             string
		n                int
		problems, doubts []string
	}{
		{text: "qps,a,b\npoint,1,2\n", n: 2},
		{text: "test,a,b\npoint,1,2\n", n: 2, doubts: []string{unsaid}},
		{text: "seconds,a,b\nload,100,110\n", problems: []string{`a.csv:1: "seconds" says that figures are times`}},
		{text: "op/s,a,b\nload time (sec),100,110\npoint,5,6\n", n: 2, problems: []string{`a.csv:2: "load time (sec)" says that figures are times`}},
		{text: "tps,8.0.44,8.0.44\npoint,100,110\n", n: 2, doubts: []string{"a.csv:1: two columns are called 8.0.44"}},
		{text: "qps;a;b\npoint;12.345;13.456\nscan;1.234;999\n", n: 4, doubts: []string{"a.csv:2: 3 figures have three digits behind a dot, as 12.345"}},
		{text: "qps;a;b\npoint;12.345;13.456\nscan;1.234;9999\n", n: 4},
		{text: "qps;a;b\npoint;12.345;13.456\nscan;0.123;999\n", n: 4},
	} {
		r := readMap(t, map[string]string{"a.csv": tt.text}, Options{})
		if len(r.Records) != tt.n {
			t.Errorf("%q: %d figures, want %d", tt.text, len(r.Records), tt.n)
		}
		for _, rec := range r.Records {
			if rec.Unit != "op/sec" {
				t.Errorf("%q: %s of %s, whose name is not of the reference", tt.text, rec.Unit, rec.Cell)
			}
		}
		wantProblems(t, r.Problems, tt.problems...)
		wantProblems(t, r.Doubts, tt.doubts...)
	}
}

// TestTwiceInOneFile: a file that was put together twice holds no replicates.
func TestTwiceInOneFile(t *testing.T) {
	var b strings.Builder
	b.WriteString("qps,a,b,c\n")
	for range 2 {
		b.WriteString("point,12001,12002,12003\nrange,13001,13002,13003\n")
	}
	r := readMap(t, map[string]string{"a.csv": b.String()}, Options{})
	wantProblems(t, r.Doubts, "a.csv: 6 rates stand in it more than once, digit by digit")
	met := folderName + "sb.met." + testName
	r = readMap(t, map[string]string{met: metText + metText}, Options{})
	wantProblems(t, r.Problems, "more than 2 blocks of averages")
	for _, rec := range r.Records {
		if rec.Replicate > 0 {
			t.Errorf("a replicate: %+v", rec)
		}
	}
}

// TestLayout: a file is known for what it is with blanks at the ends of its lines, and a
// summary however other programs lay out its JSON.
func TestLayout(t *testing.T) {
	for _, text := range []string{`{"schema":"backslide-summary/1"}`, "{\n\t\"run\" : 1,\n\t\"schema\" : \"backslide-summary/1\"\n}"} {
		if got := newSigns().recognise([]byte(text)); got != document {
			t.Errorf("kind %d, want a summary, of %s", got, text)
		}
	}
	for want, text := range kinds() {
		if got := newSigns().recognise([]byte(strings.ReplaceAll(text, "\n", " \n"))); got != want && want != slap && want != document {
			t.Errorf("kind %d, want %d, of\n%.100s", got, want, text)
		}
	}
}
