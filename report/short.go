package report

import (
	"fmt"
	"slices"
	"strings"

	"backslide/lab"
)

const fewCandidates = 3 // up to which a page shows their groups open

// shortPart is the top of a page: how many lamps are lit, whether copies of the base can
// be told apart, and what groups of steps come to.
type shortPart struct {
	Tiles  []tile
	Held   string // ambers that doubts keep from being red
	Groups []candidateGroups
	Closed bool
}

// tile is one large figure with its meaning. Mark and Word tell its class without colour.
type tile struct{ Class, Figure, Mark, Word, Text string }

// candidateGroups is a matrix: groups of steps by numbers of clients, or by candidates.
type candidateGroups struct {
	Name  string // of the candidate; empty: of all
	Heads []string
	Rows  []groupRow
}

type groupRow struct {
	Group string
	Cells []groupCell
}

// groupCell is the geometric mean of a group, and the spread of its levels.
type groupCell struct {
	None                    bool // the run has no such group
	Class, Mark, Word       string
	Ratio, Span             string
	Notes                   []int
	Levels                  int
	Min, Max, Average, Half string // Half: the median
}

func (b *builder) short() shortPart {
	out := shortPart{Closed: len(b.candidates) > fewCandidates}
	if b.lamped() {
		n := b.lit()
		out.Tiles = append(out.Tiles,
			tile{"red", fmt.Sprint(n.red), "▼▼ ▲▲", "red", fmt.Sprintf("of %s; at most %s of such reports have even one false red", count(b.Lamps.Tests, "test"), share(b.Lamps.Level))},
			tile{"amber", fmt.Sprint(n.amber), "▼ ▲", "amber", few(b.Lamps.FalseAmbers) + " false ones are expected if nothing differs"},
		)
		out.Held = heldText(n.held)
	}
	if a := b.AA; a != nil {
		t := tile{"calm", fmt.Sprintf("%d of %d", a.Alarms, a.Tests), "✓", "A/A alarms", strings.ReplaceAll(sentenceCase(b.copiesText()), " %", "\u00a0%")}
		switch {
		case a.Held:
			t.Class, t.Mark = "held", "✗"
		case a.Tests == 0:
			t.Class, t.Figure, t.Mark = "open", none, "?"
		}
		out.Tiles = append(out.Tiles, t)
	}
	for _, c := range b.candidates {
		if b.monitor(c) || b.oneStep() && len(b.clients) == 1 {
			continue // its tile says what it is for; one level is no group
		}
		if g, ok := b.candidateGroups(c); ok {
			out.Groups = append(out.Groups, g)
		}
	}
	if len(b.clients) == 1 && len(out.Groups) > 1 && len(out.Groups) <= mostColumns {
		out.Groups = []candidateGroups{sideBySide(out.Groups)}
	}
	return out
}

// sideBySide makes one table of those that have a single column each: a column per
// candidate.
func sideBySide(tables []candidateGroups) candidateGroups {
	var out candidateGroups
	row := map[string]int{}
	for _, t := range tables {
		for _, r := range t.Rows {
			if _, ok := row[r.Group]; !ok {
				row[r.Group] = len(out.Rows)
				out.Rows = append(out.Rows, groupRow{Group: r.Group})
			}
		}
	}
	for _, t := range tables {
		out.Heads = append(out.Heads, t.Name)
		for i := range out.Rows {
			out.Rows[i].Cells = append(out.Rows[i].Cells, groupCell{None: true})
		}
		for _, r := range t.Rows {
			out.Rows[row[r.Group]].Cells[len(out.Heads)-1] = r.Cells[0]
		}
	}
	return out
}

func (b *builder) candidateGroups(candidate lab.Variant) (candidateGroups, bool) {
	out := candidateGroups{Name: b.name(candidate)}
	type place struct {
		group   lab.Group
		clients int
	}
	at := map[place]*lab.GroupSummary{}
	var groups []lab.Group
	clients := slices.Clone(b.clients)
	for i := range b.Summary.Groups {
		g := &b.Summary.Groups[i]
		if g.Candidate != candidate || len(g.Test.Blocks) == 0 {
			continue
		}
		at[place{g.Group, g.Clients}] = g
		if !slices.Contains(groups, g.Group) {
			groups = append(groups, g.Group)
		}
		if g.Clients == 0 && clients[len(clients)-1] != 0 {
			clients = append(clients, 0) // over all of them, last
		}
	}
	for _, n := range clients {
		if n == 0 {
			out.Heads = append(out.Heads, "all clients")
			continue
		}
		out.Heads = append(out.Heads, count(n, "client"))
	}
	for _, g := range groups {
		r := groupRow{Group: clean(string(g))}
		for _, n := range clients {
			r.Cells = append(r.Cells, b.groupCell(at[place{g, n}]))
		}
		out.Rows = append(out.Rows, r)
	}
	return out, len(out.Rows) > 0
}

func (b *builder) groupCell(g *lab.GroupSummary) groupCell {
	if g == nil {
		return groupCell{None: true}
	}
	t := &g.Test
	c := groupCell{
		Class: stateOf(t).class(), Mark: lampMark(t), Word: lampWord(t), Ratio: ratio(t.LogRatio), Notes: b.notes.add(unsaid(t)...),
		Levels: g.Levels, Min: three(g.Min), Max: three(g.Max), Average: three(g.Average), Half: three(g.Median),
	}
	if finite(t.Lo) && finite(t.Hi) {
		c.Span = ratioSpan(t.Lo, t.Hi)
	}
	if t.Verdict != lab.Inconclusive { // what is not known has no colour
		c.Class += " " + heat(t)
	}
	return c
}

// eventPart is an event as the page shows it.
type eventPart struct{ Place, Text string }

func (v *view) eventParts() []eventPart {
	var out []eventPart
	for _, e := range v.Summary.Events {
		out = append(out, eventPart{strings.TrimSuffix(v.eventPlace(e), ": "), clean(e.Text)})
	}
	return out
}
