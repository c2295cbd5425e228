package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"backslide/lab"
)

// tally counts what became of one candidate's levels.
type tally struct {
	total int // levels of the run
	by    map[state]int
	red   map[state]int
	worst *lab.Comparison // the regression that is largest, of the red ones if there are any
	best  *lab.Comparison // likewise
}

func (v *view) tally(candidate lab.Variant) tally {
	var t tally
	for _, e := range v.told(candidate) {
		t.add(e)
	}
	return t
}

// add counts an entry's state.
func (t *tally) add(e entry) {
	if t.by == nil {
		t.by, t.red = map[state]int{}, map[state]int{}
	}
	t.total++
	t.by[e.state]++
	if e.red() {
		t.red[e.state]++
	}
	switch e.state {
	case regressed:
		t.worst = larger(t.worst, e.comp)
	case improved:
		t.best = larger(t.best, e.comp)
	}
}

// larger returns the red one of two differences, and of equals the larger.
func larger(a, b *lab.Comparison) *lab.Comparison {
	switch {
	case a == nil:
		return b
	case a.Red != b.Red:
		if a.Red {
			return a
		}
		return b
	case math.Abs(a.LogRatio) >= math.Abs(b.LogRatio):
		return a
	}
	return b
}

// reds says how many of those that regressed or improved are red, in brackets.
func (t tally) reds(s state) string {
	switch n := t.red[s]; {
	case n == 0:
		return ""
	case n == t.by[s]:
		return " (red)"
	default:
		return fmt.Sprintf(" (%d red)", n)
	}
}

// title names the run.
func (v *view) title() string {
	name := clean(v.Run.Name)
	if name == "" {
		name = "run"
	}
	if v.Run.ID == 0 {
		return name
	}
	return fmt.Sprintf("%s, run %d", name, v.Run.ID)
}

// sentence says in words that can be repeated what became of a candidate.
func (v *view) sentence(candidate lab.Variant) string {
	t := v.tally(candidate)
	subject := fmt.Sprintf("%s against %s", v.name(candidate), v.name(v.Run.Base))
	if v.twin(candidate) {
		subject = fmt.Sprintf("%s (%s) against %s", v.name(candidate), v.twinText(), v.name(v.Run.Base))
	}
	if v.metric != lab.QPS {
		subject += ", " + scaleOf(v.metric).name + " per op"
	}
	latency := v.pacedSentence(candidate)
	switch {
	case t.total == 0 && latency != "":
		return subject + ". " + latency
	case t.total == 0:
		return subject + ": nothing to compare."
	}
	return strings.TrimSpace(subject + ": " + v.tallied(t, v.said) + ". " + latency)
}

// oneStep reports whether a run compares several candidates in one step, which one table
// can show. A copy of the base is told apart from them.
func (v *view) oneStep() bool {
	return len(v.candidates) > 1 && !slices.ContainsFunc(v.candidates, v.twin) && len(v.groups) == 1 && len(v.groups[0].steps) == 1 && v.groups[0].name != lab.Paced
}

// tallyAll counts what became of the levels of all candidates.
func (v *view) tallyAll() tally {
	var t tally
	for _, c := range v.candidates {
		for _, e := range v.told(c) {
			t.add(e)
		}
	}
	return t
}

// together says of a run of one step what became of all its candidates.
func (v *view) together() string {
	what := v.step(v.groups[0].steps[0])
	if v.metric != lab.QPS {
		what += ", " + scaleOf(v.metric).name + " per op"
	}
	said := func(c *lab.Comparison) string {
		s := v.name(c.Candidate) + " at " + count(c.Level.Clients, "client") + " " + percent(c.LogRatio)
		if finite(c.Lo) && finite(c.Hi) {
			s += " " + percentSpan(c.Lo, c.Hi)
		}
		return s
	}
	return fmt.Sprintf("%s, %s against %s: %s.", what, count(len(v.candidates), "candidate"), v.name(v.Run.Base), v.tallied(v.tallyAll(), said))
}

