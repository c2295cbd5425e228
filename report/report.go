// Package report turns a run's summary into something that people or programs read:
// text for a terminal, Markdown, CSV, JSON, Go's benchmark format, and one HTML page. It
// writes to an io.Writer and does nothing else: it judges nothing and reads nothing.
//
// Everything that people read is drawn from one arrangement of the summary, view, so that
// all formats have the same rows in the same order and say the same words. Numbers for
// people carry scaled units (µs/op); numbers for programs are in lab.Metric.Unit().
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"backslide/lab"
)

// Options says how a report looks.
type Options struct {
	Metric lab.Metric // what the verdict tables show; empty: lab.QPS
	Width  int        // columns of the terminal, to which tables are wrapped; 0: no limit
	Color  bool       // colour verdicts with ANSI escapes, in text only
	View   string     // one of Views; empty: Full
	Whys   []Why      // explanations of single verdicts, in the page only

	// Past is the history of the experiment up to this run, in the page only.
	Past lab.History

	// Decimals of ratios in text and Markdown: 3, which 0 means, or 2. With 2 they stand
	// alone, without intervals, where a table is not about verdicts.
	Decimals int
}

// The views of a report in text and Markdown.
const (
	Full  = "full"  // everything
	Brief = "brief" // sentences, verdict tables, failures and footnotes

	Dense       = "dense"       // sentences, and a row per candidate: averages of point, range and write steps
	Totals      = "totals"      // sentences, and seconds of fixed work by category and step
	Residence   = "memory"      // sentences, and memory of the servers beside throughput, step by step
	Insert      = "insert"      // the insert benchmark's own tables of long steps: absolute, relative, rates of writers, response times, costs
	Concurrency = "concurrency" // sentences, and two tables per step: values and ratios by number of clients

	Steps    = "steps"    // the least compressed: per step all metrics, absolute and relative
	Groups   = "groups"   // a table per group of steps, and least, greatest, average and median of each
	Response = "response" // normalised response time per step, by number of clients
)

// Formats lists the names that Write knows.
func Formats() []string {
	return []string{"text", "html", "csv", "json", "markdown", "benchfmt", "csv-groups", "openmetrics"}
}

// Write writes a summary in the format of that name. Options matter to text and Markdown,
// and to CSV, which has totals where that is the view.
func Write(w io.Writer, format string, s lab.Summary, o Options) error {
	switch lab.Spelled(format, Formats()) {
	case "text":
		return Text(w, s, o)
	case "html":
		return HTML(w, s, o)
	case "csv":
		switch o.View {
		case Totals:
			return CSVTotals(w, s)
		case Insert:
			return CSVInsert(w, s)
		}
		return CSV(w, s)
	case "csv-groups":
		return CSVGroups(w, s)
	case "json":
		return JSON(w, s)
	case "markdown":
		return Markdown(w, s, o)
	case "benchfmt":
		return Benchfmt(w, s)
	case "openmetrics":
		return OpenMetrics(w, s)
	}
	return fmt.Errorf("report format %q is unknown%s", format, lab.Suggest(format, Formats()))
}

// Views lists the views of a report.
func Views() []string {
	return []string{Full, Brief, Dense, Concurrency, Steps, Groups, Response, Totals, Residence, Insert}
}

// resolve fills in the zero options and checks the others.
func (o Options) resolve() (Options, error) {
	if o.Metric == "" {
		o.Metric = lab.QPS
	}
	if o.View == "" {
		o.View = Full
	}
	var known []string
	for _, m := range lab.Metrics() {
		known = append(known, string(m))
	}
	o.Metric, o.View = lab.Metric(lab.Spelled(string(o.Metric), known)), lab.Spelled(o.View, Views())
	if !slices.Contains(known, string(o.Metric)) {
		return o, fmt.Errorf("metric %q is unknown%s", o.Metric, lab.Suggest(string(o.Metric), known))
	}
	if o.Decimals != 0 && o.Decimals != 2 && o.Decimals != 3 {
		return o, fmt.Errorf("ratios have 2 or 3 decimals, not %d", o.Decimals)
	}
	if !slices.Contains(Views(), o.View) {
		return o, fmt.Errorf("view %q is unknown%s", o.View, lab.Suggest(o.View, Views()))
	}
	return o, nil
}

// decimals returns how many decimals ratios have.
func (o Options) decimals() int { return cmp.Or(o.Decimals, 3) }

// printer writes until the first error, and keeps that.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

// line prints a line without blanks at its end.
func (p *printer) line(s string) { p.printf("%s\n", strings.TrimRight(s, " ")) }
