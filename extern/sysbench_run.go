package extern

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"backslide/lab"
)

// SysbenchRun is an output of sysbench's run command. A negative number means that the
// output does not say; times are in seconds, rates per second.
type SysbenchRun struct {
	Version     Version
	Threads     int     // asked for; 0: not said
	Rate        float64 // asked for, of an open loop; 0: closed
	Warmup      float64 // seconds before what was measured
	Intervals   []Interval
	Histogram   []Bucket
	Summary     *Summary         // nil: there is none, as when the run broke off
	Checkpoints []Summary        // summaries in mid-run, each of the time since the one before
	Errors      []string         // what ended the run: fatal errors, as printed
	Codes       []lab.ErrorCount // of the errors that ended it, by code, ascending
	Notes       []string         // lines that nobody understood, the first of them
	MoreNotes   int              // further such lines
	Warnings    []string         // doubts
	Invalid     string           // why the figures must not be used; empty: they may
}

// Interval is an interval line: rates since the line before.
type Interval struct {
	End        float64 // seconds from the start
	Threads    int     // running
	Events     float64 // transactions per second
	Queries    float64
	Reads      float64
	Writes     float64
	Others     float64
	Errors     float64
	Reconnects float64
	Latency    Percentile
	Queue      int64 // events of an open loop that were due and wait for a thread
}

// Percentile is a latency that a share of the events did not exceed. sysbench has it from
// a histogram whose buckets are 1.8 % apart, of 1 µs to 100 s.
type Percentile struct {
	P        float64 // 95: of a hundred events
	Value    float64 // seconds
	Bucketed bool    // it lies outside minimum and maximum: a bucket's middle, not a latency that was
	Ceiling  bool    // it is the histogram's upper end: the true one is this or more
}

// String returns the latency in milliseconds, and marks one that is a bucket's or a bound.
func (p Percentile) String() string {
	switch {
	case p.Value < 0:
		return "not said"
	case p.Ceiling:
		return fmt.Sprintf(">= %.2f ms", p.Value*1000)
	case p.Bucketed:
		return fmt.Sprintf("%.2f ms (bucketed)", p.Value*1000)
	}
	return fmt.Sprintf("%.2f ms", p.Value*1000)
}

// Bucket is a line of the latency histogram.
type Bucket struct {
	Value float64 // seconds, the bucket's middle
	Count int64
}

// Summary is what sysbench prints at the end, or at a checkpoint.
type Summary struct {
	Reads, Writes, Others int64 // statements, by kind
	Queries               int64 // their sum
	Transactions          int64
	Events                int64
	Errors                int64 // ignored errors: each had its transaction tried again; deadlocks in 0.4
	Reconnects            int64
	Wall                  float64 // seconds that the counts are of
	Printed               Rates   // as sysbench computed them, with a clock that stops a little later
	Latency               Latency
	Fairness              Fairness
}

// Rates are counts per second.
type Rates struct{ Events, Queries, Errors, Reconnects float64 }

// Latency is of events. Sum is over all threads.
type Latency struct {
	Min, Avg, Max, Sum float64
	Percentile         Percentile
}

// Fairness says how alike the threads were: means over threads and standard deviations.
type Fairness struct{ Events, EventsDev, Time, TimeDev float64 }

func newSummary() *Summary {
	return &Summary{
		Reads: unsaid, Writes: unsaid, Others: unsaid, Queries: unsaid, Transactions: unsaid, Events: unsaid,
		Errors: unsaid, Reconnects: unsaid, Wall: unsaid,
		Printed:  Rates{unsaid, unsaid, unsaid, unsaid},
		Latency:  Latency{unsaid, unsaid, unsaid, unsaid, Percentile{Value: unsaid}},
		Fairness: Fairness{unsaid, unsaid, unsaid, unsaid},
	}
}

// Rates returns the summary's counts per second of Wall.
func (s Summary) Rates() Rates {
	per := func(n int64) float64 {
		if n < 0 || s.Wall <= 0 {
			return unsaid
		}
		return float64(n) / s.Wall
	}
	return Rates{Events: per(s.Events), Queries: per(s.Queries), Errors: per(s.Errors), Reconnects: per(s.Reconnects)}
}

// lostConnection stands for a reconnect among the error codes: sysbench makes one after
// 2006, 2013 and others like them, and does not tell which.
const lostConnection = 2013

// Figures returns what the run contributes to a slice. Rates of errors and reconnects are
// among its warnings unless they are zero.
func (r SysbenchRun) Figures(op Op) Figures {
	f := Figures{Err: r.Invalid, Warnings: slices.Clone(r.Warnings), Errors: slices.Clone(r.Codes)}
	s := r.Summary
	if s == nil {
		return f
	}
	f.Wall, f.Retries = max(s.Wall, 0), max(s.Errors, 0)
	f.addError(0, s.Errors)
	f.addError(lostConnection, s.Reconnects)
	if f.Err != "" {
		return f
	}
	switch op {
	case Events:
		f.Ops = s.Events
	case Transactions:
		f.Ops = s.Transactions
	case Queries:
		f.Ops = s.Queries
	default:
		f.Err = fmt.Sprintf("an operation cannot be %q: events, transactions and queries are known", op)
		return f
	}
	if f.Ops <= 0 {
		f.Err = fmt.Sprintf("sysbench counted no %s: this script may have none", op)
		f.Ops = 0
	}
	return f
}

func (f *Figures) addError(code int, n int64) {
	if n <= 0 {
		return
	}
	i, found := slices.BinarySearchFunc(f.Errors, code, func(e lab.ErrorCount, code int) int { return e.Code - code })
	if !found {
		f.Errors = slices.Insert(f.Errors, i, lab.ErrorCount{Code: code})
	}
	f.Errors[i].Count += min(n, math.MaxInt64-f.Errors[i].Count)
}

// SysbenchFailed says why a prepare or cleanup of sysbench did not succeed, or nil.
func SysbenchFailed(o Output) error {
	p := newSysbenchParser()
	if err := p.read(o); err != nil {
		return err
	}
	switch {
	case len(p.run.Errors) > 0:
		return fmt.Errorf("sysbench: exit status %d: %s", o.Exit, strings.Join(p.run.Errors, "; "))
	case o.Exit != 0:
		return fmt.Errorf("sysbench: exit status %d", o.Exit)
	}
	return nil
}
