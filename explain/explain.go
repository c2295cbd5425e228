// Package explain turns a verdict and what was seen around it into ranked causes: where
// the time of an operation went on both sides, and what of the difference that accounts
// for. Numbers in, numbers and sentences out: it measures nothing and reads nothing.
//
// A cause is never something whose 99 % interval includes zero; what no cause accounts
// for is said to be so.
package explain

import (
	"time"

	"backslide/lab"
)

// Input is all that is known of one candidate at one level.
type Input struct {
	Comparison lab.Comparison // of lab.QPS
	Run        lab.Run
	At         time.Time // when the explanation was made

	// The measured slices of both cells, from which the time budget is made. Slices of other
	// kinds or cells, and broken ones, are left out.
	Base, Candidate []lab.Slice

	// What the diagnostic rounds saw of both cells, in any order.
	BaseSeen, CandidateSeen []lab.Observation

	// PlanDiff says in sentences in what the candidate's plan differs from the base's;
	// empty: the same plan. Nil: the lines of the trees are compared.
	PlanDiff func(base, candidate lab.StatementPlan) []string

	// Known says why a difference of set-up matters and how much, 0 for nothing known. Nil:
	// the function Known.
	Known func(name, base, candidate string) (why string, weight int)
}

// Explain judges the evidence. It always returns something: a verdict without a
// difference has a budget and no causes, and what could not be read is a doubt.
func Explain(in Input) lab.Explanation {
	x := newCase(in)
	e := lab.Explanation{
		Run: in.Run.ID, At: in.At, Comparison: in.Comparison,
		Budget: x.budgetLines(), Beside: x.beside(),
		Functions: x.functions, Spins: x.spins, Events: x.events, Counters: x.counters,
		Background: x.behind, Around: x.around, Stages: x.stages, Statements: x.statements, Digests: x.digests,
		Tables: x.tables, FileIO: x.files, Others: x.otherWaits,
		Plans: x.plans, Settings: settings(in), Cost: cost(in),
	}
	if x.sign != 0 {
		e.Causes = x.causes()
		e.Unexplained = x.unexplained(e.Causes)
	}
	e.Doubts = x.doubts
	e.Headline = x.headline(e)
	return e
}

// evidence is a case to judge, with everything estimated.
type evidence struct {
	Input
	sign float64 // of the difference in time: +1 slower, −1 faster, 0 nothing to explain

	budget
	functions, spins, events, counters  []lab.Component
	behind                              []lab.Component // functions of background threads
	around, stages, statements, digests []lab.Component // times that contain those of events and of CPU
	tables, files, otherWaits           []lab.Component // times of all threads, or of those that serve no client
	spinning                            lab.Component   // all spins together
	plans                               []lab.PlanChange

	cpuPart, runqPart *series // as causes see them: see fold
	factor            float64 // of CPU time with the waiting that goes with it, to CPU time; 1: not folded

	doubts []string
}

func newCase(in Input) *evidence {
	x := &evidence{Input: in, budget: newBudget(in), factor: 1}
	switch in.Comparison.Verdict {
	case lab.Regressed:
		x.sign = 1
	case lab.Improved:
		x.sign = -1
	}
	x.doubts = append(x.doubts, x.budget.doubts...)
	if x.sign == 0 || x.period().Diff*x.sign <= 0 {
		x.whole = 0
	}
	if x.sign != 0 && x.blocks > 0 && x.whole == 0 {
		x.doubt("the time per operation did not change the way the verdict says; shares of the difference cannot be given")
	}
	x.fold()
	x.functions = x.rounds(lab.Stacks, "sec/op", func(o lab.Observation) []lab.Amount { return o.Functions }, byMean)
	x.spins = x.rounds(lab.Stacks, "sec/op", func(o lab.Observation) []lab.Amount { return o.Spins }, byMean)
	x.spinning = x.total(lab.Stacks, "waiting that burns CPU", func(o lab.Observation) []lab.Amount { return o.Spins })
	x.events = x.waits()
	x.counters = ranked(x.rounds(lab.Plain, "1/op", func(o lab.Observation) []lab.Amount { return o.Counters }, bySquare))
	if x.backgroundWorks() {
		x.behind = x.rounds(lab.Stacks, "sec/op", func(o lab.Observation) []lab.Amount { return o.Background }, byMean)
	}
	x.around = x.timed(func(o lab.Observation) []lab.Amount { return o.Around })
	x.stages = x.timed(func(o lab.Observation) []lab.Amount { return o.Stages })
	x.statements = x.timed(func(o lab.Observation) []lab.Amount { return o.Statements })
	x.digests = x.timed(func(o lab.Observation) []lab.Amount { return o.Digests })
	x.tables = x.timed(func(o lab.Observation) []lab.Amount { return o.Tables })
	x.files = x.timed(func(o lab.Observation) []lab.Amount { return o.FileIO })
	x.otherWaits = x.timed(func(o lab.Observation) []lab.Amount { return o.Others })
	x.plans = x.planChanges()
	x.observed()
	return x
}

// doubt adds a doubt once.
func (x *evidence) doubt(s string) {
	for _, d := range x.doubts {
		if d == s {
			return
		}
	}
	x.doubts = append(x.doubts, s)
}

// observed passes on what those who looked had doubts about, and says where they looked
// too seldom.
func (x *evidence) observed() {
	for _, side := range []struct {
		name string
		v    lab.Variant
		seen []lab.Observation
	}{{"base", x.Comparison.Base, x.BaseSeen}, {"candidate", x.Comparison.Candidate, x.CandidateSeen}} {
		for _, o := range side.seen {
			for _, n := range o.Notes {
				x.doubt(side.name + ": " + n)
			}
		}
		x.nameless(side.name, side.v, side.seen)
	}
	for _, i := range []lab.Instrument{lab.Stacks, lab.Waits} {
		if n := len(x.common(i)); n == 1 && x.sign != 0 {
			x.doubt("one round with " + string(i) + " on both sides: its amounts have no interval, and so name no cause")
		}
	}
}
