package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"backslide/lab"
)

// NewRun stores everything that is known of a run before its first block, its sides too
// if they are, in one transaction, and returns the run's number in this lab. The run's
// own ID is ignored.
func (s *Store) NewRun(ctx context.Context, r lab.Run) (int64, error) {
	if err := checkRun(r); err != nil {
		return 0, fmt.Errorf("store run %q: %w", r.Name, err)
	}
	var id int64
	err := s.inWrite(ctx, fmt.Sprintf("store run %q", r.Name), func(tx *sql.Tx) (err error) {
		if id, err = insertRun(ctx, tx, r); err != nil {
			return err
		}
		for i, v := range r.Variants {
			if _, err := tx.ExecContext(ctx, `INSERT INTO variant (run_id, position, is_base, build, config, engine, copy) VALUES (?, ?, ?, ?, ?, ?, ?)`,
				id, i, v == r.Base, v.Build, v.Config, v.Engine, v.Copy); err != nil {
				return fmt.Errorf("variant %s: %w", v, err)
			}
			if side := r.Sides[v.String()]; side != nil {
				if err := insertSide(ctx, tx, id, v, *side); err != nil {
					return err
				}
			}
		}
		for i, l := range r.Levels {
			if _, err := tx.ExecContext(ctx, `INSERT INTO level (run_id, position, workload, step, clients, step_group, is_read, is_warm, slice_ops, slice_nsec, slices, limit_nsec, is_open, rate_per_sec, pilot_sd, why, spin_nsec)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				id, i, l.Level.Step.Workload, l.Level.Step.Name, l.Level.Clients, l.Group, l.Read, l.Warm, l.Ops, l.Slice, l.Slices, l.Limit, l.Open, l.Rate,
				sql.Null[float64]{V: l.Noise, Valid: l.Noise > 0}, l.Why, l.Spin); err != nil {
				return fmt.Errorf("level %s: %w", l.Level, err)
			}
		}
		return nil
	})
	return id, err
}

// checkRun finds what the tables could not give back.
func checkRun(r lab.Run) error {
	if !slices.Contains(r.Variants, r.Base) {
		return fmt.Errorf("its base %s is none of its variants", r.Base)
	}
	known := map[string]bool{}
	for _, v := range r.Variants {
		known[v.String()] = true
	}
	for name := range r.Sides {
		if !known[name] {
			return fmt.Errorf("it has a side %s and no such variant", name)
		}
	}
	return nil
}

func insertRun(ctx context.Context, tx *sql.Tx, r lab.Run) (int64, error) {
	experiment, err := json.Marshal(r.Experiment)
	if err != nil {
		return 0, fmt.Errorf("experiment: %w", err)
	}
	plan, err := json.Marshal(r.Plan)
	if err != nil {
		return 0, fmt.Errorf("plan: %w", err)
	}
	host, err := json.Marshal(r.Host)
	if err != nil {
		return 0, fmt.Errorf("host: %w", err)
	}
	res, err := tx.ExecContext(ctx, `INSERT INTO run (name, started, ended, seed, blocks_max, alpha, margin, placement, freezer,
		kernel, cpu, cpus, memory_bytes, virtual, client, experiment_json, plan_json, host_json)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.Name, instant(r.Started), instant(r.Ended), int64(r.Plan.Seed), r.Plan.BlocksMax, r.Plan.Alpha, r.Plan.Margin, r.Plan.Placement, r.Freezer,
		r.Host.Kernel, r.Host.CPU, r.Host.CPUs, r.Host.Memory, r.Host.Virtual, r.Host.Client, string(experiment), string(plan), string(host))
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// Runs returns all runs of the lab, the newest first, each as Run does.
func (s *Store) Runs(ctx context.Context) ([]lab.Run, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT id FROM run ORDER BY id DESC`)
	if err != nil {
		return nil, s.trouble("list runs", err)
	}
	ids, err := collect(rows, func(id *int64) []any { return []any{id} })
	if err != nil {
		return nil, s.trouble("list runs", err)
	}
	runs := make([]lab.Run, len(ids))
	for i, id := range ids {
		if runs[i], err = s.Run(ctx, id); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// Run returns a run as stored so far. Sides holds those that were set, and is never nil.
func (s *Store) Run(ctx context.Context, id int64) (lab.Run, error) {
	doing := fmt.Sprintf("read run %d", id)
	// One transaction, so that all of it is of one moment.
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return lab.Run{}, s.trouble(doing, err)
	}
	defer tx.Rollback()
	r, err := readRun(ctx, tx, id)
	if err != nil {
		return lab.Run{}, s.trouble(doing, err)
	}
	return r, nil
}

func readRun(ctx context.Context, tx *sql.Tx, id int64) (lab.Run, error) {
	r := lab.Run{ID: id}
	var started, experiment, plan, host string
	var ended sql.NullString
	err := tx.QueryRowContext(ctx, `SELECT name, started, ended, freezer, experiment_json, plan_json, host_json FROM run WHERE id = ?`, id).
		Scan(&r.Name, &started, &ended, &r.Freezer, &experiment, &plan, &host)
	if errors.Is(err, sql.ErrNoRows) {
		return r, ErrUnknown
	}
	if err != nil {
		return r, err
	}
	for _, j := range []struct {
		text string
		to   any
	}{{experiment, &r.Experiment}, {plan, &r.Plan}, {host, &r.Host}} {
		if err := json.Unmarshal([]byte(j.text), j.to); err != nil {
			return r, err
		}
	}
	if r.Started, err = parseInstant(started); err != nil {
		return r, err
	}
	if r.Ended, err = parseInstant(ended.String); err != nil {
		return r, err
	}
	if err := readRaised(ctx, tx, &r); err != nil {
		return r, err
	}
	if r.Levels, err = readLevels(ctx, tx, id); err != nil {
		return r, err
	}
	return r, readVariants(ctx, tx, &r)
}

func readLevels(ctx context.Context, tx *sql.Tx, run int64) ([]lab.LevelPlan, error) {
	rows, err := tx.QueryContext(ctx, `SELECT workload, step, clients, step_group, is_read, is_warm, slice_ops, slice_nsec, slices, limit_nsec, is_open, rate_per_sec, coalesce(pilot_sd, 0.0), why, spin_nsec FROM level WHERE run_id = ? ORDER BY position`, run)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(l *lab.LevelPlan) []any {
		return []any{&l.Level.Step.Workload, &l.Level.Step.Name, &l.Level.Clients, &l.Group, &l.Read, &l.Warm, &l.Ops, &l.Slice, &l.Slices, &l.Limit, &l.Open, &l.Rate, &l.Noise, &l.Why, &l.Spin}
	})
}

// EndRun notes when a run came to its end, after which it cannot be resumed. A run ends once.
func (s *Store) EndRun(ctx context.Context, id int64, at time.Time) error {
	doing := fmt.Sprintf("end run %d", id)
	if at.IsZero() {
		return s.trouble(doing, errors.New("the time is zero"))
	}
	return s.inWrite(ctx, doing, func(tx *sql.Tx) error {
		n, err := endRaised(ctx, tx, id, at)
		if err != nil || n > 0 {
			return err
		}
		res, err := tx.ExecContext(ctx, `UPDATE run SET ended = ? WHERE id = ? AND ended IS NULL AND NOT EXISTS (SELECT 1 FROM raised WHERE run_id = run.id)`, instant(at), id)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		r, err := readRun(ctx, tx, id)
		if err != nil {
			return err
		}
		if !r.Ended.Equal(at) {
			return fmt.Errorf("it ended at %s: %w", r.Ended.Format(time.RFC3339), ErrDiffers)
		}
		return nil
	})
}

// idsOf returns the ids of a run's variants and levels.
func (s *Store) idsOf(ctx context.Context, run int64) (*names, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.ids[run]; n != nil {
		return n, nil
	}
	n := &names{
		variants: map[lab.Variant]int64{}, levels: map[lab.Level]int64{},
		variantOf: map[int64]lab.Variant{}, levelOf: map[int64]lab.Level{},
	}
	type variant struct {
		id int64
		v  lab.Variant
	}
	rows, err := s.read.QueryContext(ctx, `SELECT id, build, config, engine, copy FROM variant WHERE run_id = ?`, run)
	if err != nil {
		return nil, err
	}
	vs, err := collect(rows, func(v *variant) []any { return []any{&v.id, &v.v.Build, &v.v.Config, &v.v.Engine, &v.v.Copy} })
	if err != nil {
		return nil, err
	}
	if len(vs) == 0 {
		return nil, fmt.Errorf("run %d: %w", run, ErrUnknown)
	}
	for _, v := range vs {
		n.variants[v.v], n.variantOf[v.id] = v.id, v.v
	}
	type level struct {
		id int64
		l  lab.Level
	}
	if rows, err = s.read.QueryContext(ctx, `SELECT id, workload, step, clients FROM level WHERE run_id = ?`, run); err != nil {
		return nil, err
	}
	ls, err := collect(rows, func(l *level) []any { return []any{&l.id, &l.l.Step.Workload, &l.l.Step.Name, &l.l.Clients} })
	if err != nil {
		return nil, err
	}
	for _, l := range ls {
		n.levels[l.l], n.levelOf[l.id] = l.id, l.l
	}
	s.ids[run] = n
	return n, nil
}

// collect reads all rows into values of T; into gives where a row's columns go.
func collect[T any](rows *sql.Rows, into func(*T) []any) ([]T, error) {
	defer rows.Close()
	var out []T
	for rows.Next() {
		var v T
		if err := rows.Scan(into(&v)...); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, cmp.Or(rows.Err(), rows.Close())
}

// instant is how the tables hold a time that people read; NULL for the zero time.
func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func parseInstant(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	return time.Parse(time.RFC3339Nano, s)
}
