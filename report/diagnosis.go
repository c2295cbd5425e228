package report

import (
	"fmt"
	"math"

	"backslide/lab"
)

// This file holds what a report says beside its verdicts: how many of them hold for the
// whole report, what groups of steps come to, and what the lab knows of its own noise.

// lamps says how many differences hold over the whole report, and how many false calls
// chance allows. Empty when the summary does not know.
func (v *view) lamps() []string {
	if v.Lamps.Tests == 0 || v.metric != lab.QPS {
		return nil
	}
	red, amber, held := 0, 0, 0
	for _, c := range v.Comparisons {
		switch {
		case c.Metric != lab.QPS || c.Candidate.Copy > 0 || c.Verdict != lab.Regressed && c.Verdict != lab.Improved:
		case c.Red:
			red++
		default:
			amber++
			if c.Held {
				held++
			}
		}
	}
	s := fmt.Sprintf("%d of %s %s red: at most %s of such reports have even one false red. %d more %s amber; chance alone makes about %.2g.",
		red, count(v.Lamps.Tests, "test"), is(red), share(v.Lamps.Level), amber, is(amber), v.Lamps.FalseAmbers)
	if held > 0 {
		s += fmt.Sprintf(" %d would be red, and %s held back: see the footnotes.", held, is(held))
	}
	out := []string{s}
	if v.AA != nil {
		out = append(out, clean(v.AA.Text))
	}
	return out
}

func is(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// groupTable returns what each group of steps comes to, for every candidate.
func (v *view) groupTable() section {
	t := &table{head: []string{"group", "clients", "steps", "geometric mean", "interval", "", "min", "max", "average", "median"}, fixed: 2}
	for _, candidate := range v.candidates {
		first := true
		for _, g := range v.Summary.Groups {
			if g.Candidate != candidate || g.Levels < 2 {
				continue
			}
			if first {
				t.rows = append(t.rows, row{heading: v.name(candidate)})
				first = false
			}
			clients := "all"
			if g.Clients > 0 {
				clients = fmt.Sprint(g.Clients)
			}
			st := stateOf(&g.Test)
			cells := plain("  "+clean(string(g.Group)), clients, fmt.Sprint(g.Levels))
			cells = append(cells, cell{parts: []string{ratio(g.Test.LogRatio)}}, cell{parts: []string{ratioSpan(g.Test.Lo, g.Test.Hi)}},
				cell{parts: []string{st.mark()}, state: st})
			for _, x := range []float64{g.Min, g.Max, g.Average, g.Median} {
				cells = append(cells, cell{parts: []string{ratio(math.Log(x))}})
			}
			t.rows = append(t.rows, row{cells: cells})
		}
	}
	if len(t.rows) == 0 {
		return section{}
	}
	return section{title: "Groups of steps, relative QPS", table: t}
}

// noise says what disturbed the measurements, and what to do about it.
func (v *view) noise() section {
	out := section{title: "Noise"}
	if a := v.Summary.Noise.Advice; a != "" {
		out.intro = append(out.intro, clean(a))
	}
	for _, p := range v.Summary.Noise.Pairs {
		for _, n := range append(p.Notes[:len(p.Notes):len(p.Notes)], p.Advice) {
			if n != "" {
				out.list = append(out.list, fmt.Sprintf("%s, %s at %s: %s", v.name(p.Candidate), v.step(p.Level.Step), count(p.Level.Clients, "client"), clean(n)))
			}
		}
	}
	for _, d := range v.Summary.Noise.Drops {
		if d.Dropped > 0 {
			out.list = append(out.list, fmt.Sprintf("%s: %d of %d slices were left out, because the hypervisor took too much of the CPU time then", v.name(d.Variant), d.Dropped, d.Slices))
		}
	}
	if len(out.intro)+len(out.list) == 0 {
		return section{}
	}
	return out
}

// events returns what happened during the run, in order.
func (v *view) events() []string {
	var out []string
	for _, e := range v.Summary.Events {
		s := ""
		if e.Block >= 0 {
			s = fmt.Sprintf("block %d: ", e.Block+1)
		}
		out = append(out, s+clean(e.Text))
	}
	return out
}
