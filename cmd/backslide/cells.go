package main

import (
	"context"
	"fmt"
	"slices"

	"backslide/compare"
	"backslide/lab"
	"backslide/load"
	"backslide/store"
)

// latencies fills in the latencies of a summary's cells, from the histograms of the slices
// that count, how their rates spread, and what servers say of their own time and memory.
func latencies(ctx context.Context, st *store.Store, r lab.Run, s *lab.Summary) error {
	for i := range s.Cells {
		c := &s.Cells[i]
		level := c.Cell.Level()
		found, err := st.Slices(ctx, r.ID, store.Filter{Kind: lab.Measured, Variant: &c.Cell.Variant, Level: &level, Hist: true, Long: true})
		if err != nil {
			return err
		}
		var all load.Histogram
		var rates []float64
		for _, sl := range found {
			if !compare.Counts(sl) {
				continue
			}
			if rate, ok := sl.Value(lab.QPS); ok {
				rates = append(rates, rate)
			}
			h, err := load.DecodeHistogram(sl.Hist)
			if err != nil {
				return fmt.Errorf("latencies of %s, block %d: %w", c.Cell, sl.Block+1, err)
			}
			all.Merge(h)
		}
		c.Rates = fiveNumbers(rates)
		c.Clocks, c.Memory.Accounted = clocks(found), accounted(found)
		if all.N() == 0 {
			continue
		}
		c.Latency = all.Bins()
		c.P50, c.P95, c.P99 = all.Quantile(0.5).Seconds(), all.Quantile(0.95).Seconds(), all.Quantile(0.99).Seconds()
		c.Max = all.Max().Seconds()
	}
	return nil
}

// clocks returns how long an operation took by the server's clock and by the client's, in
// the slices that count and have both.
func clocks(all []lab.Slice) lab.Clocks {
	var c lab.Clocks
	for _, sl := range all {
		sec, by, ok := sl.ServerTime()
		if !ok || !compare.Counts(sl) {
			continue
		}
		c.Server += sec / float64(sl.Ops)
		c.Client += sl.Latency
		c.Slices++
		if !slices.Contains(c.By, by) {
			c.By = append(c.By, by)
		}
	}
	if c.Slices > 0 {
		c.Server /= float64(c.Slices)
		c.Client /= float64(c.Slices)
	}
	return c
}

// accounted returns what a server said it held behind the slices of which it was asked,
// the mean over these; 0: it did not tell.
func accounted(all []lab.Slice) float64 {
	for _, r := range meanReadings(slices.DeleteFunc(slices.Clone(all), func(sl lab.Slice) bool { return !compare.Counts(sl) })) {
		if r.Name == lab.Accounted {
			return r.Value
		}
	}
	return 0
}

// fiveNumbers returns the least, the quarters and the most of some numbers, between
// neighbours where a quarter falls there; nil for none.
func fiveNumbers(xs []float64) []float64 {
	if len(xs) == 0 {
		return nil
	}
	slices.Sort(xs)
	out := make([]float64, 5)
	for i := range out {
		at := float64(i) / 4 * float64(len(xs)-1)
		low := int(at)
		out[i] = xs[low]
		if low+1 < len(xs) {
			out[i] += (at - float64(low)) * (xs[low+1] - xs[low])
		}
	}
	return out
}
