package stacks

import (
	"cmp"
	"slices"
	"strings"
)

// Func is a function's part in a profile.
type Func struct {
	Frame
	Self  Amount // it was running
	Total Amount // it or something that it called was running; each sample counts once
}

// Flat returns all functions, those with most self weight first.
func (p *Profile) Flat() []Func {
	funcs := make([]Func, len(p.frames))
	for i, f := range p.frames {
		funcs[i].Frame = f
	}
	seen := make([]int, len(p.frames))
	for id, n := range p.nodes {
		if n.self.Samples == 0 {
			continue
		}
		funcs[n.frame].Self.add(n.self)
		for at := int32(id); at != noParent; at = p.nodes[at].parent {
			if f := p.nodes[at].frame; seen[f] != id+1 {
				seen[f] = id + 1
				funcs[f].Total.add(n.self)
			}
		}
	}
	slices.SortStableFunc(funcs, func(a, b Func) int {
		return cmp.Or(compareDown(a.Self.Weight, b.Self.Weight), compareDown(a.Total.Weight, b.Total.Weight), strings.Compare(a.Name, b.Name), strings.Compare(a.DSO, b.DSO))
	})
	return funcs
}

func compareDown(a, b float64) int { return cmp.Compare(b, a) }

// Call is a node of a call tree.
type Call struct {
	Frame
	Self, Total Amount
	Calls       []*Call // most weight first
}

// Tree returns the call tree. Its root is no function: it stands for all samples.
func (p *Profile) Tree() *Call {
	root := &Call{Total: p.total, Self: p.total}
	calls := make([]*Call, len(p.nodes))
	for id, n := range p.nodes {
		calls[id] = &Call{Frame: p.frames[n.frame], Self: n.self, Total: n.self}
		up := root
		if n.parent != noParent {
			up = calls[n.parent]
		}
		up.Calls = append(up.Calls, calls[id])
		root.Self.add(Amount{-n.self.Weight, -n.self.Samples, -n.self.Squares})
	}
	for id := len(p.nodes) - 1; id >= 0; id-- { // children stand behind their parents
		if parent := p.nodes[id].parent; parent != noParent {
			calls[parent].Total.add(calls[id].Total)
		}
	}
	root.sort()
	return root
}

// sort goes without recursion: stacks may be as deep as they like.
func (c *Call) sort() {
	for todo := []*Call{c}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = append(todo[:len(todo)-1], at.Calls...)
		slices.SortStableFunc(at.Calls, func(a, b *Call) int {
			return cmp.Or(compareDown(a.Total.Weight, b.Total.Weight), strings.Compare(a.Name, b.Name))
		})
	}
}
