package archive

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// legend reads a table of the reference scripts: which column is which folder, what they
// are relative to if they are, and rows of figures with the test behind. Titles of groups,
// as in hand-made copies, are passed over.
func (f *file) legend(l *lines) {
	var columns []Variant
	var pks []string
	base := ""
	for line, ok := l.next(); ok && !f.full; line, ok = l.next() {
		t := strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(t, "Relative to: "); ok {
			v, _ := f.reader.patterns.variant(rest)
			v.Host = f.reader.options.Host
			base = v.String()
			continue
		}
		if n, label, ok := strings.Cut(t, " : "); ok && strings.HasPrefix(n, "col-") {
			if i, ok := count(n[len("col-"):]); !ok || i != len(columns)+1 || i > maxColumns {
				f.problem(l.n, "column %d expected, not %s", len(columns)+1, quote(n))
				return
			}
			v, pk := f.reader.patterns.variant(label)
			f.twice(l.n, v, columns, pk, pks)
			columns, pks = append(columns, v), append(pks, pk)
			continue
		}
		if t == "" || strings.HasPrefix(t, "- ") || strings.HasPrefix(t, "col-1") {
			continue
		}
		f.row(l.n, splitRow(line), columns, pks, base)
	}
}

// splitRow splits a row of figures with the test last; blanks serve where there is no tab.
func splitRow(line string) []string {
	fs := fields(line, '\t')
	if len(fs) < 2 {
		fs = strings.Fields(line)
	}
	return fs
}

// row keeps a row with the test behind its figures.
func (f *file) row(n int, fs []string, columns []Variant, pks []string, base string) {
	if len(fs) != len(columns)+1 {
		f.problem(n, "%d figures for %d columns: which is missing is not known, so the row is left out", len(fs)-1, len(columns))
		return
	}
	for i, s := range fs[:len(columns)] {
		test := f.reader.patterns.row(fs[len(columns)])
		if test.Workload == "" {
			test.Workload = "sysbench" // a hand-made copy leaves the range out
		}
		f.figure(n, s, Cell{Variant: columns[i], Test: test.on(pks[i])}, base)
	}
}

// figure keeps a cell of a table, which is a rate or, with a base, a ratio of rates.
func (f *file) figure(n int, s string, c Cell, base string) {
	v, ok := number(s)
	if !ok {
		if !missing(s) {
			f.problem(n, "%s is no figure", quote(s))
		}
		return
	}
	r := Record{Cell: c, Metric: QPS, Unit: "op/sec", Value: v, Base: base, Origin: Tabled, Line: n}
	switch {
	case base != "":
		r.Unit = "1"
	case c.Workload != "": // a test of the reference scripts, and not only called as one
		r.Unit = rateUnit(c.Step)
	}
	if base == "" {
		f.dots.see(n, s)
	}
	f.add(r)
}

// grid reads a table with the builds in its first line and the test first in each row. Its
// figures are taken for operations per second; what says that they are times is left out.
func (f *file) grid(l *lines) {
	var columns []Variant
	var sep byte
	for line, ok := l.next(); ok && !f.full; line, ok = l.next() {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if columns == nil {
			sep = separator(line)
			names := fields(line, sep)
			if f.isTime(l.n, names[0]) {
				return
			}
			if !f.reader.patterns.rate.MatchString(names[0]) {
				f.doubt(l.n, "nothing says what its figures are: they are taken for operations per second; its first cell may say qps")
			}
			for _, name := range names[1:] {
				v, _ := f.reader.patterns.variant(name)
				if v.Config == "" {
					v.Config = f.reader.options.Config
				}
				f.twice(l.n, v, columns, "", nil)
				columns = append(columns, v)
			}
			continue
		}
		if fs := fields(line, sep); !f.isTime(l.n, fs[0]) {
			f.frontRow(l.n, fs, columns)
		}
	}
}