// tallied says what became of levels; said names one with its difference.
func (v *view) tallied(t tally, said func(*lab.Comparison) string) string {
	var parts []string
	if n := t.by[regressed]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d regressed%s, %s %s", n, t.total, t.reds(regressed), extreme("worst", n), said(t.worst)))
	} else {
		parts = append(parts, fmt.Sprintf("none of %d regressed", t.total))
	}
	if n := t.by[improved]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d improved%s, %s %s", n, t.reds(improved), extreme("best", n), said(t.best)))
	}
	small := t.by[smallWorse] + t.by[smallBetter]
	if n := t.by[equivalent] + small; n > 0 {
		within := fmt.Sprintf("%d equivalent within %s", n, share(v.plan.Margin))
		if small > 0 {
			within += fmt.Sprintf(" (%d small but real)", small)
		}
		parts = append(parts, within)
	}
	if n := t.by[inconclusive]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d inconclusive", n))
	}
	for _, s := range []state{broken, notRun} {
		if n := t.by[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, "; ")
}

// twin reports whether a candidate is the base itself, run a second time.
func (v *view) twin(candidate lab.Variant) bool {
	candidate.Copy = v.Run.Base.Copy
	return candidate == v.Run.Base
}

// twinText says what a twin is for.
func (v *view) twinText() string {
	switch in := v.plan.Inject; {
	case in > 0:
		return "the base again, slowed down on purpose by " + share(in)
	case in < 0:
		return "the base again, and the base slowed down on purpose by " + share(-in)
	}
	return "the base again"
}

// extreme leaves out "worst" where there is only one.
func extreme(word string, n int) string {
	if n == 1 {
		return "namely"
	}
	return word
}

// said returns a comparison as a sentence has it: point-query at 4 clients −12.3 % [−14.0, −10.5].
func (v *view) said(c *lab.Comparison) string {
	s := v.at(c.Level) + " " + percent(c.LogRatio)
	if finite(c.Lo) && finite(c.Hi) {
		s += " " + percentSpan(c.Lo, c.Hi)
	}
	return s
}

// caveat says how the verdicts of all tables are to be read.
func (v *view) caveat() string {
	return fmt.Sprintf("Intervals hold with %s for each comparison, at whatever block it stopped; equivalent means within ±%s.",
		share(1-v.plan.Alpha), share(v.plan.Margin))
}

// unclear says what an inconclusive comparison could have shown.
func (v *view) unclear(e entry) string {
	c := e.comp
	s := fmt.Sprintf("%s: %s", v.at(e.level), percent(c.LogRatio))
	if finite(c.Lo) && finite(c.Hi) {
		s += " " + percentSpan(c.Lo, c.Hi)
	}
	s += " after " + count(len(c.Blocks), "block")
	if finite(c.MDE) && c.MDE > 0 {
		s += fmt.Sprintf("; could see %s in %d", size(c.MDE), v.plan.BlocksMax)
	}
	if !c.Done {
		s += "; open"
	}
	if len(c.Notes) > 0 && !finite(c.Lo) {
		s += "; " + clean(strings.Join(c.Notes, "; "))
	}
	return s
}

// detectable returns the median and the largest smallest-detectable difference of a candidate.
func (v *view) detectable(candidate lab.Variant) (median, worst float64, at lab.Level, ok bool) {
	var all []float64
	for _, e := range v.told(candidate) {
		if e.comp == nil || !finite(e.comp.MDE) || e.comp.MDE <= 0 {
			continue
		}
		all = append(all, e.comp.MDE)
		if e.comp.MDE > worst {
			worst, at = e.comp.MDE, e.level
		}
	}
	if len(all) == 0 {
		return 0, 0, at, false
	}
	slices.Sort(all)
	mid := len(all) / 2
	median = all[mid]
	if len(all)%2 == 0 {
		median = (all[mid-1] + all[mid]) / 2
	}
	return median, worst, at, true
}

// footnotes numbers doubts in the order in which tables come to them; the same words have
// the same number.
type footnotes struct {
	texts  []string
	number map[string]int
}

// add returns the numbers of notes.
func (f *footnotes) add(notes ...string) []int {
	if f.number == nil {
		f.number = map[string]int{}
	}
	var out []int
	for _, n := range notes {
		n = clean(n)
		if f.number[n] == 0 {
			f.texts = append(f.texts, n)
			f.number[n] = len(f.texts)
		}
		if !slices.Contains(out, f.number[n]) {
			out = append(out, f.number[n])
		}
	}
	return out
}
