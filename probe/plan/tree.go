package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// iterator is a step as MySQL's executor sees it.
type iterator struct {
	text    string // what it does, without figures
	est     float64
	act     float64
	loops   float64
	cost    float64
	inputs  []*iterator
	heading string // what an input is to its consumer: Hash, Select #2
}

// parseTree reads the text form: a line per iterator, its inputs below it, further in.
func parseTree(text string) (*Node, error) {
	root := &iterator{}
	stack := []*iterator{root}
	indents := []int{-1}
	for line := range strings.Lines(strings.ReplaceAll(text, `\n`, "\n")) { // batch clients write newlines so
		trimmed := strings.TrimLeft(line, " ")
		body, ok := strings.CutPrefix(trimmed, "-> ")
		if !ok {
			if len(root.inputs) > 0 && strings.TrimSpace(line) != "" { // a condition with a newline in it
				stack[len(stack)-1].text += " " + strings.TrimSpace(line)
			}
			continue
		}
		indent := len(line) - len(trimmed)
		for indents[len(indents)-1] >= indent {
			stack, indents = stack[:len(stack)-1], indents[:len(indents)-1]
		}
		if len(stack) > maxDepth {
			return nil, fmt.Errorf("read a plan: nested deeper than %d", maxDepth)
		}
		it := parseIterator(strings.TrimSpace(body))
		up := stack[len(stack)-1]
		up.inputs = append(up.inputs, it)
		stack, indents = append(stack, it), append(indents, indent)
	}
	if len(root.inputs) == 0 {
		return nil, fmt.Errorf("read a plan: there is no line that begins with -> in %.60q", text)
	}
	return iteratorsToPlan(root.inputs)
}

// parseIterator splits a line into what is done and its figures:
//
//	Table scan on t  (cost=0.35..1 rows=2) (actual time=0.01..0.02 rows=2 loops=1)
func parseIterator(s string) *iterator {
	it := &iterator{text: s, est: Unknown, act: Unknown, loops: Unknown, cost: Unknown}
	end := len(s)
	if i := strings.LastIndex(s, "(never executed)"); i >= 0 {
		it.loops, it.act = 0, 0
		end = i
	}
	if i := strings.LastIndex(s[:end], "(actual "); i >= 0 {
		group := s[i:end]
		it.act, it.loops = figureIn(group, "rows="), figureIn(group, "loops=")
		end = i
	}
	if i := strings.LastIndex(s[:end], "(cost="); i >= 0 {
		group := s[i:end]
		it.est, it.cost = figureIn(group, "rows="), figureIn(group, "cost=")
		end = i
	} else if i := strings.LastIndex(s[:end], "  (rows="); i >= 0 {
		it.est = figureIn(s[i:end], "rows=")
		end = i
	}
	it.text = strings.TrimSpace(s[:end])
	return it
}

// figureIn reads the number behind a name, the last of a range a..b. MySQL writes large and
// small ones as 1.2e+6 and 494e-6.
func figureIn(group, name string) float64 {
	_, rest, ok := strings.Cut(group, name)
	if !ok {
		return Unknown
	}
	end := strings.IndexAny(rest, " )")
	if end >= 0 {
		rest = rest[:end]
	}
	if i := strings.LastIndex(rest, ".."); i >= 0 {
		rest = rest[i+2:]
	}
	return number(rest)
}

// readIterators reads MySQL's JSON of version 2, whose operations are the lines of the tree.
func readIterators(v value) (*Node, error) {
	its, err := inputsOf(v, 0)
	if err != nil {
		return nil, err
	}
	return iteratorsToPlan(its)
}

// inputsOf returns the iterator of an object, and behind it the subqueries that stand
// beside its inputs.
func inputsOf(v value, depth int) ([]*iterator, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("read a plan: nested deeper than %d", maxDepth)
	}
	it := &iterator{
		text: v.str("operation"), heading: v.str("heading"), cost: v.num("estimated_total_cost"), est: v.num("estimated_rows"),
		act: v.num("actual_rows"), loops: v.num("actual_loops"),
	}
	if it.loops == 0 {
		it.act = 0
	}
	var beside []*iterator
	for _, m := range v.members {
		if m.name != "inputs" && !strings.HasPrefix(m.name, "inputs_from_") {
			continue
		}
		for _, item := range m.items {
			in, err := inputsOf(item, depth+1)
			if err != nil {
				return nil, err
			}
			if m.name == "inputs" {
				it.inputs = append(it.inputs, in...)
			} else {
				beside = append(beside, in...)
			}
		}
	}
	if strings.HasPrefix(it.heading, "Select #") { // as a line of its own, like in the text
		it = &iterator{text: it.heading, inputs: []*iterator{it}, est: Unknown, act: Unknown, loops: Unknown, cost: Unknown}
	}
	return append([]*iterator{it}, beside...), nil
}

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
	if n := r.query; len(n.Children) == 1 && n.Children[0].Op == Union && !n.Sort && !n.Temporary {
		return finish(n.Children[0])
	}
	return finish(r.query)
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

