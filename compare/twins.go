package compare

import (
	"fmt"
	"math"

	"backslide/lab"
	"backslide/stat"
)

const (
	// distrust is the probability under which alarms between two copies of the base are
	// more than chance, and the lab is not trusted.
	distrust = 0.001
	// uniformFrom is the number of p-values from which on their distribution is looked at.
	uniformFrom = 8
	// exchanges is how often names are exchanged: just enough to go as low as distrust.
	exchanges = 999
)

// twins counts the alarms between the base and its copies; nil without any. All of them
// come from one pair of servers per block, so where a restart sets all steps back at once
// they come together: the count is then held to be odd too easily rather than not easily
// enough. How even the p-values are is held against exchanged names, which allows for it.
func (j *judge) twins(cs []lab.Comparison) *lab.AA {
	var a lab.AA
	seen := false
	shortest := math.MaxInt
	for _, c := range cs {
		if !j.monitor(c.Candidate) || c.Metric != lab.QPS {
			continue
		}
		seen = true
		if len(c.Blocks) < firstLook {
			continue
		}
		a.Tests++
		shortest = min(shortest, len(c.Blocks))
		if called(c) {
			a.Alarms++
		}
	}
	if !seen {
		return nil
	}
	a.Expected = j.plan.Alpha * float64(a.Tests)
	a.P = stat.AtLeast(a.Alarms, a.Tests, j.plan.Alpha)
	a.Uniform = 1
	if d := j.equally(cs, shortest); len(d) >= uniformFrom {
		a.Values, a.Uniform = len(d), stat.Exchangeable(d, exchanges, j.plan.Seed)
	}
	a.Held = a.P < distrust || a.Uniform <= distrust
	a.Text = words(a)
	return &a
}

// equally returns the copies' differences in the first n blocks, a number that all of
// them have: the p-values of tests that do not stop are uniform.
func (j *judge) equally(cs []lab.Comparison, n int) [][]float64 {
	var out [][]float64
	for _, c := range cs {
		if j.monitor(c.Candidate) && c.Metric == lab.QPS && len(c.Blocks) >= n {
			out = append(out, values(c.Blocks[:n]))
		}
	}
	return out
}

// words says what an AA says.
func words(a lab.AA) string {
	if a.Tests == 0 {
		return fmt.Sprintf("the base and its copy: too few blocks yet; a verdict needs at least %d", firstLook)
	}
	text := fmt.Sprintf("the base and its copy were called different in %d of %d comparisons; %.1f are expected by chance, and so many or more with a probability of %.3g %%",
		a.Alarms, a.Tests, a.Expected, 100*a.P)
	if a.Values > 0 {
		text += fmt.Sprintf("; p-values as uneven as theirs come with %.2g %%", 100*a.Uniform)
	}
	if a.Held {
		text += ": more than chance, so no lamp is red; something favours one side, or blocks depend on each other"
	}
	return text
}
