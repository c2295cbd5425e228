package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"backslide/lab"
)

// Raise notes that a run goes on to more blocks than its plan had, also when it had ended.
// The run's row stays as it was written before the first block; whoever reads the run gets
// the raised Plan. Only rule lab.EValues allows that: of other rules, and for fewer blocks
// than now, it is an error.
func (s *Store) Raise(ctx context.Context, run int64, to lab.Raise) error {
	doing := fmt.Sprintf("raise the blocks of run %d to %d", run, to.Blocks)
	if to.At.IsZero() || to.Budget < 0 {
		return s.trouble(doing, errors.New("without a time, or with a negative budget"))
	}
	return s.inWrite(ctx, doing, func(tx *sql.Tx) error {
		r, err := readRun(ctx, tx, run)
		if err != nil {
			return err
		}
		p := r.Plan
		p.BlocksMax, p.Budget = to.Blocks, to.Budget
		switch err := p.Check(); {
		case err != nil:
			return err
		case p.Rule != lab.EValues:
			return fmt.Errorf("it decides by rule %q, whose level holds for the planned %d only", p.Rule, r.Plan.BlocksMax)
		case to.Blocks <= r.Plan.BlocksMax:
			return fmt.Errorf("it has at most %d already", r.Plan.BlocksMax)
		}
		// Whatever was open ends here: only the last row may be.
		if _, err := tx.ExecContext(ctx, `UPDATE raised SET ended = ? WHERE run_id = ? AND ended IS NULL`, instant(to.At), run); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO raised (run_id, at, blocks_max, budget_nsec) VALUES (?, ?, ?, ?)`, run, instant(to.At), to.Blocks, to.Budget)
		return err
	})
}

// readRaised applies to a run what was decided after its start.
func readRaised(ctx context.Context, tx *sql.Tx, r *lab.Run) error {
	type row struct {
		at, ended string
		raise     lab.Raise
	}
	rows, err := tx.QueryContext(ctx, `SELECT at, coalesce(ended, ''), blocks_max, budget_nsec FROM raised WHERE run_id = ? ORDER BY id`, r.ID)
	if err != nil {
		return err
	}
	all, err := collect(rows, func(x *row) []any { return []any{&x.at, &x.ended, &x.raise.Blocks, &x.raise.Budget} })
	if err != nil {
		return err
	}
	for _, x := range all {
		if x.raise.At, err = parseInstant(x.at); err != nil {
			return err
		}
		if r.Ended, err = parseInstant(x.ended); err != nil {
			return err
		}
		r.Plan.BlocksMax, r.Plan.Budget = x.raise.Blocks, x.raise.Budget
		r.Raised = append(r.Raised, x.raise)
	}
	return nil
}

// endRaised ends a run that was raised, and returns whether there was one to be ended.
func endRaised(ctx context.Context, tx *sql.Tx, run int64, at time.Time) (int64, error) {
	res, err := tx.ExecContext(ctx, `UPDATE raised SET ended = ? WHERE run_id = ? AND ended IS NULL`, instant(at), run)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
