package extern

import "strings"

// section takes the headings of summaries and of what stands in them.
func (p *sysbenchParser) section(t string) bool {
	switch t {
	case "SQL statistics:", "OLTP test statistics:":
		p.newSummary()
	case "General statistics:", "Throughput:", "Test execution summary:":
		if p.cur == nil || p.cur.Events != unsaid { // a script without SQL statistics
			p.newSummary()
		}
	case "Latency (ms):", "Threads fairness:", "response time:", "per-request statistics:":
		return p.cur != nil
	case "Latency histogram (values are in milliseconds)":
		p.histogram = true
		p.run.Histogram = nil // one of a checkpoint is followed by that of the rest
	default:
		return false
	}
	return true
}

func (p *sysbenchParser) newSummary() {
	p.endSummary()
	p.cur = newSummary()
}

// endSummary puts away the summary that was read. Its time counts from the start, but its
// counts from the last checkpoint.
func (p *sysbenchParser) endSummary() {
	s := p.cur
	if s == nil {
		return
	}
	p.cur = nil
	if end := s.Wall; end >= 0 {
		s.Wall = max(end-p.began, 0)
		if p.mid {
			p.began = end
		}
	}
	if !p.mid {
		if p.finals++; p.finals == 1 {
			p.run.Summary = s
		}
	} else if len(p.run.Checkpoints) < maxRows {
		p.run.Checkpoints = append(p.run.Checkpoints, *s)
	}
	p.mid = false
}

// total takes a line of a summary: a label, a count or time, a rate in brackets.
func (p *sysbenchParser) total(t string) bool {
	label, rest, ok := strings.Cut(t, ":")
	value, rate, _ := strings.Cut(strings.TrimSpace(rest), "(")
	value = strings.TrimSpace(value)
	if !ok || value == "" {
		return false
	}
	return p.counts(label, value, rate, t) || p.times(label, value, t)
}

func (p *sysbenchParser) counts(label, value, rate, line string) bool {
	s := p.cur
	printed := func(to *float64) {
		if word, _, ok := strings.Cut(rate, " per sec"); ok && to != nil {
			*to = p.value(word, line)
		}
	}
	var n *int64
	switch label {
	case "read":
		n = &s.Reads
	case "write":
		n = &s.Writes
	case "other":
		n = &s.Others
	case "total":
		n = &s.Queries
	case "transactions":
		n = &s.Transactions
		printed(&s.Printed.Events)
	case "queries":
		n = &s.Queries
		printed(&s.Printed.Queries)
	case "ignored errors", "deadlocks":
		n = &s.Errors
		printed(&s.Printed.Errors)
	case "reconnects":
		n = &s.Reconnects
		printed(&s.Printed.Reconnects)
	case "total number of events":
		n = &s.Events
	case "events/s (eps)":
		if s.Printed.Events < 0 {
			s.Printed.Events = p.value(value, line)
		}
		return true
	case "read/write requests", "other operations":
		return true // their sum is the total
	default:
		return false
	}
	v, isNumber, ok := count(value)
	if isNumber && !ok {
		p.dropped.add(line)
	}
	if isNumber {
		*n = v
	}
	return true
}

func (p *sysbenchParser) times(label, value, line string) bool {
	s := p.cur
	l := &s.Latency
	plain := func(to *float64) { *to = p.value(strings.TrimSuffix(value, "s"), line) }
	switch label {
	case "total time", "time elapsed":
		plain(&s.Wall)
	case "total time taken by event execution":
		plain(&l.Sum)
	case "min":
		l.Min = p.latency(value, line)
	case "avg":
		l.Avg = p.latency(value, line)
	case "max":
		l.Max = p.latency(value, line)
	case "sum":
		l.Sum = p.latency(value, line)
	case "percentile stats": // disabled
	case "events (avg/stddev)":
		p.pair(value, line, &s.Fairness.Events, &s.Fairness.EventsDev)
	case "execution time (avg/stddev)":
		p.pair(value, line, &s.Fairness.Time, &s.Fairness.TimeDev)
		p.endSummary() // nothing of it follows
	default:
		share, ok := share(label)
		if ok {
			l.Percentile = p.percentile(share, value, line)
		}
		return ok
	}
	return true
}

// share reads "95th percentile" and "approx.  95 percentile".
func share(label string) (string, bool) {
	f := strings.Fields(label)
	if len(f) < 2 || f[len(f)-1] != "percentile" {
		return "", false
	}
	s := strings.TrimRight(f[len(f)-2], "stndrh%")
	_, _, ok := number(s)
	return s, ok
}

func (p *sysbenchParser) pair(value, line string, mean, dev *float64) {
	a, b, _ := strings.Cut(value, "/")
	*mean, *dev = p.value(a, line), p.value(b, line)
}
