package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"backslide/lab"
)

// Benchfmt writes the values of every block in the format of Go's benchmarks, which
// benchstat and golang.org/x/perf read: one line per block and cell, since the block is
// the replicate.
//
//	BenchmarkPointQuery/workload=sysbench/build=mariadb@10.5/config=default/engine=InnoDB/clients=4 1 24803 op/sec …
//
// The build of an A/A twin has #N behind its name. The base was measured beside each candidate; where it has
// several values for one block, the first candidate's stands. What a name must not hold
// (blanks, slashes, percent signs) is percent-encoded. The number of iterations is always
// 1. Compare with benchstat -col /build; its test takes no account of looking early, so
// its p-values are no verdicts.
func Benchfmt(w io.Writer, s lab.Summary) error {
	v := newView(s, lab.QPS)
	p := &printer{w: w}
	v.benchConfig(p)
	lines := v.benchLines()
	for _, g := range v.groups {
		for _, step := range g.steps {
			for _, n := range v.clients {
				for _, x := range v.variants {
					c := lab.Cell{Variant: x, Step: step, Clients: n}
					for _, b := range lines[c] {
						p.printf("%s 1%s\n", v.benchName(c), b.text())
					}
				}
			}
		}
	}
	return p.err
}

// estimatesBenchfmt writes an import in the same format: one line per cell with all its
// metrics, and as many iterations as it is the mean of runs. Which way other metrics than
// throughput are better is not known.
//
//	BenchmarkPointQuery/workload=sysbench/host=a/variant=my8045.c8r32/clients=4 1 24803 op/sec 0.0004 cpu/o-sec/op
func estimatesBenchfmt(w io.Writer, e lab.Estimates) error {
	p := &printer{w: w}
	p.printf("import: %s\nnote: figures that others measured, means over runs; no verdict\n\nUnit op/sec better=higher\n\n", strings.TrimSpace(clean(e.Name)))
	type cell struct {
		workload, step string
		clients        int
	}
	var order []cell
	rows := map[cell][]lab.EstimateRow{}
	for _, r := range e.Rows {
		c := cell{r.Workload, r.Step, r.Clients}
		if rows[c] == nil {
			order = append(order, c)
		}
		rows[c] = append(rows[c], r)
	}
	for _, c := range order {
		for i, column := range e.Columns {
			var values strings.Builder
			runs := 0
			for _, r := range rows[c] {
				if x := r.Values[i]; x.Runs > 0 && finite(x.Value) {
					runs = max(runs, x.Runs)
					fmt.Fprintf(&values, " %s %s", strconv.FormatFloat(x.Value, 'g', 8, 64), estimateUnit(r))
				}
			}
			if runs == 0 {
				continue
			}
			clients := "unknown"
			if c.clients > 0 {
				clients = strconv.Itoa(c.clients)
			}
			p.printf("Benchmark%s/workload=%s/host=%s/variant=%s/clients=%s %d%s\n",
				camel(c.step), encode(c.workload), encode(column.Host), encode(column.Full), clients, runs, values.String())
		}
	}
	return p.err
}

// estimateUnit returns a unit that is distinct for each metric of an import.
func estimateUnit(r lab.EstimateRow) string {
	switch {
	case r.Metric == string(lab.QPS):
		return lab.QPS.Unit()
	case r.Unit == "":
		return oneWord(r.Metric)
	}
	return oneWord(r.Metric + "-" + r.Unit)
}

// oneWord returns a name without blanks, as units have to be.
func oneWord(s string) string { return strings.Join(strings.Fields(clean(s)), "_") }

