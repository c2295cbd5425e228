package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"backslide/lab"
)

// dense returns the densest view: a row per candidate, and in each column the average
// ratio of point, range and write steps as a-b-c. Columns are hosts, of which a run has
// one, and below that numbers of clients, which are not averaged over.
func (v *view) dense(whole string, f *footnotes) section {
	host := clean(cmp.Or(v.Run.Host.CPU, "this host"))
	t := &table{head: []string{"candidate"}, fixed: 1}
	for _, n := range v.clients {
		t.head = append(t.head, host+"\n"+count(n, "client"))
		host = ""
	}
	for _, c := range v.candidates {
		cells := plain(v.name(c))
		for _, n := range v.clients {
			text, notes := v.abc(c, n)
			cells = append(cells, cell{parts: []string{text, superscript(f.add(notes...))}})
		}
		t.rows = append(t.rows, row{cells: cells})
	}
	sc := scaleOf(v.metric)
	return section{
		title: fmt.Sprintf("average %s of point-range-write steps, candidate / %s%s", sc.relative(), v.name(v.Run.Base), whole),
		intro: []string{"a-b-c is point-range-write, and range has the aggregates in it: means over steps, without a verdict."},
		table: t,
	}
}

// abc returns the average ratios of point, range and write steps at a number of clients
// and which steps are missing in them. Aggregates are range steps here.
func (v *view) abc(candidate lab.Variant, clients int) (text string, notes []string) {
	var parts []string
	for _, kinds := range [][]lab.Group{{lab.Point}, {lab.Range, lab.Aggregate}, {lab.Write}} {
		sum, have, all := 0.0, 0, 0
		for _, g := range v.groups {
			if !slices.Contains(kinds, g.name) {
				continue
			}
			for _, s := range g.steps {
				e, ok := v.entry(candidate, lab.Level{Step: s, Clients: clients}, v.metric)
				if !ok {
					continue
				}
				all++
				if e.judged() && finite(e.comp.LogRatio) {
					sum += math.Exp(e.comp.LogRatio)
					have++
				}
			}
		}
		if have < all {
			notes = append(notes, fmt.Sprintf("%d of %s without a result, and not in the average", all-have, count(all, string(kinds[0])+" step")))
		}
		if have == 0 {
			parts = append(parts, none)
			continue
		}
		parts = append(parts, decimals(sum/float64(have), v.decimals))
	}
	return strings.Join(parts, "-"), notes
}

// concurrency returns two tables per step with a column per number of clients: values of
// all variants, and ratios of candidates with their marks.
func (v *view) concurrency(whole string, f *footnotes) []section {
	sc := scaleOf(v.metric)
	var out []section
	for _, g := range v.groups {
		for _, s := range g.steps {
			values := &table{head: append([]string{"variant"}, v.clientHeads()...), fixed: 1}
			for _, x := range v.variants {
				cells := plain(v.labelled(x))
				for _, n := range v.clients {
					cells = append(cells, v.value(lab.Cell{Variant: x, Step: s, Clients: n}, v.metric))
				}
				values.rows = append(values.rows, row{cells: cells})
			}
			out = append(out, section{title: fmt.Sprintf("%s: %s, %s", v.step(s), sc.name, sc.unit), table: values})
			ratios := &table{head: values.head, fixed: 1}
			for _, x := range v.candidates {
				cells := plain(v.name(x))
				for _, n := range v.clients {
					cells = append(cells, v.ratioCell(x, lab.Level{Step: s, Clients: n}, f))
				}
				ratios.rows = append(ratios.rows, row{cells: cells})
			}
			if len(ratios.rows) > 0 {
				out = append(out, section{title: fmt.Sprintf("%s: %s to %s%s", v.step(s), sc.relative(), v.name(v.Run.Base), whole), table: ratios})
			}
		}
	}
	return out
}

// ratioCell returns a ratio, its interval unless two decimals were asked for, its mark and
// footnotes.
func (v *view) ratioCell(candidate lab.Variant, l lab.Level, f *footnotes) cell {
	e, ok := v.entry(candidate, l, v.metric)
	number, span, last := "", "", ""
	if ok {
		number, last = none, e.mark()+superscript(f.add(e.notes()...))
	}
	if ok && e.judged() {
		number, span = v.ratio(e.comp.LogRatio), v.ratioSpan(e.comp.Lo, e.comp.Hi)
	}
	if v.decimals < 3 {
		return cell{parts: []string{number, last}, state: e.state}
	}
	return cell{parts: []string{number, span, last}, state: e.state}
}
