package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"backslide/lab"
)

// state is what there is to say of a candidate at a level: a verdict, or why there is none.
type state string

// The states: the four verdicts, two ways of being small but real, and two of having no
// result.
const (
	regressed    = state(lab.Regressed)
	improved     = state(lab.Improved)
	equivalent   = state(lab.Equivalent)
	inconclusive = state(lab.Inconclusive)
	smallWorse   = state("small but real, worse")  // equivalent, and yet the interval is on the worse side
	smallBetter  = state("small but real, better") // likewise
	broken       = state("broken")                 // no block has both sides, since one failed
	notRun       = state("not run")                // no block has both sides, and nothing failed
)

// mark returns the one-column sign of a state.
func (s state) mark() string {
	switch s {
	case regressed:
		return "▼"
	case improved:
		return "▲"
	case equivalent:
		return "="
	case smallWorse:
		return "▽"
	case smallBetter:
		return "△"
	case inconclusive:
		return "?"
	case broken:
		return "✗"
	}
	return "·"
}

// word returns the state as tables say it.
func (s state) word() string {
	if s == smallWorse || s == smallBetter {
		return "small but real"
	}
	return string(s)
}

// view is a summary arranged for reading. All formats draw from it.
type view struct {
	lab.Summary
	plan       lab.Plan
	metric     lab.Metric    // of the verdict tables
	decimals   int           // of ratios
	variants   []lab.Variant // base first
	candidates []lab.Variant
	clients    []int // ascending
	groups     []group
	steps      int // in all groups

	names     map[lab.Variant]string // as short as tells variants apart
	workloads int                    // distinct ones: with several, steps are named with theirs
	compared  map[pairing]*lab.Comparison
	means     map[lab.Cell]*lab.CellMean
	failed    map[lab.Cell][]lab.Failure
	levels    map[lab.Level]bool // levels that the run has at all
	open      map[lab.Level]bool // those at a set rate
}

// group is the steps of one kind of work, in the order of the run.
type group struct {
	name  lab.Group
	steps []lab.Step
}

// pairing identifies a comparison within a summary.
type pairing struct {
	candidate lab.Variant
	level     lab.Level
	metric    lab.Metric
}

// entry is what is known of one candidate at one level in one metric.
type entry struct {
	pairing
	state state
	comp  *lab.Comparison // nil where there is none; without blocks where state says so
	why   string          // of broken and notRun
	fails []lab.Failure   // of either side, also where other blocks gave a result
}

// newView arranges a summary. It keeps pointers into s.
func newView(s lab.Summary, m lab.Metric) *view {
	v := &view{
		Summary: s, plan: s.Run.Plan.WithDefaults(), metric: m, decimals: 3,
		compared: map[pairing]*lab.Comparison{}, means: map[lab.Cell]*lab.CellMean{},
		failed: map[lab.Cell][]lab.Failure{}, levels: map[lab.Level]bool{}, open: map[lab.Level]bool{},
	}
	var a arranger
	a.variant(s.Run.Base)
	for _, x := range s.Run.Variants {
		a.variant(x)
	}
	for _, l := range s.Run.Levels {
		v.open[l.Level] = l.Open
		if !l.Warm { // run for its effect, and never measured
			a.level(l.Level, l.Group)
		}
	}
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		a.variant(c.Candidate)
		a.level(c.Level, c.Group)
		v.compared[pairing{c.Candidate, c.Level, c.Metric}] = c
	}
	for i := range s.Cells {
		c := &s.Cells[i]
		a.variant(c.Cell.Variant)
		a.level(c.Cell.Level(), c.Group)
		v.means[c.Cell] = c
	}
	for _, f := range s.Failures {
		a.variant(f.Cell.Variant)
		a.level(f.Cell.Level(), "")
		v.failed[f.Cell] = append(v.failed[f.Cell], f)
	}
	v.arrange(&a)
	return v
}

// arranger collects variants and levels in the order in which they are first seen.
type arranger struct {
	variants []lab.Variant
	levels   []lab.Level
	group    map[lab.Step]lab.Group
	seen     map[any]bool
}

