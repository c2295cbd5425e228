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
)

// twins counts the alarms between the base and its copies; nil without any. All of them
// come from one pair of servers per block, so where a restart sets all steps back at once
// they are not as independent as chance is taken to be; reds are then held too easily
// rather than not easily enough.
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
	if p := j.fixedP(cs, shortest); len(p) >= uniformFrom {
		a.Values, a.Uniform = len(p), stat.Uniform(p)
	}
	a.Held = a.P < distrust || a.Uniform < distrust
	a.Text = words(a)
	return &a
}

// fixedP returns the p-values of Student's t of the copies' comparisons after n blocks, a
// number that all of them have: unlike those of tests that stop, they are uniform.
func (j *judge) fixedP(cs []lab.Comparison, n int) []float64 {
	var out []float64
	for _, c := range cs {
		if !j.monitor(c.Candidate) || c.Metric != lab.QPS || len(c.Blocks) < n {
			continue
		}
		if _, p := stat.Zero(values(c.Blocks[:n])); !math.IsNaN(p) {
			out = append(out, p)
		}
	}
	return out
}

// words says what an AA says.
func words(a lab.AA) string {
	if a.Tests == 0 {
		return fmt.Sprintf("the base and its copy: too few blocks yet; a verdict needs at least %d", firstLook)
	}
	text := fmt.Sprintf("the base and its copy were called different in %d of %d comparisons; %.1f are expected by chance, and so many or more with a probability of %.2g %%",
		a.Alarms, a.Tests, a.Expected, 100*a.P)
	if a.Values > 0 {
		text += fmt.Sprintf("; p-values as uneven as theirs come with %.2g %%", 100*a.Uniform)
	}
	if a.Held {
		text += ": more than chance, so no lamp is red; something favours one side, or blocks depend on each other"
	}
	return text
}
