package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"backslide/archive"
	"backslide/extern"
	"backslide/lab"
	"backslide/report"
)

// estimates arranges imports for a report. Figures of equal cells are replicates; a file
// that is in several of the imports counts once. base names a build or build.config; empty
// is the first that was read.
func estimates(ims []lab.Import, base string) (lab.Estimates, error) {
	var names []string
	var results []archive.Result
	out := lab.Estimates{}
	for _, im := range ims {
		r := archive.Result{}
		for _, f := range im.Figures {
			r.Records = append(r.Records, recordOf(f))
		}
		results = append(results, r)
		names = append(names, im.Name)
		out.Sources = append(out.Sources, im.Sources...)
		out.Doubts, out.Problems = append(out.Doubts, im.Doubts...), append(out.Problems, im.Problems...)
	}
	out.Name = strings.Join(names, ", ")
	records := archive.Join(results...).Records
	if !slices.ContainsFunc(records, func(r archive.Record) bool { return r.Base == "" }) && len(records) > 0 {
		records = fromRatios(records)
		out.Doubts = append(out.Doubts, "only ratios were published: their base is 1 here, and how far they were rounded is not known")
	}
	var all archive.Table // of every metric, for the columns
	var tables []archive.Table
	for _, metric := range metricsOf(records) {
		t := archive.Tabulate(records, metric)
		if len(t.Rows) == 0 {
			continue // only ratios
		}
		tables = append(tables, t)
		for _, c := range t.Columns {
			if !slices.Contains(all.Columns, c) {
				all.Columns = append(all.Columns, c)
			}
		}
	}
	if len(all.Columns) == 0 {
		return out, nil
	}
	var err error
	if out.Base, err = baseColumn(all, base); err != nil {
		return out, err
	}
	out.Config = commonConfig(all.Columns)
	for i, c := range all.Columns {
		out.Columns = append(out.Columns, estimateColumn(all.Columns, i, out.Base, c, out.Config))
	}
	ranged := severalRanges(tables)
	spread := spreads(records)
	for _, t := range tables {
		for _, r := range t.Rows {
			out.Rows = append(out.Rows, estimateRow(t, r, all.Columns, spread, ranged))
		}
		if t.Metric == archive.QPS {
			out.Groups = append(out.Groups, groupEstimates(t, all.Columns, out.Columns, archive.Group)...)
			out.Dense = append(out.Dense, groupEstimates(t, all.Columns, out.Columns, archive.Dense)...)
		}
	}
	slices.SortStableFunc(out.Rows, byLevel(out.Rows))
	return out, nil
}

// fromRatios makes figures of ratios, for tables of which nothing else is known: what they
// are relative to is 1.
func fromRatios(records []archive.Record) []archive.Record {
	type at struct {
		test archive.Test
		host string
		base string
	}
	var out, ratios []archive.Record
	seen := map[at]bool{}
	for _, r := range archive.Best(records) {
		base := r
		base.Variant = archive.Variant{Host: r.Host, Build: r.Base}
		base.Value, base.Base, base.Unit, base.Replicate = 1, "", "1", 0
		if k := (at{r.Test, r.Host, r.Base}); !seen[k] {
			seen[k] = true
			out = append(out, base)
		}
		r.Base, r.Unit = "", "1"
		ratios = append(ratios, r)
	}
	return append(out, ratios...)
}

// estimateColumn describes a column. Its base is the variant of the base's name on the
// same host.
func estimateColumn(all []archive.Variant, i, base int, c archive.Variant, config string) lab.EstimateColumn {
	own := slices.IndexFunc(all, func(b archive.Variant) bool { return b.Host == c.Host && sameButHost(b, all[base]) })
	out := lab.EstimateColumn{Host: c.Host, Base: own}
	c.Host = ""
	out.Full = c.String()
	if config != "" {
		c.Config = ""
	}
	out.Name = c.String()
	return out
}

