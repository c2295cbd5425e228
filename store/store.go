// Package store keeps a lab: a directory with the results database (SQLite) and the kept
// files, named by their digest. What has been stored is never changed; a process that is
// killed loses nothing that a call had returned for. The tables are documented in
// schema.sql. The package judges nothing: it hands back what it was given.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"backslide/lab"
)

// Database is the name of the results database within a lab directory.
const Database = "backslide.db"

// Store is an open lab. Its methods may be called from several goroutines, and several
// processes may have the same lab open: readers never wait for a writer, and writers wait
// for one another up to ten seconds.
type Store struct {
	dir    string
	write  *sql.DB // one connection; every transaction takes the write lock when it begins
	read   *sql.DB
	files  *os.Root // nothing outside it can be reached through it
	insert sliceStatements

	mu  sync.Mutex
	ids map[int64]*names // by run
}

// names holds the ids of a run's variants and levels, which do not change.
type names struct {
	variants  map[lab.Variant]int64
	levels    map[lab.Level]int64
	variantOf map[int64]lab.Variant
	levelOf   map[int64]lab.Level
}

// Open opens the lab in dir and makes what is missing of it: the directory, the database
// and the folder of kept files. A database of an older version is brought up to this
// one; a newer one is refused.
func Open(dir string) (*Store, error) { return open(dir, schemas(), "") }

func open(dir string, steps []string, pragmas string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open lab %s: %w", dir, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "files", "tmp"), 0o777); err != nil {
		return nil, unwritable(dir, err)
	}
	if err := writable(dir); err != nil {
		return nil, err
	}
	s := &Store{dir: dir, ids: map[int64]*names{}}
	if s.files, err = os.OpenRoot(filepath.Join(dir, "files")); err != nil {
		return nil, unwritable(dir, err)
	}
	if err := s.openDatabase(steps, pragmas); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.sweep()
	return s, nil
}

func (s *Store) openDatabase(steps []string, pragmas string) (err error) {
	// NORMAL: what a call has returned for survives the end of this process, however
	// violent; a power cut may cost the last slices, which a resumed run takes again.
	// FULL would wait for the disk with each slice, and so disturb the servers' own I/O.
	at := s.url() + "&_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(1)"
	if s.write, err = sql.Open("sqlite", at+pragmas); err != nil {
		return s.trouble("open", err)
	}
	s.write.SetMaxOpenConns(1)
	if s.read, err = sql.Open("sqlite", s.readURL()); err != nil {
		return s.trouble("open", err)
	}
	ctx := context.Background()
	if err := migrate(ctx, s.write, steps); err != nil {
		return s.trouble("open", err)
	}
	if s.insert, err = prepareSlice(ctx, s.write); err != nil {
		return s.trouble("open", err)
	}
	return nil
}

func (s *Store) url() string {
	u := url.URL{Scheme: "file", Path: filepath.Join(s.dir, Database), RawQuery: "_pragma=busy_timeout(10000)"}
	return u.String()
}

// readURL is for connections that only read.
func (s *Store) readURL() string { return s.url() + "&_pragma=query_only(1)" }

// Close ends the use of the lab.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.files != nil {
		errs = append(errs, s.files.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close lab %s: %w", s.dir, err)
	}
	return nil
}

// Dir returns the lab's directory as an absolute path.
func (s *Store) Dir() string { return s.dir }

// writable finds out by writing whether the lab can be written, because SQLite would
// only say "unable to open database file", and root passes any look at the permissions.
func writable(dir string) error {
	f, err := os.CreateTemp(filepath.Join(dir, "files", "tmp"), "probe-*")
	if err != nil {
		return unwritable(dir, err)
	}
	err = errors.Join(f.Close(), os.Remove(f.Name()))
	if err != nil {
		return unwritable(dir, err)
	}
	return nil
}

func unwritable(dir string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = fmt.Errorf("%s %s: %w", pe.Op, pe.Path, pe.Err)
	}
	return fmt.Errorf("open lab %s: %w; name a directory that can be written", dir, full(err))
}

// inWrite runs do within one transaction that has the write lock, and says what was
// being done when it does not work out.
func (s *Store) inWrite(ctx context.Context, doing string, do func(*sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return s.trouble(doing, err)
	}
	if err := do(tx); err != nil {
		return s.trouble(doing, errors.Join(err, ignoreDone(tx.Rollback())))
	}
	if err := tx.Commit(); err != nil {
		return s.trouble(doing, err)
	}
	return nil
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
