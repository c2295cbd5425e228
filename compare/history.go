package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"backslide/lab"
	"backslide/stat"
)

const (
	changeAlpha = 0.01 // chance of any change in a track of which nothing changes
	changeFrom  = 6    // points from which on changes are looked for
	newest      = "each run's candidate"
)

// History follows one experiment over its runs: where throughput changed, level by level.
// Where all runs have the same base, of the same build, it follows the ratio to it, which
// is free of what the host did; else throughput itself. seed is for the changes, which are
// tested by shuffling.
func History(name string, sums []lab.Summary, seed uint64) lab.History {
	sums = slices.Clone(sums)
	slices.SortStableFunc(sums, func(a, b lab.Summary) int {
		return cmp.Or(a.Run.Started.Compare(b.Run.Started), cmp.Compare(a.Run.ID, b.Run.ID))
	})
	h := lab.History{Name: name, Alpha: changeAlpha}
	for _, s := range sums {
		h.Runs = append(h.Runs, lab.HistoryRun{ID: s.Run.ID, Started: s.Run.Started, Base: s.Run.Base})
	}
	if len(sums) == 0 {
		return h
	}
	why := unlikeBases(sums)
	if h.Ratio = why == ""; h.Ratio {
		h.Base = sums[0].Run.Base
	}
	f := follow(sums, h.Ratio)
	h.Tracks = f.tracks(sums, h.Ratio)
	for i := range h.Tracks {
		changes(&h.Tracks[i], seed)
	}
	if why != "" {
		h.Doubts = append(h.Doubts, why)
	}
	h.Doubts = append(h.Doubts, f.left...)
	h.Doubts = append(h.Doubts, unlikeRuns(sums)...)
	return h
}

// unlikeBases says why ratios of runs cannot be held against each other; "" if they can.
func unlikeBases(sums []lab.Summary) string {
	first := sums[0].Run
	for _, s := range sums[1:] {
		if s.Run.Base != first.Base {
			return fmt.Sprintf("the base is not the same in all runs (%s in run %d, %s in run %d): throughput itself is followed, and with it whatever the host did",
				first.Base, first.ID, s.Run.Base, s.Run.ID)
		}
		a, b := buildID(first, first.Base), buildID(s.Run, s.Run.Base)
		if a != "" && b != "" && a != b {
			return fmt.Sprintf("the base %s is another build in run %d than in run %d: throughput itself is followed, and with it whatever the host did", first.Base, s.Run.ID, first.ID)
		}
	}
	for _, s := range sums {
		if len(own(s)) == 0 {
			return fmt.Sprintf("run %d has no candidate: throughput itself is followed, and with it whatever the host did", s.Run.ID)
		}
	}
	return ""
}

func buildID(r lab.Run, v lab.Variant) string {
	if s := r.Sides[v.String()]; s != nil {
		return s.Build.ID
	}
	return ""
}

// own returns a run's candidates, without copies of the base.
func own(s lab.Summary) []lab.Variant {
	var out []lab.Variant
	for _, v := range s.Run.Variants {
		if v != s.Run.Base && v.Copy == 0 {
			out = append(out, v)
		}
	}
	return out
}

// followed is what is followed from run to run: by name, the variant in each run.
type followed struct {
	names []string
	of    map[string]map[int]lab.Variant // by index of the run
	left  []string                       // who is not followed, and why
}

// follow decides what is followed. Where each run has one candidate, or is of one variant
// alone, that is followed whatever it is called; else every variant under its name, if it
// is in two runs or more.
func follow(sums []lab.Summary, ratio bool) followed {
	f := followed{of: map[string]map[int]lab.Variant{}}
	add := func(name string, i int, v lab.Variant) {
		if f.of[name] == nil {
			f.of[name] = map[int]lab.Variant{}
			f.names = append(f.names, name)
		}
		f.of[name][i] = v
	}
	single, name := true, ""
	for i, s := range sums {
		vs := own(s)
		if len(vs) == 0 {
			vs = []lab.Variant{s.Run.Base}
		}
		single = single && len(vs) == 1
		switch v := vs[0].String(); {
		case i == 0:
			name = v
		case v != name:
			name = newest
		}
	}
	for i, s := range sums {
		vs := own(s)
		switch {
		case single && len(vs) == 1:
			add(name, i, vs[0])
			continue
		case single:
			add(name, i, s.Run.Base)
			continue
		case !ratio:
			vs = append([]lab.Variant{s.Run.Base}, vs...)
		}
		for _, v := range vs {
			add(v.String(), i, v)
		}
	}
	var once []string
	f.names = slices.DeleteFunc(f.names, func(n string) bool {
		few := len(f.of[n]) < 2 && len(sums) > 1
		if few {
			once = append(once, n)
		}
		return few
	})
	if len(once) > 0 {
		f.left = []string{"in one run only, and not followed: " + list(once)}
	}
	return f
}

