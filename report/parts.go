package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"backslide/lab"
)

const manyRows = 1000 // from here on, long tables of a page are closed until they are opened

// builder makes the parts of a page that share rows' ids and footnotes.
type builder struct {
	*view
	notes *footnotes
	axis  axis
	rows  map[pairing]string // ids of the rows of the level table
}

// levelTable has one row per comparison: the part that is sorted and filtered.
type levelTable struct {
	What       string // what rows begin with: the step, or of a run of one step the candidate
	Many       bool   // more than one candidate, so that rows name theirs beside the step
	Candidates []string
	Groups     []string
	Verdicts   []string
	Width      int
	Height     int
	Ticks      []tick
	Band       [2]string
	Middle     string
	Unit       string
	Total      int       // of rows
	First      levelRows // that the page shows at first
	Rest       levelRows // of a large page: compressed in it
}

type levelRows struct {
	Many bool
	Rows []levelRow
}

// firstRows is how many comparisons a large page shows before somebody asks for more.
const firstRows = 300

type levelRow struct {
	ID        string
	Candidate string
	Step      string
	Group     string
	Clients   int
	Base      string
	Value     string
	Change    string // in percent
	Sort      string // the log-ratio
	Span      string // its interval, in percent
	Plot      *plot
	State     string // class
	Mark      string
	Word      string
	See       string // smallest difference that could be seen
	SeeSort   string
	Blocks    int
	Notes     []int
}

func (b *builder) levelTable() levelTable {
	t := levelTable{
		What: "step", Many: len(b.candidates) > 1, Width: plotWidth, Height: plotHeight,
		Ticks: b.axis.Ticks(), Band: b.axis.Band(), Middle: b.axis.Middle(), Unit: scaleOf(b.metric).unit,
	}
	if b.oneStep() {
		t.What, t.Many = "candidate", false
	}
	for _, g := range b.groups {
		t.Groups = append(t.Groups, clean(string(g.name)))
	}
	var rows []levelRow
	groupOf := map[lab.Step]string{}
	for _, g := range b.groups {
		for _, s := range g.steps {
			groupOf[s] = clean(string(g.name))
		}
	}
	for _, c := range b.candidates {
		t.Candidates = append(t.Candidates, b.name(c))
		for _, e := range b.entries(c) {
			id := fmt.Sprintf("c%d", len(rows))
			b.rows[e.pairing] = id
			shown, _ := b.shownEntry(c, e.level)
			r := b.levelRow(shown, id)
			r.Group = groupOf[e.level.Step]
			if b.oneStep() {
				r.Step = r.Candidate
			}
			for _, word := range strings.Split(r.Word, ", ") { // regressed, red
				if !slices.Contains(t.Verdicts, word) {
					t.Verdicts = append(t.Verdicts, word)
				}
			}
			rows = append(rows, r)
		}
	}
	t.Total, t.First.Many, t.Rest.Many = len(rows), t.Many, t.Many
	t.First.Rows = rows
	if len(rows) > manyRows {
		t.First.Rows, t.Rest.Rows = rows[:firstRows], rows[firstRows:]
	}
	return t
}

func (b *builder) levelRow(e entry, id string) levelRow {
	r := levelRow{
		ID: id, Candidate: b.name(e.candidate), Step: b.shownStep(e.level.Step), Clients: e.level.Clients,
		Change: none, See: none,
		State: e.state.class(), Mark: e.mark(), Word: e.word(), Notes: b.notes.add(e.notes()...),
	}
	if e.state == broken || e.state == notRun {
		return r
	}
	sc, c := scaleOf(e.metric), e.comp
	r.Base, r.Value = grouped(c.BaseValue*sc.factor), grouped(c.CandidateValue*sc.factor)
	if e.metric != b.metric {
		r.Value += " " + sc.unit
	}
	r.Change, r.Blocks = percent(c.LogRatio), len(c.Blocks)
	if finite(c.Lo) && finite(c.Hi) {
		r.Span = percentSpan(c.Lo, c.Hi)
	}
	r.Sort = csvNumber(round(c.LogRatio))
	if finite(c.MDE) && c.MDE > 0 {
		r.See, r.SeeSort = size(c.MDE), csvNumber(round(c.MDE))
	}
	p := b.axis.plot(c)
	r.Plot = &p
	return r
}

