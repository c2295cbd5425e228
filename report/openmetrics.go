package report

import (
	"fmt"
	"io"
	"strings"

	"backslide/lab"
)

// OpenMetrics writes a summary as the OpenMetrics text format, for a Prometheus that reads
// files or a push gateway: gauges in base units with the cell in labels, ratios with the
// ends of their intervals, and verdicts as a set of states. Ends that are infinite are
// left out, and metrics that no cell has.
func OpenMetrics(w io.Writer, s lab.Summary) error {
	v := newView(s, lab.QPS)
	p := &printer{w: w}
	for _, m := range lab.Metrics() {
		if m.Latency() && !v.measures(m) {
			continue // only open loops have them
		}
		name := openName(m)
		headed := false
		for _, c := range v.Cells {
			if x, ok := c.Values[m]; ok && finite(x) {
				if !headed {
					openHead(p, name, "gauge", openUnit(m), scaleOf(m).name+", "+m.Unit()+", mean over blocks")
					headed = true
				}
				p.printf("%s{%s} %s\n", name, v.openCell(c.Cell), csvNumber(x))
			}
		}
	}
	openHead(p, "backslide_relative", "gauge", "", "candidate divided by base, geometric mean over blocks; end is estimate, or low or high of the interval")
	for i := range v.Comparisons {
		c := &v.Comparisons[i]
		if len(c.Blocks) == 0 {
			continue
		}
		labels := v.openComparison(c)
		for _, end := range []struct {
			name string
			log  float64
		}{{"estimate", c.LogRatio}, {"low", c.Lo}, {"high", c.Hi}} {
			if finite(end.log) {
				p.printf("backslide_relative{%s,end=\"%s\"} %s\n", labels, end.name, csvRatio(end.log))
			}
		}
	}
	openHead(p, "backslide_verdict", "stateset", "", "what a comparison says")
	for i := range v.Comparisons {
		c := &v.Comparisons[i]
		if len(c.Blocks) == 0 {
			continue
		}
		for _, verdict := range []lab.Verdict{lab.Regressed, lab.Improved, lab.Equivalent, lab.Inconclusive} {
			on := 0
			if c.Verdict == verdict {
				on = 1
			}
			p.printf("backslide_verdict{%s,backslide_verdict=\"%s\"} %d\n", v.openComparison(c), verdict, on)
		}
	}
	p.line("# EOF")
	return p.err
}

// openHead writes what is known of a metric family.
func openHead(p *printer, name, kind, unit, help string) {
	p.printf("# TYPE %s %s\n", name, kind)
	if unit != "" {
		p.printf("# UNIT %s %s\n", name, unit)
	}
	p.printf("# HELP %s %s\n", name, openEscape(help))
}

// openName returns the name of a metric family, which has to end in its unit.
func openName(m lab.Metric) string {
	name := "backslide_" + strings.ReplaceAll(string(m), "-", "_")
	switch m {
	case lab.QPS:
		return "backslide_operations_per_second"
	case lab.WriteIO, lab.ReadIO:
		return name // ends in bytes
	}
	if u := openUnit(m); u != "" {
		return name + "_" + u
	}
	return name
}

// openUnit returns the unit of a family in the format's own words; per operation is
// understood, but for throughput.
func openUnit(m lab.Metric) string {
	switch m {
	case lab.ServerCPU, lab.ClientCPU, lab.Runq:
		return "seconds"
	case lab.WriteIO, lab.ReadIO:
		return "bytes"
	}
	return ""
}

func (v *view) openCell(c lab.Cell) string {
	return openLabels(v.Run.ID, v.Run.Name, c.Step, c.Clients) + "," + openVariant("", c.Variant)
}

func (v *view) openComparison(c *lab.Comparison) string {
	return openLabels(v.Run.ID, v.Run.Name, c.Level.Step, c.Level.Clients) + "," + openVariant("", c.Candidate) + "," + openVariant("base_", c.Base) +
		fmt.Sprintf(",metric=\"%s\"", openEscape(string(c.Metric)))
}

func openLabels(run int64, name string, s lab.Step, clients int) string {
	return fmt.Sprintf("run=\"%d\",experiment=\"%s\",workload=\"%s\",step=\"%s\",clients=\"%d\"", run, openEscape(name), openEscape(s.Workload), openEscape(s.Name), clients)
}

func openVariant(prefix string, x lab.Variant) string {
	return fmt.Sprintf("%[1]sbuild=\"%[2]s\",%[1]sconfig=\"%[3]s\",%[1]sengine=\"%[4]s\",%[1]scopy=\"%[5]d\"",
		prefix, openEscape(x.Build), openEscape(x.Config), openEscape(x.Engine), x.Copy)
}

// openEscape writes text as it stands between quotes.
func openEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\ufffd"))
}

// estimatesOpenMetrics writes an import, whose metrics have names of others: the name and
// the unit are labels.
func estimatesOpenMetrics(w io.Writer, e lab.Estimates) error {
	p := &printer{w: w}
	openHead(p, "backslide_imported", "gauge", "", "a figure that others measured, mean over runs; no verdict")
	for _, r := range e.Rows {
		for i, x := range r.Values {
			if x.Runs == 0 || !finite(x.Value) {
				continue
			}
			p.printf("backslide_imported{import=\"%s\",workload=\"%s\",step=\"%s\",clients=\"%s\",host=\"%s\",variant=\"%s\",metric=\"%s\",unit=\"%s\",runs=\"%d\"} %s\n",
				openEscape(e.Name), openEscape(r.Workload), openEscape(r.Step), clientsOrEmpty(r.Clients), openEscape(e.Columns[i].Host), openEscape(e.Columns[i].Full),
				openEscape(r.Metric), openEscape(r.Unit), x.Runs, csvNumber(x.Value))
		}
	}
	p.line("# EOF")
	return p.err
}
