package stacks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Flame is a node of a differential flame graph: the same way of being called on both
// sides, in µs per operation.
type Flame struct {
	Name   string // short; of a frame without a symbol its file in brackets
	Full   string // as perf wrote it
	DSO    string
	Kernel bool
	Spin   bool  // waiting that burns CPU
	Total  Delta // the function and what it calls
	Self   Delta
	Calls  []*Flame // by name, so that graphs of several pairs look alike
}

// Gone reports whether the base spent time here and no sample of the candidate did.
func (f *Flame) Gone() bool { return f.Total.Base > 0 && f.Total.Cand == 0 }

// New reports whether the candidate spends time here and no sample of the base did.
func (f *Flame) New() bool { return f.Total.Cand > 0 && f.Total.Base == 0 }

// Anchors returns functions that servers of all versions run statements from. What stands
// above them on the stack differs between versions and threads, and would keep everything
// below it apart.
func Anchors() []string {
	return []string{"dispatch_command", "do_command", "mysql_execute_command"}
}

// Overlay lays two profiles of the same event on top of each other. A stack that has one of
// the anchors begins at the outermost of them. Frames are the same if their short names
// and their callers are.
//
// Versions put other functions between those that both have: one has mysql_parse where
// the other has dispatch_sql_command. Taken strictly, everything below would be gone on
// the one side and new on the other. So a function that only one side has is passed over
// where one that both have follows further in: what is called counts for the caller of
// what was passed over. Gone and new are then the functions at the inner ends of stacks.
//
// The root stands for all CPU time.
func Overlay(base, cand Side, table []Spinner, anchors []string) (*Flame, error) {
	if err := checkSides(base, cand); err != nil {
		return nil, fmt.Errorf("compare call stacks: %w", err)
	}
	m := merger{
		anchors: anchors, spin: spinNames(table), labels: labelsOf(base.Profile, cand.Profile),
		byEdge: map[flameEdge]*flameSum{}, root: &flameSum{Flame: &Flame{Name: "all"}},
	}
	m.common = m.commonNames(base.Profile, cand.Profile)
	m.add(0, base.Profile)
	m.add(1, cand.Profile)
	root := m.root.finish(base, cand)
	root.Total.SE = 0
	return root, nil
}

// commonNames returns the labels that both profiles have. What stands for all functions of
// a file without symbols is none.
func (m *merger) commonNames(a, b *Profile) map[string]bool {
	inA, both := map[string]bool{}, map[string]bool{}
	for _, name := range m.labels.all(a) {
		inA[name] = true
	}
	for i, name := range m.labels.all(b) {
		if f := b.frames[i]; inA[name] && (!f.nameless() || name == f.Name && f.addressed()) {
			both[name] = true
		}
	}
	return both
}

type flameSum struct {
	*Flame
	self  [2]Amount
	total [2]Amount
	calls []*flameSum
}

type flameEdge struct {
	up     *flameSum
	name   string
	kernel bool
}

type merger struct {
	anchors []string
	spin    map[string]bool
	labels  labels
	common  map[string]bool // labels that both sides have
	byEdge  map[flameEdge]*flameSum
	root    *flameSum
}

func (m *merger) add(side int, p *Profile) {
	all := m.labels.all(p)
	var names []string
	p.Stacks(func(stack []Frame, a Amount) bool {
		names = names[:0]
		for _, f := range stack {
			names = append(names, all[p.byName[f]])
		}
		first, last := 0, -1 // where the stack begins, its innermost function that both sides have
		for i, name := range names {
			if first == 0 && slices.Contains(m.anchors, name) {
				first = i
			}
			if m.common[name] {
				last = i
			}
		}
		at := m.root
		at.total[side].add(a)
		for i := first; i < len(stack); i++ {
			name := names[i]
			if i < last && !m.common[name] || stack[i].nameless() && at.Name == name {
				continue // how many frames of one file without symbols follow each other says nothing
			}
			at = m.call(at, name, stack[i])
			at.total[side].add(a)
		}
		at.self[side].add(a)
		return true
	})
}

func (m *merger) call(at *flameSum, name string, f Frame) *flameSum {
	e := flameEdge{at, name, f.Kernel}
	next := m.byEdge[e]
	if next == nil {
		next = &flameSum{Flame: &Flame{Name: name, Full: f.Name, DSO: f.DSO, Kernel: f.Kernel, Spin: m.spin[name]}}
		m.byEdge[e] = next
		at.calls = append(at.calls, next)
	}
	return next
}

// finish turns sums into µs per operation. Stacks are no deeper than maxDepth.
func (s *flameSum) finish(base, cand Side) *Flame {
	s.Self = delta(base, cand, s.self[0], s.self[1])
	s.Total = delta(base, cand, s.total[0], s.total[1])
	for _, c := range s.calls {
		s.Calls = append(s.Calls, c.finish(base, cand))
	}
	slices.SortStableFunc(s.Calls, func(a, b *Flame) int { return cmp.Or(strings.Compare(a.Name, b.Name), boolCompare(a.Kernel, b.Kernel)) })
	return s.Flame
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
