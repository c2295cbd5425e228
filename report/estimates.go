package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"backslide/lab"
	"backslide/stat"
)

// EstimatesSchema is the value of "schema" in JSON of estimates.
const EstimatesSchema = "backslide-estimates/1"

// EstimateFormats lists the formats that Estimates knows.
func EstimateFormats() []string {
	return []string{"text", "html", "csv", "json", "markdown", "benchfmt", "openmetrics"}
}

// Estimates writes what was imported. Options.Metric may be any metric of the import.
// Nothing in it is a verdict, and it says so.
func Estimates(w io.Writer, format string, e lab.Estimates, o Options) error {
	if err := checkEstimates(e); err != nil {
		return err
	}
	o, err := o.resolveFor(e)
	if err != nil {
		return err
	}
	switch format {
	case "text":
		return writeText(w, estimateSections(e, o), o)
	case "markdown":
		return writeMarkdown(w, estimateSections(e, o))
	case "html":
		return estimatesPage(w, e, o)
	case "csv":
		return estimatesCSV(w, e)
	case "json":
		return estimatesJSON(w, e)
	case "benchfmt":
		return estimatesBenchfmt(w, e)
	case "openmetrics":
		return estimatesOpenMetrics(w, e)
	}
	if slices.Contains(Formats(), format) {
		return fmt.Errorf("report format %s is for runs; an import can be written as %s", format, strings.Join(EstimateFormats(), ", "))
	}
	return fmt.Errorf("report format %q is unknown%s", format, lab.Suggest(format, EstimateFormats()))
}

// checkEstimates finds what a caller must not pass.
func checkEstimates(e lab.Estimates) error {
	for _, r := range e.Rows {
		if len(r.Values) != len(e.Columns) {
			return fmt.Errorf("report on %s: %s has %d values for %d columns", e.Name, r.Step, len(r.Values), len(e.Columns))
		}
	}
	for i, c := range e.Columns {
		if c.Base >= len(e.Columns) || e.Base < 0 || e.Base >= len(e.Columns) {
			return fmt.Errorf("report on %s: column %d has no such base", e.Name, i)
		}
	}
	return nil
}

// resolveFor fills in options for an import and checks them.
func (o Options) resolveFor(e lab.Estimates) (Options, error) {
	metric := o.Metric
	o.Metric = ""
	o, err := o.resolve()
	if err != nil {
		return o, err
	}
	if o.Metric = metric; metric == "" {
		o.Metric = lab.QPS
	}
	known := estimateMetrics(e)
	if len(known) > 0 && !slices.Contains(known, string(o.Metric)) {
		if metric != "" {
			return o, fmt.Errorf("metric %q is not in %s%s; it has %s", metric, e.Name, lab.Suggest(string(metric), known), strings.Join(known, ", "))
		}
		o.Metric = lab.Metric(known[0])
	}
	return o, nil
}

// estimateMetrics lists the metrics of an import in the order of its rows.
func estimateMetrics(e lab.Estimates) []string {
	var out []string
	for _, r := range e.Rows {
		if !slices.Contains(out, r.Metric) {
			out = append(out, r.Metric)
		}
	}
	return out
}

// estimateSections returns an import as text and Markdown show it.
func estimateSections(e lab.Estimates, o Options) []section {
	s := sheetOf(e, o)
	out := []section{{intro: append([]string{estimatesTitle(e)}, s.standing(o)...)}}
	switch {
	case len(e.Rows) == 0:
		out = append(out, section{intro: []string{"There is nothing to show: it holds no absolute figures."}})
	case o.View == Steps:
		out = append(out, s.stepSections()...)
	case o.View == Groups:
		out = append(append(out, s.groupSections()...), s.summarySection(e.Groups))
	case o.View == Dense:
		out = append(out, s.denseSection(e.Dense))
	case o.View == Concurrency:
		out = append(out, s.concurrencySections()...)
	case o.View == Response:
		out = append(out, s.responseSections()...)
	case o.View == Brief:
		out = append(out, s.summarySection(e.Groups))
	default:
		out = append(append(out, s.groupSections()...), s.summarySection(e.Groups), s.absoluteSection())
	}
	return append(out, section{title: "Doubts", list: few20(e.Doubts)}, section{title: "Could not be read", list: few20(e.Problems)})
}

