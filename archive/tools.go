package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"backslide/lab"
)

// sysbench reads an output of sysbench with the parser of another package. What that does
// not care for, the command line that the reference scripts put first, is in the head.
func (f *file) sysbench(r io.Reader, head []byte) error {
	parse := f.reader.options.Tools.Sysbench
	if parse == nil {
		f.problem(0, "an output of sysbench, which nothing here was set up to read")
		return nil
	}
	s, err := parse(r)
	if err != nil {
		return err
	}
	if !f.usable(s.Warnings, s.Invalid) {
		return nil
	}
	c := f.sysbenchCell(s, head)
	line := 1 + strings.Count(string(head[:max(0, strings.Index(string(head), "\nSQL statistics:")+1)]), "\n")
	put := func(metric, unit string, v float64) {
		if v >= 0 && !math.IsInf(v, 0) {
			f.add(Record{Cell: c, Metric: metric, Unit: unit, Value: v, Origin: Output, Line: line})
		}
	}
	if rows, ok := option(head, "table-size"); ok && strings.HasPrefix(c.Step, "scan") && s.Avg > 0 {
		put(QPS, "krow/sec", ScanRate(rows, s.Avg))
		put(ScanTotal, "krow/sec", ScanTotalRate(rows, s.Queries))
	} else {
		put(QPS, "", s.Queries)
	}
	put("events", "events/sec", s.Events)
	put("latency-min", "sec", s.Min)
	put("latency-avg", "sec", s.Avg)
	put("latency-max", "sec", s.Max)
	if s.Percent > 0 {
		put("latency-p"+strconv.FormatFloat(s.Percent, 'f', -1, 64), "sec", s.P)
	}
	put("errors", "errors/sec", s.Errors)
	put("reconnects", "reconnects/sec", s.Reconnects)
	return nil
}

// ScanRate returns the published rate of a scan in thousands of rows per second: one
// connection's, from the mean latency in seconds. It is not the total of all connections.
func ScanRate(rowsPerTable, avg float64) float64 { return rowsPerTable / 1000 / avg }

// ScanTotalRate returns the rate of a scan as it was published before 19 April 2025, in
// thousands of rows per second of all connections together, from scans per second as
// sysbench prints them, with two decimals.
func ScanTotalRate(rowsPerTable, scansPerSecond float64) float64 {
	return rowsPerTable / 1000 * scansPerSecond
}

// sysbenchCell completes what the file's name says with what the output does.
func (f *file) sysbenchCell(s Sysbench, head []byte) Cell {
	c := f.cell()
	if !f.known {
		c.Workload, c.Step = "sysbench", f.stem
		if m := regexp.MustCompile(`([A-Za-z][A-Za-z0-9_-]*)\.lua\b`).FindSubmatch(head); m != nil {
			c.Step = clean(string(m[1]))
		}
		c.Clients = 0
	}
	if s.Threads > 0 {
		if c.Clients > 0 && c.Clients != s.Threads {
			f.doubt(0, "the name says %d clients, the output %d threads; the output's count is used", c.Clients, s.Threads)
		}
		c.Clients = s.Threads
	}
	return c
}

// option returns a numeric option of a command line in the head of a file.
func option(head []byte, name string) (float64, bool) {
	_, rest, ok := strings.Cut(string(head), "--"+name+"=")
	if !ok {
		return 0, false
	}
	end := strings.IndexAny(rest, " \t\r\n")
	if end < 0 {
		return 0, false
	}
	return number(rest[:end])
}

// usable takes down what a parser says of an output, and reports whether it has figures.
func (f *file) usable(warnings []string, invalid string) bool {
	for _, w := range warnings {
		f.doubt(0, "%s", clean(w))
	}
	if invalid != "" {
		f.problem(0, "no figures: %s", clean(invalid))
	}
	return invalid == ""
}

// slap reads an output of mysqlslap, text or CSV. Its times are of rounds: nothing in them
// is a latency of a query.
func (f *file) slap(r io.Reader) error {
	parse := f.reader.options.Tools.Slap
	if parse == nil {
		f.problem(0, "an output of mysqlslap, which nothing here was set up to read")
		return nil
	}
	s, err := parse(r)
	if err != nil {
		return err
	}
	if !f.usable(s.Warnings, s.Invalid) {
		return nil
	}
	for i, row := range s.Rows {
		c := f.cell()
		c.Workload, c.Step, c.Clients = "mysqlslap", f.stem, row.Clients
		if row.Label != "" && row.Label != "mixed" {
			c.Step = clean(row.Label)
		}
		c.Engine = engine(row.Engine)
		put := func(metric, unit string, v float64) {
			f.add(Record{Cell: c, Metric: metric, Unit: unit, Value: v, Origin: Output, Line: 0})
		}
		if row.Avg > 0 && row.Queries > 0 {
			put(QPS, "", float64(row.Queries)/row.Avg)
		} else {
			f.problem(0, "row %d has no rate: %d queries in %g s", i+1, row.Queries, row.Avg)
		}
		put("round-avg", "sec", row.Avg)
		put("round-min", "sec", row.Min)
		put("round-max", "sec", row.Max)
	}
	return nil
}

