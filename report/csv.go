package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"backslide/lab"
)

// csvHead names the columns of CSV.
func csvHead() []string {
	return []string{
		"run", "workload", "step", "group", "clients",
		"base_build", "base_config", "base_engine", "base_copy", "build", "config", "engine", "copy",
		"metric", "unit", "higher_is_better", "base_value", "value",
		"ratio", "ratio_lo", "ratio_hi", "log_ratio", "lo", "hi", "eq_lo", "eq_hi", "sd", "df", "mde", "critical",
		"blocks", "broken_blocks", "verdict", "real", "done", "notes", "red", "amber", "held",
	}
}

// CSV writes one row per comparison and metric as RFC 4180 has it, with a line of
// headings. Values are in the unit of their row; lo, hi, eq_lo, eq_hi, sd and mde are
// logarithms as in lab.Comparison, ratio, ratio_lo and ratio_hi their exponentials.
// red is a verdict that holds over the whole report, amber one that holds for itself, held
// one that a doubt keeps from being red. verdict may also be "broken" or "not run". What is infinite or unknown is an empty
// field. A run of only one variant has rows with values and no verdict.
//
// Names are written as they are, but for those that a spreadsheet would run; see csvWriter.
func CSV(w io.Writer, s lab.Summary) error {
	out := newCSV(w)
	out.Write(csvHead())
	v := newView(s, lab.QPS)
	for i := range s.Comparisons {
		out.Write(v.csvRow(&s.Comparisons[i]))
	}
	if len(s.Comparisons) == 0 {
		for _, c := range s.Cells {
			for _, m := range lab.Metrics() {
				if x, ok := c.Values[m]; ok {
					out.Write(csvValue(s.Run.ID, c, m, x))
				}
			}
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write summary of run %d as CSV: %w", s.Run.ID, err)
	}
	return nil
}

func (v *view) csvRow(c *lab.Comparison) []string {
	e, _ := v.entry(c.Candidate, c.Level, c.Metric)
	f := csvNumber
	row := append(csvLevel(v.Run.ID, c.Level, c.Group), csvVariant(c.Base)...)
	row = append(row, csvVariant(c.Candidate)...)
	row = append(row, string(c.Metric), c.Metric.Unit(), strconv.FormatBool(c.Metric.HigherIsBetter()))
	verdict := string(c.Verdict)
	if len(c.Blocks) == 0 {
		verdict = string(e.state)
		row = append(row, make([]string, 14)...)
	} else {
		row = append(row, f(c.BaseValue), f(c.CandidateValue))
		row = append(row, csvRatio(c.LogRatio), csvRatio(c.Lo), csvRatio(c.Hi))
		for _, x := range []float64{c.LogRatio, c.Lo, c.Hi, c.EqLo, c.EqHi, c.SD, c.DF, c.MDE, c.Critical} {
			row = append(row, f(x))
		}
	}
	notes := c.Notes
	if e.why != "" {
		notes = append([]string{e.why}, notes...)
	}
	row = append(row, strconv.Itoa(len(c.Blocks)), strconv.Itoa(blocksOf(e.fails)), verdict,
		strconv.FormatBool(c.Real), strconv.FormatBool(c.Done), strings.Join(notes, "; "))
	return append(row, csvLamps(c, v.monitor(c.Candidate))...)
}

func csvValue(run int64, c lab.CellMean, m lab.Metric, x float64) []string {
	row := append(csvLevel(run, c.Cell.Level(), c.Group), "", "", "", "")
	row = append(row, csvVariant(c.Cell.Variant)...)
	row = append(row, string(m), m.Unit(), strconv.FormatBool(m.HigherIsBetter()), "", csvNumber(x))
	row = append(row, make([]string, 12)...)
	return append(row, strconv.Itoa(c.Blocks), "", "", "", "", "", "", "", "")
}

func csvLevel(run int64, l lab.Level, g lab.Group) []string {
	return []string{strconv.FormatInt(run, 10), l.Step.Workload, l.Step.Name, string(g), strconv.Itoa(l.Clients)}
}

func csvVariant(x lab.Variant) []string {
	return []string{x.Build, x.Config, x.Engine, strconv.Itoa(x.Copy)}
}

// csvNumber returns all digits that are needed to read x back.
func csvNumber(x float64) string {
	if !finite(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

func csvRatio(logRatio float64) string {
	if !finite(logRatio) {
		return ""
	}
	return strconv.FormatFloat(math.Exp(logRatio), 'g', 6, 64)
}
