package load

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Earlier is what a run's blocks did at a level before the one that a recipe is of.
type Earlier struct {
	Step    string
	Clients int
	Ops     int64 // of all clients together; 0: the step's own, as in a chain
}

// String names the level and, where the run gave it, how much was done there.
func (e Earlier) String() string {
	if e.Ops == 0 {
		return e.Step
	}
	clients := "1 client"
	if e.Clients != 1 {
		clients = fmt.Sprintf("%d clients", e.Clients)
	}
	return fmt.Sprintf("%s, %d operations of %s", e.Step, e.Ops, clients)
}

// before returns the steps of a chain before one, each of as many clients.
func (p *Program) before(name string, clients int) []Earlier {
	var out []Earlier
	for _, info := range p.Workload.Steps {
		if info.Name == name {
			break
		}
		out = append(out, Earlier{Step: info.Name, Clients: clients})
	}
	return out
}

// recipeEarlier returns statements that do to the tables what was done before: procedures
// that go through the operations of each client. Random draws are made by SQL, and clients
// follow one another; notes say what else is not as measured.
func (p *Program) recipeEarlier(before []Earlier) (statements, notes []string) {
	var done, left []string
	for _, e := range before {
		st := p.steps[e.Step]
		if st == nil || st.unfit != nil || st.read {
			continue
		}
		sql, err := st.repeated(e)
		if err != nil {
			left = append(left, fmt.Sprintf("%s (%v)", e, err))
			continue
		}
		done = append(done, e.String())
		statements = append(statements, sql...)
	}
	if len(done) > 0 {
		notes = append(notes, fmt.Sprintf("what was written before this step (%s) is repeated by procedures whose rows are made by SQL, one client after the other and at no set rate; what only reads is left out of them", strings.Join(done, "; ")))
	}
	if len(left) > 0 {
		notes = append(notes, "what these steps before this one did to the tables is left out: "+strings.Join(left, "; "))
	}
	return statements, notes
}

// repeated returns as statements what a step did, client by client.
func (s *step) repeated(e Earlier) ([]string, error) {
	switch {
	case e.Ops == 0 && !s.finite():
		return nil, errors.New("it ends by time")
	case e.Ops > 0 && len(s.roles) > 0:
		return nil, errors.New("its clients have several connections")
	case len(s.works()) == 0:
		return nil, errors.New("another program drives it")
	}
	out := []string{"DROP PROCEDURE IF EXISTS earlier"}
	made := ""
	clients := int64(e.Clients)
	for c := range clients {
		loop, err := s.loop(c, e)
		switch {
		case err != nil:
			return nil, err
		case made == "":
			out = append(out, loop)
		case loop != made:
			out = append(out, "DROP PROCEDURE earlier", loop)
		}
		made = loop
		out = append(out, ends(s.before, c, clients)...)
		out = append(out, fmt.Sprintf("SET @client = %d", c), "CALL earlier()")
		out = append(out, ends(s.after, c, clients)...)
	}
	return append(out, "DROP PROCEDURE earlier"), nil
}

// loop returns a procedure that does what the connections of a client do until they end,
// in turns. A connection that others end, such as one that reads beside them, is left out.
// Its variables are the session's, so that statements which it prepares see them too.
func (s *step) loop(client int64, e Earlier) (string, error) {
	var body strings.Builder
	most := int64(0)
	for i, w := range s.works() {
		n := s.transactionsOf(i, w)
		if e.Ops > 0 {
			n = (w.transactions(e.Ops) - client + int64(e.Clients) - 1) / int64(e.Clients)
		}
		if n <= 0 {
			continue
		}
		most = max(most, n)
		if len(w.txs) != 1 {
			return "", errors.New("its transactions are drawn")
		}
		statements, err := w.operation(&w.txs[0], client, int64(e.Clients))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&body, "  IF @op < %d THEN\n    %s;\n  END IF;\n", n, strings.Join(statements, ";\n    "))
	}
	return fmt.Sprintf("CREATE PROCEDURE earlier() BEGIN\nSET @op = 0;\nWHILE @op < %d DO\n%s  SET @op = @op + 1;\nEND WHILE;\nEND", most, body.String()), nil
}

// transactionsOf returns how many transactions the i-th connection of a client does by
// itself; 0: it goes on until others, or time, end it.
func (s *step) transactionsOf(i int, w *step) int64 {
	if len(s.roles) == 0 {
		return w.transactions(w.ops)
	}
	if n := s.each(i, 1); n != endOfTime {
		return n
	}
	return 0
}

