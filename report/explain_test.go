package report

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// explanation is of the kind that the seeds of this tool did by hand: a range scan through
// a secondary index that got slower with many clients.
func explanation() lab.Explanation {
	base := lab.Variant{Build: "mariadb@10.5", Config: "std", Engine: "InnoDB"}
	cand := lab.Variant{Build: "mariadb@11.8", Config: "std", Engine: "InnoDB"}
	sec := func(name string, base, cand, half float64) lab.Component {
		d := cand - base
		return lab.Component{Name: name, Unit: "sec/op", Base: base, Candidate: cand, Diff: d, Lo: d - half, Hi: d + half, Share: d / 610e-6, N: 8}
	}
	per := func(unit, name string, base, cand, half float64) lab.Component {
		c := sec(name, base, cand, half)
		c.Unit, c.Share = unit, 0
		return c
	}
	tallied := func(c lab.Component, baseOps, candOps, baseTimes, candTimes float64) lab.Component {
		c.Tallies = &lab.Tallies{
			Base:      lab.Tally{Seconds: c.Base * baseOps, Times: baseTimes * baseOps, TimesPerOp: baseTimes},
			Candidate: lab.Tally{Seconds: c.Candidate * candOps, Times: candTimes * candOps, TimesPerOp: candTimes},
		}
		return c
	}
	call := func(name string, base, cand, half float64, calls ...lab.Call) lab.Call {
		return lab.Call{Total: sec(name, base, cand, half), Self: sec(name, 1e-6, 1e-6, 1e-6), Calls: calls}
	}
	tree := call("all", 553e-6, 1055e-6, 0,
		call("do_command", 550e-6, 1050e-6, 9e-6, call("dispatch_command", 545e-6, 1045e-6, 9e-6,
			call("row_search_mvcc", 310e-6, 700e-6, 15e-6,
				call("btr_search_guess_on_hash", 40e-6, 0, 5e-6),
				call("buf_page_get_gen", 60e-6, 300e-6, 11e-6, call("ut_delay", 30e-6, 161e-6, 9e-6)),
				call("rec_get_offsets_func", 48e-6, 50e-6, 9e-6)),
			call("Protocol::send_result_set_row", 180e-6, 182e-6, 12e-6))),
		call("ret_from_fork [kernel]", 3e-6, 5e-6, 2e-6))
	cpu := sec("server CPU", 520e-6, 890e-6, 21e-6)
	spin := sec("waiting that burns CPU", 30e-6, 161e-6, 18e-6)
	wait := tallied(sec("wait/synch/sxlock/innodb/hash_table_locks", 22e-6, 109e-6, 12e-6), 30000, 20000, 1.2, 4.1)
	return lab.Explanation{
		Run: 12, At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		Comparison: lab.Comparison{
			Base: base, Candidate: cand, Level: lab.Level{Step: lab.Step{Workload: "micro", Name: "range-notcovered-si"}, Clients: 32},
			Group: lab.Range, Metric: lab.QPS, LogRatio: -0.478, Lo: -0.528, Hi: -0.431, Verdict: lab.Regressed, MDE: math.Inf(1),
			Notes: []string{"noisy: one block varies by 4.1 %"},
		},
		Headline: "range-notcovered-si, 32 clients: −38 % [−41, −35]; 61 % of the lost time is server CPU, above all in row_search_mvcc; 21 % is waiting for latches that burns CPU; plan unchanged",
		Causes: []lab.Cause{
			{Kind: lab.CPUCause, What: "server CPU, above all in row_search_mvcc", Amount: cpu, Evidence: []string{"row_search_mvcc: +201 µs/op [+180, +222], 82.1 in the base", "in user mode: +350 µs/op [+330, +370], 400 in the base"}},
			{Kind: lab.SpinCause, What: "waiting for latches that burns CPU, above all in ut_delay", Amount: spin},
			{Kind: lab.WaitCause, What: "waits on wait/synch/sxlock/innodb/hash_table_locks", Amount: wait, Evidence: []string{"waited for 4.1 times per operation, 1.2 in the base"}},
			{Kind: lab.ClientCause, What: "the client, and the way to it", Amount: sec("client turnaround", 60e-6, 48e-6, 4e-6)},
		},
		Unexplained: lab.Component{Name: "not accounted for", Unit: "sec/op", Diff: 34e-6, Lo: math.Inf(-1), Hi: math.Inf(1), Share: 0.056},
		Budget: []lab.Component{
			sec("time per operation", 990e-6, 1600e-6, 40e-6), sec("client turnaround", 60e-6, 48e-6, 4e-6),
			sec("server CPU, user", 430e-6, 880e-6, 22e-6), sec("server CPU, kernel", 120e-6, 171e-6, 9e-6), sec("run-queue wait", 280e-6, 290e-6, 31e-6),
			sec("blocked: wait/synch/sxlock/innodb/hash_table_locks", 22e-6, 109e-6, 12e-6),
			sec("blocked: not instrumented", 78e-6, 102e-6, 30e-6),
		},
		Beside: []lab.Component{
			per("sec/op", "background threads, CPU", 3e-6, 4e-6, 2e-6), per("1/op", "voluntary switches", 2.1, 3.4, 0.2), per("B/op", "written to storage", 0, 120, 20),
			per("CPUs", "other processes", 0.02, 0.02, 0.01),
		},
		Functions: []lab.Component{
			sec("row_search_mvcc", 82.1e-6, 283e-6, 21e-6), sec("<script>alert(1)</script>std::__detail::_Map_base<unsigned long, std::pair<unsigned long const, buf_block_t*>>::operator[](unsigned long&&)", 0, 54e-6, 9e-6),
			sec("ut_delay", 30e-6, 161e-6, 18e-6), sec("rec_get_offsets_func", 48e-6, 50e-6, 6e-6), sec("btr_search_guess_on_hash", 31e-6, 0, 5e-6),
		},
		Calls:      &tree,
		Statements: []lab.Component{tallied(sec("statement/sql/select", 700e-6, 1310e-6, 30e-6), 30000, 20000, 1, 1)},
		Digests:    []lab.Component{sec("micro: SELECT `c` FROM `sbtest1` WHERE `k` BETWEEN ? AND ? AND `pad` <> ?", 690e-6, 1290e-6, 30e-6)},
		Tables:     []lab.Component{tallied(per("sec/op", "micro.sbtest1 fetch", 640e-6, 1240e-6, 28e-6), 30000, 20000, 1000, 1000)},
		Others:     []lab.Component{per("sec/op", "wait/synch/cond/innodb/page_cleaner", 990e-6, 1600e-6, 90e-6)},
		Spins:      []lab.Component{sec("ut_delay", 30e-6, 161e-6, 18e-6)},
		Events:     []lab.Component{wait, tallied(sec("wait/io/socket/sql/client_connection", 9e-6, 9.5e-6, 2e-6), 30000, 20000, 2, 2)},
		Counters:   []lab.Component{per("1/op", "Innodb_buffer_pool_read_requests", 2104, 3120, 40), per("1/op", "Handler_read_next", 1000, 1000, 0)},
		Plans: []lab.PlanChange{
			{
				Statement: "SELECT c FROM sbtest1 WHERE k BETWEEN 5 AND 1005 AND pad <> '<b>'", Base: "sbtest1 range k(1)\n  filesort", Candidate: "sbtest1 index PRIMARY\n  filesort",
				Changes: []string{"sbtest1: range k(1) -> index PRIMARY; rows examined 1000 -> 400000"}, BaseRows: 1000, CandidateRows: 400000, Flips: []string{"candidate"},
			},
			{Statement: "COMMIT", Base: "-", Candidate: "-", BaseRows: -1, CandidateRows: -1},
		},
		Settings: []lab.SettingChange{
			{Name: "innodb_adaptive_hash_index", Base: "ON", Candidate: "OFF", Known: "point look-ups go through a hash table when it is on", Weight: 9},
			{Name: "library malloc", Base: "system", Candidate: "jemalloc 5.3"},
			{Name: "innodb_buffer_pool_size", Base: "1G", Candidate: "2G", Asked: true},
		},
		Cost:      []lab.InstrumentCost{{Instrument: lab.Stacks, Variant: base, Ratio: 0.97, N: 3}, {Instrument: lab.Waits, Variant: cand, Ratio: 0.81, N: 3}},
		SampledBy: "cpu-clock",
		Doubts:    []string{"a plan flips: the candidate had 2 different ones over 3 looks"},
	}
}

func TestExplain(t *testing.T) {
	for _, tt := range []struct {
		file, format string
		o            Options
	}{
		{"explain.txt", "text", Options{}},
		{"explain-80.txt", "text", Options{Width: 80}},
		{"explain-color.txt", "text", Options{Width: 120, Color: true}},
		{"explain.md", "markdown", Options{}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			var b bytes.Buffer
			if err := Explain(&b, tt.format, explanation(), tt.o); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.file, b.Bytes())
		})
	}
}

func TestExplainJSON(t *testing.T) {
	var b bytes.Buffer
	e := explanation()
	e.Functions[0].Lo, e.Functions[0].Hi = math.Inf(-1), math.Inf(1)
	if err := Explain(&b, "json", e, Options{}); err != nil {
		t.Fatal(err)
	}
	got, err := ReadExplanation(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	e.Comparison.MDE = math.Inf(1)
	if d := cmp.Diff(e, got); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
}
