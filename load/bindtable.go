package load

// table is one table of a data set.
type table struct {
	name    string
	create  []string
	after   []string
	columns []string // sorted
	exprs   []*expr  // by column
	rows    int64
	t       int64 // number among its kind, from 1
	kind    int   // place in the file
}

// maxTables bounds the tables that one [[table]] may stand for.
const maxTables = 10000

func (b *binder) table(i int) error {
	f, at := b.w.f.Table[i], path{nth("table", i)}
	if f.Name == "" {
		return bad(at, "table number %d has no name", i+1)
	}
	if len(f.Create) == 0 {
		return bad(at, "table %s has no create", f.Name)
	}
	sc := b.scope(b.p.params)
	if b.w.f.Chain {
		sc.args["clients"] = wholeConst(int64(max(1, b.p.Target.Clients)))
	}
	count, err := b.constant(sc, f.Count, 1, at.add("count"))
	if err != nil {
		return err
	}
	rows, err := b.constant(sc, f.Rows, 0, at.add("rows"))
	switch {
	case err != nil:
		return err
	case count < 0 || count > maxTables:
		return bad(at.add("count"), "count = %d is outside 0 to %d", count, maxTables)
	case rows < 0 || rows > 1<<40:
		return bad(at.add("rows"), "rows = %d is outside 0 to 2^40", rows)
	case rows > 0 && len(f.Columns) == 0:
		return bad(at, "table %s has rows but no columns to fill", f.Name)
	}
	sc.vars = rowVars()
	columns := keys(f.Columns)
	var exprs []*expr
	for _, c := range columns {
		e, err := sc.compile(f.Columns[c].text)
		if err != nil {
			return bad(at.add("columns", c), "column %s: %v", c, err)
		}
		if e.kind == real || e.kind == list {
			return bad(at.add("columns", c), "column %s: %s is %s", c, quoteShort(f.Columns[c].text), e.kind)
		}
		exprs = append(exprs, e)
	}
	sc.vars = tableVars()
	for t := int64(1); t <= max(count, 1); t++ {
		var fr frame
		fr.vars[varT] = t
		tb := table{columns: columns, exprs: exprs, rows: rows, t: t, kind: i}
		if tb.name, err = sc.fixed(f.Name, &fr); err != nil {
			return bad(at.add("name"), "%v", err)
		}
		if tb.create, err = b.all(sc, f.Create, &fr, at.add("create")); err != nil {
			return err
		}
		if tb.after, err = b.all(sc, f.After, &fr, at.add("after")); err != nil {
			return err
		}
		if t <= count {
			b.p.tables = append(b.p.tables, tb)
		}
	}
	return nil
}
