package archive

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// inserts is what one client of an insert benchmark printed. Rates are of the client alone.
type inserts struct {
	cell   Cell
	dir    string
	client int
	line   int // of the last interval

	seconds                 float64 // since the start
	rows, deletes, queries  float64 // in all
	maxI, maxD, maxQ        float64 // worst response times, seconds
	insertRates, queryRates []float64
	total                   bool    // the totals were printed, so that the run ended well
	index                   float64 // seconds that making the secondary indexes took
	histograms              map[string][]float64
}

// intervals are the 17 columns of an interval line.
func intervals() []string {
	return []string{
		"i_sec", "t_sec", "i_ips", "t_ips", "i_dps", "t_dps", "i_qps", "t_qps", "max_i", "max_d", "max_q",
		"t_ins", "t_del", "t_query", "retry_i", "retry_d", "retry_q",
	}
}

// ibench reads the intervals of one client of the insert benchmark: 17 columns, response
// times in microseconds, histograms and totals at the end.
func (f *file) ibench(l *lines) {
	in := &inserts{cell: f.cell(), dir: f.dir, client: max(1, f.client), histograms: map[string][]float64{}}
	if in.cell.Step == "" {
		in.cell.Test = Test{Workload: "ibench", Step: f.stem, Clients: in.cell.Clients}
	}
	in.cell.Clients = max(1, in.cell.Clients)
	columns := len(intervals())
	begun := false
	var errorLine int
	for line, ok := l.next(); ok; line, ok = l.next() {
		fs := strings.Fields(line)
		switch {
		case len(fs) == 0:
		case fs[0] == "i_sec":
			begun = true
			if !slices.Equal(fs, intervals()) {
				f.problem(l.n, "other columns than those of the insert benchmark: %s", quote(line))
				return
			}
		case !begun: // the command line
		case in.end(fs, line):
		case len(fs) == columns:
			values, bad := numbers(fs)
			if bad != "" {
				f.problem(l.n, "%s is no figure", quote(bad))
				continue
			}
			in.interval(values, l.n)
		case len(fs) > columns/2 && strings.Count(line, "\t") > columns/2:
			f.problem(l.n, "%d of %d columns", len(fs), columns)
		case strings.Contains(strings.ToLower(line), "error") && errorLine == 0:
			errorLine = l.n
		}
	}
	if errorLine > 0 {
		f.doubt(errorLine, "the client reports errors; rows of a statement that failed are counted as inserted")
	}
	if in.line == 0 {
		f.problem(l.n, "no intervals")
		return
	}
	if !in.total {
		f.doubt(in.line, "no totals: the run broke off, or the file is cut")
	}
	f.inserts = in
}

func (in *inserts) interval(v []float64, line int) {
	in.line, in.seconds = line, v[1]
	in.rows, in.deletes, in.queries = v[11], v[12], v[13]
	in.maxI, in.maxD, in.maxQ = max(in.maxI, v[8]/1e6), max(in.maxD, v[9]/1e6), max(in.maxQ, v[10]/1e6)
	if len(in.insertRates) < maxSeconds {
		in.insertRates = append(in.insertRates, v[2])
		in.queryRates = append(in.queryRates, v[6])
	}
}

// end takes the lines behind the intervals: histograms, index time, totals.
func (in *inserts) end(fs []string, line string) bool {
	switch {
	case fs[0] == "Totals:" && len(fs) > 1:
		if s, ok := number(fs[1]); ok {
			in.seconds, in.total = s, true
		}
	case strings.HasPrefix(line, "Created secondary indexes in ") && len(fs) > 4:
		in.index, _ = number(fs[4])
	case strings.Contains(line, " rt:"):
		kind := fs[0] // Insert, Delete, Query
		_, rest, _ := strings.Cut(line, " rt:")
		counts, bad := numbers(strings.Fields(rest))
		if bad == "" && len(counts) == 11 && (kind == "Insert" || kind == "Delete" || kind == "Query") {
			sum := in.histograms[kind]
			if sum == nil {
				sum = make([]float64, 11)
				in.histograms[kind] = sum
			}
			for i, n := range counts[:10] {
				sum[i] += n
			}
			sum[10] = max(sum[10], counts[10])
		}
	default:
		return false
	}
	return true
}

