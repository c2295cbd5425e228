package explain

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// worse returns a pair of servers of which the candidate is changed.
func worse(change func(n *need)) sim {
	s := sim{base: plain(), cand: plain(), blocks: 6, rounds: 3, noise: 0.02, seed: 1}
	change(&s.cand)
	return s
}

func TestCauses(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(n *need)
		want     []lab.CauseKind
		share    float64 // of the first
		first    string  // in what it says
		evidence string
	}{
		{
			"cpu", func(n *need) { n.user += 120e-6; n.functions["page_cur_search_with_match"] += 100e-6 },
			[]lab.CauseKind{lab.CPUCause}, 1, "above all in page_cur_search_with_match", "page_cur_search_with_match: +",
		}, {
			"new function", func(n *need) { n.user += 120e-6; n.functions["pfs_start_mutex_wait_v1"] = 110e-6 },
			[]lab.CauseKind{lab.CPUCause}, 1, "in pfs_start_mutex_wait_v1", "not seen in the base",
		}, {
			"kernel", func(n *need) { n.kernel += 90e-6; n.functions["copy_user"] = 90e-6 },
			[]lab.CauseKind{lab.CPUCause}, 1, "in copy_user", "in the kernel: +",
		}, {
			"spin", func(n *need) {
				n.user += 160e-6
				n.functions["ut_delay"], n.spins["ut_delay"] = 120e-6, 120e-6
				n.functions["row_search_mvcc"] += 40e-6
			},
			[]lab.CauseKind{lab.SpinCause, lab.CPUCause}, 0.75, "burns CPU, above all in ut_delay", "ut_delay: +",
		}, {
			"wait", func(n *need) { n.blocked += 200e-6; n.events["wait/io/file/sql/binlog"] = 195e-6 },
			[]lab.CauseKind{lab.WaitCause}, 0.975, "waits on wait/io/file/sql/binlog", "",
		}, {
			"half instrumented", func(n *need) {
				n.blocked += 200e-6
				n.switches += 3
				n.events["wait/synch/sxlock/innodb/hash_table_locks"] = 120e-6
			},
			[]lab.CauseKind{lab.WaitCause, lab.BlockedCause}, 0.6, "hash_table_locks", "",
		}, {
			"not instrumented", func(n *need) { n.blocked += 200e-6; n.switches += 3 },
			[]lab.CauseKind{lab.BlockedCause}, 1, "nothing that is instrumented", "voluntary context switches: +3",
		}, {
			"run queue", func(n *need) { n.runq += 100e-6 },
			[]lab.CauseKind{lab.RunqCause}, 1, "waiting for a CPU", "",
		}, {
			"hog", func(n *need) { n.runq += 100e-6; n.hostBusy = 0.9 },
			[]lab.CauseKind{lab.HostCause}, 1, "not the server: other processes", "CPUs busy with other processes: +0.8",
		}, {
			"hog that the client feels too", func(n *need) { n.client += 60e-6; n.runq += 100e-6; n.blocked += 40e-6; n.hostBusy = 0.9 },
			[]lab.CauseKind{lab.HostCause}, 1, "not the server: other processes", "the client waited for a CPU; CPUs busy with other processes: +0.8",
		}, {
			// The server waits for the client instead of being driven from the CPU by it.
			"hog on the CPU that server and client share", func(n *need) {
				n.runq += 50e-6
				n.blocked += 70e-6
				n.switches += 0.7
				n.forced -= 0.7
				n.hostBusy = 0.5
			},
			[]lab.CauseKind{lab.HostCause}, 1, "not the server: other processes", "answers waited for the client to have a CPU; CPUs busy with other processes: +0.4",
		}, {
			"hypervisor", func(n *need) { n.runq += 100e-6; n.steal = 0.4 },
			[]lab.CauseKind{lab.HostCause}, 1, "not the server: the hypervisor", "CPUs taken by the hypervisor: +0.",
		}, {
			"hypervisor, unseen by the run queue", func(n *need) { n.blocked += 60e-6; n.steal = 8 },
			[]lab.CauseKind{lab.HostCause}, 1, "not the server: the hypervisor", "",
		}, {
			"client", func(n *need) { n.client += 80e-6 },
			[]lab.CauseKind{lab.ClientCause}, 1, "the client", "",
		}, {
			"background", func(n *need) { n.runq += 60e-6; n.back += 40e-6 },
			[]lab.CauseKind{lab.OverheadCause}, 1, "background threads", "background threads, CPU: +",
		}, {
			"plan", func(n *need) {
				n.user += 300e-6
				n.blocked += 50e-6
				n.plan, n.rows = "t index create_time", 800
				n.counters["Handler_read_next"] = 800
				n.functions["row_search_mvcc"] += 290e-6
			},
			[]lab.CauseKind{lab.PlanCause}, 1, "no longer: t range k(1)", "rows read per operation: 80",
		}, {
			"plan without witness", func(n *need) { n.user += 100e-6; n.plan = "t range k(1) covering" },
			[]lab.CauseKind{lab.CPUCause}, 1, "server CPU", "a plan changed as well",
		}, {
			"plan and hog", func(n *need) {
				n.user += 300e-6
				n.runq += 100e-6
				n.hostBusy = 0.9
				n.plan = "t ALL"
				n.counters["Handler_read_rnd_next"] = 1000
			},
			[]lab.CauseKind{lab.PlanCause, lab.HostCause}, 0.75, "t range k(1)", "now: t ALL",
		}, {
			"opposite", func(n *need) {
				n.user += 200e-6
				n.blocked -= 30e-6
				n.events["wait/io/file/innodb/innodb_data_file"] = 0
			},
			[]lab.CauseKind{lab.CPUCause, lab.WaitCause, lab.BlockedCause}, 200.0 / 170, "server CPU", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := Explain(worse(c.change).input(lab.Regressed))
			var got []lab.CauseKind
			for _, k := range e.Causes {
				got = append(got, k.Kind)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Fatalf("kinds of causes (-want +got):\n%s%+v", d, e.Causes)
			}
			first := e.Causes[0]
			if math.Abs(first.Amount.Share-c.share) > 0.06 {
				t.Errorf("share of the first cause is %.3f, want %.3f", first.Amount.Share, c.share)
			}
			if !strings.Contains(first.What, c.first) || !strings.Contains(strings.Join(first.Evidence, "\n"), c.evidence) {
				t.Errorf("first cause %q with evidence %q, want %q and %q in them", first.What, first.Evidence, c.first, c.evidence)
			}
			checkSums(t, e)
			if math.Abs(e.Unexplained.Share) > 0.06 {
				t.Errorf("%.3f of the difference is not accounted for", e.Unexplained.Share)
			}
		})
	}
}

