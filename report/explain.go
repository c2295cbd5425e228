package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"backslide/lab"
)

// ExplainFormats lists the formats that Explain knows. A page holds explanations as
// sections of a run's report: HTML.
func ExplainFormats() []string { return []string{"text", "markdown", "json"} }

// Explain writes why a candidate differs from the base at one level, in the format of that
// name. Of the options, Width and Color matter, and only to text.
func Explain(w io.Writer, format string, e lab.Explanation, o Options) error {
	switch format {
	case "text":
		return writeText(w, newAnswer(e).sections(o.Width), o)
	case "markdown":
		return writeMarkdown(w, newAnswer(e).sections(0))
	case "json":
		return explainJSON(w, e)
	}
	return fmt.Errorf("format %q of an explanation is unknown%s", format, lab.Suggest(format, ExplainFormats()))
}

// answer is an explanation arranged for reading. All formats draw from it.
type answer struct {
	lab.Explanation
	base, candidate string // names as short as tells them apart
}

func newAnswer(e lab.Explanation) *answer {
	names := shortNames([]lab.Variant{e.Comparison.Base, e.Comparison.Candidate})
	return &answer{Explanation: e, base: names[e.Comparison.Base], candidate: names[e.Comparison.Candidate]}
}

// title names what is explained.
func (a *answer) title() string {
	return fmt.Sprintf("%s, %s: %s against %s", clean(a.Comparison.Level.Step.Name), count(a.Comparison.Level.Clients, "client"), a.candidate, a.base)
}

// sections returns the explanation, in order: the causes first, then the evidence.
func (a *answer) sections(width int) []section {
	out := []section{
		{intro: []string{clean(a.Headline) + "."}}, a.causes(),
		a.amounts(amountList{title: "Where the time of an operation goes", of: a.Budget, most: len(a.Budget), shares: true, judged: true}, width),
	}
	for _, l := range a.lists() {
		out = append(out, a.amounts(l, width))
	}
	out = append(out, a.plans(), a.settings(width), a.cost(), section{title: "Doubts", list: a.doubts()})
	return append(out, section{intro: []string{a.caveat()}})
}

// caveat says how to read intervals.
func (a *answer) caveat() string {
	s := "Brackets are 99 % intervals over restarts; a cause is named only where its interval excludes zero. ▼ worse, ▲ better than the base."
	if slices.ContainsFunc(a.lists(), amountList.tallied) {
		s += " Ratios are the candidate's over the base's, per operation; totals are of all rounds in which waits were timed."
	}
	if a.SampledBy != "" {
		s += fmt.Sprintf(" Stacks were sampled by %s.", clean(a.SampledBy))
	}
	if a.Run > 0 {
		s += fmt.Sprintf(" Run %d.", a.Run)
	}
	return s
}

// doubts returns the doubts about the comparison and about its explanation.
func (a *answer) doubts() []string {
	var out []string
	for _, d := range slices.Concat(a.Doubts, a.Comparison.Notes) {
		out = append(out, clean(d))
	}
	return out
}

// causes returns the ranked list, with what no cause accounts for as its last line.
func (a *answer) causes() section {
	out := section{title: "Causes, by their share of the difference in time"}
	for i, c := range a.Causes {
		lines := []string{fmt.Sprintf("%d. %s %s: %s", i+1, a.share(c.Amount), clean(c.What), a.difference(c.Amount))}
		for _, e := range c.Evidence {
			lines = append(lines, clean(e))
		}
		out.list = append(out.list, strings.Join(lines, "\n"))
	}
	if rest, ok := a.rest(); ok {
		out.list = append(out.list, "– "+rest)
	}
	if len(out.list) == 0 {
		return section{}
	}
	return out
}

// rest says what no cause accounts for, if there is anything to account for.
func (a *answer) rest() (string, bool) {
	u := a.Unexplained
	if u.Unit == "" {
		return "", false
	}
	return fmt.Sprintf("%s not accounted for: %s", a.share(u), withUnit(u.Diff, u.Unit)), true
}

// share returns the share of the difference that a component makes; nothing if no share
// can be given.
func (a *answer) share(c lab.Component) string {
	if c.Share == 0 && c.Diff != 0 {
		return none
	}
	return wholePercent(c.Share)
}

func wholePercent(x float64) string {
	if !finite(x) {
		return none
	}
	return sign(fmt.Sprintf("%.0f", 100*x)) + " %"
}

// difference returns a component's difference with its interval and unit.
func (a *answer) difference(c lab.Component) string {
	s := withUnit(c.Diff, c.Unit)
	if span := unitSpan(c); span != "" {
		s += " " + span
	}
	return s
}

// unitOf returns the unit in which amounts are shown, and the factor to it.
func unitOf(unit string) (string, float64) {
	switch unit {
	case "sec/op":
		return "µs/op", 1e6
	case "1/op":
		return "/op", 1
	}
	return clean(unit), 1
}

func withUnit(v float64, unit string) string {
	u, f := unitOf(unit)
	if strings.HasPrefix(u, "/") {
		return plus(f*v) + u
	}
	return plus(f*v) + " " + u
}