func (a *arranger) variant(v lab.Variant) {
	if a.first(v) && v != (lab.Variant{}) {
		a.variants = append(a.variants, v)
	}
}

func (a *arranger) level(l lab.Level, g lab.Group) {
	if a.first(l) {
		a.levels = append(a.levels, l)
	}
	if a.group == nil {
		a.group = map[lab.Step]lab.Group{}
	}
	if g != "" && a.group[l.Step] == "" {
		a.group[l.Step] = g
	}
}

func (a *arranger) first(key any) bool {
	if a.seen == nil {
		a.seen = map[any]bool{}
	}
	old := a.seen[key]
	a.seen[key] = true
	return !old
}

func (v *view) arrange(a *arranger) {
	v.variants = a.variants
	for _, x := range a.variants {
		if x != v.Run.Base {
			v.candidates = append(v.candidates, x)
		}
	}
	v.names = shortNames(a.variants)
	order := lab.Groups()
	byGroup := map[lab.Group][]lab.Step{}
	workloads := map[string]bool{}
	for _, l := range a.levels {
		v.levels[l] = true
		if !slices.Contains(v.clients, l.Clients) {
			v.clients = append(v.clients, l.Clients)
		}
		workloads[l.Step.Workload] = true
		g := a.group[l.Step]
		if !slices.Contains(order, g) {
			order = append(order, g)
		}
		if !slices.Contains(byGroup[g], l.Step) {
			byGroup[g] = append(byGroup[g], l.Step)
			v.steps++
		}
	}
	slices.Sort(v.clients)
	v.workloads = len(workloads)
	for _, g := range order {
		if len(byGroup[g]) > 0 {
			v.groups = append(v.groups, group{cmp.Or(g, "other"), byGroup[g]})
		}
	}
}

// shortBuilds names each build of the variants. Of a tree or tarball it is the end of the
// path, as much as tells it apart: tables would be as wide as paths and digests otherwise.
func shortBuilds(all []lab.Variant) map[string]string {
	out := map[string]string{}
	for _, x := range all {
		out[x.Build] = x.Build
	}
	for name := range out {
		kind, path, ok := strings.Cut(name, ":")
		if !ok || kind != "dir" && kind != "tar" {
			continue
		}
		path, _, _ = strings.Cut(path, "#sha256=")
		parts := strings.Split(strings.TrimRight(path, "/"), "/")
		for n := 1; n <= len(parts); n++ {
			short := strings.Join(parts[len(parts)-n:], "/")
			alone := true
			for other := range out {
				rest, _, _ := strings.Cut(strings.Replace(other, ":", ":/", 1), "#sha256=")
				alone = alone && (other == name || !strings.HasSuffix(strings.TrimRight(rest, "/"), "/"+short))
			}
			if alone {
				out[name] = kind + ":" + short
				break
			}
		}
	}
	return out
}

// shortNames leaves out the config or engine that all variants share.
func shortNames(all []lab.Variant) map[lab.Variant]string {
	var config, engine bool
	for _, x := range all {
		config = config || x.Config != all[0].Config
		engine = engine || x.Engine != all[0].Engine
	}
	builds := shortBuilds(all)
	out := map[lab.Variant]string{}
	for _, x := range all {
		parts := []string{builds[x.Build]}
		if config {
			parts = append(parts, x.Config)
		}
		if engine {
			parts = append(parts, x.Engine)
		}
		name := strings.Join(parts, "/")
		if x.Copy > 0 {
			name += fmt.Sprintf("#%d", x.Copy)
		}
		out[x] = clean(name)
	}
	return out
}

// name returns how a variant is called in this report.
func (v *view) name(x lab.Variant) string { return v.names[x] }

// step returns how a step is called in this report.
func (v *view) step(s lab.Step) string {
	if v.workloads > 1 {
		return clean(s.String())
	}
	return clean(s.Name)
}

// at returns how a level is called in a sentence.
func (v *view) at(l lab.Level) string {
	return v.step(l.Step) + " at " + count(l.Clients, "client")
}

