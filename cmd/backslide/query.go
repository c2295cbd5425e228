package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"backslide/lab"
	"backslide/store"
)

// queryFlags make a workload of a single statement, as mysqlslap runs it.
type queryFlags struct {
	query  string
	schema string // file of statements run before
}

// queryWorkload is the name of that workload.
const queryWorkload = "query"

// workload returns the text of a workload that has the query as its only step, and runs
// the schema file before.
func (q queryFlags) workload() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "name = %q\nprepared = false\n", queryWorkload)
	if q.schema != "" {
		text, err := os.ReadFile(q.schema)
		if err != nil {
			return "", fmt.Errorf("read --schema: %w", err)
		}
		fmt.Fprintf(&b, "setup = [%s]\n", tomlText(braces(string(text))))
	}
	read, group := reads(q.query)
	fmt.Fprintf(&b, "[[step]]\nname = %q\ngroup = %q\nread = %t\nsql = %s\n", queryWorkload, group, read, tomlText(braces(q.query)))
	return b.String(), nil
}

// reads guesses from a statement's first word whether it leaves data as they are.
func reads(sql string) (bool, lab.Group) {
	words := strings.Fields(strings.ToLower(sql))
	if len(words) == 0 {
		return true, lab.Range
	}
	switch strings.TrimLeft(words[0], "(") {
	case "select", "with", "values", "table", "show", "explain", "do":
		return true, lab.Range
	}
	return false, lab.Write
}

// rounds prints what mysqlslap would of the slices of a --query, beside the quantiles
// that it does not have.
func (e *env) rounds(ctx context.Context, s lab.Summary) error {
	st, err := e.existingLab()
	if err != nil {
		return err
	}
	defer st.Close()
	w := tabwriter.NewWriter(harmless{e.stdout}, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nseconds for %d queries, over slices\nvariant\tclients\tslices\tavg\tmin\tmax\tp50 of a query\tp95\tp99\n", perRound)
	for _, c := range s.Cells {
		level := c.Cell.Level()
		slices, err := st.Slices(ctx, s.Run.ID, store.Filter{Kind: lab.Measured, Variant: &c.Cell.Variant, Level: &level})
		if err != nil {
			return err
		}
		var sum, least, most float64
		n := 0
		for _, sl := range slices {
			qps, ok := sl.Value(lab.QPS)
			if !ok {
				continue
			}
			d := perRound / qps
			if n == 0 || d < least {
				least = d
			}
			sum, most = sum+d, max(most, d)
			n++
		}
		if n > 0 {
			fmt.Fprintf(w, "%s\t%d\t%d\t%.4g\t%.4g\t%.4g\t%.4g s\t%.4g s\t%.4g s\n",
				c.Cell.Variant, c.Cell.Clients, n, sum/float64(n), least, most, c.P50, c.P95, c.P99)
		}
	}
	return w.Flush()
}

// perRound is the number of queries that rounds are scaled to.
const perRound = 1000

// braces keeps braces from being taken for expressions.
func braces(sql string) string {
	return strings.NewReplacer("{", "{{", "}", "}}").Replace(sql)
}

// tomlText quotes a text of any content for a TOML file.
func tomlText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\u%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
