package explain

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"backslide/lab"
	"backslide/stat"
)

const (
	enough   = 10    // names that can say how much one of them varies
	most     = 200   // names that are kept of a list, the largest differences
	smallest = 0.001 // share of the largest amount under which a name is left out
)

// common returns the rounds in which both sides were watched with an instrument, in order.
func (x *evidence) common(i lab.Instrument) []int {
	base, cand := roundsOf(x.BaseSeen, i), roundsOf(x.CandidateSeen, i)
	var out []int
	for _, n := range slices.Sorted(maps.Keys(base)) {
		if len(cand[n]) > 0 {
			out = append(out, n)
		}
	}
	return out
}

// roundsOf sorts what an instrument saw by round. What saw no operation, or nothing of
// what its instrument is for, is left out: not known is not zero.
func roundsOf(seen []lab.Observation, i lab.Instrument) map[int][]lab.Observation {
	out := map[int][]lab.Observation{}
	for _, o := range seen {
		if o.Key.Kind == i.Kind() && o.Ops > 0 && saw(o, i) {
			out[o.Key.Block] = append(out[o.Key.Block], o)
		}
	}
	return out
}

// saw reports whether an instrument saw anything. There is no operation without CPU time,
// without a mutex, without a counter or without a plan: who saw none could not look.
func saw(o lab.Observation, i lab.Instrument) bool {
	switch i {
	case lab.Stacks:
		return len(o.Functions) > 0
	case lab.Waits:
		return len(o.Events) > 0
	case lab.Plain:
		return len(o.Counters) > 0
	}
	return true
}

// gather returns the amounts of one round by name: the mean over its operations.
func gather(seen []lab.Observation, get func(lab.Observation) []lab.Amount) map[string]float64 {
	ops := 0.0
	for _, o := range seen {
		ops += float64(o.Ops)
	}
	out := map[string]float64{}
	for _, o := range seen {
		for _, a := range get(o) {
			if sane(a.Value) {
				out[a.Name] += a.Value * float64(o.Ops) / ops
			}
		}
	}
	return out
}

// table returns the amounts by name of the rounds that both sides have. What was not seen
// in a round is zero.
func (x *evidence) table(i lab.Instrument, get func(lab.Observation) []lab.Amount) map[string]series {
	base, cand := roundsOf(x.BaseSeen, i), roundsOf(x.CandidateSeen, i)
	rounds := x.common(i)
	out := map[string]series{}
	at := func(name string) series {
		s, ok := out[name]
		if !ok {
			s = series{make([]float64, len(rounds)), make([]float64, len(rounds))}
			out[name] = s
		}
		return s
	}
	for k, n := range rounds {
		for name, v := range gather(base[n], get) {
			at(name).base[k] = v
		}
		for name, v := range gather(cand[n], get) {
			at(name).cand[k] = v
		}
	}
	return out
}

// seconds returns a table of times, scaled by round as those of blocks are: see steady.
func (x *evidence) seconds(i lab.Instrument, get func(lab.Observation) []lab.Amount) map[string]series {
	table := x.table(i, get)
	base, cand := roundsOf(x.BaseSeen, i), roundsOf(x.CandidateSeen, i)
	var periods []float64
	for _, n := range x.common(i) {
		periods = append(periods, math.Sqrt(periodOf(base[n])*periodOf(cand[n])))
	}
	for k, f := range paces(periods) {
		for _, s := range table {
			s.base[k] *= f
			s.cand[k] *= f
		}
	}
	return table
}

// periodOf returns the seconds for each operation of all clients together.
func periodOf(seen []lab.Observation) float64 {
	var wall, ops float64
	for _, o := range seen {
		wall, ops = wall+o.Wall, ops+float64(o.Ops)
	}
	return wall / ops
}

// How the noise of an amount grows with it.
func byMean(m float64) float64   { return m }     // counts of samples
func bySquare(m float64) float64 { return m * m } // a share of it

