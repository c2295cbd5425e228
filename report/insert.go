package report

import (
	"math"
	"slices"
	"strconv"

	"backslide/lab"
)

// shade says how a cell of the insert benchmark's tables stands out. The page has the
// colours of its heat maps for it, text a sign.
type shade string

// The shades that the benchmark's own reports have.
const (
	noShade shade = ""
	low     shade = "low"    // in the lowest quarter of the column's range
	high    shade = "high"   // in the highest quarter
	missed  shade = "missed" // beside writers that did not keep their rate
	better  shade = "better" // over 105 % of the first row
	worse   shade = "worse"  // under 95 %
	behind  shade = "behind" // a writer that did not keep its rate
)

// sign is the shade in text.
func (s shade) sign() string {
	return map[shade]string{low: "↓", high: "↑", missed: "✗", better: "+", worse: "−", behind: "✗"}[s]
}

// Limits of the benchmark's colours.
const (
	flat        = 0.8  // of the largest value: a column whose smallest is no less has no red
	clearBetter = 1.05 // of the first row
	clearWorse  = 0.95
)

// shaded is a number with its shade.
type shaded struct {
	value float64 // NaN: there is none
	shade shade
}

// board is one of the benchmark's tables: a column for each step, a row for each variant.
type board struct {
	title string
	steps []lab.LevelPlan
	rows  []lab.Variant
	cells [][]shaded // by row and step
	last  []shaded   // a row below: what was asked for
	text  func(float64) string
}

// boards returns the benchmark's three tables of the whole levels at a number of clients:
// throughput, throughput relative to the base, and the rate of writers beside queries.
func (v *view) boards(clients int) []board {
	var steps, paced []lab.LevelPlan
	for _, l := range v.Run.Levels {
		if !l.Whole() || l.Warm || l.Level.Clients != clients {
			continue
		}
		steps = append(steps, l)
		if v.pacer(l.Level) != "" {
			paced = append(paced, l)
		}
	}
	if len(steps) == 0 {
		return nil
	}
	per := func(what string) string { return what + ", " + count(clients, "client") }
	absolute := board{title: per("operations per second: rows of loads and inserts, rows indexed, queries"), steps: steps, rows: v.variants, text: thousands}
	relative := board{title: per("relative to " + v.name(v.Run.Base)), steps: steps, rows: v.variants, text: func(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }}
	for _, x := range v.variants {
		var abs, rel []shaded
		for _, l := range steps {
			value, base := v.throughput(x, l.Level), v.throughput(v.Run.Base, l.Level)
			a, r := shaded{value: value}, shaded{value: value / base}
			if v.slow(x, l.Level) {
				a.shade = missed
			}
			if x != v.Run.Base {
				switch {
				case r.value > clearBetter:
					r.shade = better
				case r.value < clearWorse:
					r.shade = worse
				}
			}
			abs, rel = append(abs, a), append(rel, r)
		}
		absolute.cells, relative.cells = append(absolute.cells, abs), append(relative.cells, rel)
	}
	absolute.colour(false)
	out := []board{absolute, relative}
	if len(paced) > 0 {
		out = append(out, v.paceBoard(per("operations per second of writers beside queries"), paced))
	}
	return out
}

// paceBoard is how fast writers were whose rate was set, and what it was set to.
func (v *view) paceBoard(title string, steps []lab.LevelPlan) board {
	b := board{title: title, steps: steps, rows: v.variants, text: thousands}
	for _, x := range v.variants {
		var cells []shaded
		for _, l := range steps {
			c := shaded{value: math.NaN()}
			if r := v.role(x, l.Level, v.pacer(l.Level)); r != nil {
				c.value = r.Rate
				if !r.Sustained() {
					c.shade = behind
				}
			}
			cells = append(cells, c)
		}
		b.cells = append(b.cells, cells)
	}
	for _, l := range steps {
		asked := math.NaN()
		for _, x := range v.variants {
			if r := v.role(x, l.Level, v.pacer(l.Level)); r != nil {
				asked = r.Offered
			}
		}
		b.last = append(b.last, shaded{value: asked, shade: missed})
	}
	return b
}

