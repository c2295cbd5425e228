package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"backslide/lab"
)

// AddImport stores what others measured, whole or not at all, and returns its number in
// this lab. The import's own ID is ignored.
func (s *Store) AddImport(ctx context.Context, im lab.Import) (id int64, err error) {
	err = s.inWrite(ctx, fmt.Sprintf("store import %q", im.Name), func(tx *sql.Tx) error {
		lists := make([]any, 3)
		for i, list := range [][]string{im.Sources, im.Problems, im.Doubts} {
			text, err := json.Marshal(list)
			if err != nil {
				return err
			}
			lists[i] = string(text)
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO import (name, at, files, sources_json, problems_json, doubts_json) VALUES (?, ?, ?, ?, ?, ?)`,
			append([]any{im.Name, instant(im.At), im.Files}, lists...)...)
		if err != nil {
			return err
		}
		if id, err = res.LastInsertId(); err != nil {
			return err
		}
		add, err := tx.PrepareContext(ctx, `INSERT INTO import_figure VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
		if err != nil {
			return err
		}
		defer add.Close()
		for i, f := range im.Figures {
			if _, err := add.ExecContext(ctx, id, i, f.Host, f.Build, f.Config, f.Engine, f.Workload, f.Step, f.Range, f.Clients,
				f.Metric, f.Unit, f.Value, f.Runs, f.Base, f.Origin, f.Replicate, f.File, f.Line); err != nil {
				return fmt.Errorf("figure %d, %s:%d: %w", i, f.File, f.Line, err)
			}
		}
		return nil
	})
	return id, err
}

// Imports returns the imports of the lab without their figures, the newest first.
func (s *Store) Imports(ctx context.Context) ([]lab.Import, error) {
	return s.imports(ctx, "list imports", "1")
}

// Import returns an import with its figures, in the order in which they were read.
func (s *Store) Import(ctx context.Context, id int64) (lab.Import, error) {
	doing := fmt.Sprintf("read import %d", id)
	found, err := s.imports(ctx, doing, "id = ?", id)
	if err != nil {
		return lab.Import{}, err
	}
	if len(found) == 0 {
		return lab.Import{}, s.trouble(doing, ErrUnknown)
	}
	rows, err := s.read.QueryContext(ctx, `SELECT host, build, config, engine, workload, step, step_range, clients, metric, unit, value, runs,
		base, origin, replicate, file, line FROM import_figure WHERE import_id = ? ORDER BY position`, id)
	if err != nil {
		return lab.Import{}, s.trouble(doing, err)
	}
	found[0].Figures, err = collect(rows, func(f *lab.Figure) []any {
		return []any{&f.Host, &f.Build, &f.Config, &f.Engine, &f.Workload, &f.Step, &f.Range, &f.Clients, &f.Metric, &f.Unit, &f.Value, &f.Runs,
			&f.Base, &f.Origin, &f.Replicate, &f.File, &f.Line}
	})
	if err != nil {
		return lab.Import{}, s.trouble(doing, err)
	}
	return found[0], nil
}

func (s *Store) imports(ctx context.Context, doing, where string, args ...any) ([]lab.Import, error) {
	type row struct {
		lab.Import
		at, sources, problems, doubts string
	}
	rows, err := s.read.QueryContext(ctx, `SELECT id, name, at, files, sources_json, problems_json, doubts_json FROM import WHERE `+where+` ORDER BY id DESC`, args...)
	if err != nil {
		return nil, s.trouble(doing, err)
	}
	all, err := collect(rows, func(r *row) []any {
		return []any{&r.ID, &r.Name, &r.at, &r.Files, &r.sources, &r.problems, &r.doubts}
	})
	if err != nil {
		return nil, s.trouble(doing, err)
	}
	var out []lab.Import
	for _, r := range all {
		var bad error
		r.At, bad = parseInstant(r.at)
		err := cmp.Or(bad, errors.Join(
			json.Unmarshal([]byte(r.sources), &r.Sources), json.Unmarshal([]byte(r.problems), &r.Problems), json.Unmarshal([]byte(r.doubts), &r.Doubts)))
		if err != nil {
			return nil, s.trouble(doing, err)
		}
		out = append(out, r.Import)
	}
	return out, nil
}
