package explain

import (
	"fmt"
	"math"
	"slices"

	"backslide/lab"
	"backslide/stat"
)

// The lines of a time budget.
const (
	periodLine  = "time per operation"
	latencyLine = "latency"
	clientLine  = "client turnaround"
	userLine    = "server CPU, user"
	kernelLine  = "server CPU, kernel"
	runqLine    = "run-queue wait"
	blockedLine = "blocked"
	restLine    = "not accounted for"
)

// budget is where the time of an operation went: parts that add up to the period.
//
//	period = turnaround + user + kernel + run-queue wait + the rest
//
// The rest is the time in which a thread that serves a client was neither on a CPU nor
// waiting for one: it was blocked, if everything else could be read.
type budget struct {
	all    []both // every block, for what stands beside the budget
	kept   []both // the blocks that can tell all parts
	blocks int    // of kept
	open   bool   // an open loop: the period is the latency
	conn   bool   // CPU and waiting are of the threads that serve the clients alone

	whole      float64 // difference of the period that shares are of; 0: none can be given
	turnaround *series // nil: not known
	user       *series
	kernel     *series
	runq       *series
	rest       *series // nil only without blocks
	complete   bool    // nothing is missing, so that the rest was spent blocked
	doubts     []string
}

func newBudget(in Input) budget {
	b := budget{all: pairBlocks(in)}
	steady(b.all)
	for _, s := range append(slices.Clone(in.Base), in.Candidate...) {
		b.open = b.open || s.Offered > 0 && s.Kind == lab.Measured
	}
	needs := []quantity{period}
	need := func(q quantity) bool {
		if !known(b.all, q) {
			return false
		}
		needs = append(needs, q)
		return true
	}
	timed := !b.open && need(latency)
	b.conn = known(b.all, connCPU)
	cpu := need(serverUser) && need(serverSystem)
	if b.conn {
		need(connCPU)
	}
	wait := serverRunq
	if b.conn {
		wait = connRunq
	}
	waited := need(wait)
	for _, x := range b.all {
		if !slices.ContainsFunc(needs, func(q quantity) bool { return !x.knows(q) }) {
			b.kept = append(b.kept, x)
		}
	}
	b.blocks = len(b.kept)
	b.complete = cpu && waited && b.conn && (timed || b.open)
	b.say(timed, cpu, waited)
	if b.blocks == 0 {
		return b
	}
	rest := of(b.kept, period)
	take := func(s series) *series {
		rest = rest.minus(s)
		return &s
	}
	if timed {
		b.turnaround = take(of(b.kept, period).minus(of(b.kept, latency)))
	}
	if cpu {
		user, kernel := b.split()
		b.user, b.kernel = take(user), take(kernel)
	}
	if waited {
		b.runq = take(of(b.kept, wait))
	}
	b.rest = &rest
	b.whole = b.period().Diff
	return b
}

// split returns the CPU time that serves clients in user and kernel mode. Only that of the
// whole server is known apart, so that of the clients' threads is split by its shares.
func (b *budget) split() (user, kernel series) {
	user, kernel = of(b.kept, serverUser), of(b.kept, serverSystem)
	if !b.conn {
		return user, kernel
	}
	conn := of(b.kept, connCPU)
	share := func(u, k, c float64) (float64, float64) {
		if u+k == 0 {
			return c, 0
		}
		return c * u / (u + k), c * k / (u + k)
	}
	for i := range conn.base {
		user.base[i], kernel.base[i] = share(user.base[i], kernel.base[i], conn.base[i])
		user.cand[i], kernel.cand[i] = share(user.cand[i], kernel.cand[i], conn.cand[i])
	}
	return user, kernel
}

// say tells what is missing, and why.
func (b *budget) say(timed, cpu, waited bool) {
	say := func(format string, args ...any) { b.doubts = append(b.doubts, fmt.Sprintf(format, args...)) }
	if b.blocks == 0 {
		say("no block has measured slices of both sides that can be read: no time budget")
		return
	}
	if b.blocks < 2 {
		say("one block: the parts of the time have no interval, and so name no cause")
	}
	if n := len(b.all) - b.blocks; n > 0 {
		say("%s of %d left out of the time budget, where something could not be read", count(n, "block"), len(b.all))
	}
	if !timed && !b.open {
		say("latencies are not known: the client's turnaround cannot be told from the time in the server")
	}
	switch {
	case !cpu:
		say("the server's CPU time could not be read: it is part of what is not accounted for")
	case !b.conn:
		say("which threads serve the clients is not known: CPU time and run-queue wait are those of the whole server, background threads included")
	}
	if !waited {
		say("run-queue wait could not be read: it is part of what is not accounted for")
	}
	if b.open {
		say("clients wait between operations to keep a rate: the time is that of an operation alone, its latency")
	}
}

