package compare

import (
	"fmt"
	"slices"

	"backslide/lab"
)

const (
	collapsed    = 0.5  // of the rate before, under which the rate of a slice's end has collapsed
	endShare     = 0.25 // of a slice that is its end
	unsteadyFrom = 12   // seconds that a slice needs for its end to be told apart
)

// RateOf returns the name of the series that holds a role's operations per second.
func RateOf(role string) string {
	if role == "" {
		return "rate"
	}
	return role + " rate"
}

// Unsteady adds to comparisons of whole levels what makes a mean of theirs stand for
// little: a rate that collapsed late in a slice, and seconds in which next to nothing was
// done.
func Unsteady(s *lab.Summary) {
	of := map[lab.Cell][]string{}
	for _, c := range s.Long {
		of[c.Cell] = unsteady(c)
	}
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		if c.Metric != lab.QPS {
			continue
		}
		for _, v := range []lab.Variant{c.Base, c.Candidate} {
			c.Notes = append(c.Notes, of[lab.Cell{Variant: v, Step: c.Level.Step, Clients: c.Level.Clients}]...)
		}
	}
}

func unsteady(c lab.LongCell) []string {
	if len(c.Roles) == 0 || c.Roles[0].Offered > 0 {
		return nil // its rate is not the server's
	}
	var fell, still []int
	worst, stalls := 1.0, 0
	for _, t := range c.Traces {
		for _, s := range t.Series {
			if s.Name != RateOf(c.Roles[0].Role) {
				continue
			}
			if r := endRatio(s.Values); r < collapsed {
				fell, worst = append(fell, t.Block), min(worst, r)
			}
			if n := len(s.Stalls()); n > 0 {
				still, stalls = append(still, t.Block), stalls+n
			}
		}
	}
	var out []string
	if len(fell) > 0 {
		out = append(out, fmt.Sprintf("%s: collapse late in the step in %s: its last quarter came to %.0f %% of the rate before, so the mean is not representative",
			c.Cell.Variant, blocks(len(fell)), 100*worst))
	}
	if stalls > 0 {
		out = append(out, fmt.Sprintf("%s: in %d seconds of %s it did less than %.0f %% of its usual work: stalls", c.Cell.Variant, stalls, blocks(len(still)), 100*lab.Stalled))
	}
	return out
}

// endRatio compares the median second of a slice's last quarter with that of the rest; 1
// for slices that are too short to tell.
func endRatio(rates []float64) float64 {
	n := len(rates)
	if n < unsteadyFrom {
		return 1
	}
	cut := n - int(endShare*float64(n))
	before := middle(rates[:cut])
	if before <= 0 {
		return 1
	}
	return middle(rates[cut:]) / before
}

// middle returns the median.
func middle(x []float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	if n := len(x); n%2 == 0 {
		return (x[n/2-1] + x[n/2]) / 2
	}
	return x[len(x)/2]
}