// operation returns the statements of operation @op. Those that only read are left out.
func (s *step) operation(t *tx, client, clients int64) ([]string, error) {
	f := frame{nums: make([]int64, s.slots), texts: make([][]byte, s.slots), lists: make([][]int64, s.slots)}
	f.vars[varClient], f.vars[varClients] = client, clients
	names := sqlNames{args: map[int64]string{}, vars: map[int64]string{
		varOp: "@op", varClient: "@client", varClients: fmt.Sprint(clients), varSerial: fmt.Sprintf("(@op * %d + @client)", clients),
	}}
	out, err := names.set(s.args)
	if err != nil {
		return nil, err
	}
	if t.begin {
		out = append(out, "START TRANSACTION")
	}
	for i := range t.stmts {
		st := &t.stmts[i]
		times := int64(1)
		if st.repeat != nil {
			if st.repeat.varies() {
				return nil, errors.New("a statement is repeated a number of times that varies")
			}
			times = st.repeat.num(&f)
		}
		sets, err := names.set(st.args)
		if err != nil {
			return nil, err
		}
		if st.onlyReads() {
			continue
		}
		sql, err := st.sql(names, &f)
		if err != nil {
			return nil, err
		}
		if st.rows > 0 && !t.begin {
			sql = append(append([]string{"START TRANSACTION"}, sql...), "COMMIT")
		}
		sql = append(sets, sql...)
		if st.chance < 1 {
			sql = []string{fmt.Sprintf("IF RAND() < %g THEN %s; END IF", st.chance, strings.Join(sql, "; "))}
		}
		for range times {
			out = append(out, sql...)
		}
	}
	if t.begin {
		out = append(out, "COMMIT")
	}
	return out, nil
}

// sql returns statements of a procedure for one of the step's. Its rows are inserted one by
// one, in a transaction: INSERT … SELECT would leave gaps between automatic keys.
func (st *stmt) sql(names sqlNames, f *frame) ([]string, error) {
	if st.rows == 0 && varied(st.parts) {
		return names.prepared(st.parts, f)
	}
	text, err := names.text(st.parts, f)
	if err != nil || st.rows == 0 {
		return []string{text}, err
	}
	row := names.inner("@i")
	sets, err := row.set(st.each)
	if err != nil {
		return nil, err
	}
	tuple, err := row.text(st.tuple, f)
	if err != nil {
		return nil, err
	}
	tail, err := names.text(st.tail, f)
	if err != nil {
		return nil, err
	}
	out := append([]string{"SET @i = 0"}, fmt.Sprintf("WHILE @i < %d DO %s", st.rows, strings.Join(append(sets, text+tuple+tail), "; ")))
	return append(out, "SET @i = @i + 1", "END WHILE"), nil
}

// set returns statements that give arguments their values, and knows them by their
// variables from then on. A list stands where it is used.
func (s sqlNames) set(args []arg) ([]string, error) {
	var out []string
	for _, a := range args {
		sql, err := a.expr.sql(s)
		if err != nil {
			return nil, err
		}
		slot := int64(a.slot)
		if a.expr.kind == list {
			s.args[slot] = sql
			continue
		}
		s.args[slot] = fmt.Sprintf("@a%d", slot)
		out = append(out, "SET "+s.args[slot]+" = "+sql)
	}
	return out, nil
}

// text returns a template with the SQL of its values. What is put into its text has to be
// the same in every operation.
func (s sqlNames) text(parts []part, f *frame) (string, error) {
	var b []byte
	for _, p := range parts {
		switch {
		case p.arg != nil:
			b = append(b, s.args[p.arg.n]...)
		case p.expr != nil && p.expr.varies():
			return "", errors.New("the text of a statement varies")
		case p.expr != nil:
			b = p.expr.app(f, b)
		default:
			b = append(b, p.lit...)
		}
	}
	return string(b), nil
}

// varied reports whether the text of a template is not the same in every operation.
func varied(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool { return p.arg == nil && p.expr != nil && p.expr.varies() })
}

// prepared returns statements that put a template's text together, as of a table that is
// drawn, and execute it.
func (s sqlNames) prepared(parts []part, f *frame) ([]string, error) {
	var items []string
	for _, p := range parts {
		if varied([]part{p}) {
			sql, err := p.expr.sql(s)
			if err != nil {
				return nil, err
			}
			items = append(items, sql)
			continue
		}
		text, err := s.text([]part{p}, f)
		if err != nil {
			return nil, err
		}
		items = append(items, string(quoteSQL(nil, []byte(text))))
	}
	return []string{"SET @sql = CONCAT(" + strings.Join(items, ", ") + ")", "PREPARE earlier FROM @sql", "EXECUTE earlier", "DEALLOCATE PREPARE earlier"}, nil
}

// onlyReads reports whether a statement is a SELECT.
func (st *stmt) onlyReads() bool {
	return len(st.parts) > 0 && strings.HasPrefix(strings.ToUpper(strings.TrimSpace(string(st.parts[0].lit))), "SELECT")
}

// inner returns names for what is made for each item of a list, or each row of a statement.
func (s sqlNames) inner(item string) sqlNames {
	out := sqlNames{args: map[int64]string{}, vars: map[int64]string{}}
	for k, v := range s.args {
		out.args[k] = v
	}
	for k, v := range s.vars {
		out.vars[k] = v
	}
	out.vars[varItem] = item
	return out
}

// varies reports whether an expression depends on anything but the client.
func (e *expr) varies() bool {
	switch e.op {
	case opConst:
		return false
	case opVar:
		return e.n != varClient && e.n != varClients
	case opArg, opUniform, opZipf, opHot, opPattern, opLetters, opHex, opList:
		return true
	}
	return slices.ContainsFunc(e.kids, (*expr).varies)
}