// buckets are the upper ends of the histogram's buckets, in seconds; the last has none.
func buckets() []float64 {
	return []float64{0.000256, 0.001, 0.004, 0.016, 0.064, 0.256, 1, 4, 16, math.Inf(1)}
}

// combine makes the figures of a step from its clients: rates are all rows or queries by
// the longest client's seconds, response times the worst of any client.
func combine(ins []*inserts) (rs []Record) {
	slices.SortFunc(ins, func(a, b *inserts) int { return a.client - b.client })
	first := ins[0]
	var all inserts
	histograms := map[string][]float64{}
	for _, in := range ins {
		all.seconds = max(all.seconds, in.seconds)
		all.rows, all.deletes, all.queries = all.rows+in.rows, all.deletes+in.deletes, all.queries+in.queries
		all.maxI, all.maxD, all.maxQ = max(all.maxI, in.maxI), max(all.maxD, in.maxD), max(all.maxQ, in.maxQ)
		all.index = max(all.index, in.index)
		for kind, h := range in.histograms {
			if histograms[kind] == nil {
				histograms[kind] = make([]float64, 11)
			}
			for i := range h[:10] {
				histograms[kind][i] += h[i]
			}
		}
	}
	put := func(metric, unit string, v float64) {
		rs = append(rs, Record{Cell: first.cell, Metric: metric, Unit: unit, Value: v, Runs: 1, Origin: Output, Line: first.line})
	}
	if all.seconds <= 0 {
		return nil
	}
	put("inserts", "rows/sec", all.rows/all.seconds)
	if all.deletes > 0 {
		put("deletes", "rows/sec", all.deletes/all.seconds)
		put("delete-max", "sec", all.maxD)
	}
	put("insert-max", "sec", all.maxI)
	rates := first.insertRates
	if all.queries > 0 {
		put(QPS, "op/sec", all.queries/all.seconds)
		put("query-max", "sec", all.maxQ)
		rates = first.queryRates
	}
	if all.index > 0 {
		put("index-time", "sec", all.index)
	}
	if p50, ok := RateAt(rates, 0.50); ok {
		p99, _ := RateAt(rates, 0.99)
		put("rate-p50", "op/sec", p50)
		put("rate-p99", "op/sec", p99)
	}
	for _, kind := range []string{"Insert", "Delete", "Query"} {
		for i, n := range histograms[kind] {
			if i < 10 {
				put(strings.ToLower(kind)+"-within-"+within(i), "1", share(n, histograms[kind][:10]))
			}
		}
	}
	return rs
}

func within(i int) string {
	b := buckets()[i]
	if math.IsInf(b, 1) {
		return "more"
	}
	return strconv.FormatFloat(b, 'g', -1, 64) + "s"
}

func share(n float64, all []float64) float64 {
	sum := 0.0
	for _, x := range all {
		sum += x
	}
	if sum == 0 {
		return 0
	}
	return n / sum
}

// RateAt returns the rate that a share of the intervals met or beat: 0.99 gives p99 of the
// insert benchmark's reports, the rate at rank round(0.99 n), the highest first. With fewer
// than ten intervals there is none.
func RateAt(rates []float64, share float64) (float64, bool) {
	if len(rates) < 10 {
		return 0, false
	}
	sorted := slices.Clone(rates)
	slices.SortFunc(sorted, func(a, b float64) int {
		if a > b {
			return -1
		} else if a < b {
			return 1
		}
		return 0
	})
	rank := int(math.Round(share * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1], true
}
