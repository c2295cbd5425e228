package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"backslide/lab"
)

const (
	noiseLines = 40 // levels that the text names at most
	noiseTexts = 4  // things that are said of a level at most
)

// levelNoise is the noise of all candidates at one level.
type levelNoise struct {
	level lab.Level
	pairs []lab.PairNoise
}

// noiseLevels gathers the run's noise by level, in the order of tables.
func (v *view) noiseLevels() []levelNoise {
	at := map[lab.Level][]lab.PairNoise{}
	for _, p := range v.Summary.Noise.Pairs {
		at[p.Level] = append(at[p.Level], p)
	}
	var out []levelNoise
	for _, g := range v.groups {
		for _, s := range g.steps {
			for _, n := range v.clients {
				l := lab.Level{Step: s, Clients: n}
				if len(at[l]) > 0 {
					out = append(out, levelNoise{l, at[l]})
				}
			}
		}
	}
	return out
}

// advice returns what is odd at the level and what would help; what does not hold for all
// candidates says for which.
func (n levelNoise) advice(v *view) []string {
	var texts []string
	of := map[string][]string{}
	for _, p := range n.pairs {
		for _, t := range append(slices.Clone(p.Notes), p.Advice) {
			if t = clean(t); t == "" {
				continue
			}
			if of[t] == nil {
				texts = append(texts, t)
			}
			of[t] = append(of[t], v.name(p.Candidate))
		}
	}
	for i, t := range texts {
		if len(of[t]) < len(v.candidates) {
			texts[i] = strings.Join(of[t], ", ") + ": " + t
		}
	}
	if n := len(texts) - noiseTexts; n > 0 {
		texts = append(texts[:noiseTexts], fmt.Sprintf("and %d more, in the figures", n))
	}
	return texts
}

// median returns the median over candidates of what is known, and −1 if nothing is.
func (n levelNoise) median(of func(lab.PairNoise) float64) float64 {
	var all []float64
	for _, p := range n.pairs {
		if x := of(p); finite(x) && x >= 0 {
			all = append(all, x)
		}
	}
	if len(all) == 0 {
		return -1
	}
	slices.Sort(all)
	mid := len(all) / 2
	if len(all)%2 == 0 {
		return (all[mid-1] + all[mid]) / 2
	}
	return all[mid]
}

// waits returns in how much of the time tasks of the host waited for CPU, memory and
// storage, in percent.
func (n levelNoise) waits() string {
	var parts []string
	for _, f := range []func(lab.PairNoise) float64{
		func(p lab.PairNoise) float64 { return p.StallCPU },
		func(p lab.PairNoise) float64 { return p.StallMemory },
		func(p lab.PairNoise) float64 { return p.StallIO },
	} {
		x := n.median(f)
		if x < 0 {
			return none
		}
		parts = append(parts, fmt.Sprintf("%.0f", 100*x))
	}
	return strings.Join(parts, " / ")
}

// noise says what disturbed the measurements, and what to do about it.
func (v *view) noise() section {
	out := section{title: "Noise"}
	if a := clean(v.Summary.Noise.Advice); a != "" {
		out.intro = []string{sentenceCase(strings.TrimRight(a, ".")) + "."}
	}
	more := 0
	for _, n := range v.noiseLevels() {
		switch texts := n.advice(v); {
		case len(texts) == 0:
		case len(out.list) == noiseLines:
			more++
		default:
			out.list = append(out.list, v.at(n.level)+": "+strings.Join(texts, "; "))
		}
	}
	if more > 0 {
		out.list = append(out.list, fmt.Sprintf("and %s more, in the page and in JSON", count(more, "level")))
	}
	out.list = append(out.list, v.drops()...)
	if len(out.intro)+len(out.list) == 0 {
		return section{}
	}
	return out
}

// drops says which slices were left out, a line per variant.
func (v *view) drops() []string {
	var out []string
	for _, d := range v.Summary.Noise.Drops {
		if d.Dropped > 0 {
			out = append(out, fmt.Sprintf("%s: %d of %d slices were left out: mirrored groups with %s",
				v.name(d.Variant), d.Dropped, d.Slices, count(d.Disturbed, "disturbed slice")))
		}
	}
	return out
}

// noiseTable is the noise of every level, for the page.
type noiseTable struct {
	Advice string
	Many   bool // more than one candidate, so that figures are medians
	Closed bool
	Rows   []noiseRow
	Drops  []string
}

type noiseRow struct {
	Step    string
	Clients int
	Slice   string // standard deviations, in percent
	Restart string
	Drift   string
	Order   string // contrast, in percent
	Odd     bool   // Order is more than chance
	IAT     string
	Steal   string
	Others  string
	Waits   string // shares of the time with tasks waiting for CPU, memory and storage
	Dropped int
	Advice  []string
}

// oddOrder is the chance below which an order contrast is marked.
const oddOrder = 0.01

func (v *view) noiseTable() noiseTable {
	levels := v.noiseLevels()
	t := noiseTable{Many: len(v.candidates) > 1, Closed: len(levels) > manyRows/4, Drops: v.drops()}
	if a := clean(v.Summary.Noise.Advice); a != "" {
		t.Advice = sentenceCase(strings.TrimRight(a, ".")) + "."
	}
	for _, n := range levels {
		r := noiseRow{Step: v.step(n.level.Step), Clients: n.level.Clients, Order: none, Advice: n.advice(v)}
		for _, f := range []struct {
			to *string
			of func(lab.PairNoise) float64
		}{
			{&r.Slice, func(p lab.PairNoise) float64 { return math.Expm1(p.SliceSD) }},
			{&r.Restart, func(p lab.PairNoise) float64 { return math.Expm1(p.RestartSD) }},
			{&r.Drift, func(p lab.PairNoise) float64 { return math.Expm1(p.DriftSD) }},
			{&r.Steal, func(p lab.PairNoise) float64 { return p.Steal }},
			{&r.Others, func(p lab.PairNoise) float64 { return p.HostBusy }},
		} {
			if x := n.median(f.of); x < 0 {
				*f.to = none
			} else {
				*f.to = fmt.Sprintf("%.1f", 100*x)
			}
		}
		if x := n.median(func(p lab.PairNoise) float64 { return p.IAT }); x > 0 {
			r.IAT = fmt.Sprintf("%.1f", x)
		}
		r.Waits = n.waits()
		odd := n.pairs[0] // of several, the one whose order is the least likely by chance
		for _, p := range n.pairs {
			r.Dropped += p.Dropped
			if p.OrderP >= 0 && (odd.OrderP < 0 || p.OrderP < odd.OrderP) {
				odd = p
			}
		}
		if odd.OrderP >= 0 {
			r.Order, r.Odd = change(odd.Order), odd.OrderP < oddOrder
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}
