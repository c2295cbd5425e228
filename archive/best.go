package archive

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
)

// Number numbers replicates: figures of equal cell, metric, base and origin, in the order
// in which they stand.
func Number(rs []Record) {
	type key struct {
		cell         Cell
		metric, base string
		origin       Origin
	}
	seen := make(map[key]int)
	for i := range rs {
		k := key{rs[i].Cell, rs[i].Metric, rs[i].Base, rs[i].Origin}
		rs[i].Replicate = seen[k]
		seen[k]++
	}
}

// Join makes one result of several imports, whose figures of equal cells become replicates.
// A file that is in two of them, by its shown name, counts once.
func Join(results ...Result) Result {
	var out Result
	from := map[string]int{}
	for i, r := range results {
		for _, rec := range r.Records {
			if first, ok := from[rec.File]; ok && first != i {
				continue
			}
			from[rec.File] = i
			out.Records = append(out.Records, rec)
		}
		out.Summaries = append(out.Summaries, r.Summaries...)
		out.Problems = append(out.Problems, r.Problems...)
		out.Doubts = append(out.Doubts, r.Doubts...)
		out.Ignored = append(out.Ignored, r.Ignored...)
		out.Files += r.Files
		out.Again += r.Again
	}
	Number(out.Records)
	return out
}

// Best returns the figures to use: of each cell and metric those of the nearest origin, and
// ratios only where the cell has no figure that is absolute. Figures of tables that do not
// say the number of clients give way to nearer ones that do.
func Best(rs []Record) []Record {
	type key struct {
		cell   Cell
		metric string
	}
	nearest, anyClients := map[key]int{}, map[key]int{}
	for _, r := range rs {
		if r.Base != "" {
			continue
		}
		k := key{r.Cell, r.Metric}
		note(nearest, k, r.Origin.distance())
		k.cell.Clients = 0
		if r.Clients > 0 {
			note(anyClients, k, r.Origin.distance())
		}
	}
	var out []Record
	for _, r := range rs {
		k := key{r.Cell, r.Metric}
		d, absolute := nearest[k]
		if r.Base != "" && absolute || r.Base == "" && r.Origin.distance() > d {
			continue
		}
		if r.Clients == 0 {
			if near, ok := anyClients[k]; ok && (r.Base != "" || near < r.Origin.distance()) {
				continue
			}
		}
		out = append(out, r)
	}
	return out
}

func note[K comparable](m map[K]int, k K, d int) {
	if old, ok := m[k]; !ok || d < old {
		m[k] = d
	}
}

// Value is a figure of a table: the mean of the replicates.
type Value struct {
	Mean float64
	N    int // runs; 0: not measured. With one, no noise is known and no verdict possible
}

// Table holds one metric: a row for each test, a column for each variant.
type Table struct {
	Metric  string
	Base    string // of ratios: the column that is 1; empty: absolute
	Columns []Variant
	Rows    []Row
}

// Row is a test's figures, by column.
type Row struct {
	Test   Test
	Unit   string
	Values []Value
}

// Tabulate makes a table of the best absolute figures of a metric. Columns are in the order
// in which records name them, rows in the order of groups and names.
func Tabulate(rs []Record, metric string) Table {
	t := Table{Metric: metric}
	type at struct {
		test    Test
		variant Variant
	}
	type sum struct {
		total float64
		n     int
	}
	cells := map[at]sum{}
	units := map[Test]string{}
	columns := map[Variant]bool{}
	for _, r := range Best(rs) {
		if r.Metric != metric || r.Base != "" {
			continue
		}
		if !columns[r.Variant] {
			columns[r.Variant] = true
			t.Columns = append(t.Columns, r.Variant)
		}
		if units[r.Test] == "" {
			units[r.Test] = r.Unit
			t.Rows = append(t.Rows, Row{Test: r.Test, Unit: r.Unit})
		}
		s := cells[at{r.Test, r.Variant}]
		s.total += r.Value * float64(r.Runs)
		s.n += r.Runs
		cells[at{r.Test, r.Variant}] = s
	}
	for i := range t.Rows {
		row := &t.Rows[i]
		row.Values = make([]Value, len(t.Columns))
		for j, v := range t.Columns {
			if s := cells[at{row.Test, v}]; s.n > 0 {
				row.Values[j] = Value{s.total / float64(s.n), s.n}
			}
		}
	}
	slices.SortStableFunc(t.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Test.Workload, b.Test.Workload), cmp.Compare(rank(a.Test.Step), rank(b.Test.Step)),
			cmp.Compare(sortKey(a.Test), sortKey(b.Test)), cmp.Compare(a.Test.Clients, b.Test.Clients))
	})
	return t
}

