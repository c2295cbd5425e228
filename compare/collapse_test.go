package compare

import (
	"slices"
	"strings"
	"testing"

	"backslide/lab"
)

func repeat(parts ...[]float64) []float64 { return slices.Concat(parts...) }

func times(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

// A rate that falls to less than half in the last quarter is a collapse; a few bad seconds
// are stalls; a step that is paced, or short, has neither.
func TestUnsteady(t *testing.T) {
	cell := lab.Cell{Variant: variant(1), Step: lab.Step{Workload: "w", Name: "s"}, Clients: 1}
	for name, c := range map[string]struct {
		rates   []float64
		offered float64
		want    []string
	}{
		"steady":        {times(40, 100), 0, nil},
		"collapse":      {repeat(times(30, 100), times(10, 45)), 0, []string{"collapse late", "45 % of the rate before"}},
		"slower, still": {repeat(times(30, 100), times(10, 60)), 0, nil},
		"stalls":        {repeat(times(10, 100), times(3, 2), times(27, 100)), 0, []string{"in 3 seconds of 1 block"}},
		"paced":         {repeat(times(30, 100), times(10, 1)), 100, nil},
		"short":         {repeat(times(5, 100), times(3, 1)), 0, nil},
	} {
		s := lab.Summary{
			Comparisons: []lab.Comparison{
				{Base: variant(0), Candidate: variant(1), Level: cell.Level(), Metric: lab.QPS},
				{Base: variant(0), Candidate: variant(1), Level: cell.Level(), Metric: lab.ServerCPU},
			},
			Long: []lab.LongCell{{
				Cell: cell, Roles: []lab.RoleMean{{Role: "query", Offered: c.offered}},
				Traces: []lab.Trace{{Series: []lab.Series{{Name: "query rate", Values: c.rates}, {Name: "insert rate", Values: times(40, 0)}}}},
			}},
		}
		Unsteady(&s)
		notes := strings.Join(s.Comparisons[0].Notes, "\n")
		for _, w := range c.want {
			if !strings.Contains(notes, w) || !strings.Contains(notes, variant(1).String()) {
				t.Errorf("%s: notes %q, want %q of the candidate", name, notes, w)
			}
		}
		if c.want == nil && notes != "" || len(s.Comparisons[1].Notes) > 0 {
			t.Errorf("%s: notes %q, %q", name, notes, s.Comparisons[1].Notes)
		}
	}
}