// tracks returns the values of what is followed, level by level in the order of the runs.
func (f followed) tracks(sums []lab.Summary, ratio bool) []lab.Track {
	var levels []lab.LevelPlan
	seen := map[lab.Level]bool{}
	for _, s := range sums {
		for _, l := range s.Run.Levels {
			if !l.Warm && !l.Open && !seen[l.Level] {
				seen[l.Level] = true
				levels = append(levels, l)
			}
		}
	}
	at := make([]map[lab.Cell]lab.TrackPoint, len(sums))
	for i, s := range sums {
		at[i] = points(s, i, ratio)
	}
	var out []lab.Track
	for _, l := range levels {
		for _, name := range f.names {
			t := lab.Track{Name: name, Level: l.Level, Group: l.Group}
			for i := range sums {
				v, ok := f.of[name][i]
				if p, there := at[i][lab.Cell{Variant: v, Step: l.Level.Step, Clients: l.Level.Clients}]; ok && there {
					t.Points = append(t.Points, p)
				}
			}
			if len(t.Points) > 0 {
				out = append(out, t)
			}
		}
	}
	return out
}

// points returns what a run says of each of its cells.
func points(s lab.Summary, run int, ratio bool) map[lab.Cell]lab.TrackPoint {
	out := map[lab.Cell]lab.TrackPoint{}
	point := func(v lab.Variant, value float64, blocks int) lab.TrackPoint {
		p := lab.TrackPoint{Run: run, Variant: v, Value: value, Blocks: blocks}
		if side := s.Run.Sides[v.String()]; side != nil {
			p.Version = side.Build.Version
		}
		return p
	}
	if !ratio {
		for _, c := range s.Cells {
			if v := c.Values[lab.QPS]; v > 0 {
				out[c.Cell] = point(c.Cell.Variant, math.Log(v), c.Blocks)
			}
		}
		return out
	}
	for _, c := range s.Comparisons {
		if c.Metric != lab.QPS || len(c.Blocks) == 0 {
			continue
		}
		p := point(c.Candidate, c.LogRatio, len(c.Blocks))
		p.Verdict = c.Verdict
		if !math.IsInf(c.Lo, 0) && !math.IsInf(c.Hi, 0) {
			p.Lo, p.Hi = &c.Lo, &c.Hi
		}
		out[lab.Cell{Variant: c.Candidate, Step: c.Level.Step, Clients: c.Level.Clients}] = p
	}
	return out
}

// changes fills in what a track does over its runs.
func changes(t *lab.Track, seed uint64) {
	x := make([]float64, len(t.Points))
	for i, p := range t.Points {
		x[i] = p.Value
	}
	if len(x) < changeFrom {
		return
	}
	for _, c := range stat.ChangePoints(x, stat.ChangeOptions{Alpha: changeAlpha}, seed) {
		t.Changes = append(t.Changes, lab.Change{At: c.At, To: c.To, Before: c.Before, After: c.After, P: c.P})
	}
	if len(t.Changes) > 0 || len(x) < steadyFrom {
		return
	}
	if at, _, p := stat.Outlier(x); p < oddP {
		t.Spikes = []int{at}
	}
	if slope, p := stat.Trend(x); p < oddP {
		t.Trend, t.TrendP = slope*float64(len(x)-1), p
	}
}

// unlikeRuns says what was not the same in all runs, of host, set-up and plan.
func unlikeRuns(sums []lab.Summary) []string {
	var out []string
	for _, f := range []struct {
		what string
		of   func(lab.Run) string
	}{
		{"CPUs", func(r lab.Run) string { return fmt.Sprintf("%d × %s", r.Host.CPUs, r.Host.CPU) }},
		{"memory sizes", func(r lab.Run) string { return fmt.Sprintf("%.1f GiB", float64(r.Host.Memory)/(1<<30)) }},
		{"kernels", func(r lab.Run) string { return r.Host.Kernel }},
		{"hypervisors", func(r lab.Run) string { return cmp.Or(r.Host.Virtual, "none") }},
		{"governors", func(r lab.Run) string { return cmp.Or(r.Host.Governor, "unknown") }},
		{"versions of backslide", func(r lab.Run) string { return cmp.Or(r.Host.Client, "unknown") }},
		{"placements", func(r lab.Run) string { return string(r.Plan.WithDefaults().Placement) }},
		{"seeds, and with them the operations,", func(r lab.Run) string { return fmt.Sprint(r.Plan.WithDefaults().Seed) }},
		{"parameters of workloads", func(r lab.Run) string { return parameters(r.Experiment) }},
	} {
		var values []string
		runs := map[string][]string{}
		for _, s := range sums {
			v := f.of(s.Run)
			if runs[v] == nil {
				values = append(values, v)
			}
			runs[v] = append(runs[v], fmt.Sprint(s.Run.ID))
		}
		if len(values) < 2 {
			continue
		}
		var parts []string
		for _, v := range values {
			parts = append(parts, fmt.Sprintf("%s (run %s)", v, list(runs[v])))
		}
		out = append(out, fmt.Sprintf("%s differ: %s", f.what, strings.Join(parts[:min(len(parts), mostSeen)], "; ")))
	}
	return out
}

// parameters returns the parameters of an experiment's workloads as one text.
func parameters(e lab.Experiment) string {
	var parts []string
	for _, w := range e.Workloads {
		names := make([]string, 0, len(w.Params))
		for k, v := range w.Params {
			names = append(names, k+"="+v)
		}
		slices.Sort(names)
		parts = append(parts, strings.TrimSpace(w.Name+" "+strings.Join(names, " ")))
	}
	return strings.Join(parts, ", ")
}
