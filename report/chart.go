package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"backslide/lab"
)

// Size of an interval plot in its own units, which are pixels unless it is zoomed.
const (
	plotWidth  = 200
	plotHeight = 26
	plotEdge   = 8 // left and right, for what is beyond the axis
)

// axis is the common scale of all interval plots of a page: logarithmic, symmetric around
// no difference.
type axis struct {
	limit  float64 // largest log-ratio shown
	margin float64 // of equivalence, as a log-ratio
}

// axis returns a scale that holds all intervals, but no more than halving and doubling.
func (v *view) axis() axis {
	a := axis{margin: v.plan.Margin, limit: 1.5 * v.plan.Margin}
	for i := range v.Comparisons {
		c := &v.Comparisons[i]
		if c.Metric != v.metric || len(c.Blocks) == 0 {
			continue
		}
		for _, x := range []float64{c.LogRatio, c.Lo, c.Hi} {
			if finite(x) {
				a.limit = max(a.limit, 1.08*math.Abs(x))
			}
		}
	}
	a.limit = min(a.limit, math.Ln2)
	return a
}

// x returns where a log-ratio stands, and whether it had to be moved to the axis' end.
func (a axis) x(logRatio float64) (pos float64, beyond bool) {
	half := float64(plotWidth)/2 - plotEdge
	p := logRatio / a.limit
	beyond = math.Abs(p) > 1
	return float64(plotWidth)/2 + half*max(-1, min(1, p)), beyond
}

// tick is a labelled place on the axis.
type tick struct {
	X    string
	Text string
}

// Ticks returns the labels of the axis, in percent.
func (a axis) Ticks() []tick {
	best := []float64{0}
	for _, step := range []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5} {
		if up := math.Log1p(step); up <= a.limit && up >= a.limit/4 {
			best = []float64{-step, 0, step}
			if down := math.Log1p(-step); -down > a.limit {
				best = best[1:]
			}
		}
	}
	var out []tick
	for _, s := range best {
		x, _ := a.x(math.Log1p(s))
		text := "0"
		if s != 0 {
			text = sign(strconv.FormatFloat(100*s, 'f', -1, 64)) + " %"
			if s > 0 {
				text = "+" + text
			}
		}
		out = append(out, tick{coord(x), text})
	}
	return out
}

// Band returns the left end and width of the equivalence margin.
func (a axis) Band() [2]string {
	lo, _ := a.x(-a.margin)
	hi, _ := a.x(a.margin)
	return [2]string{coord(lo), coord(hi - lo)}
}

// Middle returns where no difference is.
func (a axis) Middle() string { return coord(plotWidth / 2) }

// plot is one comparison's interval and blocks as SVG path data. What it shows stands beside
// it in numbers, too. Tables have thousands of plots, so every byte of them counts.
type plot struct {
	Dots  string // a zero-length stroke per block, the first on top
	Span  string // the interval
	Arrow string // at ends that are beyond the axis
	Point string // x of the estimate
}

// plot draws a comparison. The dots' heights follow the order of blocks, so that a drift
// or two clusters can be seen.
func (a axis) plot(c *lab.Comparison) plot {
	var p plot
	if finite(c.Lo) && finite(c.Hi) {
		lo, under := a.x(c.Lo)
		hi, over := a.x(c.Hi)
		mid := coord(plotHeight / 2)
		p.Span = "M" + coord(lo) + " " + mid + "H" + coord(hi)
		if under {
			p.Arrow += "M6 8l-5 5l5 5"
		}
		if over {
			p.Arrow += fmt.Sprintf("M%d 8l5 5l-5 5", plotWidth-6)
		}
	}
	x, _ := a.x(c.LogRatio)
	p.Point = coord(x)
	var b strings.Builder
	for i, d := range c.Blocks {
		if !finite(d.Diff) {
			continue
		}
		x, _ := a.x(d.Diff)
		y := 3 + float64(plotHeight-6)*(float64(i)+0.5)/float64(len(c.Blocks))
		fmt.Fprintf(&b, "M%.0f %.0fh0", x, y)
	}
	p.Dots = b.String()
	return p
}

// coord writes a coordinate to a tenth.
func coord(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

// heat returns the class of a cell's colour: w1 to w5 worse, b1 to b5 better, by how far
// the ratio is from 1.
func heat(c *lab.Comparison) string {
	if !finite(c.LogRatio) {
		return ""
	}
	return sizeClass(c.LogRatio, c.Metric.HigherIsBetter())
}

// heatLimits are the log-ratios from which on a colour is deeper.
func heatLimits() []float64 { return []float64{0.01, 0.025, 0.05, 0.10, 0.20} }
