package report

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

// table is rows of cells under one line of headings, for text and Markdown.
type table struct {
	head  []string // may have two lines
	fixed int      // leading columns that are labels: left-aligned, and repeated when the table is wrapped
	rows  []row
}

// row is a line of cells, or a heading over the rows that follow.
type row struct {
	heading string
	cells   []cell
}

// cell is text whose parts stand under each other down its column.
type cell struct {
	parts []string
	state state // gives the last part its colour
}

func plain(texts ...string) []cell {
	var out []cell
	for _, t := range texts {
		out = append(out, cell{parts: []string{t}})
	}
	return out
}

// columns returns how many columns a text takes on a terminal.
func columns(s string) int { return (&runewidth.Condition{}).StringWidth(s) }

func pad(s string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-columns(s)))
	if right {
		return space + s
	}
	return s + space
}

const gap = "  " // between columns

// layout is the widths of a table's columns and of their parts.
type layout struct {
	width []int
	parts [][]int
}

func (t table) layout() layout {
	l := layout{width: make([]int, len(t.head)), parts: make([][]int, len(t.head))}
	for _, r := range t.rows {
		for i, c := range r.cells {
			for len(l.parts[i]) < len(c.parts) {
				l.parts[i] = append(l.parts[i], 0)
			}
			for j, p := range c.parts {
				l.parts[i][j] = max(l.parts[i][j], columns(p))
			}
		}
	}
	for i, h := range t.head {
		for j, w := range l.parts[i] {
			l.width[i] += w
			if j > 0 {
				l.width[i]++
			}
		}
		over, under := headLines(h)
		l.width[i] = max(l.width[i], columns(over), columns(under))
	}
	return l
}

// chunks splits the columns behind the fixed ones so that each chunk fits, if a single
// column can; the columns of a chunk are from the first up to before the second number.
func (t table) chunks(l layout, width int) [][2]int {
	if width <= 0 {
		return [][2]int{{t.fixed, len(t.head)}}
	}
	start := 0
	for _, w := range l.width[:t.fixed] {
		start += w + len(gap)
	}
	var out [][2]int
	from, used := t.fixed, start
	for i := t.fixed; i < len(t.head); i++ {
		if i > from && used+l.width[i] > width {
			out = append(out, [2]int{from, i})
			from, used = i, start
		}
		used += l.width[i] + len(gap)
	}
	return append(out, [2]int{from, len(t.head)})
}

// widest returns the widest line that the table would have unwrapped.
func (t table) widest() int {
	n := 0
	for _, w := range t.layout().width {
		n += w + len(gap)
	}
	return n - len(gap)
}

// print writes the table, wrapped to width by groups of columns.
func (t table) print(p *printer, width int, color bool) {
	l := t.layout()
	for n, c := range t.chunks(l, width) {
		if n > 0 {
			p.line("")
		}
		for _, over := range []bool{true, false} {
			head := t.join(c, func(i int) string {
				text, under := headLines(t.head[i])
				if !over {
					text = under
				}
				return pad(text, l.width[i], i >= t.fixed && len(l.parts[i]) < 2)
			})
			if !over || strings.TrimSpace(head) != "" {
				p.line(head)
			}
		}
		for _, r := range t.rows {
			if r.cells == nil {
				p.line(r.heading)
				continue
			}
			p.line(t.join(c, func(i int) string { return l.cell(i, i < t.fixed, r.cells[i], color) }))
		}
	}
}

// headLines returns the two lines of a heading, of which the upper may be empty.
func headLines(h string) (over, under string) {
	over, under, two := strings.Cut(h, "\n")
	if !two {
		return "", over
	}
	return over, under
}

func (t table) join(chunk [2]int, text func(int) string) string {
	var out []string
	for i := range t.head {
		if i < t.fixed || i >= chunk[0] && i < chunk[1] {
			out = append(out, text(i))
		}
	}
	return strings.Join(out, gap)
}

// cell lays out the parts of a cell: the first to the right, the others to the left. A
// cell with one part is a number unless it is a label.
func (l layout) cell(i int, label bool, c cell, color bool) string {
	var out []string
	used := 0
	for j, p := range c.parts {
		w := l.parts[i][j]
		if len(l.parts[i]) == 1 {
			w = l.width[i]
		}
		text := pad(p, w, j == 0 && !label)
		used += w
		if color && j == len(c.parts)-1 {
			text = paint(text, c.state)
		}
		out = append(out, text)
	}
	used += max(0, len(c.parts)-1)
	return strings.Join(out, " ") + strings.Repeat(" ", max(0, l.width[i]-used))
}

// joined returns the parts of a cell on one line, as Markdown and the page have them.
func joined(parts []string) string {
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

// paint colours text by state, for terminals.
func paint(text string, s state) string {
	code := ""
	switch s {
	case regressed:
		code = "1;31"
	case improved:
		code = "1;32"
	case smallWorse:
		code = "31"
	case smallBetter:
		code = "32"
	case inconclusive, broken:
		code = "33"
	case notRun:
		code = "2"
	default:
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
