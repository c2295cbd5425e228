package store

import (
	"errors"
	"fmt"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ErrDiskFull means that the lab's file system has no room left, or the file may not grow.
// What was stored before is intact, and the run can be resumed.
var ErrDiskFull = errors.New("disk full")

// ErrDiffers means that something else is stored under the same key already.
var ErrDiffers = errors.New("stored already, and different")

// ErrUnknown means that the lab has no such run, variant, level or file.
var ErrUnknown = errors.New("not in this lab")

// trouble wraps an error of the database with what was being done to which lab, and says
// in words what SQLite says in codes.
func (s *Store) trouble(doing string, err error) error {
	return fmt.Errorf("lab %s: %s: %w", s.dir, doing, full(plain(err)))
}

// plain translates the codes of SQLite that a user can do something about.
func plain(err error) error {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return err
	}
	if se.Code() == sqlite3.SQLITE_IOERR_WRITE {
		return fmt.Errorf("a write was refused: a quota or a limit on file sizes is reached, or the disk is failing: %w", err)
	}
	switch se.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("another process has been writing for too long: %w", err)
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%s is no SQLite database; move it away, or name another lab: %w", Database, err)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%s is damaged; `sqlite3 %s .recover` may save it: %w", Database, Database, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return fmt.Errorf("%s cannot be written: %w", Database, err)
	}
	return err
}

// full marks an error as ErrDiskFull when its cause is that there is no room.
func full(err error) error {
	if errors.Is(err, ErrDiskFull) {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("%w: %w", ErrDiskFull, err)
	}
	return err
}

// constraint reports whether the database refused a row because of what is stored
// already: a unique key or a trigger.
func constraint(err error) bool {
	var se *sqlite.Error
	return errors.As(err, &se) && se.Code()&0xff == sqlite3.SQLITE_CONSTRAINT
}