// entry returns what is known of a candidate at a level; ok is false where the run does
// not have the level, so that there is nothing to miss.
func (v *view) entry(candidate lab.Variant, l lab.Level, m lab.Metric) (e entry, ok bool) {
	e = entry{pairing: pairing{candidate, l, m}, state: notRun}
	if !v.levels[l] {
		return e, false
	}
	e.comp = v.compared[e.pairing]
	own := v.failed[lab.Cell{Variant: candidate, Step: l.Step, Clients: l.Clients}]
	base := v.failed[lab.Cell{Variant: v.Run.Base, Step: l.Step, Clients: l.Clients}]
	e.fails = append(append(e.fails, own...), base...)
	switch {
	case e.comp != nil && len(e.comp.Blocks) > 0:
		e.state = stateOf(e.comp)
	case len(own) > 0:
		e.state, e.why = broken, reason(own)
	case len(base) > 0:
		e.state, e.why = broken, "the base broke: "+reason(base)
	case e.comp != nil && len(e.comp.Notes) > 0:
		e.why = strings.Join(e.comp.Notes, "; ")
	case e.comp == nil && m != lab.QPS:
		e.why = "not judged: no block could tell"
	default:
		e.why = "no block has been run"
	}
	return e, true
}

// mark returns the sign of an entry, twice if it is red.
func (e entry) mark() string {
	if e.judged() {
		return lampMark(e.comp)
	}
	return e.state.mark()
}

// word returns the state of an entry as tables say it.
func (e entry) word() string {
	if e.judged() {
		return lampWord(e.comp)
	}
	return e.state.word()
}

// judged reports whether there is a verdict.
func (e entry) judged() bool { return e.state != broken && e.state != notRun }

// red reports whether an entry's red lamp is lit.
func (e entry) red() bool { return e.judged() && e.comp.Red }

// entries returns all that is known of a candidate in the view's metric, in the order of tables.
func (v *view) entries(candidate lab.Variant) []entry {
	var out []entry
	for _, g := range v.groups {
		for _, s := range g.steps {
			for _, n := range v.clients {
				if e, ok := v.entry(candidate, lab.Level{Step: s, Clients: n}, v.metric); ok {
					out = append(out, e)
				}
			}
		}
	}
	return out
}

func stateOf(c *lab.Comparison) state {
	if c.Verdict != lab.Equivalent || !c.Real {
		return state(c.Verdict)
	}
	if (c.LogRatio > 0) == c.Metric.HigherIsBetter() {
		return smallBetter
	}
	return smallWorse
}

// reason returns the first distinct reasons of failures on one line.
func reason(fails []lab.Failure) string {
	var out []string
	for _, f := range fails {
		r, _, _ := strings.Cut(strings.TrimSpace(f.Err), "\n")
		if r = clean(r); !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	if len(out) > 2 {
		out = append(out[:2], fmt.Sprintf("and %d other reasons", len(out)-2))
	}
	return strings.Join(out, "; ")
}

// notes returns the doubts of an entry, failures of some of its blocks included.
func (e entry) notes() []string {
	if e.state == broken || e.state == notRun {
		return []string{string(e.state) + ": " + e.why}
	}
	out := unsaid(e.comp)
	if len(e.fails) > 0 {
		out = append(out, fmt.Sprintf("broke in %s of others: %s", count(blocksOf(e.fails), "block"), reason(e.fails)))
	}
	return out
}

// unsaid returns the notes of a comparison without what a table says of it anyway: what
// could be seen stands beside each that is inconclusive.
func unsaid(c *lab.Comparison) []string {
	return slices.DeleteFunc(slices.Clone(c.Notes), func(n string) bool {
		return c.Verdict == lab.Inconclusive && strings.HasPrefix(n, "noisy: ")
	})
}

// blocksOf returns in how many blocks something failed.
func blocksOf(fails []lab.Failure) int {
	seen := map[int]bool{}
	for _, f := range fails {
		seen[f.Block] = true
	}
	return len(seen)
}

// clean makes text from users and servers harmless and one line: control characters and
// those that reorder text become visible.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case Controls(r):
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// Controls reports whether a character would steer a terminal, end a line, or have text
// read in another order than it stands in.
func Controls(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u061c' || r >= '\u200e' && r <= '\u200f' || r >= '\u2028' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}
