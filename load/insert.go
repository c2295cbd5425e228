package load

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"backslide/lab"
)

// Statements that fill tables hold rows up to about this size, well below the smallest
// default of max_allowed_packet (1 MiB).
const (
	maxInsert     = 512 << 10
	maxInsertRows = 2000
)

// fill inserts all rows, statement by statement in the order of their numbers; which
// connection sends one is left to chance. The first is alone: MariaDB from 10.6 on locks an
// empty table as a whole to insert in bulk, and the second connection would be in its way.
func (t *table) fill(ctx context.Context, conns []Conn, seed uint64, done *atomic.Int64) error {
	if t.rows == 0 {
		return nil
	}
	per := t.perInsert(seed)
	statements := int((t.rows + per - 1) / per)
	fillers := make(map[Conn]*filler, len(conns))
	for _, c := range conns {
		fillers[c] = newFiller(c, t.inserter(seed), per, statements > 1)
	}
	insert := func(c Conn, i int) error {
		from := int64(i)*per + 1
		to := min(from+per-1, t.rows)
		if err := fillers[c].fill(ctx, from, to); err != nil {
			return err
		}
		done.Add(to - from + 1)
		return nil
	}
	if err := insert(conns[0], 0); err != nil {
		return err
	}
	return each(ctx, conns, statements-1, func(c Conn, i int) error { return insert(c, i+1) })
}

// filler inserts rows over one connection.
type filler struct {
	c    Conn
	in   *insert
	per  int64 // rows of a statement
	stmt int   // prepared; -1: rows are sent as text
}

// newFiller prepares the statement for per rows: parsing the text of as many costs the
// server about as much as inserting them. What cannot be prepared is sent as text.
func newFiller(c Conn, in *insert, per int64, often bool) *filler {
	f := &filler{c: c, in: in, per: per, stmt: -1}
	sql := in.prepared(per)
	if !often || sql == "" {
		return f
	}
	if stmt, params, err := c.Prepare(sql); err == nil && int64(params) == per*int64(len(in.t.columns)) {
		f.stmt = stmt
	}
	return f
}

// fillTries is how often rows are sent that another connection was in the way of.
const fillTries = 10

// fill inserts rows, and does so again if the server undid it for another transaction.
func (f *filler) fill(ctx context.Context, from, to int64) error {
	for try := 1; ; try++ {
		if err := f.send(from, to); err != nil {
			return err
		}
		r, err := await(ctx, f.c)
		switch {
		case err != nil:
			return err
		case r.Code == 0:
			return nil
		case try == fillTries || !slices.Contains(retried(), r.Code):
			return fmt.Errorf("rows %d to %d: %w", from, to, &StatementError{quoteShort(string(f.in.statement(from, to))), r})
		}
	}
}

func (f *filler) send(from, to int64) error {
	if f.stmt >= 0 && to-from+1 == f.per {
		return f.c.SendExecute(f.stmt, f.in.bind(from, to))
	}
	return f.c.SendQuery(f.in.statement(from, to))
}

// insert makes INSERT statements of a table's rows.
type insert struct {
	t    *table
	f    frame
	base uint64
	head string
	buf  []byte
	cell []byte
	args []lab.Arg
}

func (t *table) inserter(seed uint64) *insert {
	head := "INSERT INTO " + t.name + " ("
	for i, c := range t.columns {
		if i > 0 {
			head += ","
		}
		head += c
	}
	in := &insert{t: t, head: head + ") VALUES ", base: subkey(subkey(subkey(mix(seed), dataVersion), uint64(t.kind)), uint64(t.t))}
	in.f.vars[varT] = t.t
	return in
}

// statement returns the statement for rows from … to; it is overwritten by the next.
func (in *insert) statement(from, to int64) []byte {
	in.buf = append(in.buf[:0], in.head...)
	for row := from; row <= to; row++ {
		if row > from {
			in.buf = append(in.buf, ',')
		}
		in.row(row)
	}
	return in.buf
}

// at makes row the one that expressions are about.
func (in *insert) at(row int64) {
	in.f.vars[varRow] = row
	in.f.key = subkey(in.base, uint64(row))
}

func (in *insert) row(row int64) {
	in.at(row)
	in.buf = append(in.buf, '(')
	for i, e := range in.t.exprs {
		if i > 0 {
			in.buf = append(in.buf, ',')
		}
		switch e.kind {
		case whole:
			in.buf = strconv.AppendInt(in.buf, e.num(&in.f), 10)
		case null:
			in.buf = append(in.buf, "NULL"...)
		default:
			in.cell = e.app(&in.f, in.cell[:0])
			in.buf = quoteSQL(in.buf, in.cell)
		}
	}
	in.buf = append(in.buf, ')')
}

// perInsert returns how many rows a statement takes, judged by the first rows.
func (t *table) perInsert(seed uint64) int64 {
	n := min(t.rows, 20)
	size := int64(len(t.inserter(seed).statement(1, n))) / n
	return max(1, min(maxInsertRows, maxInsert/(size+1)))
}

// prepared returns the statement for n rows with a parameter for each value; empty if
// there are values that parameters cannot be, or too many.
func (in *insert) prepared(n int64) string {
	const most = 1<<16 - 1 // parameters of a statement, in the protocol
	columns := len(in.t.exprs)
	if columns == 0 || n*int64(columns) > most || slices.ContainsFunc(in.t.exprs, func(e *expr) bool { return e.kind == null }) {
		return ""
	}
	row := "(" + strings.Repeat("?,", columns-1) + "?)"
	return in.head + strings.Repeat(row+",", int(n-1)) + row
}

// bind returns the arguments of rows from … to; they are overwritten by the next.
func (in *insert) bind(from, to int64) []lab.Arg {
	in.args, in.buf = in.args[:0], in.buf[:0]
	for row := from; row <= to; row++ {
		in.at(row)
		for _, e := range in.t.exprs {
			if e.kind == whole {
				in.args = append(in.args, lab.Arg{Int: e.num(&in.f)})
				continue
			}
			// Should buf grow and move, what was made before stays where it is.
			start := len(in.buf)
			in.buf = e.app(&in.f, in.buf)
			in.args = append(in.args, lab.Arg{Text: in.buf[start:], IsText: true})
		}
	}
	return in.args
}