// commonConfig returns the config that all variants have, if there are several and their
// names are told apart without it.
func commonConfig(all []archive.Variant) string {
	seen := map[archive.Variant]bool{}
	for _, v := range all {
		if v.Config != all[0].Config {
			return ""
		}
		v.Config = ""
		if seen[v] || v.Build == "" {
			return ""
		}
		seen[v] = true
	}
	return all[0].Config
}

// severalRanges returns the steps that were measured with several ranges: only their names
// need to tell which.
func severalRanges(tables []archive.Table) map[string]bool {
	first := map[string]int{}
	out := map[string]bool{}
	for _, t := range tables {
		for _, r := range t.Rows {
			if n, ok := first[r.Test.Step]; !ok {
				first[r.Test.Step] = r.Test.Range
			} else if n != r.Test.Range {
				out[r.Test.Step] = true
			}
		}
	}
	return out
}

func sameButHost(a, b archive.Variant) bool {
	a.Host, b.Host = "", ""
	return a == b
}

// byLevel keeps all metrics of a level together, in the order in which levels come first.
func byLevel(rows []lab.EstimateRow) func(a, b lab.EstimateRow) int {
	type level struct {
		workload, step string
		clients        int
	}
	at := map[level]int{}
	of := func(r lab.EstimateRow) level { return level{r.Workload, r.Step, r.Clients} }
	for _, r := range rows {
		if _, ok := at[of(r)]; !ok {
			at[of(r)] = len(at)
		}
	}
	return func(a, b lab.EstimateRow) int { return at[of(a)] - at[of(b)] }
}

// metricsOf lists the metrics of records: throughput, what an operation costs, the others.
func metricsOf(records []archive.Record) []string {
	first := append([]string{archive.QPS}, archive.MetColumns()...)
	var out []string
	have := map[string]bool{}
	for _, r := range records {
		have[r.Metric] = true
	}
	for _, m := range first {
		if have[m] {
			out = append(out, m)
			delete(have, m)
		}
	}
	for _, r := range records {
		if have[r.Metric] {
			out = append(out, r.Metric)
			delete(have, r.Metric)
		}
	}
	return out
}

// baseColumn finds the base by name.
func baseColumn(t archive.Table, name string) (int, error) {
	if name == "" {
		return 0, nil
	}
	if i := t.Column(name); i >= 0 {
		return i, nil
	}
	var known []string
	for _, c := range t.Columns {
		c.Host = ""
		if c.String() == name {
			return t.Column(c.String()), nil
		}
		if !slices.Contains(known, c.String()) {
			known = append(known, c.String())
		}
	}
	return 0, fmt.Errorf("--base %q is none of the variants%s; there are %s", name, lab.Suggest(name, known), strings.Join(known, ", "))
}

func estimateRow(t archive.Table, r archive.Row, columns []archive.Variant, spread map[measure]float64, ranged map[string]bool) lab.EstimateRow {
	name := r.Test
	name.Clients = 0
	if !ranged[name.Step] {
		name.Range = 0
	}
	group, _ := archive.Group(r.Test.Step)
	row := lab.EstimateRow{
		Workload: r.Test.Workload, Step: name.String(), Group: group, Clients: r.Test.Clients, Metric: t.Metric, Unit: r.Unit, Values: make([]lab.Estimate, len(columns)),
	}
	for j, c := range t.Columns {
		if v := r.Values[j]; v.N > 0 {
			row.Values[slices.Index(columns, c)] = lab.Estimate{Value: v.Mean, Runs: v.N, SD: spread[measure{archive.Cell{Variant: c, Test: r.Test}, t.Metric}]}
		}
	}
	return row
}

// measure is a metric of a cell.
type measure struct {
	cell   archive.Cell
	metric string
}