func (f *file) frontRow(n int, fs []string, columns []Variant) {
	if len(fs) != len(columns)+1 {
		f.problem(n, "%d figures for %d columns: which is missing is not known, so the row is left out", len(fs)-1, len(columns))
		return
	}
	test := f.reader.patterns.row(fs[0])
	for i, s := range fs[1:] {
		f.figure(n, s, Cell{Variant: columns[i], Test: test}, "")
	}
}

// bare reads a CSV of the reference scripts, which names no columns. Beside the TSV of the
// same name, which does, it says nothing new and is Ignored: see assemble.
func (f *file) bare(l *lines) {
	var columns []Variant
	told := false
	for line, ok := l.next(); ok && !f.full; line, ok = l.next() {
		fs := fields(line, ',')
		if len(fs) == 1 && fs[0] == "" {
			continue
		}
		if len(fs) > maxColumns {
			f.problem(l.n, "more than %d columns", maxColumns)
			return
		}
		if columns == nil {
			for i := range fs[1:] {
				columns = append(columns, Variant{Build: fmt.Sprintf("col-%d", i+1)})
			}
		}
		if !told {
			f.doubt(l.n, "no names of columns, and no %s.tsv beside it to tell them: they are called col-1 to col-%d", f.stem, len(columns))
			told = true
		}
		f.frontRow(l.n, fs, columns)
	}
}

// steps reads the insert benchmark's figures of one step: a line of names, and a row for
// each build with its label last. The name of the file ends in the step.
func (f *file) steps(l *lines) {
	columns := ibenchColumns()
	test := Test{Workload: "ibench", Step: f.stem}
	if _, step, ok := strings.Cut(f.stem, "mrg."); ok {
		test.Step = step
	}
	var names []string
	for line, ok := l.next(); ok && !f.full; line, ok = l.next() {
		fs := fields(line, '\t')
		switch {
		case strings.TrimSpace(line) == "" || strings.Trim(line, "- \t") == "":
			continue
		case names == nil:
			names = fs
			continue
		case len(fs) != len(names):
			f.problem(l.n, "%d fields for %d names", len(fs), len(names))
			continue
		}
		v, _ := f.reader.patterns.variant(fs[len(fs)-1])
		for i, s := range fs[:len(fs)-1] {
			x, ok := number(s)
			c, known := columns[names[i]]
			switch {
			case !known:
			case ok:
				f.add(Record{Cell: Cell{Variant: v, Test: test}, Metric: c.metric, Unit: c.unit, Value: x * c.scale, Origin: Tabled, Line: l.n})
			case !missing(s):
				f.problem(l.n, "%s is no figure", quote(s))
			}
		}
	}
}

type column struct {
	metric, unit string
	scale        float64
}

// ibenchColumns maps the columns that are the same in steps of either kind. Those per
// operation are per insert in some steps and per query in others, as published.
func ibenchColumns() map[string]column {
	return map[string]column{
		"ips": {"inserts", "rows/sec", 1}, "qps": {QPS, "op/sec", 1},
		"rps": {ReadPerSec, "reads/sec", 1}, "rmbps": {ReadMB, "MiB/sec", 1}, "wps": {WritePer, "writes/sec", 1}, "wmbps": {WriteMB, "MiB/sec", 1},
		"rpq": {ReadPerOp, "reads/op", 1}, "rkbpq": {ReadKBPer, "KiB/op", 1}, "wpi": {"w/i", "writes/insert", 1}, "wkbpi": {"wKB/i", "KiB/insert", 1},
		"csps": {CSPerSec, "switches/sec", 1}, "cpups": {CPUPerSec, "%", 1}, "cspq": {CSPerOp, "switches/op", 1}, "cpupq": {"host-cpu", "cpu-sec/op", 1e-6},
		"dbgb1": {"database-size", "B", 1 << 30}, "dbgb2": {"directory-size", "B", 1 << 30}, "rss": {"rss", "B", 1 << 30},
		"maxop": {"latency-max", "sec", 1}, "p50": {"rate-p50", "op/sec", 1}, "p99": {"rate-p99", "op/sec", 1},
	}
}