// benchConfig writes what holds for all lines, and which way units are better.
func (v *view) benchConfig(p *printer) {
	h := v.Run.Host
	for _, f := range []fact{
		{"experiment", v.Run.Name}, {"run", strconv.FormatInt(v.Run.ID, 10)}, {"seed", strconv.FormatUint(v.plan.Seed, 10)},
		{"placement", string(v.plan.Placement)}, {"freezer", v.Run.Freezer},
		{"cpu", h.CPU}, {"cpus", strconv.Itoa(h.CPUs)}, {"memory-bytes", strconv.FormatInt(h.Memory, 10)}, {"kernel", h.Kernel},
		{"governor", h.Governor}, {"hypervisor", h.Virtual}, {"file-system", h.FileSystem}, {"backslide", h.Client},
	} {
		if value := strings.TrimSpace(clean(f.Value)); value != "" && value != "0" {
			p.printf("%s: %s\n", f.Name, value)
		}
	}
	p.line("")
	for _, m := range lab.Metrics() {
		if m.Latency() && !v.measures(m) {
			continue // only open loops have them
		}
		better := "lower"
		if m.HigherIsBetter() {
			better = "higher"
		}
		p.printf("Unit %s better=%s\n", benchUnit(m), better)
	}
	p.line("")
}

// benchUnit returns a unit that is distinct for each metric, as one line holds them all.
func benchUnit(m lab.Metric) string {
	switch m {
	case lab.ClientCPU:
		return "client-" + m.Unit()
	case lab.Runq:
		return "runq-" + m.Unit()
	case lab.WriteIO:
		return "write-" + m.Unit()
	case lab.ReadIO:
		return "read-" + m.Unit()
	case lab.P50, lab.P95, lab.P99:
		return string(m) + "-" + m.Unit()
	}
	return m.Unit()
}

// benchLine is one block of one cell.
type benchLine struct {
	block  int
	values map[lab.Metric]float64
}

func (b benchLine) text() string {
	var out strings.Builder
	for _, m := range lab.Metrics() {
		if x, ok := b.values[m]; ok {
			fmt.Fprintf(&out, " %s %s", strconv.FormatFloat(x, 'g', 8, 64), benchUnit(m))
		}
	}
	return out.String()
}

// benchLines gathers the values of both sides of all comparisons by cell and block, in
// the order of blocks.
func (v *view) benchLines() map[lab.Cell][]benchLine {
	out := map[lab.Cell][]benchLine{}
	add := func(c lab.Cell, m lab.Metric, block int, ln float64) {
		x := math.Exp(ln)
		if !finite(x) {
			return
		}
		lines := out[c]
		i := 0
		for i < len(lines) && lines[i].block < block {
			i++
		}
		if i == len(lines) || lines[i].block != block {
			lines = append(lines[:i:i], append([]benchLine{{block, map[lab.Metric]float64{}}}, lines[i:]...)...)
			out[c] = lines
		}
		if _, ok := lines[i].values[m]; !ok {
			lines[i].values[m] = x
		}
	}
	for _, c := range v.Comparisons {
		for _, d := range c.Blocks {
			add(lab.Cell{Variant: c.Base, Step: c.Level.Step, Clients: c.Level.Clients}, c.Metric, d.Block, d.Base)
			add(lab.Cell{Variant: c.Candidate, Step: c.Level.Step, Clients: c.Level.Clients}, c.Metric, d.Block, d.Candidate)
		}
	}
	return out
}

// benchName ends in clients=N, so that a number behind a dash at the end of some other
// name is not taken for GOMAXPROCS.
func (v *view) benchName(c lab.Cell) string {
	build := c.Variant.Build
	if c.Variant.Copy > 0 {
		build += fmt.Sprintf("#%d", c.Variant.Copy)
	}
	return fmt.Sprintf("Benchmark%s/workload=%s/build=%s/config=%s/engine=%s/clients=%d", camel(c.Step.Name),
		encode(c.Step.Workload), encode(build), encode(c.Variant.Config), encode(c.Variant.Engine), c.Clients)
}

// camel returns point-query as PointQuery. Signs other than dashes stay, so that names
// remain distinct.
func camel(s string) string {
	var b strings.Builder
	for _, part := range strings.Split(s, "-") {
		for i, r := range part {
			if i == 0 {
				r = unicode.ToUpper(r)
			}
			b.WriteRune(r)
		}
	}
	return encode(b.String())
}

// encode replaces bytes that would end or split a name.
func encode(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == '/' || r == '%' || r == '\u2028' || r == '\u2029' {
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