// class returns the CSS class of a state.
func (s state) class() string {
	switch s {
	case smallWorse:
		return "small-worse"
	case smallBetter:
		return "small-better"
	case notRun:
		return "not-run"
	}
	return string(s)
}

// candidatePart is what the page says of one candidate, or of all together, at the top.
type candidatePart struct {
	ID       string
	Name     string // empty: of all together
	Sentence string
	Worst    []link // the largest regressions
	More     int    // regressions beyond those
	Counts   []countPart
	Averages []string // relative, per group
}

type link struct{ ID, Mark, Text, Amount, Span string }

type countPart struct {
	State, Mark, Word string
	N                 int
}

const worstShown = 5 // regressions named at the top, per candidate

func (b *builder) candidateParts() []candidatePart {
	var out []candidatePart
	for i, c := range b.candidates {
		p := candidatePart{ID: fmt.Sprintf("v%d", i), Name: b.name(c), Sentence: b.sentence(c), Counts: b.tally(c).parts()}
		p.Worst, p.More = b.worst(b.told(c), func(e entry) string { return b.at(e.level) })
		for _, g := range b.groups {
			if g.name != lab.Paced {
				p.Averages = append(p.Averages, b.average(c, g))
			}
		}
		out = append(out, p)
	}
	return out
}

// together says of all candidates of a run of one step what became of them.
func (b *builder) together() candidatePart {
	p := candidatePart{Sentence: b.view.together(), Counts: b.tallyAll().parts()}
	var all []entry
	for _, c := range b.candidates {
		all = append(all, b.told(c)...)
	}
	p.Worst, p.More = b.worst(all, func(e entry) string { return b.name(e.candidate) + ", " + count(e.level.Clients, "client") })
	return p
}

// parts lists the states of a tally.
func (t tally) parts() []countPart {
	var out []countPart
	for _, s := range []state{regressed, improved, equivalent, smallWorse, smallBetter, inconclusive, broken, notRun} {
		n := t.by[s] - t.red[s]
		if t.red[s] > 0 {
			out = append(out, countPart{s.class() + " lit", s.mark() + s.mark(), s.word() + ", red", t.red[s]})
		}
		if n > 0 {
			word := s.word()
			if s == smallWorse || s == smallBetter {
				word = string(s)
			}
			out = append(out, countPart{s.class(), s.mark(), word, n})
		}
	}
	return out
}

// worst returns links to the largest regressions of entries, and how many more there are;
// at says where one is.
func (b *builder) worst(entries []entry, at func(entry) string) ([]link, int) {
	var all []entry
	for _, e := range entries {
		if e.state == regressed {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(x, y entry) int {
		if x.red() != y.red() { // red ones first
			if x.red() {
				return -1
			}
			return 1
		}
		return cmp.Compare(x.comp.LogRatio, y.comp.LogRatio)
	})
	var out []link
	for _, e := range all[:min(len(all), worstShown)] {
		out = append(out, link{b.rows[e.pairing], e.mark(), at(e), percent(e.comp.LogRatio), percentSpan(e.comp.Lo, e.comp.Hi)})
	}
	return out, len(all) - len(out)
}

// average returns the arithmetic mean of a group's ratios.
func (b *builder) average(candidate lab.Variant, g group) string {
	sum, n := 0.0, 0
	for _, s := range g.steps {
		for _, clients := range b.clients {
			e, ok := b.entry(candidate, lab.Level{Step: s, Clients: clients}, b.metric)
			if ok && e.state != broken && e.state != notRun && finite(e.comp.LogRatio) {
				sum += math.Exp(e.comp.LogRatio)
				n++
			}
		}
	}
	if n == 0 {
		return none
	}
	return fmt.Sprintf("%.3f", sum/float64(n))
}

// grouped writes an amount with narrow spaces between thousands.
func grouped(v float64) string {
	s := amount(v)
	if strings.ContainsAny(s, ".<") || len(s) <= 4 {
		return s
	}
	var b strings.Builder
	for i, d := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(d)
	}
	return b.String()
}