// readAccess reads the iterators that read a table; others are nil.
func readAccess(it *iterator) *Node {
	what, rest, ok := strings.Cut(it.text, " on ")
	if !ok {
		return nil
	}
	what, covering := strings.CutPrefix(lowerFirst(what), "covering ")
	if single, ok := strings.CutPrefix(what, "single-row covering "); ok {
		what, covering = "single-row "+single, true
	}
	n := newNode(Table)
	switch {
	case what == "table scan":
		n.Access = FullTable
	case strings.HasPrefix(what, "index scan"):
		n.Access = FullIndex
	case strings.HasPrefix(what, "single-row index lookup"):
		n.Access = EqRef
	case strings.HasPrefix(what, "index lookup") || strings.HasPrefix(what, "multi-range index lookup"):
		n.Access = Ref
	case strings.HasPrefix(what, "full-text index search"):
		n.Access = "fulltext"
	case strings.HasPrefix(what, "index range scan") || strings.HasPrefix(what, "index skip scan") || strings.HasPrefix(what, "group index skip scan") || strings.HasPrefix(what, "dynamic range scan"):
		n.Access = Range
	default:
		return nil
	}
	n.Covering = covering
	n.EstRows, n.ActRows, n.Loops, n.Cost = it.est, it.act, it.loops, it.cost
	n.Table, rest = word(rest)
	if using, ok := strings.CutPrefix(rest, "using "); ok {
		n.Index, rest = word(using)
	}
	n.Filter = strings.Contains(rest, "with index condition")
	switch n.Access {
	case EqRef, Ref:
		n.KeyParts = lookupColumns(rest)
	case Range:
		if over, ok := strings.CutPrefix(rest, "over "); ok {
			n.KeyParts = rangeColumns(over)
		}
	}
	return n
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// word takes a name off the front, which may be in backquotes or angle brackets.
func word(s string) (name, rest string) {
	s = strings.TrimLeft(s, " ")
	if inner, ok := strings.CutPrefix(s, "`"); ok {
		if name, rest, ok = strings.Cut(inner, "`"); ok {
			return name, strings.TrimLeft(rest, " ")
		}
	}
	if strings.HasPrefix(s, "<") {
		if name, rest, ok := strings.Cut(s, ">"); ok {
			return name + ">", strings.TrimLeft(rest, " ")
		}
	}
	name, rest, _ = strings.Cut(s, " ")
	return name, strings.TrimLeft(rest, " ")
}

// lookupColumns reads the columns of (a = t1.x, b = 3).
func lookupColumns(s string) []string {
	inner, ok := strings.CutPrefix(s, "(")
	if !ok {
		return nil
	}
	var columns []string
	for _, part := range topLevel(inner) {
		if name, _, ok := strings.Cut(part, "="); ok {
			columns = append(columns, strings.Trim(strings.TrimSpace(name), "`"))
		}
	}
	return columns
}

// topLevel splits at commas outside of parentheses and quotes, up to the closing parenthesis.
func topLevel(s string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\'', '"':
			i += quoted(s[i:]) - 1
		case '(':
			depth++
		case ')':
			if depth == 0 {
				return append(parts, s[start:i])
			}
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, s[start:i])
				start = i + 1
			}
		}
	}
	return append(parts, s[start:])
}

// quoted returns the length of the quoted text that s begins with.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			if i+1 < len(s) && s[i+1] == s[0] {
				i++
				continue
			}
			return i + 1
		}
	}
	return len(s)
}

// rangeColumns reads the columns of (b = 3 AND 'c2' < c) OR (5 < b): the words that are no
// values. Values that read as words, such as functions, do not occur in ranges.
func rangeColumns(s string) []string {
	var columns []string
	add := func(name string) {
		switch strings.ToUpper(name) {
		case "", "AND", "OR", "NULL", "IS", "NOT", "LIKE", "MORE", "REVERSE", "TRUE", "FALSE", "WITH", "INDEX", "CONDITION":
			return
		}
		for _, c := range columns {
			if c == name {
				return
			}
		}
		columns = append(columns, name)
	}
	if i := strings.Index(s, ", with index condition"); i >= 0 {
		s = s[:i]
	}
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\'' || c == '"':
			i += quoted(s[i:])
		case c == '`':
			n := quoted(s[i:])
			add(strings.Trim(s[i:i+n], "`"))
			i += n
		case nameByte(c):
			start := i
			for i < len(s) && nameByte(s[i]) {
				i++
			}
			if _, err := strconv.ParseFloat(s[start:i], 64); err != nil && (s[start] < '0' || s[start] > '9') {
				add(s[start:i])
			}
		default:
			i++
		}
	}
	return columns
}

func nameByte(c byte) bool {
	return c == '_' || c == '$' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
