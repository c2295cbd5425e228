package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"backslide/lab"
)

// SetSide stores what is known of a variant after its first start. It is stored once: the
// same again is accepted, anything else is ErrDiffers.
func (s *Store) SetSide(ctx context.Context, run int64, v lab.Variant, side lab.Side) error {
	return s.inWrite(ctx, fmt.Sprintf("store side %s of run %d", v, run), func(tx *sql.Tx) error {
		return insertSide(ctx, tx, run, v, side)
	})
}

func insertSide(ctx context.Context, tx *sql.Tx, run int64, v lab.Variant, side lab.Side) error {
	var id int64
	var set bool
	err := tx.QueryRowContext(ctx, `SELECT id, build_id IS NOT NULL FROM variant WHERE run_id = ? AND build = ? AND config = ? AND engine = ? AND copy = ?`,
		run, v.Build, v.Config, v.Engine, v.Copy).Scan(&id, &set)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrUnknown
	case err != nil:
		return err
	case set:
		return sameSide(ctx, tx, run, v, side)
	}
	b := side.Build
	build, err := idOf(ctx, tx, "manifest_json", b,
		`INSERT INTO build (name, family, version, origin, build_digest, flags, manifest_json) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		b.Name, b.Family, b.Version, b.Origin, b.ID, b.Flags)
	if err != nil {
		return fmt.Errorf("build %s: %w", b.Name, err)
	}
	config, err := idOf(ctx, tx, "config_json", side.Config, `INSERT INTO config (name, config_json) VALUES (?, ?)`, side.Config.Name)
	if err != nil {
		return fmt.Errorf("config %s: %w", side.Config.Name, err)
	}
	ignored, err := json.Marshal(side.Ignored)
	if err != nil {
		return err
	}
	for name, value := range side.Settings {
		if _, err := tx.ExecContext(ctx, `INSERT INTO setting (variant_id, name, value) VALUES (?, ?, ?)`, id, name, value); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	_, err = tx.ExecContext(ctx, `UPDATE variant SET build_id = ?, config_id = ?, engine_version = ?, ignored_json = ? WHERE id = ?`,
		build, config, side.Engine, string(ignored), id)
	return err
}

// idOf returns the id of the row whose JSON column holds value, after adding it if need
// be. The JSON is the last value that insert takes.
func idOf(ctx context.Context, tx *sql.Tx, column string, value any, insert string, args ...any) (int64, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	table := map[string]string{"manifest_json": "build", "config_json": "config"}[column]
	var id int64
	err = tx.QueryRowContext(ctx, fmt.Sprintf(`SELECT id FROM %s WHERE %s = ?`, table, column), string(text)).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	res, err := tx.ExecContext(ctx, insert, append(args, string(text))...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// sameSide compares a side with the stored one, both as JSON writes them, so that an
// empty list equals none.
func sameSide(ctx context.Context, tx *sql.Tx, run int64, v lab.Variant, side lab.Side) error {
	r := lab.Run{ID: run}
	if err := readVariants(ctx, tx, &r); err != nil {
		return err
	}
	var images [2]any
	for i, side := range []*lab.Side{&side, r.Sides[v.String()]} {
		text, err := json.Marshal(side)
		if err == nil {
			err = json.Unmarshal(text, &images[i])
		}
		if err != nil {
			return err
		}
	}
	if !reflect.DeepEqual(images[0], images[1]) {
		return fmt.Errorf("side %s: %w", v, ErrDiffers)
	}
	return nil
}

// readVariants fills in the run's Base, Variants and Sides.
func readVariants(ctx context.Context, tx *sql.Tx, r *lab.Run) error {
	type row struct {
		id                                int64
		v                                 lab.Variant
		base                              bool
		manifest, config, engine, ignored sql.NullString
	}
	rows, err := tx.QueryContext(ctx, `SELECT v.id, v.build, v.config, v.engine, v.copy, v.is_base, b.manifest_json, c.config_json, v.engine_version, v.ignored_json
		FROM variant v LEFT JOIN build b ON b.id = v.build_id LEFT JOIN config c ON c.id = v.config_id WHERE v.run_id = ? ORDER BY v.position`, r.ID)
	if err != nil {
		return err
	}
	all, err := collect(rows, func(x *row) []any {
		return []any{&x.id, &x.v.Build, &x.v.Config, &x.v.Engine, &x.v.Copy, &x.base, &x.manifest, &x.config, &x.engine, &x.ignored}
	})
	if err != nil {
		return err
	}
	r.Sides = map[string]*lab.Side{}
	for _, x := range all {
		r.Variants = append(r.Variants, x.v)
		if x.base {
			r.Base = x.v
		}
		if !x.manifest.Valid {
			continue
		}
		side := &lab.Side{Engine: x.engine.String}
		for _, j := range []struct {
			text string
			to   any
		}{{x.manifest.String, &side.Build}, {x.config.String, &side.Config}, {x.ignored.String, &side.Ignored}} {
			if err := json.Unmarshal([]byte(j.text), j.to); err != nil {
				return fmt.Errorf("side %s: %w", x.v, err)
			}
		}
		if side.Settings, err = readSettings(ctx, tx, x.id); err != nil {
			return err
		}
		r.Sides[x.v.String()] = side
	}
	return nil
}

func readSettings(ctx context.Context, tx *sql.Tx, variant int64) (map[string]string, error) {
	rows, err := tx.QueryContext(ctx, `SELECT name, value FROM setting WHERE variant_id = ?`, variant)
	if err != nil {
		return nil, err
	}
	all, err := collect(rows, func(p *[2]string) []any { return []any{&p[0], &p[1]} })
	if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(all))
	for _, p := range all {
		out[p[0]] = p[1]
	}
	return out, nil
}
