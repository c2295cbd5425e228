package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"backslide/lab"
	"backslide/stat"
)

// stepSections returns the least compressed view: for each step all metrics per operation
// of all variants, absolute and then relative to the base.
func (s sheet) stepSections() []section {
	var out []section
	for _, g := range s.groups {
		for _, st := range g.steps {
			t := &table{head: []string{"variant"}, fixed: 1}
			for _, m := range st.metrics {
				t.head = append(t.head, m.name+"\n"+m.unit)
			}
			var relative []row
			for i := range s.columns {
				cells, ratios := plain(s.label(i)), plain("  "+s.row(i))
				any := false
				for _, m := range st.metrics {
					any = any || m.values[i].measured()
					cells = append(cells, cell{parts: []string{"", m.amount(i)}})
					ratios = append(ratios, s.ratioCell(m, i))
				}
				if !any {
					continue
				}
				t.rows = append(t.rows, row{cells: cells})
				if !s.isBase(i) {
					relative = append(relative, row{cells: ratios})
				}
			}
			if len(relative) > 0 {
				t.rows = append(append(t.rows, row{heading: "relative to " + s.columns[s.base].name}), relative...)
			}
			title := st.name
			if st.clients > 0 {
				title += " at " + count(st.clients, "client")
			}
			out = append(out, section{title: title, table: t})
		}
	}
	return out
}

// row names a column where it is a row, with its host if there are several.
func (s sheet) row(i int) string {
	c := s.columns[i]
	if c.host == "" || !slices.ContainsFunc(s.columns, func(other column) bool { return other.host != c.host }) {
		return c.name
	}
	return c.name + " on " + c.host
}

// label is row, and says whether it is the base.
func (s sheet) label(i int) string {
	if s.isBase(i) {
		return s.row(i) + " (base)"
	}
	return s.row(i)
}

// amount returns an absolute value for people.
func (m sheetMetric) amount(i int) string {
	if !m.values[i].measured() {
		return none
	}
	return amountOf(m.values[i].value * m.factor)
}

// amountOf is amount with the digits that very small figures need: 0.000409.
func amountOf(x float64) string {
	if a := math.Abs(x); a > 0 && a < 0.01 {
		return sign(strconv.FormatFloat(x, 'f', 6, 64))
	}
	return amount(x)
}

// ratioCell returns a ratio, and beside it what is known of how sure it is: the interval
// and the mark of a run; the interval of replicates; or else, in brackets, how quiet the
// host must have been for the difference to mean something.
func (s sheet) ratioCell(m sheetMetric, i int) cell {
	f := m.values[i]
	switch {
	case s.judged && f.state == broken || s.judged && f.state == notRun:
		return cell{parts: []string{none, "", f.mark}, state: f.state}
	case !finite(f.logRatio):
		return cell{parts: []string{none, "", f.mark}}
	}
	beside := ""
	if s.decimals > 2 {
		switch {
		case finite(f.lo):
			beside = "[" + decimals(math.Exp(f.lo), s.decimals) + ", " + decimals(math.Exp(f.hi), s.decimals) + "]"
		case !s.judged:
			beside = "(" + s.noise(m, i) + ")"
		}
	}
	return cell{parts: []string{decimals(math.Exp(f.logRatio), s.decimals), beside, f.mark}, state: f.state}
}

// noise returns the largest standard deviation between runs with which the difference of a
// column would still be told from noise, in percent.
func (s sheet) noise(m sheetMetric, i int) string {
	return strconv.FormatFloat(100*stat.NoiseFor(m.values[i].logRatio, m.values[i].runs, m.values[s.columns[i].base].runs, s.level), 'f', 1, 64) + "%"
}

// decimals returns a number with so many decimals.
func decimals(x float64, n int) string {
	if !finite(x) {
		return none
	}
	return sign(strconv.FormatFloat(x, 'f', n, 64))
}

// groupSections returns one table per group of steps: a row per step, a column per
// candidate.
func (s sheet) groupSections() []section {
	var out []section
	for _, g := range s.groups {
		t := &table{head: []string{"step"}, fixed: 1}
		for i, c := range s.columns {
			if !s.isBase(i) {
				t.head = append(t.head, c.over()+c.name)
			}
		}
		for _, st := range g.steps {
			m, ok := st.metric(s.metric)
			if !ok {
				continue
			}
			cells := plain(s.withClients(st))
			for i := range s.columns {
				if !s.isBase(i) {
					cells = append(cells, s.ratioCell(m, i))
				}
			}
			t.rows = append(t.rows, row{cells: cells})
		}
		if len(t.rows) > 0 && len(t.head) > 1 {
			out = append(out, section{title: fmt.Sprintf("%s: %s to %s", g.name, s.relative(), s.columns[s.base].name), table: t})
		}
	}
	return out
}

// over is the upper line of a heading: the host, if known.
func (c column) over() string {
	if c.host == "" {
		return ""
	}
	return c.host + "\n"
}

