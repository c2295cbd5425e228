package explain

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"backslide/lab"
)

// need is what an operation of a simulated server needs: seconds per operation, unless
// said otherwise.
type need struct {
	client   float64 // turnaround
	user     float64 // CPU of the threads that serve clients
	kernel   float64
	runq     float64
	blocked  float64
	back     float64 // CPU of background threads
	hostBusy float64 // CPUs that others keep busy
	steal    float64 // CPUs
	switches float64 // per operation, to wait for something
	forced   float64 // per operation, because others had the CPU

	functions map[string]float64
	spins     map[string]float64
	events    map[string]float64
	counters  map[string]float64
	plan      string
	rows      float64 // examined by the plan
}

func (n need) period() float64 { return n.client + n.user + n.kernel + n.runq + n.blocked }

// sim is a pair of servers with known needs.
type sim struct {
	base, cand need
	clients    int
	blocks     int
	rounds     int
	noise      float64 // standard deviation of everything in a block or round, as a share
	sample     float64 // seconds per operation that one sample of a stack stands for; 0: noise is a share of it
	seed       uint64
}

func plain() need {
	return need{
		client: 20e-6, user: 100e-6, kernel: 30e-6, runq: 10e-6, blocked: 40e-6, back: 5e-6, hostBusy: 0.01, switches: 2, forced: 0.9,
		functions: map[string]float64{"row_search_mvcc": 40e-6, "page_cur_search_with_match": 30e-6, "rec_get_offsets_func": 10e-6, "memcpy": 5e-6, "my_net_write": 5e-6, "lex_one_token": 8e-6},
		events:    map[string]float64{"wait/io/file/innodb/innodb_data_file": 10e-6, "wait/synch/mutex/sql/LOCK_open": 2e-6},
		counters:  map[string]float64{"Handler_read_next": 100, "Handler_read_key": 1, "Innodb_rows_read": 101},
		spins:     map[string]float64{},
		plan:      "t range k(1)", rows: 100,
	}
}

var (
	baseVariant = lab.Variant{Build: "old", Config: "std", Engine: "InnoDB"}
	candVariant = lab.Variant{Build: "new", Config: "std", Engine: "InnoDB"}
	step        = lab.Step{Workload: "micro", Name: "range-notcovered-si"}
)

// input simulates what a run and a diagnosis would have recorded.
func (s sim) input(verdict lab.Verdict) Input {
	r := rand.New(rand.NewPCG(s.seed, 7))
	if s.clients == 0 {
		s.clients = 32
	}
	jitter := func(v float64) float64 { return v * (1 + s.noise*r.NormFloat64()) }
	in := Input{
		Comparison: lab.Comparison{
			Base: baseVariant, Candidate: candVariant, Level: lab.Level{Step: step, Clients: s.clients}, Metric: lab.QPS,
			Verdict: verdict, LogRatio: -0.478, Lo: -0.53, Hi: -0.43,
		},
		Run: lab.Run{ID: 7, Base: baseVariant, Variants: []lab.Variant{baseVariant, candVariant}},
		At:  time.Unix(1700000000, 0).UTC(),
	}
	side := func(n need, v lab.Variant) (out []lab.Slice, seen []lab.Observation) {
		cell := lab.Cell{Variant: v, Step: step, Clients: s.clients}
		for b := range s.blocks {
			m := n // of this block
			for _, p := range []*float64{&m.client, &m.user, &m.kernel, &m.runq, &m.blocked, &m.back, &m.hostBusy, &m.steal, &m.switches} {
				*p = jitter(*p)
			}
			for seq := range 4 {
				const wall = 0.2
				ops := float64(s.clients) * wall / m.period()
				out = append(out, lab.Slice{
					SliceKey: lab.SliceKey{Block: b, Cell: cell, Seq: seq, Kind: lab.Measured},
					Wall:     wall, Ops: int64(ops), Latency: m.period() - m.client,
					Usage: lab.Usage{
						ServerUser: ops * (m.user + m.back*m.user/(m.user+m.kernel)), ServerSystem: ops * (m.kernel + m.back*m.kernel/(m.user+m.kernel)),
						ServerRunq: ops * m.runq, ConnCPU: ops * (m.user + m.kernel), ConnRunq: ops * m.runq,
						ClientUser: ops * 5e-6, ClientSystem: ops * 5e-6, CtxVoluntary: int64(ops * m.switches), CtxForced: int64(ops * m.forced),
						ReadBytes: int64(ops * 10), WriteBytes: 0, ReadCalls: int64(ops), WriteCalls: int64(ops), MajorFaults: 0,
						Steal: wall * m.steal, HostBusy: wall * m.hostBusy,
					},
				})
			}
		}
		for round := range s.rounds {
			key := func(i lab.Instrument) lab.SliceKey {
				return lab.SliceKey{Block: round, Cell: cell, Kind: i.Kind()}
			}
			amounts := func(m map[string]float64) []lab.Amount {
				var out []lab.Amount
				for _, name := range slices.Sorted(maps.Keys(m)) {
					out = append(out, lab.Amount{Name: name, Value: jitter(m[name])})
				}
				return out
			}
			sampled := func(m map[string]float64) []lab.Amount {
				out := amounts(m)
				for i := range out {
					if s.sample > 0 {
						out[i].Value = max(0, m[out[i].Name]+math.Sqrt(m[out[i].Name]*s.sample)*r.NormFloat64())
					}
				}
				return out
			}
			ops := int64(1 / n.period())
			seen = append(seen,
				lab.Observation{Key: key(lab.Plain), Ops: ops, Wall: 1, Counters: amounts(n.counters)},
				lab.Observation{Key: key(lab.Stacks), Ops: ops * 9 / 10, Wall: 1, Functions: sampled(n.functions), Spins: amounts(n.spins)},
				lab.Observation{Key: key(lab.Waits), Ops: ops * 8 / 10, Wall: 1, Events: amounts(n.events)},
				lab.Observation{Key: key(lab.Plans), Plans: []lab.StatementPlan{{
					Statement: fmt.Sprintf("SELECT c FROM sbtest1 WHERE k BETWEEN %d AND %d", round, round+100), Tree: n.plan, RowsExamined: n.rows,
				}}},
			)
		}
		return out, seen
	}
	in.Base, in.BaseSeen = side(s.base, baseVariant)
	in.Candidate, in.CandidateSeen = side(s.cand, candVariant)
	return in
}

// slowed makes every other block and round of both sides take f times as long, as on a host
// that others share.
func slowed(in Input, f float64) Input {
	for _, all := range [][]lab.Slice{in.Base, in.Candidate} {
		for i := range all {
			s := &all[i]
			if s.Block%2 == 0 {
				continue
			}
			s.Wall, s.Latency = s.Wall*f, s.Latency*f
			for _, t := range []*float64{&s.Usage.ServerUser, &s.Usage.ServerSystem, &s.Usage.ServerRunq, &s.Usage.ConnCPU, &s.Usage.ConnRunq, &s.Usage.ClientUser, &s.Usage.ClientSystem} {
				*t *= f
			}
		}
	}
	for _, all := range [][]lab.Observation{in.BaseSeen, in.CandidateSeen} {
		for i := range all {
			o := &all[i]
			if o.Key.Block%2 == 0 {
				continue
			}
			o.Wall *= f
			for _, times := range [][]lab.Amount{o.Functions, o.Spins, o.Events} {
				for k := range times {
					times[k].Value *= f
				}
			}
		}
	}
	return in
}
