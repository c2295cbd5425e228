package main

import (
	"context"
	"fmt"

	"backslide/compare"
	"backslide/lab"
	"backslide/load"
	"backslide/store"
)

// latencies fills in the latency quantiles of a summary's cells, from the histograms of
// the slices that count.
func latencies(ctx context.Context, st *store.Store, r lab.Run, s *lab.Summary) error {
	for i := range s.Cells {
		c := &s.Cells[i]
		level := c.Cell.Level()
		slices, err := st.Slices(ctx, r.ID, store.Filter{Kind: lab.Measured, Variant: &c.Cell.Variant, Level: &level, Hist: true})
		if err != nil {
			return err
		}
		var all load.Histogram
		for _, sl := range slices {
			if !compare.Counts(sl) {
				continue
			}
			h, err := load.DecodeHistogram(sl.Hist)
			if err != nil {
				return fmt.Errorf("latencies of %s, block %d: %w", c.Cell, sl.Block+1, err)
			}
			all.Merge(h)
		}
		if all.N() == 0 {
			continue
		}
		c.P50, c.P95, c.P99 = all.Quantile(0.5).Seconds(), all.Quantile(0.95).Seconds(), all.Quantile(0.99).Seconds()
		c.Max = all.Max().Seconds()
	}
	return nil
}
