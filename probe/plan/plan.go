// Package plan reads what EXPLAIN says, in the forms of all versions of MySQL and MariaDB,
// into one kind of tree, so that plans are compared by how tables are accessed and not by
// text. It says which statements to send; it sends none.
package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Op is the kind of a node.
type Op string

// The kinds of nodes.
const (
	Query Op = "query" // a query block: its tables in the order in which they are joined, then its subqueries
	Table Op = "table" // one table being read; if it is materialised first, the query that fills it is its child
	Union Op = "union" // query blocks one after the other
)

// Access is how rows of a table are found. The words are those of EXPLAIN's column type.
type Access string

// The ways of access that are treated specially. There are others, such as fulltext.
const (
	Const      Access = "const"       // one row, read while planning; MySQL calls it system if the table has only one
	EqRef      Access = "eq_ref"      // at most one row for each row before
	Ref        Access = "ref"         // rows of equal key
	Range      Access = "range"       // parts of an index
	FullIndex  Access = "index"       // a whole index
	FullTable  Access = "ALL"         // the whole table
	IndexMerge Access = "index_merge" // several indexes, row numbers put together
)

// The names of tables that exist for the time of the statement only. Servers number them, or
// call them by their alias.
const (
	Derived  = "<derived>"  // filled by a query in FROM, or a view
	Subquery = "<subquery>" // filled by a query in IN
	Unnamed  = "<const>"    // read while planning; this form of EXPLAIN does not say which
)

// Unknown stands where EXPLAIN does not say a number.
const Unknown = -1

// Node is one step of a plan.
type Node struct {
	Op     Op     `json:"op"`
	Table  string `json:"table,omitempty"` // as the statement calls it
	Access Access `json:"access,omitempty"`
	Index  string `json:"index,omitempty"`

	KeyParts  []string `json:"key_parts,omitempty"`  // columns of the index that rows are found by; nil: not said
	KeyLen    int      `json:"key_len,omitempty"`    // their length in bytes; 0: not said
	Merge     string   `json:"merge,omitempty"`      // intersect, union or sort_union
	Merged    []string `json:"merged,omitempty"`     // the indexes of a merge
	RowFilter string   `json:"row_filter,omitempty"` // an index that row numbers are looked up in first (MariaDB)

	Covering   bool   `json:"covering,omitempty"`    // the index has all columns
	Filter     bool   `json:"filter,omitempty"`      // rows are checked against a condition
	JoinBuffer string `json:"join_buffer,omitempty"` // hash, BNL, BKA and their kin; "": none
	Sort       bool   `json:"sort,omitempty"`        // of a query: rows are sorted, not read in order
	Temporary  bool   `json:"temporary,omitempty"`   // of a query: rows are put into a temporary table
	Note       string `json:"note,omitempty"`        // what stands in the place of a table: No tables used

	EstRows float64 `json:"est_rows"` // per loop, estimated; Unknown
	ActRows float64 `json:"act_rows"` // per loop, found; Unknown
	Loops   float64 `json:"loops"`    // how often it was executed; Unknown
	Cost    float64 `json:"cost"`     // in the server's own unit: never compare it across versions; Unknown

	Children []*Node `json:"children,omitempty"`
}

func newNode(op Op) *Node {
	return &Node{Op: op, EstRows: Unknown, ActRows: Unknown, Loops: Unknown, Cost: Unknown}
}

func (n *Node) add(child *Node) *Node {
	n.Children = append(n.Children, child)
	return child
}

// ErrNoPlan means that the server has no plan for the statement in this form; another form
// may have it.
var ErrNoPlan = errors.New("EXPLAIN has no plan for this statement in this form")

// maxDepth bounds how deep a plan may be nested.
const maxDepth = 400

// Tables returns the tables of the plan in the order in which it names them, except those
// read while planning.
func (n *Node) Tables() []*Node {
	var tables []*Node
	n.walk(func(m *Node) {
		if m.Op == Table && !m.constant() {
			tables = append(tables, m)
		}
	})
	return tables
}

func (n *Node) walk(visit func(*Node)) {
	visit(n)
	for _, c := range n.Children {
		c.walk(visit)
	}
}

// constant reports whether a table costs nothing when the statement runs. Some forms name
// such tables and some do not.
func (n *Node) constant() bool { return n.Access == Const || n.Access == "system" }

// RowsExamined returns how many rows were read from tables when the statement was run, and
// false if not all tables say.
func (n *Node) RowsExamined() (float64, bool) {
	sum := 0.0
	for _, t := range n.Tables() {
		switch {
		case t.Loops == 0:
		case t.ActRows < 0 || t.Loops < 0:
			return 0, false
		default:
			sum += t.ActRows * t.Loops
		}
	}
	return sum, true
}

// Equal reports whether two plans access their data in the same way: the same tables in
// the same order by the same part of the same index, sorted and buffered alike. Estimates,
// costs, conditions and wording do not count. Tables read while planning do not either.
func Equal(a, b *Node) bool {
	switch {
	case a == nil || b == nil:
		return a == b
	case a.Op == Query && b.Op == Query && (a.Note == NotShown || b.Note == NotShown):
		return true
	case a.Op != b.Op || !sameAccess(a, b) || a.Sort != b.Sort || a.Temporary != b.Temporary:
		return false
	}
	return slices.EqualFunc(a.costly(), b.costly(), Equal)
}

