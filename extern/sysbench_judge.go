package extern

import (
	"fmt"
	"strings"
)

// judge says what is wrong with the run, after everything was read.
func (p *sysbenchParser) judge(exit int) {
	r := &p.run
	var why []string
	say := func(format string, a ...any) { why = append(why, fmt.Sprintf(format, a...)) }
	switch {
	case len(r.Errors) > 0:
		say("sysbench failed (exit status %d): %s", exit, r.Errors[0])
	case exit != 0:
		say("sysbench ended with exit status %d", exit)
	}
	if max(p.banners, p.finals) > 1 {
		say("the output holds more than one run")
	}
	switch s := r.Summary; {
	case s == nil:
		say("there is no final summary: the run did not come to its end, and counted is not zero but unknown")
	case s.Wall < 0 || s.Events < 0:
		say("the final summary is cut off")
	case s.Events == 0:
		say("no event ended in %.4g s, with %d ignored errors", s.Wall, max(s.Errors, 0))
	case s.Wall == 0:
		say("the run took no time")
	default:
		if s.Queries == 0 && s.Transactions > 0 {
			say("%d transactions without a query", s.Transactions)
		}
		r.Warnings = append(r.Warnings, s.doubts()...)
	}
	invalid, doubts := r.course()
	why = append(why, invalid...)
	r.Warnings = append(r.Warnings, doubts...)
	if n := len(r.Checkpoints); n > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the summary is of what followed the last of %d checkpoints", n))
	} else if r.Summary != nil {
		r.Warnings = append(r.Warnings, r.contradiction()...)
	}
	r.Invalid = strings.Join(why, "; ")
}

// doubts says what in a summary does not fit together.
func (s *Summary) doubts() (w []string) {
	say := func(format string, a ...any) { w = append(w, fmt.Sprintf(format, a...)) }
	rates := s.Rates()
	if s.Errors > 0 {
		say("%d errors were ignored, %.4g/s: their transactions were tried again, their queries count", s.Errors, rates.Errors)
	}
	if s.Reconnects > 0 {
		say("%d reconnects, %.4g/s: the server or the network dropped connections", s.Reconnects, rates.Reconnects)
	}
	if kinds := float64(s.Reads) + float64(s.Writes) + float64(s.Others); s.Reads >= 0 && s.Writes >= 0 && s.Others >= 0 && s.Queries >= 0 && kinds != float64(s.Queries) {
		say("reads, writes and others add up to %.0f, queries are %d", kinds, s.Queries)
	}
	if got := s.Printed.Events; got >= 0 {
		// It is by a clock that stops when the report is made, milliseconds after the last
		// event, and has two digits.
		late, digit := 0.1+0.01*s.Wall, 0.006
		if events := float64(s.Events); got > events/max(s.Wall-late, 1e-9)+digit || got < events/(s.Wall+late)-digit {
			say("the printed rate of %.2f events/s is not that of %d events in %.4f s", got, s.Events, s.Wall)
		}
	}
	if f := s.Fairness; f.Events > 0 && f.EventsDev > f.Events/2 {
		say("threads were not alike: %.0f events each, with a standard deviation of %.0f", f.Events, f.EventsDev)
	}
	return append(w, s.Latency.doubts(s.Events)...)
}

// half is half of the last digit that sysbench prints of a latency, in seconds.
const half = 5.1e-6

// doubts flags a percentile that cannot be one of the latencies that were.
func (l *Latency) doubts(events int64) (w []string) {
	q := &l.Percentile
	if q.Value < 0 {
		return nil
	}
	if q.P > 0 && float64(events)*(1-q.P/100) < 1 {
		w = append(w, fmt.Sprintf("percentile %g of only %d events is their slowest", q.P, events))
	}
	switch {
	case q.Ceiling || l.Min < 0 || l.Max < 0:
	case q.Value == 0 && l.Max > half:
		q.Bucketed = true
		w = append(w, fmt.Sprintf("percentile %g is printed as 0.00 ms with a maximum of %.2f ms: it was not measured", q.P, l.Max*1000))
	case q.Value > l.Max+half:
		q.Bucketed = true
		w = append(w, fmt.Sprintf("percentile %g, %.2f ms, is above the maximum of %.2f ms: it is the middle of a histogram's bucket", q.P, q.Value*1000, l.Max*1000))
	case q.Value < l.Min-half:
		q.Bucketed = true
		w = append(w, fmt.Sprintf("percentile %g, %.2f ms, is below the minimum of %.2f ms: it is the middle of a histogram's bucket", q.P, q.Value*1000, l.Min*1000))
	}
	return w
}

