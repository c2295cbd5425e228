package report

import (
	"io"
	"strings"

	"backslide/lab"
)

// Markdown writes a summary as GitHub's Markdown: the sections of Text, tables as tables.
// Options.Width and Color do not matter.
func Markdown(w io.Writer, s lab.Summary, o Options) error {
	o, err := o.resolve()
	if err != nil {
		return err
	}
	v := newView(s, o.Metric)
	v.decimals = o.decimals()
	return writeMarkdown(w, v.sections(o.View, true))
}

// writeMarkdown writes sections, of which the first begins with the title.
func writeMarkdown(w io.Writer, sections []section) error {
	p := &printer{w: w}
	for i, sec := range sections {
		if sec.table == nil && len(sec.list) == 0 && len(sec.intro) == 0 {
			continue
		}
		if sec.title != "" {
			p.printf("## %s\n\n", markdown(sec.title))
		}
		for j, t := range sec.intro {
			if i == 0 && j == 0 {
				p.printf("# %s\n\n", markdown(t))
				continue
			}
			p.printf("%s\n\n", markdown(t))
		}
		if sec.table != nil {
			sec.table.markdown(p)
		}
		for _, t := range sec.list {
			p.printf("- %s\n", strings.ReplaceAll(markdown(strings.TrimSpace(t)), "\n", "<br>"))
		}
		if len(sec.list) > 0 {
			p.line("")
		}
	}
	return p.err
}

func (t table) markdown(p *printer) {
	heads := make([]string, len(t.head))
	rule := make([]string, len(t.head))
	for i, h := range t.head {
		heads[i], rule[i] = markdown(strings.TrimSpace(strings.ReplaceAll(h, "\n", " "))), "---:"
		if i < t.fixed {
			rule[i] = ":---"
		}
	}
	p.printf("| %s |\n|%s|\n", strings.Join(heads, " | "), strings.Join(rule, "|"))
	for _, r := range t.rows {
		var cells []string
		for _, c := range r.cells {
			cells = append(cells, markdown(joined(c.parts)))
		}
		if r.cells == nil {
			cells = append([]string{"**" + markdown(r.heading) + "**"}, make([]string, len(t.head)-1)...)
		}
		p.printf("| %s |\n", strings.Join(cells, " | "))
	}
	p.line("")
}

// markdown escapes what would be markup or HTML.
func markdown(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch r {
		case '<':
			b.WriteString("&lt;")
			continue
		case '&':
			b.WriteString("&amp;")
			continue
		case '\\', '`', '*', '_', '|', '~':
			b.WriteByte('\\')
		case ']':
			if next := s[i+1:]; next != "" && strings.IndexByte("([:", next[0]) >= 0 {
				b.WriteByte('\\') // or it would be a link
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}
