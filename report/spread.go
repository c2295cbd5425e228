package report

import (
	"fmt"
	"math"
	"strings"

	"backslide/lab"
)

// Size of the pictures of a spread in pixels.
const (
	spreadWidth  = 220
	spreadHeight = 30
	mostSpreads  = 30 // levels that a page shows them of
)

// spreadPart shows, for each level, how the rates of slices spread and how latencies lie.
type spreadPart struct {
	About  string
	Closed bool
	Width  int
	Height int
	Levels []spreadLevel
}

// Fold says what is folded away.
func (p spreadPart) Fold() string { return count(len(p.Levels), "level") }

type spreadLevel struct {
	Name  string
	Rates string // the scale of the slices: from, to
	Times string // likewise of the latencies
	Rows  []spreadRow
}

type spreadRow struct {
	Variant string
	Base    bool
	Box     *box
	Hist    string // path of the histogram
	Marks   string // p50, p95, p99 as strokes
	Slices  string // the five numbers in words
	Latency string // the quantiles in words
}

// box is five numbers as a box with whiskers.
type box struct{ Line, Rect, Half string }

// spreads shows levels that something is called at, in large runs; else all.
func (v *view) spreads() spreadPart {
	part := spreadPart{Width: spreadWidth, Height: spreadHeight, Closed: true}
	levels := 0
	large := len(v.levels)*len(v.variants) > 8*mostSpreads
	for _, g := range v.groups {
		for _, s := range g.steps {
			for _, n := range v.clients {
				variants := v.variants
				if large {
					variants = v.calledAt(lab.Level{Step: s, Clients: n})
				}
				l, ok := v.spread(lab.Level{Step: s, Clients: n}, variants)
				if !ok {
					continue
				}
				if levels++; levels <= mostSpreads {
					part.Levels = append(part.Levels, l)
				}
			}
		}
	}
	part.Closed = len(part.Levels) > 6
	if large && levels > 0 {
		part.About = fmt.Sprintf("%d of the levels at which something was called, and the variants that were.", len(part.Levels))
	}
	return part
}

// calledAt returns the base and the candidates that regressed or improved at a level, six
// at most; none if nothing was.
func (v *view) calledAt(l lab.Level) []lab.Variant {
	out := []lab.Variant{v.Run.Base}
	for _, x := range v.candidates {
		if e, ok := v.entry(x, l, lab.QPS); ok && (e.state == regressed || e.state == improved) && len(out) < 6 {
			out = append(out, x)
		}
	}
	if len(out) == 1 {
		return nil
	}
	return out
}

func (v *view) spread(l lab.Level, variants []lab.Variant) (spreadLevel, bool) {
	out := spreadLevel{Name: v.at(l)}
	var means []*lab.CellMean
	low, high := math.Inf(1), math.Inf(-1)
	from, to := math.Inf(1), 0.0
	for _, x := range variants {
		m := v.means[lab.Cell{Variant: x, Step: l.Step, Clients: l.Clients}]
		if m == nil || len(m.Rates) != 5 && len(m.Latency) == 0 {
			continue
		}
		means = append(means, m)
		if len(m.Rates) == 5 {
			low, high = min(low, m.Rates[0]), max(high, m.Rates[4])
		}
		if a, b, ok := shownBins(m.Latency); ok {
			from, to = min(from, a), max(to, b)
		}
	}
	if len(means) == 0 {
		return out, false
	}
	if high >= low {
		out.Rates = grouped(low) + " to " + grouped(high) + " op/s"
	}
	if to > 0 {
		out.Times = duration(from) + " to " + duration(to)
	}
	for _, m := range means {
		r := spreadRow{Variant: v.name(m.Cell.Variant), Base: m.Cell.Variant == v.Run.Base}
		if len(m.Rates) == 5 && high >= low {
			r.Box, r.Slices = boxOf(m.Rates, low, high), fiveText(m.Rates)
		}
		if to > from && len(m.Latency) > 0 {
			r.Hist = histogramPath(m.Latency, from, to)
			r.Marks, r.Latency = quantileMarks(m, from, to)
		}
		out.Rows = append(out.Rows, r)
	}
	return out, true
}

// shownBins returns the bounds of the bins that hold all but the rarest latencies.
func shownBins(bins []lab.LatencyBin) (from, to float64, ok bool) {
	var total, sum int64
	for _, b := range bins {
		total += b.Count
	}
	for i, b := range bins {
		sum += b.Count
		if from == 0 && float64(sum) >= 0.001*float64(total) {
			from = b.To / 1.25
			if i > 0 {
				from = bins[i-1].To
			}
		}
		if float64(sum) >= 0.999*float64(total) {
			return from, b.To, total > 0 && from > 0
		}
	}
	return 0, 0, false
}

func boxOf(r []float64, low, high float64) *box {
	x := func(v float64) float64 {
		if high == low {
			return spreadWidth / 2
		}
		return 4 + (v-low)/(high-low)*(spreadWidth-8)
	}
	mid := coord(spreadHeight / 2)
	return &box{
		Line: fmt.Sprintf("M%s %sH%s", coord(x(r[0])), mid, coord(x(r[4]))),
		Rect: fmt.Sprintf("M%s 7H%sV23H%sZ", coord(x(r[1])), coord(max(x(r[3]), x(r[1])+1)), coord(x(r[1]))),
		Half: fmt.Sprintf("M%s 4V26", coord(x(r[2]))),
	}
}

func fiveText(r []float64) string {
	return fmt.Sprintf("median %s, half from %s to %s", grouped(r[2]), grouped(r[1]), grouped(r[3]))
}

// histogramPath draws the density of latencies over a logarithmic axis. Every bin is as
// high as its share, in relation to the highest.
func histogramPath(bins []lab.LatencyBin, from, to float64) string {
	var most int64
	for _, b := range bins {
		most = max(most, b.Count)
	}
	x := func(v float64) float64 {
		return (math.Log(max(from, min(to, v))) - math.Log(from)) / (math.Log(to) - math.Log(from)) * spreadWidth
	}
	var b strings.Builder
	start := bins[0].To / 1.25
	fmt.Fprintf(&b, "M%s %d", coord(x(start)), spreadHeight)
	for _, bin := range bins {
		if bin.To <= from {
			start = bin.To
			continue
		}
		if start >= to {
			break
		}
		h := float64(spreadHeight-2) * float64(bin.Count) / float64(most)
		fmt.Fprintf(&b, "V%sH%s", coord(spreadHeight-h), coord(x(bin.To)))
		start = bin.To
	}
	fmt.Fprintf(&b, "V%dZ", spreadHeight)
	return b.String()
}

func quantileMarks(m *lab.CellMean, from, to float64) (path, text string) {
	var words []string
	for _, q := range []struct {
		name string
		v    float64
	}{{"p50", m.P50}, {"p95", m.P95}, {"p99", m.P99}} {
		if q.v <= 0 {
			continue
		}
		words = append(words, q.name+" "+duration(q.v))
		if q.v >= from && q.v <= to {
			x := (math.Log(q.v) - math.Log(from)) / (math.Log(to) - math.Log(from)) * spreadWidth
			path += "M" + coord(x) + " 0V" + coord(spreadHeight)
		}
	}
	return path, strings.Join(words, ", ")
}
