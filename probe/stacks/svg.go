package stacks

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Width says whose CPU time the widths of a flame graph show.
type Width string

// The widths of a flame graph. Frames that the other side alone has are drawn with the
// other side's time, so that they are seen.
const (
	ByCandidate Width = "candidate" // for reading what is slow now
	ByBase      Width = "base"      // for reading what was lost or saved
)

// SVG says how a flame graph is drawn.
type SVG struct {
	Width     Width  // "": ByCandidate
	ID        string // distinguishes drawings on one page; letters and digits
	Base      string // names of the sides, in the legend
	Candidate string
	Event     string  // what was sampled
	Floor     float64 // Difference.Floor; 0: not said
}

// Sizes of the drawing, in its own units, which are pixels if it is shown unscaled.
const (
	svgWidth  = 1200.0
	rowHeight = 18.0
	legend    = 66.0
	charWidth = 6.7 // of the font at 11 px, on the wide side
	narrowest = 1.0 // frames below this width are left out
)

// Write draws the graph as one svg element without scripts or outside references. Callers
// stand above what they call. Tooltips have the numbers. All text is escaped.
func (o SVG) Write(w io.Writer, root *Flame) error {
	if o.Width == "" {
		o.Width = ByCandidate
	}
	d := &drawing{SVG: o, w: bufio.NewWriter(w), root: root}
	whole := d.widthOf(root)
	if !(whole > 0) {
		return fmt.Errorf("draw a flame graph: no CPU time to draw")
	}
	d.scale = svgWidth / whole
	d.steepest = steepest(root)
	height := legend + rowHeight*float64(d.depth(root)) + 4
	d.open(height)
	d.frame(root, 0, legend)
	d.printf("</svg>\n")
	return d.w.Flush()
}

type drawing struct {
	SVG
	w        *bufio.Writer
	root     *Flame
	scale    float64 // pixels per µs/op
	steepest float64 // the largest difference, µs/op
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(d.w, format, args...) }

// widthOf returns a frame's width in µs/op: its own part and its calls'. So a frame is as
// wide as the side's time, and wider by what only the other side has below it.
func (d *drawing) widthOf(f *Flame) float64 {
	self := f.Self.Cand
	if d.Width == ByBase {
		self = f.Self.Base
	}
	if f.Gone() {
		self = f.Self.Base
	} else if f.New() {
		self = f.Self.Cand
	}
	for _, c := range f.Calls {
		self += d.widthOf(c)
	}
	return self
}

// depth returns how many rows are drawn.
func (d *drawing) depth(f *Flame) int {
	below := 0
	for _, c := range f.Calls {
		if d.widthOf(c)*d.scale >= narrowest {
			below = max(below, d.depth(c))
		}
	}
	return 1 + below
}

// steepest returns the largest difference that is not noise.
func steepest(f *Flame) float64 {
	most := 0.0
	if !f.Total.Noise() {
		most = math.Abs(f.Total.Diff())
	}
	for _, c := range f.Calls {
		most = max(most, steepest(c))
	}
	return most
}

func (d *drawing) open(height float64) {
	id := "flame" + d.ID
	name := "Differential flame graph"
	if d.Base != "" || d.Candidate != "" {
		name += ": " + d.Candidate + " against " + d.Base
	}
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="100%%" role="img" aria-label="%s" font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="11">`+"\n",
		px(svgWidth), px(height), escape(name))
	d.printf(`<defs><pattern id="%s-gone" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" fill="#fff"/><rect width="2" height="6" fill="#9ec3e6"/></pattern>`, id)
	d.printf(`<pattern id="%s-lost" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" fill="#fff"/><rect width="2" height="6" fill="#d8d8d8"/></pattern></defs>`+"\n", id)
	d.printf(`<rect width="%s" height="%s" fill="#fff"/>`+"\n", px(svgWidth), px(height))
	d.legend(id)
}

// legend says how to read the drawing.
func (d *drawing) legend(id string) {
	t := d.root.Total
	sampled := ""
	if d.Event != "" {
		sampled = ", sampled by " + d.Event
	}
	d.text(4, 14, fmt.Sprintf("CPU time per operation%s: %s %s µs, %s %s µs, difference %s µs", sampled, named(d.Base, "base"), figure(t.Base), named(d.Candidate, "candidate"), figure(t.Cand), signed(t.Diff())))
	side := "candidate's"
	if d.Width == ByBase {
		side = "base's"
	}
	floor := ""
	if d.Floor > 0 {
		floor = fmt.Sprintf(", at least %s µs", figure(d.Floor))
	}
	d.text(4, 30, fmt.Sprintf("Width: the %s time and what only the other side has, %s µs in all. Colour: the difference with all that is called, beyond %d standard errors%s.", side, figure(svgWidth/d.scale), NoiseZ, floor))
	x := 4.0
	for _, k := range []struct{ fill, edge, label string }{
		{less(1), edgeLess, "less"}, {less(0.15), edgeLess, "a little less"}, {noise, edgeNoise, "within sampling noise"}, {more(0.15), edgeMore, "a little more"}, {more(1), edgeMore, "more"},
	} {
		x = d.key(x, `fill="`+k.fill+`" stroke="`+k.edge+`"`, k.label)
	}
	x = d.key(x, `fill="url(#`+id+`-gone)" stroke="`+edgeLess+`" stroke-dasharray="3 2"`, "gone: the base's only")
	d.key(x, `fill="`+more(0.5)+`" stroke="#7a3b00" stroke-width="2"`, "new: the candidate's only")
}

func named(name, side string) string {
	if name == "" {
		return side
	}
	return name + " (" + side + ")"
}

