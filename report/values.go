package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"backslide/lab"
)

// absoluteTable has a row per step and variant, a column per number of clients.
type absoluteTable struct {
	Title   string
	Closed  bool
	Clients []string
	Groups  []absoluteGroup
}

type absoluteGroup struct {
	Name    string
	Columns int
	Rows    []absoluteRow
}

type absoluteRow struct {
	Step    string // empty: as above
	Span    int    // rows that Step stands for
	Variant string
	Base    bool
	Values  []string
}

func (v *view) absoluteTable() absoluteTable {
	sc := scaleOf(v.metric)
	t := absoluteTable{
		Title:  fmt.Sprintf("%s, %s", sc.name, sc.unit),
		Closed: v.steps*len(v.variants) > manyRows/4,
	}
	for _, n := range v.clients {
		t.Clients = append(t.Clients, count(n, "client"))
	}
	for _, g := range v.groups {
		out := absoluteGroup{Name: clean(string(g.name)), Columns: 2 + len(v.clients)}
		for _, s := range g.steps {
			for i, x := range v.variants {
				r := absoluteRow{Variant: v.name(x), Base: x == v.Run.Base}
				if i == 0 {
					r.Step, r.Span = v.step(s), len(v.variants)
				}
				for _, n := range v.clients {
					r.Values = append(r.Values, v.shown(lab.Cell{Variant: x, Step: s, Clients: n}, v.metric, sc))
				}
				out.Rows = append(out.Rows, r)
			}
		}
		t.Groups = append(t.Groups, out)
	}
	return t
}

// shown returns a cell's absolute value in the unit of a scale, or why there is none.
func (v *view) shown(c lab.Cell, m lab.Metric, sc scale) string {
	if mean := v.means[c]; mean != nil && v.levels[c.Level()] {
		if x, ok := mean.Values[m]; ok && finite(x) {
			return grouped(x * sc.factor)
		}
	}
	return v.value(c, m).parts[0]
}

// setupPart is what was run, on what, and how.
type setupPart struct {
	Variants []setupVariant
	Names    []string // of the variants, the heads of Settings
	Settings []setting
	Plan     []fact
	Host     []fact
	Warnings []string
}

type setupVariant struct {
	Name    string
	Base    bool
	Unknown bool
	Facts   []fact
	Ignored []string
}

// setting is a server variable that is not the same on all sides.
type setting struct {
	Name   string
	Values []string
}

func (v *view) setup() setupPart {
	out := setupPart{Host: v.host(), Plan: v.planFacts()}
	for _, w := range v.Run.Host.Warnings {
		out.Warnings = append(out.Warnings, clean(w))
	}
	for _, x := range v.variants {
		out.Names = append(out.Names, v.name(x))
		s := v.Run.Sides[x.String()]
		sv := setupVariant{Name: v.name(x), Base: x == v.Run.Base, Unknown: s == nil}
		if s != nil {
			sv.Facts = []fact{
				{"build", s.Build.Name}, {"version", s.Build.Version}, {"origin", s.Build.Origin}, {"id", s.Build.ID}, {"built with", s.Build.Flags},
				{"engine", strings.TrimSpace(x.Engine + " " + strings.TrimPrefix(s.Engine, x.Engine))}, {"config", x.Config}, {"options", configText(s.Config, s.Build.Family)},
			}
			for i := range sv.Facts {
				sv.Facts[i].Value = clean(sv.Facts[i].Value)
			}
			sv.Facts = slices.DeleteFunc(sv.Facts, func(f fact) bool { return f.Value == "" })
			for _, i := range s.Ignored {
				sv.Ignored = append(sv.Ignored, clean(i))
			}
		}
		out.Variants = append(out.Variants, sv)
	}
	out.Settings = v.settings()
	return out
}

// settings returns the variables that differ between sides that were started.
func (v *view) settings() []setting {
	names := map[string]bool{}
	for _, s := range v.Run.Sides {
		if s != nil {
			for name := range s.Settings {
				names[name] = true
			}
		}
	}
	var out []setting
	for name := range names {
		row := setting{Name: clean(name)}
		seen := map[string]bool{}
		for _, x := range v.variants {
			text := none
			if s := v.Run.Sides[x.String()]; s != nil && s.Settings != nil {
				if value, ok := s.Settings[name]; ok {
					text = clean(value)
				}
				seen[text] = true
			}
			row.Values = append(row.Values, text)
		}
		if len(seen) > 1 {
			out = append(out, row)
		}
	}
	slices.SortFunc(out, func(a, b setting) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (v *view) planFacts() []fact {
	p, r := v.plan, v.Run
	ended := "not ended: it can be resumed"
	if !r.Ended.IsZero() {
		ended = r.Ended.UTC().Format("2006-01-02 15:04:05 UTC") + ", after " + r.Ended.Sub(r.Started).Round(time.Second).String()
	}
	started := none
	if !r.Started.IsZero() {
		started = r.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return []fact{
		{"run", fmt.Sprintf("%d, %s", r.ID, clean(r.Name))}, {"experiment file", cmp.Or(clean(r.Experiment.File), "none: made from flags")},
		{"started", started}, {"ended", ended}, {"seed", fmt.Sprint(p.Seed)},
		{"blocks", strings.TrimPrefix(v.blocksLine(), "blocks: ")},
		{"slices", fmt.Sprintf("%s after %s that are discarded", v.slicesLine(), p.Discard)},
		{"placement", placementText(p.Placement)}, {"idle servers", clean(orUnknown(r.Freezer))},
		{"false alarms", fmt.Sprintf("%s per comparison, over all looks together", share(p.Alpha))},
		{"equivalence", fmt.Sprintf("within ±%s; wrongly called so at most in %s", share(p.Margin), share(p.AlphaEq/2))},
	}
}

// subtitle says when and on what.
func (v *view) subtitle() string {
	var parts []string
	if !v.Run.Started.IsZero() {
		parts = append(parts, v.Run.Started.UTC().Format("2 January 2006"))
	}
	if v.Run.Host.CPU != "" {
		parts = append(parts, fmt.Sprintf("%d × %s", v.Run.Host.CPUs, clean(v.Run.Host.CPU)))
	}
	if v.steps > 0 {
		parts = append(parts, fmt.Sprintf("%s, %s, base %s", count(v.steps, "step"), count(len(v.variants), "variant"), v.name(v.Run.Base)))
	}
	if v.Run.Ended.IsZero() {
		parts = append(parts, "not ended")
	}
	return strings.Join(parts, " · ")
}

// cleanLines is clean for text that keeps its lines.
func cleanLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		lines[i] = clean(lines[i])
	}
	return strings.Join(lines, "\n")
}
