package report

import (
	"fmt"
	"slices"

	"backslide/lab"
)

// section is a part of a report in text or Markdown: any of its parts may be missing.
type section struct {
	title string
	intro []string
	table *table
	list  []string

	worded bool // the table has verdicts in words, if there is room
}

// sections returns the report, in order. With words, verdict tables say verdicts in
// words behind their marks.
func (v *view) sections(show string, words bool) []section {
	var f footnotes
	whole := superscript(f.add(v.Footnotes...))
	out := append([]section{v.opening()}, v.results(show, words, whole, &f)...)
	full := show == Full
	if full || show == Brief {
		out = append(out, v.declaredTotals(whole, &f)...)
		out = append(out, v.allocators(whole, &f)...)
	}
	if full && v.steps > 0 {
		out = append(out, v.absolute(), v.costs())
		if len(v.candidates) > 0 {
			out = append(out, v.seen())
		}
	}
	out = append(out, section{title: "Failures", list: v.failures()}, section{title: "Events", list: v.events()})
	if full {
		out = append(out, v.noise())
	}
	var notes []string
	for i, n := range f.texts {
		notes = append(notes, fmt.Sprintf("%s %s", superscript([]int{i + 1}), n))
	}
	out = append(out, section{title: "Footnotes", list: notes})
	if full {
		out = append(out, section{title: "Builds", list: v.builds()})
	}
	return append(out, section{title: "How it was measured", list: v.measured()})
}

// opening says the most important things in sentences.
func (v *view) opening() section {
	out := section{intro: []string{v.title()}}
	add := func(s string) {
		if s != "" {
			out.intro = append(out.intro, s)
		}
	}
	if r := v.Run; r.Ended.IsZero() && !r.Started.IsZero() {
		add(fmt.Sprintf("This run has not ended: what follows is of the blocks so far, and backslide run --resume %d goes on.", r.ID))
	}
	if v.oneStep() {
		add(v.together())
	} else {
		for _, c := range v.candidates {
			add(v.sentence(c))
		}
	}
	add(v.nothing())
	add(v.lamps())
	add(v.copies())
	return out
}

// nothing says why there is nothing to compare; empty if there is.
func (v *view) nothing() string {
	switch {
	case len(v.variants) == 0 || v.steps == 0:
		return "There is nothing to show yet: no level has been run."
	case len(v.candidates) == 0:
		return fmt.Sprintf("Only %s was run, so there is nothing to compare it with.", v.name(v.variants[0]))
	}
	return ""
}

// results returns the tables that a view is about, with how to read them.
func (v *view) results(show string, words bool, whole string, f *footnotes) []section {
	if v.steps == 0 || len(v.candidates) == 0 && show != Concurrency && show != Totals && show != Residence && show != Insert {
		return nil
	}
	switch show {
	case Dense:
		return []section{v.dense(whole, f)}
	case Residence:
		return v.memory(whole, f)
	case Insert:
		return v.insert()
	case Totals:
		return v.totals(whole, f)
	case Concurrency:
		return append(v.concurrency(whole, f), section{intro: []string{v.caveat(), v.legend()}})
	case Steps:
		return append(v.sheet(v.decimals).stepSections(), section{intro: []string{v.caveat(), v.legend()}})
	case Groups:
		return append(v.sheet(v.decimals).groupSections(), v.groupTable(words, f), section{intro: []string{v.caveat(), v.legend()}})
	case Response:
		return v.sheet(v.decimals).responseSections()
	}
	if v.oneStep() {
		out := []section{v.verdictsTogether(words, whole, f), {intro: []string{v.caveat(), v.legend()}}}
		if len(v.clients) > 1 {
			out = append(out, v.groupTable(words, f))
		}
		return out
	}
	var out []section
	for _, c := range v.candidates {
		out = append(out, v.verdicts(c, words, whole, f))
	}
	return append(out, section{intro: []string{v.caveat(), v.legend()}}, v.groupTable(words, f))
}

func (v *view) legend() string {
	s := "▼ regressed  ▲ improved  = equivalent  ▽ △ equivalent, small but real (worse, better)  ? inconclusive  ✗ broken  · not run"
	if v.lamped() {
		s += "; ▼▼ ▲▲ are red: they hold over the whole report; ▼ ▲ are amber: each for itself"
	}
	return s
}

