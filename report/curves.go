package report

import (
	"fmt"
	"math"
	"strings"

	"backslide/lab"
)

// Size of a curve's picture in pixels, and what its labels need.
const (
	curveWidth  = 300
	curveHeight = 150
	curveLeft   = 44
	curveRight  = 10
	curveTop    = 8
	curveBottom = 22
	curveLines  = 6 // that are told apart by colour and dashes; further ones are grey
)

// curvePart is a section of pictures, one per step, that share a legend.
type curvePart struct {
	ID, Title, About string
	Closed           bool
	Legend           []curveKey
	Pictures         []picture
}

// Fold says what is folded away.
func (p curvePart) Fold() string { return count(len(p.Pictures), "step") }

// curveKey is a line of the legend; Class also gives the dashes.
type curveKey struct{ Class, Name string }

// picture is one picture.
type picture struct {
	Step   string
	Label  string // what a screen reader says
	Width  int
	Height int
	Ticks  []curveTick // of both axes
	Base   string      // y of no difference; empty: there is none
	Lines  []curveLine
}

type curveTick struct{ X, Y, Text, Anchor, Grid string }

type curveLine struct {
	Class string
	Path  string
	Spans string // intervals, as vertical strokes
	Dots  string // zero-length strokes at the points
	Name  string
}

// plane maps values to a picture.
type plane struct {
	x0, x1, y0, y1 float64
}

func (p plane) x(v float64) float64 {
	if p.x1 == p.x0 {
		return (curveLeft + curveWidth - curveRight) / 2
	}
	return curveLeft + (v-p.x0)/(p.x1-p.x0)*(curveWidth-curveLeft-curveRight)
}

func (p plane) y(v float64) float64 {
	return curveTop + (p.y1-v)/(p.y1-p.y0)*(curveHeight-curveTop-curveBottom)
}

// clientCurves draws throughput over numbers of clients, a line per variant.
func (v *view) clientCurves() curvePart {
	part := curvePart{
		ID: "clients", Title: "Over clients", Closed: v.steps > 12,
		About: "Operations per second by number of clients, from 0. Clients stand at equal distances where they double.",
	}
	if len(v.clients) < 2 {
		return part
	}
	class := v.lineClasses()
	for _, x := range v.variants {
		part.Legend = append(part.Legend, curveKey{class[x], v.labelled(x)})
	}
	part.Legend = shortLegend(part.Legend)
	p := plane{x0: math.Log2(float64(v.clients[0])), x1: math.Log2(float64(v.clients[len(v.clients)-1]))}
	for _, g := range v.groups {
		for _, s := range g.steps {
			if c, ok := v.clientCurve(s, p, class); ok && !v.pacedStep(s) {
				part.Pictures = append(part.Pictures, c)
			}
		}
	}
	return part
}

func (v *view) clientCurve(s lab.Step, p plane, class map[lab.Variant]string) (picture, bool) {
	most, points := 0.0, 0
	at := func(x lab.Variant, n int) (float64, bool) {
		m := v.means[lab.Cell{Variant: x, Step: s, Clients: n}]
		if m == nil || !finite(m.Values[lab.QPS]) || m.Values[lab.QPS] <= 0 {
			return 0, false
		}
		return m.Values[lab.QPS], true
	}
	for _, n := range v.clients {
		any := false
		for _, x := range v.variants {
			if q, ok := at(x, n); ok {
				most, any = max(most, q), true
			}
		}
		if any {
			points++
		}
	}
	c := picture{Step: v.step(s), Width: curveWidth, Height: curveHeight}
	if points < 2 {
		return c, false
	}
	p.y1 = most * 1.05
	c.Label = fmt.Sprintf("QPS of %s by number of clients", c.Step)
	for _, n := range v.clients {
		c.Ticks = append(c.Ticks, p.xTick(math.Log2(float64(n)), fmt.Sprint(n)))
	}
	for _, q := range niceSteps(most) {
		c.Ticks = append(c.Ticks, p.yTick(q, inLittle(q)))
	}
	for i := len(v.variants) - 1; i >= 0; i-- { // the base lies on top
		x := v.variants[i]
		l := curveLine{Class: class[x], Name: v.name(x)}
		for _, n := range v.clients {
			if q, ok := at(x, n); ok {
				l.add(p.x(math.Log2(float64(n))), p.y(q))
			}
		}
		if l.Class == lineClass(curveLines) {
			l.Dots = "" // in large runs every byte counts
		}
		c.Lines = append(c.Lines, l)
	}
	return c, true
}