// course judges the intervals: threads that stop and seconds in which nothing happens.
func (r *SysbenchRun) course() (invalid, doubts []string) {
	var idle, failing tally
	peak, first := 0, -1
	fell := ""
	for i, iv := range r.Intervals {
		at := fmt.Sprintf("%g s", iv.End)
		if iv.Threads > peak {
			peak = iv.Threads
		} else if iv.Threads >= 0 && iv.Threads < peak && fell == "" && !r.atEnd(i) {
			fell = fmt.Sprintf("at %s %d threads were left of %d", at, iv.Threads, peak)
		}
		switch {
		case iv.Events != 0 && first < 0: // also a value that was dropped
			first = i
		case iv.Events == 0 && iv.Errors > 0:
			failing.add(at)
		case iv.Events == 0 && iv.Queries <= 0 && first >= 0:
			idle.add(at)
		}
	}
	if fell != "" {
		invalid = append(invalid, fell)
	}
	if asked := r.Threads; asked > 0 && peak > 0 && peak < asked {
		invalid = append(invalid, fmt.Sprintf("at most %d threads ran of %d", peak, asked))
	}
	if first > 0 {
		doubts = append(doubts, fmt.Sprintf("no event ended in the first %g s", r.Intervals[first-1].End))
	}
	failing.warn(&invalid, "%d intervals have errors and no event that ended well, the first at %s")
	if idle.n > 0 && r.sparse() {
		idle.warn(&doubts, "nothing ended in %d intervals, the first at %s: they are short for so few events")
	} else {
		idle.warn(&invalid, "nothing ended in %d intervals, the first at %s")
	}
	if n := len(r.Intervals); n > 0 && first < 0 {
		invalid = append(invalid, fmt.Sprintf("nothing ended in any of %d intervals", n))
	}
	return invalid, doubts
}

// atEnd reports whether interval i is the last line of a run that was over by then, when
// threads end one by one.
func (r *SysbenchRun) atEnd(i int) bool {
	return i == len(r.Intervals)-1 && r.Summary != nil && r.Summary.Wall >= 0 && r.began()+r.Summary.Wall <= r.Intervals[i].End+0.5
}

// began returns when the summary's counts began.
func (r *SysbenchRun) began() (sum float64) {
	for _, c := range r.Checkpoints {
		sum += max(c.Wall, 0)
	}
	return sum
}

// sparse reports whether events are so few that an interval without one is no surprise:
// fewer than five in an interval on average, by the summary.
func (r *SysbenchRun) sparse() bool {
	s := r.Summary
	if s == nil || s.Events <= 0 || s.Wall <= 0 || len(r.Intervals) == 0 {
		return false
	}
	length := r.Intervals[len(r.Intervals)-1].End / float64(len(r.Intervals))
	return float64(s.Events)/s.Wall*length < 5
}

// contradiction compares the events that the intervals add up to with the summary's. The
// rest of the run, which no interval line is of, must account for the difference.
func (r *SysbenchRun) contradiction() []string {
	s := r.Summary
	if len(r.Intervals) < 2 || s.Events <= 0 || s.Wall <= 0 {
		return nil
	}
	var covered, fastest, last float64
	for _, iv := range r.Intervals {
		if iv.Events < 0 || iv.End < last {
			return nil // a value was dropped, or lines are missing
		}
		covered += iv.Events * (iv.End - last)
		fastest, last = max(fastest, iv.Events), iv.End
	}
	if r.Warmup > 0 && last > s.Wall+1 {
		return nil // the intervals are also of the warm-up
	}
	events := float64(s.Events)
	slack := 0.03*events + 2*float64(max(r.Threads, 1))
	rest := 2 * fastest * max(s.Wall-last, 0)
	if covered <= events+slack && covered+rest >= events-slack {
		return nil
	}
	return []string{fmt.Sprintf("the intervals add up to %.0f events in %g s, the summary says %d in %.4g s", covered, last, s.Events, s.Wall)}
}
