package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Diff says in sentences in what the candidate's plan differs from the base's, what
// matters most first. It is empty if the plans are Equal.
//
//	th: index_merge(intersect ticket_id, htype) + filesort -> index create_time; rows examined 8000 -> 40100
func Diff(base, cand *Node) []string {
	if base == nil || cand == nil || Equal(base, cand) {
		return nil
	}
	b, c := byTable(base), byTable(cand)
	var out []string
	for _, k := range b.order {
		was, is := b.at[k], c.at[k]
		if is == nil {
			out = append(out, fmt.Sprintf("%s: was read by %s, is not read any more", k, was.node.access()))
			continue
		}
		if s := changed(*was, *is); s != "" {
			out = append(out, k.String()+": "+s)
		}
	}
	same := len(b.order) == len(c.order)
	for _, k := range c.order {
		if b.at[k] == nil {
			same = false
			out = append(out, fmt.Sprintf("%s: was not read, is read by %s", k, c.at[k].node.access()))
		}
	}
	if same && !slices.Equal(b.order, c.order) {
		out = append(out, fmt.Sprintf("order of tables: %s -> %s", b.names(), c.names()))
	}
	out = append(out, blocks(base, cand)...)
	if len(out) == 0 { // the same tables, in blocks that are put together differently
		out = append(out, fmt.Sprintf("shape: %s -> %s", base, cand))
	}
	return out
}

// tableKey finds a table again: its name, and which of that name.
type tableKey struct {
	name string
	nth  int
}

func (k tableKey) String() string {
	if k.nth == 0 {
		return k.name
	}
	return k.name + " #" + strconv.Itoa(k.nth+1)
}

type placed struct {
	node  *Node
	query *Node // the block it is in
}

type tableIndex struct {
	order []tableKey
	at    map[tableKey]*placed
}

func byTable(root *Node) tableIndex {
	t := tableIndex{at: map[tableKey]*placed{}}
	count := map[string]int{}
	var walk func(n, query *Node)
	walk = func(n, query *Node) {
		if n.Op == Query {
			query = n
		}
		if n.Op == Table && !n.constant() {
			k := tableKey{n.Table, count[n.Table]}
			count[n.Table]++
			t.order = append(t.order, k)
			t.at[k] = &placed{n, query}
		}
		for _, c := range n.Children {
			walk(c, query)
		}
	}
	walk(root, root)
	return t
}

func (t tableIndex) names() string {
	var s []string
	for _, k := range t.order {
		s = append(s, k.String())
	}
	return strings.Join(s, ", ")
}

// changed says what became of one table; "" if it is read as before.
func changed(was, is placed) string {
	before, after := was.node.access(), is.node.access()
	if !sameAccess(was.node, is.node) && before == after { // one of them does not say how many columns of the key
		before += lengths(was.node)
		after += lengths(is.node)
	}
	alone := was.alone() && is.alone()
	if alone {
		before, after = plus(before, was.query.extra()), plus(after, is.query.extra())
	}
	if sameAccess(was.node, is.node) && (!alone || was.query.extra() == is.query.extra()) {
		return ""
	}
	return before + " -> " + after + rows(was.node, is.node)
}

func lengths(n *Node) string {
	if n.KeyLen == 0 {
		return ""
	}
	return fmt.Sprintf(" by %d bytes of key", n.KeyLen)
}

func plus(s, extra string) string {
	if extra == "" {
		return s
	}
	return s + " + " + strings.ReplaceAll(extra, ", ", " + ")
}

// alone reports whether the table is the only one of its query, so that sorting concerns it.
func (p placed) alone() bool {
	tables := 0
	for _, c := range p.query.costly() {
		if c.Op == Table {
			tables++
		}
	}
	return tables == 1
}

// rows says how many rows were examined on both sides; if that is not known, how many the
// servers expected to.
func rows(was, is *Node) string {
	if was.ActRows >= 0 && is.ActRows >= 0 && was.Loops >= 0 && is.Loops >= 0 {
		return fmt.Sprintf("; rows examined %s -> %s", count(was.ActRows*was.Loops), count(is.ActRows*is.Loops))
	}
	if was.EstRows >= 0 && is.EstRows >= 0 {
		return fmt.Sprintf("; rows expected %s -> %s", count(was.EstRows), count(is.EstRows))
	}
	return ""
}

func count(v float64) string {
	if v >= 10 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// blocks says what changed about whole queries: their number, sorting, temporary tables. What
// concerns a query of one table has been said with the table.
func blocks(base, cand *Node) []string {
	b, c := queries(base), queries(cand)
	if len(b) != len(c) {
		return []string{fmt.Sprintf("query blocks: %d -> %d", len(b), len(c))}
	}
	var out []string
	for i := range b {
		if (placed{query: b[i]}).alone() && (placed{query: c[i]}).alone() {
			continue
		}
		which := ""
		if len(b) > 1 {
			which = fmt.Sprintf(" of query %d", i+1)
		}
		for _, x := range []struct {
			what    string
			was, is bool
		}{{"sort" + which, b[i].Sort, c[i].Sort}, {"temporary table" + which, b[i].Temporary, c[i].Temporary}} {
			if x.was != x.is {
				out = append(out, fmt.Sprintf("%s: %s -> %s", x.what, yesNo(x.was), yesNo(x.is)))
			}
		}
	}
	return out
}

func queries(root *Node) []*Node {
	var list []*Node
	root.walk(func(n *Node) {
		if n.Op == Query {
			list = append(list, n)
		}
	})
	return list
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
