package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"backslide/lab"
)

// shape is how large a made-up summary is.
type shape struct {
	variants []lab.Variant // base first
	levels   []lab.LevelPlan
	blocks   int
}

// effect is the true log-ratio and noise that a comparison is made up from.
type effect struct{ ratio, sd float64 }

// invent makes a summary up: differences per block are drawn, and everything else
// follows from them with the formulas of a plain t interval at 99 % (factor 3.1).
func invent(sh shape, rng *rand.Rand, of func(lab.Variant, lab.Level, lab.Metric) effect) lab.Summary {
	s := lab.Summary{Run: inventRun(sh)}
	for _, l := range sh.levels {
		if l.Warm {
			continue
		}
		for i, v := range sh.variants {
			s.Cells = append(s.Cells, inventCell(v, l, sh.blocks, of(v, l.Level, lab.QPS).ratio, of(v, l.Level, lab.ServerCPU).ratio))
			if i == 0 {
				continue
			}
			for _, m := range closed() {
				e := of(v, l.Level, m)
				c := inventComparison(sh, rng, v, l, m, e)
				s.Comparisons = append(s.Comparisons, c)
			}
		}
	}
	return s
}

// closed returns the metrics that closed loops have.
func closed() []lab.Metric {
	return slices.DeleteFunc(lab.Metrics(), lab.Metric.Latency)
}

func baseLevel(l lab.Level, m lab.Metric) float64 {
	n := float64(len(l.Step.Name))
	switch m {
	case lab.QPS:
		return 90000 / n * math.Pow(float64(l.Clients), 0.8)
	case lab.ServerCPU:
		return 1.3e-6 * n
	case lab.ClientCPU:
		return 3.1e-6
	case lab.Runq:
		return 0.4e-6 * float64(l.Clients)
	case lab.Switches:
		return 1.98
	}
	return 17 * n
}

func inventComparison(sh shape, rng *rand.Rand, v lab.Variant, l lab.LevelPlan, m lab.Metric, e effect) lab.Comparison {
	c := lab.Comparison{
		Base: sh.variants[0], Candidate: v, Level: l.Level, Group: l.Group, Metric: m, DF: float64(sh.blocks + 7),
		SD: e.sd, MDE: 0.98 * e.sd, Critical: 3.1, Verdict: lab.Inconclusive,
	}
	base := math.Log(baseLevel(l.Level, m))
	for b := range sh.blocks {
		common := 0.02 * rng.NormFloat64()
		d := e.ratio + e.sd*rng.NormFloat64()
		c.Blocks = append(c.Blocks, lab.BlockDiff{Block: b, Diff: d, Base: base + common, Candidate: base + common + d, Slices: 8})
		c.LogRatio += d / float64(sh.blocks)
	}
	c.BaseValue, c.CandidateValue = math.Exp(base), math.Exp(base+c.LogRatio)
	half := c.Critical * c.SD / math.Sqrt(float64(sh.blocks))
	c.Lo, c.Hi = c.LogRatio-half, c.LogRatio+half
	c.EqLo, c.EqHi = c.LogRatio-0.8*half, c.LogRatio+0.8*half
	better, worse := lab.Improved, lab.Regressed
	if !m.HigherIsBetter() {
		better, worse = worse, better
	}
	switch {
	case c.EqLo > -0.05 && c.EqHi < 0.05:
		c.Verdict, c.Real, c.Done = lab.Equivalent, c.Lo > 0 || c.Hi < 0, true
	case c.Hi < 0:
		c.Verdict, c.Done = worse, true
	case c.Lo > 0:
		c.Verdict, c.Done = better, true
	}
	return c
}

func inventCell(v lab.Variant, l lab.LevelPlan, blocks int, qps, cpu float64) lab.CellMean {
	c := lab.CellMean{
		Cell: lab.Cell{Variant: v, Step: l.Level.Step, Clients: l.Level.Clients}, Group: l.Group,
		Blocks: blocks, Slices: 8 * blocks, Values: map[lab.Metric]float64{},
	}
	for _, m := range closed() {
		c.Values[m] = baseLevel(l.Level, m)
	}
	c.Values[lab.QPS] *= math.Exp(qps)
	c.Values[lab.ServerCPU] *= math.Exp(cpu)
	mean := float64(l.Level.Clients) / c.Values[lab.QPS]
	c.P50, c.P95, c.P99, c.Max = 0.93*mean, 1.4*mean, 2.2*mean, 60*mean
	q := c.Values[lab.QPS]
	c.Rates = []float64{0.94 * q, 0.985 * q, q, 1.01 * q, 1.03 * q}
	for i, n := range []int64{2, 80, 900, 3000, 4200, 2300, 700, 250, 90, 30, 12, 5, 2, 1} {
		c.Latency = append(c.Latency, lab.LatencyBin{To: mean * math.Exp2(float64(i-4)/4), Count: n})
	}
	return c
}

