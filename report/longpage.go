package report

import (
	"fmt"
	"slices"
	"strings"

	"backslide/lab"
)

// Size of a small chart in its own units, and how many places of a series it can show.
const (
	miniWidth  = 240
	miniHeight = 64
	miniPlaces = 240
	lineStyles = 6 // of lines, as the style sheet has them
)

// longPart is what the page shows of long steps: the insert benchmark's tables, and small
// charts second by second. Empty for a run without.
type longPart struct {
	Boards []boardPart
	Legend string
	Keys   []keyPart // what the lines are
	Steps  []tracePart
}

type boardPart struct {
	Title string
	Steps []string
	Rows  []boardRow
}

type boardRow struct {
	Name  string
	Cells []boardCell
}

type boardCell struct{ Text, Shade, Sign string }

type keyPart struct {
	Style int
	Name  string
}

// tracePart is the charts of one step.
type tracePart struct {
	ID     string
	Title  string
	About  string
	Charts []miniChart
}

// miniChart is one thing of all variants over the seconds of a step.
type miniChart struct {
	Name   string
	Most   string // the top of the axis, with its unit
	Label  string // for who cannot see it
	Width  int
	Height int
	Lines  []miniLine
}

// miniLine is one variant's line as SVG path data, and marks where it stalled.
type miniLine struct {
	Style  int
	Path   string
	Stalls string
}

// longPart arranges the whole levels of a run.
func (v *view) longPart() longPart {
	var p longPart
	for _, n := range v.clients {
		for _, b := range v.boards(n) {
			p.Boards = append(p.Boards, v.boardPart(b))
		}
	}
	if len(p.Boards) == 0 {
		return p
	}
	p.Legend = onPage(v.insertLegend())
	for i, x := range v.variants {
		p.Keys = append(p.Keys, keyPart{i % lineStyles, v.labelled(x)})
	}
	for _, l := range v.Run.Levels {
		if t := v.tracePart(l, len(p.Steps)); len(t.Charts) > 0 {
			p.Steps = append(p.Steps, t)
		}
	}
	return p
}

func (v *view) boardPart(b board) boardPart {
	p := boardPart{Title: b.title}
	for _, l := range b.steps {
		p.Steps = append(p.Steps, v.step(l.Level.Step))
	}
	line := func(name string, cells []shaded) {
		r := boardRow{Name: name}
		for _, c := range cells {
			text := none
			if finite(c.value) {
				text = b.text(c.value)
			}
			r.Cells = append(r.Cells, boardCell{text, string(c.shade), c.shade.sign()})
		}
		p.Rows = append(p.Rows, r)
	}
	for i, x := range b.rows {
		line(v.labelled(x), b.cells[i])
	}
	if b.last != nil {
		asked := slices.Clone(b.last)
		for i := range asked {
			asked[i].shade = noShade
		}
		line("asked", asked)
	}
	return p
}

// tracePart draws a level's series, of the first block that each variant has.
func (v *view) tracePart(l lab.LevelPlan, n int) tracePart {
	p := tracePart{ID: fmt.Sprintf("t%d", n), Title: v.at(l.Level)}
	var names []string
	first := map[lab.Variant]lab.Trace{}
	stalls, seconds := 0, 0
	for _, x := range v.variants {
		c := v.long(x, l.Level)
		if c == nil || len(c.Traces) == 0 {
			continue
		}
		first[x] = c.Traces[0]
		for _, s := range c.Traces[0].Series {
			if !slices.Contains(names, s.Name) {
				names = append(names, s.Name)
			}
			seconds = max(seconds, len(s.Values))
			if isRate(s) && s.Name == rateName(c.Roles) {
				stalls += len(s.Stalls())
			}
		}
	}
	for _, name := range names {
		if c := v.miniChart(name, first, l.Level); c.Lines != nil {
			p.Charts = append(p.Charts, c)
		}
	}
	p.About = fmt.Sprintf("Second by second over %s, in the first block that each has. Every chart begins at 0 and ends at the amount that it names.", count(seconds, "second"))
	if stalls > 0 {
		p.About += " " + count(stalls, "second") + " with next to no work: marked above the line."
	}
	return p
}