func engine(name string) string {
	if proper, ok := lab.Engines()[strings.ToLower(name)]; ok {
		return proper
	}
	return clean(name)
}

// document reads a summary that backslide exported.
func (f *file) document(r io.Reader) error {
	parse := f.reader.options.Tools.Summary
	if parse == nil {
		f.problem(0, "a summary of backslide's own, which nothing here was set up to read")
		return nil
	}
	limited := &io.LimitedReader{R: r, N: maxJSON}
	s, err := parse(limited)
	var at *json.SyntaxError
	switch {
	case err != nil && limited.N <= 0:
		f.problem(0, "a summary of more than %d MB; not read", maxJSON>>20)
		return nil
	case errors.As(err, &at):
		f.problem(0, "byte %d: %s", at.Offset, clean(err.Error()))
		return nil
	case err != nil:
		f.problem(0, "%s", clean(err.Error()))
		return nil
	}
	f.result.Summaries = append(f.result.Summaries, s)
	for _, m := range s.Cells {
		c := Cell{
			Variant: Variant{Build: clean(m.Cell.Variant.Build), Config: clean(m.Cell.Variant.Config), Engine: clean(m.Cell.Variant.Engine)},
			Test:    Test{Workload: clean(m.Cell.Step.Workload), Step: clean(m.Cell.Step.Name), Clients: m.Cell.Clients},
		}
		if n := m.Cell.Variant.Copy; n > 0 {
			c.Build += fmt.Sprintf("#%d", n)
		}
		for _, metric := range lab.Metrics() {
			if v, ok := m.Values[metric]; ok {
				f.add(Record{Cell: c, Metric: string(metric), Unit: metric.Unit(), Value: v, Runs: m.Blocks, Origin: Output})
			}
		}
	}
	return nil
}

// gobench reads Go's benchmark format. The parts of a name that backslide writes make the
// cell; of other benchmarks the name is the step and the file the build.
func (f *file) gobench(r io.Reader) error {
	br := benchfmt.NewReader(r, f.shown)
	for br.Scan() && !f.full {
		switch rec := br.Result().(type) {
		case *benchfmt.SyntaxError:
			f.problem(rec.Line, "%s", clean(rec.Msg))
		case *benchfmt.Result:
			_, line := rec.Pos()
			c := f.benchCell(rec)
			for _, v := range rec.Values {
				metric, unit := benchMetric(v.Unit)
				if v.Value < 0 || math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
					f.problem(line, "%s cannot be %g", clean(v.Unit), v.Value)
					continue
				}
				f.add(Record{Cell: c, Metric: metric, Unit: unit, Value: v.Value, Origin: Output, Line: line})
			}
		}
	}
	if err := br.Err(); err != nil {
		f.problem(0, "reading stopped: %s", clean(err.Error()))
	}
	return nil
}

func (f *file) benchCell(r *benchfmt.Result) Cell {
	c := f.cell()
	base, parts := r.Name.Parts()
	c.Test = Test{Step: string(base)}
	if b := r.GetConfig("build"); b != "" {
		c.Build = b
	}
	for _, part := range parts {
		key, value, ok := strings.Cut(strings.TrimPrefix(string(part), "/"), "=")
		if v, err := url.PathUnescape(value); err == nil {
			value = v
		}
		switch {
		case ok && key == "workload":
			c.Workload, c.Step = clean(value), dashed(string(base))
		case ok && key == "build":
			c.Build = value
		case ok && key == "config":
			c.Config = clean(value)
		case ok && key == "engine":
			c.Engine = engine(value)
		case ok && key == "clients":
			c.Clients, _ = count(value)
		case part[0] == '-': // GOMAXPROCS
		default:
			c.Step += string(part)
		}
	}
	c.Build, c.Step = clean(c.Build), clean(c.Step)
	return c
}

// benchMetric returns the metric of a unit: several metrics of ours have a unit of their own
// in this format.
func benchMetric(u string) (metric, unit string) {
	for _, m := range []struct {
		in     string
		metric lab.Metric
	}{
		{"op/sec", lab.QPS}, {"cpu-sec/op", lab.ServerCPU}, {"client-cpu-sec/op", lab.ClientCPU}, {"runq-sec/op", lab.Runq},
		{"switches/op", lab.Switches}, {"write-B/op", lab.WriteIO}, {"read-B/op", lab.ReadIO},
		{"p50-sec/op", lab.P50}, {"p95-sec/op", lab.P95}, {"p99-sec/op", lab.P99},
	} {
		if u == m.in {
			return string(m.metric), m.metric.Unit()
		}
	}
	u = clean(u)
	return u, u
}

// dashed returns PointQuery as point-query.
func dashed(s string) string {
	var b strings.Builder
	for i, r := range s {
		if unicode.IsUpper(r) {
			if i > 0 {
				b.WriteByte('-')
			}
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	if v, err := url.PathUnescape(b.String()); err == nil {
		return v
	}
	return b.String()
}
