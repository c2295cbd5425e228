package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"backslide/lab"
)

// work is fixed work that every variant did: the operations of a slice of one step, or
// those of all steps of a category, or of all categories.
type work struct {
	workload string
	category string
	step     lab.Step // zero: a sum
	ops      int64
	seconds  map[lab.Variant]float64 // means over blocks
	missing  []string                // steps that are not in a sum, since some variant has no result
}

// category is the part of a step's name before its first full stop, or the workload.
func category(s lab.Step) string {
	if c, _, ok := strings.Cut(s.Name, "."); ok {
		return c
	}
	return s.Workload
}

// works returns the fixed work at a number of clients: steps, then categories, each in
// the order of the run, and the sum of all.
func (v *view) works(clients int) (steps, categories []work, all work) {
	for _, l := range v.Run.Levels {
		if l.Warm || l.Ops == 0 || l.Level.Clients != clients {
			continue
		}
		steps = append(steps, v.work(l))
	}
	all = v.sum(steps)
	for _, s := range steps {
		if slices.ContainsFunc(categories, func(c work) bool { return c.workload == s.workload && c.category == s.category }) {
			continue
		}
		c := v.sum(slices.DeleteFunc(slices.Clone(steps), func(o work) bool { return o.workload != s.workload || o.category != s.category }))
		c.workload, c.category = s.workload, s.category
		categories = append(categories, c)
	}
	return steps, categories, all
}

func (v *view) work(l lab.LevelPlan) work {
	w := work{
		workload: l.Level.Step.Workload, category: category(l.Level.Step), step: l.Level.Step, ops: l.Ops,
		seconds: map[lab.Variant]float64{},
	}
	for _, x := range v.variants {
		mean := v.means[lab.Cell{Variant: x, Step: l.Level.Step, Clients: l.Level.Clients}]
		if mean != nil && mean.Values[lab.QPS] > 0 {
			w.seconds[x] = float64(l.Ops) / mean.Values[lab.QPS]
		}
	}
	return w
}

// sum adds up steps that every variant has a result of.
func (v *view) sum(steps []work) work {
	out := work{seconds: map[lab.Variant]float64{}}
	for _, s := range steps {
		if len(s.seconds) < len(v.variants) {
			out.missing = append(out.missing, v.step(s.step))
			continue
		}
		for x, t := range s.seconds {
			out.seconds[x] += t
		}
	}
	return out
}

// ratio returns the seconds of x over those of the base; above 1 is slower.
func (w work) ratio(x, base lab.Variant) (float64, bool) {
	t, ok := w.seconds[x]
	b := w.seconds[base]
	return t / b, ok && b > 0 && x != base
}

// totals returns two tables for each number of clients: seconds of the categories, a row
// per variant, and seconds of the steps, a column per variant.
func (v *view) totals(whole string, f *footnotes) []section {
	var out []section
	for _, n := range v.clients {
		if steps, _, _ := v.works(n); len(steps) > 0 {
			out = append(out, v.categoryTotals(n, whole, f), section{title: "by step, " + count(n, "client"), table: v.stepTotals(steps)})
			if c := v.clocks(n); len(c.table.rows) > 0 {
				c.intro = []string{clocksLegend}
				out = append(out, c)
			}
		}
	}
	if len(out) == 0 {
		return []section{{intro: []string{"No step of this run is fixed work, so there are no totals: reads without ops end by time."}}}
	}
	return append(out, section{intro: []string{"Above ×1 is slower. Seconds are those of one slice's operations, means over blocks, and ratios are of these means: without a verdict; `--view full` has the verdicts of the steps, which pair the blocks."}})
}

// declaredTotals returns the seconds of categories of a run that has steps whose work the
// workload fixes, for reports that are about more than that.
func (v *view) declaredTotals(whole string, f *footnotes) []section {
	if !slices.ContainsFunc(v.Run.Levels, func(l lab.LevelPlan) bool { return l.Read && l.Ops > 0 && !l.Warm }) {
		return nil
	}
	var out []section
	for _, n := range v.clients {
		if steps, _, _ := v.works(n); len(steps) > 1 {
			out = append(out, v.categoryTotals(n, whole, f))
		}
	}
	return out
}

