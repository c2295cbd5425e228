package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"backslide/lab"
)

// AddEvent notes that something happened just now: a server died, a block was resumed, the
// freezer fell back. Block −1 and the zero variant mean none.
func (s *Store) AddEvent(ctx context.Context, run int64, block int, v lab.Variant, text string) error {
	doing := fmt.Sprintf("note an event of run %d", run)
	ids, err := s.idsOf(ctx, run)
	if err != nil {
		return s.trouble(doing, err)
	}
	var variant, inBlock any
	if v != (lab.Variant{}) {
		id, ok := ids.variants[v]
		if !ok {
			return s.trouble(doing, fmt.Errorf("variant %s: %w", v, ErrUnknown))
		}
		variant = id
	}
	if block >= 0 {
		inBlock = block
	}
	return s.inWrite(ctx, doing, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO event (run_id, at, block, variant_id, text) VALUES (?, ?, ?, ?, ?)`,
			run, instant(time.Now()), inBlock, variant, text)
		return err
	})
}

// Events returns the events of a run in the order in which they were noted.
func (s *Store) Events(ctx context.Context, run int64) ([]lab.Event, error) {
	doing := fmt.Sprintf("read events of run %d", run)
	ids, err := s.idsOf(ctx, run)
	if err != nil {
		return nil, s.trouble(doing, err)
	}
	type row struct {
		at             string
		block, variant sql.NullInt64
		text           string
	}
	rows, err := s.read.QueryContext(ctx, `SELECT at, block, variant_id, text FROM event WHERE run_id = ? ORDER BY id`, run)
	if err != nil {
		return nil, s.trouble(doing, err)
	}
	all, err := collect(rows, func(r *row) []any { return []any{&r.at, &r.block, &r.variant, &r.text} })
	if err != nil {
		return nil, s.trouble(doing, err)
	}
	var out []lab.Event
	for _, r := range all {
		e := lab.Event{Block: -1, Variant: ids.variantOf[r.variant.Int64], Text: r.text}
		if r.block.Valid {
			e.Block = int(r.block.Int64)
		}
		if e.At, err = parseInstant(r.at); err != nil {
			return nil, s.trouble(doing, err)
		}
		out = append(out, e)
	}
	return out, nil
}
