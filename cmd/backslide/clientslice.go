package main

import (
	"context"
	"fmt"
	"runtime/debug"

	"backslide/lab"
	"backslide/load"
	"backslide/run"
)

// slice runs a slice, and says when its discarded part is over.
func (g *generator) slice(ctx context.Context, id int64, q sliceRequest) (*run.Outcome, error) {
	g.mu.Lock()
	s, ok := g.sessions[q.Session]
	g.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("no session %d", q.Session)
	}
	// A collection in mid-slice would be measured as latency, and the loop does not
	// allocate; what little long slices do is bounded.
	debug.SetMemoryLimit(clientMemory)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	r, err := s.Slice(ctx, load.SliceSpec{
		Seq: q.Spec.Seq, Discard: q.Spec.Discard, Duration: q.Spec.Duration, Ops: q.Spec.Ops,
		Timeout: q.Spec.Timeout, Rate: q.Spec.Rate, Clock: q.Spec.Clock,
	}, func() { g.reply(reply{ID: id, Measuring: true}) })
	if err != nil {
		return nil, err
	}
	return &run.Outcome{
		Start: r.Start, Wall: r.Wall, Ops: r.Ops, Rows: r.Rows, Offered: r.Offered, Behind: r.Behind,
		Latency: latency(r), Hist: r.Hist.Encode(),
		P50: r.Hist.Quantile(0.5).Seconds(), P95: r.Hist.Quantile(0.95).Seconds(), P99: r.Hist.Quantile(0.99).Seconds(),
		Retries: r.Retries, Errors: r.Errors, Warnings: doubts(r), Parts: parts(r), Series: series(r),
		ClientUser: r.ClientUser, ClientSys: r.ClientSystem,
	}, nil
}

// clientMemory is how much memory the child takes before it collects garbage even during a
// slice.
const clientMemory = 128 << 20

// doubts says what is odd about one slice.
func doubts(r load.Result) (out []string) {
	if r.Late > 0 {
		out = append(out, "the host has too few CPUs for so many clients: some began after the measured time had")
	}
	if r.Whole {
		out = append(out, "operations are so long, or clients so many, that it counts whole operations only, over the time that they took")
	}
	return out
}

// latency is the mean latency of an operation, in seconds. A transaction may count as
// several.
func latency(r load.Result) float64 {
	if r.Ops == 0 {
		return 0
	}
	return r.Hist.Mean().Seconds() * float64(r.Hist.N()) / float64(r.Ops)
}

// parts are what each role did, on their way to the conductor.
func parts(r load.Result) []lab.Part {
	var out []lab.Part
	for _, p := range r.Parts {
		out = append(out, lab.Part{Role: p.Role, Ops: p.Ops, Rows: p.Rows, Offered: p.Offered, Hist: p.Hist.Encode()})
	}
	return out
}

// series are the whole seconds of a slice as the client saw them.
func series(r load.Result) []lab.Series {
	var out []lab.Series
	for i, seconds := range r.Seconds {
		prefix := ""
		if i < len(r.Parts) {
			prefix = r.Parts[i].Role + " "
		}
		n := int(r.Wall)
		rate := lab.Series{Name: prefix + "rate", Unit: "op/sec", Values: make([]float64, n)}
		worst := lab.Series{Name: prefix + "worst", Unit: "sec", Values: make([]float64, n)}
		for j, s := range seconds[:min(n, len(seconds))] {
			rate.Values[j], worst.Values[j] = float64(s.Ops), float64(s.Worst)/1e9
		}
		out = append(out, rate, worst)
	}
	return out
}
