package main

import (
	"cmp"
	"errors"
	"fmt"

	"backslide/lab"
)

// gate says which lamp of a regressed comparison makes compare exit with 1: red, or amber
// too; if empty, the one that the run's plan goes on until.
type gate string

// String is pflag's.
func (g *gate) String() string { return string(*g) }

// Type is pflag's.
func (g *gate) Type() string { return "lamp" }

// Set is pflag's.
func (g *gate) Set(s string) error {
	if s != lab.UntilRed && s != lab.UntilAmber {
		return fmt.Errorf("want %s or %s", lab.UntilRed, lab.UntilAmber)
	}
	*g = gate(s)
	return nil
}

// outcome returns errRegressed when something regressed: throughput, or where operations
// come at a set rate their latency. Otherwise it is an error when a level could not be
// compared since a side broke there, or when nothing could be: silence would pass for
// "nothing regressed".
func (g gate) outcome(s lab.Summary) error {
	amber := cmp.Or(string(g), s.Run.Plan.Stop) == lab.UntilAmber
	open := map[lab.Level]bool{}
	for _, lp := range s.Run.Levels {
		open[lp.Level] = lp.Open
	}
	judged := map[pair]bool{}
	for _, c := range s.Comparisons {
		if c.Metric == lab.QPS && len(c.Blocks) > 0 {
			judged[pair{c.Level, c.Candidate}] = true
		}
		decides := lab.QPS
		if open[c.Level] {
			decides = lab.P95
		}
		if c.Metric == decides && c.Verdict == lab.Regressed && (c.Red || amber) {
			return errRegressed
		}
	}
	if len(judged) == 0 && len(s.Run.Variants) > 1 {
		return errors.New("no block has results of both sides; see the failures above")
	}
	if p, n := unknown(s, judged); n > 0 {
		return fmt.Errorf("%s could not be run, so nobody knows whether they regressed; the first is %s with %s; see the failures above", plural(n, "comparison"), p.level, p.candidate)
	}
	return nil
}

// unknown returns the first pair that has no block with both sides though it was tried, and
// how many there are.
func unknown(s lab.Summary, judged map[pair]bool) (first pair, n int) {
	failed := map[lab.Cell]bool{}
	for _, f := range s.Failures {
		failed[f.Cell] = true
	}
	for _, lp := range s.Run.Levels {
		for _, v := range s.Run.Variants {
			p := pair{lp.Level, v}
			cell := func(v lab.Variant) lab.Cell {
				return lab.Cell{Variant: v, Step: lp.Level.Step, Clients: lp.Level.Clients}
			}
			if v == s.Run.Base || judged[p] || !failed[cell(v)] && !failed[cell(s.Run.Base)] {
				continue
			}
			if n++; n == 1 {
				first = p
			}
		}
	}
	return first, n
}
