package plan

import "strings"

// readBlocks reads MySQL's JSON of version 1 and MariaDB's. Both nest objects named for
// what is done, filesort, temporary_table, grouping_operation, around tables or lists of
// tables. The tables are taken in their order, and of what is around them it is kept
// whether rows are sorted or stored.
func readBlocks(q value) (*Node, error) {
	r := blockReader{query: newNode(Query)}
	r.query.Cost = cost(q)
	r.read(q, "query_block", "")
	root := r.query
	if len(root.Children) == 1 && root.Children[0].Op == Union && !root.Sort && !root.Temporary && root.Note == "" {
		root = root.Children[0]
	}
	return finish(root)
}

// cost returns what the block or table costs, by whatever name.
func cost(v value) float64 {
	if c := v.num("cost"); c >= 0 {
		return c
	}
	info, _ := v.get("cost_info")
	return info.num("query_cost", "prefix_cost")
}

type blockReader struct {
	query *Node // the block that tables are added to
}

// read adds what an object holds to the query. Name is the object's; buffer is the join
// buffer that tables in it are read into.
func (r blockReader) read(v value, name, buffer string) {
	for _, item := range v.items {
		r.read(item, name, buffer)
	}
	for _, m := range v.members {
		switch {
		case m.name == "table":
			r.table(m.value, buffer)
		case m.name == "query_block":
			if name == "query_block" || name == "query_specifications" {
				r.read(m.value, m.name, "")
				continue
			}
			r.query.add(nested(m.value))
		case m.name == "union_result":
			r.union(m.value)
		case m.name == "filesort":
			r.query.Sort = true
			r.read(m.value, m.name, buffer)
		case m.name == "temporary_table" && len(m.members) > 0:
			r.query.Temporary = true
			r.read(m.value, m.name, buffer)
		case m.name == "using_filesort":
			r.query.Sort = r.query.Sort || truth(m.value)
		case m.name == "using_temporary_table":
			r.query.Temporary = r.query.Temporary || truth(m.value)
		case m.name == "message":
			r.query.Note = m.text
		case strings.HasPrefix(m.name, "block-nl-join") || m.name == "hash_join":
			kind := m.str("join_type")
			if kind == "" {
				kind = "BNL"
			}
			r.read(m.value, m.name, kind)
		default:
			r.read(m.value, m.name, buffer)
		}
	}
}

func truth(v value) bool { return v.text == "true" || v.text == "1" }

// nested reads a block within another.
func nested(q value) *Node {
	in := blockReader{query: newNode(Query)}
	in.query.Cost = cost(q)
	in.read(q, "query_block", "")
	if n := in.query; len(n.Children) == 1 && n.Children[0].Op == Union && !n.Sort && !n.Temporary && n.Note == "" {
		return n.Children[0]
	}
	return in.query
}

func (r blockReader) union(v value) {
	u := r.query.add(newNode(Union))
	specs, _ := v.get("query_specifications")
	for _, s := range specs.items {
		if q, ok := s.get("query_block"); ok {
			u.add(nested(q))
		}
	}
}

func (r blockReader) table(v value, buffer string) {
	if m, ok := v.get("message"); ok {
		r.query.Note = m.text
		return
	}
	if ins, ok := v.get("insert"); ok && truth(ins) {
		return // written to, not read
	}
	n := newNode(Table)
	n.Table, n.Access = v.str("table_name"), Access(strings.TrimSuffix(v.str("access_type"), "|filter"))
	if n.Access == "" { // MariaDB names the table of an INSERT and says nothing of it
		return
	}
	r.query.add(n)
	n.Index = v.str("key")
	n.KeyParts = v.strings("used_key_parts")
	n.KeyLen = int(max(0, v.num("key_length")))
	n.EstRows = v.num("rows_examined_per_scan", "rows")
	n.ActRows = v.num("r_rows")
	n.Loops = v.num("r_loops")
	if n.Loops < 0 && n.ActRows >= 0 { // UPDATE and DELETE of one table
		n.Loops = 1
	}
	n.Cost = cost(v)
	_, n.Filter = v.get("attached_condition")
	if using, ok := v.get("using_index"); ok {
		n.Covering = truth(using)
	}
	for _, name := range []string{"using_index_for_group_by", "using_index_for_skip_scan"} {
		if _, ok := v.get(name); ok {
			n.Covering = true
		}
	}
	n.JoinBuffer = buffer
	if b := v.str("using_join_buffer"); b != "" {
		n.JoinBuffer = b
	}
	n.readMerge(v)
	if f, ok := v.get("rowid_filter"); ok {
		if rng, ok := f.get("range"); ok {
			n.RowFilter = rng.str("key")
		}
	}
	for _, m := range v.members {
		switch {
		case m.name == "materialized_from_subquery" || m.name == "materialized":
			if q, ok := m.get("query_block"); ok {
				n.Table = derived(n.Table)
				n.add(nested(q))
			}
		case strings.HasSuffix(m.name, "subqueries"):
			r.read(m.value, m.name, "")
		}
	}
}

// derived names a temporary table; MySQL calls those of FROM by their alias.
func derived(name string) string {
	switch {
	case strings.HasPrefix(name, "<subquery"):
		return Subquery
	case name == materialized:
		return materialized
	}
	return Derived
}

// readMerge reads how indexes are merged: MySQL writes it into the key, MariaDB as objects.
func (n *Node) readMerge(v value) {
	if n.Access != IndexMerge {
		return
	}
	if how, list, ok := strings.Cut(n.Index, "("); ok {
		n.setMerge(how, list)
		return
	}
	m, _ := v.get("index_merge")
	if len(m.members) > 0 {
		n.Merge = m.members[0].name
	}
	m.keys(&n.Merged)
}

// keys gathers the indexes below an object, in their order.
func (v value) keys(list *[]string) {
	for _, item := range v.items {
		item.keys(list)
	}
	for _, m := range v.members {
		if m.name == "key" && m.text != "" {
			*list = append(*list, m.text)
			continue
		}
		m.keys(list)
	}
}
