package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"backslide/lab"
)

// Why is an explanation as a page shows it: with the drawing of its stacks.
type Why struct {
	lab.Explanation
	Flame []byte // a differential flame graph as one svg element; nil: none. Ids in it must be its own within the page
}

// whyPart is one explanation on a page.
type whyPart struct {
	ID       string
	Title    string
	State    string // class
	Lead     string
	Causes   []causePart
	Rest     string
	Bars     []budgetBar
	Budget   []amountRow
	Tables   []amountTable
	Flame    template.HTML
	Plans    []planPart
	Same     string
	Settings []settingPart
	More     string // settings beyond those
	Cost     []string
	Doubts   []string
	Caveat   string
}

type causePart struct {
	Share    string
	Width    int // of its bar, percent
	Against  bool
	What     string
	Amount   string
	Evidence []string
}

// budgetBar is one side's time, its parts end to end.
type budgetBar struct {
	Name  string
	Parts []barPart
}

type barPart struct {
	Class    string
	X, Width string
	Title    string
}

type amountTable struct {
	Title  string
	Shares bool
	Counts string // what is counted, where it is said how often and how long in all
	Rows   []amountRow
	More   string
	Open   bool
}

type amountRow struct {
	Swatch     string // class of its colour in the bars
	Name, Unit string
	Base       string
	Candidate  string
	Diff, Span string
	State      string
	Mark, Word string
	Share      string
	Note       string
	Tally      tallyText
}

type planPart struct {
	Statement string
	Changes   []string
	Rows      string
	Flips     string
	Sides     []planSide
}

type planSide struct {
	Name  string
	Lines []planLine
}

type planLine struct {
	Text    string
	Changed bool
}

type settingPart struct {
	Name, Base, Candidate, Known string
	Asked                        string
}

// whyParts arranges explanations for a page.
func whyParts(whys []Why) []whyPart {
	var out []whyPart
	for i, w := range whys {
		out = append(out, newWhyPart(w, fmt.Sprintf("why%d", i)))
	}
	return out
}

func newWhyPart(w Why, id string) whyPart {
	a := newAnswer(w.Explanation)
	p := whyPart{
		ID: id, Title: "Why: " + a.title(), State: stateOf(&w.Comparison).class(), Lead: clean(a.Headline) + ".",
		Doubts: a.doubts(), Caveat: a.caveat(),
	}
	for _, c := range a.Causes {
		x := causePart{
			Share: a.share(c.Amount), Width: int(math.Round(100 * min(1, max(0, c.Amount.Share)))), Against: c.Amount.Share < 0,
			What: clean(c.What), Amount: a.difference(c.Amount),
		}
		for _, e := range c.Evidence {
			x.Evidence = append(x.Evidence, clean(e))
		}
		p.Causes = append(p.Causes, x)
	}
	p.Rest, _ = a.rest()
	p.Bars = a.bars()
	for i, c := range a.Budget {
		r := a.row(c)
		if i > 0 {
			r.Swatch = swatch(i)
		}
		p.Budget = append(p.Budget, r)
	}
	for _, l := range a.lists() {
		if len(l.of) > 0 {
			p.Tables = append(p.Tables, a.amountTable(l))
		}
	}
	if len(w.Flame) > 0 {
		drawn, err := flame(w.Flame)
		if err != nil {
			p.Doubts = append(p.Doubts, clean(err.Error()))
		}
		p.Flame = drawn
	}
	p.planParts(a)
	for _, s := range a.Settings[:min(len(a.Settings), mostSettings)] {
		p.Settings = append(p.Settings, settingPart{clean(s.Name), clean(s.Base), clean(s.Candidate), clean(s.Known), askedText(s)})
	}
	if n := len(a.Settings) - mostSettings; n > 0 {
		p.More = fmt.Sprintf("and %d more", n)
	}
	for _, c := range a.Cost {
		p.Cost = append(p.Cost, a.costText(c))
	}
	return p
}

