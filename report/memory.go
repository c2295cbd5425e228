package report

import (
	"fmt"
	"slices"
	"strconv"

	"backslide/lab"
)

// memory returns two tables for each number of clients: what servers held resident at the
// end of each step, in the order in which a block runs them, beside the step's relative
// throughput; and how that grew within a step. With one server for all steps of a block,
// the columns are memory over time.
func (v *view) memory(whole string, f *footnotes) []section {
	var out []section
	for _, n := range v.clients {
		if sec := v.resident(n, whole, f); sec.table != nil {
			out = append(out, sec, v.growth(n))
			if t := v.beyond(n); len(t.rows) > 0 {
				out = append(out, section{title: "MiB that servers account for themselves at the end of each step, and that they hold beyond, " + count(n, "client"), intro: []string{beyondLegend}, table: t})
			}
		}
	}
	if len(out) == 0 {
		return []section{{intro: []string{"The host does not tell how much memory the servers hold, or nothing has been run."}}}
	}
	return append(out, section{intro: []string{
		"Memory is of the whole server process, read at the ends of slices, means over blocks. Steps stand in the order in which a block runs them on one server, levels of other numbers of clients between them. " +
			"What one variant holds beyond another, for the same work, is overhead and fragmentation of its allocator, where the variants differ in nothing else.",
		v.caveat(), v.legend(),
	}})
}

// allocators returns memory beside throughput of a run whose variants have different
// allocators, for reports that are about more than that.
func (v *view) allocators(whole string, f *footnotes) []section {
	preloads := map[string]bool{}
	for _, x := range v.variants {
		c, _ := v.Run.Experiment.Config(x.Config)
		preloads[c.Preload] = true
	}
	if len(preloads) < 2 {
		return nil
	}
	var out []section
	for _, n := range v.clients {
		if sec := v.resident(n, whole, f); sec.table != nil {
			out = append(out, sec)
		}
	}
	return out
}

// resident returns a table of what servers held at the end of each step; without one
// where that is not known.
func (v *view) resident(clients int, whole string, f *footnotes) section {
	t := &table{head: []string{"step"}, fixed: 1}
	for _, x := range v.variants {
		t.head = append(t.head, v.labelled(x))
	}
	for _, l := range v.Run.Levels {
		if l.Warm || l.Level.Clients != clients {
			continue
		}
		cells := plain("  " + v.step(l.Level.Step))
		known := false
		for _, x := range v.variants {
			c, ok := v.memoryCell(x, l.Level, f)
			known = known || ok
			cells = append(cells, c)
		}
		if known {
			t.rows = append(t.rows, row{cells: cells})
		}
	}
	if len(t.rows) == 0 {
		return section{}
	}
	return section{
		title: fmt.Sprintf("MiB resident at the end of each step, and relative QPS to %s, %s%s", v.name(v.Run.Base), count(clients, "client"), whole),
		table: t,
	}
}

func (v *view) memoryCell(x lab.Variant, l lab.Level, f *footnotes) (cell, bool) {
	mean := v.means[lab.Cell{Variant: x, Step: l.Step, Clients: l.Clients}]
	if mean == nil || mean.Memory.Last <= 0 {
		return cell{parts: []string{none, "", ""}}, false
	}
	parts := []string{mebi(mean.Memory.Last), "", ""}
	c := cell{}
	if x != v.Run.Base {
		if base := v.means[lab.Cell{Variant: v.Run.Base, Step: l.Step, Clients: l.Clients}]; base != nil && base.Memory.Last > 0 {
			parts[1] = "×" + decimals(mean.Memory.Last/base.Memory.Last, 2)
		}
		r := v.ratioCell(x, l, f)
		parts[2], c.state = "QPS "+r.parts[0]+" "+r.parts[len(r.parts)-1], r.state
	}
	c.parts = parts
	return c, true
}

// growth returns what each variant's memory came to over a whole block: at the end of its
// first slice, at the end of its last, and the most at any.
func (v *view) growth(clients int) section {
	t := &table{head: []string{"variant", "first", "last", "most"}, fixed: 1}
	for _, x := range v.variants {
		var seen []lab.Memory
		for _, l := range v.Run.Levels {
			if mean := v.means[lab.Cell{Variant: x, Step: l.Level.Step, Clients: l.Level.Clients}]; !l.Warm && l.Level.Clients == clients && mean != nil && mean.Memory.Last > 0 {
				seen = append(seen, mean.Memory)
			}
		}
		if len(seen) == 0 {
			continue
		}
		most := slices.MaxFunc(seen, func(a, b lab.Memory) int { return int(a.Most - b.Most) }).Most
		t.rows = append(t.rows, row{cells: plain(v.labelled(x), mebi(seen[0].First), mebi(seen[len(seen)-1].Last), mebi(most))})
	}
	return section{title: "MiB resident over a block, " + count(clients, "client"), table: t}
}

// beyondLegend says what is accounted for. What it leaves out is the same for all variants
// of one build, so that allocators can be compared by what lies beyond.
const beyondLegend = "Accounted: MariaDB's Memory_used and InnoDB's dictionary and hash index; MySQL's Performance Schema, memory instruments; of engines, pages in use of InnoDB's buffer pool, " +
	"MyRocks' block cache and memtables. Beyond is resident less accounted: code and stacks, what no counter covers, and the allocator's overhead and fragmentation. n/a: the server does not tell."

// beyond returns, for each step, what servers account for themselves and what they hold
// resident beyond that; no rows where none tells.
func (v *view) beyond(clients int) *table {
	t := &table{head: []string{"step"}, fixed: 1}
	for _, x := range v.variants {
		t.head = append(t.head, v.labelled(x))
	}
	for _, l := range v.Run.Levels {
		if l.Warm || l.Level.Clients != clients {
			continue
		}
		cells, known := plain("  "+v.step(l.Level.Step)), false
		for _, x := range v.variants {
			m := v.means[lab.Cell{Variant: x, Step: l.Level.Step, Clients: clients}]
			if m == nil || m.Memory.Accounted <= 0 || m.Memory.Last <= 0 {
				cells = append(cells, cell{parts: []string{"n/a", ""}})
				continue
			}
			known = true
			// Pages that are in use and not resident, or were just freed, are no negative fragmentation.
			cells = append(cells, cell{parts: []string{mebi(m.Memory.Accounted), "+" + mebi(max(0, m.Memory.Last-m.Memory.Accounted))}})
		}
		if known {
			t.rows = append(t.rows, row{cells: cells})
		}
	}
	return t
}

// mebi returns bytes as MiB.
func mebi(b float64) string { return strconv.FormatFloat(b/(1<<20), 'f', 1, 64) }
