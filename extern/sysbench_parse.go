package extern

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"backslide/lab"
)

// ParseSysbench reads an output of sysbench's run command, of any version since 0.4. The
// error is of reading; everything else about the output is in the result.
func ParseSysbench(o Output) (SysbenchRun, error) {
	p := newSysbenchParser()
	err := p.read(o)
	p.finish()
	p.judge(o.Exit)
	return p.run, err
}

// Parse reads the output of an invocation's run and compares it with what was asked.
func (s Sysbench) Parse(o Output) (SysbenchRun, error) {
	r, err := ParseSysbench(o)
	if r.Invalid != "" {
		return r, err
	}
	got := r.Summary
	switch {
	case r.Threads > 0 && r.Threads != s.Threads:
		r.Invalid = fmt.Sprintf("sysbench ran %d threads, asked for were %d", r.Threads, s.Threads)
	case s.Time == 0 && s.Events > 0 && got.Events < s.Events:
		r.Invalid = fmt.Sprintf("sysbench ended after %d events of %d", got.Events, s.Events)
	case s.Time > 0 && s.Events == 0 && got.Wall < s.Time.Seconds()-1 && len(r.Checkpoints) == 0:
		r.Invalid = fmt.Sprintf("sysbench ended after %.4g s of %g", got.Wall, s.Time.Seconds())
	}
	return r, err
}

// sysbenchParser is the state between two lines.
type sysbenchParser struct {
	run       SysbenchRun
	cur       *Summary // being read; nil outside one
	mid       bool     // cur is, or the next one will be, of a checkpoint
	histogram bool     // the lines of one are being read
	code      int      // of the last line if that was a fatal error with one, for its repetitions
	codes     map[int]int64
	began     float64 // seconds at which counting began: of the last checkpoint
	banners   int     // first lines of an output
	finals    int     // summaries that are not of a checkpoint
	intervals int     // lines, also of those not kept
	dropped   tally
	ceilings  tally
	warnings  tally
}

func newSysbenchParser() *sysbenchParser { return &sysbenchParser{codes: map[int]int64{}} }

func (p *sysbenchParser) read(o Output) error {
	if err := eachLine(o.Stdout, p.line); err != nil {
		return fmt.Errorf("read output of sysbench: %w", err)
	}
	if err := eachLine(o.Stderr, p.stderr); err != nil {
		return fmt.Errorf("read errors of sysbench: %w", err)
	}
	return nil
}

// stderr takes lines of standard error: options that are not known, warnings. Since 1.0
// fatal errors go to standard output, before to this.
func (p *sysbenchParser) stderr(line string) {
	t := strings.TrimSpace(line)
	switch {
	case t == "" || p.trouble(t):
	case strings.HasPrefix(t, "invalid option"):
		p.fatal(t)
	default:
		p.warnings.add(t)
	}
}

func (p *sysbenchParser) line(line string) {
	t := strings.TrimSpace(line)
	switch {
	case t == "":
	case p.histogram && p.bucket(t):
	case p.trouble(t):
	case strings.HasPrefix(t, "[") && p.stamped(t):
	case p.csv(t):
	case p.header(t):
	case p.section(t):
	case p.cur != nil && p.total(t):
	case p.idle(t):
	case !keep(&p.run.Notes, maxNotes, t):
		p.run.MoreNotes++
	}
}

// trouble takes errors and warnings, and their repetitions.
func (p *sysbenchParser) trouble(t string) bool {
	if s, ok := strings.CutPrefix(t, "(last message repeated "); ok {
		word, _, _ := strings.Cut(s, " ")
		if n, _, ok := count(word); ok && p.code != 0 {
			p.codes[p.code] += min(n, math.MaxInt32)
		}
		return true
	}
	p.code = 0
	switch kind, _, _ := strings.Cut(t, ":"); kind {
	case "FATAL", "ALERT", "PANIC":
		p.fatal(t)
	case "WARNING":
		p.warnings.add(t)
	default:
		return false
	}
	return true
}

func (p *sysbenchParser) fatal(t string) {
	keep(&p.run.Errors, maxErrors, t)
	word, ok := after(t, "returned error ")
	if !ok {
		_, rest, _ := strings.Cut(t, ": error ")
		word, _, _ = strings.Cut(rest, ":")
	}
	if n, err := strconv.ParseUint(word, 10, 16); err == nil && n > 0 {
		p.code = int(n)
		p.codes[p.code]++
	}
}

