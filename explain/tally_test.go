package explain

import (
	"math"
	"strings"
	"testing"

	"backslide/lab"
)

// waited returns rounds with waits: operations of each, seconds and times per operation of
// one event, and of a second, steady one that keeps the list from being of one name.
func waited(v lab.Variant, ops int64, seconds []float64, times float64) (out []lab.Observation) {
	for round, sec := range seconds {
		out = append(out, lab.Observation{
			Key: lab.SliceKey{Block: round, Cell: lab.Cell{Variant: v, Step: step, Clients: 32}, Kind: lab.Waits.Kind()}, Ops: ops, Wall: 1,
			Events: []lab.Amount{{Name: "wait/io/file/sql/binlog", Value: sec, Count: times}, {Name: "wait/synch/mutex/sql/LOCK_open", Value: 2e-6, Count: 0.1}},
			FileIO: []lab.Amount{{Name: "sql/binlog write", Value: sec, Count: times}},
		})
	}
	return out
}

// TestTallies: totals are those of all operations of all rounds, as the server timed and
// counted them, whatever the amounts beside them are scaled by.
func TestTallies(t *testing.T) {
	in := worse(func(n *need) { n.blocked += 200e-6 }).input(lab.Regressed)
	in.BaseSeen = waited(baseVariant, 1000, []float64{100e-6, 300e-6}, 2)
	in.CandidateSeen = waited(candVariant, 500, []float64{900e-6, 1100e-6}, 8) // more than the time blocked
	e := Explain(in)
	want := lab.Tallies{Base: lab.Tally{Seconds: 0.4, Times: 4000, TimesPerOp: 2}, Candidate: lab.Tally{Seconds: 1, Times: 8000, TimesPerOp: 8}}
	for what, list := range map[string][]lab.Component{"events": e.Events, "files": e.FileIO} {
		found := false
		for _, c := range list {
			if !strings.Contains(c.Name, "binlog") {
				continue
			}
			found = true
			if c.Tallies == nil || !near(c.Tallies.Base, want.Base) || !near(c.Tallies.Candidate, want.Candidate) {
				t.Errorf("%s: tallies %+v, want %+v", what, c.Tallies, want)
			}
		}
		if !found {
			t.Errorf("%s: %+v", what, list)
		}
	}
	for _, c := range e.Budget {
		if strings.HasPrefix(c.Name, "server CPU") && c.Tallies != nil {
			t.Errorf("%s has tallies", c.Name)
		}
	}
}

func near(a, b lab.Tally) bool {
	const most = 1e-9
	return math.Abs(a.Seconds-b.Seconds) < most && math.Abs(a.Times-b.Times) < most && math.Abs(a.TimesPerOp-b.TimesPerOp) < most
}

// TestVague: time blocked that an event may well account for, if only its rounds did not
// vary so much, is not said to be without an instrument.
func TestVague(t *testing.T) {
	for name, tt := range map[string]struct {
		seconds []float64 // of the candidate's event, by round
		what    string
	}{
		"varying": {[]float64{60e-6, 250e-6, 290e-6}, "vary too much"},
		"nothing": {[]float64{10e-6, 9e-6, 11e-6}, "nothing that is instrumented"},
	} {
		in := worse(func(n *need) { n.blocked += 200e-6 }).input(lab.Regressed)
		in.BaseSeen = waited(baseVariant, 1000, []float64{10e-6, 11e-6, 9e-6}, 1)
		in.CandidateSeen = waited(candVariant, 1000, tt.seconds, 5)
		e := Explain(in)
		if len(e.Causes) == 0 || e.Causes[0].Kind != lab.BlockedCause || !strings.Contains(e.Causes[0].What, tt.what) {
			t.Errorf("%s: %+v, want a first cause that says %q", name, e.Causes, tt.what)
			continue
		}
		said := strings.Join(e.Causes[0].Evidence, "\n")
		if got := strings.Contains(said, "perhaps wait/io/file/sql/binlog"); got != (tt.what == "vary too much") {
			t.Errorf("%s: evidence %s", name, said)
		}
	}
}

// TestIncompleteWaits: where it is not known how long threads were blocked, events are
// what was timed: the rest of the time is no measure for them.
func TestIncompleteWaits(t *testing.T) {
	in := worse(func(n *need) { n.blocked += 200e-6 }).input(lab.Regressed)
	in.BaseSeen = waited(baseVariant, 1000, []float64{500e-6, 500e-6, 500e-6}, 1)
	in.CandidateSeen = waited(candVariant, 1000, []float64{900e-6, 900e-6, 900e-6}, 5)
	for _, all := range [][]lab.Slice{in.Base, in.Candidate} {
		for i := range all {
			all[i].Usage.ConnCPU, all[i].Usage.ConnRunq = -1, -1
		}
	}
	for _, c := range Explain(in).Events {
		if strings.Contains(c.Name, "binlog") && math.Abs(c.Diff-400e-6) > 1e-12 {
			t.Errorf("%+v, want a difference of 400 µs", c)
		}
	}
}