func inventRun(sh shape) lab.Run {
	r := lab.Run{
		ID: 7, Name: "first", Base: sh.variants[0], Variants: sh.variants, Levels: sh.levels,
		Started: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC), Ended: time.Date(2026, 3, 14, 15, 31, 2, 0, time.UTC),
		Plan: lab.Plan{Seed: 42, BlocksMax: 20, Placement: lab.Split}.WithDefaults(), Freezer: "cgroup v2",
		Sides: map[string]*lab.Side{},
		Host: lab.Host{
			Kernel: "6.1.0-30-amd64", CPU: "AMD EPYC 7B13", CPUs: 2, Memory: 24 << 30, Virtual: "kvm", ClockSource: "kvm-clock",
			THP: "madvise", Swappiness: "60", FileSystem: "ext4", Client: "0.1.0",
			Warnings: []string{"steal of 0.4 % of CPU time during the run"},
		},
		Experiment: lab.Experiment{Name: "first", Base: sh.variants[0].String()},
	}
	r.Experiment.Plan = r.Plan
	for i, v := range sh.variants {
		r.Sides[v.String()] = &lab.Side{
			Build: lab.Build{
				Name: v.Build, Family: lab.MariaDB, Version: fmt.Sprintf("1%d.%d.2-MariaDB", i%3, 5+i), Origin: "apt bookworm-security",
				ID: fmt.Sprintf("%08x%056x", 0xa5c1d2e3+i, i), Dir: "/cache/builds/x",
			},
			Config: lab.Config{Name: v.Config, Options: []lab.Option{{Name: "innodb_buffer_pool_size", Value: "128M"}, {Name: "skip_log_bin", Bare: true}}},
			Settings: map[string]string{
				"innodb_buffer_pool_size": "134217728", "version": fmt.Sprint("1", i), "optimizer_switch": fmt.Sprintf("index_merge=on,rowid_filter=%v", i > 0),
			},
			Engine: "",
		}
	}
	return r
}

// first is the summary that golden files and screenshots show: two candidates, eight
// steps, two numbers of clients, with a cell that broke, one that was not run, one that
// broke in two blocks, one with too few blocks, and a twin of the base.
func first() lab.Summary {
	base := lab.Variant{Build: "mariadb@10.5", Config: "default", Engine: "InnoDB"}
	twin, newer := base, base
	twin.Copy = 1
	newer.Build = "mariadb@11.8"
	sh := shape{variants: []lab.Variant{base, newer, twin}, blocks: 12}
	for _, st := range []struct {
		group lab.Group
		name  string
	}{
		{lab.Point, "point-query"}, {lab.Point, "random-points"}, {lab.Range, "range-covered-pk"}, {lab.Range, "range-notcovered-si"},
		{lab.Aggregate, "scan"}, {lab.Write, "insert"}, {lab.Write, "update-index"}, {lab.Load, "load"},
	} {
		for _, n := range []int{1, 4} {
			if st.name == "load" && n == 4 {
				continue
			}
			sh.levels = append(sh.levels, lab.LevelPlan{
				Level: lab.Level{Step: lab.Step{Workload: "sysbench", Name: st.name}, Clients: n}, Group: st.group,
				Read: st.group != lab.Write && st.group != lab.Load, Slice: 200 * time.Millisecond, Slices: 8,
			})
		}
	}
	sh.levels = append(sh.levels, lab.LevelPlan{
		Level: lab.Level{Step: lab.Step{Workload: "sysbench", Name: "point-query.warm"}, Clients: 8}, Group: lab.Point, Read: true, Warm: true,
	})
	truth := map[string]effect{
		"point-query": {-0.055, 0.012}, "random-points": {-0.021, 0.012}, "range-covered-pk": {0.004, 0.02},
		"range-notcovered-si": {-0.128, 0.02}, "scan": {0.091, 0.03}, "insert": {-0.03, 0.06}, "update-index": {-0.084, 0.03}, "load": {0.01, 0.02},
	}
	s := invent(sh, rand.New(rand.NewPCG(1, 2)), func(v lab.Variant, l lab.Level, m lab.Metric) effect {
		e := truth[l.Step.Name]
		switch {
		case v == base:
			return effect{}
		case v == twin:
			e.ratio = 0
		case m == lab.ServerCPU:
			e.ratio, e.sd = -0.8*e.ratio, 0.6*e.sd
		case m != lab.QPS:
			e.ratio = 0.1 * e.ratio
		}
		if l.Clients == 4 {
			e.ratio *= 1.1
		}
		return e
	})
	damage(&s, newer)
	diagnose(&s)
	return s
}