func isRate(s lab.Series) bool { return strings.HasSuffix(s.Name, "rate") }

// rateName is the name of the series of a step's first role.
func rateName(roles []lab.RoleMean) string {
	if len(roles) == 0 || roles[0].Role == "" {
		return "rate"
	}
	return roles[0].Role + " rate"
}

func (v *view) miniChart(name string, of map[lab.Variant]lab.Trace, l lab.Level) miniChart {
	c := miniChart{Name: clean(name), Width: miniWidth, Height: miniHeight}
	most, seconds, unit := 0.0, 0, ""
	series := map[lab.Variant]lab.Series{}
	for x, t := range of {
		for _, s := range t.Series {
			if s.Name == name {
				series[x], unit = s, s.Unit
				most, seconds = max(most, slices.Max(append([]float64{0}, s.Values...))), max(seconds, len(s.Values))
			}
		}
	}
	if seconds < 2 {
		return c
	}
	var said []string
	for i, x := range v.variants {
		s, ok := series[x]
		if !ok {
			continue
		}
		line := miniLine{Style: i % lineStyles, Path: curve(s.Values, seconds, most, strings.HasSuffix(name, "worst"))}
		if cell := v.long(x, l); isRate(s) && s.Name == rateName(cell.Roles) {
			for _, at := range s.Stalls() {
				line.Stalls += "M" + coord(secondAt(at, seconds)) + " 2v5"
			}
		}
		c.Lines = append(c.Lines, line)
		said = append(said, v.name(x)+" "+seriesAmount(middleOf(s.Values), unit))
	}
	c.Most = seriesAmount(most, unit)
	c.Label = fmt.Sprintf("%s over %d seconds, at most %s; medians: %s", c.Name, seconds, c.Most, strings.Join(said, ", "))
	return c
}

func middleOf(x []float64) float64 {
	x = slices.DeleteFunc(slices.Clone(x), func(v float64) bool { return v < 0 })
	if len(x) == 0 {
		return -1
	}
	slices.Sort(x)
	return x[len(x)/2]
}

// secondAt is where a second stands on the axis.
func secondAt(second, seconds int) float64 {
	return float64(second) * miniWidth / float64(max(1, seconds-1))
}

// curve returns a line through a series; with more seconds than places, through the means,
// or the largest, of neighbours. It is broken where nothing is known.
func curve(values []float64, seconds int, most float64, largest bool) string {
	step := (seconds + miniPlaces - 1) / miniPlaces
	var b strings.Builder
	pen := "M"
	for from := 0; from < len(values); from += step {
		sum, top, n := 0.0, 0.0, 0
		for _, x := range values[from:min(from+step, len(values))] {
			if x >= 0 {
				sum, top, n = sum+x, max(top, x), n+1
			}
		}
		if n == 0 {
			pen = "M"
			continue
		}
		y := sum / float64(n)
		if largest {
			y = top
		}
		height := 0.0
		if most > 0 {
			height = y / most
		}
		fmt.Fprintf(&b, "%s%s %s", pen, coord(secondAt(from, seconds)), coord(miniHeight-2-(miniHeight-12)*height))
		pen = "L"
	}
	return b.String()
}

// seriesAmount writes an amount of a series with a unit for people.
func seriesAmount(x float64, unit string) string {
	switch {
	case x < 0:
		return "unknown"
	case unit == "sec":
		return amount(1000*x) + " ms"
	case unit == "B":
		return amount(x/(1<<20)) + " MiB"
	case unit == "B/sec":
		return amount(x/(1<<20)) + " MiB/s"
	case unit == "op/sec":
		return thousands(x) + " op/s"
	case unit == "cpu-sec/sec":
		return amount(x) + " CPUs"
	}
	return thousands(x) + " " + clean(unit)
}
