package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"backslide/compare"
	"backslide/lab"
	"backslide/load"
	"backslide/store"
)

// fewestSeconds is how many seconds a rate's distribution over them needs.
const fewestSeconds = 10

// long fills in what the whole slices of a run show, and the doubts that come of it.
func long(ctx context.Context, st *store.Store, r lab.Run, s *lab.Summary) error {
	for _, l := range r.Levels {
		if !l.Whole() {
			continue
		}
		for _, v := range r.Variants {
			all, err := st.Slices(ctx, r.ID, store.Filter{Kind: lab.Measured, Variant: &v, Level: &l.Level, Hist: true, Long: true})
			if err != nil {
				return err
			}
			all = slices.DeleteFunc(all, func(sl lab.Slice) bool { return !compare.Counts(sl) })
			if len(all) == 0 {
				continue
			}
			c := lab.LongCell{Cell: all[0].Cell, Blocks: len(all), Readings: meanReadings(all)}
			if c.Roles, err = roles(all); err != nil {
				return fmt.Errorf("latencies of %s: %w", c.Cell, err)
			}
			for _, sl := range all {
				if len(sl.Series) > 0 {
					c.Traces = append(c.Traces, lab.Trace{Block: sl.Block, Series: sl.Series})
				}
			}
			s.Long = append(s.Long, c)
		}
	}
	compare.Unsteady(s)
	return nil
}

// roles adds up what each role did in a cell's slices.
func roles(all []lab.Slice) ([]lab.RoleMean, error) {
	var out []lab.RoleMean
	for i := range max(1, len(all[0].Parts)) {
		var m lab.RoleMean
		var hist load.Histogram
		var rates []float64
		for _, sl := range all {
			p := lab.Part{Ops: sl.Ops, Offered: sl.Offered, Hist: sl.Hist}
			if i < len(sl.Parts) {
				p = sl.Parts[i]
			}
			h, err := load.DecodeHistogram(p.Hist)
			if err != nil {
				return nil, err
			}
			hist.Merge(h)
			m.Role, m.Offered = p.Role, p.Offered
			m.Rate += float64(p.Ops) / sl.Wall / float64(len(all))
			if !p.Sustained(sl.Wall) {
				m.Slow++
			}
			for _, s := range sl.Series {
				if s.Name == compare.RateOf(p.Role) {
					rates = append(rates, s.Values...)
				}
			}
		}
		m.P50, m.P95, m.P99 = hist.Quantile(0.5).Seconds(), hist.Quantile(0.95).Seconds(), hist.Quantile(0.99).Seconds()
		m.Max = hist.Max().Seconds()
		m.Shares = shares(&hist)
		if len(rates) >= fewestSeconds {
			slices.Sort(rates)
			for _, q := range []float64{0.5, 0.95, 0.99} {
				m.Seconds = append(m.Seconds, rates[int((1-q)*float64(len(rates)))])
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// shares returns the shares of a histogram within lab.ResponseBounds, and beyond.
func shares(h *load.Histogram) []float64 {
	var out []float64
	n, before := float64(h.N()), 0.0
	if n == 0 {
		return nil
	}
	for _, b := range lab.ResponseBounds() {
		within := h.Within(time.Duration(b * float64(time.Second)))
		out = append(out, (within-before)/n)
		before = within
	}
	return append(out, (n-before)/n)
}

// meanReadings returns the means over the slices that have a reading.
func meanReadings(all []lab.Slice) []lab.Reading {
	var out []lab.Reading
	var n []float64
	for _, sl := range all {
		for _, r := range sl.Readings {
			i := slices.IndexFunc(out, func(o lab.Reading) bool { return o.Name == r.Name })
			if i < 0 {
				i = len(out)
				out, n = append(out, lab.Reading{Name: r.Name, Unit: r.Unit}), append(n, 0)
			}
			out[i].Value += r.Value
			n[i]++
		}
	}
	for i := range out {
		out[i].Value /= n[i]
	}
	return out
}
