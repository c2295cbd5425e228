package archive

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// The tables as the reference scripts print them: what is read is right when they come out
// the same from it.

// section is where the reference's tables put a step, by parts of its name: 0 points,
// 1 ranges, 2 writes; negative: left out.
func section(step string) int {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(step, p) })
	}
	switch {
	case has("point") && has("warm"):
		return -1
	case has("point"):
		return 0
	case step == "prepare":
		return -1
	case has("delete", "insert", "update", "write"):
		return 2
	}
	return 1
}

// published returns the rows of a table of rates as the reference's tables have them: in
// their sections and order, of one number of clients. pre says whether tests on the
// unfragmented table are in, and the warm-up before them.
func (t Table) published(pre bool) []Row {
	var rows []Row
	for _, r := range t.Rows {
		if section(r.Test.Step) >= 0 && (pre || !strings.Contains(r.Test.Step, "pre")) {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(section(a.Test.Step), section(b.Test.Step)), cmp.Compare(sortKey(a.Test), sortKey(b.Test)))
	})
	return rows
}

// publishedAbs writes a table of rates in the form of the reference's qps.abs.*.tsv: whole
// numbers, columns in a legend, names of tests last. A cell that was not measured is "-".
func (t Table) publishedAbs(pre bool) string {
	var b strings.Builder
	t.legend(&b)
	for _, r := range t.published(pre) {
		for _, v := range r.Values {
			b.WriteString(cell(v, func(x float64) string { return plain(whole(x)) }) + "\t")
		}
		b.WriteString(rowName(r.Test) + "\n")
	}
	return b.String()
}

// publishedRel writes a table of rates relative to its first column in the form of the
// reference's qps.rel.*.tsv: two decimals, of rates rounded to whole numbers first.
func (t Table) publishedRel(pre bool) string {
	var b strings.Builder
	if len(t.Columns) == 0 {
		return ""
	}
	fmt.Fprintf(&b, "Relative to: %s\n", folder(t.Columns[0]))
	rest := Table{Columns: t.Columns[1:]}
	rest.legend(&b)
	for _, r := range t.published(pre) {
		base := r.Values[0]
		for _, v := range r.Values[1:] {
			if base.N == 0 || whole(base.Mean) == 0 {
				v = Value{}
			}
			b.WriteString(cell(v, func(x float64) string { return fmt.Sprintf("%.2f", whole(x)/whole(base.Mean)) }) + "\t")
		}
		b.WriteString(rowName(r.Test) + "\n")
	}
	return b.String()
}

func (t Table) legend(b *strings.Builder) {
	var names []string
	for i, v := range t.Columns {
		fmt.Fprintf(b, "col-%d : %s\n", i+1, folder(v))
		names = append(names, fmt.Sprintf("col-%d", i+1))
	}
	fmt.Fprintf(b, "\n%s\n", strings.Join(names, "\t"))
}

func cell(v Value, format func(float64) string) string {
	if v.N == 0 {
		return "-"
	}
	return format(v.Mean)
}

func rowName(t Test) string {
	if t.Range == 0 {
		return t.Step
	}
	return fmt.Sprintf("%s_range=%d", t.Step, t.Range)
}

// block writes the averages of one test in the form of the reference's o.met.*: absolute
// for all variants, then relative to the first of them. Variants without any are left out.
// Relative figures are of the absolute ones as printed there, except for the rate, which is
// rounded to a whole number first; 0/0 is 1 and x/0 is inf.
func block(rs []Record, test Test, variants []Variant) string {
	have := map[Variant]map[string]float64{}
	for _, r := range Best(rs) {
		if r.Test != test || r.Base != "" || r.Replicate > 0 {
			continue
		}
		if have[r.Variant] == nil {
			have[r.Variant] = map[string]float64{}
		}
		have[r.Variant][r.Metric] = r.Value
	}
	var b strings.Builder
	name := "sb.met." + test.name() + ".pk1"
	if test.Clients > 0 {
		name += fmt.Sprintf(".dop%d", test.Clients)
	}
	fmt.Fprintf(&b, "%s\n--- absolute\ncpu/o\t\tcs/o\tr/o\trKB/o\twKB/o\to/s\tdbms\n", name)
	var base map[string]float64
	var relative strings.Builder
	for _, v := range variants {
		m := have[v]
		if m == nil {
			continue
		}
		if _, ok := m[CPUPerOp]; !ok {
			continue
		}
		b.WriteString(blockRow(m, nil) + folder(v) + "\n")
		if base == nil {
			base = m
			continue
		}
		relative.WriteString(blockRow(m, base) + folder(v) + "\n")
	}
	return b.String() + "--- relative to first result\n" + relative.String()
}

func blockRow(m, base map[string]float64) string {
	var b strings.Builder
	for i, metric := range MetColumns() {
		x, ok := m[metric]
		switch {
		case !ok:
			b.WriteString("-")
		case base != nil:
			b.WriteString(ratio(printed(metric, x), printed(metric, base[metric])))
		case metric == CPUPerOp:
			fmt.Fprintf(&b, "%.6f", x)
		case metric == CSPerOp:
			fmt.Fprintf(&b, "%.3f", x)
		default:
			b.WriteString(plain(printed(metric, x)))
		}
		b.WriteString("\t")
		if i == 0 && base != nil {
			b.WriteString("\t")
		}
	}
	return b.String()
}

// printed rounds a figure to the decimals with which it is published.
func printed(metric string, x float64) float64 {
	switch metric {
	case QPS:
		return math.RoundToEven(x)
	case CPUPerOp:
		return math.Round(x*1e6) / 1e6
	}
	return math.Round(x*1e3) / 1e3
}

// ratio formats x relative to base as the reference does: two decimals, 1 for 0/0, inf for
// x/0.
func ratio(x, base float64) string {
	switch {
	case base == 0 && x == 0:
		return "1"
	case base == 0:
		return "inf"
	}
	return fmt.Sprintf("%.2f", x/base)
}