// releaseCurves draws relative throughput over the variants in their order, a line per
// number of clients.
func (v *view) releaseCurves() curvePart {
	part := curvePart{
		ID: "releases", Title: "Over variants", Closed: v.steps > 12,
		About: "Relative QPS of the variants in the order of the experiment, the base first; strokes are intervals, which go on where they reach the frame. The dashed line is no difference.",
	}
	var order []lab.Variant
	for _, x := range v.variants {
		if x.Copy == 0 {
			order = append(order, x)
		}
	}
	if len(order) < 3 {
		return part
	}
	labels, key := v.axisLabels(order)
	part.About += key
	for i, n := range v.clients {
		part.Legend = append(part.Legend, curveKey{lineClass(i), count(n, "client")})
	}
	part.Legend = shortLegend(part.Legend)
	for _, g := range v.groups {
		for _, s := range g.steps {
			if c, ok := v.releaseCurve(s, order, labels); ok && !v.pacedStep(s) {
				part.Pictures = append(part.Pictures, c)
			}
		}
	}
	return part
}

// axisLabels returns what stands below the variants of a picture: their names, where there
// is room for them, or else numbers, with a key for the text above.
func (v *view) axisLabels(order []lab.Variant) (labels []string, key string) {
	const letter = 6.2 // pixels
	room := float64(curveWidth-curveLeft-curveRight) / float64(len(order)-1)
	fits := true
	var numbers, keys []string
	for i, x := range order {
		name := v.name(x)
		labels = append(labels, name)
		numbers = append(numbers, fmt.Sprint(i))
		keys = append(keys, fmt.Sprintf("%d\u00a0%s", i, name))
		widest := room
		if i == 0 || i == len(order)-1 { // it stands beside its place, and its neighbour across its own
			widest = room / 2
		}
		fits = fits && letter*float64(len([]rune(name))) < widest
	}
	if fits {
		return labels, ""
	}
	return numbers, " The variants are " + strings.Join(keys, ", ") + "."
}

