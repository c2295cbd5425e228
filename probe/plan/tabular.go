package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// parseTabular reads the form of one row per table. Rows of one id are a query block;
// where blocks belong is told by select_type and the names of temporary tables.
func parseTabular(columns []string, rows [][]*string) (*Node, error) {
	col := map[string]int{}
	for i, c := range columns {
		col[strings.ToLower(c)] = i
	}
	for _, must := range []string{"id", "select_type", "table", "type", "key", "rows", "extra"} {
		if _, ok := col[must]; !ok {
			return nil, fmt.Errorf("read a plan: EXPLAIN returned the columns %s, without %s", strings.Join(columns, ", "), must)
		}
	}
	t := tabular{blocks: map[string]*block{}, used: map[*Node]bool{}}
	for _, row := range rows {
		if len(row) != len(columns) {
			return nil, fmt.Errorf("read a plan: a row of %d values under %d columns", len(row), len(columns))
		}
		get := func(name string) string {
			if i, ok := col[name]; ok && row[i] != nil {
				return *row[i]
			}
			return ""
		}
		t.row(get)
	}
	return t.assemble()
}

type tabular struct {
	blocks map[string]*block
	order  []*block
	unions []*Node // their Table lists the ids of their blocks
	used   map[*Node]bool
}

// block is a query block with what its rows say about where it belongs.
type block struct {
	id     string
	kind   string // select_type of its first row
	node   *Node
	placed bool
}

func (t *tabular) row(get func(string) string) {
	id, kind := get("id"), get("select_type")
	if strings.HasSuffix(kind, "UNION RESULT") || strings.HasPrefix(get("table"), "<union") || strings.HasPrefix(get("table"), "<unit") {
		u := newNode(Union)
		u.Table = get("table")
		t.unions = append(t.unions, u)
		return
	}
	b := t.blocks[id]
	if b == nil {
		b = &block{id: id, kind: kind, node: newNode(Query)}
		t.blocks[id] = b
		t.order = append(t.order, b)
	}
	extra := get("extra")
	b.node.Sort = b.node.Sort || strings.Contains(extra, "Using filesort")
	b.node.Temporary = b.node.Temporary || strings.Contains(extra, "Using temporary")
	switch {
	case get("table") == "":
		b.node.Note = extra
		return
	case (kind == "INSERT" || kind == "REPLACE") && get("rows") == "": // written to, not read
		return
	}
	b.node.add(tableRow(get, extra))
}

func tableRow(get func(string) string, extra string) *Node {
	n := newNode(Table)
	n.Table, n.Index = get("table"), get("key")
	access, filtered := strings.CutSuffix(get("type"), "|filter")
	n.Access = Access(access)
	if filtered {
		n.Index, n.RowFilter, _ = strings.Cut(n.Index, "|")
	}
	length, _, _ := strings.Cut(get("key_len"), "|")
	n.KeyLen, _ = strconv.Atoi(length)
	rows, _, _ := strings.Cut(get("rows"), " ") // with a row filter: 10 (5%)
	n.EstRows = number(rows)
	found, _, _ := strings.Cut(get("r_rows"), " ")
	n.ActRows = number(found)
	n.Filter = strings.Contains(extra, "Using where") || strings.Contains(extra, "Using index condition")
	for note := range strings.SplitSeq(extra, "; ") {
		switch {
		case note == "Using index" || strings.HasPrefix(note, "Using index for group-by") || strings.HasPrefix(note, "Using index for skip scan"):
			n.Covering = true
		case strings.HasPrefix(note, "Using join buffer"):
			n.JoinBuffer = note
		}
		for _, how := range []string{"sort_union", "sort_intersect", "intersect", "union"} {
			if list, ok := strings.CutPrefix(note, "Using "+how+"("); ok {
				n.setMerge(how, list)
				break
			}
		}
	}
	return n
}

// setMerge reads the list of a merge, which may be nested: intersect(a,b),c.
func (n *Node) setMerge(how, list string) {
	n.Merge = how
	for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == '(' || r == ')' || r == ',' || r == ' ' }) {
		switch name {
		case "sort_union", "intersect", "union", "sort_intersect":
		default:
			n.Merged = append(n.Merged, name)
		}
	}
}

// number reads a number, or Unknown.
func number(s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return Unknown
	}
	return v
}

// assemble puts the blocks into each other.
func (t *tabular) assemble() (*Node, error) {
	if len(t.order) == 0 {
		return nil, fmt.Errorf("read a plan: EXPLAIN returned no table and no message")
	}
	main := t.order[0]
	main.placed = true
	root := main.node
	inUnion := map[string]*Node{} // by the id of each block of a union
	for _, u := range t.unions {
		ids := strings.FieldsFunc(u.Table, func(r rune) bool { return r < '0' || r > '9' })
		u.Table = ""
		for _, id := range ids {
			if b := t.blocks[id]; b != nil && inUnion[id] == nil {
				u.add(b.node)
				b.placed = true
				inUnion[id] = u
			}
		}
		if len(ids) > 0 && len(u.Children) > 0 && u.Children[0] == main.node {
			root = u
		}
	}
	if root == main.node {
		root = t.unionAll(main, inUnion)
	}
	for _, b := range t.order {
		t.fill(b.node, inUnion)
	}
	for _, u := range t.unions {
		if u != root && len(u.Children) > 0 && !t.used[u] {
			adopt(main.node, main.node, u) // in a subquery
		}
	}
	for _, b := range t.order {
		if !b.placed {
			b.placed = adopt(main.node, main.node, b.node)
		}
	}
	return finish(root)
}

// unionAll gathers the blocks of a UNION ALL, which has no row of its own.
func (t *tabular) unionAll(main *block, inUnion map[string]*Node) *Node {
	u := newNode(Union)
	u.add(main.node)
	for _, b := range t.order[1:] {
		if b.kind == "UNION" && !b.placed {
			u.add(b.node)
			b.placed = true
			inUnion[b.id] = u
		}
	}
	if len(u.Children) == 1 {
		return main.node
	}
	inUnion[main.id] = u
	return u
}

// fill gives temporary tables the block that they are filled by.
func (t *tabular) fill(n *Node, inUnion map[string]*Node) {
	for _, c := range n.Children {
		if c.Op != Table || !strings.HasPrefix(c.Table, "<derived") && !strings.HasPrefix(c.Table, "<subquery") {
			continue
		}
		id := strings.Trim(c.Table, "<>abcdefghijklmnopqrstuvwxyz")
		b := t.blocks[id]
		if b == nil || b.node == n {
			continue
		}
		if u := inUnion[id]; u != nil && u.Children[0] == b.node && !t.used[u] {
			t.used[u] = adopt(n, c, u)
		} else if !b.placed {
			b.placed = adopt(n, c, b.node)
		}
	}
}

// adopt makes child a child of n or of its table c, unless n is somewhere below child: the
// tree must stay one, whatever the rows say.
func adopt(n, c, child *Node) bool {
	for todo := []*Node{child}; len(todo) > 0; {
		at := todo[0]
		if at == n {
			return false
		}
		todo = append(todo[1:], at.Children...)
	}
	c.add(child)
	return true
}