// colour shades the lowest and highest quarter of each column's range, over what counts:
// what missed its rate keeps its own shade. Where small is good, colours change places.
func (b *board) colour(smallIsGood bool) {
	for i := range b.steps {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, r := range b.cells {
			if c := r[i]; c.shade == noShade && finite(c.value) {
				lo, hi = min(lo, c.value), max(hi, c.value)
			}
		}
		quarter := (hi - lo) / 4
		for _, r := range b.cells {
			c := &r[i]
			if c.shade != noShade || !finite(c.value) || lo == hi {
				continue
			}
			bad, good := c.value <= lo+quarter, c.value >= hi-quarter
			if smallIsGood {
				bad, good = good, bad
			}
			switch {
			case bad && lo < flat*hi:
				c.shade = low
			case good:
				c.shade = high
			}
		}
	}
}

// long returns what is known of a cell's whole slices.
func (v *view) long(x lab.Variant, l lab.Level) *lab.LongCell {
	at := lab.Cell{Variant: x, Step: l.Step, Clients: l.Clients}
	i := slices.IndexFunc(v.Long, func(c lab.LongCell) bool { return c.Cell == at })
	if i < 0 {
		return nil
	}
	return &v.Long[i]
}

func (v *view) role(x lab.Variant, l lab.Level, name string) *lab.RoleMean {
	c := v.long(x, l)
	if c == nil {
		return nil
	}
	i := slices.IndexFunc(c.Roles, func(r lab.RoleMean) bool { return r.Role == name })
	if i < 0 {
		return nil
	}
	return &c.Roles[i]
}

// throughput returns the operations per second of a step's first role; NaN: none.
func (v *view) throughput(x lab.Variant, l lab.Level) float64 {
	if m := v.means[lab.Cell{Variant: x, Step: l.Step, Clients: l.Clients}]; m != nil {
		return m.Values[lab.QPS]
	}
	return math.NaN()
}

// pacer returns the first role of a level that has a rate and is not its result; empty:
// none.
func (v *view) pacer(l lab.Level) string {
	for _, x := range v.variants {
		if c := v.long(x, l); c != nil {
			for _, r := range c.Roles[min(1, len(c.Roles)):] {
				if r.Offered > 0 {
					return r.Role
				}
			}
		}
	}
	return ""
}

// slow reports whether some role of a level did not keep its rate.
func (v *view) slow(x lab.Variant, l lab.Level) bool {
	c := v.long(x, l)
	return c != nil && slices.ContainsFunc(c.Roles, func(r lab.RoleMean) bool { return !r.Sustained() })
}

// thousands writes a rate as a whole number, or with three digits if it is small.
func thousands(x float64) string {
	if math.Abs(x) < 100 {
		return amount(x)
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}

// insert returns the insert benchmark's own summary, and what it has for each step.
func (v *view) insert() []section {
	var out []section
	for _, n := range v.clients {
		for _, b := range v.boards(n) {
			out = append(out, b.section(v))
		}
		out = append(out, v.responses(n)...)
		if t := v.readings(n); len(t.rows) > 0 {
			out = append(out, section{title: "what each step cost, " + count(n, "client"), table: t})
		}
		if t := v.ioPerOp(n); len(t.rows) > 0 {
			out = append(out, section{title: "I/O of the engines per operation, by their own counters, " + count(n, "client"), table: t,
				intro: []string{"Of steps with readers and writers, reads are per query, and what is written per row that was inserted: deletes and what the server does in the background are in it."}})
		}
	}
	if len(out) == 0 {
		return []section{{intro: []string{"No step of this run is one long piece of work, as those of the workload insert are."}}}
	}
	return append(out, section{intro: []string{v.insertLegend()}})
}

func (v *view) insertLegend() string {
	return "↓ ↑: in the lowest, highest quarter of the column's range, over those whose writers kept their rate; no ↓ where the lowest is at least 80 % of the highest. " +
		"✗: a writer came to less than 95 % of its rate in some block, so queries beside it are not comparable. + −: over 105 %, under 95 % of the base. Means over blocks, without a verdict: `--view full` has the verdicts."
}

// section returns the table as text.
func (b board) section(v *view) section {
	t := &table{head: []string{"variant"}, fixed: 1}
	for _, l := range b.steps {
		t.head = append(t.head, v.step(l.Level.Step))
	}
	line := func(label string, cells []shaded) {
		out := plain(label)
		for _, c := range cells {
			text := none
			if finite(c.value) {
				text = b.text(c.value)
			}
			sign := c.shade.sign()
			if b.last != nil && label == "asked" {
				sign = ""
			}
			out = append(out, cell{parts: []string{text, sign}})
		}
		t.rows = append(t.rows, row{cells: out})
	}
	for i, x := range b.rows {
		line(v.labelled(x), b.cells[i])
	}
	if b.last != nil {
		line("asked", b.last)
	}
	return section{title: b.title, table: t}
}
