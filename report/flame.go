package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"
)

const (
	flameBytes = 8 << 20 // of a drawing at most
	flameDepth = 16      // of elements within each other; frames are not nested
)

// flameParts are the elements that a flame graph is drawn with, and their attributes.
// Nothing of these can run, load or link.
func flameParts() map[string][]string {
	look := []string{"x", "y", "width", "height", "fill", "stroke", "stroke-width", "stroke-dasharray", "opacity"}
	return map[string][]string{
		"svg":     {"viewBox", "width", "height", "role", "aria-label", "font-family", "font-size"},
		"defs":    nil,
		"pattern": {"id", "width", "height", "patternUnits", "patternTransform"},
		"g":       nil,
		"title":   nil,
		"rect":    look,
		"text":    append([]string{"text-anchor", "font-weight"}, look...),
	}
}

// flame makes a drawing safe to stand in a page, whoever made it: it is read as XML and
// written anew from the few elements and attributes that a flame graph needs. An element
// that is none of these is an error.
func flame(svg []byte) (template.HTML, error) {
	if len(svg) > flameBytes {
		return "", fmt.Errorf("the flame graph has %d bytes, over the limit of %d", len(svg), flameBytes)
	}
	f := flameWriter{parts: flameParts(), paint: regexp.MustCompile(`^(none|#[0-9a-fA-F]{3,8}|url\(#[A-Za-z0-9-]+\))$`)}
	dec := xml.NewDecoder(bytes.NewReader(svg))
	for {
		tok, err := dec.Token() // which also holds ends against beginnings
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("read the flame graph: %w", err)
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if err := f.start(t); err != nil {
				return "", err
			}
		case xml.EndElement:
			f.depth--
			f.b.WriteString("</" + t.Name.Local + ">")
		case xml.CharData:
			if f.depth > 0 {
				f.text(string(t))
			}
		}
	}
	if f.drawings != 1 {
		return "", fmt.Errorf("the flame graph is %d drawings, want one", f.drawings)
	}
	return template.HTML(f.b.String()), nil
}

type flameWriter struct {
	parts    map[string][]string
	paint    *regexp.Regexp // what fill and stroke may be
	b        strings.Builder
	depth    int
	drawings int
}

func (f *flameWriter) start(t xml.StartElement) error {
	name := t.Name.Local
	allowed, ok := f.parts[name]
	if !ok || f.depth >= flameDepth || (name == "svg") != (f.depth == 0) {
		return fmt.Errorf("the flame graph has an element %q where none is expected", clean(name))
	}
	if f.depth == 0 {
		f.drawings++
	}
	f.depth++
	f.b.WriteString("<" + name)
	for _, a := range t.Attr {
		n := a.Name.Local
		if a.Name.Space != "" || !slices.Contains(allowed, n) || (n == "fill" || n == "stroke") && !f.paint.MatchString(a.Value) {
			continue
		}
		fmt.Fprintf(&f.b, ` %s="%s"`, n, template.HTMLEscapeString(clean(a.Value)))
	}
	f.b.WriteString(">")
	return nil
}

// text keeps the lines of tooltips.
func (f *flameWriter) text(s string) {
	for i, l := range strings.Split(s, "\n") {
		if i > 0 {
			f.b.WriteByte('\n')
		}
		f.b.WriteString(template.HTMLEscapeString(clean(l)))
	}
}