// verdicts returns the table of a candidate: a row per step, a column per number of clients.
func (v *view) verdicts(candidate lab.Variant, words bool, whole string, f *footnotes) section {
	sc := scaleOf(v.metric)
	t := &table{head: append([]string{"step"}, v.clientHeads()...), fixed: 1}
	for _, g := range v.groups {
		t.rows = append(t.rows, row{heading: clean(string(g.name))})
		for _, s := range g.steps {
			cells := plain("  " + v.shownStep(s))
			for _, n := range v.clients {
				e, ok := v.shownEntry(candidate, lab.Level{Step: s, Clients: n})
				if !ok {
					cells = append(cells, cell{parts: []string{"", "", ""}})
					continue
				}
				cells = append(cells, v.verdictCell(e, words, f))
			}
			t.rows = append(t.rows, row{cells: cells})
		}
	}
	title := fmt.Sprintf("%s, %s / %s [%s interval]%s", sc.relative(), v.name(candidate), v.name(v.Run.Base),
		share(1-v.plan.Alpha), whole)
	return section{title: title, table: t, worded: true}
}

// verdictsTogether returns the table of a run of one step: a row per candidate.
func (v *view) verdictsTogether(words bool, whole string, f *footnotes) section {
	step := v.groups[0].steps[0]
	t := &table{head: append([]string{"candidate"}, v.clientHeads()...), fixed: 1}
	for _, c := range v.candidates {
		cells := plain(v.name(c))
		for _, n := range v.clients {
			if e, ok := v.shownEntry(c, lab.Level{Step: step, Clients: n}); ok {
				cells = append(cells, v.verdictCell(e, words, f))
			} else {
				cells = append(cells, cell{parts: []string{"", "", ""}})
			}
		}
		t.rows = append(t.rows, row{cells: cells})
	}
	title := fmt.Sprintf("%s of %s, candidate / %s [%s interval]%s", scaleOf(v.metric).relative(), v.shownStep(step), v.name(v.Run.Base), share(1-v.plan.Alpha), whole)
	return section{title: title, table: t, worded: true}
}

func (v *view) clientHeads() []string {
	var out []string
	for _, n := range v.clients {
		out = append(out, count(n, "client"))
	}
	return out
}

// verdictCell returns ratio, interval, and mark with footnotes.
func (v *view) verdictCell(e entry, words bool, f *footnotes) cell {
	notes := superscript(f.add(e.notes()...))
	last := e.mark()
	if e.state == broken || e.state == notRun {
		return cell{parts: []string{"", string(e.state), last + notes}, state: e.state}
	}
	if words {
		last += " " + v.verdictWord(e)
	}
	last += notes
	return cell{parts: []string{v.ratio(e.comp.LogRatio), v.ratioSpan(e.comp.Lo, e.comp.Hi), last}, state: e.state}
}

// verdictWord is the state in words; of an inconclusive one, what it could have shown.
func (v *view) verdictWord(e entry) string {
	if e.state == inconclusive && finite(e.comp.MDE) && e.comp.MDE > 0 {
		return "could see " + size(e.comp.MDE)
	}
	return e.word()
}

// absolute returns the values of the metric of all variants.
func (v *view) absolute() section {
	sc := scaleOf(v.metric)
	t := &table{head: append([]string{"step", "variant"}, v.clientHeads()...), fixed: 2}
	for _, g := range v.groups {
		t.rows = append(t.rows, row{heading: clean(string(g.name))})
		for _, s := range g.steps {
			label := "  " + v.step(s)
			for _, x := range v.variants {
				cells := plain(label, v.labelled(x))
				for _, n := range v.clients {
					cells = append(cells, v.value(lab.Cell{Variant: x, Step: s, Clients: n}, v.metric))
				}
				t.rows = append(t.rows, row{cells: cells})
				label = ""
			}
		}
	}
	return section{title: fmt.Sprintf("%s, %s", sc.name, sc.unit), table: t}
}

// labelled returns a variant's name, and says whether it is the base.
func (v *view) labelled(x lab.Variant) string {
	if x == v.Run.Base {
		return v.name(x) + " (base)"
	}
	return v.name(x)
}

