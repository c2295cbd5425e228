package archive

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
	"backslide/report"
)

// asText returns records as lines.
func asText(rs []Record) []string {
	var out []string
	for _, r := range rs {
		s := fmt.Sprintf("%s|%s|%s|%.6g %s|%s:%d", r.Variant, r.Test, r.Metric, r.Value, r.Unit, r.File, r.Line)
		if r.Base != "" {
			s += "|" + r.Base
		}
		if r.Replicate > 0 {
			s += fmt.Sprintf("|#%d", r.Replicate)
		}
		out = append(out, s)
	}
	return out
}

// readMap reads files from memory.
func readMap(t *testing.T, m map[string]string, o Options) Result {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range m {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	o.Tools = tools()
	r, err := Read(t.Context(), fsys, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantProblems holds problems to what each must say, in order.
func wantProblems(t *testing.T, got []Problem, want ...string) {
	t.Helper()
	var all []string
	for _, p := range got {
		all = append(all, p.Error())
	}
	if len(all) != len(want) {
		t.Errorf("%d problems, want %d: %q", len(all), len(want), all)
		return
	}
	for i := range want {
		if !strings.Contains(all[i], want[i]) {
			t.Errorf("problem %q does not say %q", all[i], want[i])
		}
	}
}

func TestReaders(t *testing.T) {
	const v = "my8044_rel_o2nofp.z12a_c32r128|update-index.range100/40|"
	const ib, scan = "x.my8044.z12a_c8r32.pk1/qr100.L1/o.ib.dop1.1", folderName + "sb.o.scan.range100.pk1.dop2"
	at := func(kind string) string { return folderName + "sb." + kind + "." + testName }
	for _, tt := range []struct {
		name, file, text string
		want             []string // some of the records
		n                int      // of all
		problems         []string
	}{
		{name: "averages", file: at("met"), text: metText, n: 12, want: []string{
			v + "r/s|0.7 reads/sec|" + at("met") + ":3", v + "cpu/o|0.000409 %-sec/op|" + at("met") + ":6", v + "qps|94391.4 op/sec|" + at("met") + ":3",
		}},
		{name: "averages cut short", file: at("met"), text: metText[:130], problems: []string{":3: 0 of 2 blocks", ":3: 8 figures for 9 names"}},
		{name: "averages of nobody", file: "a", text: metText, problems: []string{"a:1: averages of a test that the name"}},
		{name: "samples of vmstat", file: at("vm"), text: vmstatText(), n: 2, want: []string{
			// (1001 + … + 1634)/634, 30 + 10
			v + "cs/s|1317.5 switches/sec|" + at("vm") + ":4", v + "cpu/s|40 %|" + at("vm") + ":4",
		}},
		{name: "vmstat without samples", file: at("vm"), text: strings.Join(strings.SplitAfter(vmstatText(), "\n")[:3], ""), problems: []string{"no samples"}},
		{name: "vmstat with a row that is none", file: at("vm"), text: vmstatText() + "43  0 1\n", n: 2, problems: []string{":698: no row of vmstat"}},
		{name: "samples of iostat", file: at("io"), text: iostatText, n: 4, want: []string{
			v + "r/s|9 reads/sec|" + at("io") + ":1", v + "wMB/s|150 MiB/sec|" + at("io") + ":1", // (200 + 100)/2
		}},
		{name: "samples of ps", file: at("ps"), text: psText, n: 1, want: []string{v + "rss|819200 B|" + at("ps") + ":2"}}, // 800 KiB
		{name: "tables of averages", file: "o.met.all", text: metsText, n: 12, want: []string{
			"my5651_rel_o2nofp.z12a_c32r128|prepare|qps|122699 row/sec|o.met.all:4",
			"my5651_rel_o2nofp.z12a_c32r128|point-query.pre.range100/40|cs/o|2.548 switches/op|o.met.all:10",
		}, problems: []string{`o.met.all:11: "x" is no figure`}},
		{name: "a table of ratios", file: "qps.rel.tsv", text: relText, n: 2, want: []string{
			"my5744.z12a_c8r32|hot-points.range100|qps|0.87 1|qps.rel.tsv:6|my5651.z12a_c8r32",
		}, problems: []string{"qps.rel.tsv:7: 1 figures for 2 columns: which is missing is not known"}},
		{name: "a table without names of columns", file: "qps.csv", text: bareText, n: 2, want: []string{"col-2|scan.range100|qps|2 krow/sec|qps.csv:1"}},
		{name: "the insert benchmark", file: ib, text: ibenchText, n: 6 + 10, want: []string{
			"my8044.z12a_c8r32|qr100.L1/1|inserts|100 rows/sec|" + ib + ":4", "my8044.z12a_c8r32|qr100.L1/1|qps|1000 op/sec|" + ib + ":4",
			"my8044.z12a_c8r32|qr100.L1/1|insert-max|0.0035 sec|" + ib + ":4", "my8044.z12a_c8r32|qr100.L1/1|insert-within-0.004s|0.75 1|" + ib + ":4",
		}},
		{name: "the insert benchmark, damaged", file: ib, text: strings.Replace(ibenchText, "1.0\t2.0\t100", "1.0\t2.0\tx00", 1), n: 6 + 10, problems: []string{`:4: "x00" is no figure`}},
		{name: "a step of the insert benchmark", file: "mrg.l.i1", text: stepsText, n: 7, want: []string{
			"my5649.cx6d|l.i1|inserts|23148 rows/sec|mrg.l.i1:2", "pg1110.cx5|l.i1|latency-max|0.146 sec|mrg.l.i1:4",
		}},
		{name: "numbers of clients", file: "blog.txt", text: clientsText, n: 6, want: []string{
			"inno5717|update-index/2|qps|8798 op/sec|blog.txt:4", "inno5717|update-index/1|qps|0.91 1|blog.txt:10|inno5635",
		}},
		{name: "Go's benchmark format", file: "new.txt", text: benchText, n: 3, want: []string{
			"mariadb@10.5.default InnoDB|point-query/4|qps|24803 op/sec|new.txt:2",
			"mariadb@10.5.default InnoDB|point-query/4|client-cpu|0.0001 cpu-sec/op|new.txt:2",
			"new|Fib/n=3|sec/op|2e-07 sec/op|new.txt:3", // 200 ns
		}},
		{name: "mysqlslap", file: "my84/q1.txt", text: slapText, n: 4, want: []string{
			"my84 InnoDB|q1/4|qps|50 op/sec|my84/q1.txt:0", "my84 InnoDB|q1/4|round-max|2.5 sec|my84/q1.txt:0",
		}},
		{name: "mysqlslap's CSV", file: "a.csv", text: ",mixed,0.011,0.011,0.012,3,10\n", n: 4, want: []string{"a|a/3|qps|2727.27 op/sec|a.csv:0"}}, // 30 queries in 11 ms
		{name: "a scan of sysbench", file: "mariadb-10.5/o.txt", text: sysbenchText, n: 8, want: []string{
			"mariadb-10.5|oltp_scan/2|qps|10 op/sec|mariadb-10.5/o.txt:12", "mariadb-10.5|oltp_scan/2|errors|0.05 errors/sec|mariadb-10.5/o.txt:12",
			"mariadb-10.5|oltp_scan/2|latency-p95|0.28 sec|mariadb-10.5/o.txt:12",
		}},
		{name: "a scan of the reference", file: scan, text: sysbenchText, n: 9, want: []string{
			// 10000 thousand rows in 0.2 s; 10 times a second
			"my8044_rel_o2nofp.z12a_c32r128|scan.range100/2|qps|50000 krow/sec|" + scan + ":12",
			"my8044_rel_o2nofp.z12a_c32r128|scan.range100/2|scan-total|100000 krow/sec|" + scan + ":12",
		}},
		{name: "sysbench without an end", file: "cut.txt", text: sysbenchText[:500], problems: []string{"cut.txt: no figures: "}},
		{name: "a table of anybody", file: "t.csv", text: gridText, n: 4, want: []string{
			"mariadb@10.5|point|qps|100 op/sec|t.csv:2", `a, "b"|point|qps|110 op/sec|t.csv:2`, `a, "b"|scan.range100|qps|90 krow/sec|t.csv:3`,
		}, problems: []string{"t.csv:4: 1 figures for 2 columns", `t.csv:5: "x" is no figure`}},
		{name: "compressed", file: "a.gz", text: "\x1f\x8b\x08", problems: []string{"a.gz: binary or compressed"}},
		{name: "binary", file: "a", text: "sysbench 1.0\n\x00", problems: []string{"a: binary"}},
		{name: "UTF-16", file: "a", text: "\xff\xfea\x00", problems: []string{"a: text in UTF-16"}},
		{name: "no result", file: "gv", text: "Variable_name\tValue\nAborted_clients\t0\n"},
		{name: "nothing", file: "empty", text: "  \n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := readMap(t, map[string]string{tt.file: tt.text}, Options{})
			got := asText(r.Records)
			for _, w := range tt.want {
				if !slices.Contains(got, w) {
					t.Errorf("no record %s", w)
				}
			}
			if len(got) != tt.n {
				t.Errorf("%d records, want %d", len(got), tt.n)
			}
			if t.Failed() {
				t.Logf("records:\n%s", strings.Join(got, "\n"))
			}
			wantProblems(t, r.Problems, tt.problems...)
			if tt.n == 0 && len(tt.problems) == 0 && len(r.Ignored) != 1 {
				t.Errorf("ignored: %q, want the file", r.Ignored)
			}
		})
	}
}

// TestVmstatAsPublished says what the reference would make of the synthetic vmstat, where
// 30 headings and the row since boot count.
func TestVmstatAsPublished(t *testing.T) {
	vm, met := folderName+"sb.vm."+testName, folderName+"sb.met."+testName
	r := readMap(t, map[string]string{vm: vmstatText(), met: strings.Replace(metText, "979\t599368\t38.6", "665\t1256\t38.2", 1)}, Options{})
	// 1317.5 × 634/665 = 1256.08; (40 × 634 + 26)/665 = 38.17
	wantProblems(t, r.Doubts,
		"cpu/s is published as 38.20, -4.5 % off: the mean of the 634 samples is 40; the script counted 30 headings as samples of zero and the row since boot as one more, which gives 38.17",
		"cs/s is published as 1256, -4.7 % off: the mean of the 634 samples is 1318; the script counted 30 headings as samples of zero and the row since boot as one more, which gives 1256")
	per := map[string]float64{}
	for _, rec := range Best(r.Records) {
		per[rec.Metric] = rec.Value
	}
	// by the published rate: 1317.5/94391.35, 40/94391.35
	if got, want := fmt.Sprintf("%.6f %.6f", per[CSPerOp], per[CPUPerOp]), "0.013958 0.000424"; got != want {
		t.Errorf("cs/o, cpu/o = %s, want %s", got, want)
	}
	// Averages alone tell how much is missing: 1 − 935/979.
	r = readMap(t, map[string]string{met: metText}, Options{})
	wantProblems(t, r.Doubts, "about 4.5 to 4.5 % low")
}

// TestClientsOfOneStep joins the clients of an insert benchmark, which are no replicates.
func TestClientsOfOneStep(t *testing.T) {
	r := readMap(t, map[string]string{
		"x.a.z1a_c8.pk1/l.i1/o.ib.dop2.1": ibenchText, "x.a.z1a_c8.pk1/l.i1/o.ib.dop2.2": strings.Replace(ibenchText, "Totals: 2.0", "Totals: 4.0", 1),
	}, Options{})
	got := asText(r.Records)
	for _, want := range []string{
		"a.z1a_c8|l.i1/2|inserts|100 rows/sec", // 400 rows in the 4 s of the slower client
		"a.z1a_c8|l.i1/2|qps|1000 op/sec", "a.z1a_c8|l.i1/2|query-max|0.0009 sec",
	} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, want) && !strings.Contains(s, "#") }) {
			t.Errorf("no %s in\n%s", want, strings.Join(got, "\n"))
		}
	}
}

