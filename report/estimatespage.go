package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"backslide/lab"
)

// estimatePage is what the template of an import draws.
type estimatePage struct {
	head
	Subtitle string
	Lead     string // what the numbers of the heat maps are
	Standing []string
	Groups   []estimateGroup
	Summary  estimateTable
	Tables   []estimateTable // the view that was asked for, if not the groups
	Doubts   []string
	Problems []string
	Figures  figures
}

type estimateGroup struct {
	Name  string
	Heads []string
	Rows  []estimatePageRow
}

type estimatePageRow struct {
	Step  string
	Cells []estimateCell
}

type estimateCell struct{ Class, Ratio, Beside, Absolute string }

// estimateTable is a table as text has it.
type estimateTable struct {
	Title string
	Intro []string
	Heads []string
	Fixed int
	Rows  []estimateTableRow
}

type estimateTableRow struct {
	Heading string
	Columns int
	Labels  []string
	Cells   []string
}

// estimatesPage writes a self-contained page of an import: heat maps of the groups of
// steps, whose colours say sizes and no verdicts, and the tables of the view.
func estimatesPage(w io.Writer, e lab.Estimates, o Options) error {
	h, err := newHead(clean(e.Name), true)
	if err != nil {
		return err
	}
	s, view := sheetOf(e, o), o.View
	o.View = Full // the heat maps are in every view
	p := estimatePage{
		head: h, Standing: s.standing(o), Doubts: few20(e.Doubts), Problems: few20(e.Problems), Summary: pageTable(s.summarySection(e.Groups)),
	}
	if len(s.columns) > 0 {
		p.Subtitle = fmt.Sprintf("What others measured · %s · base %s", count(len(s.columns), "variant"), s.columns[s.base].name)
	}
	if e.Config != "" {
		p.Subtitle += " · config " + clean(e.Config)
	}
	if p.Groups = s.pageGroups(); len(p.Groups) > 0 {
		p.Lead = s.lead()
	}
	if p.Figures, err = estimateFigures(e); err != nil { // a figure is no number
		p.Problems = append(p.Problems, "the figures cannot be saved: "+clean(err.Error()))
	}
	for _, sec := range s.pageView(e, view) {
		p.Tables = append(p.Tables, pageTable(sec))
	}
	if err := render(w, "estimates.html", p, false); err != nil {
		return fmt.Errorf("write page of %s: %w", e.Name, err)
	}
	return nil
}

// pageView returns the tables that a view has beyond the heat maps and the summary.
func (s sheet) pageView(e lab.Estimates, view string) []section {
	switch view {
	case Steps:
		return s.stepSections()
	case Dense:
		return []section{s.denseSection(e.Dense)}
	case Concurrency:
		return s.concurrencySections()
	case Response:
		return s.responseSections()
	case Full:
		return []section{s.denseSection(e.Dense), s.absoluteSection()}
	}
	return nil
}

// lead says what the numbers of the heat maps are.
func (s sheet) lead() string {
	base := s.columns[s.base].name
	if s.metric == string(lab.QPS) {
		return fmt.Sprintf("Numbers are relative QPS: a variant's operations per second divided by those of %s, so less than 1 is slower.", base)
	}
	return fmt.Sprintf("Numbers are relative %s: a variant's divided by that of %s.", clean(s.metric), base)
}

func (s sheet) pageGroups() []estimateGroup {
	var out []estimateGroup
	for _, g := range s.groups {
		eg := estimateGroup{Name: g.name}
		for i, c := range s.columns {
			if s.isBase(i) {
				continue
			}
			head := c.name
			if c.host != "" {
				head += ", " + c.host
			}
			eg.Heads = append(eg.Heads, head)
		}
		for _, st := range g.steps {
			m, ok := st.metric(s.metric)
			if !ok {
				continue
			}
			r := estimatePageRow{Step: s.withClients(st)}
			for i := range s.columns {
				if s.isBase(i) {
					continue
				}
				c := s.ratioCell(m, i)
				r.Cells = append(r.Cells, estimateCell{
					Class: sizeClass(m.values[i].logRatio, m.key == string(lab.QPS)), Ratio: c.parts[0], Beside: c.parts[1], Absolute: m.amount(i) + " " + m.unit,
				})
			}
			eg.Rows = append(eg.Rows, r)
		}
		if len(eg.Rows) > 0 && len(eg.Heads) > 0 {
			out = append(out, eg)
		}
	}
	return out
}

// sizeClass returns the colour of a ratio by its size.
func sizeClass(logRatio float64, higherIsBetter bool) string {
	if !finite(logRatio) {
		return "none"
	}
	side := "w"
	if (logRatio > 0) == higherIsBetter {
		side = "b"
	}
	n := 0
	for _, limit := range heatLimits() {
		if math.Abs(logRatio) >= limit {
			n++
		}
	}
	if n == 0 {
		return "n0"
	}
	return side + strconv.Itoa(n)
}

// pageTable returns a table of text for the page.
func pageTable(s section) estimateTable {
	if s.table == nil {
		return estimateTable{Title: s.title, Intro: s.intro}
	}
	out := estimateTable{Title: s.title, Fixed: s.table.fixed}
	for _, text := range s.intro {
		out.Intro = append(out.Intro, onPage(text))
	}
	for _, h := range s.table.head {
		out.Heads = append(out.Heads, joined(headParts(h)))
	}
	for _, r := range s.table.rows {
		if r.cells == nil {
			out.Rows = append(out.Rows, estimateTableRow{Heading: r.heading, Columns: len(s.table.head)})
			continue
		}
		var row estimateTableRow
		for i, c := range r.cells {
			if text := joined(c.parts); i < s.table.fixed {
				row.Labels = append(row.Labels, text)
			} else {
				row.Cells = append(row.Cells, text)
			}
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// onPage words for a page what text says of another view of its own.
func onPage(text string) string {
	return strings.ReplaceAll(text, "`--view full` has", "the table of comparisons has")
}

func headParts(h string) []string {
	over, under := headLines(h)
	return []string{over, under}
}
