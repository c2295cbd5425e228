package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"backslide/lab"
)

// injected is a difference between two servers that was made on purpose, and what explain
// has to say of it.
type injected struct {
	name        string
	step        string
	candidate   string          // its config, where there are several
	improved    bool            // it was made faster
	first       []lab.CauseKind // the first cause is of one of these kinds
	names       []string        // one of these is named by the first cause or its evidence
	also        string          // and this
	least, most float64         // seconds per operation of all causes of these kinds together; 0, 0: any
}

// together is an experiment of testdata/causes with what is made different in it, and how
// its servers are watched: lists of functions need more samples than lists of waits.
type together struct {
	experiment string
	rounds     string
	slice      string
	injected   []injected
}

func injections() []together {
	return []together{
		{"instruments", "6", "600ms", []injected{
			// The index that the adaptive hash index spares is searched again: CPU, in the
			// descent, in the search of each page, or in its comparisons of keys.
			{
				name: "hash index off", step: "q4-1000", candidate: "unhashed", first: []lab.CauseKind{lab.CPUCause},
				names: []string{"btr_cur_search_to_nth_level", "page_cur_search_with_match", "cmp_dtuple_rec_with_match"},
			},
			{
				name: "waits are timed", step: "q4-1000", candidate: "timed", first: []lab.CauseKind{lab.CPUCause},
				names: []string{"pfs", "PFS", "_v1", "my_timer", "events_waits"},
			},
		}},
		{"versions", "5", "300ms", []injected{
			{name: "an index is missing", step: "by-a", first: []lab.CauseKind{lab.PlanCause}, names: []string{"ref a(1) -> ALL"}, also: "rows read per operation"},
			// Newer versions walk the index that gives the order until they have met enough
			// rows: all but the last ones, where these are at its end, and a few where not.
			{name: "rows at the end of the order", step: "late", first: []lab.CauseKind{lab.PlanCause}, names: []string{"-> index made"}, also: "rows read per operation"},
			{name: "rows all over the order", step: "spread", improved: true, first: []lab.CauseKind{lab.PlanCause}, names: []string{"-> index made"}, also: "rows read per operation"},
			// It is no regression of a plan, whatever rows the server expects.
			{name: "purge is blocked", step: "first-row", first: []lab.CauseKind{lab.CPUCause}, names: []string{"a transaction of another session was open in the candidate"}, also: "rows read per operation did not change"},
			// Time that is spent on purpose lands in the component that it belongs to.
			{name: "sleep", step: "sleep", first: []lab.CauseKind{lab.BlockedCause, lab.WaitCause}, least: 0.0015, most: 0.004},
			{name: "busy", step: "busy", first: []lab.CauseKind{lab.CPUCause}, names: []string{"server CPU"}, least: 0.0001, most: 0.1},
			{name: "lock", step: "lock", first: []lab.CauseKind{lab.WaitCause, lab.BlockedCause}, least: 0.003, most: 0.02},
		}},
		{"mutex", "5", "300ms", []injected{
			{name: "one mutex for all", step: "mix", first: []lab.CauseKind{lab.WaitCause, lab.SpinCause, lab.BlockedCause}, names: []string{"Query_cache"}},
		}},
		{"binlog", "5", "300ms", []injected{
			{name: "the binary log is synced", step: "insert", first: []lab.CauseKind{lab.WaitCause}, names: []string{"binlog"}},
		}},
		{"hog", "5", "300ms", []injected{
			{name: "another program", step: "point-query", first: []lab.CauseKind{lab.HostCause}, names: []string{"other process"}},
		}},
	}
}

// TestInjectedCauses: differences that were made on purpose are found on real servers, and
// what was done is the first cause. Nothing is a cause whose interval includes zero.
func TestInjectedCauses(t *testing.T) {
	for _, x := range injections() {
		t.Run(x.experiment, func(t *testing.T) {
			c := newCLI(t)
			if err := os.CopyFS(c.dir, os.DirFS(filepath.Join("testdata", "causes", x.experiment))); err != nil {
				t.Fatal(err)
			}
			c.must(0, "run", "exp.toml")
			c.must(0, "explain", "last", "--all", "--rounds", x.rounds, "--slice", x.slice)
			for _, in := range x.injected {
				t.Run(in.name, func(t *testing.T) { in.test(t, &cli{t, c.dir}, x.rounds, x.slice) })
			}
			c.checkExports(x.injected[0].step)
		})
	}
}

