package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"backslide/lab"
	"backslide/stat"
)

const named = 5 // names that a cause lists as its evidence at most

// causes returns what accounts for the difference, the largest share first; what works
// against it has a negative share and stands last.
//
// They do not overlap. Something within a component, such as a wait event, is looked at
// only where the component itself holds, so that many events do not make a false cause
// likely.
func (x *evidence) causes() []lab.Cause {
	if x.blocks == 0 {
		return nil
	}
	var out []lab.Cause
	if x.turnaround != nil {
		if c := x.component(clientLine, *x.turnaround); c.Holds() {
			out = append(out, x.clientCause(c))
		}
	}
	server := append(append(x.cpuCauses(), x.blockedCauses()...), x.runqCauses()...)
	out = mergeHost(append(out, x.planned(server)...))
	out = slices.DeleteFunc(out, func(c lab.Cause) bool { return x.whole != 0 && math.Abs(c.Amount.Share) < worthNaming })
	slices.SortStableFunc(out, func(a, b lab.Cause) int { return cmp.Compare(x.sign*b.Amount.Diff, x.sign*a.Amount.Diff) })
	return out
}

// fold lets the waiting for a CPU that goes with using more of it count as CPU. Where
// clients keep all CPUs busy, each waits while the others compute: an operation that
// needs twice the CPU time also waits twice as long for it, and what changed is the CPU
// time. So of the difference in waiting, that much is the CPU's as the base waits for each
// second of it on average; what is beyond that stays with the run queue.
func (x *evidence) fold() {
	x.cpuPart, x.runqPart = x.cpu(), x.runq
	if x.cpuPart == nil || x.runq == nil || !x.component("", *x.cpuPart).Holds() {
		return
	}
	cpu, queue := *x.cpuPart, *x.runq
	waits := mean(queue.base) / mean(cpu.base) // seconds for each second of CPU
	if !(waits >= worthFolding) || math.IsInf(waits, 0) {
		return
	}
	zero := make([]float64, len(cpu.base))
	with, beyond := cpu.plus(series{zero, zero}), queue.plus(series{zero, zero})
	for i := range cpu.base {
		goes := waits * (cpu.cand[i] - cpu.base[i])
		with.cand[i] += goes
		beyond.cand[i] -= goes
	}
	x.factor, x.cpuPart, x.runqPart = 1+waits, &with, &beyond
}

const worthFolding = 0.1 // seconds of waiting for each second of CPU, under which it is not counted with it

// cpuCauses splits the CPU time into computing and into waiting that burns CPU.
func (x *evidence) cpuCauses() []lab.Cause {
	if x.cpuPart == nil {
		return nil
	}
	name := "server CPU"
	if x.factor > 1 {
		name = "server CPU and waiting for it"
	}
	all := x.component(name, *x.cpuPart)
	if !all.Holds() {
		return nil
	}
	var out []lab.Cause
	work := all
	s := x.spinning
	s.Base, s.Candidate, s.Diff, s.Lo, s.Hi = s.Base*x.factor, s.Candidate*x.factor, s.Diff*x.factor, s.Lo*x.factor, s.Hi*x.factor
	if s.Holds() && s.Diff*all.Diff > 0 {
		if math.Abs(s.Diff) > math.Abs(all.Diff) { // stacks are of other slices
			s.Note = "sampled in other slices; cut to the difference of all CPU time"
			f := all.Diff / s.Diff
			s.Base, s.Candidate, s.Diff, s.Lo, s.Hi = s.Base*f, s.Candidate*f, s.Diff*f, s.Lo*f, s.Hi*f
		}
		s = x.shared(s)
		work = x.shared(less(name, all, s))
		out = append(out, lab.Cause{Kind: lab.SpinCause, What: "waiting for latches that burns CPU" + inNames(x.holding(x.spins, x.spinning), x.spinning), Amount: s, Evidence: x.list(x.spins, x.spinning)})
	}
	if work.Holds() {
		computing := x.notSpins()
		own := lab.Component{Diff: work.Diff / x.factor}
		c := lab.Cause{Kind: lab.CPUCause, What: name + inNames(x.holding(computing, own), own), Amount: work, Evidence: x.list(computing, own)}
		c.Evidence = append(c.Evidence, x.modes()...)
		c.Evidence = append(c.Evidence, x.moreWork(work)...)
		if !x.conn {
			c.Evidence = append(c.Evidence, "CPU time is that of the whole server, background threads included")
		}
		out = append(out, c)
	}
	return out
}

