package store

import (
	"context"
	"database/sql"
	_ "embed" // the schema
	"fmt"
)

// application marks a database file as ours (PRAGMA application_id): "bksl".
const application = 0x626b736c

//go:embed schema.sql
var schema1 string

//go:embed imports.sql
var imports string

// schemas returns what takes the database from version i to version i+1; the first step
// makes an empty one. A step never changes once it has been released.
func schemas() []string { return []string{schema1, imports} }

// migrate brings the database to version len(steps), in one transaction per step, so
// that a process killed in between leaves a version that can be read.
func migrate(ctx context.Context, db *sql.DB, steps []string) error {
	for {
		done, err := migrateOnce(ctx, db, steps)
		if err != nil || done {
			return err
		}
	}
}

func migrateOnce(ctx context.Context, db *sql.DB, steps []string) (done bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	var version, app, tables int
	for pragma, to := range map[string]*int{
		"PRAGMA user_version": &version, "PRAGMA application_id": &app, "SELECT count(*) FROM sqlite_schema": &tables,
	} {
		if err := tx.QueryRowContext(ctx, pragma).Scan(to); err != nil {
			return false, err
		}
	}
	switch {
	case app != application && tables > 0:
		return false, fmt.Errorf("%s is the database of another program; name another lab", Database)
	case version > len(steps):
		return false, fmt.Errorf("%s has schema version %d and this backslide knows versions up to %d; use a newer backslide", Database, version, len(steps))
	case version == len(steps):
		return true, nil
	}
	if _, err := tx.ExecContext(ctx, steps[version]); err != nil {
		return false, fmt.Errorf("bring schema from version %d to %d: %w", version, version+1, err)
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", application, version+1)); err != nil {
		return false, err
	}
	return false, tx.Commit()
}