// rounds estimates the difference of every name over the rounds that both sides have:
// first those that hold, the largest first, then the others, by their amount.
//
// A handful of rounds says little of the noise of one name. But all names of a list were
// watched alike, so that they say it of each other: their variances, divided by what noise
// grows with, give a prior (stat.FitPrior). It is the noise floor of the list: a name that
// happened to vary less is held to have varied as the others did.
func (x *evidence) rounds(i lab.Instrument, unit string, get func(lab.Observation) []lab.Amount, noise func(mean float64) float64) []lab.Component {
	table := x.table(i, get)
	if unit == "sec/op" {
		table = x.seconds(i, get)
	}
	level := func(s series) float64 { return (math.Abs(mean(s.base)) + math.Abs(mean(s.cand))) / 2 }
	names := slices.Sorted(maps.Keys(table))
	var vars []float64
	top, n := 0.0, 0
	for _, name := range names {
		s := table[name]
		n, top = len(s.base), max(top, level(s))
		if l := noise(level(s)); l > 0 && n > 1 {
			e := stat.Prior{}.Moderate(s.diffs())
			vars = append(vars, e.SD*e.SD/l)
		}
	}
	var prior stat.Prior
	if len(vars) >= enough {
		prior = stat.FitPrior(vars, n-1)
	}
	sample := x.sample(i)
	var out []lab.Component
	for _, name := range names {
		s := table[name]
		if level(s) <= smallest*top && unit == "sec/op" {
			continue
		}
		c := atLeast(component(name, unit, s, stat.Prior{DF: prior.DF, Var: prior.Var * noise(level(s))}), sample)
		if unit == "sec/op" {
			c = x.shared(c)
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b lab.Component) int { return cmp.Compare(weight(b), weight(a)) })
	slices.SortStableFunc(out, func(a, b lab.Component) int { return cmp.Compare(held(b), held(a)) })
	return out[:min(len(out), most)]
}

// varied is how many functions a profile needs for the least of them to be one sample's.
const varied = 50

// sample returns the CPU time per operation that one sample of each side stands for: the
// least that a function has in a profile of many. 0, 0 where there are no samples, or too
// few functions to tell.
func (x *evidence) sample(i lab.Instrument) [2]float64 {
	if i != lab.Stacks {
		return [2]float64{}
	}
	table := x.seconds(i, func(o lab.Observation) []lab.Amount { return o.Functions })
	if len(table) < varied {
		return [2]float64{}
	}
	n := len(x.common(i))
	sides := [2][]float64{make([]float64, n), make([]float64, n)}
	for _, s := range table {
		for side, values := range [2][]float64{s.base, s.cand} {
			for k, v := range values {
				if least := sides[side][k]; v > 0 && (least == 0 || v < least) {
					sides[side][k] = v
				}
			}
		}
	}
	return [2]float64{mean(sides[0]), mean(sides[1])}
}

// atLeast widens an interval to what counting samples leaves unknown: a sum of n samples
// has a variance of n (Poisson), however alike a few rounds happened to be.
func atLeast(c lab.Component, sample [2]float64) lab.Component {
	if c.N == 0 {
		return c
	}
	half := z * math.Sqrt((c.Base*sample[0]+c.Candidate*sample[1])/float64(c.N))
	c.Lo, c.Hi = min(c.Lo, c.Diff-half), max(c.Hi, c.Diff+half)
	return c
}

// z is the normal quantile of intervals: P(|N(0, 1)| > z) = alpha.
const z = 2.5758293035489

// weight is what names are sorted by: the difference of one that has one, else how large it is.
func weight(c lab.Component) float64 {
	if c.Holds() {
		return math.Abs(c.Diff)
	}
	return max(math.Abs(c.Base), math.Abs(c.Candidate))
}

// held is 1 for what holds, so that it stands first.
func held(c lab.Component) int {
	if c.Holds() {
		return 1
	}
	return 0
}

// total estimates the sum of times over all names.
func (x *evidence) total(i lab.Instrument, name string, get func(lab.Observation) []lab.Amount) lab.Component {
	return x.shared(component(name, "sec/op", totals(x.seconds(i, get), len(x.common(i))), stat.Prior{}))
}

func totals(table map[string]series, rounds int) series {
	s := series{make([]float64, rounds), make([]float64, rounds)}
	for _, name := range slices.Sorted(maps.Keys(table)) { // sums of floats depend on their order
		s = s.plus(table[name])
	}
	return s
}

