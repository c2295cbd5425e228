package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"backslide/lab"
)

// This file holds what a report says beside its verdicts: how many of them hold for the
// whole report, what groups of steps come to, what copies of the base say, and what
// happened during the run.

// lampCount is how many tests of a report are lit.
type lampCount struct {
	red, amber, held int // held are amber ones that would be red, but for a doubt
}

// add counts a test, if it is called.
func (n *lampCount) add(c *lab.Comparison) {
	switch {
	case c.Verdict != lab.Regressed && c.Verdict != lab.Improved:
	case c.Red:
		n.red++
	default:
		n.amber++
		if c.Held {
			n.held++
		}
	}
}

// lit counts the tests of throughput, those of groups included, as lab.Lamps does: copies
// of the base are in neither.
func (v *view) lit() lampCount {
	var n lampCount
	for i := range v.Comparisons {
		if c := &v.Comparisons[i]; c.Metric == lab.QPS && !v.monitor(c.Candidate) {
			n.add(c)
		}
	}
	for i := range v.Summary.Groups {
		if g := &v.Summary.Groups[i]; !v.monitor(g.Candidate) {
			n.add(&g.Test)
		}
	}
	return n
}

// monitor reports whether a candidate is a copy of the base that nothing slows down.
func (v *view) monitor(candidate lab.Variant) bool {
	return v.twin(candidate) && v.plan.Inject == 0
}

// lamps says how many differences hold over the whole report, and how many false calls
// chance allows. Empty when the summary does not know.
func (v *view) lamps() string {
	if !v.lamped() {
		return ""
	}
	n := v.lit()
	s := fmt.Sprintf("%d red, %d amber; %s false ambers are expected if nothing differs. These are of %s, those of groups of steps included; at most %s of such reports have even one false red.",
		n.red, n.amber, few(v.Lamps.FalseAmbers), count(v.Lamps.Tests, "test"), share(v.Lamps.Level))
	if h := heldText(n.held); h != "" {
		s += " " + h
	}
	return s
}

// heldText says how many ambers are held back from being red.
func heldText(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "1 amber would be red, but for a doubt that a footnote tells."
	}
	return fmt.Sprintf("%d ambers would be red, but for doubts that footnotes tell.", n)
}

// lamped reports whether lamps can be told: they are of throughput.
func (v *view) lamped() bool { return v.Lamps.Tests > 0 && v.metric == lab.QPS }

// few returns a small number with two digits and no exponent: 0.08, 1.3, 12.
func few(x float64) string {
	digits := 1
	if x < 1 {
		return strconv.FormatFloat(roundTo(x, 2), 'f', -1, 64)
	}
	if x >= 10 {
		digits = 0
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

// copies says what copies of the base say of the lab. Empty without any.
func (v *view) copies() string {
	if v.AA == nil || v.AA.Text == "" {
		return ""
	}
	return "A/A: " + v.copiesText()
}

func (v *view) copiesText() string { return strings.TrimRight(clean(v.AA.Text), ".") + "." }

// sentenceCase returns text with a capital at its beginning.
func sentenceCase(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// groupTable returns what each group of steps comes to, for every candidate.
func (v *view) groupTable(words bool, f *footnotes) section {
	t := &table{head: []string{"group", "clients", "geometric mean", "min", "max", "average", "median"}, fixed: 2}
	for _, candidate := range v.candidates {
		heading := v.name(candidate)
		for i := range v.Summary.Groups {
			g := &v.Summary.Groups[i]
			if g.Candidate != candidate || len(g.Test.Blocks) == 0 {
				continue
			}
			if heading != "" {
				t.rows = append(t.rows, row{heading: heading})
				heading = ""
			}
			last := lampMark(&g.Test)
			if words {
				last += " " + lampWord(&g.Test)
			}
			last += superscript(f.add(unsaid(&g.Test)...))
			cells := plain("  "+clean(string(g.Group)), clientsText(g.Clients))
			cells = append(cells, cell{
				parts: []string{v.ratio(g.Test.LogRatio), v.ratioSpan(g.Test.Lo, g.Test.Hi), last}, state: stateOf(&g.Test),
			})
			t.rows = append(t.rows, row{cells: append(cells, plain(v.ratio(math.Log(g.Min)), v.ratio(math.Log(g.Max)), v.ratio(math.Log(g.Average)), v.ratio(math.Log(g.Median)))...)})
		}
	}
	if len(t.rows) == 0 {
		return section{}
	}
	return section{
		title: fmt.Sprintf("Groups of steps, relative QPS, candidate / %s [%s interval]", v.name(v.Run.Base), share(1-v.plan.Alpha)),
		table: t, worded: true,
	}
}

// clientsText names the clients of a group summary.
func clientsText(n int) string {
	if n == 0 {
		return "all"
	}
	return fmt.Sprint(n)
}

// three returns a ratio with three decimals.
func three(x float64) string { return ratio(math.Log(x)) }

// lampMark returns the mark of a test; that of a red one is twice there, so that it is
// told without colour.
func lampMark(c *lab.Comparison) string {
	m := stateOf(c).mark()
	if c.Red {
		return m + m
	}
	return m
}

// lampWord returns the verdict of a test in words.
func lampWord(c *lab.Comparison) string {
	if c.Red {
		return stateOf(c).word() + ", red"
	}
	return stateOf(c).word()
}

// events returns what happened during the run, in order.
func (v *view) events() []string {
	var out []string
	for _, e := range v.Summary.Events {
		out = append(out, v.eventPlace(e)+clean(e.Text))
	}
	return out
}

// eventPlace says when and of what an event was: block 3, mysql@9.7.
func (v *view) eventPlace(e lab.Event) string {
	var parts []string
	if e.Block >= 0 {
		parts = append(parts, blockNumbers([]int{e.Block + 1}))
	}
	if e.Variant != (lab.Variant{}) {
		name := v.name(e.Variant)
		if name == "" { // a variant that the run does not have
			name = clean(e.Variant.String())
		}
		parts = append(parts, name)
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + ": "
}
