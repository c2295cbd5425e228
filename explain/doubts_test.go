package explain

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

func TestUnknown(t *testing.T) {
	change := func(n *need) { n.user += 150e-6; n.functions["memcpy"] += 140e-6 }
	for _, c := range []struct {
		name  string
		spoil func(s *lab.Slice)
		kinds []lab.CauseKind
		lines []string
		doubt string
	}{
		{
			"no connection threads, as of MySQL 5.6", func(s *lab.Slice) { s.Usage.ConnCPU, s.Usage.ConnRunq = -1, -1 },
			[]lab.CauseKind{lab.CPUCause}, []string{periodLine, clientLine, userLine, kernelLine, runqLine, restLine}, "background threads included",
		}, {
			"no CPU", func(s *lab.Slice) { s.Usage.ServerUser, s.Usage.ServerSystem, s.Usage.ConnCPU = -1, -1, -1 },
			nil, []string{periodLine, clientLine, runqLine, restLine}, "CPU time could not be read",
		}, {
			"no run queue", func(s *lab.Slice) { s.Usage.ServerRunq, s.Usage.ConnRunq = -1, -1 },
			[]lab.CauseKind{lab.CPUCause}, []string{periodLine, clientLine, userLine, kernelLine, restLine}, "run-queue wait could not be read",
		}, {
			"no latency", func(s *lab.Slice) { s.Latency = 0 },
			[]lab.CauseKind{lab.CPUCause}, []string{periodLine, userLine, kernelLine, runqLine, restLine}, "latencies are not known",
		}, {
			"nothing", func(s *lab.Slice) { s.Latency, s.Usage = 0, unread() },
			nil, []string{periodLine, restLine}, "CPU time could not be read",
		}, {
			"nothing in one block", func(s *lab.Slice) {
				if s.Block == 2 {
					s.Latency, s.Usage = 0, unread()
				}
			},
			[]lab.CauseKind{lab.CPUCause}, []string{periodLine, clientLine, userLine, kernelLine, runqLine, "blocked: wait/io/file/innodb/innodb_data_file", "blocked: wait/synch/mutex/sql/LOCK_open", "blocked: not instrumented"},
			"1 block of 6 left out",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := worse(change).input(lab.Regressed)
			for i := range in.Base {
				c.spoil(&in.Base[i])
			}
			e := Explain(in)
			checkSums(t, e)
			var kinds []lab.CauseKind
			for _, k := range e.Causes {
				kinds = append(kinds, k.Kind)
			}
			var lines []string
			for _, b := range e.Budget {
				lines = append(lines, b.Name)
			}
			if d := cmp.Diff(c.kinds, kinds); d != "" {
				t.Errorf("kinds of causes (-want +got):\n%s%+v", d, e.Causes)
			}
			if d := cmp.Diff(c.lines, lines); d != "" {
				t.Errorf("budget (-want +got):\n%s", d)
			}
			if !slices.ContainsFunc(e.Doubts, func(d string) bool { return strings.Contains(d, c.doubt) }) {
				t.Errorf("doubts %q, want one of %q", e.Doubts, c.doubt)
			}
		})
	}
	// Events were timed for themselves, so that they are causes even where what is left is
	// not known to be blocked.
	in := worse(func(n *need) { n.blocked += 200e-6; n.events["wait/io/file/sql/binlog"] = 190e-6 }).input(lab.Regressed)
	for i := range in.Base {
		in.Base[i].Usage.ConnCPU, in.Base[i].Usage.ConnRunq = -1, -1
	}
	if e := Explain(in); len(e.Causes) != 1 || e.Causes[0].Kind != lab.WaitCause {
		t.Errorf("causes without connection threads: %+v", e.Causes)
	}
}

func unread() lab.Usage {
	return lab.Usage{
		ServerUser: -1, ServerSystem: -1, ServerRunq: -1, ConnCPU: -1, ConnRunq: -1, ClientUser: -1, ClientSystem: -1, CtxVoluntary: -1, CtxForced: -1,
		ReadBytes: -1, WriteBytes: -1, ReadCalls: -1, WriteCalls: -1, MajorFaults: -1, Steal: -1, HostBusy: -1, RSS: -1,
	}
}

