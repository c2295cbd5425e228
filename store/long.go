package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"backslide/lab"
)

// insertLong stores what only steps with roles, and long slices, have.
func insertLong(ctx context.Context, tx *sql.Tx, slice int64, sl lab.Slice) error {
	for i, p := range sl.Parts {
		if _, err := tx.ExecContext(ctx, `INSERT INTO slice_part (slice_id, position, role, ops, rows, offered_per_sec, hist) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			slice, i, p.Role, p.Ops, p.Rows, p.Offered, p.Hist); err != nil {
			return fmt.Errorf("role %s: %w", p.Role, err)
		}
	}
	for i, s := range sl.Series {
		values, err := json.Marshal(s.Values)
		if err != nil {
			return fmt.Errorf("series %s: %w", s.Name, err)
		}
		if s.Values == nil {
			values = []byte("[]")
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO slice_series (slice_id, position, name, unit, values_json) VALUES (?, ?, ?, ?, ?)`,
			slice, i, s.Name, s.Unit, string(values)); err != nil {
			return fmt.Errorf("series %s: %w", s.Name, err)
		}
	}
	for i, r := range sl.Readings {
		if _, err := tx.ExecContext(ctx, `INSERT INTO slice_reading (slice_id, position, name, unit, value) VALUES (?, ?, ?, ?, ?)`,
			slice, i, r.Name, r.Unit, r.Value); err != nil {
			return fmt.Errorf("reading %s: %w", r.Name, err)
		}
	}
	return nil
}

// partRow is a part with the slice that it is of.
type partRow struct {
	slice int64
	lab.Part
}

func (s *Store) partsOf(ctx context.Context, hist bool, from string, args []any) ([]partRow, error) {
	column := "NULL"
	if hist {
		column = "hist"
	}
	rows, err := s.read.QueryContext(ctx, `SELECT slice_id, role, x.ops, x.rows, x.offered_per_sec, `+column+` FROM slice_part`+from+` ORDER BY slice_id, x.position`, args...)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(p *partRow) []any { return []any{&p.slice, &p.Role, &p.Ops, &p.Rows, &p.Offered, &p.Hist} })
}

// long adds series and readings to slices.
func (s *Store) long(ctx context.Context, at map[int64]*lab.Slice, from string, args []any) error {
	type series struct {
		slice  int64
		values string
		lab.Series
	}
	rows, err := s.read.QueryContext(ctx, `SELECT slice_id, name, unit, values_json FROM slice_series`+from+` ORDER BY slice_id, x.position`, args...)
	if err != nil {
		return err
	}
	all, err := collect(rows, func(v *series) []any { return []any{&v.slice, &v.Name, &v.Unit, &v.values} })
	if err != nil {
		return err
	}
	for _, v := range all {
		if sl := at[v.slice]; sl != nil {
			if err := json.Unmarshal([]byte(v.values), &v.Values); err != nil {
				return fmt.Errorf("series %s of slice %d: %w", v.Name, v.slice, err)
			}
			sl.Series = append(sl.Series, v.Series)
		}
	}
	type reading struct {
		slice int64
		lab.Reading
	}
	if rows, err = s.read.QueryContext(ctx, `SELECT slice_id, name, unit, value FROM slice_reading`+from+` ORDER BY slice_id, x.position`, args...); err != nil {
		return err
	}
	readings, err := collect(rows, func(v *reading) []any { return []any{&v.slice, &v.Name, &v.Unit, &v.Value} })
	if err != nil {
		return err
	}
	for _, v := range readings {
		if sl := at[v.slice]; sl != nil {
			sl.Readings = append(sl.Readings, v.Reading)
		}
	}
	return nil
}

func finiteLong(sl lab.Slice) error {
	bad := func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
	for _, p := range sl.Parts {
		if bad(p.Offered) {
			return errors.New("the rate of a role is not finite")
		}
	}
	for _, s := range sl.Series {
		if slices.ContainsFunc(s.Values, bad) {
			return fmt.Errorf("series %s holds a number that is not finite", s.Name)
		}
	}
	for _, r := range sl.Readings {
		if bad(r.Value) {
			return fmt.Errorf("reading %s is not finite", r.Name)
		}
	}
	return nil
}

// sameLong reports whether what insertLong stores is equal.
func sameLong(a, b lab.Slice) bool {
	return slices.EqualFunc(a.Parts, b.Parts, func(x, y lab.Part) bool {
		return x.Role == y.Role && x.Ops == y.Ops && x.Rows == y.Rows && x.Offered == y.Offered && bytes.Equal(x.Hist, y.Hist)
	}) && slices.EqualFunc(a.Series, b.Series, func(x, y lab.Series) bool {
		return x.Name == y.Name && x.Unit == y.Unit && slices.Equal(x.Values, y.Values)
	}) && slices.Equal(a.Readings, b.Readings)
}