// Runs returns how many runs the cells of a table have, the fewest and the most. Cells that
// were not measured do not count. With 1, 1 no difference in it can be told from noise.
func (t Table) Runs() (least, most int) {
	for _, r := range t.Rows {
		for _, v := range r.Values {
			if v.N > 0 {
				if least == 0 || v.N < least {
					least = v.N
				}
				most = max(most, v.N)
			}
		}
	}
	return least, most
}

// Column returns the index of a variant by its String or the reference's name for it, or -1.
func (t Table) Column(name string) int {
	return slices.IndexFunc(t.Columns, func(v Variant) bool {
		return v.String() == name || v.Build == name || folder(v) == name
	})
}

// Select returns the table with those of its columns, in that order.
func (t Table) Select(columns ...int) Table {
	out := t
	out.Columns, out.Rows = nil, make([]Row, len(t.Rows))
	for _, c := range columns {
		out.Columns = append(out.Columns, t.Columns[c])
	}
	for i, r := range t.Rows {
		out.Rows[i] = Row{Test: r.Test, Unit: r.Unit}
		for _, c := range columns {
			out.Rows[i].Values = append(out.Rows[i].Values, r.Values[c])
		}
	}
	return out
}

// Relative divides each row by its value in the base's column, without rounding. Where the
// base has no value or none above zero, the row has no ratios. The base's column stays. N
// is the smaller of the two.
func (t Table) Relative(base int) Table {
	out := t
	out.Base = t.Columns[base].String()
	out.Rows = make([]Row, len(t.Rows))
	for i, r := range t.Rows {
		out.Rows[i] = Row{Test: r.Test, Unit: "1", Values: make([]Value, len(r.Values))}
		b := r.Values[base]
		for j, v := range r.Values {
			if b.N > 0 && b.Mean > 0 && v.N > 0 {
				out.Rows[i].Values[j] = Value{v.Mean / b.Mean, min(v.N, b.N)}
			}
		}
	}
	return out
}

// WrongRatios finds the published ratios that the rates of their folder do not give, to the
// two decimals that are usual, whether rates are rounded to whole numbers first or not.
// Rates are those of tables in the same folder, else of what was measured in it or below.
func WrongRatios(rs []Record) (out []Problem) {
	type at struct {
		dir  string
		test Test
		name string
	}
	tables, measured := map[at]float64{}, map[at]float64{}
	for _, r := range rs {
		if r.Base != "" || r.Metric != QPS {
			continue
		}
		dir := path.Dir(r.File)
		k := at{dir, r.Test, r.Variant.String()}
		if r.Origin == Tabled {
			first(tables, k, r.Value)
			continue
		}
		first(measured, k, r.Value)
		k.dir = path.Dir(dir)
		first(measured, k, r.Value)
	}
	for _, r := range rs {
		if r.Base == "" || r.Metric != QPS {
			continue
		}
		dir := path.Dir(r.File)
		side := func(name string) (float64, bool) {
			if v, ok := tables[at{dir, r.Test, name}]; ok {
				return v, true
			}
			v, ok := measured[at{dir, r.Test, name}]
			return v, ok
		}
		v, ok1 := side(r.Variant.String())
		base, ok2 := side(r.Base)
		if !ok1 || !ok2 || base <= 0 {
			continue
		}
		want := fmt.Sprintf("%.2f", r.Value)
		exact, rounded := fmt.Sprintf("%.2f", v/base), fmt.Sprintf("%.2f", whole(v)/whole(base))
		if want != exact && want != rounded {
			out = append(out, Problem{File: r.File, Line: r.Line, Msg: fmt.Sprintf(
				"%s of %s relative to %s is given as %s; %s and %s make it %s", r.Test, r.Variant, r.Base, want, plain(v), plain(base), rounded)})
		}
	}
	return out
}

func first[K comparable](m map[K]float64, k K, v float64) {
	if _, ok := m[k]; !ok {
		m[k] = v
	}
}

// whole rounds a rate as published tables do. Old scans, in millions of rows per second,
// have three decimals.
func whole(v float64) float64 {
	if v < 10 {
		return math.Round(v*1000) / 1000
	}
	return math.RoundToEven(v)
}