func TestTooFew(t *testing.T) {
	s := worse(func(n *need) { n.user += 120e-6; n.blocked += 100e-6; n.events["wait/io/file/sql/binlog"] = 90e-6 })
	s.rounds = 1
	e := Explain(s.input(lab.Regressed))
	checkSums(t, e)
	for _, c := range slices.Concat(e.Functions, e.Events) {
		if !math.IsInf(c.Lo, -1) || !math.IsInf(c.Hi, 1) || c.N != 1 {
			t.Errorf("one round gave %+v an interval", c)
		}
	}
	// The blocks say that threads were blocked, but not on what.
	if len(e.Causes) != 2 || e.Causes[0].Kind != lab.CPUCause || e.Causes[1].Kind != lab.BlockedCause || e.Causes[1].What != "being blocked" {
		t.Errorf("causes %+v", e.Causes)
	}
	s.blocks, s.rounds = 1, 0
	if e = Explain(s.input(lab.Regressed)); len(e.Causes) != 0 || math.Abs(e.Unexplained.Share-1) > 1e-9 {
		t.Errorf("one block gave causes %+v, unexplained %+v", e.Causes, e.Unexplained)
	}
	s.blocks = 0
	if e = Explain(s.input(lab.Regressed)); len(e.Budget) != 0 || len(e.Causes) != 0 || len(e.Doubts) == 0 {
		t.Errorf("no block gave budget %+v, causes %+v, doubts %q", e.Budget, e.Causes, e.Doubts)
	}
}

// TestCouldNotLook: a side whose stacks could not be read has no functions. They are not
// known, and not zero.
func TestCouldNotLook(t *testing.T) {
	in := worse(func(n *need) { n.user += 120e-6; n.functions["page_cur_search_with_match"] += 100e-6 }).input(lab.Regressed)
	for i := range in.BaseSeen {
		in.BaseSeen[i].Functions, in.BaseSeen[i].Spins, in.BaseSeen[i].Events = nil, nil, nil
	}
	e := Explain(in)
	if len(e.Functions) > 0 || len(e.Events) > 0 {
		t.Errorf("functions %+v, events %+v", e.Functions, e.Events)
	}
	if len(e.Causes) != 1 || e.Causes[0].Kind != lab.CPUCause || strings.Contains(e.Causes[0].What, "page_cur") {
		t.Errorf("causes %+v", e.Causes)
	}
}

// TestNameless: how much CPU time has no function's name, in which files, and where the
// names are.
func TestNameless(t *testing.T) {
	in := worse(func(n *need) { n.user += 150e-6; n.functions["memcpy"] += 140e-6 }).input(lab.Regressed)
	for i := range in.CandidateSeen {
		o := &in.CandidateSeen[i]
		o.Unknown, o.Nameless = 0.41, []lab.Amount{{Name: "libc.so.6", Value: 0.005}, {Name: "libaio.so.1", Value: 0.015}, {Name: "mariadbd", Value: 0.39}}
		in.BaseSeen[i].Unknown = 0.04
	}
	in.Run.Sides = map[string]*lab.Side{candVariant.String(): {Build: lab.Build{
		Origin: "apt bookworm-security", Packages: []lab.Package{{Name: "libc6"}, {Name: "mariadb-server-core", Version: "1:10.11.19-0+deb12u1"}},
	}}}
	want := "candidate: 41 % of the sampled CPU time is in functions without a name (mariadbd 39 %, libaio.so.1 2 %); its names are in the package mariadb-server-core-dbgsym 1:10.11.19-0+deb12u1" +
		" of Debian's archive of debug symbols, suite bookworm-security-debug: unpack it and explain again with --symbols DIR"
	got := slices.DeleteFunc(Explain(in).Doubts, func(s string) bool { return !strings.Contains(s, "without a name") })
	if d := cmp.Diff([]string{want}, got); d != "" {
		t.Errorf("doubts (-want +got):\n%s", d)
	}
}

// TestHeldBack: an old transaction is evidence where the side that needs more CPU had it and
// the other did not.
func TestHeldBack(t *testing.T) {
	for _, c := range []struct {
		name            string
		base, candidate float64 // seconds
		want            bool
	}{{"candidate", 0, 40, true}, {"both", 38, 40, false}, {"base", 40, 0, false}, {"a short one", 0, 0.2, false}} {
		in := worse(func(n *need) { n.user += 150e-6; n.functions["memcpy"] += 140e-6 }).input(lab.Regressed)
		for side, seen := range [][]lab.Observation{in.BaseSeen, in.CandidateSeen} {
			for i := range seen {
				seen[i].Wall, seen[i].OldestTrx = 1, []float64{c.base, c.candidate}[side]
			}
		}
		said := false
		for _, e := range Explain(in).Causes[0].Evidence {
			said = said || strings.Contains(e, "a transaction of another session was open in the candidate, at the end for 40 s")
		}
		if said != c.want {
			t.Errorf("%s: said %v", c.name, said)
		}
	}
}