func (p *whyPart) planParts(a *answer) {
	same := 0
	for _, c := range a.Plans {
		if len(c.Changes) == 0 && len(c.Flips) == 0 {
			same++
			continue
		}
		x := planPart{Statement: clean(c.Statement), Rows: rowsText(c)}
		for _, s := range c.Changes {
			x.Changes = append(x.Changes, clean(s))
		}
		if len(c.Flips) > 0 {
			x.Flips = "flips between restarts: " + clean(strings.Join(c.Flips, ", "))
		}
		x.Sides = []planSide{{"base", planLines(c.Base, c.Candidate)}, {"candidate", planLines(c.Candidate, c.Base)}}
		p.Plans = append(p.Plans, x)
	}
	if same > 0 {
		p.Same = sameText(same)
	}
}

// planLines returns the lines of a tree; those that the other tree does not have are marked.
func planLines(tree, other string) []planLine {
	has := map[string]int{}
	for _, l := range strings.Split(other, "\n") {
		has[strings.TrimSpace(l)]++
	}
	var out []planLine
	for _, l := range strings.Split(strings.TrimRight(tree, "\n"), "\n") {
		at := strings.TrimSpace(l)
		has[at]--
		out = append(out, planLine{Text: strings.TrimRight(clean(l), " "), Changed: has[at] < 0})
	}
	return out
}

func (a *answer) amountTable(l amountList) amountTable {
	t := amountTable{Title: l.title, Shares: l.shares && shared(l.of), Open: l.open}
	if l.tallied() {
		t.Counts = l.counts()
	}
	unit := oneUnit(l.of)
	if unit != "" {
		u, _ := unitOf(unit)
		t.Title += ", " + u
	}
	for _, c := range l.of[:min(len(l.of), l.most)] {
		r := a.row(c)
		if unit != "" {
			r.Unit = ""
		}
		if !l.judged {
			r.State, r.Mark, r.Word = "", "", ""
		}
		t.Rows = append(t.Rows, r)
	}
	if n := len(l.of) - l.most; n > 0 {
		t.More = fmt.Sprintf("and %d more", n)
	}
	return t
}

func (a *answer) row(c lab.Component) amountRow {
	u, f := unitOf(c.Unit)
	r := amountRow{
		Name: clean(c.Name), Unit: u, Base: amount(f * c.Base), Candidate: amount(f * c.Candidate), Diff: plus(f * c.Diff), Span: unitSpan(c),
		State: costState(c).class(), Mark: costMark(c), Share: a.share(c), Note: clean(c.Note),
		Tally: tallyOf(c),
	}
	switch costState(c) {
	case regressed:
		r.Word = "more"
	case improved:
		r.Word = "less"
	}
	return r
}

// Sizes of the bars of a time budget, in the drawing's own units.
const (
	barsWidth = 1000.0
	swatches  = 8 // colours, after which they repeat
)

func swatch(i int) string { return fmt.Sprintf("p%d", (i-1)%swatches) }

// bars draws the time of both sides to one scale. A negative part takes no room.
func (a *answer) bars() []budgetBar {
	if len(a.Budget) < 2 {
		return nil
	}
	u, f := unitOf(a.Budget[0].Unit)
	sides := []struct {
		name string
		of   func(lab.Component) float64
	}{
		{a.base, func(c lab.Component) float64 { return c.Base }},
		{a.candidate, func(c lab.Component) float64 { return c.Candidate }},
	}
	longest := 0.0
	for _, s := range sides {
		sum := 0.0
		for _, c := range a.Budget[1:] {
			sum += max(0, s.of(c))
		}
		longest = max(longest, sum)
	}
	if !(longest > 0) || !finite(longest) {
		return nil
	}
	var out []budgetBar
	for _, s := range sides {
		b := budgetBar{Name: s.name}
		x := 0.0
		for k, c := range a.Budget[1:] {
			v := max(0, s.of(c))
			w := v / longest * barsWidth
			if w < 0.5 {
				continue
			}
			p := barPart{Class: swatch(k + 1), X: place(x), Width: place(w), Title: fmt.Sprintf("%s, %s: %s %s", s.name, clean(c.Name), amount(f*v), u)}
			b.Parts = append(b.Parts, p)
			x += w
		}
		out = append(out, b)
	}
	return out
}

func place(x float64) string { return fmt.Sprintf("%.1f", x) }