// damage breaks parts of the first summary.
func damage(s *lab.Summary, newer lab.Variant) {
	at := func(step string, n int) lab.Level {
		return lab.Level{Step: lab.Step{Workload: "sysbench", Name: step}, Clients: n}
	}
	cell := func(l lab.Level) lab.Cell { return lab.Cell{Variant: newer, Step: l.Step, Clients: l.Clients} }
	empty := func(c *lab.Comparison, keep int, note string) {
		c.Blocks, c.Notes, c.Verdict, c.Real, c.Done = c.Blocks[:keep], []string{note}, lab.Inconclusive, false, false
		c.Lo, c.EqLo = math.Inf(-1), math.Inf(-1)
		c.Hi, c.EqHi, c.MDE, c.Critical = math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)
	}
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		if c.Candidate != newer {
			continue
		}
		switch c.Level {
		case at("insert", 4):
			empty(c, 0, "no block has both sides")
		case at("update-index", 4):
			empty(c, 2, "n=2: no interval yet; a verdict needs at least 4 blocks")
		case at("load", 1):
			empty(c, 0, "no block has both sides")
		}
	}
	var cells []lab.CellMean
	for _, c := range s.Cells {
		if c.Cell != cell(at("insert", 4)) && c.Cell != cell(at("load", 1)) {
			cells = append(cells, c)
		}
	}
	s.Cells = cells
	for b := range 12 {
		s.Failures = append(s.Failures, lab.Failure{Block: b, Cell: cell(at("insert", 4)),
			Err: "insert at 4 clients: INSERT INTO sbtest1 …: error 1114: The table 'sbtest1' is full\n2026-03-14 15:12:01 [ERROR] InnoDB: preallocating 65536 bytes for file ./sbtest/sbtest1.ibd failed with error 28"})
	}
	for _, b := range []int{3, 5} {
		s.Failures = append(s.Failures, lab.Failure{Block: b, Cell: cell(at("point-query", 4)), Err: "server went away: signal 11"})
	}
	s.Footnotes = []string{
		"settings differ that nobody asked about: optimizer_switch (index_merge=on,rowid_filter=false; index_merge=on,rowid_filter=true)",
		"mariadb@10.5#1 is a twin of the base: whatever it shows is noise",
	}
}

// diagnose makes up what a summary says beside its verdicts. A comparison is red from
// twice its critical value on; one of those is held back.
func diagnose(s *lab.Summary) {
	held := false
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		if c.Candidate.Copy > 0 || c.Verdict != lab.Regressed && c.Verdict != lab.Improved || len(c.Blocks) < 4 {
			continue
		}
		t := math.Abs(c.LogRatio) / c.SD * math.Sqrt(float64(len(c.Blocks)))
		c.Red = t > 2*c.Critical
		if c.Red && !held && c.Metric == lab.QPS {
			held, c.Red, c.Held = true, false, true
			c.Notes = append(c.Notes, "would be red, but spike: the difference in block 4 is off by +9.1 %")
		}
	}
	inventGroups(s)
	s.Lamps = lab.Lamps{Tests: 27, Secondary: 90, Alpha: 0.01, Level: 0.05, AlphaRed: 0.0015, AlphaRedSecondary: 1e-4, FalseAmbers: 0.27}
	s.AA = &lab.AA{Tests: 15, Expected: 0.15, P: 1, Values: 15, Uniform: 0.42,
		Text: "the base and its copy were called different in 0 of 15 comparisons; 0.1 are expected by chance, and so many or more with a probability of 100 %"}
	inventNoise(s)
	newer := s.Run.Variants[1]
	at := time.Date(2026, 3, 14, 15, 12, 1, 0, time.UTC)
	s.Events = []lab.Event{
		{At: at, Block: -1, Text: "servers are kept still with SIGSTOP: the host has no cgroup v2"},
		{At: at, Block: 3, Variant: newer, Text: "server died: signal 11; the block goes on without it"},
		{At: at, Block: 7, Text: "resumed after an interruption"},
	}
}

