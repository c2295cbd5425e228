package report

import (
	"math"
	"strings"

	"backslide/lab"
)

// costTable has a row per cell: costs per operation, and latency.
type costTable struct {
	Closed bool
	Heads  []costHead
	Time   string // unit of the latencies
	Rows   []costRow
}

type costHead struct{ Name, Unit string }

type costRow struct {
	Step    string
	Clients int
	Variant string
	Base    bool
	First   bool // of its level
	Cells   []costPart
	Latency []string
}

type costPart struct {
	Value, Ratio, Mark, State string
	Span                      string // word and interval; not in large tables, which it would double
}

func (v *view) costTable() costTable {
	metrics := v.costMetrics()
	t := costTable{Closed: len(v.Cells) > manyRows/4}
	scales := make([]scale, len(metrics))
	for i, m := range metrics {
		scales[i] = v.columnScale(scaleOf(m), func(mean *lab.CellMean) []float64 { return []float64{mean.Values[m]} })
		t.Heads = append(t.Heads, costHead{scales[i].name, scales[i].unit})
	}
	time := v.columnScale(scale{unit: "µs", factor: 1e6}, func(mean *lab.CellMean) []float64 { return []float64{mean.P50} })
	t.Time = time.unit
	for _, g := range v.groups {
		for _, s := range g.steps {
			for _, n := range v.clients {
				first := true
				for _, x := range v.variants {
					c := lab.Cell{Variant: x, Step: s, Clients: n}
					mean := v.means[c]
					if mean == nil {
						continue
					}
					r := costRow{Step: v.step(s), Clients: n, Variant: v.name(x), Base: x == v.Run.Base, First: first}
					first = false
					for i, m := range metrics {
						r.Cells = append(r.Cells, v.costPart(c, m, scales[i], t.Closed))
					}
					for _, q := range []float64{mean.P50, mean.P95, mean.P99, mean.Max} {
						r.Latency = append(r.Latency, time.latency(q))
					}
					t.Rows = append(t.Rows, r)
				}
			}
		}
	}
	return t
}

// columnScale returns the scale of a column of the table, of which a cell has some values:
// in a larger unit where all of them are large.
func (v *view) columnScale(sc scale, of func(*lab.CellMean) []float64) scale {
	least := math.Inf(1)
	for _, mean := range v.means {
		for _, x := range of(mean) {
			if x > 0 {
				least = min(least, x*sc.factor)
			}
		}
	}
	next := map[string]string{"µs": "ms", "ms": "s", "B": "KiB", "KiB": "MiB"}
	for finite(least) {
		unit, per, _ := strings.Cut(sc.unit, "/")
		step := 1000.0
		if strings.HasSuffix(unit, "B") {
			step = 1024
		}
		if next[unit] == "" || least < 10*step {
			break
		}
		sc.unit, sc.factor, least = next[unit], sc.factor/step, least/step
		if per != "" {
			sc.unit += "/" + per
		}
	}
	return sc
}

// latency returns a latency in the scale's unit; zero means unknown.
func (sc scale) latency(sec float64) string {
	if sec <= 0 {
		return none
	}
	return grouped(sc.factor * sec)
}

func (v *view) costPart(c lab.Cell, m lab.Metric, sc scale, brief bool) costPart {
	p := costPart{Value: v.shown(c, m, sc)}
	e, _ := v.entry(c.Variant, c.Level(), m)
	if c.Variant == v.Run.Base || e.state == notRun || e.state == broken {
		return p
	}
	p.Ratio, p.Mark, p.State = ratio(e.comp.LogRatio), e.mark(), e.state.class()
	if !brief {
		p.Span = e.word() + " " + ratioSpan(e.comp.Lo, e.comp.Hi)
	}
	return p
}