// TestSlowHost: a host that is three times as slow in every other block and round makes
// neither the parts of the time nor the functions less sure, as it does not the verdict.
func TestSlowHost(t *testing.T) {
	change := func(n *need) { n.user += 120e-6; n.functions["page_cur_search_with_match"] += 100e-6 }
	want, got := Explain(worse(change).input(lab.Regressed)), Explain(slowed(worse(change).input(lab.Regressed), 3))
	if len(got.Causes) != 1 || got.Causes[0].Kind != lab.CPUCause || !strings.Contains(got.Causes[0].What, "page_cur_search_with_match") {
		t.Fatalf("%+v", got.Causes)
	}
	width := func(c lab.Component) float64 { return (c.Hi - c.Lo) / c.Diff }
	a, b := want.Causes[0].Amount, got.Causes[0].Amount
	if math.Abs(width(b)/width(a)-1) > 0.05 || math.Abs(b.Share-a.Share) > 0.01 {
		t.Errorf("the cause is %+v, %+v on a steady host", b, a)
	}
	for i, f := range want.Functions[:1] {
		if g := got.Functions[i]; g.Name != f.Name || math.Abs(width(g)/width(f)-1) > 0.3 {
			t.Errorf("function %+v, %+v on a steady host", g, f)
		}
	}
	checkSums(t, got)
}

// checkSums holds a budget to its sum, and causes to what was promised of them.
func checkSums(t *testing.T, e lab.Explanation) {
	t.Helper()
	var base, cand, diff float64
	for _, c := range e.Budget[1:] {
		base, cand, diff = base+c.Base, cand+c.Candidate, diff+c.Diff
	}
	p := e.Budget[0]
	for _, x := range [][2]float64{{base, p.Base}, {cand, p.Candidate}, {diff, p.Diff}} {
		if math.Abs(x[0]-x[1]) > 1e-12 {
			t.Errorf("the budget adds up to %g, its first line is %g", x[0], x[1])
		}
	}
	for i, c := range e.Causes {
		if !c.Amount.Holds() {
			t.Errorf("cause %q has an interval that includes zero: %+v", c.What, c.Amount)
		}
		if i > 0 && c.Amount.Share > e.Causes[i-1].Amount.Share {
			t.Errorf("cause %d has a larger share than the one before it", i)
		}
	}
}

func TestImproved(t *testing.T) {
	s := worse(func(n *need) { n.user += 120e-6; n.functions["memcpy"] += 110e-6 })
	s.base, s.cand = s.cand, s.base
	in := s.input(lab.Improved)
	in.Comparison.LogRatio, in.Comparison.Lo, in.Comparison.Hi = 0.47, 0.43, 0.52
	e := Explain(in)
	checkSums(t, e)
	if len(e.Causes) != 1 || e.Causes[0].Kind != lab.CPUCause || e.Causes[0].Amount.Diff > 0 || e.Causes[0].Amount.Share < 0.9 {
		t.Errorf("causes %+v", e.Causes)
	}
	if want := "range-notcovered-si, 32 clients: +60 % [+54, +68]; 99 % of the time saved is server CPU, above all in memcpy; plan unchanged"; e.Headline != want {
		t.Errorf("headline %q\nwant     %q", e.Headline, want)
	}
}