// waits returns the wait events. Where they come to more than the time that threads were
// blocked, part of them was spent on a CPU: timing itself, and spinning before sleeping.
// They are then scaled to fit. Where something is missing, the rest is not the time
// blocked, and they are left as they were timed.
func (x *evidence) waits() []lab.Component {
	events := blocking
	if !x.complete || x.rest == nil {
		return x.timed(events)
	}
	all := totals(x.seconds(lab.Waits, events), len(x.common(lab.Waits)))
	fit := func(sum, blocked float64) float64 {
		if sum <= blocked || sum <= 0 {
			return 1
		}
		return max(0, blocked) / sum
	}
	base, cand := fit(mean(all.base), mean(x.rest.base)), fit(mean(all.cand), mean(x.rest.cand))
	if base < 1 || cand < 1 {
		x.doubt("wait events come to more time than threads were blocked, so that part of it was spent on a CPU or waiting for one: they are scaled to fit (base " +
			percent(base) + ", candidate " + percent(cand) + " of what was timed)")
	}
	scaled := &evidence{Input: x.Input, budget: x.budget}
	scaled.BaseSeen, scaled.CandidateSeen = scale(x.BaseSeen, base), scale(x.CandidateSeen, cand)
	return x.tallied(scaled.rounds(lab.Waits, "sec/op", events, bySquare), events)
}

// blocking returns the events that threads may have been blocked in: not taking latches
// that were free, which takes less time than to fall asleep, and not talking to the
// client, which is the work of system calls; waiting for it is no event.
func blocking(o lab.Observation) []lab.Amount {
	const asleep = 200e-9 // seconds; taking a free latch is timed as 30 to 50 ns
	return slices.DeleteFunc(slices.Clone(o.Events), func(a lab.Amount) bool {
		return strings.HasPrefix(a.Name, "wait/io/socket/") || a.Count > 0 && a.Value/a.Count < asleep
	})
}

// scale returns observations whose events are multiplied by a factor.
func scale(seen []lab.Observation, factor float64) []lab.Observation {
	out := slices.Clone(seen)
	for i, o := range out {
		out[i].Events = slices.Clone(o.Events)
		for k := range out[i].Events {
			out[i].Events[k].Value *= factor
		}
	}
	return out
}

// ranked puts counters that changed first, by how much of the larger side their change is.
func ranked(cs []lab.Component) []lab.Component {
	const (
		trace = 0.01   // per operation: less is an event of the server, not of the operation
		least = 0.0005 // is left out
	)
	cs = slices.DeleteFunc(cs, func(c lab.Component) bool { return max(math.Abs(c.Base), math.Abs(c.Candidate)) < least })
	change := func(c lab.Component) float64 {
		return float64(10*held(c)) + math.Abs(c.Diff)/(max(math.Abs(c.Base), math.Abs(c.Candidate))+trace)
	}
	slices.SortStableFunc(cs, func(a, b lab.Component) int { return cmp.Compare(change(b), change(a)) })
	return cs
}

// cost returns what each instrument cost on each side: throughput with it over that
// without, in the rounds that have both.
func cost(in Input) []lab.InstrumentCost {
	var out []lab.InstrumentCost
	for _, i := range []lab.Instrument{lab.Stacks, lab.Waits} {
		for _, side := range []struct {
			v    lab.Variant
			seen []lab.Observation
		}{{in.Comparison.Base, in.BaseSeen}, {in.Comparison.Candidate, in.CandidateSeen}} {
			with, without := roundsOf(side.seen, i), roundsOf(side.seen, lab.Plain)
			sum, n := 0.0, 0
			for _, round := range slices.Sorted(maps.Keys(with)) {
				a, b := rate(with[round]), rate(without[round])
				if a > 0 && b > 0 {
					sum += math.Log(a / b)
					n++
				}
			}
			if n > 0 {
				out = append(out, lab.InstrumentCost{Instrument: i, Variant: side.v, Ratio: math.Exp(sum / float64(n)), N: n})
			}
		}
	}
	return out
}

// rate returns operations per second.
func rate(seen []lab.Observation) float64 {
	ops, wall := 0.0, 0.0
	for _, o := range seen {
		ops += float64(o.Ops)
		wall += o.Wall
	}
	if wall <= 0 {
		return 0
	}
	return ops / wall
}