func estimatesTitle(e lab.Estimates) string {
	t := clean(e.Name) + ": figures that others measured"
	if e.Config != "" {
		t += ", all with config " + clean(e.Config)
	}
	return t
}

// standing says what estimates are worth.
func (s sheet) standing(o Options) []string {
	least, most := s.runs()
	bracketed := o.decimals() > 2 && slices.Contains([]string{Full, Steps, Groups, Concurrency}, o.View)
	var out []string
	switch {
	case least == 0:
		return nil
	case most == 1:
		out = append(out, "One run per cell: no verdict is possible. These are point estimates.")
		if bracketed {
			out = append(out, fmt.Sprintf("In brackets: how little single runs would have to vary (standard deviation) for the difference to mean something, at %s. If your runs repeat less well than that, it means nothing.", share(s.level)))
		}
	case least == most:
		out = append(out, fmt.Sprintf("%d runs per cell, which were not interleaved: no verdict is possible, since what drifted between runs is in the differences.", least))
	default:
		out = append(out, fmt.Sprintf("%d to %d runs per cell, which were not interleaved: no verdict is possible, since what drifted between runs is in the differences.", least, most))
	}
	if most > 1 && bracketed {
		out = append(out, fmt.Sprintf("In square brackets: the %s interval from how runs of a cell vary (Welch), drift not counted. In round ones, where a side has one run: how little single runs would have to vary for the difference to mean something.", share(1-s.level)))
	}
	return out
}

// few20 returns the first of many lines, cleaned.
func few20(lines []string) []string {
	const most = 20
	var out []string
	for i, l := range lines {
		if i == most {
			return append(out, fmt.Sprintf("and %d more; --format json has them all", len(lines)-most))
		}
		out = append(out, clean(l))
	}
	return out
}

// estimatesCSV writes one row per column, step, clients and metric. ratio is to the base;
// noise is the largest standard deviation between single runs, as a logarithm, with which
// the difference would be told from noise at 1 %. There is no verdict.
func estimatesCSV(w io.Writer, e lab.Estimates) error {
	out := newCSV(w)
	out.Write([]string{
		"workload", "step", "group", "clients", "host", "base", "variant", "metric", "unit", "base_value", "value", "base_runs", "runs", "ratio", "ratio_lo", "ratio_hi", "noise",
	})
	s := sheetOf(e, Options{})
	for _, r := range e.Rows {
		m := sheetMetric{}
		for _, x := range r.Values {
			m.values = append(m.values, figure{value: x.Value, runs: x.Runs, sd: x.SD, logRatio: math.NaN(), lo: math.Inf(-1), hi: math.Inf(1)})
		}
		m.relate(s.columns)
		for i, c := range e.Columns {
			f := m.values[i]
			if !f.measured() {
				continue
			}
			base, baseValue, baseRuns, noise := "", "", "", ""
			if c.Base >= 0 {
				b := m.values[c.Base]
				base, baseRuns = e.Columns[c.Base].Full, strconv.Itoa(b.runs)
				if b.measured() {
					baseValue = csvNumber(b.value)
				}
				if finite(f.logRatio) {
					noise = csvNumber(stat.NoiseFor(f.logRatio, f.runs, b.runs, alpha))
				}
			}
			out.Write([]string{
				r.Workload, r.Step, string(r.Group), clientsOrEmpty(r.Clients), c.Host, base, c.Full, r.Metric, r.Unit, baseValue, csvNumber(f.value), baseRuns, strconv.Itoa(f.runs),
				csvRatio(f.logRatio), csvRatio(f.lo), csvRatio(f.hi), noise,
			})
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write %s as CSV: %w", e.Name, err)
	}
	return nil
}

func clientsOrEmpty(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// estimatesJSON writes everything under the names of the tags of lab.Estimates.
func estimatesJSON(w io.Writer, e lab.Estimates) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	err := enc.Encode(struct {
		Schema  string `json:"schema"`
		Verdict string `json:"verdict"`
		lab.Estimates
	}{EstimatesSchema, "none: these are point estimates of an import", e})
	if err != nil {
		return fmt.Errorf("write %s as JSON: %w", e.Name, err)
	}
	return nil
}
