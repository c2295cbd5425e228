package report

import (
	"io"
	"strings"

	"backslide/lab"
)

// Text writes a summary for a terminal. Tables wider than Options.Width are first said
// with marks instead of words and then wrapped by numbers of clients.
func Text(w io.Writer, s lab.Summary, o Options) error {
	o, err := o.resolve()
	if err != nil {
		return err
	}
	v := newView(s, o.Metric)
	v.decimals = o.decimals()
	sections := v.sections(o.View, true)
	if o.Width > 0 && tooWide(sections, o.Width) {
		sections = v.sections(o.View, false)
	}
	return writeText(w, sections, o)
}

// writeText writes sections for a terminal.
func writeText(w io.Writer, sections []section, o Options) error {
	p := &printer{w: w}
	first := true
	for _, sec := range sections {
		if sec.table == nil && len(sec.list) == 0 && len(sec.intro) == 0 {
			continue
		}
		if !first {
			p.line("")
		}
		first = false
		sec.print(p, o)
	}
	return p.err
}

// tooWide reports whether a table with verdicts in words would have to be wrapped.
func tooWide(sections []section, width int) bool {
	for _, s := range sections {
		if s.worded && s.table.widest() > width {
			return true
		}
	}
	return false
}

func (s section) print(p *printer, o Options) {
	if s.title != "" {
		for _, l := range fold(s.title, o.Width, "  ") {
			if o.Color {
				l = "\x1b[1m" + l + "\x1b[0m"
			}
			p.line(l)
		}
	}
	for _, t := range s.intro {
		for _, l := range fold(t, o.Width, "  ") {
			p.line(l)
		}
	}
	if s.table != nil {
		s.table.print(p, o.Width, o.Color)
	}
	for _, t := range s.list {
		for i, l := range strings.Split(t, "\n") {
			indent := "  "
			if i > 0 {
				indent = "      "
			}
			for _, f := range fold(indent+l, o.Width, indent+"    ") {
				p.line(f)
			}
		}
	}
}

// fold breaks text at blanks so that lines fit into width, if words do; lines after the
// first are indented.
func fold(text string, width int, indent string) []string {
	if width <= 0 || columns(text) <= width {
		return []string{text}
	}
	lead := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var out []string
	line := lead
	empty := true
	for _, word := range units(text) {
		switch {
		case empty:
			line += word
		case columns(line)+1+columns(word) > width:
			out = append(out, line)
			line = indent + word
		default:
			line += " " + word
		}
		empty = false
	}
	return append(out, line)
}

// units splits text at those blanks at which a line may break: not before a percent sign
// and not within brackets.
func units(text string) []string {
	var out []string
	open := false
	for _, word := range strings.Fields(text) {
		if n := len(out); n > 0 && (open || strings.HasPrefix(word, "%")) {
			out[n-1] += " " + word
		} else {
			out = append(out, word)
		}
		if i, j := strings.LastIndexByte(word, '['), strings.LastIndexByte(word, ']'); i != j {
			open = i > j
		}
	}
	return out
}
