package compare

import (
	"fmt"
	"slices"

	"backslide/lab"
)

// Latency is compared only where both sides were asked the same, at a set rate, and kept
// up: a closed loop stops asking while a server stalls, and in a queue that grows, latency
// tells how long one has measured.

// firstLatency is where the latencies begin among the metrics after QPS, which they end.
const firstLatency = 6

// sustained is the share of an open loop's operations that has to be answered.
const sustained = 0.98

// sameRate reports whether slices are of open loops that ask for one and the same rate.
func sameRate(x, y []obs) bool {
	for _, o := range slices.Concat(x, y) {
		if o.offered <= 0 || o.offered != x[0].offered {
			return false
		}
	}
	return true
}

// overloaded says which side of a pair did not keep up with the rate of an open loop, if
// one did not.
func (j *judge) overloaded(l lab.LevelPlan, v lab.Variant) string {
	for _, side := range []lab.Variant{j.run.Base, v} {
		if u := j.of(side, l.Level).use; u.due > 0 && u.done < sustained*u.due {
			return fmt.Sprintf("rate not sustained: %s answered %.3g of %.3g operations per second that were due, so latency grows with time, and is not compared",
				side, u.done/u.wall, u.due/u.wall)
		}
	}
	return ""
}

// deciding returns the metrics by which a run finds out what is done: throughput, and for
// levels at a set rate a latency.
func (j *judge) deciding() []lab.Metric {
	if slices.ContainsFunc(j.levels, func(l lab.LevelPlan) bool { return l.Open }) {
		return []lab.Metric{lab.QPS, lab.P95}
	}
	return []lab.Metric{lab.QPS}
}

// decides returns the comparison of a pair that says when the pair is done: that of
// throughput, but of the latency at a set rate, where throughput is the same at once.
func decides(open bool, own []lab.Comparison) lab.Comparison {
	if open {
		for _, c := range own {
			if c.Metric == lab.P95 && len(c.Blocks) > 0 {
				c.Done = c.Done || c.Verdict != lab.Inconclusive
				return c
			}
		}
	}
	return own[0]
}

// openNotes says what throughput means at a set rate, and whether that was kept.
func (j *judge) openNotes(p *pair, m lab.Metric) []string {
	if !p.plan.Open || m != lab.QPS {
		return nil
	}
	if why := j.overloaded(p.plan, p.candidate); why != "" {
		return []string{why}
	}
	return []string{"operations come at a set rate: throughput says only whether it was kept, latency how well"}
}
