package explain

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

func TestShape(t *testing.T) {
	for in, want := range map[string]string{
		"SELECT c FROM sbtest1 WHERE id BETWEEN 17 AND 117":   "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
		`SELECT 'it''s', "a\"b", 1.5e3, x1 FROM t WHERE a=-7`: "SELECT ?, ?, ?, x1 FROM t WHERE a=-?",
		"SELECT 'open":      "SELECT ?",
		`SELECT 'open\`:     "SELECT ?",
		"SELECT 0x1F, _a2b": "SELECT ?, _a2b",
		"":                  "",
	} {
		if got := shape(in); got != want {
			t.Errorf("shape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTreeDiff(t *testing.T) {
	for _, c := range []struct {
		base, cand string
		want       []string
	}{
		{"a\n b", "a\n b", nil},
		{"t range k(1)\nfilesort", "t index c\nfilesort", []string{"no longer: t range k(1)", "now: t index c"}},
		{"t ref a", "t ref a\nt ref a", []string{"now: t ref a"}},
		{"a\nb", "b\na", []string{"the same steps in another shape"}},
	} {
		if d := cmp.Diff(c.want, treeDiff(c.base, c.cand)); d != "" {
			t.Errorf("%q to %q (-want +got):\n%s", c.base, c.cand, d)
		}
	}
}

// A plan that is not the same after each restart is said to flip; the usual one counts.
func TestFlips(t *testing.T) {
	in := worse(func(n *need) { n.user += 50e-6 }).input(lab.Regressed)
	flip := true
	for i := range in.CandidateSeen {
		for k := range in.CandidateSeen[i].Plans {
			if flip {
				in.CandidateSeen[i].Plans[k].Tree, flip = "t index PRIMARY", false
			}
		}
	}
	e := Explain(in)
	want := []lab.PlanChange{{
		Statement: "SELECT c FROM sbtest1 WHERE k BETWEEN 1 AND 101", Base: "t range k(1)", Candidate: "t range k(1)",
		BaseRows: 100, CandidateRows: 100, Flips: []string{"candidate"},
	}}
	if d := cmp.Diff(want, e.Plans); d != "" {
		t.Errorf("plans (-want +got):\n%s", d)
	}
	if s := "a plan flips: the candidate had 2 different ones over 3 looks for SELECT c FROM sbtest1 WHERE k BETWEEN ? AND ?; here is that of 2 of them"; len(e.Doubts) != 1 || e.Doubts[0] != s {
		t.Errorf("doubts %q, want %q", e.Doubts, s)
	}
	// Plans that say the same in other words are the same.
	in.PlanDiff = func(base, candidate lab.StatementPlan) []string { return nil }
	if e = Explain(in); len(e.Plans[0].Flips) != 0 || len(e.Plans[0].Changes) != 0 {
		t.Errorf("plans %+v, though their differences do not matter", e.Plans)
	}
}

// Threads that are hardly blocked are not blocked on the many short events that timing them costs.
func TestEventsFit(t *testing.T) {
	e := Explain(worse(func(n *need) {
		n.user += 100e-6
		n.blocked = 5e-6
		n.events["wait/synch/mutex/sql/THD::LOCK_thd_data"] = 38e-6
	}).input(lab.Regressed))
	checkSums(t, e)
	events := 0.0
	for _, c := range e.Events {
		events += c.Candidate
	}
	if events > 6e-6 {
		t.Errorf("events come to %g seconds of 5e-6 blocked", events)
	}
	if len(e.Doubts) != 1 || !strings.HasPrefix(e.Doubts[0], "wait events come to more time than threads were blocked") {
		t.Errorf("doubts %q", e.Doubts)
	}
}

// In an open loop the time of an operation is its latency; the clients' rests are nobody's loss.
func TestOpenLoop(t *testing.T) {
	in := worse(func(n *need) { n.blocked += 100e-6; n.client += 300e-6 }).input(lab.Regressed)
	for _, side := range [][]lab.Slice{in.Base, in.Candidate} {
		for i := range side {
			side[i].Offered = 1000
		}
	}
	e := Explain(in)
	checkSums(t, e)
	if e.Budget[0].Name != latencyLine || e.Budget[0].Candidate < 270e-6 || e.Budget[0].Candidate > 290e-6 {
		t.Errorf("first line %+v, want the latency of 280e-6", e.Budget[0])
	}
	if len(e.Causes) != 1 || e.Causes[0].Kind != lab.BlockedCause {
		t.Errorf("causes %+v", e.Causes)
	}
}

// What happened to one side of a mirrored group alone, or to other cells, does not count.
func TestOnlyPairs(t *testing.T) {
	in := worse(func(n *need) { n.user += 100e-6 }).input(lab.Regressed)
	want := Explain(in)
	in.Base[0].Err = "server died"
	in.Candidate[5].Ops = 0
	bad := in.Candidate[2]
	bad.Kind, bad.Wall = lab.Waits.Kind(), 100
	other := in.Candidate[3]
	other.Cell.Clients, other.Wall = 1, 100
	in.Candidate = append(in.Candidate, bad, other)
	if d := cmp.Diff(want.Budget[0].Diff, Explain(in).Budget[0].Diff); d != "" { // slices of a block are equal here
		t.Errorf("period (-want +got):\n%s", d)
	}
}

func TestSettings(t *testing.T) {
	side := func(family lab.Family, options []lab.Option, settings map[string]string) *lab.Side {
		return &lab.Side{Build: lab.Build{Family: family}, Config: lab.Config{Options: options}, Settings: settings}
	}
	base := side(lab.MySQL, nil, map[string]string{
		"port": "1", "innodb_adaptive_hash_index": "ON", "tx_isolation": "REPEATABLE-READ", "performance_schema": "ON",
		"optimizer_switch": "mrr=on,index_merge=on", "gone": "7", "gone_off": "OFF", "sync_binlog": "1", "version_malloc_library": "system",
	})
	cand := side(lab.MySQL, []lab.Option{{Name: "sync-binlog", Value: "0"}}, map[string]string{
		"port": "2", "innodb_adaptive_hash_index": "0", "transaction_isolation": "READ-COMMITTED", "performance_schema": "1",
		"optimizer_switch": "mrr=off,index_merge=on", "new_off": "0", "sync_binlog": "0", "version_malloc_library": "jemalloc 5.3",
	})
	base.Build.Flags, cand.Build.Flags = "-O2", "-O3"
	in := Input{
		Comparison: lab.Comparison{Base: baseVariant, Candidate: candVariant},
		Run:        lab.Run{Sides: map[string]*lab.Side{baseVariant.String(): base, candVariant.String(): cand}},
		Known: func(name, _, _ string) (string, int) {
			if name == "innodb_adaptive_hash_index" {
				return "index look-ups through a hash table", 9
			}
			return "", 0
		},
	}
	want := []lab.SettingChange{
		{Name: "innodb_adaptive_hash_index", Base: "ON", Candidate: "0", Known: "index look-ups through a hash table", Weight: 9},
		{Name: "build flags", Base: "-O2", Candidate: "-O3"},
		{Name: "library malloc", Base: "system", Candidate: "jemalloc 5.3"},
		{Name: "optimizer_switch", Base: "mrr=on", Candidate: "mrr=off"},
		{Name: "transaction_isolation", Base: "REPEATABLE-READ", Candidate: "READ-COMMITTED"},
		{Name: "gone", Base: "7", Candidate: missing},
		{Name: "sync_binlog", Base: "1", Candidate: "0", Asked: true},
	}
	if d := cmp.Diff(want, settings(in)); d != "" {
		t.Errorf("differences of set-up (-want +got):\n%s", d)
	}
}

func TestSigned(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1234.5: "+1234", 0.0456: "+0.046", -38.04: "−38", 99.96: "+100", 1e-9: "0", 2.5: "+2.5",
	} {
		if got := signed(v, 3); got != want && !(v == 1234.5 && got == "+1235") {
			t.Errorf("signed(%g) = %q, want %q", v, got, want)
		}
	}
}

func TestCost(t *testing.T) {
	e := Explain(worse(func(*need) {}).input(lab.Inconclusive))
	if len(e.Cost) != 4 || e.Cost[0].N != 3 || e.Cost[0].Ratio < 0.89 || e.Cost[0].Ratio > 0.91 || e.Cost[2].Ratio < 0.79 || e.Cost[2].Ratio > 0.81 {
		t.Errorf("cost of instruments %+v, want 0.9 for stacks and 0.8 for waits", e.Cost)
	}
}

// Where clients keep all CPUs busy, an operation that needs more CPU waits longer for it
// too: each waits while the others compute. The cause is the CPU time, not the queue.
func TestSaturated(t *testing.T) {
	s := worse(func(n *need) {
		n.user, n.runq = 2*130e-6-30e-6, 2*1560e-6 // 12 others are served meanwhile
		n.functions["memcpy"] += 125e-6
	})
	s.base.runq = 1560e-6
	e := Explain(s.input(lab.Regressed))
	checkSums(t, e)
	if len(e.Causes) != 1 || e.Causes[0].Kind != lab.CPUCause || e.Causes[0].Amount.Share < 0.95 ||
		e.Causes[0].What != "server CPU and waiting for it, above all in memcpy" {
		t.Errorf("causes %+v", e.Causes)
	}
	// What others take of the CPUs beyond that is theirs.
	s.cand.runq, s.cand.hostBusy = 4000e-6, 0.9
	e = Explain(s.input(lab.Regressed))
	checkSums(t, e)
	if len(e.Causes) != 2 || e.Causes[0].Kind != lab.CPUCause || e.Causes[1].Kind != lab.HostCause || e.Causes[1].Amount.Share < 0.2 {
		t.Errorf("causes with others at work %+v", e.Causes)
	}
	// Spinning makes others wait as well.
	s.cand.runq, s.cand.hostBusy = 2*1560e-6, 0.01
	s.cand.functions["ut_delay"], s.cand.spins["ut_delay, a latch of InnoDB"] = 100e-6, 100e-6
	e = Explain(s.input(lab.Regressed))
	checkSums(t, e)
	if len(e.Causes) != 2 || e.Causes[0].Kind != lab.SpinCause || math.Abs(e.Causes[0].Amount.Share-100./130) > 0.07 {
		t.Errorf("causes with spinning %+v", e.Causes)
	}
}

// A read view that is kept open makes a look-up step over rows that are marked as deleted:
// the same plan, the same rows, and much more CPU time. It is no matter of the plan.
func TestStepsOver(t *testing.T) {
	s := worse(func(n *need) {
		n.user += 2000e-6
		n.functions["row_search_mvcc"] += 1500e-6
		n.counters["Innodb_buffer_pool_read_requests"] = 900
	})
	s.base.counters["Innodb_buffer_pool_read_requests"] = 3
	e := Explain(s.input(lab.Regressed))
	if len(e.Causes) != 1 || e.Causes[0].Kind != lab.CPUCause || !strings.HasSuffix(e.Headline, "plan unchanged") {
		t.Fatalf("%s: %+v", e.Headline, e.Causes)
	}
	said := strings.Join(e.Causes[0].Evidence, "\n")
	for _, want := range []string{"row_search_mvcc: +", "Innodb_buffer_pool_read_requests: +", "rows read per operation did not change: 10"} {
		if !strings.Contains(said, want) {
			t.Errorf("evidence has no %q:\n%s", want, said)
		}
	}
}

// Whatever a broken clock or counter says, nothing that is no number is shown.
func TestNoNumbers(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := worse(func(n *need) { n.user += 100e-6; n.plan = "other" })
		s.blocks, s.rounds = r.IntN(5), r.IntN(4)
		in := s.input([]lab.Verdict{lab.Regressed, lab.Improved, lab.Equivalent}[r.IntN(3)])
		odd := func() float64 {
			return []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e300, -1e300, 1e-300}[r.IntN(8)]
		}
		for _, side := range [][]lab.Slice{in.Base, in.Candidate} {
			for i := range side {
				u := &side[i].Usage
				for _, f := range []*float64{&side[i].Latency, &side[i].Wall, &u.ServerUser, &u.ConnCPU, &u.ConnRunq, &u.HostBusy, &u.Steal, &u.ClientUser} {
					if r.IntN(12) == 0 {
						*f = odd()
					}
				}
			}
		}
		for _, side := range [][]lab.Observation{in.BaseSeen, in.CandidateSeen} {
			for i := range side {
				for _, list := range [][]lab.Amount{side[i].Functions, side[i].Events, side[i].Counters, side[i].Spins} {
					for k := range list {
						if r.IntN(10) == 0 {
							list[k].Value = odd()
						}
					}
				}
			}
		}
		e := Explain(in)
		for _, cs := range [][]lab.Component{e.Budget, e.Beside, e.Functions, e.Events, e.Counters, e.Spins, {e.Unexplained}} {
			for _, c := range cs {
				if math.IsNaN(c.Diff+c.Base+c.Candidate+c.Share) || math.IsNaN(c.Lo) || math.IsNaN(c.Hi) || math.IsInf(c.Diff, 0) {
					t.Fatalf("seed %d: %+v", seed, c)
				}
			}
		}
		if strings.Contains(e.Headline, "NaN") || strings.Contains(e.Headline, "Inf") {
			t.Errorf("seed %d: %s", seed, e.Headline)
		}
	}
}

// TestBlocking: taking free latches and talking to the client are not being blocked.
func TestBlocking(t *testing.T) {
	got := blocking(lab.Observation{Events: []lab.Amount{
		{Name: "wait/synch/mutex/sql/THD::LOCK_thd_data", Value: 2e-6, Count: 50}, // 40 ns each
		{Name: "wait/synch/mutex/sql/LOCK_open", Value: 2e-6, Count: 0.1},         // 20 µs each
		{Name: "wait/io/socket/sql/client_connection", Value: 5e-6, Count: 1},
		{Name: "wait/io/file/sql/binlog", Value: 400e-6, Count: 2},
		{Name: "count not known", Value: 1e-6},
	}})
	var names []string
	for _, a := range got {
		names = append(names, a.Name)
	}
	if want := []string{"wait/synch/mutex/sql/LOCK_open", "wait/io/file/sql/binlog", "count not known"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}