// moreWork says which counters show that there was more or less to do, and whether the rows
// read are the same.
func (x *evidence) moreWork(work lab.Component) []string {
	const (
		clear = 1.5  // ratio of what is worth saying
		least = 0.05 // per operation
		some  = 3
		same  = 0.05 // share of the rows within which they did not change: the observer reads some too
	)
	var out []string
	for _, c := range x.counters {
		low, high := min(c.Base, c.Candidate), max(c.Base, c.Candidate)
		if c.Holds() && c.Diff*work.Diff > 0 && high > clear*low && high > least && len(out) < some {
			out = append(out, c.Name+": "+amounts(c))
		}
	}
	if rows, ok := x.rowsRead(); ok && rows.N > 1 && (!rows.Holds() || math.Abs(rows.Diff) < same*max(rows.Base, rows.Candidate)) {
		out = append(out, "rows read per operation did not change: "+number(rows.Candidate))
	}
	return append(out, x.heldBack(work)...)
}

// heldBack says that a transaction was open throughout on the side that needs more, and on
// the other was not: what was deleted or changed since it began is kept for it, and stepped
// over by those who read.
func (x *evidence) heldBack(work lab.Component) []string {
	more, less := x.CandidateSeen, x.BaseSeen
	name, other := "candidate", "base"
	if work.Diff < 0 {
		more, less, name, other = less, more, other, name
	}
	age := func(seen []lab.Observation) (age, wall float64) {
		n := 0.0
		for _, o := range seen {
			if o.Key.Kind == lab.Plain.Kind() && o.Ops > 0 {
				age, wall, n = age+o.OldestTrx, wall+o.Wall, n+1
			}
		}
		return age / max(n, 1), wall / max(n, 1)
	}
	open, wall := age(more)
	was, _ := age(less)
	if open == 0 || open < wall || was > open/2 {
		return nil
	}
	return []string{fmt.Sprintf("a transaction of another session was open in the %s, at the end for %s s, %s s in the %s: what was deleted or changed since is kept for it and stepped over", name, number(open), number(was), other)}
}

// modes says how much of the CPU time changed in user mode and in the kernel.
func (x *evidence) modes() []string {
	var out []string
	for _, m := range []struct {
		name string
		s    *series
	}{{"in user mode", x.user}, {"in the kernel", x.kernel}} {
		if c := x.component(m.name, *m.s); c.Holds() {
			out = append(out, m.name+": "+amounts(c))
		}
	}
	return out
}

// notSpins returns the functions that compute.
func (x *evidence) notSpins() []lab.Component {
	var out []lab.Component
	for _, f := range x.functions {
		if !slices.ContainsFunc(x.spins, func(s lab.Component) bool {
			return s.Name == f.Name || strings.HasPrefix(s.Name, f.Name+", ") // with what it waits for behind it
		}) {
			out = append(out, f)
		}
	}
	return out
}

// holding returns the components that hold, go the way of the whole and are at least a
// twentieth of it, the largest first.
func (x *evidence) holding(cs []lab.Component, whole lab.Component) []lab.Component {
	const least = 0.05
	var out []lab.Component
	for _, c := range cs {
		if c.Holds() && c.Diff*whole.Diff > 0 && math.Abs(c.Diff) >= least*math.Abs(whole.Diff) {
			out = append(out, c)
		}
	}
	return out
}

// list returns what holds as sentences.
func (x *evidence) list(cs []lab.Component, whole lab.Component) []string {
	held := x.holding(cs, whole)
	var out []string
	for _, c := range held[:min(len(held), named)] {
		out = append(out, c.Name+": "+amounts(c))
	}
	if n := len(held) - named; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return out
}

// blockedCauses splits the rest into events that were timed and what no instrument saw.
func (x *evidence) blockedCauses() []lab.Cause {
	rest := x.restPart()
	if !rest.Holds() {
		return nil
	}
	if max(rest.Base, rest.Candidate) <= 0 {
		return nil // it only overlaps the client's turnaround more or less than it did
	}
	if c, ok := x.stolen(rest); ok {
		return []lab.Cause{c}
	}
	var out []lab.Cause
	left := rest
	for _, e := range x.events {
		if !e.Holds() || e.Diff*rest.Diff < 0 || math.Abs(e.Share) < worthNaming {
			continue
		}
		out = append(out, lab.Cause{Kind: lab.WaitCause, What: "waits on " + e.Name, Amount: e, Evidence: x.times(e)})
		left = less(rest.Name, left, e)
	}
	left = x.shared(left)
	if !left.Holds() || left.Diff*rest.Diff < 0 || !x.complete {
		return out // what is not accounted for is no cause
	}
	if busy, ok := x.others(left); ok && x.switching(left) == nil {
		return append(out, lab.Cause{Kind: lab.HostCause, What: othersDid, Amount: left, Evidence: []string{"answers waited for the client to have a CPU; " + busy}})
	}
	return append(out, x.unnamed(left))
}