// header takes what is printed before the start.
func (p *sysbenchParser) header(t string) bool {
	if v, ok := ParseVersion(t); ok && v.Tool == "sysbench" {
		p.run.Version = v
		p.banners++
		return true
	}
	label, value, _ := strings.Cut(t, ": ")
	value = strings.TrimSpace(value)
	switch label {
	case "Number of threads":
		if n, err := strconv.ParseUint(value, 10, 31); err == nil {
			p.run.Threads = int(n)
		}
	case "Warmup time":
		p.run.Warmup = max(p.value(strings.TrimSuffix(value, "s"), t), 0)
	case "Target transaction rate":
		p.run.Rate = max(p.value(strings.TrimSuffix(value, "/sec"), t), 0)
	default:
		return false
	}
	return true
}

// idle knows lines that say nothing.
func (p *sysbenchParser) idle(t string) bool {
	switch t {
	case "Running the test with following options:", "Initializing worker threads...", "Threads started!", "Done.",
		"Time limit exceeded, exiting...", "Doing OLTP test.", "queries performed:", "CPU speed:":
		return true
	}
	for _, s := range []string{"Initializing random number generator", "Random number generator seed", "Report intermediate results every",
		"Report checkpoint(s) at", "Warming up for", "Running mixed OLTP", "Running simple OLTP", "Doing read-only test", "Using ", "Skipping BEGIN", "Maximum number of requests"} {
		if strings.HasPrefix(t, s) {
			return true
		}
	}
	return false
}

// stamped takes lines that begin with the time: intervals, queue lengths, checkpoints.
func (p *sysbenchParser) stamped(t string) bool {
	stamp, rest, ok := strings.Cut(t[1:], "s ]")
	if !ok {
		if stamp, rest, ok = strings.Cut(t[1:], "s]"); !ok {
			return false
		}
	}
	end, _, ok := number(strings.TrimSpace(stamp))
	if !ok {
		return false
	}
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "Checkpoint report") {
		p.endSummary()
		p.mid = true
		return true
	}
	if q, ok := after(rest, "queue length:"); ok {
		if n := len(p.run.Intervals); n > 0 && p.intervals == n {
			p.run.Intervals[n-1].Queue, _, _ = count(q)
		}
		return true
	}
	iv, ok := p.interval(rest, t)
	if ok {
		iv.End = end
		p.add(iv)
	}
	return ok
}

func (p *sysbenchParser) add(iv Interval) {
	p.intervals++
	if len(p.run.Intervals) < maxIntervals {
		p.run.Intervals = append(p.run.Intervals, iv)
	}
}

// interval reads the two forms of an interval line. A line that has no rate of events is
// another test's.
func (p *sysbenchParser) interval(rest, line string) (Interval, bool) {
	iv := Interval{Threads: unsaid, Queue: unsaid}
	get := func(labels ...string) float64 {
		for _, l := range labels {
			if s, ok := after(rest, l); ok {
				return p.value(s, line)
			}
		}
		return unsaid
	}
	_, tps := after(rest, "tps:")
	_, eps := after(rest, "eps:")
	if !tps && !eps {
		return iv, false
	}
	iv.Events = get("tps:", "eps:")
	iv.Queries = get("qps:")
	iv.Reads, iv.Writes, iv.Others = get("reads:", "reads/s:"), get("writes:", "writes/s:"), unsaid
	if s, ok := after(rest, "r/w/o:"); ok {
		if f := strings.Split(s, "/"); len(f) == 3 {
			iv.Reads, iv.Writes, iv.Others = p.value(f[0], line), p.value(f[1], line), p.value(f[2], line)
		}
	}
	iv.Errors, iv.Reconnects = get("err/s:", "errors:"), get("reconn/s:", "reconnects:")
	if n := get("thds:", "threads:"); n >= 0 && n < math.MaxInt32 {
		iv.Threads = int(n)
	}
	iv.Latency = p.intervalLatency(rest, line)
	return iv, true
}