// inventGroups summarises comparisons as their definitions have it; the interval of a
// group is that of a mean of independent steps.
func inventGroups(s *lab.Summary) {
	clients := []int{}
	for _, l := range s.Run.Levels {
		if !l.Warm && !slices.Contains(clients, l.Level.Clients) {
			clients = append(clients, l.Level.Clients)
		}
	}
	for _, v := range s.Run.Variants[1:] {
		for _, g := range lab.Groups() {
			for _, n := range append(slices.Clone(clients), 0) {
				if sum, ok := inventGroup(s, v, g, n); ok {
					s.Groups = append(s.Groups, sum)
				}
			}
		}
	}
}

func inventGroup(s *lab.Summary, v lab.Variant, g lab.Group, clients int) (lab.GroupSummary, bool) {
	out := lab.GroupSummary{Candidate: v, Group: g, Clients: clients}
	t := lab.Comparison{Base: s.Run.Base, Candidate: v, Level: lab.Level{Clients: clients}, Group: g, Metric: lab.QPS, Verdict: lab.Inconclusive, Done: true, Critical: 3.1}
	var ratios []float64
	variance := 0.0
	for _, c := range s.Comparisons {
		if c.Candidate != v || c.Group != g || c.Metric != lab.QPS || len(c.Blocks) == 0 || clients > 0 && c.Level.Clients != clients {
			continue
		}
		ratios = append(ratios, math.Exp(c.LogRatio))
		t.LogRatio += c.LogRatio
		variance += c.SD * c.SD
		if t.Blocks == nil || len(c.Blocks) < len(t.Blocks) {
			t.Blocks = c.Blocks
		}
	}
	k := float64(len(ratios))
	if k == 0 || g == lab.Load && clients == 0 { // the load runs with one client only
		return out, false
	}
	slices.Sort(ratios)
	out.Levels, out.Min, out.Max = len(ratios), ratios[0], ratios[len(ratios)-1]
	for _, r := range ratios {
		out.Average += r / k
	}
	out.Median = (ratios[(len(ratios)-1)/2] + ratios[len(ratios)/2]) / 2
	t.LogRatio /= k
	t.SD = math.Sqrt(variance) / k
	half := t.Critical * t.SD / math.Sqrt(float64(len(t.Blocks)))
	t.Lo, t.Hi = t.LogRatio-half, t.LogRatio+half
	switch {
	case len(t.Blocks) < 4:
		t.Lo, t.Hi = math.Inf(-1), math.Inf(1)
	case t.Lo > -0.05 && t.Hi < 0.05:
		t.Verdict, t.Real = lab.Equivalent, t.Lo > 0 || t.Hi < 0
	case t.Hi < 0:
		t.Verdict = lab.Regressed
	case t.Lo > 0:
		t.Verdict = lab.Improved
	}
	t.Red = v.Copy == 0 && (t.Verdict == lab.Regressed || t.Verdict == lab.Improved) && math.Abs(t.LogRatio) > 2*half
	out.Test = t
	return out, true
}

func inventNoise(s *lab.Summary) {
	for i, c := range s.Comparisons {
		if c.Metric != lab.QPS || len(c.Blocks) == 0 {
			continue
		}
		p := lab.PairNoise{
			Candidate: c.Candidate, Level: c.Level, Blocks: len(c.Blocks), Mirrors: 4, SliceSD: 1.2 * c.SD, RestartSD: 0.4 * c.SD, DriftSD: 0.3 * c.SD,
			Order: 0.001, OrderP: 0.4, IAT: 1, Overhead: 2, Measured: 1.6, Best: 2.4, Slices: 12,
			Steal: 0.004, HostBusy: 0.011, Runq: 0.02, ClientBusy: 0.7, ServerBusy: 0.9,
		}
		switch {
		case c.Level.Step.Name == "insert":
			p.RestartSD, p.Advice = 2.1*c.SD, "one start of a server differs from the next by 13.4 %, slices leave 3.6 %: more blocks help, longer ones do not"
		case c.Level.Step.Name == "point-query" && c.Level.Clients == 4:
			p.Order, p.OrderP, p.Dropped = -0.013, 0.002, i%3+1
			p.Notes = []string{"spike: the difference in block 4 is off by +9.1 %"}
		}
		if len(c.Blocks) < 4 {
			p.SliceSD, p.RestartSD, p.OrderP = -1, -1, -1
		}
		s.Noise.Pairs = append(s.Noise.Pairs, p)
	}
	s.Noise.Advice = "slices differ more than starts of a server: more of them in a block"
	for i, v := range s.Run.Variants {
		s.Noise.Drops = append(s.Noise.Drops, lab.Drops{Variant: v, Slices: 96, Disturbed: i, Dropped: 4 * i})
	}
}
