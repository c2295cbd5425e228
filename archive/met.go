package archive

import "strings"

// averaged maps the columns of the reference scripts' averages to metrics. The two sample
// counts are of iostat and of vmstat rows.
func averaged() map[string]string {
	m := map[string]string{"o/s": QPS}
	for _, name := range []string{
		CPUPerOp, CSPerOp, ReadPerOp, ReadKBPer, WriteKBPer, CPUPerSec, CSPerSec, ReadPerSec, ReadMB, WritePer, WriteMB,
	} {
		m[name] = name
	}
	return m
}

// met reads the averages of one test: two lines of names, each above a line of figures.
func (f *file) met(l *lines) {
	c := f.cell()
	if !f.known {
		f.problem(1, "averages of a test that the name of the file does not tell; expected sb.met.TEST.rangeN.pkN.dopN")
		return
	}
	columns := averaged()
	var names []string
	block := 0
	var rows [2]float64
	for line, ok := l.next(); ok && !f.full; line, ok = l.next() {
		fs := strings.Fields(line)
		switch {
		case len(fs) == 0 || strings.HasPrefix(line, "iostat, vmstat"):
			names = nil
			continue
		case fs[0] == "samp" && block == 2:
			f.problem(l.n, "more than 2 blocks of averages; those of the first 2 are taken")
			return
		case fs[0] == "samp":
			names = fs
			continue
		case names == nil:
			f.problem(l.n, "%s is not expected here", quote(line))
			continue
		}
		values, bad := numbers(fs)
		if bad != "" {
			f.problem(l.n, "%s is no figure", quote(bad))
			continue
		}
		if len(values) != len(names) {
			f.problem(l.n, "%d figures for %d names", len(values), len(names))
			continue
		}
		for i, name := range names {
			switch {
			case name == "samp" && block < 2:
				rows[block] = values[i]
			case columns[name] != "":
				f.add(f.average(c, columns[name], values[i], l.n))
			}
		}
		block++
		names = nil
	}
	if block < 2 {
		f.problem(l.n, "%d of 2 blocks of averages", block)
	}
	if block == 2 && rows[0] > 0 && rows[1] > rows[0] {
		f.samples = &samples{cell: c, dir: f.dir, iostat: rows[0], vmstat: rows[1]}
	}
}

func (f *file) average(c Cell, metric string, v float64, line int) Record {
	r := Record{Cell: c, Metric: metric, Value: v, Origin: Averaged, Line: line}
	if metric == QPS {
		r.Unit = rateUnit(c.Step)
	}
	return r
}

// rateUnit returns what a test's rate counts in the reference scripts' tables.
func rateUnit(step string) string {
	switch {
	case step == "prepare":
		return "row/sec"
	case strings.HasPrefix(step, "scan"):
		return "krow/sec"
	}
	return "op/sec"
}

// mets reads tables of averages: a heading that names the test, absolute figures with a
// line of names above and the build behind, and figures relative to the first build, which
// say nothing new and are left out.
func (f *file) mets(l *lines) {
	columns := averaged()
	var test Test
	var names []string
	have, absolute := false, false
	told := map[string]bool{} // builds of the block
	for line, ok := l.next(); ok && !f.full; line, ok = l.next() {
		fs := strings.Fields(line)
		switch {
		case len(fs) == 0:
			have, absolute, names = false, false, nil
		case strings.HasPrefix(line, "---"):
			absolute = strings.HasPrefix(line, "--- absolute")
			names = nil
		case strings.HasPrefix(line, "sb."):
			test, have = f.heading(l.n, line)
			clear(told)
		case !have || !absolute:
		case names == nil:
			names = fs
			if fs[len(fs)-1] != "dbms" {
				f.problem(l.n, "names of columns expected, the last of them dbms, not %s", quote(line))
				have = false
			}
		case len(fs) != len(names):
			f.problem(l.n, "%d fields for %d names", len(fs), len(names))
		case told[fs[len(fs)-1]] || strings.Contains(line, "\t\t"):
			f.problem(l.n, "a row of figures relative to the first build, or one of the same build again, among absolute ones; left out")
		default:
			told[fs[len(fs)-1]] = true
			v, pk := f.reader.patterns.variant(fs[len(fs)-1])
			values, bad := numbers(fs[:len(fs)-1])
			if bad != "" {
				f.problem(l.n, "%s is no figure", quote(bad))
				continue
			}
			for i, x := range values {
				if metric := columns[names[i]]; metric != "" {
					r := f.average(Cell{Variant: v, Test: test.on(pk)}, metric, x, l.n)
					r.Origin = Tabled
					f.add(r)
				}
			}
		}
	}
}

func (f *file) heading(n int, line string) (Test, bool) {
	t, _, ok := f.reader.patterns.reference(strings.TrimSpace(line))
	if !ok {
		f.problem(n, "%s names no test; its table is left out", quote(line))
	}
	return t, ok
}