// spreads returns how the replicates of each cell vary: the standard deviation of their
// logarithms. Figures that are means of runs already do not tell.
func spreads(records []archive.Record) map[measure]float64 {
	logs := map[measure][]float64{}
	for _, r := range archive.Best(records) {
		k := measure{r.Cell, r.Metric}
		if r.Base == "" && r.Runs == 1 && r.Value > 0 {
			logs[k] = append(logs[k], math.Log(r.Value))
		}
	}
	out := map[measure]float64{}
	for k, xs := range logs {
		if len(xs) < 2 {
			continue
		}
		mean, sum := 0.0, 0.0
		for _, x := range xs {
			mean += x / float64(len(xs))
		}
		for _, x := range xs {
			sum += (x - mean) * (x - mean)
		}
		out[k] = math.Sqrt(sum / float64(len(xs)-1))
	}
	return out
}

// groupEstimates summarises groups of steps, each host against its own base and each
// number of clients by itself.
func groupEstimates(t archive.Table, columns []archive.Variant, shown []lab.EstimateColumn, group func(string) (lab.Group, bool)) []lab.EstimateSummary {
	byClients := map[int]archive.Table{}
	var order []int
	for _, r := range t.Rows {
		part, ok := byClients[r.Test.Clients]
		if !ok {
			part = archive.Table{Metric: t.Metric, Columns: t.Columns}
			order = append(order, r.Test.Clients)
		}
		part.Rows = append(part.Rows, r)
		byClients[r.Test.Clients] = part
	}
	slices.Sort(order)
	var out []lab.EstimateSummary
	for _, n := range order {
		for i, c := range shown {
			j, b := slices.Index(t.Columns, columns[i]), -1
			if c.Base >= 0 && c.Base != i {
				b = slices.Index(t.Columns, columns[c.Base])
			}
			if j < 0 || b < 0 {
				continue
			}
			for _, s := range byClients[n].Select(b, j).Groups(0, group) {
				out = append(out, lab.EstimateSummary{
					Group: s.Group, Clients: n, Column: i, Steps: s.Tests, Min: s.Min, Max: s.Max, Average: s.Avg, Median: s.Median,
				})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b lab.EstimateSummary) int {
		if a.Group != b.Group {
			return slices.Index(lab.Groups(), a.Group) - slices.Index(lab.Groups(), b.Group)
		}
		return a.Clients - b.Clients
	})
	return out
}

// archiveTools are the parsers that archive leaves to other packages.
func archiveTools() archive.Tools {
	return archive.Tools{
		Sysbench: readSysbench,
		Slap: func(r io.Reader) (archive.Slap, error) {
			run, err := extern.ParseSlap(extern.Output{Stdout: r})
			s := archive.Slap{Invalid: run.Invalid, Warnings: run.Warnings}
			for _, row := range run.Rows {
				s.Rows = append(s.Rows, archive.SlapRow{
					Engine: row.Engine, Label: row.Label, Avg: row.Avg, Min: row.Min, Max: row.Max, Clients: row.Clients, Queries: row.Queries(),
				})
			}
			return s, err
		},
		Summary: report.ReadJSON,
	}
}

func readSysbench(r io.Reader) (archive.Sysbench, error) {
	run, err := extern.ParseSysbench(extern.Output{Stdout: r})
	if err != nil {
		return archive.Sysbench{}, err
	}
	s := archive.Sysbench{
		Threads: run.Threads, Warnings: run.Warnings, Invalid: run.Invalid, Queries: -1, Events: -1, Errors: -1, Reconnects: -1, Min: -1, Avg: -1, Max: -1,
	}
	if sum := run.Summary; sum != nil {
		p := sum.Printed
		if p.Queries < 0 { // sysbench 0.4 and 0.5 print two parts of it
			p.Queries = sum.Rates().Queries
		}
		l := sum.Latency
		s.Queries, s.Events, s.Errors, s.Reconnects = p.Queries, p.Events, p.Errors, p.Reconnects
		s.Min, s.Avg, s.Max, s.Percent, s.P = l.Min, l.Avg, l.Max, l.Percentile.P, l.Percentile.Value
	}
	return s, nil
}
