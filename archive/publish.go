package archive

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"backslide/lab"
)

// folder returns what the reference scripts call the folder of a variant.
func folder(v Variant) string {
	if v.Config == "" {
		return v.Build
	}
	return "x." + v.Build + "." + v.Config + ".pk1"
}

// sortKey orders names of tests as the reference's tables do: files by name, in a locale
// that passes over punctuation.
func sortKey(t Test) string {
	s := t.Step
	if t.Range > 0 {
		s += fmt.Sprintf("range%d", t.Range)
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(s)+"pk")
}

// rank is the place of a step's group in tables; warm-ups and others come last.
func rank(step string) int {
	g, ok := Group(step)
	if !ok {
		return len(lab.Groups())
	}
	return slices.Index(lab.Groups(), g)
}

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

// PublishedAbs writes a table of rates in the form of the reference's qps.abs.*.tsv: whole
// numbers, columns in a legend, names of tests last. A cell that was not measured is "-".
func (t Table) PublishedAbs(pre bool) string {
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

// PublishedRel writes a table of rates relative to its first column in the form of the
// reference's qps.rel.*.tsv: two decimals, of rates rounded to whole numbers first.
func (t Table) PublishedRel(pre bool) string {
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

// plain formats a number without trailing zeros.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// MetColumns are the metrics of a block of averages, in its order.
func MetColumns() []string {
	return []string{CPUPerOp, CSPerOp, ReadPerOp, ReadKBPer, WriteKBPer, QPS}
}

// Block writes the averages of one test in the form of the reference's o.met.*: absolute
// for all variants, then relative to the first of them. Variants without any are left out.
// Relative figures are of the absolute ones as printed there, except for the rate, which is
// rounded to a whole number first; 0/0 is 1 and x/0 is inf.
func Block(rs []Record, test Test, variants []Variant) string {
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
			b.WriteString(Ratio(printed(metric, x), printed(metric, base[metric])))
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

// Ratio formats x relative to base as the reference does: two decimals, 1 for 0/0, inf for
// x/0.
func Ratio(x, base float64) string {
	switch {
	case base == 0 && x == 0:
		return "1"
	case base == 0:
		return "inf"
	}
	return fmt.Sprintf("%.2f", x/base)
}

// Summary says how a group of tests fared in one column, as ratios to the base.
type Summary struct {
	Group   lab.Group
	Variant Variant
	Tests   int // that both sides have
	Min     float64
	Max     float64
	Avg     float64 // arithmetic mean
	Median  float64 // mean of the middle two for an even number
	Runs    int     // of each cell, the fewest
}

// Groups summarises a table of rates by groups of tests, each column but the base's, from
// ratios that are not rounded. Warm-ups and steps that no group is known of do not count.
// group says which group a step is in: Group, or another division.
func (t Table) Groups(base int, group func(step string) (lab.Group, bool)) (out []Summary) {
	rel := t.Relative(base)
	for _, g := range lab.Groups() {
		for j, v := range rel.Columns {
			if j == base {
				continue
			}
			var xs []float64
			runs := 0
			for _, r := range rel.Rows {
				if in, ok := group(r.Test.Step); !ok || in != g || r.Values[j].N == 0 {
					continue
				}
				xs = append(xs, r.Values[j].Mean)
				if runs == 0 || r.Values[j].N < runs {
					runs = r.Values[j].N
				}
			}
			if len(xs) > 0 {
				out = append(out, summarise(Summary{Group: g, Variant: v, Runs: runs}, xs))
			}
		}
	}
	return out
}

// Dense is Group with aggregates counted as ranges, as in tables that give point, range and
// write as a-b-c.
func Dense(step string) (lab.Group, bool) {
	g, ok := Group(step)
	if g == lab.Aggregate {
		g = lab.Range
	}
	return g, ok
}

func summarise(s Summary, xs []float64) Summary {
	slices.Sort(xs)
	n := len(xs)
	s.Tests, s.Min, s.Max = n, xs[0], xs[n-1]
	for _, x := range xs {
		s.Avg += x / float64(n)
	}
	s.Median = (xs[(n-1)/2] + xs[n/2]) / 2
	return s
}