func (v *view) releaseCurve(s lab.Step, order []lab.Variant, labels []string) (picture, bool) {
	c := picture{Step: v.step(s), Width: curveWidth, Height: curveHeight, Label: fmt.Sprintf("Relative QPS of %s by variant", v.step(s))}
	low, high, any := -0.05, 0.05, false
	each := func(do func(i, clients int, comp *lab.Comparison)) {
		for j, n := range v.clients {
			for i, x := range order {
				if e, ok := v.entry(x, lab.Level{Step: s, Clients: n}, lab.QPS); i > 0 && ok && e.judged() && finite(e.comp.LogRatio) {
					do(i, j, e.comp)
				}
			}
		}
	}
	each(func(_, _ int, comp *lab.Comparison) {
		any = true
		low, high = min(low, comp.LogRatio-0.02), max(high, comp.LogRatio+0.02)
	})
	least, most := low-math.Ln2, high+math.Ln2 // wide intervals must not make everything else flat
	each(func(_, _ int, comp *lab.Comparison) {
		if finite(comp.Lo) && finite(comp.Hi) {
			low, high = min(low, max(comp.Lo, least)), max(high, min(comp.Hi, most))
		}
	})
	if !any {
		return c, false
	}
	p := plane{x1: float64(len(order) - 1), y0: max(low, -3), y1: min(high, 3)}
	c.Base = coord(p.y(0))
	for i := range order {
		if len(order) <= 12 || i == 0 || i == len(order)-1 || i == len(order)/2 {
			t := p.xTick(float64(i), labels[i])
			switch i {
			case 0:
				t.Anchor = "start"
			case len(order) - 1:
				t.Anchor = "end"
			}
			c.Ticks = append(c.Ticks, t)
		}
	}
	for _, r := range []float64{0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2, 4} {
		if l := math.Log(r); l >= p.y0 && l <= p.y1 && (p.y1-p.y0 < 0.8 || r != 0.9 && r != 1.1) {
			c.Ticks = append(c.Ticks, p.yTick(l, decimals(r, 2)))
		}
	}
	lines := make([]curveLine, len(v.clients))
	for j := range lines {
		lines[j] = curveLine{Class: lineClass(j), Name: count(v.clients[j], "client")}
		lines[j].add(p.x(0), p.y(0))
	}
	each(func(i, j int, comp *lab.Comparison) {
		x, bound := p.x(float64(i)), func(l float64) float64 { return p.y(max(p.y0, min(p.y1, l))) }
		lines[j].add(x, bound(comp.LogRatio))
		if finite(comp.Lo) && finite(comp.Hi) && len(order) <= 2*curveLines {
			lines[j].Spans += "M" + coord(x) + " " + coord(bound(comp.Lo)) + "V" + coord(bound(comp.Hi))
		}
	})
	for j := range lines {
		if len(order) > 2*curveLines {
			lines[j].Dots = ""
		}
	}
	c.Lines = lines
	return c, true
}

// add goes on with a line to a point.
func (l *curveLine) add(x, y float64) {
	step := "L"
	if l.Path == "" {
		step = "M"
	}
	at := coord(x) + " " + coord(y)
	l.Path += step + at
	l.Dots += "M" + at + "h0"
}

func (p plane) xTick(v float64, text string) curveTick {
	x := coord(p.x(v))
	return curveTick{X: x, Y: fmt.Sprint(curveHeight - 6), Text: text, Anchor: "middle", Grid: fmt.Sprintf("M%s %dV%d", x, curveTop, curveHeight-curveBottom)}
}

func (p plane) yTick(v float64, text string) curveTick {
	y := p.y(v)
	return curveTick{X: fmt.Sprint(curveLeft - 5), Y: coord(y + 4), Text: text, Anchor: "end", Grid: fmt.Sprintf("M%d %sH%d", curveLeft, coord(y), curveWidth-curveRight)}
}

// lineClasses gives the base and the first candidates lines of their own, the rest grey
// ones.
func (v *view) lineClasses() map[lab.Variant]string {
	out := map[lab.Variant]string{}
	for i, x := range v.variants {
		out[x] = lineClass(i)
	}
	return out
}

func lineClass(i int) string {
	if i >= curveLines {
		return "lx"
	}
	return fmt.Sprintf("l%d", i)
}

// shortLegend says once what all grey lines are.
func shortLegend(keys []curveKey) []curveKey {
	if len(keys) <= curveLines {
		return keys
	}
	return append(keys[:curveLines:curveLines], curveKey{"lx", fmt.Sprintf("%d others; point at a line for its name", len(keys)-curveLines)})
}

// niceSteps returns 0 and up to four round numbers up to most.
func niceSteps(most float64) []float64 {
	if most <= 0 {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for _, f := range []float64{0.2, 0.25, 0.5, 1, 2} {
		if most/(step*f) <= 4.5 {
			step *= f
			break
		}
	}
	var out []float64
	for x := 0.0; x <= most; x += step {
		out = append(out, x)
	}
	return out
}

// inLittle writes a rate in little room: 25k, 1.5M.
func inLittle(x float64) string {
	for _, u := range []struct {
		from float64
		unit string
	}{{1e6, "M"}, {1e3, "k"}} {
		if x >= u.from {
			return strings.TrimSuffix(decimals(x/u.from, 1), ".0") + u.unit
		}
	}
	return amount(x)
}
