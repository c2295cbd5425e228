package load

import (
	"fmt"
	"strings"

	"backslide/lab"
)

// Recipe returns a step as plain SQL: statements that make and fill the tables, what was
// done to them before it in a block, by the steps of its chain or at the levels that
// before lists, and the first operations of each client with the arguments that were
// measured, together no more than size bytes.
func (p *Program) Recipe(name string, seed uint64, clients, size int, before []Earlier) (lab.Recipe, error) {
	st, ok := p.steps[name]
	switch {
	case !ok:
		return lab.Recipe{}, fmt.Errorf("workload %s has no step %q%s", p.Workload.Name, name, lab.Suggest(name, keys(p.steps)))
	case st.unfit != nil:
		return lab.Recipe{}, st.unfit
	case st.tool != nil && st.works() == nil:
		return lab.Recipe{}, fmt.Errorf("%s drives the step, with script %s", st.tool.Program, st.tool.Script)
	case clients < 1:
		return lab.Recipe{}, fmt.Errorf("step %s: %d clients", name, clients)
	}
	r := lab.Recipe{Schema: p.Target.Schema, Read: st.read, Connect: st.connect}
	var err error
	if p.Workload.Chain {
		before = p.before(name, clients)
	}
	earlier, notes := p.recipeEarlier(before)
	if r.Setup, err = p.recipeSetup(&r); err != nil {
		return r, err
	}
	r.Setup = append(r.Setup, earlier...)
	r.Notes = append(r.Notes, notes...)
	p.recipeOperations(&r, st, seed, clients, size)
	for _, s := range st.sides {
		r.Notes = append(r.Notes, "a session beside the clients held open, unmeasured: "+strings.Join(s.open, "; "))
	}
	if st.rate != nil {
		r.Notes = append(r.Notes, "operations were sent at a set rate; here they are sent one after the other")
	}
	if st.ids > 0 {
		r.Notes = append(r.Notes, "statements were prepared; here they are sent as text, which adds the same parsing to both sides")
	}
	if len(st.roles) > 0 {
		r.Notes = append(r.Notes, "each client had several connections; each of them is a client here")
	}
	return r, nil
}

// recipeSetup returns what makes the data set.
func (p *Program) recipeSetup(r *lab.Recipe) ([]string, error) {
	out := append([]string{"SET rand_seed1 = 1, rand_seed2 = 2"}, p.setup...)
	if rows := p.mostRows(); rows > 0 {
		r.Notes = append(r.Notes, "rows are made by SQL: distributed as the measured ones, and not the same")
		out = append(out, "CREATE TEMPORARY TABLE digits (d INT)", "INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")
		out = append(out, numbers(rows)...)
	}
	for i := range p.tables {
		t := &p.tables[i]
		out = append(append(out, "DROP TABLE IF EXISTS "+t.name), t.create...)
		if t.rows == 0 {
			continue
		}
		columns := make([]string, len(t.columns))
		for j, e := range t.exprs {
			sql, err := e.sql(rowNames(t.t))
			if err != nil {
				return nil, fmt.Errorf("table %s, column %s: %w", t.name, t.columns[j], err)
			}
			columns[j] = sql
		}
		out = append(out, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM numbers WHERE n <= %d ORDER BY n",
			t.name, strings.Join(t.columns, ", "), strings.Join(columns, ", "), t.rows))
	}
	for i := range p.tables {
		out = append(out, p.tables[i].after...)
	}
	return append(out, p.finish...), nil
}

// mostRows returns the rows of the largest table.
func (p *Program) mostRows() int64 {
	var n int64
	for i := range p.tables {
		n = max(n, p.tables[i].rows)
	}
	return n
}

// numbers returns statements that make a table of the numbers from 1 to rows. A temporary
// table can be read once in a statement, so it grows by tens out of copies.
func numbers(rows int64) []string {
	out := []string{"CREATE TEMPORARY TABLE numbers (n BIGINT PRIMARY KEY)", "INSERT INTO numbers SELECT d + 1 FROM digits"}
	for have := int64(10); have < rows; have *= 10 {
		out = append(out,
			"CREATE TEMPORARY TABLE fewer (n BIGINT)", "INSERT INTO fewer SELECT n FROM numbers",
			fmt.Sprintf("INSERT INTO numbers SELECT n + d * %d FROM fewer, digits WHERE d > 0 AND n + d * %d <= %d", have, have, rows),
			"DROP TEMPORARY TABLE fewer",
		)
	}
	return out
}

// recipeOperations fills in what each client sends.
func (p *Program) recipeOperations(r *lab.Recipe, st *step, seed uint64, clients, size int) {
	streams := []*stream{}
	numbers := []int64{}
	for n := range int64(clients) {
		for _, w := range st.works() {
			streams = append(streams, newStream(w, seed, 0, clients))
			numbers = append(numbers, n)
		}
	}
	r.Clients = make([][]string, len(streams))
	most := 1000
	for i, w := range st.works() {
		if n := st.transactionsOf(i, w); n > 0 {
			most = int(min(n, int64(most)))
		}
	}
	for r.Ops < most && (r.Ops == 0 || size > 0) {
		for i, s := range streams {
			s.start(numbers[i], int64(r.Ops))
			for s.next() {
				sql := string(s.sql(nil))
				size -= len(sql)
				r.Clients[i] = append(r.Clients[i], sql)
			}
		}
		r.Ops++
	}
	if r.Read && constant(r.Clients) {
		for i := range r.Clients {
			r.Clients[i] = r.Clients[i][:len(r.Clients[i])/r.Ops]
		}
		r.Ops = 1
	}
	for n := range int64(clients) {
		r.Before = append(r.Before, ends(st.before, n, int64(clients)))
		r.After = append(r.After, ends(st.after, n, int64(clients)))
	}
}

// constant reports whether every client sends one statement only, again and again.
func constant(clients [][]string) bool {
	for _, c := range clients {
		for _, sql := range c {
			if sql != c[0] {
				return false
			}
		}
	}
	return true
}

// ends returns what a client sends before or behind a slice.
func ends(statements [][]part, client, clients int64) []string {
	var f frame
	f.vars[varClient], f.vars[varClients] = client, clients
	var out []string
	for _, parts := range statements {
		s := stream{f: f}
		out = append(out, string(s.text(parts, nil)))
	}
	return out
}
