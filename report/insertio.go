package report

import (
	"slices"

	"backslide/lab"
)

// counted is a reading of an engine's I/O, as the insert view shows it per operation.
type counted struct {
	name, head string
	writes     bool    // per operation of the writers, where a step has readers and writers
	scale      float64 // of the unit shown
}

// engineIO lists what is shown per operation. These readings stand in no other table.
func engineIO() []counted {
	return []counted{
		{lab.PageReads, "page reads", false, 1},
		{lab.EngineReads, "read KiB", false, 1.0 / 1024},
		{lab.BlockReads, "block reads", false, 1},
		{lab.PageWrites, "page writes", true, 1},
		{lab.EngineWrites, "written KiB", true, 1.0 / 1024},
		{lab.Doublewrite, "doublewrite KiB", true, 1.0 / 1024},
		{"redo", "redo KiB", true, 1.0 / 1024},
		{lab.CompactionReads, "compaction reads KiB", true, 1.0 / 1024},
		{lab.Fsyncs, "fsyncs", true, 1},
	}
}

// onlyPerOp reports whether a reading is shown per operation alone.
func onlyPerOp(name string) bool {
	return name != "redo" && name != lab.EngineWrites && slices.ContainsFunc(engineIO(), func(c counted) bool { return c.name == name })
}

// ioPerOp returns the engines' I/O per operation, from their own counters; no rows where
// none tells.
func (v *view) ioPerOp(clients int) *table {
	t := &table{head: []string{"step", "variant"}, fixed: 2}
	var shown []counted
	for _, k := range engineIO() {
		if slices.ContainsFunc(v.Long, func(c lab.LongCell) bool {
			_, ok := reading(c.Readings, k.name)
			return ok && c.Cell.Clients == clients
		}) {
			shown = append(shown, k)
			t.head = append(t.head, k.head)
		}
	}
	if len(shown) == 0 {
		return t
	}
	for _, l := range v.Run.Levels {
		if !l.Whole() || l.Warm || l.Level.Clients != clients {
			continue
		}
		label := v.step(l.Level.Step)
		for _, x := range v.variants {
			c := v.long(x, l.Level)
			if c == nil || len(c.Roles) == 0 {
				continue
			}
			cells := []string{label, v.labelled(x)}
			for _, k := range shown {
				cells = append(cells, v.perOp(c, l, k))
			}
			t.rows = append(t.rows, row{cells: plain(cells...)})
			label = ""
		}
	}
	return t
}

// perOp returns a reading of a cell per operation.
func (v *view) perOp(c *lab.LongCell, l lab.LevelPlan, k counted) string {
	value, ok := reading(c.Readings, k.name)
	rate, end := c.Roles[0].Rate, v.wholeRole(c, l)
	if k.writes {
		rate = end
	}
	if !ok || rate <= 0 || end <= 0 {
		return none
	}
	seconds := float64(l.Ops) / end
	return amount(value * k.scale / (rate * seconds))
}

func reading(all []lab.Reading, name string) (float64, bool) {
	i := slices.IndexFunc(all, func(r lab.Reading) bool { return r.Name == name })
	if i < 0 {
		return 0, false
	}
	return all[i].Value, true
}
