package report

import (
	"slices"
	"strconv"
	"strings"

	"backslide/lab"
)

// clocks returns how long the operations of fixed work took by the servers' own clocks, and
// what share that is of the time that the client waited for them; no rows if no server
// tells. The rest of that time is the way to the server and back, and its threads' way
// onto a CPU.
func (v *view) clocks(clients int) section {
	t := &table{head: []string{"step"}, fixed: 1}
	for _, x := range v.variants {
		t.head = append(t.head, v.labelled(x))
	}
	var by []string
	for _, l := range v.Run.Levels {
		if l.Warm || l.Ops == 0 || l.Level.Clients != clients {
			continue
		}
		cells, known := plain("  "+v.step(l.Level.Step)), false
		for _, x := range v.variants {
			c := v.clockOf(x, l.Level)
			cells, known = append(cells, clockCell(c)), known || c.Slices > 0
			for _, k := range c.By {
				if !slices.Contains(by, string(k)) {
					by = append(by, string(k))
				}
			}
		}
		if known {
			t.rows = append(t.rows, row{cells: cells})
		}
	}
	return section{
		title: "milliseconds per operation by the servers' own clocks (" + strings.Join(by, ", ") + "), and their share of the client's time, " + count(clients, "client"),
		table: t,
	}
}

func (v *view) clockOf(x lab.Variant, l lab.Level) lab.Clocks {
	if m := v.means[lab.Cell{Variant: x, Step: l.Step, Clients: l.Clients}]; m != nil {
		return m.Clocks
	}
	return lab.Clocks{}
}

// clockCell returns the server's milliseconds and their share; a server that tells no
// time of its own is not available, which is not zero.
func clockCell(c lab.Clocks) cell {
	if c.Slices == 0 {
		return cell{parts: []string{"n/a", ""}}
	}
	share := ""
	if c.Client > 0 {
		share = strconv.FormatFloat(100*c.Server/c.Client, 'f', 0, 64) + " %"
	}
	return cell{parts: []string{amount(1000 * c.Server), share}}
}

// clocksLegend says why a server may tell no time of its own.
const clocksLegend = "n/a: not available. A server times statements itself where its Performance Schema is on; where it is off, statements of whole tables, a few to a slice, are timed by SHOW PROFILE, and others not at all. " +
	"Beyond 100 %: a server still works on a statement when it has answered."
