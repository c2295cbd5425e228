package load

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// recipeEarlier returns statements that do to the tables what the steps of a chain before
// one do: procedures that go through the operations of each client. Random draws are made
// by SQL, and clients follow one another; notes say what else is not as measured.
func (p *Program) recipeEarlier(name string, clients int) (statements, notes []string) {
	var done, left []string
	for _, info := range p.Workload.Steps {
		if info.Name == name {
			break
		}
		st := p.steps[info.Name]
		if st.unfit != nil || !st.finite() || st.read {
			if st.unfit == nil && !st.read {
				left = append(left, info.Name+" (it ends by time)")
			}
			continue
		}
		sql, err := st.repeated(clients)
		if err != nil {
			left = append(left, fmt.Sprintf("%s (%v)", info.Name, err))
			continue
		}
		done = append(done, info.Name)
		statements = append(statements, sql...)
	}
	if len(done) > 0 {
		notes = append(notes, fmt.Sprintf("the steps before this one (%s) are repeated by procedures whose rows are made by SQL, one client after the other and at no set rate; what only reads is left out of them", strings.Join(done, ", ")))
	}
	if len(left) > 0 {
		notes = append(notes, "what these steps before this one did to the tables is left out: "+strings.Join(left, ", "))
	}
	return statements, notes
}

// repeated returns a step's whole work as statements, client by client.
func (s *step) repeated(clients int) ([]string, error) {
	var out []string
	for c := range int64(clients) {
		out = append(out, ends(s.before, c, int64(clients))...)
		loop, err := s.loop(c, int64(clients))
		if err != nil {
			return nil, err
		}
		out = append(out, "DROP PROCEDURE IF EXISTS earlier", loop, "CALL earlier()", "DROP PROCEDURE earlier")
		out = append(out, ends(s.after, c, int64(clients))...)
	}
	return out, nil
}

// loop returns a procedure that does what the connections of a client do until they end,
// in turns. A connection that others end, such as one that reads beside them, is left out.
func (s *step) loop(client, clients int64) (string, error) {
	var body strings.Builder
	most := int64(0)
	for i, w := range s.works() {
		n := s.transactionsOf(i, w)
		if n == 0 {
			continue
		}
		most = max(most, n)
		if len(w.txs) != 1 {
			return "", errors.New("its transactions are drawn")
		}
		statements, err := w.operation(&w.txs[0], client, clients)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&body, "  IF op < %d THEN\n    %s;\n  END IF;\n", n, strings.Join(statements, ";\n    "))
	}
	return fmt.Sprintf("CREATE PROCEDURE earlier() BEGIN\nDECLARE op BIGINT DEFAULT 0;\nWHILE op < %d DO\n%s  SET op = op + 1;\nEND WHILE;\nEND", most, body.String()), nil
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

// operation returns the statements of operation op, a variable of the procedure.
func (s *step) operation(t *tx, client, clients int64) ([]string, error) {
	f := frame{nums: make([]int64, s.slots), texts: make([][]byte, s.slots), lists: make([][]int64, s.slots)}
	f.vars[varClient], f.vars[varClients] = client, clients
	names := sqlNames{args: map[int64]string{}, vars: map[int64]string{
		varOp: "op", varClient: fmt.Sprint(client), varClients: fmt.Sprint(clients), varSerial: fmt.Sprintf("(op * %d + %d)", clients, client),
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
		if st.chance < 1 {
			return nil, errors.New("a statement is sent by chance")
		}
		sets, err := names.set(st.args)
		if err != nil {
			return nil, err
		}
		sql, err := st.sql(names, &f)
		if err != nil {
			return nil, err
		}
		for range times {
			out = append(out, sets...)
			if st.rows > 0 && !t.begin {
				out = append(append(append(out, "START TRANSACTION"), sql...), "COMMIT")
				continue
			}
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
