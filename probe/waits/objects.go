package waits

import "strings"

// statements fills in statements, and into c the rows that they needed.
func (d *Delta) statements(t tables, c map[string]int64) {
	if rows, ok := t.change(threadStatements); ok {
		d.Statements = d.perOp(byName(rows, t.b.own, func(n string) string {
			if strings.HasPrefix(n, "statement/sp/") {
				return "" // lies within the statement that calls the routine
			}
			return n
		}))
		for k, v := range rows {
			if k.Thread == t.b.own {
				continue
			}
			for column, n := range v {
				if kind := counted(column); kind != "" && !strings.HasPrefix(k.Name, "statement/sp/") {
					c["clients' statements: "+kind] += int64(n)
				}
			}
		}
	}
	texts := map[string]tally{}
	if rows, ok := t.change(digests); ok {
		for k, v := range rows {
			parts := strings.Split(k.Name, "\x00")
			if len(parts) != 3 {
				continue
			}
			text := parts[2]
			if parts[1] == "" {
				d.note("%d statements had no room in %s and are not listed by text", v["COUNT_STAR"], digests)
				continue
			}
			if parts[0] != "" {
				text = parts[0] + ": " + text
			}
			texts[text] = texts[text].plus(timed(v))
		}
	}
	if rows, ok := t.change(prepared); ok {
		for k, v := range rows {
			if k.Thread == t.b.own {
				continue
			}
			_, text, _ := strings.Cut(k.Name, "\x00")
			text = "prepared: " + text
			if w := v.tally("COUNT_EXECUTE", "SUM_TIMER_EXECUTE"); w.n > 0 {
				texts[text] = texts[text].plus(w)
			}
		}
	}
	d.Digests = d.perOp(texts)
}

// counted returns the words for a column that counts what statements needed.
func counted(column string) string {
	switch column {
	case "COUNT_STAR", "SUM_TIMER_WAIT", "SUM_LOCK_TIME", "SUM_CPU_TIME":
		return "" // statements themselves, and times
	}
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(column, "SUM_"), "_", " "))
}

// objects fills in files and tables, and into c the bytes of files.
func (d *Delta) objects(t tables, c map[string]int64) {
	if rows, ok := t.change(files); ok {
		out := map[string]tally{}
		for k, v := range rows {
			file := strings.TrimPrefix(k.Name, "wait/io/file/")
			for what, w := range map[string]tally{
				"read":           v.tally("COUNT_READ", "SUM_TIMER_READ"),
				"write":          v.tally("COUNT_WRITE", "SUM_TIMER_WRITE"),
				"sync and other": v.tally("COUNT_MISC", "SUM_TIMER_MISC"),
			} {
				if w.n > 0 {
					out[file+" "+what] = out[file+" "+what].plus(w)
				}
			}
			for what, column := range map[string]string{"read": "SUM_NUMBER_OF_BYTES_READ", "written": "SUM_NUMBER_OF_BYTES_WRITE"} {
				if n := v[column]; n > 0 {
					c["file "+file+": bytes "+what] += int64(n)
				}
			}
		}
		d.Files = d.perOp(out)
	}
	out := map[string]tally{}
	if rows, ok := t.change(tableIO); ok {
		for k, v := range rows {
			for _, what := range []string{"FETCH", "INSERT", "UPDATE", "DELETE"} {
				if w := v.tally("COUNT_"+what, "SUM_TIMER_"+what); w.n > 0 {
					addTable(out, k, strings.ToLower(what), w)
				}
			}
		}
	}
	if rows, ok := t.change(tableLocks); ok {
		for k, v := range rows {
			if w := timed(v); w.n > 0 {
				addTable(out, k, "lock", w)
			}
		}
	}
	d.Tables = d.perOp(out)
}

// addTable adds a row of a table's; not of the observer's own.
func addTable(out map[string]tally, k key, what string, w tally) {
	schema, table, _ := strings.Cut(k.Name, "\x00")
	if s := strings.ToLower(schema); s == "performance_schema" || s == "information_schema" {
		return
	}
	name := schema + "." + table + " " + what
	out[name] = out[name].plus(w)
}