func TestNothingToExplain(t *testing.T) {
	in := worse(func(*need) {}).input(lab.Inconclusive)
	in.Comparison.LogRatio, in.Comparison.Lo, in.Comparison.Hi = -0.01, -0.03, 0.01
	e := Explain(in)
	checkSums(t, e)
	if len(e.Causes) != 0 || e.Unexplained != (lab.Component{}) {
		t.Errorf("causes %+v, unexplained %+v for an inconclusive comparison", e.Causes, e.Unexplained)
	}
	if want := "range-notcovered-si, 32 clients: no difference was found (−1 % [−3, +1]): there is nothing to explain"; e.Headline != want {
		t.Errorf("headline %q\nwant     %q", e.Headline, want)
	}
}

// Nothing differs, and yet somebody asks why: what is called a cause is false. Each of the
// four components of the budget may be called in one of a hundred cases; and of names
// within the lists, one of a hundred.
func TestNull(t *testing.T) {
	const cases = 1500
	var any int
	kinds := map[lab.CauseKind]int{}
	held, listed := map[string]int{}, map[string]int{}
	for seed := range cases {
		s := sim{base: plain(), cand: plain(), blocks: 4, rounds: 3, noise: 0.05, seed: uint64(seed)}
		if seed%2 == 1 {
			s.sample = 0.2e-6 // the noise of functions is that of counting samples
		}
		for _, n := range []*need{&s.base, &s.cand} {
			for _, f := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
				n.functions[f] = float64(f[0]-'a'+1) * 1e-6
				n.events["wait/synch/"+f] = float64(f[0]-'a'+1) * 5e-7
			}
		}
		e := Explain(s.input(lab.Regressed))
		checkSums(t, e)
		for _, c := range e.Causes {
			kinds[c.Kind]++
		}
		if len(e.Causes) > 0 {
			any++
		}
		for what, list := range map[string][]lab.Component{"functions": e.Functions, "events": e.Events, "counters": e.Counters} {
			for _, c := range list {
				listed[what]++
				if c.Holds() {
					held[what]++
				}
			}
		}
	}
	// The standard error of 0.01 in 1500 cases is 0.0026.
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		if rate := float64(kinds[k]) / cases; rate > 0.01+3*0.0026 {
			t.Errorf("a false cause %q in %.2f %% of cases, want at most 1 %%", k, 100*rate)
		}
	}
	if rate := float64(any) / cases; rate > 0.04+3*0.005 {
		t.Errorf("any false cause in %.2f %% of cases, want at most 4 %%", 100*rate)
	}
	for what, n := range listed {
		if rate := float64(held[what]) / float64(n); rate > 0.01+3*math.Sqrt(0.01*0.99/float64(n)) {
			t.Errorf("%.2f %% of %s that did not change are said to have, want at most 1 %%", 100*rate, what)
		}
	}
}

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

// TestWhole: a level that is one long slice in a block has no mirrored groups, and a
// budget all the same.
func TestWhole(t *testing.T) {
	in := sim{base: plain(), cand: plain(), blocks: 5, rounds: 2, noise: 0.01}.input(lab.Equivalent)
	one := func(all []lab.Slice) []lab.Slice {
		return slices.DeleteFunc(all, func(s lab.Slice) bool { return s.Seq > 0 })
	}
	in.Base, in.Candidate = one(in.Base), one(in.Candidate)
	if e := Explain(in); len(e.Budget) != 0 {
		t.Errorf("halves of mirrored groups have a budget: %+v", e.Budget)
	}
	in.Run.Levels = []lab.LevelPlan{{Level: in.Comparison.Level, Limit: time.Hour}}
	if e := Explain(in); len(e.Budget) == 0 || e.Budget[0].N != 5 {
		t.Errorf("one long slice in each block: %+v, want a budget of 5 blocks", e.Budget)
	}
}

// TestPlanUnderNoise: waiting for a CPU that varies so much that the time in the server
// has no interval without zero does not hide a plan whose CPU time has one.
func TestPlanUnderNoise(t *testing.T) {
	in := worse(func(n *need) {
		n.plan, n.rows = "t ALL", 3000
		n.user += 300e-6
		n.counters = map[string]float64{"Handler_read_rnd_next": 3000}
	}).input(lab.Regressed)
	for i := range in.Candidate {
		s := &in.Candidate[i]
		if s.Block%2 == 0 {
			continue
		}
		const more = 3e-3 // seconds of waiting in each operation
		s.Usage.ConnRunq += more * float64(s.Ops)
		s.Latency += more
		s.Wall += more * float64(s.Ops) / float64(in.Comparison.Level.Clients)
	}
	e := Explain(in)
	if e.Budget[0].Holds() {
		t.Fatalf("the time per operation holds all the same: %+v", e.Budget[0])
	}
	if len(e.Causes) == 0 || e.Causes[0].Kind != lab.PlanCause || !e.Causes[0].Amount.Holds() {
		t.Errorf("causes %+v, want the plan first", e.Causes)
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
		" of Debian's archive of debug symbols, suite bookworm-security-debug: unpack it and watch again: --again --symbols DIR"
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
