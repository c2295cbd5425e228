package explain

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"backslide/lab"
)

// budgetLines returns the period and the parts that add up to it; the time blocked is
// split by the events that were timed.
func (x *evidence) budgetLines() []lab.Component {
	if x.blocks == 0 {
		return nil
	}
	out := append([]lab.Component{x.shared(x.period())}, x.parts()...)
	rest := x.restPart()
	if !x.complete || len(x.common(lab.Waits)) == 0 || len(x.events) == 0 {
		return append(out, rest)
	}
	left := rest
	for _, e := range x.events {
		if max(e.Base, e.Candidate) < lineShare*max(out[0].Base, out[0].Candidate) || len(out) > linesMost {
			continue
		}
		e.Name = blockedLine + ": " + e.Name
		out = append(out, e)
		left = less(left.Name, left, e)
	}
	left.Name, left.Note = blockedLine+": not instrumented", rest.Note
	return append(out, x.shared(left))
}

const (
	lineShare = 0.005 // of the period, under which an event has no line of its own
	linesMost = 14
)

// headline says the verdict and where the difference is in one sentence.
func (x *evidence) headline(e lab.Explanation) string {
	c := x.Comparison
	s := fmt.Sprintf("%s, %s: ", c.Level.Step.Name, count(c.Level.Clients, "client"))
	if x.sign == 0 {
		word := "no difference was found"
		if c.Verdict == lab.Equivalent {
			word = "no difference that matters"
		}
		return s + word + ratio(c, " (", ")") + ": there is nothing to explain"
	}
	s += ratio(c, "", "")
	parts := x.phrases(e)
	if len(parts) == 0 {
		parts = []string{"no cause was found for the " + x.time()}
	}
	if p := x.planPhrase(e); p != "" {
		parts = append(parts, p)
	}
	return s + "; " + strings.Join(parts, "; ")
}

// time names the difference in time.
func (x *evidence) time() string {
	if x.sign < 0 {
		return "time saved"
	}
	return "lost time"
}

// phrases says the causes, the largest in full.
func (x *evidence) phrases(e lab.Explanation) []string {
	const least = 0.05
	var out []string
	for _, c := range e.Causes {
		share := c.Amount.Share
		switch {
		case len(out) == 0 && share == 0:
			out = append(out, "the first cause is "+c.What)
		case len(out) == 0 && share > 0:
			out = append(out, fmt.Sprintf("%s of the %s is %s", percent(share), x.time(), c.What))
		case len(out) > 0 && len(out) < 3 && share >= least:
			out = append(out, fmt.Sprintf("%s is %s", percent(share), c.What))
		}
	}
	if u := e.Unexplained.Share; len(out) > 0 && math.Abs(u) >= 0.15 {
		out = append(out, percent(u)+" is not accounted for")
	}
	return out
}

func (x *evidence) planPhrase(e lab.Explanation) string {
	if len(e.Causes) > 0 && e.Causes[0].Kind == lab.PlanCause || len(x.plans) == 0 {
		return ""
	}
	if len(x.changed()) > 0 {
		return "a plan changed too"
	}
	return "plan unchanged"
}

// inNames says which names most of a cause is in: ", above all in a and b". Functions that
// have only an address are left to the evidence.
func inNames(cs []lab.Component, whole lab.Component) string {
	const (
		much = 0.15 // of the whole
		some = 3
	)
	var names []string
	for _, c := range cs {
		if math.Abs(c.Diff) >= much*math.Abs(whole.Diff) && !strings.HasPrefix(c.Name, "[") && len(names) < some {
			names = append(names, cut(c.Name))
		}
	}
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return ", above all in " + names[0]
	default:
		return ", above all in " + strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

// ratio returns the difference in throughput with its interval: −38 % [−41, −35].
func ratio(c lab.Comparison, before, after string) string {
	p := func(x float64) string { return signed(100*math.Expm1(x), 2) }
	if c.Metric != lab.QPS {
		before += string(c.Metric) + " "
	}
	if math.IsInf(c.Lo, 0) || math.IsInf(c.Hi, 0) {
		if len(c.Blocks) == 0 {
			return ""
		}
		return before + p(c.LogRatio) + " %" + after
	}
	return before + fmt.Sprintf("%s %% [%s, %s]", p(c.LogRatio), p(c.Lo), p(c.Hi)) + after
}

// amounts returns a component's difference, its interval and both sides, in units that
// people read.
func amounts(c lab.Component) string {
	unit, factor := c.Unit, 1.0
	switch unit {
	case "sec/op":
		unit, factor = "µs/op", 1e6
	case "1/op":
		unit = "per operation"
	}
	base := number(factor*c.Base) + " in the base"
	switch {
	case c.Base == 0:
		base = "not seen in the base"
	case c.Candidate == 0:
		base += ", not seen in the candidate"
	}
	return fmt.Sprintf("%s %s [%s, %s], %s", signed(factor*c.Diff, 3), unit, signed(factor*c.Lo, 3), signed(factor*c.Hi, 3), base)
}

// number returns a value with three digits and no exponent.
func number(v float64) string { return strings.TrimPrefix(signed(v, 3), "+") }

// signed returns a value with a sign, rounded to so many digits, and whole from 1000 on.
func signed(v float64, digits int) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return "?"
	}
	if v == 0 {
		return "0"
	}
	const finest = 3 // of µs or counts per operation, less says nothing
	decimals := digits - 1 - int(math.Floor(math.Log10(math.Abs(v))))
	s := strconv.FormatFloat(math.Abs(v), 'f', min(max(0, decimals), finest), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	switch {
	case s == "0":
		return s
	case v < 0:
		return "−" + s
	}
	return "+" + s
}

// percent returns a share: 82 %.
func percent(share float64) string {
	s := strconv.FormatFloat(100*math.Abs(share), 'f', 0, 64) + " %"
	if share < 0 && s != "0 %" {
		return "−" + s
	}
	return s
}

// count returns "1 block", "2 blocks".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
