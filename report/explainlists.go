package report

import (
	"fmt"
	"slices"
	"strings"

	"backslide/lab"
)

// How many lines of a list people are shown; the rest is in the JSON.
const (
	mostFunctions = 25
	mostEvents    = 12
	mostCounters  = 15
	mostSettings  = 20
	mostCalls     = 40
)

// amountList is a list of amounts of an explanation, base beside candidate.
type amountList struct {
	title  string
	of     []lab.Component
	most   int  // how many are shown
	shares bool // with the share of the difference in time, where any has one
	judged bool // more is worse; a counter may go either way for either reason
	open   bool // on a page, unfolded
	rows   bool // what is counted are rows
}

// lists returns what stands beside the budget, and what is within it, in the order in which
// it is read.
func (a *answer) lists() []amountList {
	return []amountList{
		{title: "Beside it", of: a.Beside, most: len(a.Beside), judged: true, open: true},
		{title: "CPU by function", of: seen(a.Functions), most: mostFunctions, shares: true, judged: true, open: true},
		{title: "CPU by call with what it calls, all threads (brackets: three standard errors of sampling)", of: a.callTree(), most: mostCalls, judged: true},
		{title: "Waiting that burns CPU", of: seen(a.Spins), most: mostFunctions, shares: true, judged: true, open: true},
		{title: "Waits of the clients' threads", of: seen(a.Events), most: mostEvents, shares: true, judged: true, open: true},
		{title: "Counters, those that changed most first", of: seen(a.Counters), most: mostCounters},
		{title: "Statements by text, waits and CPU together", of: seen(a.Digests), most: mostEvents, shares: true, judged: true},
		{title: "Statements by kind, waits and CPU together", of: seen(a.Statements), most: mostEvents, shares: true, judged: true},
		{title: "Statements by stage, waits and CPU together", of: seen(a.Stages), most: mostEvents, shares: true, judged: true},
		{title: "Table I/O and locks, waits and CPU together", of: seen(a.Around), most: mostEvents, shares: true, judged: true},
		{title: "Tables, all threads, waits and CPU together", of: seen(a.Tables), most: mostEvents, judged: true, rows: true},
		{title: "File I/O of all threads", of: seen(a.FileIO), most: mostEvents, judged: true},
		{title: "Waits of threads that serve no client, sleeping included", of: seen(a.Others), most: mostEvents},
		{title: "CPU of background threads by function", of: seen(a.Background), most: mostEvents, judged: true},
	}
}

// seen returns the components that either side has any of.
func seen(cs []lab.Component) []lab.Component {
	return slices.DeleteFunc(slices.Clone(cs), func(c lab.Component) bool { return c.Base == 0 && c.Candidate == 0 })
}

// amounts returns the table of a list.
func (a *answer) amounts(l amountList, width int) section {
	if len(l.of) == 0 {
		return section{}
	}
	out := section{title: l.title}
	unit := oneUnit(l.of)
	if unit != "" {
		u, _ := unitOf(unit)
		out.title += ", " + u
	}
	t := &table{head: []string{"", "base", "candidate", "difference"}, fixed: 1}
	shares := l.shares && shared(l.of)
	if shares {
		t.head = append(t.head, "share")
	}
	counted := l.tallied()
	if counted {
		t.head = append(t.head, "ratio", l.counts()+"/op", "total s")
	}
	room := 70
	if width > 0 {
		room = max(24, width-54)
	}
	for _, c := range l.of[:min(len(l.of), l.most)] {
		u, f := unitOf(c.Unit)
		name := shorten(clean(c.Name), room)
		if unit == "" {
			name += ", " + u
		}
		diff := cell{parts: []string{plus(f * c.Diff), unitSpan(c)}}
		if l.judged {
			diff = cell{parts: append(diff.parts, costMark(c)), state: costState(c)}
		}
		cells := append(plain(name, amount(f*c.Base), amount(f*c.Candidate)), diff)
		if shares {
			cells = append(cells, plain(a.share(c))...)
		}
		if counted {
			cells = append(cells, tallyOf(c).cells()...)
		}
		t.rows = append(t.rows, row{cells: cells})
		if c.Note != "" {
			out.list = append(out.list, shorten(clean(c.Name), room)+": "+clean(c.Note))
		}
	}
	if n := len(l.of) - l.most; n > 0 {
		out.list = append(out.list, fmt.Sprintf("and %d more, in the JSON", n))
	}
	out.table = t
	return out
}

// shared reports whether any component has a share.
func shared(cs []lab.Component) bool {
	return slices.ContainsFunc(cs, func(c lab.Component) bool { return c.Share != 0 })
}

// oneUnit returns the unit that all components have, if they do.
func oneUnit(cs []lab.Component) string {
	for _, c := range cs {
		if c.Unit != cs[0].Unit {
			return ""
		}
	}
	return cs[0].Unit
}

// shorten cuts text to a number of columns, its middle out, since both ends of a name tell
// it from others.
func shorten(s string, room int) string {
	if columns(s) <= room {
		return s
	}
	runes := []rune(s)
	head := room * 2 / 3
	if strings.Contains(s, "/") { // the end of a path says more
		head = room / 3
	}
	tail := room - head - 1
	if len(runes) <= room { // wide characters
		return string(runes[:min(len(runes), room/2)]) + "…"
	}
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}
