package compare

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"backslide/lab"
)

// paced makes the slices of a run of two variants at levels with a set rate. Latencies of
// the candidate are theta longer; the logarithm of a slice's varies by noise.
type paced struct {
	levels, blocks int
	theta, noise   float64
	offered        [2]float64 // of base and candidate
	answered       float64    // share of it, by the candidate
}

func (p paced) run() lab.Run {
	r := sim{levels: p.levels, clients: 1, candidates: 1, slices: 4}.run()
	for i := range r.Levels {
		r.Levels[i].Group, r.Levels[i].Open, r.Levels[i].Rate = lab.Paced, true, 1000
		r.Levels[i].Level.Step = r.Levels[i].Level.Step.AtShare(0.7)
	}
	return r
}

func (p paced) measure() []lab.Slice {
	rng := rand.New(rand.NewPCG(5, 6))
	r := p.run()
	var out []lab.Slice
	for b := range p.blocks {
		position := 0
		for _, l := range r.Levels {
			for i, at := range (sim{slices: 4}).order(rng, 2) {
				v := at % 2
				s := slice(b, r.Variants[v], l.Level, at/2, position+i, math.Log(1000))
				s.Start, s.Wall, s.Offered = time.Unix(int64(b*1000+position+i), 0), 1, p.offered[v]
				s.Ops = int64(s.Offered)
				ms := math.Exp(p.noise * rng.NormFloat64())
				if v == 1 {
					ms *= math.Exp(p.theta)
					s.Ops = int64(s.Offered * p.answered)
				}
				s.P50, s.P95, s.P99 = 1e-3*ms, 2e-3*ms, 3e-3*ms
				out = append(out, s)
			}
			position += 8
		}
	}
	return out
}

// inMetric returns the comparison by a metric.
func inMetric(cs []lab.Comparison, m lab.Metric) *lab.Comparison {
	for i := range cs {
		if cs[i].Metric == m {
			return &cs[i]
		}
	}
	return nil
}

// A slower candidate regresses by its latencies, which are lower when better, and not by
// throughput, which is the rate.
func TestLatencyRegressed(t *testing.T) {
	p := paced{levels: 1, blocks: 12, theta: 0.2, noise: 0.05, offered: [2]float64{1000, 1000}, answered: 1}
	s := summary(t, p.run(), p.measure())
	for m, want := range map[lab.Metric]lab.Verdict{lab.QPS: lab.Equivalent, lab.P50: lab.Regressed, lab.P95: lab.Regressed, lab.P99: lab.Regressed} {
		c := inMetric(s.Comparisons, m)
		if c == nil || c.Verdict != want {
			t.Errorf("%s: %+v, want %s", m, c, want)
		}
	}
	c := inMetric(s.Comparisons, lab.P95)
	if c.Lo > 0.2 || c.Hi < 0.2 || math.Abs(c.BaseValue-2e-3) > 2e-4 {
		t.Errorf("p95: interval [%.3f, %.3f] of 0.2, base %v s, want 0.002", c.Lo, c.Hi, c.BaseValue)
	}
	if len(s.Groups) > 0 {
		t.Errorf("groups %+v: throughput at a set rate is summarised", s.Groups)
	}
	if want := 6 + 3; s.Lamps.Secondary != want || s.Lamps.Tests != 1 {
		t.Errorf("%d secondary tests, want %d; %d by throughput, want 1", s.Lamps.Secondary, want, s.Lamps.Tests)
	}
	if v := s.Cells[0].Values[lab.P99]; math.Abs(v-3e-3) > 3e-4 {
		t.Errorf("base's p99 %v s, want 0.003", v)
	}
}

// Throughput is the same at once; latency says when a level is done.
func TestLatencyDecides(t *testing.T) {
	p := paced{levels: 1, blocks: 5, theta: 0, noise: 0.3, offered: [2]float64{1000, 1000}, answered: 1}
	var tally Tally
	for _, s := range p.measure() {
		tally.Add(s)
	}
	cs, err := tally.Verdicts(p.run(), &bounds)
	if err != nil {
		t.Fatal(err)
	}
	if len(cs) != 1 || cs[0].Metric != lab.QPS || cs[0].Verdict != lab.Equivalent || cs[0].Done {
		t.Errorf("%+v, want throughput that is equivalent and not done", cs)
	}
	f, err := tally.Forecast(p.run(), &bounds)
	if err != nil || len(f.Outlooks) != 1 || f.Outlooks[0].Blocks < 2 {
		t.Errorf("forecast %+v, %v; want more than the next block", f, err)
	}
	p.blocks, p.theta, p.noise = 6, 0.5, 0.05
	if c := inMetric(summary(t, p.run(), p.measure()).Comparisons, lab.QPS); !c.Done {
		t.Errorf("a latency that is called does not end its level: %+v", c)
	}
}

// Closed loops, unlike rates and overload have no comparison of latencies.
func TestLatencyRefused(t *testing.T) {
	good := paced{levels: 1, blocks: 8, theta: 0.5, noise: 0.02, offered: [2]float64{1000, 1000}, answered: 1}
	closed, unlike, over := good, good, good
	closed.offered, unlike.offered, over.answered = [2]float64{}, [2]float64{1000, 1001}, 0.9
	for _, s := range []struct {
		name string
		paced
	}{{"unlike rates", unlike}, {"overload", over}} {
		cs := summary(t, s.run(), s.measure()).Comparisons
		for _, m := range []lab.Metric{lab.P50, lab.P95, lab.P99} {
			c := inMetric(cs, m)
			switch {
			case s.name == "overload" && (c == nil || c.Verdict != lab.Inconclusive || !strings.Contains(c.Notes[0], "rate not sustained: server@1/default/InnoDB answered 900 of 1e+03")):
				t.Errorf("overload: %s is %+v", m, c)
			case s.name != "overload" && c != nil:
				t.Errorf("%s: %s is compared: %+v", s.name, m, c)
			}
		}
	}
	run := closed.run()
	run.Levels[0].Open = false
	slices := closed.measure()
	for i := range slices {
		slices[i].Ops = 1000
	}
	if c := inMetric(summary(t, run, slices).Comparisons, lab.P95); c != nil {
		t.Errorf("closed loop: p95 is compared: %+v", c)
	}
}

// The tiny noise of throughput at a set rate is no prior for other levels, nor do they
// lend it theirs.
func TestLatencyPrior(t *testing.T) {
	p := paced{levels: 8, blocks: 4, noise: 0.05, offered: [2]float64{1000, 1000}, answered: 1}
	cs := summary(t, p.run(), p.measure()).Comparisons
	if c := inMetric(cs, lab.QPS); c.DF != 3 || c.Verdict != lab.Equivalent {
		t.Errorf("throughput: %s with %v degrees of freedom, want equivalent with 3 of its own blocks", c.Verdict, c.DF)
	}
	if c := inMetric(cs, lab.P95); c.DF <= 3 {
		t.Errorf("p95: %v degrees of freedom, want a prior from the other levels", c.DF)
	}
}
