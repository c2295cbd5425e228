package report

import (
	"fmt"

	"backslide/lab"
)

// mostColumns is how many candidates stand side by side in one table of ratios.
const mostColumns = 8

// matrix is a heat map of ratios: of a candidate, its steps by numbers of clients. Where
// there is one number of clients, all candidates are its columns, and where there is one
// step, its rows.
type matrix struct {
	ID     string // empty: the heads have some
	Name   string // of the candidate; empty: it is of all
	Corner string
	Heads  []matrixHead
	Groups []matrixGroup
}

type matrixHead struct{ ID, Text string }

type matrixGroup struct {
	Name    string
	Columns int
	Rows    []matrixRow
}

type matrixRow struct {
	Head  string
	Cells []matrixCell
}

type matrixCell struct {
	ID, Class, Mark, Word string
	Ratio, Span           string
	None                  bool // the run has no such level
}

// matrices returns the tables of ratios that a page has: one where that holds everything,
// none where it would say no more than the table of comparisons, else one per candidate.
func (b *builder) matrices() []matrix {
	switch {
	case b.oneStep() && len(b.clients) == 1:
		return nil
	case b.oneStep():
		return []matrix{b.byCandidate()}
	case len(b.candidates) > 1 && len(b.candidates) <= mostColumns && len(b.clients) == 1:
		m := matrix{Corner: "step"}
		for i, c := range b.candidates {
			m.Heads = append(m.Heads, matrixHead{fmt.Sprintf("v%d", i), b.name(c)})
		}
		m.Groups = b.matrixGroups(func(s lab.Step) []matrixCell {
			var out []matrixCell
			for _, c := range b.candidates {
				out = append(out, b.matrixCell(c, lab.Level{Step: s, Clients: b.clients[0]}))
			}
			return out
		})
		return []matrix{m}
	}
	var out []matrix
	for i, c := range b.candidates {
		m := matrix{ID: fmt.Sprintf("v%d", i), Name: b.name(c), Corner: "step", Heads: b.clientHeads()}
		m.Groups = b.matrixGroups(func(s lab.Step) []matrixCell { return b.matrixCells(c, s) })
		out = append(out, m)
	}
	return out
}

// byCandidate returns the table of a run of one step: a row per candidate.
func (b *builder) byCandidate() matrix {
	g := b.groups[0]
	rows := matrixGroup{Name: b.shownStep(g.steps[0]), Columns: 1 + len(b.clients)}
	for _, c := range b.candidates {
		rows.Rows = append(rows.Rows, matrixRow{b.name(c), b.matrixCells(c, g.steps[0])})
	}
	return matrix{Corner: "candidate", Heads: b.clientHeads(), Groups: []matrixGroup{rows}}
}

func (b *builder) clientHeads() []matrixHead {
	var out []matrixHead
	for _, n := range b.clients {
		out = append(out, matrixHead{"", count(n, "client")})
	}
	return out
}

// matrixGroups returns the groups of the run, with cells for each step.
func (b *builder) matrixGroups(cells func(lab.Step) []matrixCell) []matrixGroup {
	var out []matrixGroup
	for _, g := range b.groups {
		m := matrixGroup{Name: clean(string(g.name))}
		for _, s := range g.steps {
			r := matrixRow{b.shownStep(s), cells(s)}
			m.Columns = 1 + len(r.Cells)
			m.Rows = append(m.Rows, r)
		}
		out = append(out, m)
	}
	return out
}

// matrixCells returns a step's cells at every number of clients.
func (b *builder) matrixCells(candidate lab.Variant, s lab.Step) []matrixCell {
	var out []matrixCell
	for _, n := range b.clients {
		out = append(out, b.matrixCell(candidate, lab.Level{Step: s, Clients: n}))
	}
	return out
}

func (b *builder) matrixCell(candidate lab.Variant, level lab.Level) matrixCell {
	e, ok := b.shownEntry(candidate, level)
	if !ok {
		return matrixCell{None: true}
	}
	m := matrixCell{ID: b.rows[pairing{candidate, level, b.metric}], Class: e.state.class(), Mark: e.mark(), Word: e.word()}
	if e.state == broken || e.state == notRun {
		return m
	}
	m.Ratio = ratio(e.comp.LogRatio)
	if finite(e.comp.Lo) && finite(e.comp.Hi) {
		m.Span = ratioSpan(e.comp.Lo, e.comp.Hi)
	}
	if e.state != inconclusive { // what is not known has no colour
		m.Class += " " + heat(e.comp)
	}
	return m
}