// clients reads tables of rates over numbers of clients, one under each heading:
//
//	update-index : QPS
//	1       2       4       concurrency/engine
//	5806    9837    12354   inno5635
//
// A heading "… relative to …" makes them ratios; their base is then the one row of the
// table of rates that the ratios leave out.
func (f *file) clients(l *lines) {
	heading := regexp.MustCompile(`^([A-Za-z][A-Za-z0-9._-]*)(?: *: *QPS( relati\w* to (.+))?)?$`)
	type table struct {
		test   Test
		base   string
		counts []int
		rates  bool
	}
	var t *table
	var test Test
	var of []string // what the heading matched
	rows := map[Test][]string{}
	var ratios []Record
	flush := func() {
		f.relative(ratios, rows)
		ratios = nil
	}
	for line, ok := l.next(); ok && !f.full; line, ok = l.next() {
		fs := strings.Fields(line)
		switch {
		case len(fs) == 0:
			continue
		case fs[len(fs)-1] == "concurrency/engine":
			flush()
			t = &table{test: test}
			for _, s := range fs[:len(fs)-1] {
				n, ok := count(s)
				if !ok || n == 0 || len(t.counts) >= maxColumns {
					f.problem(l.n, "%s is no number of clients", quote(s))
					t = nil
					break
				}
				t.counts = append(t.counts, n)
			}
			switch {
			case t == nil:
			case of == nil:
				f.problem(l.n, "a table without a heading that names its test; left out")
				t = nil
			case !strings.Contains(of[0], ":"):
				f.problem(l.n, "the table of %s does not say what its figures are; left out", clean(of[1]))
				t = nil
			default:
				t.rates, t.base = of[2] == "", clean(of[3])
			}
			of = nil
			continue
		}
		if m := heading.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			of, t = m, nil
			test = f.reader.patterns.row(strings.Replace(m[1], ".range", "_range=", 1))
			continue
		}
		if t == nil || len(fs) != len(t.counts)+1 {
			if _, ok := number(fs[0]); ok && t != nil && len(fs) > 1 {
				f.problem(l.n, "%d figures for %d numbers of clients", len(fs)-1, len(t.counts))
				continue
			}
			of, t = nil, nil // prose
			continue
		}
		if !slices.ContainsFunc(fs[:len(t.counts)], func(s string) bool { _, ok := number(s); return ok }) {
			of, t = nil, nil // prose of as many words
			continue
		}
		v, _ := f.reader.patterns.variant(fs[len(fs)-1])
		if t.rates {
			rows[t.test] = append(rows[t.test], v.String())
		}
		for i, s := range fs[:len(t.counts)] {
			x, ok := number(s)
			if !ok {
				f.problem(l.n, "%s is no figure", quote(s))
				continue
			}
			c := Cell{Variant: v, Test: t.test}
			c.Clients = t.counts[i]
			r := Record{Cell: c, Metric: QPS, Unit: "op/sec", Value: x, Origin: Tabled, Line: l.n}
			if t.rates {
				f.dots.see(l.n, s)
				f.add(r)
				continue
			}
			r.Unit, r.Base = "1", t.base
			ratios = append(ratios, r)
		}
	}
	flush()
}

// relative keeps the ratios of one table, whose base the table of rates tells if it has
// one row more.
func (f *file) relative(ratios []Record, rows map[Test][]string) {
	if len(ratios) == 0 {
		return
	}
	test := ratios[0].Test
	test.Clients = 0
	in := map[string]bool{}
	for _, r := range ratios {
		in[r.Variant.String()] = true
	}
	var left []string
	for _, name := range rows[test] {
		if !in[name] {
			left = append(left, name)
		}
	}
	for _, r := range ratios {
		if len(left) == 1 {
			r.Base = left[0]
		}
		f.add(r)
	}
}