// value returns one cell's absolute value, or why there is none.
func (v *view) value(c lab.Cell, m lab.Metric) cell {
	if !v.levels[c.Level()] {
		return cell{parts: []string{""}}
	}
	if mean := v.means[c]; mean != nil {
		if x, ok := mean.Values[m]; ok && finite(x) {
			return cell{parts: []string{amount(x * scaleOf(m).factor)}}
		}
		return cell{parts: []string{none}}
	}
	if len(v.failed[c]) > 0 {
		return cell{parts: []string{string(broken)}, state: broken}
	}
	return cell{parts: []string{string(notRun)}, state: notRun}
}

// costs returns what an operation cost, with the candidates' values relative to the base's.
func (v *view) costs() section {
	metrics := v.costMetrics()
	head := []string{"step/clients", "variant"}
	for _, m := range metrics {
		sc := scaleOf(m)
		head = append(head, sc.name+"\n"+sc.unit)
	}
	t := &table{head: append(head, "p50\nµs", "p95\nµs", "p99\nµs", "max\nµs"), fixed: 2}
	for _, g := range v.groups {
		for _, s := range g.steps {
			for _, n := range v.clients {
				label := fmt.Sprintf("%s/%d", v.step(s), n)
				for _, x := range v.variants {
					c := lab.Cell{Variant: x, Step: s, Clients: n}
					if v.means[c] == nil {
						continue
					}
					cells := plain(label, v.labelled(x))
					for _, m := range metrics {
						cells = append(cells, v.costCell(c, m))
					}
					for _, q := range []float64{v.means[c].P50, v.means[c].P95, v.means[c].P99, v.means[c].Max} {
						cells = append(cells, plain(micros(q))...)
					}
					t.rows = append(t.rows, row{cells: cells})
					label = ""
				}
			}
		}
	}
	if len(t.rows) == 0 {
		return section{}
	}
	latency := "Latency is of all slices together, closed loop."
	if v.measures(lab.P50) {
		latency = "Latency at the right is of all slices together and never compared; that at a set rate counts from when an operation was due, is the geometric mean over slices, and has verdicts."
	}
	return section{
		title: "Costs per operation, and latency",
		intro: []string{"Behind a candidate's cost: its ratio to the base and its own verdict, ▼ worse or ▲ better. " + latency},
		table: t,
	}
}

// costMetrics returns the metrics per operation that any cell has.
func (v *view) costMetrics() []lab.Metric {
	var out []lab.Metric
	for _, m := range lab.Metrics()[1:] {
		if v.measures(m) {
			out = append(out, m)
		}
	}
	return out
}

// measures reports whether any cell has a metric.
func (v *view) measures(m lab.Metric) bool {
	return slices.ContainsFunc(v.Cells, func(c lab.CellMean) bool { _, ok := c.Values[m]; return ok })
}

func (v *view) costCell(c lab.Cell, m lab.Metric) cell {
	text := v.value(c, m).parts[0]
	e, _ := v.entry(c.Variant, c.Level(), m)
	if c.Variant == v.Run.Base || e.state == notRun || e.state == broken {
		return cell{parts: []string{text, ""}}
	}
	return cell{parts: []string{text, "(" + v.ratio(e.comp.LogRatio) + " " + e.mark() + ")"}, state: e.state}
}

// seen returns what could have been seen, and the comparisons that are inconclusive.
func (v *view) seen() section {
	out := section{title: "What could be seen"}
	for _, c := range v.candidates {
		if median, worst, at, ok := v.detectable(c); ok {
			out.list = append(out.list, fmt.Sprintf("%s: a difference of %s at half of the levels, of %s at all (%s is the hardest), with 90 %% power in %s",
				v.name(c), size(median), size(worst), v.at(at), count(v.plan.BlocksMax, "block")))
		} else {
			out.list = append(out.list, fmt.Sprintf("%s: not known yet; there are too few blocks", v.name(c)))
		}
		for _, e := range v.told(c) {
			if e.state == inconclusive {
				out.list = append(out.list, "  ? "+v.unclear(e))
			}
		}
	}
	return out
}
