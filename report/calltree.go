package report

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"backslide/lab"
)

// callTree returns the calls that matter as lines, each indented below its caller: those
// with a difference that is more than noise and a fair part of the whole, and those that
// take a fair part of the time. What is fair grows until the lines are few enough. Calls
// one after the other that hand nearly all their time on share a line.
func (a *answer) callTree() []lab.Component {
	if a.Calls == nil || !(longer(a.Calls.Total) > 0) {
		return nil
	}
	all := longer(a.Calls.Total)
	w := worth{diff: max(math.Abs(a.Calls.Total.Diff)/20, all/1000), time: all / 10}
	for {
		lines := w.lines(nil, *a.Calls, 0)
		if len(lines) <= mostCalls {
			return lines
		}
		w.diff, w.time = w.diff*1.25, w.time*1.25
	}
}

// worth is what a call must have at least to be shown, in seconds per operation.
type worth struct{ diff, time float64 }

func (w worth) shown(c lab.Call) bool {
	return c.Total.Holds() && math.Abs(c.Total.Diff) >= w.diff || longer(c.Total) >= w.time
}

func longer(c lab.Component) float64 { return max(c.Base, c.Candidate) }

// lines appends the line of a call and those of what it calls.
func (w worth) lines(out []lab.Component, c lab.Call, depth int) []lab.Component {
	const handedOn = 0.9 // share of a caller's time
	line, names := c.Total, []string{c.Total.Name}
	below := w.below(c)
	for len(below) == 1 && depth > 0 && longer(below[0].Total) >= handedOn*longer(c.Total) {
		c = below[0]
		names = append(names, c.Total.Name)
		below = w.below(c)
	}
	line.Name = strings.Repeat("│ ", depth) + strings.Join(names, " › ")
	out = append(out, line)
	for _, to := range below {
		out = w.lines(out, to, depth+1)
	}
	return out
}

// below returns the calls that are shown of a function, the largest first.
func (w worth) below(c lab.Call) []lab.Call {
	out := slices.DeleteFunc(slices.Clone(c.Calls), func(to lab.Call) bool { return !w.shown(to) })
	slices.SortStableFunc(out, func(a, b lab.Call) int { return cmp.Compare(longer(b.Total), longer(a.Total)) })
	return out
}
