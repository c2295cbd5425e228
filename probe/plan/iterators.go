package plan

import (
	"fmt"
	"strings"
)

// iteratorsToPlan turns iterators into blocks and tables.
func iteratorsToPlan(its []*iterator) (*Node, error) {
	for _, it := range its {
		if strings.Contains(it.text, "not executable by iterator executor") {
			return nil, fmt.Errorf("read a plan: %w", ErrNoPlan)
		}
	}
	r := iteratorReader{query: newNode(Query)}
	r.query.Cost = its[0].cost
	for _, it := range its {
		r.read(it, "")
	}
	for range hidden(its) {
		r.query.add(newNode(Query)).Note = NotShown
	}
	if n := r.query; len(n.Children) == 1 && n.Children[0].Op == Union && !n.Sort && !n.Temporary {
		return finish(n.Children[0])
	}
	return finish(r.query)
}

// hidden returns the numbers of the subqueries that are mentioned, as (select #2), and not
// shown: those whose value was put in as a constant.
func hidden(its []*iterator) []string {
	shown, mentioned := map[string]bool{}, map[string]bool{}
	for todo := its; len(todo) > 0; {
		it := todo[0]
		todo = append(todo[1:len(todo):len(todo)], it.inputs...)
		if rest, ok := strings.CutPrefix(it.text, "Select #"); ok {
			n, _, _ := strings.Cut(rest, " ")
			shown[n] = true
		}
		for _, part := range strings.Split(it.text, "(select #")[1:] {
			if n, _, ok := strings.Cut(part, ")"); ok {
				mentioned[n] = true
			}
		}
	}
	var out []string
	for n := range mentioned {
		if !shown[n] {
			out = append(out, n)
		}
	}
	return out
}

type iteratorReader struct {
	query *Node
}

func (r iteratorReader) all(its []*iterator, buffer string) {
	for _, it := range its {
		r.read(it, buffer)
	}
}

// read adds an iterator and its inputs to the query. Buffer is the join buffer that the
// tables below are read into.
func (r iteratorReader) read(it *iterator, buffer string) {
	has := func(prefix string) bool { return strings.HasPrefix(it.text, prefix) }
	switch {
	case has("Select #"):
		r.query.add(subquery(it.inputs))
	case strings.Contains(it.text, "hash join") || has("Inner hash") || has("Left hash"):
		r.join(it, "hash")
	case has("Batched key access"):
		r.join(it, "BKA")
	case has("Sort-deduplicate by row ID"):
		r.merge(it, "sort_union")
	case has("Intersect rows sorted by row ID"):
		r.merge(it, "intersect")
	case has("Deduplicate rows sorted by row ID"):
		r.merge(it, "union")
	case has("Sort") && !has("Sort-"):
		r.query.Sort = true
		r.all(it.inputs, buffer)
	case has("Stream results"): // to a sort it takes the place of a temporary table
		r.query.Temporary = r.query.Temporary || r.query.Sort
		r.all(it.inputs, buffer)
	case has("Temporary table") || strings.Contains(it.text, "using temporary table"):
		r.query.Temporary = true
		r.all(it.inputs, buffer)
	case has("Append"):
		r.union(it)
	case has("Filter"):
		before := len(r.query.Children)
		r.all(it.inputs, buffer)
		if len(r.query.Children) > before {
			r.query.Children[before].Filter = r.query.Children[before].Op == Table
		}
	case has("Rows fetched before execution") || has("Constant row"):
		n := r.query.add(newNode(Table))
		n.Table, n.Access = Unnamed, Const
	case has("Materialize"): // a temporary table within the query, such as for window functions
		r.query.Temporary = true
		r.all(it.inputs, buffer)
	default:
		if n := readAccess(it); n != nil {
			r.table(n, it, buffer)
			return
		}
		r.all(it.inputs, buffer)
	}
}

func subquery(its []*iterator) *Node {
	in := iteratorReader{query: newNode(Query)}
	in.all(its, "")
	if n := in.query; len(n.Children) == 1 && n.Children[0].Op == Union && !n.Sort && !n.Temporary {
		return n.Children[0]
	}
	return in.query
}

// join reads a join whose inputs but the first go into a buffer.
func (r iteratorReader) join(it *iterator, buffer string) {
	for i, in := range it.inputs {
		if i == 0 {
			r.read(in, "")
		} else {
			r.read(in, buffer)
		}
	}
}

func (r iteratorReader) union(it *iterator) {
	u := r.query.add(newNode(Union))
	for _, in := range it.inputs {
		u.add(subquery([]*iterator{in}))
	}
}

// merge reads an access by several indexes.
func (r iteratorReader) merge(it *iterator, how string) {
	n := newNode(Table)
	n.Access, n.Merge = IndexMerge, how
	n.EstRows, n.ActRows, n.Loops, n.Cost = it.est, it.act, it.loops, it.cost
	for todo := it.inputs; len(todo) > 0; {
		in := todo[0]
		todo = append(todo[1:len(todo):len(todo)], in.inputs...)
		if a := readAccess(in); a != nil {
			n.Table = a.Table
			n.Merged = append(n.Merged, a.Index)
		}
	}
	r.query.add(n)
}

// table adds a table. A temporary one has what fills it as its input.
func (r iteratorReader) table(n *Node, it *iterator, buffer string) {
	n.JoinBuffer = buffer
	switch {
	case n.Table == "<temporary>": // of the query itself
		r.query.Temporary = true
		r.all(it.inputs, buffer)
		return
	case n.Table == "<union temporary>":
		for _, in := range it.inputs {
			r.union(in)
		}
		return
	}
	for _, in := range it.inputs {
		if strings.HasPrefix(in.text, "Materialize") || strings.HasPrefix(in.text, "Union") {
			n.Table = derived(n.Table)
			n.fill(in)
		}
	}
	r.query.add(n)
}

func (n *Node) fill(in *iterator) {
	if strings.HasPrefix(in.text, "Union") || strings.HasPrefix(in.text, "Materialize union") {
		r := iteratorReader{query: newNode(Query)}
		r.union(in)
		n.add(r.query.Children[0])
		return
	}
	n.add(subquery(in.inputs))
}