// TestRateAt: of the rates 1 to 100, 99 are met or beaten by 2.
func TestRateAt(t *testing.T) {
	var rates []float64
	for i := range 100 {
		rates = append(rates, float64(i+1))
	}
	for share, want := range map[float64]float64{0.99: 2, 0.5: 51} {
		if got, ok := RateAt(rates, share); !ok || got != want {
			t.Errorf("RateAt(1…100, %v) = %v, %t; want %v", share, got, ok, want)
		}
	}
	if _, ok := RateAt(rates[:9], 0.5); ok {
		t.Error("nine intervals have a percentile")
	}
}

// TestReplicates: imports of one cell are replicates, a file twice and tables of one folder
// that show one figure are not.
func TestReplicates(t *testing.T) {
	o := folderName + "sb.o." + testName
	text := strings.Replace(sysbenchText, "oltp_scan", "oltp_update_index", 1)
	one := readMap(t, map[string]string{o: text}, Options{Root: "mon"})
	two := readMap(t, map[string]string{o: strings.Replace(text, "600    (10.00", "600    (14.00", 2)}, Options{Root: "tue"})
	table := Tabulate(Join(one, two, one).Records, QPS)
	// 40 is what the name says; the output says 2 threads, and is believed.
	if d := cmp.Diff([]Row{{Test{"sysbench", "update-index", 100, 2}, "op/sec", []Value{{Mean: 12, N: 2}}}}, table.Rows); d != "" {
		t.Errorf("two imports (-want +got):\n%s", d)
	}
	if least, most := table.Runs(); least != 2 || most != 2 {
		t.Errorf("%d to %d runs, want 2", least, most)
	}
	if got := table.Relative(0).Rows[0].Values[0]; got != (Value{Mean: 1, N: 2}) {
		t.Errorf("the base relative to itself is %+v, want 1 of 2 runs", got)
	}
	abs := "col-1 : x.my5651.z12a_c8r32.pk1\n\ncol-1\n4533\thot-points_range=100\n"
	r := readMap(t, map[string]string{"d/qps.abs.a.tsv": abs, "d/qps.abs.b.tsv": abs, "d/qps.abs.b.csv": "hot-points_range=100,4533\n"}, Options{})
	if len(r.Records) != 1 || r.Again != 1 || len(r.Ignored) != 1 {
		t.Errorf("%d records, %d shown again, ignored %q; want 1, 1 and the CSV", len(r.Records), r.Again, r.Ignored)
	}
	r = readMap(t, map[string]string{"d/qps.abs.a.tsv": abs, "d/qps.abs.b.tsv": strings.Replace(abs, "4533", "4600", 1)}, Options{})
	if len(r.Records) != 2 || r.Records[1].Replicate != 1 {
		t.Errorf("two tables with different figures are %d records, want 2, the second a replicate", len(r.Records))
	}
}

