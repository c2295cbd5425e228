package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"modernc.org/sqlite"

	"backslide/lab"
)

// gatherer is an SQL aggregate function whose arguments are the id and sliceColumns. To
// fetch a column of a result takes a lock in SQLite, to take an argument does not: this
// way slices are read in a quarter of the time.
type gatherer struct {
	names  *names
	ids    []int64
	slices []lab.Slice
}

// gather appends the slices that are wanted to g, on a connection of its own, on which
// g is a function.
func (s *Store) gather(ctx context.Context, g *gatherer, wanted condition) error {
	var d sqlite.Driver
	if err := d.RegisterFunction("gather", &sqlite.FunctionImpl{
		NArgs: -1, VolatileArgs: true,
		MakeAggregate: func(sqlite.FunctionContext) (sqlite.AggregateFunction, error) { return g, nil },
	}); err != nil {
		return err
	}
	db := sql.OpenDB(connector{&d, s.readURL()})
	defer db.Close()
	var n int64
	return db.QueryRowContext(ctx, `SELECT gather(s.id, `+sliceColumns+`) FROM slice s WHERE `+wanted.sql, wanted.args...).Scan(&n)
}

// connector opens connections of a driver that is registered nowhere.
type connector struct {
	driver *sqlite.Driver
	url    string
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.url) }
func (c connector) Driver() driver.Driver                        { return c.driver }

// Step takes one row.
func (g *gatherer) Step(_ *sqlite.FunctionContext, row []driver.Value) error {
	r := rowReader{row: row}
	id, variant, level := r.int(), r.int(), r.int()
	v, ok := g.names.variantOf[variant]
	l, ok2 := g.names.levelOf[level]
	if !ok || !ok2 {
		return fmt.Errorf("slice %d has variant %d and level %d, which are not of its run", id, variant, level)
	}
	var sl lab.Slice
	sl.Cell = lab.Cell{Variant: v, Step: l.Step, Clients: l.Clients}
	sl.Block, sl.Set, sl.Seq, sl.Kind = int(r.int()), int(r.int()), int(r.int()), lab.Kind(r.text())
	sl.Position, sl.Restart = int(r.int()), int(r.int())
	sl.Start = r.time()
	sl.Age, sl.Wall, sl.Ops, sl.Offered = r.float(), r.float(), r.int(), r.float()
	sl.Behind, sl.Latency, sl.P50, sl.P95, sl.P99 = r.int(), r.float(), r.float(), r.float(), r.float()
	sl.Rows, sl.Retries = r.int(), r.int()
	u := &sl.Usage
	u.ServerUser, u.ServerSystem, u.ServerRunq, u.ConnCPU, u.ConnRunq = r.float(), r.float(), r.float(), r.float(), r.float()
	u.ClientUser, u.ClientSystem = r.float(), r.float()
	u.CtxVoluntary, u.CtxForced = r.int(), r.int()
	u.ReadBytes, u.WriteBytes, u.ReadCalls, u.WriteCalls = r.int(), r.int(), r.int(), r.int()
	u.MajorFaults, u.Steal, u.HostBusy, u.RSS = r.int(), r.float(), r.float(), r.int()
	u.StallCPU, u.StallMemory, u.StallIO = r.float(), r.float(), r.float()
	u.Dirty, u.Frequency, u.Throttled = r.int(), r.float(), r.int()
	if warnings := r.text(); warnings != "" {
		if err := json.Unmarshal([]byte(warnings), &sl.Warnings); err != nil {
			return fmt.Errorf("slice %d: its warnings: %w", id, err)
		}
	}
	sl.Err = r.text()
	if r.at != len(row) {
		return fmt.Errorf("slice %d has %d columns, %d were read", id, len(row), r.at)
	}
	g.ids, g.slices = append(g.ids, id), append(g.slices, sl)
	return nil
}

// WindowValue returns the number of rows taken.
func (g *gatherer) WindowValue(*sqlite.FunctionContext) (driver.Value, error) {
	return int64(len(g.ids)), nil
}

// WindowInverse is never called: the function is used over no window.
func (g *gatherer) WindowInverse(*sqlite.FunctionContext, []driver.Value) error { return nil }

// Final has nothing to release.
func (g *gatherer) Final(*sqlite.FunctionContext) {}

// rowReader hands out the values of a row in order. The tables are STRICT, so a value
// has its column's type or is NULL, which reads as unreadable (−1), no time, or no text.
type rowReader struct {
	row []driver.Value
	at  int
}

func (r *rowReader) next() driver.Value {
	r.at++
	return r.row[r.at-1]
}

func (r *rowReader) int() int64 {
	if v, ok := r.next().(int64); ok {
		return v
	}
	return -1
}

func (r *rowReader) float() float64 {
	if v, ok := r.next().(float64); ok {
		return v
	}
	return -1
}

func (r *rowReader) time() time.Time {
	if v, ok := r.next().(int64); ok {
		return time.Unix(0, v).UTC()
	}
	return time.Time{}
}

// text copies its value, which SQLite overwrites at the next row, unless it is one of
// the constants that most rows hold.
func (r *rowReader) text() string {
	v, _ := r.next().(string)
	switch v {
	case string(lab.Measured):
		return string(lab.Measured)
	}
	return strings.Clone(v)
}
