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
