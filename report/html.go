package report

import (
	"fmt"
	"io"
	"slices"

	"backslide/lab"
)

// HTML writes one self-contained page: no network, no file beside it. It works without
// its script, which sorts, filters, saves figures and opens what a large page keeps
// compressed; the content security policy
// allows that script by its digest and nothing else, so that a name from a user or a
// server that got through the escaping would still not run. Explanations of single
// verdicts, and how levels went over earlier runs, stand behind the table of all. Of the
// options, only Whys and Past matter.
func HTML(w io.Writer, s lab.Summary, o Options) error {
	page, err := newPage(s, o)
	if err != nil {
		return fmt.Errorf("write page of run %d: %w", s.Run.ID, err)
	}
	if err := render(w, "page.html", page, page.Large); err != nil {
		return fmt.Errorf("write page of run %d: %w", s.Run.ID, err)
	}
	return nil
}

// page is what the templates draw. It holds text that is ready to show; templates only
// choose its place and escape it.
type page struct {
	head
	Subtitle   string
	Large      bool            // so that the browser should lay out only what is seen
	Empty      string          // said instead of everything else
	Briefs     []candidatePart // what became of each candidate, or of all together
	Matrix     *matrix         // the only table of ratios
	Matrices   []matrix        // where there are several
	OneStep    bool            // so that the comparisons are what there is to see
	Short      shortPart
	Candidates []candidatePart
	Groups     []string // of the overview's averages
	Whole      []string // run-wide footnotes, at the top
	Caveat     string
	Lamped     bool // so that the legend tells red and amber
	Paced      bool // some levels are at a set rate, so that it tells what is shown of those
	Levels     levelTable
	Whys       []whyPart
	Past       pastPart
	Long       longPart
	Tables     []estimateTable // sums of fixed work, memory
	Curves     []curvePart
	Spreads    spreadPart
	Absolute   absoluteTable
	Costs      costTable
	Noise      noiseTable
	Failures   []failurePart
	Events     []eventPart
	Footnotes  []notePart
	Setup      setupPart
	Figures    figures
}

type notePart struct {
	Number int
	Text   string
}

type failurePart struct{ Variant, Where, Blocks, Reason string }

func newPage(s lab.Summary, o Options) (*page, error) {
	v := newView(s, lab.QPS)
	h, err := newHead(v.title(), true)
	if err != nil {
		return nil, err
	}
	p := &page{head: h, Subtitle: v.subtitle(), Caveat: v.caveat()}
	var f footnotes
	f.add(v.Footnotes...)
	p.Whole = f.texts[:len(f.texts):len(f.texts)]
	p.Empty = v.nothing()
	for _, g := range v.groups {
		if g.name != lab.Paced { // its throughput says nothing
			p.Groups = append(p.Groups, clean(string(g.name)))
		}
	}
	b := builder{view: v, notes: &f, rows: map[pairing]string{}, axis: v.axis()}
	p.Levels = b.levelTable()
	p.Large = p.Levels.Total > manyRows
	p.Candidates = b.candidateParts()
	p.Briefs, p.Matrices, p.OneStep = p.Candidates, b.matrices(), b.oneStep()
	if p.OneStep {
		p.Briefs = []candidatePart{b.together()}
	}
	if len(p.Briefs) > mostColumns { // their sentences name the largest
		for i := range p.Briefs {
			p.Briefs[i].Worst = nil
		}
	}
	if len(p.Matrices) == 1 {
		p.Matrix, p.Matrices = &p.Matrices[0], nil
	}
	p.Short = b.short()
	p.Lamped = v.lamped()
	p.Paced = slices.ContainsFunc(s.Run.Levels, func(l lab.LevelPlan) bool { return l.Open })
	p.Whys = whyParts(o.Whys)
	p.Past = newPast(o.Past)
	p.Long = v.longPart()
	for _, sec := range append(v.declaredTotals("", &f), v.allocators("", &f)...) {
		p.Tables = append(p.Tables, pageTable(sec))
	}
	for _, c := range []curvePart{v.clientCurves(), v.releaseCurves()} {
		if len(c.Pictures) > 0 {
			p.Curves = append(p.Curves, c)
		}
	}
	p.Spreads = v.spreads()
	p.Absolute = v.absoluteTable()
	p.Costs = v.costTable()
	p.Noise = v.noiseTable()
	p.Events = v.eventParts()
	p.Setup = v.setup()
	for _, x := range v.brokenCells() {
		p.Failures = append(p.Failures, failurePart{v.name(x.cell.Variant), v.at(x.cell.Level()), blockNumbers(x.blocks), cleanLines(x.reason)})
	}
	for i, t := range f.texts {
		p.Footnotes = append(p.Footnotes, notePart{i + 1, t})
	}
	p.Figures, err = newFigures(s)
	return p, err
}