func (n *Node) costly() []*Node {
	return slices.DeleteFunc(slices.Clone(n.Children), func(c *Node) bool { return c.Op == Table && c.constant() && len(c.Children) == 0 })
}

func sameAccess(a, b *Node) bool {
	return a.Table == b.Table && a.Access == b.Access && a.Index == b.Index && a.Merge == b.Merge && slices.Equal(a.Merged, b.Merged) &&
		a.RowFilter == b.RowFilter && a.Covering == b.Covering && a.JoinBuffer == b.JoinBuffer && sameKey(a, b)
}

// sameKey compares how much of an index is used by what both forms say about it.
func sameKey(a, b *Node) bool {
	switch {
	case a.KeyParts != nil && b.KeyParts != nil:
		return len(a.KeyParts) == len(b.KeyParts)
	case a.KeyLen > 0 && b.KeyLen > 0:
		return a.KeyLen == b.KeyLen
	}
	return true
}

// String says the plan in one line: t1 range a(1) covering; t2 ref t1_id(1); temporary, filesort.
func (n *Node) String() string {
	var parts []string
	for _, c := range n.Children {
		switch c.Op {
		case Table:
			s := c.Table + " " + c.access()
			if len(c.Children) > 0 {
				s += " of (" + joinNodes(c.Children) + ")"
			}
			parts = append(parts, strings.TrimSpace(s))
		default:
			parts = append(parts, string(c.Op)+" ("+c.String()+")")
		}
	}
	if extra := n.extra(); extra != "" {
		parts = append(parts, extra)
	}
	if n.Note != "" {
		parts = append(parts, n.Note)
	}
	return strings.Join(parts, "; ")
}

func joinNodes(nodes []*Node) string {
	var s []string
	for _, n := range nodes {
		s = append(s, n.String())
	}
	return strings.Join(s, "; ")
}

// access says how a table is read.
func (n *Node) access() string {
	s := string(n.Access)
	switch {
	case n.Merge != "":
		s += "(" + n.Merge + " " + strings.Join(n.Merged, ", ") + ")"
	case n.Index != "":
		s += " " + n.Index
		if k := len(n.KeyParts); k > 0 {
			s += fmt.Sprintf("(%d)", k)
		}
	}
	if n.RowFilter != "" {
		s += " row filter " + n.RowFilter
	}
	if n.Covering {
		s += " covering"
	}
	if n.JoinBuffer != "" {
		s += " join buffer " + n.JoinBuffer
	}
	return s
}

// extra says what a query does besides reading tables.
func (n *Node) extra() string {
	var s []string
	if n.Temporary {
		s = append(s, "temporary")
	}
	if n.Sort {
		s = append(s, "filesort")
	}
	return strings.Join(s, ", ")
}

// materialized is what MySQL calls the temporary table of a subquery in a condition. Its
// forms do not agree on whether to name it, so it is left out and the subquery stands alone.
const materialized = "<materialized_subquery>"

// NotShown is the note of a subquery that a form of EXPLAIN mentions and does not describe.
// It is equal to any query.
const NotShown = "not shown"

func (n *Node) unwrap() {
	for i, c := range n.Children {
		c.unwrap()
		if c.Op == Table && c.Table == materialized && len(c.Children) == 1 {
			c = c.Children[0]
		}
		if c.Op == Query && len(c.Children) == 1 && c.Children[0].Op == Query && c.extra() == "" && c.Note == "" {
			c = c.Children[0]
		}
		n.Children[i] = c
	}
}

// finish brings what the forms of EXPLAIN say differently to one way of saying it.
func finish(root *Node) (*Node, error) {
	root.unwrap()
	root.walk(func(n *Node) {
		switch {
		case strings.HasPrefix(n.Table, "<derived"):
			n.Table = Derived
		case strings.HasPrefix(n.Table, "<subquery"):
			n.Table = Subquery
		}
		if n.Table == Derived || n.Table == Subquery {
			n.unnumber()
		}
		if n.Access == FullIndex { // all of it: no part of the key finds anything
			n.KeyParts, n.KeyLen = nil, 0
		}
		if n.Access == IndexMerge {
			n.Index, n.KeyParts, n.KeyLen = "", nil, 0
		}
		n.JoinBuffer = joinBuffer(n.JoinBuffer)
	})
	return root, nil
}

// unnumber takes off what an index that is made for the statement is called.
func (n *Node) unnumber() {
	if n.Index != "" {
		n.Index = "<auto>"
	}
	n.KeyParts, n.KeyLen = nil, 0
}

// joinBuffer shortens what the forms call a join buffer.
func joinBuffer(s string) string {
	switch l := strings.ToLower(s); {
	case s == "":
		return ""
	case strings.Contains(l, "bkah"):
		return "BKAH"
	case strings.Contains(l, "bka") || strings.Contains(l, "batched key"):
		return "BKA"
	case strings.Contains(l, "bnlh") || strings.Contains(l, "hash"):
		return "hash"
	case strings.Contains(l, "bnl") || strings.Contains(l, "block nested"):
		return "BNL"
	}
	return s
}