// key draws one entry of the legend and returns where the next begins.
func (d *drawing) key(x float64, style, label string) float64 {
	d.printf(`<rect x="%s" y="40" width="16" height="12" %s/>`, px(x), style)
	d.text(x+21, 50, label)
	return x + 21 + charWidth*float64(utf8.RuneCountInString(label)+3)
}

func (d *drawing) text(x, y float64, s string) {
	d.printf(`<text x="%s" y="%s">%s</text>`+"\n", px(x), px(y), escape(s))
}

// frame draws a frame and what it calls, side by side below it.
func (d *drawing) frame(f *Flame, x, y float64) {
	width := d.widthOf(f) * d.scale
	if width < narrowest {
		return
	}
	d.printf(`<g><title>%s</title><rect x="%s" y="%s" width="%s" height="%s" %s/>`, escape(d.tooltip(f)), px(x), px(y), px(max(width-0.5, 0.3)), px(rowHeight-1), d.style(f))
	if s := label(f, width); s != "" {
		d.printf(`<text x="%s" y="%s">%s</text>`, px(x+3), px(y+12.5), escape(s))
	}
	d.printf("</g>\n")
	for _, c := range f.Calls {
		d.frame(c, x, y+rowHeight)
		x += d.widthOf(c) * d.scale
	}
}

// label returns what fits into a frame: its name, what it is, its difference.
func label(f *Flame, width float64) string {
	room := int((width - 6) / charWidth)
	if room < 3 {
		return ""
	}
	what := ""
	switch {
	case f.Gone():
		what = " (gone)"
	case f.New():
		what = " (new)"
	}
	if f.Spin {
		what += " (waiting)"
	}
	diff := ""
	if !f.Total.Noise() {
		diff = " " + signed(f.Total.Diff())
	}
	for _, s := range []string{f.Name + what + diff, f.Name + diff, f.Name} {
		if utf8.RuneCountInString(s) <= room {
			return s
		}
	}
	r := []rune(f.Name)
	return string(r[:min(len(r), room-1)]) + "…"
}

func (d *drawing) tooltip(f *Flame) string {
	var b strings.Builder
	b.WriteString(f.Name)
	if f.Kernel {
		b.WriteString(" (kernel)")
	}
	if f.Spin {
		b.WriteString(" (waiting that burns CPU)")
	}
	b.WriteByte('\n')
	if f.Full != "" && f.Full != f.Name {
		fmt.Fprintf(&b, "%s\n", f.Full)
	}
	if f.DSO != "" {
		fmt.Fprintf(&b, "in %s\n", f.DSO)
	}
	for _, row := range []struct {
		what string
		d    Delta
	}{{"with all it calls", f.Total}, {"itself", f.Self}} {
		fmt.Fprintf(&b, "%s: base %s, candidate %s, difference %s", row.what, figure(row.d.Base), figure(row.d.Cand), signed(row.d.Diff()))
		if row.d.SE > 0 {
			fmt.Fprintf(&b, " ± %s", figure(row.d.SE))
		}
		b.WriteString(" µs/op")
		if row.d.Noise() {
			b.WriteString(" (within noise)")
		}
		b.WriteByte('\n')
	}
	switch {
	case f.Gone():
		b.WriteString("The candidate was never seen here.")
	case f.New():
		b.WriteString("The base was never seen here.")
	}
	return strings.TrimSpace(b.String())
}

// Colours are orange and blue, which people with any of the common colour blindnesses can
// tell apart, and light enough for black text on them.
const (
	noise     = "#ececec"
	edgeNoise = "#bdbdbd"
	edgeLess  = "#2b6ca3"
	edgeMore  = "#b35806"
)

func less(share float64) string {
	return mix([3]float64{233, 242, 250}, [3]float64{106, 166, 216}, share)
}
func more(share float64) string {
	return mix([3]float64{253, 238, 220}, [3]float64{240, 138, 36}, share)
}

func mix(from, to [3]float64, share float64) string {
	var c [3]int
	for i := range c {
		c[i] = int(math.Round(from[i] + (to[i]-from[i])*share))
	}
	return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2])
}

func (d *drawing) style(f *Flame) string {
	id := "flame" + d.ID
	diff, isNoise := f.Total.Diff(), f.Total.Noise()
	share := 0.0
	if d.steepest > 0 {
		share = math.Sqrt(math.Min(1, math.Abs(diff)/d.steepest))
	}
	switch {
	case f.Gone() && isNoise:
		return `fill="url(#` + id + `-lost)" stroke="` + edgeNoise + `" stroke-dasharray="3 2"`
	case f.Gone():
		return `fill="url(#` + id + `-gone)" stroke="` + edgeLess + `" stroke-dasharray="3 2"`
	case isNoise:
		return `fill="` + noise + `" stroke="` + edgeNoise + `" stroke-width="0.5"`
	case f.New():
		return `fill="` + more(share) + `" stroke="#7a3b00" stroke-width="1.5"`
	case diff > 0:
		return `fill="` + more(share) + `" stroke="` + edgeMore + `" stroke-width="0.5"`
	}
	return `fill="` + less(share) + `" stroke="` + edgeLess + `" stroke-width="0.5"`
}

// px writes a coordinate with at most two decimals.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

// figure writes an amount with three significant digits.
func figure(v float64) string {
	a := math.Abs(v)
	switch {
	case a == 0:
		return "0"
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a >= 0.001:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

func signed(v float64) string {
	if v > 0 {
		return "+" + figure(v)
	}
	return strings.Replace(figure(v), "-", "−", 1)
}

// escape makes text safe within SVG, in elements and attributes: it also takes out what
// XML cannot hold.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '"':
			b.WriteString("&quot;")
		case r == '\'':
			b.WriteString("&#39;")
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < 0x20 || r == 0xfffe || r == 0xffff || r == utf8.RuneError:
			b.WriteRune('�')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