// unnamed is the cause that is blocking which no timed event accounts for.
func (x *evidence) unnamed(left lab.Component) lab.Cause {
	c := lab.Cause{Kind: lab.BlockedCause, What: "being blocked on nothing that is instrumented", Amount: left}
	if n := len(x.common(lab.Waits)); n < 2 {
		c.What = "being blocked"
		c.Evidence = []string{"on what is not known: there are fewer than two rounds with waits timed on both sides"}
	} else if vague := x.vague(left); len(vague) > 0 {
		c.What = "being blocked, on waits that vary too much between rounds to be told apart"
		c.Evidence = vague
	}
	c.Evidence = append(c.Evidence, x.switching(left)...)
	for _, s := range x.list(slices.Concat(x.around, x.stages), left) {
		c.Evidence = append(c.Evidence, "in "+s+" (waits without an instrument and CPU time are in it too)")
	}
	c.Evidence = append(c.Evidence, x.lockCounters(left)...)
	return c
}

// vague returns the timed events that do not hold, if they make much of what is left: then
// it is not true that no instrument saw it, only that more rounds are needed to say which.
func (x *evidence) vague(left lab.Component) []string {
	const much = 0.5 // of what is left
	var of []lab.Component
	sum := 0.0
	for _, e := range x.events {
		if !e.Holds() && e.Diff*left.Diff > 0 {
			of = append(of, e)
			sum += math.Abs(e.Diff)
		}
	}
	if sum < much*math.Abs(left.Diff) {
		return nil
	}
	slices.SortStableFunc(of, func(a, b lab.Component) int { return cmp.Compare(math.Abs(b.Diff), math.Abs(a.Diff)) })
	var out []string
	for _, e := range of[:min(len(of), named)] {
		if math.Abs(e.Diff) < worthNaming*math.Abs(left.Diff) {
			break
		}
		out = append(out, strings.Join(append([]string{"perhaps " + e.Name + ": " + amounts(e)}, x.times(e)...), "; "))
	}
	return append(out, "watch more rounds to tell: --again")
}

const worthNaming = 0.01 // share of the difference under which nothing is named as a cause

// switching says that threads gave up the CPU more or less often, as they do to block. It
// does not where they were driven from it as much less or more often: then a thread that
// waits for its client, on a CPU that both share, only came to that in another way.
func (x *evidence) switching(left lab.Component) []string {
	if !known(x.all, voluntary) {
		return nil
	}
	c := component("voluntary context switches", "1/op", of(x.all, voluntary), stat.Prior{})
	if !c.Holds() || c.Diff*left.Diff < 0 {
		return nil
	}
	if known(x.all, forced) {
		blocks := telling(x.all, voluntary, forced)
		all := component("context switches", "1/op", of(blocks, voluntary).plus(of(blocks, forced)), stat.Prior{})
		if !all.Holds() || all.Diff/c.Diff < 0.5 {
			return nil
		}
	}
	return []string{c.Name + ": " + amounts(c)}
}

// lockCounters returns what counters of the server say of waiting, locking and syncing.
func (x *evidence) lockCounters(left lab.Component) []string {
	var out []string
	for _, c := range x.counters {
		name := strings.ToLower(c.Name)
		if c.Holds() && c.Diff*left.Diff > 0 && containsAny(name, "wait", "lock_time", "fsync", "_syncs") && len(out) < named {
			out = append(out, c.Name+": "+amounts(c))
		}
	}
	return out
}

func containsAny(s string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

// times says how often an event was waited for, where that is known.
func (x *evidence) times(e lab.Component) []string {
	t := e.Tallies
	if t == nil || t.Base.Times+t.Candidate.Times == 0 {
		return nil
	}
	return []string{fmt.Sprintf("waited for %s times per operation, %s in the base", number(t.Candidate.TimesPerOp), number(t.Base.TimesPerOp))}
}

// unexplained returns what of the difference no cause accounts for.
func (x *evidence) unexplained(causes []lab.Cause) lab.Component {
	p := x.period()
	c := lab.Component{Name: "not accounted for", Unit: "sec/op", Base: p.Base, Candidate: p.Candidate, Diff: p.Diff, N: p.N, Lo: math.Inf(-1), Hi: math.Inf(1)}
	for _, k := range causes {
		c.Base -= k.Amount.Base
		c.Candidate -= k.Amount.Candidate
		c.Diff -= k.Amount.Diff
	}
	return x.shared(c)
}