// period returns the first line of the budget.
func (b *budget) period() lab.Component {
	if b.blocks == 0 {
		return lab.Component{Name: periodLine, Unit: "sec/op", Lo: math.Inf(-1), Hi: math.Inf(1)}
	}
	name := periodLine
	if b.open {
		name = latencyLine
	}
	return b.component(name, of(b.kept, period))
}

func (b *budget) component(name string, s series) lab.Component {
	return b.shared(component(name, "sec/op", s, stat.Prior{}))
}

// shared fills in the share of a component in seconds per operation.
func (b *budget) shared(c lab.Component) lab.Component {
	if b.whole != 0 {
		c.Share = c.Diff / b.whole
	}
	return c
}

// cpu returns all CPU time of the budget; nil: not known.
func (b *budget) cpu() *series {
	if b.user == nil {
		return nil
	}
	s := b.user.plus(*b.kernel)
	return &s
}

// restName says what the rest is.
func (b *budget) restName() string {
	if b.complete {
		return blockedLine
	}
	return restLine
}

// restPart returns the rest. It may be negative where a thread goes on working after it
// has answered, while the client already has its next operation under way; and where the
// host is so busy that CPU times are read late.
func (b *budget) restPart() lab.Component {
	c := b.component(b.restName(), *b.rest)
	if c.Base < 0 || c.Candidate < 0 {
		c.Note = "negative: the server works on after it has answered, which counts in the client's turnaround too, or the host was too busy to read CPU times promptly"
	}
	return c
}

// parts returns the lines under the period but for the rest.
func (b *budget) parts() []lab.Component {
	var out []lab.Component
	for _, p := range []struct {
		name string
		s    *series
	}{{clientLine, b.turnaround}, {userLine, b.user}, {kernelLine, b.kernel}, {runqLine, b.runq}} {
		if p.s != nil {
			c := b.component(p.name, *p.s)
			if !b.conn && p.name != clientLine {
				c.Note = "of all threads of the server"
			}
			out = append(out, c)
		}
	}
	return out
}

// beside returns what is not part of the period.
func (x *evidence) beside() []lab.Component {
	var out []lab.Component
	add := func(name, unit string, s series) {
		if len(s.base) > 0 && (mean(s.base) != 0 || mean(s.cand) != 0) {
			out = append(out, component(name, unit, s, stat.Prior{}))
		}
	}
	if s, ok := x.background(); ok {
		add("background threads, CPU", "sec/op", s)
	}
	if known(x.all, clientUser) {
		blocks := telling(x.all, clientUser, clientSystem)
		add("client, CPU", "sec/op", of(blocks, clientUser).plus(of(blocks, clientSystem)))
	}
	for _, l := range []struct {
		name, unit string
		q          quantity
	}{
		{"voluntary switches", "1/op", voluntary},
		{"forced switches", "1/op", forced},
		{"read from storage", "B/op", readBytes},
		{"written to storage", "B/op", writeBytes},
		{"read calls", "1/op", readCalls},
		{"write calls", "1/op", writeCalls},
		{"major page faults", "1/op", majorFaults},
		{"other processes", "CPUs", hostBusy},
		{"hypervisor", "CPUs", steal},
	} {
		if known(x.all, l.q) {
			add(l.name, l.unit, of(x.all, l.q))
		}
	}
	return out
}

// background returns the CPU time of the server's threads that serve no client, if known.
func (b *budget) background() (series, bool) {
	if !b.conn || !known(b.all, serverUser) {
		return series{}, false
	}
	blocks := telling(b.all, serverUser, serverSystem, connCPU)
	s := of(blocks, serverUser).plus(of(blocks, serverSystem)).minus(of(blocks, connCPU))
	for i := range s.base { // the two clocks are read one after the other
		s.base[i], s.cand[i] = max(0, s.base[i]), max(0, s.cand[i])
	}
	return s, len(blocks) > 0
}

// backgroundWorks reports whether background threads used so much CPU on either side that
// samples of it are more than a remainder of two counts.
func (b *budget) backgroundWorks() bool {
	const least = 0.02 // of the server's CPU time
	s, ok := b.background()
	if !ok {
		return false
	}
	conn := of(b.all, connCPU)
	return mean(s.base) > least*mean(conn.base) || mean(s.cand) > least*mean(conn.cand)
}

// telling returns the blocks that know all quantities.
func telling(blocks []both, qs ...quantity) []both {
	var out []both
	for _, b := range blocks {
		if !slices.ContainsFunc(qs, func(q quantity) bool { return !b.knows(q) }) {
			out = append(out, b)
		}
	}
	return out
}
