package report

import (
	"fmt"
	"io"
	"strconv"

	"backslide/lab"
)

// CSVInsert writes what the insert view shows as one row per value, with a line of
// headings: throughput, relative throughput, rates and response times of each role, and
// readings. values are in the unit beside them; shade is empty, low, high, missed, better,
// worse or behind.
func CSVInsert(w io.Writer, s lab.Summary) error {
	v := newView(s, lab.QPS)
	out := newCSV(w)
	out.Write([]string{"run", "step", "clients", "build", "config", "engine", "copy", "role", "what", "value", "unit", "shade"})
	write := func(l lab.Level, x lab.Variant, role, what string, value float64, unit string, sh shade) {
		row := append([]string{strconv.FormatInt(s.Run.ID, 10), v.step(l.Step), strconv.Itoa(l.Clients)}, csvVariant(x)...)
		out.Write(append(row, clean(role), what, csvNumber(value), unit, string(sh)))
	}
	for _, n := range v.clients {
		boards := v.boards(n)
		for i, b := range boards {
			what, unit := []string{"throughput", "relative throughput", "rate of writers"}[i], []string{"op/sec", "1", "op/sec"}[i]
			for r, x := range b.rows {
				for c, l := range b.steps {
					if cell := b.cells[r][c]; finite(cell.value) {
						write(l.Level, x, "", what, cell.value, unit, cell.shade)
					}
				}
			}
		}
	}
	for _, c := range s.Long {
		l, x := c.Cell.Level(), c.Cell.Variant
		for _, r := range c.Roles {
			write(l, x, r.Role, "rate", r.Rate, "op/sec", "")
			if r.Offered > 0 {
				write(l, x, r.Role, "asked", r.Offered, "op/sec", "")
				write(l, x, r.Role, "blocks behind", float64(r.Slow), "1", "")
			}
			for i, value := range []float64{r.P50, r.P95, r.P99, r.Max} {
				write(l, x, r.Role, []string{"p50", "p95", "p99", "max"}[i], value, "sec", "")
			}
			for i, share := range r.Shares {
				write(l, x, r.Role, "share up to "+boundNames()[i], share, "1", "")
			}
			for i, rate := range r.Seconds {
				write(l, x, r.Role, "met in "+[]string{"50", "95", "99"}[i]+" % of seconds", rate, "op/sec", "")
			}
		}
		for _, r := range c.Readings {
			write(l, x, "", r.Name, r.Value, r.Unit, "")
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write the insert view of run %d as CSV: %w", s.Run.ID, err)
	}
	return nil
}
