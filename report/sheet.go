package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"backslide/lab"
	"backslide/stat"
)

// sheet is figures of several variants, arranged for the views that a run and an import
// have in common. A value of an import has no verdict: its mark is empty.
type sheet struct {
	columns  []column
	base     int
	clients  []int // ascending; 0: not said
	groups   []sheetGroup
	metric   string // that views of one metric show
	decimals int
	judged   bool // ratios have intervals and marks of a run
	level    float64
}

// column is a variant.
type column struct {
	name, host string
	base       int // index of the column that it is relative to, or -1
}

type sheetGroup struct {
	name  string
	steps []sheetStep
}

// sheetStep is a step at one number of clients.
type sheetStep struct {
	name    string
	clients int
	metrics []sheetMetric
}

// sheetMetric is one metric of a step, by column.
type sheetMetric struct {
	key, name, unit string
	factor          float64 // from base units to unit
	perClient       bool    // a rate of one connection, not of all
	values          []figure
}

// figure is a value of a cell and what it is relative to the base.
type figure struct {
	value    float64 // in base units
	runs     int     // 0: not measured
	sd       float64
	logRatio float64 // NaN: none
	lo, hi   float64 // infinite: not known
	mark     string
	state    state
}

// measured reports whether there is a value.
func (f figure) measured() bool { return f.runs > 0 && finite(f.value) }

// alpha is the level at which imports say what noise a difference could stand.
const alpha = 0.01

// sheetOf arranges an import.
func sheetOf(e lab.Estimates, o Options) sheet {
	s := sheet{base: e.Base, metric: cmp.Or(string(o.Metric), string(lab.QPS)), decimals: o.decimals(), level: alpha}
	for _, c := range e.Columns {
		s.columns = append(s.columns, column{clean(c.Name), clean(c.Host), c.Base})
	}
	for _, r := range e.Rows {
		m := sheetMetric{key: r.Metric, perClient: r.Unit == "krow/sec"}
		m.name, m.unit, m.factor = readable(r.Metric, r.Unit)
		for _, x := range r.Values {
			m.values = append(m.values, figure{value: x.Value, runs: x.Runs, sd: x.SD, logRatio: math.NaN(), lo: math.Inf(-1), hi: math.Inf(1)})
		}
		m.relate(s.columns)
		s.add(cmp.Or(clean(string(r.Group)), "others, warm-ups included"), clean(r.Step), r.Clients, m)
	}
	return s
}

// relate computes ratios to the base. An interval needs two runs of each side.
func (m *sheetMetric) relate(columns []column) {
	for i := range m.values {
		f, base := &m.values[i], columns[i].base
		if base < 0 || base == i {
			continue
		}
		b := m.values[base]
		if !f.measured() || !b.measured() || f.value <= 0 || b.value <= 0 {
			continue
		}
		f.logRatio = math.Log(f.value / b.value)
		if f.sd > 0 && b.sd > 0 {
			half := stat.Welch(f.sd, f.runs, b.sd, b.runs, alpha)
			f.lo, f.hi = f.logRatio-half, f.logRatio+half
		}
	}
}

// sheet arranges a run, with the verdicts of its comparisons.
func (v *view) sheet(decimals int) sheet {
	s := sheet{metric: string(v.metric), decimals: decimals, judged: true, level: v.plan.Alpha}
	for i, x := range v.variants {
		s.columns = append(s.columns, column{name: v.name(x)})
		if x == v.Run.Base {
			s.base = i
		}
	}
	for i := range s.columns {
		s.columns[i].base = s.base
	}
	for _, g := range v.groups {
		for _, step := range g.steps {
			for _, n := range v.clients {
				if !v.levels[lab.Level{Step: step, Clients: n}] {
					continue
				}
				for _, metric := range lab.Metrics() {
					if m, ok := v.sheetMetric(lab.Level{Step: step, Clients: n}, metric); ok {
						s.add(clean(string(g.name)), v.step(step), n, m)
					}
				}
			}
		}
	}
	return s
}

