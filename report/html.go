package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"

	"backslide/lab"
)

//go:embed html
var assets embed.FS

// HTML writes one self-contained page: no network, no file beside it. It works without
// its script, which only sorts, filters and saves figures; the content security policy
// allows that script by its digest and nothing else, so that a name from a user or a
// server that got through the escaping would still not run. Explanations of single
// verdicts stand behind the table of all.
func HTML(w io.Writer, s lab.Summary, whys ...Why) error {
	page, err := newPage(s, whys)
	if err != nil {
		return fmt.Errorf("write page of run %d: %w", s.Run.ID, err)
	}
	t, err := template.New("page.html").ParseFS(assets, "html/page.html", "html/tables.html", "html/long.html", "html/table.html", "html/diagnosis.html", "html/why.html", "html/curves.html")
	if err != nil {
		return fmt.Errorf("write page of run %d: %w", s.Run.ID, err)
	}
	if err := t.Execute(w, page); err != nil {
		return fmt.Errorf("write page of run %d: %w", s.Run.ID, err)
	}
	return nil
}

// page is what the templates draw. It holds text that is ready to show; templates only
// choose its place and escape it.
type page struct {
	Policy string
	Style  template.CSS
	Script template.JS

	Title      string
	Subtitle   string
	Large      bool   // so that the browser should lay out only what is seen
	Empty      string // said instead of everything else
	Short      shortPart
	Candidates []candidatePart
	Groups     []string // of the overview's averages
	Whole      []string // run-wide footnotes, at the top
	Caveat     string
	Lamped     bool // so that the legend tells red and amber
	Levels     levelTable
	Whys       []whyPart
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

func newPage(s lab.Summary, whys []Why) (*page, error) {
	style, err := assets.ReadFile("html/style.css")
	if err != nil {
		return nil, err
	}
	script, err := assets.ReadFile("html/script.js")
	if err != nil {
		return nil, err
	}
	v := newView(s, lab.QPS)
	p := &page{
		Policy: policy(script), Style: template.CSS(style), Script: template.JS(script),
		Title: v.title(), Subtitle: v.subtitle(), Caveat: v.caveat(),
	}
	var f footnotes
	f.add(v.Footnotes...)
	p.Whole = f.texts[:len(f.texts):len(f.texts)]
	p.Empty = v.nothing()
	for _, g := range v.groups {
		p.Groups = append(p.Groups, clean(string(g.name)))
	}
	b := builder{view: v, notes: &f, rows: map[pairing]string{}, axis: v.axis()}
	p.Levels = b.levelTable()
	p.Large = len(p.Levels.Rows) > manyRows
	p.Candidates = b.candidateParts()
	p.Short = b.short()
	p.Lamped = v.lamped()
	p.Whys = whyParts(whys)
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

// policy forbids everything but the page's own styles and its script.
func policy(script []byte) string {
	sum := sha256.Sum256(script)
	return fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-%s'",
		base64.StdEncoding.EncodeToString(sum[:]))
}