// test looks at what explain says of the stored rounds. Where they do not show what was
// done, it does what a user would: it has as many rounds watched once more.
func (in injected) test(t *testing.T, c *cli, rounds, slice string) {
	args := []string{"explain", "last", in.step}
	if in.candidate != "" {
		args = append(args, "--candidate", "mysql@5.6/"+in.candidate)
	}
	stored := append(slices.Clone(args), "--stored")
	defer func() {
		if t.Failed() || testing.Verbose() {
			_, text, _ := c.run(stored...)
			t.Logf("\n%s", text)
		}
	}()
	e := c.explanation(stored)
	if missing := in.missing(e); len(missing) > 0 {
		t.Logf("after the first rounds:\n%s", strings.Join(missing, "\n"))
		c.must(0, append(args, "--again", "--rounds", rounds, "--slice", slice)...)
		e = c.explanation(stored)
		for _, m := range in.missing(e) {
			t.Error(m)
		}
	}
	// A sleeping server may give no samples.
	if len(e.Functions) > 0 && (e.Calls == nil || len(e.Calls.Calls) == 0) {
		t.Errorf("%d functions, and the call tree is %+v", len(e.Functions), e.Calls)
	}
	if len(e.Events) > 0 && len(e.Statements) == 0 {
		t.Error("waits were timed and no statements")
	}
}

// explanation runs explain and reads what it says: no cause has an interval with zero.
func (c *cli) explanation(args []string) lab.Explanation {
	c.t.Helper()
	out, _ := c.must(0, append(slices.Clone(args), "--format", "json")...)
	var e lab.Explanation
	if err := json.Unmarshal([]byte(out), &e); err != nil {
		c.t.Fatal(err)
	}
	for _, cause := range e.Causes {
		if !cause.Amount.Holds() {
			c.t.Errorf("a cause whose interval includes zero: %+v", cause)
		}
	}
	return e
}

// missing says what an explanation does not have of what it should.
func (in injected) missing(e lab.Explanation) (out []string) {
	// Others' work makes every figure doubtful, as the explanation says itself: then what
	// was done has to be among the causes, if there is a verdict at all.
	if busy := othersIn(e); busy > 0.2 {
		if len(e.Causes) > 0 && !slices.ContainsFunc(e.Causes, in.is) {
			out = append(out, fmt.Sprintf("none of the causes is of a kind in %v and names one of %q; other programs kept %.2f CPUs busy", in.first, in.names, busy))
		}
		return out
	}
	if len(e.Causes) == 0 {
		return []string{"no cause: " + e.Headline}
	}
	if first := e.Causes[0]; !in.is(first) {
		out = append(out, fmt.Sprintf("the first cause is of kind %s, want %v, and has to name one of %q, and %q:\n%s\n%s", first.Kind, in.first, in.names, in.also, first.What, strings.Join(first.Evidence, "\n")))
	}
	want := lab.Regressed
	if in.improved {
		want = lab.Improved
	}
	if e.Comparison.Verdict != want {
		out = append(out, fmt.Sprintf("verdict %s, want %s", e.Comparison.Verdict, want))
	}
	total := 0.0
	for _, c := range e.Causes {
		if slices.Contains(in.first, c.Kind) {
			total += c.Amount.Diff
		}
	}
	if in.most > 0 && (total < in.least || total > in.most) {
		out = append(out, fmt.Sprintf("%.4f s in causes of the kinds %v, want %v to %v", total, in.first, in.least, in.most))
	}
	return out
}

// is reports whether a cause is what was done.
func (in injected) is(c lab.Cause) bool {
	said := c.What + "\n" + strings.Join(c.Evidence, "\n")
	named := len(in.names) == 0 || slices.ContainsFunc(in.names, func(n string) bool { return strings.Contains(said, n) })
	return slices.Contains(in.first, c.Kind) && named && strings.Contains(said, in.also)
}

// othersIn returns how many CPUs other programs kept busy while the base was measured.
func othersIn(e lab.Explanation) float64 {
	for _, c := range e.Beside {
		if c.Name == "other processes" {
			return c.Base
		}
	}
	return 0
}

// checkExports looks at the other ways in which what was watched leaves the lab.
func (c *cli) checkExports(step string) {
	c.t.Helper()
	c.must(0, "explain", "last", step, "--stored", "--stacks", "out")
	for _, file := range []string{"base.pb.gz", "candidate.pb.gz", "base.folded", "candidate.folded", "flame.svg"} {
		if info, err := os.Stat(filepath.Join(c.dir, "out", file)); err != nil || info.Size() == 0 {
			c.t.Errorf("%s: %v", file, err)
		}
	}
	// What was watched is evidence of a bug report.
	if out, _ := c.must(0, "report", "--format", "bug", "last", step); !strings.Contains(out, "Causes, the largest share") {
		c.t.Errorf("%s: the bug report tells no causes:\n%s", step, out)
	}
}