func (v *view) sheetMetric(l lab.Level, metric lab.Metric) (m sheetMetric, ok bool) {
	sc := scaleOf(metric)
	m = sheetMetric{key: string(metric), name: sc.name, unit: sc.unit, factor: sc.factor}
	for _, x := range v.variants {
		f := figure{logRatio: math.NaN(), lo: math.Inf(-1), hi: math.Inf(1)}
		if mean := v.means[lab.Cell{Variant: x, Step: l.Step, Clients: l.Clients}]; mean != nil {
			if value, has := mean.Values[metric]; has {
				f.value, f.runs, ok = value, max(1, mean.Blocks), true
			}
		}
		if e, has := v.entry(x, l, metric); has && x != v.Run.Base {
			f.mark, f.state = e.mark(), e.state
			if e.judged() {
				f.logRatio, f.lo, f.hi = e.comp.LogRatio, e.comp.Lo, e.comp.Hi
			}
		}
		m.values = append(m.values, f)
	}
	return m, ok
}

// add puts a metric of a step into its group. Steps come one after the other, as do groups.
func (s *sheet) add(group, step string, clients int, m sheetMetric) {
	if !slices.Contains(s.clients, clients) {
		s.clients = append(s.clients, clients)
		slices.Sort(s.clients)
	}
	i := slices.IndexFunc(s.groups, func(g sheetGroup) bool { return g.name == group })
	if i < 0 {
		i = len(s.groups)
		s.groups = append(s.groups, sheetGroup{name: group})
	}
	g := &s.groups[i]
	j := len(g.steps) - 1
	if j < 0 || g.steps[j].name != step || g.steps[j].clients != clients {
		j++
		g.steps = append(g.steps, sheetStep{name: step, clients: clients})
	}
	g.steps[j].metrics = append(g.steps[j].metrics, m)
}

// isBase reports whether others are relative to a column.
func (s sheet) isBase(i int) bool { return s.columns[i].base == i }

// metric returns a metric of a step, if it has it.
func (t sheetStep) metric(key string) (sheetMetric, bool) {
	for _, m := range t.metrics {
		if m.key == key {
			return m, true
		}
	}
	return sheetMetric{}, false
}

// readable returns how people read an imported metric.
func readable(metric, unit string) (name, shown string, factor float64) {
	if slices.Contains(lab.Metrics(), lab.Metric(metric)) && unit != "krow/sec" {
		sc := scaleOf(lab.Metric(metric))
		return sc.name, sc.unit, sc.factor
	}
	name = clean(metric)
	switch unit {
	case "krow/sec":
		return scaleOf(lab.QPS).name, "1000 rows/s", 1
	case "sec":
		return name, "ms", 1e3
	case "op/sec":
		return name, "op/s", 1
	}
	return name, clean(unit), 1
}

// withClients names a step in tables over several numbers of clients.
func (s sheet) withClients(t sheetStep) string {
	if t.clients == 0 || !s.severalClients() {
		return t.name
	}
	return fmt.Sprintf("%s/%d", t.name, t.clients)
}

// severalClients reports whether steps were measured at more than one known number of
// clients, so that names have to tell which.
func (s sheet) severalClients() bool {
	known := len(s.clients)
	if known > 0 && s.clients[0] == 0 {
		known--
	}
	return known > 1
}

// runs returns how many runs the measured cells of the sheet's metric have, the fewest and
// the most.
func (s sheet) runs() (least, most int) {
	for _, g := range s.groups {
		for _, t := range g.steps {
			m, ok := t.metric(s.metric)
			if !ok {
				continue
			}
			for _, f := range m.values {
				if f.measured() && (least == 0 || f.runs < least) {
					least = f.runs
				}
				if f.measured() {
					most = max(most, f.runs)
				}
			}
		}
	}
	return least, most
}