// plus returns an amount with its sign.
func plus(v float64) string {
	if math.Abs(v) < 100 { // so that 0.9996 is not written with four digits
		v = roundTo(v, 3)
	}
	s := amount(v)
	if strings.HasPrefix(s, "<") { // closer to zero than is shown
		s = "0.000"
		if v < 0 {
			s = minus + s
		}
	}
	if v > 0 && s != none {
		return "+" + s
	}
	return s
}

// unitSpan returns the interval of a component in its shown unit: [+2.10, +3.40].
func unitSpan(c lab.Component) string {
	_, f := unitOf(c.Unit)
	if !finite(c.Lo) || !finite(c.Hi) {
		return ""
	}
	return "[" + plus(f*c.Lo) + ", " + plus(f*c.Hi) + "]"
}

// stateOf says whether a component is more or less of a cost than it was, if it is either.
func costState(c lab.Component) state {
	switch {
	case !c.Holds():
		return ""
	case c.Diff > 0:
		return regressed
	}
	return improved
}

// markOf returns the sign of a component's state.
func costMark(c lab.Component) string {
	if s := costState(c); s != "" {
		return s.mark()
	}
	return ""
}

// plans says which plans changed and how, and that the others did not.
func (a *answer) plans() section {
	out := section{title: "Plans"}
	same := 0
	for _, p := range a.Plans {
		if len(p.Changes) == 0 && len(p.Flips) == 0 {
			same++
			continue
		}
		lines := []string{shorten(clean(p.Statement), 160)}
		for _, c := range p.Changes {
			lines = append(lines, clean(c))
		}
		if s := rowsText(p); s != "" {
			lines = append(lines, s)
		}
		if len(p.Flips) > 0 {
			lines = append(lines, "flips between restarts: "+clean(strings.Join(p.Flips, ", ")))
		}
		for _, side := range [][2]string{{"base", p.Base}, {"candidate", p.Candidate}} {
			for i, l := range strings.Split(cleanTree(side[1]), "\n") {
				if i == 0 {
					l = side[0] + ": " + l
				} else {
					l = strings.Repeat(" ", len(side[0])+2) + l
				}
				lines = append(lines, l)
			}
		}
		out.list = append(out.list, strings.Join(lines, "\n"))
	}
	if same > 0 {
		out.list = append(out.list, sameText(same))
	}
	if len(out.list) == 0 {
		return section{}
	}
	return out
}

func sameText(n int) string { return count(n, "statement") + " with the same plan on both sides" }

// rowsText says how many rows an execution examines by the plans, where they say it.
func rowsText(p lab.PlanChange) string {
	if p.BaseRows < 0 || p.CandidateRows < 0 {
		return ""
	}
	return fmt.Sprintf("rows examined for each execution: %s, %s in the base", amount(p.CandidateRows), amount(p.BaseRows))
}

// cleanTree makes a tree safe to show; blanks at the beginning of lines are kept.
func cleanTree(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(clean(l), " ")
	}
	return strings.Join(lines, "\n")
}

// settings lists what nobody asked for, and then what the experiment set.
func (a *answer) settings(width int) section {
	if len(a.Settings) == 0 {
		return section{}
	}
	out := section{title: "Differences of set-up"}
	t := &table{head: []string{"setting", "base", "candidate", ""}, fixed: 1}
	names, values := 64, 40
	if width > 0 {
		names, values = 40, max(12, (width-60)/2)
	}
	heading := ""
	for _, s := range a.Settings[:min(len(a.Settings), mostSettings)] {
		if h := askedText(s); h != heading {
			t.rows, heading = append(t.rows, row{heading: h}), h
		}
		t.rows = append(t.rows, row{cells: []cell{
			plain("  " + shorten(clean(s.Name), names))[0], {parts: []string{"", shorten(clean(s.Base), values)}}, {parts: []string{"", shorten(clean(s.Candidate), values)}}, {parts: []string{"", clean(s.Known)}},
		}})
	}
	if n := len(a.Settings) - mostSettings; n > 0 {
		out.list = append(out.list, fmt.Sprintf("and %d more, in the JSON", n))
	}
	out.table = t
	return out
}

func askedText(s lab.SettingChange) string {
	if s.Asked {
		return "set by the experiment, or following from it"
	}
	return "not asked for"
}

// cost says how much the instruments slowed down what they watched.
func (a *answer) cost() section {
	out := section{title: "What watching cost"}
	for _, c := range a.Cost {
		out.list = append(out.list, a.costText(c))
	}
	if len(out.list) == 0 {
		return section{}
	}
	return out
}

func (a *answer) costText(c lab.InstrumentCost) string {
	name := a.candidate
	if c.Variant == a.Comparison.Base {
		name = a.base
	}
	return fmt.Sprintf("%s on %s: %s of its throughput without, in %s", clean(string(c.Instrument)), name, ratio(math.Log(c.Ratio)), count(c.N, "round"))
}