// categoryTotals returns the seconds of categories, a row per variant.
func (v *view) categoryTotals(clients int, whole string, f *footnotes) section {
	_, categories, all := v.works(clients)
	t := &table{head: []string{"variant"}, fixed: 1}
	if len(categories) > 1 {
		all.category = "total"
		categories = append(categories, all)
	}
	for _, c := range categories {
		t.head = append(t.head, clean(c.category)+superscript(f.add(c.notes()...)))
	}
	for _, x := range v.variants {
		cells := plain(v.labelled(x))
		for _, c := range categories {
			cells = append(cells, c.cell(x, v.Run.Base))
		}
		t.rows = append(t.rows, row{cells: cells})
	}
	return section{
		title: fmt.Sprintf("seconds for the same work, and their ratio to %s, %s%s", v.name(v.Run.Base), count(clients, "client"), whole),
		table: t,
	}
}

func (v *view) stepTotals(steps []work) *table {
	t := &table{head: []string{"step", "operations"}, fixed: 1}
	for _, x := range v.variants {
		t.head = append(t.head, v.labelled(x))
	}
	last := ""
	for _, s := range steps {
		if name := s.workload + " " + s.category; name != last {
			t.rows = append(t.rows, row{heading: clean(s.category)})
			last = name
		}
		name := strings.TrimPrefix(s.step.Name, s.category+".")
		cells := plain("  "+clean(name), strconv.FormatInt(s.ops, 10))
		for _, x := range v.variants {
			cells = append(cells, s.cell(x, v.Run.Base))
		}
		t.rows = append(t.rows, row{cells: cells})
	}
	return t
}

// cell returns seconds and ratio of a variant.
func (w work) cell(x, base lab.Variant) cell {
	seconds, ratio := none, ""
	if t, ok := w.seconds[x]; ok {
		seconds = threeDigits(t)
	}
	if r, ok := w.ratio(x, base); ok {
		ratio = "×" + decimals(r, 2)
	}
	return cell{parts: []string{seconds, ratio}}
}

// threeDigits returns seconds with three digits, and milliseconds' thousandths at most.
func threeDigits(s float64) string {
	digits := 2 - int(math.Floor(math.Log10(max(s, 1e-4))))
	return strconv.FormatFloat(s, 'f', max(0, min(digits, 6)), 64)
}

func (w work) notes() []string {
	if len(w.missing) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("without %s, of which some variant has no result", strings.Join(w.missing, ", "))}
}

// CSVTotals writes the seconds that fixed work took, with a line of headings: a row for
// each step, category and total, number of clients, and variant. step is empty in sums,
// category in the total. ratio is seconds of the variant over those of the base, above 1
// is slower. server seconds are those of the statements by the server's own clock, added
// up over clients. What is unknown is an empty field.
func CSVTotals(w io.Writer, s lab.Summary) error {
	v := newView(s, lab.QPS)
	out := newCSV(w)
	out.Write([]string{"run", "workload", "category", "step", "clients", "build", "config", "engine", "copy", "base", "ops", "seconds", "ratio", "missing", "server seconds", "server clock"})
	for _, n := range v.clients {
		steps, categories, all := v.works(n)
		if len(steps) == 0 {
			continue
		}
		for _, k := range slices.Concat(steps, categories, []work{all}) {
			for _, x := range v.variants {
				row := append([]string{strconv.FormatInt(s.Run.ID, 10), k.workload, k.category, k.step.Name, strconv.Itoa(n)}, csvVariant(x)...)
				ops := ""
				if k.ops > 0 {
					ops = strconv.FormatInt(k.ops, 10)
				}
				seconds, ratio := "", ""
				if t, ok := k.seconds[x]; ok {
					seconds = strconv.FormatFloat(t, 'g', 6, 64)
				}
				if r, ok := k.ratio(x, s.Run.Base); ok {
					ratio = strconv.FormatFloat(r, 'g', 6, 64)
				}
				own, clock := "", ""
				if c := v.clockOf(x, lab.Level{Step: k.step, Clients: n}); c.Slices > 0 && k.ops > 0 {
					own, clock = strconv.FormatFloat(c.Server*float64(k.ops), 'g', 6, 64), string(c.By[0])
				}
				out.Write(append(row, strconv.FormatBool(x == s.Run.Base), ops, seconds, ratio, strings.Join(k.missing, "; "), own, clock))
			}
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write totals of run %d as CSV: %w", s.Run.ID, err)
	}
	return nil
}