// TestCopies: a measurement that is there twice is no replicate, and said to be none.
func TestCopies(t *testing.T) {
	abs := "col-1 : x.my5651.z12a_c8r32.pk1\n\ncol-1\n"
	for i := range 5 {
		abs += fmt.Sprintf("%d\tread-only_range=%d\n", 4533+i, i+1)
	}
	r := readMap(t, map[string]string{"a/qps.abs.tsv": abs, "b/qps.abs.tsv": abs}, Options{})
	wantProblems(t, r.Doubts, "b: 5 of its 5 rates are equal to those in a, digit by digit")
}

// TestMissing: a row that one table lacks shifts nothing, and a base of zero divides nothing.
func TestMissing(t *testing.T) {
	r := readMap(t, map[string]string{"t.csv": "test,x.a.z1a_c8.pk1,x.b.z1a_c8.pk1\nscan_range=100,-,90\ndelete_range=100,0,5\ninsert_range=100,10,5\n"}, Options{})
	table := Tabulate(r.Records, QPS)
	want := "Relative to: x.a.z1a_c8.pk1\ncol-1 : x.b.z1a_c8.pk1\n\ncol-1\n-\tdelete_range=100\n0.50\tinsert_range=100\n-\tscan_range=100\n"
	got := table.Select(table.Column("a.z1a_c8"), table.Column("b")).publishedRel(false)
	if d := cmp.Diff(sorted(want), sorted(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if s := table.Groups(table.Column("a.z1a_c8"), Group); len(s) != 1 || s[0].Tests != 1 || s[0].Median != 0.5 {
		t.Errorf("groups of the one pair that can be divided: %+v", s)
	}
}

// TestSummary reads what report writes.
func TestSummary(t *testing.T) {
	c := lab.Cell{Variant: lab.Variant{Build: "mariadb@10.5", Config: "default", Engine: "InnoDB"}, Step: lab.Step{Workload: "sysbench", Name: "point-query"}, Clients: 4}
	s := lab.Summary{Cells: []lab.CellMean{{Cell: c, Group: lab.Point, Blocks: 7, Values: map[lab.Metric]float64{lab.QPS: 1234, lab.ServerCPU: 1e-5}}}}
	var b strings.Builder
	if err := report.JSON(&b, s); err != nil {
		t.Fatal(err)
	}
	r := readMap(t, map[string]string{"run.json": b.String()}, Options{})
	want := []string{
		"mariadb@10.5.default InnoDB|point-query/4|qps|1234 op/sec|run.json:0",
		"mariadb@10.5.default InnoDB|point-query/4|server-cpu|1e-05 cpu-sec/op|run.json:0",
	}
	if d := cmp.Diff(want, asText(r.Records)); d != "" || len(r.Summaries) != 1 {
		t.Fatalf("%d summaries, records (-want +got):\n%s", len(r.Summaries), d)
	}
	if n := Tabulate(r.Records, QPS).Rows[0].Values[0].N; n != 7 {
		t.Errorf("%d runs, want the 7 blocks", n)
	}
	r = readMap(t, map[string]string{"run.json": b.String()[:b.Len()-9]}, Options{})
	wantProblems(t, r.Problems, "run.json: ")
}

// TestGenerations reads an output of each generation of sysbench.
func TestGenerations(t *testing.T) {
	files, err := filepath.Glob("../extern/testdata/v*.txt")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, name := range files {
		r := readMap(t, map[string]string{"b/" + filepath.Base(name): readFile(t, name)}, Options{})
		if len(r.Problems) > 0 || !slices.ContainsFunc(r.Records, func(r Record) bool { return r.Metric == QPS && r.Value > 0 && r.Clients > 0 }) {
			t.Errorf("%s: no rate: %v, %d records", name, r.Problems, len(r.Records))
		}
	}
}

func TestGroup(t *testing.T) {
	for step, want := range map[string]lab.Group{
		"prepare": lab.Load, "point-query.pre": lab.Point, "points-notcovered-si": lab.Point, "hot-points": lab.Point, "random-points": lab.Point,
		"scan": lab.Range, "range-covered-pk": lab.Range, "read-only": lab.Aggregate, "read-only-simple": lab.Aggregate, "read-only-count": lab.Aggregate,
		"read-write": lab.Write, "write-only": lab.Write, "update-zipf": lab.Write, "delete": lab.Write, "insert": lab.Write,
		"l.i0": lab.Load, "l.x": lab.Load, "l.i1": lab.Write, "l.i2": lab.Write, "qr100.L1": lab.Range, "qp1000.L6": lab.Point,
		"point-query.warm": "", "scan.warmpre": "", "points-covered-si.warm": "", "oltp_read_only": "",
	} {
		if got, ok := Group(step); got != want || ok != (want != "") {
			t.Errorf("Group(%s) = %q, %t; want %q", step, got, ok, want)
		}
	}
}

func TestNames(t *testing.T) {
	p := newPatterns()
	for in, want := range map[string]Variant{
		"x.my8044_rel_o2nofp.z12a_c32r128.pk1":     {Build: "my8044_rel_o2nofp", Config: "z12a_c32r128"},
		"my8039_rel_o2nofp_lto.z11a_nops_bee":      {Build: "my8039_rel_o2nofp_lto", Config: "z11a_nops_bee"},
		"my5649.cx6d":                              {Build: "my5649", Config: "cx6d"},
		"dir/x.pg182_o2nofp.x10b_c32r128.pk0/":     {Build: "pg182_o2nofp", Config: "x10b_c32r128"},
		"mariadb@10.11.9":                          {Build: "mariadb@10.11.9"},
		"mysql-8.0":                                {Build: "mysql-8.0"},
		"evil\x1b[31m\nname":                       {Build: "evil\ufffd[31m\ufffdname"},
		"fbmy8028_rel_230101_abcdef_810.za1_c8r32": {Build: "fbmy8028_rel_230101_abcdef_810", Config: "za1_c8r32"},
	} {
		if got, _ := p.variant(in); got != want {
			t.Errorf("variant(%q) = %+v, want %+v", in, got, want)
		}
	}
	for in, want := range map[string]Test{
		"sb.o.point-query.pre.range100.pk1.dop40":      {"sysbench", "point-query.pre", 100, 40},
		"sb.vm.read-only.range10000.pk0.dop1":          {"sysbench-pk0", "read-only", 10000, 1},
		"read-only-simple_range=1000":                  {"sysbench", "read-only-simple", 1000, 0},
		"sb.prepare.met.point-query.warm.range100.pk1": {"sysbench", "prepare", 0, 0},
		"my own test": {"", "my own test", 0, 0},
	} {
		if got := p.row(in); got != want {
			t.Errorf("row(%q) = %+v, want %+v", in, got, want)
		}
	}
}
