package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"backslide/lab"
)

// CSVGroups writes one row per candidate, group of steps and number of clients, with a
// line of headings; clients is empty over all of them. ratio is the geometric mean of the
// group's steps and ratio_lo, ratio_hi its interval; log_ratio, lo and hi are their
// logarithms. min, max, average and median are of the steps' own ratios. What is infinite
// or unknown is an empty field.
func CSVGroups(w io.Writer, s lab.Summary) error {
	v := newView(s, lab.QPS)
	out := newCSV(w)
	out.Write([]string{
		"run", "group", "clients", "base_build", "base_config", "base_engine", "base_copy", "build", "config", "engine", "copy",
		"metric", "steps", "blocks", "ratio", "ratio_lo", "ratio_hi", "log_ratio", "lo", "hi",
		"min", "max", "average", "median", "verdict", "red", "amber", "held", "notes",
	})
	for _, g := range s.Groups {
		clients := ""
		if g.Clients > 0 {
			clients = strconv.Itoa(g.Clients)
		}
		t := &g.Test
		row := append([]string{strconv.FormatInt(s.Run.ID, 10), string(g.Group), clients}, csvVariant(s.Run.Base)...)
		row = append(append(row, csvVariant(g.Candidate)...), string(lab.QPS), strconv.Itoa(g.Levels), strconv.Itoa(len(t.Blocks)))
		if len(t.Blocks) == 0 {
			row = append(row, "", "", "", "", "", "")
		} else {
			row = append(row, csvRatio(t.LogRatio), csvRatio(t.Lo), csvRatio(t.Hi), csvNumber(t.LogRatio), csvNumber(t.Lo), csvNumber(t.Hi))
		}
		row = append(row, csvNumber(g.Min), csvNumber(g.Max), csvNumber(g.Average), csvNumber(g.Median), string(t.Verdict))
		out.Write(append(append(row, csvLamps(t, v.monitor(g.Candidate))...), strings.Join(t.Notes, "; ")))
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write groups of run %d as CSV: %w", s.Run.ID, err)
	}
	return nil
}

// csvLamps returns red, amber and held; the calls of a monitor are neither.
func csvLamps(c *lab.Comparison, monitor bool) []string {
	var n lampCount
	if !monitor {
		n.add(c)
	}
	return []string{strconv.FormatBool(n.red > 0), strconv.FormatBool(n.amber > 0), strconv.FormatBool(c.Held)}
}