// headed names a column at its head, under its host.
func (c column) headed(base bool) string {
	if base {
		return c.name + " (base)"
	}
	return c.name
}

// relative names the ratios of the sheet's metric.
func (s sheet) relative() string {
	if s.metric == string(lab.QPS) {
		return "relative QPS"
	}
	return "relative " + clean(s.metric)
}

// absoluteSection returns the metric of every column.
func (s sheet) absoluteSection() section {
	t := &table{head: []string{"step", ""}, fixed: 2}
	for i := range s.columns {
		t.head = append(t.head, s.columns[i].over()+s.columns[i].headed(s.isBase(i)))
	}
	for _, g := range s.groups {
		t.rows = append(t.rows, row{heading: g.name})
		for _, st := range g.steps {
			m, ok := st.metric(s.metric)
			if !ok {
				continue
			}
			cells := plain("  "+s.withClients(st), m.unit)
			for i := range s.columns {
				cells = append(cells, cell{parts: []string{m.amount(i)}})
			}
			t.rows = append(t.rows, row{cells: cells})
		}
	}
	return section{title: strings.TrimPrefix(s.relative(), "relative ") + " of all variants", table: t}
}

// concurrencySections returns two tables per step with a column per number of clients:
// values, and ratios.
func (s sheet) concurrencySections() []section {
	return s.overClients(func(steps map[int]sheetMetric, name string, head []string, clients []int) []section {
		values := &table{head: head, fixed: 1}
		ratios := &table{head: head, fixed: 1}
		unit := ""
		for i := range s.columns {
			cells, relative := plain(s.label(i)), plain(s.row(i))
			for _, n := range clients {
				m, ok := steps[n]
				if !ok {
					cells, relative = append(cells, plain("")...), append(relative, plain("")...)
					continue
				}
				unit = m.unit
				cells = append(cells, cell{parts: []string{m.amount(i)}})
				relative = append(relative, s.ratioCell(m, i))
			}
			values.rows = append(values.rows, row{cells: cells})
			if !s.isBase(i) {
				ratios.rows = append(ratios.rows, row{cells: relative})
			}
		}
		out := []section{{title: fmt.Sprintf("%s: %s, %s", name, strings.TrimPrefix(s.relative(), "relative "), unit), table: values}}
		if len(ratios.rows) > 0 {
			out = append(out, section{title: fmt.Sprintf("%s: %s to %s", name, s.relative(), s.columns[s.base].name), table: ratios})
		}
		return out
	})
}

// responseSections returns the normalised response time of each step: that of the base at
// the fewest clients is 1. It is clients / rate, since clients wait for their answers.
func (s sheet) responseSections() []section {
	s.metric = string(lab.QPS)
	out := s.overClients(func(steps map[int]sheetMetric, name string, head []string, clients []int) []section {
		t := &table{head: head, fixed: 1}
		unit := func(base int) float64 {
			for _, n := range clients {
				if base < 0 {
					break
				}
				if x := steps[n].response(base, n); finite(x) {
					return x
				}
			}
			return math.NaN()
		}
		for i := range s.columns {
			cells := plain(s.label(i))
			for _, n := range clients {
				text := ""
				if m, ok := steps[n]; ok {
					text = decimals(m.response(i, n)/unit(s.columns[i].base), s.decimals)
				}
				cells = append(cells, cell{parts: []string{text}})
			}
			t.rows = append(t.rows, row{cells: cells})
		}
		return []section{{title: name, table: t}}
	})
	if len(out) > 0 {
		out[0].intro = append([]string{fmt.Sprintf("Normalised response time: time of an operation, that of %s at the fewest clients being 1. More is slower. No verdicts.", s.columns[s.base].name)}, out[0].intro...)
	}
	return out
}

// response returns seconds per operation as a client sees them; NaN where not known.
func (m sheetMetric) response(i, clients int) float64 {
	f := m.values[i]
	if !f.measured() || f.value <= 0 {
		return math.NaN()
	}
	if m.perClient {
		clients = 1
	}
	return float64(max(1, clients)) / f.value
}

// overClients calls draw for each step with its metric at each number of clients.
func (s sheet) overClients(draw func(steps map[int]sheetMetric, name string, head []string, clients []int) []section) []section {
	var out []section
	for _, g := range s.groups {
		at := map[string]map[int]sheetMetric{}
		var order []string
		for _, st := range g.steps {
			m, ok := st.metric(s.metric)
			if !ok {
				continue
			}
			if at[st.name] == nil {
				at[st.name] = map[int]sheetMetric{}
				order = append(order, st.name)
			}
			at[st.name][st.clients] = m
		}
		for _, name := range order {
			var clients []int
			head := []string{"variant"}
			for _, n := range s.clients {
				if _, ok := at[name][n]; ok {
					clients = append(clients, n)
					head = append(head, clientHead(n))
				}
			}
			out = append(out, draw(at[name], name, head, clients)...)
		}
	}
	return out
}

func clientHead(n int) string {
	if n == 0 {
		return "clients not said"
	}
	return count(n, "client")
}