// intervalLatency reads "lat (ms,95%): 0.15" or "response time: 28.88ms (95%)".
func (p *sysbenchParser) intervalLatency(rest, line string) Percentile {
	if _, s, ok := strings.Cut(rest, "lat (ms,"); ok {
		share, s, _ := strings.Cut(s, "%):")
		word, _, _ := strings.Cut(strings.TrimSpace(s), " ")
		return p.percentile(share, word, line)
	}
	if word, ok := after(rest, "response time:"); ok {
		_, share, _ := strings.Cut(rest, word+" (")
		share, _, _ = strings.Cut(share, "%")
		return p.percentile(share, word, line)
	}
	return Percentile{Value: unsaid}
}

// csv takes a line of the built-in report_csv hook, which has no header: time, threads,
// events, queries, reads, writes, others, latency (ms), errors, reconnects.
func (p *sysbenchParser) csv(t string) bool {
	if t[0] < '0' || t[0] > '9' || strings.Count(t, ",") != 9 {
		return false
	}
	f := strings.Split(t, ",")
	for i, s := range f {
		_, isNumber, _ := number(s)
		_, isCount, _ := count(s)
		if !isNumber || i < 2 && !isCount {
			return false
		}
	}
	v := func(i int) float64 { return p.value(f[i], t) }
	iv := Interval{End: v(0), Threads: unsaid, Events: v(2), Queries: v(3), Reads: v(4), Writes: v(5), Others: v(6), Errors: v(8), Reconnects: v(9), Queue: unsaid}
	if n, err := strconv.ParseUint(f[1], 10, 31); err == nil {
		iv.Threads = int(n)
	}
	iv.Latency = p.percentile("", f[7], t)
	p.add(iv)
	return true
}

// bucket takes a line of the histogram: 2.069 |**** 234.
func (p *sysbenchParser) bucket(t string) bool {
	value, rest, ok := strings.Cut(t, "|")
	if !ok {
		p.histogram = strings.HasPrefix(t, "value ")
		return p.histogram
	}
	ms, _, ok1 := number(strings.TrimSpace(value))
	n, _, ok2 := count(strings.TrimSpace(strings.TrimLeft(rest, "*")))
	if !ok1 || !ok2 {
		p.dropped.add(t)
	} else if len(p.run.Histogram) < maxBuckets {
		p.run.Histogram = append(p.run.Histogram, Bucket{Value: ms / 1000, Count: n})
	}
	return true
}

// value reads a number, and says of one that cannot be that it was dropped.
func (p *sysbenchParser) value(s, line string) float64 {
	v, isNumber, ok := number(s)
	if isNumber && !ok {
		p.dropped.add(line)
	}
	return v
}

// latency reads 0.31, which is in milliseconds, 14.49ms or 1.25s.
func (p *sysbenchParser) latency(s, line string) float64 {
	scale := 1e-3
	if t, ok := strings.CutSuffix(s, "ms"); ok {
		s = t
	} else if t, ok := strings.CutSuffix(s, "s"); ok {
		s, scale = t, 1
	}
	if v := p.value(s, line); v >= 0 {
		return v * scale
	}
	return unsaid
}

// ceiling is the upper end of sysbench's histogram, in seconds.
const ceiling = 100

// percentile reads a latency and the share that goes with it. A share of zero means that
// none was computed, so that the latency is no latency.
func (p *sysbenchParser) percentile(share, s, line string) Percentile {
	q := Percentile{Value: p.latency(s, line)}
	if share != "" {
		v, _, ok := number(strings.TrimSpace(share))
		if !ok || v == 0 {
			return Percentile{Value: unsaid}
		}
		q.P = v
	}
	if math.Abs(q.Value-ceiling) < 1e-5 {
		q.Ceiling = true
		p.ceilings.add(line)
	}
	return q
}

func (p *sysbenchParser) finish() {
	p.endSummary()
	r := &p.run
	for code, n := range p.codes {
		r.Codes = append(r.Codes, lab.ErrorCount{Code: code, Count: n})
	}
	slices.SortFunc(r.Codes, func(a, b lab.ErrorCount) int { return a.Code - b.Code })
	p.dropped.warn(&r.Warnings, "%d numbers are below zero or 2^63 and more, from an underflow; they were dropped; the first in: %s")
	p.ceilings.warn(&r.Warnings, "%d percentiles are at the ceiling of sysbench's histogram: they are 100 s or more; the first: %s")
	p.warnings.warn(&r.Warnings, "%d warnings by sysbench, the first: %s")
	if p.intervals > len(r.Intervals) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("only the first %d of %d intervals were kept", len(r.Intervals), p.intervals))
	}
}
