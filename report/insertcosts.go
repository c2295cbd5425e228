package report

import (
	"slices"
	"strconv"

	"backslide/lab"
)

// responses returns, for each kind of statement, a table of how long it took: shares of
// all clients' together, and the longest.
func (v *view) responses(clients int) []section {
	t := &table{head: append([]string{"step", "variant"}, boundNames()...), fixed: 2}
	t.head = append(t.head, "p50 ms", "p99 ms", "max ms", "op/s met in\n50 % of s", "99 % of s")
	for _, l := range v.Run.Levels {
		if !l.Whole() || l.Warm || l.Level.Clients != clients {
			continue
		}
		for _, role := range v.roleNames(l.Level) {
			label := v.step(l.Level.Step)
			if role != "" {
				label += " " + clean(role)
			}
			for _, x := range v.variants {
				r := v.role(x, l.Level, role)
				if r == nil {
					continue
				}
				t.rows = append(t.rows, row{cells: append(plain(label, v.labelled(x)), responseCells(*r)...)})
				label = ""
			}
		}
	}
	if len(t.rows) == 0 {
		return nil
	}
	return []section{{title: "share of responses that took up to, in %, " + count(clients, "client"), table: t}}
}

// boundNames are the headings of response times.
func boundNames() []string {
	return []string{"256 µs", "1 ms", "4 ms", "16 ms", "64 ms", "256 ms", "1 s", "4 s", "16 s", "> 16 s"}
}

func (v *view) roleNames(l lab.Level) []string {
	var out []string
	for _, x := range v.variants {
		if c := v.long(x, l); c != nil {
			for _, r := range c.Roles {
				if !slices.Contains(out, r.Role) {
					out = append(out, r.Role)
				}
			}
		}
	}
	return out
}

func responseCells(r lab.RoleMean) []cell {
	var out []string
	for i := range boundNames() {
		text := ""
		if i < len(r.Shares) {
			text = shareText(r.Shares[i])
		}
		out = append(out, text)
	}
	for _, s := range []float64{r.P50, r.P99, r.Max} {
		out = append(out, amount(1000*s))
	}
	for _, i := range []int{0, 2} {
		if len(r.Seconds) > i {
			out = append(out, thousands(r.Seconds[i]))
		} else {
			out = append(out, none)
		}
	}
	return plain(out...)
}

// shareText writes a share of responses in percent: nothing for none, and never 0 for some.
func shareText(x float64) string {
	p := strconv.FormatFloat(100*x, 'f', 3, 64)
	switch {
	case x <= 0:
		return ""
	case p == "0.000":
		return "nonzero"
	}
	return p
}

// readings returns what each step cost: time, CPU, I/O and sizes.
func (v *view) readings(clients int) *table {
	t := &table{head: []string{"step", "variant", "seconds", "server CPU\nµs/op", "client CPU\nµs/op", "written\nB/op", "read\nB/op"}, fixed: 2}
	var names []string
	for _, c := range v.Long {
		for _, r := range c.Readings {
			if c.Cell.Clients == clients && r.Name != "observed" && !onlyPerOp(r.Name) && !slices.Contains(names, r.Name) {
				names = append(names, r.Name)
			}
		}
	}
	units := map[string]string{}
	for _, c := range v.Long {
		for _, r := range c.Readings {
			units[r.Name] = map[string]string{"B": "MiB", "1": "", "B/B": "×", "sec": "s"}[r.Unit]
		}
	}
	for _, n := range names {
		t.head = append(t.head, clean(n)+"\n"+units[n])
	}
	for _, l := range v.Run.Levels {
		if !l.Whole() || l.Warm || l.Level.Clients != clients {
			continue
		}
		label := v.step(l.Level.Step)
		for _, x := range v.variants {
			c, m := v.long(x, l.Level), v.means[lab.Cell{Variant: x, Step: l.Level.Step, Clients: clients}]
			if c == nil || m == nil {
				continue
			}
			cells := []string{label, v.labelled(x), none}
			if role := v.wholeRole(c, l); role > 0 {
				cells[2] = amount(float64(l.Ops) / role)
			}
			for _, metric := range []lab.Metric{lab.ServerCPU, lab.ClientCPU, lab.WriteIO, lab.ReadIO} {
				text := none
				if value, ok := m.Values[metric]; ok {
					text = amount(value * scaleOf(metric).factor)
				}
				cells = append(cells, text)
			}
			for _, n := range names {
				cells = append(cells, readingText(c.Readings, n))
			}
			t.rows = append(t.rows, row{cells: plain(cells...)})
			label = ""
		}
	}
	return t
}

// wholeRole returns the rate of the role whose operations end the step.
func (v *view) wholeRole(c *lab.LongCell, l lab.LevelPlan) float64 {
	if name := v.pacer(l.Level); name != "" {
		if r := v.role(c.Cell.Variant, l.Level, name); r != nil {
			return r.Rate
		}
	}
	return c.Roles[0].Rate
}

func readingText(all []lab.Reading, name string) string {
	for _, r := range all {
		if r.Name != name {
			continue
		}
		if r.Unit == "B" {
			return amount(r.Value / (1 << 20))
		}
		return amount(r.Value)
	}
	return none
}
