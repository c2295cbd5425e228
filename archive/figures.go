package archive

import (
	"slices"
	"strings"
)

// What people's own tables leave unsaid, and figures that may not be what they look like.

// isTime reports whether a cell says that its figures are times, which is then a problem:
// as rates, the slower would be the better.
func (f *file) isTime(line int, cell string) bool {
	if !f.reader.patterns.time.MatchString(cell) {
		return false
	}
	f.problem(line, "%s says that figures are times; of tables only operations per second are read, so they are left out", quote(cell))
	return true
}

// twice notes that a column bears the name of one before it.
func (f *file) twice(line int, v Variant, columns []Variant, pk string, pks []string) {
	for i := range columns {
		if columns[i] == v && (pks == nil || pks[i] == pk) {
			f.doubt(line, "two columns are called %s: they are taken for runs of one build", v)
			return
		}
	}
}

// dots finds tables that may have a dot between thousands, as in 78.413.
type dots struct {
	n       int // figures that may
	line    int // of the first
	first   string
	refuted bool // a figure says that the dot is a decimal point, or that thousands have none
}

func (d *dots) see(line int, s string) {
	whole, decimals, dotted := strings.Cut(s, ".")
	switch {
	case !dotted:
		d.refuted = d.refuted || len(s) > 3
	case len(decimals) != 3 || len(whole) < 1 || len(whole) > 3 || whole[0] == '0':
		d.refuted = true
	default:
		if d.n == 0 {
			d.line, d.first = line, s
		}
		d.n++
	}
}

func (d *dots) doubt(f *file) {
	const few = 3
	if d.n >= few && !d.refuted {
		f.doubt(d.line, "%d figures have three digits behind a dot, as %s, and none says that it is a decimal point: it is taken for one, but they are 1000 times as large if it is there between thousands", d.n, d.first)
	}
}

// Scans of the reference scripts are published in thousands of rows per second, but older
// archives have them in rows, and older tables in millions of rows per second, under the
// same names. Left alone they would pass for replicates of one cell.
const (
	impossible = 1e6 // thousands of rows per second that nothing scans: it is rows per second
	slow       = 100 // thousands of rows per second that may be millions
)

// scans brings the rates of scans in all files to thousands of rows per second where it is
// sure what they are, and doubts them where it is not.
func (r *reader) scans(files []*file) {
	type at struct {
		dir  string
		cell Cell
	}
	known := map[at][]float64{}
	each := func(do func(f *file, rec *Record, k at)) {
		for _, f := range files {
			for i := range f.records {
				rec := &f.records[i]
				if rec.Metric == QPS && rec.Unit == "krow/sec" && rec.Base == "" && rec.Origin.distance() >= Averaged.distance() {
					k := at{f.dir, rec.Cell}
					k.cell.Clients = 0
					do(f, rec, k)
				}
			}
		}
	}
	told := map[string]bool{}
	tell := func(f *file, line int, what string) {
		if !told[f.name+what] {
			told[f.name+what] = true
			f.doubt(line, "%s", what)
		}
	}
	each(func(f *file, rec *Record, k at) {
		if rec.Value >= impossible {
			rec.Value /= 1000
			tell(f, rec.Line, "scans are given in rows per second, as in older archives: taken as thousands of them, like later ones")
		}
		if rec.Value >= slow {
			known[k] = append(known[k], rec.Value)
		}
	})
	each(func(f *file, rec *Record, k at) {
		switch {
		case rec.Value <= 0 || rec.Value >= slow:
		case slices.ContainsFunc(known[k], func(v float64) bool { return near(1000*rec.Value, v) }):
			rec.Value *= 1000
			tell(f, rec.Line, "scans are given in millions of rows per second, as other files of the folder tell: taken as thousands")
		default:
			tell(f, rec.Line, "scans of fewer than 100 thousand rows per second: older tables have millions; taken as thousands, as in later ones")
		}
	})
}

// near reports whether figures agree to the three decimals of a small one.
func near(a, b float64) bool { return a > 0.999*b && a < 1.001*b }
