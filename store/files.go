package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// File is a kept file: a log, a profile, a plan.
type File struct {
	Kind   string // what it is: error-log, perf, explain
	Name   string // unique within run and kind; a label, never used as a path
	Digest string // SHA-256 of the content, 64 hex digits
	Bytes  int64
	Added  time.Time
}

// Keep copies a file into the lab and returns its digest. It lies under its digest, so
// equal content is kept once. A name is used once per run and kind: the same content
// again is accepted, other content is ErrDiffers. When Keep returns nil, the content is on
// disk; when it fails, nothing of it is left.
func (s *Store) Keep(ctx context.Context, run int64, kind, name string, r io.Reader) (string, error) {
	doing := fmt.Sprintf("keep %s %s of run %d", kind, name, run)
	if _, err := s.idsOf(ctx, run); err != nil {
		return "", s.trouble(doing, err)
	}
	digest, n, err := s.put(r)
	if err != nil {
		return "", s.trouble(doing, err)
	}
	err = s.inWrite(ctx, doing, func(tx *sql.Tx) error {
		var old string
		err := tx.QueryRowContext(ctx, `SELECT digest FROM file WHERE run_id = ? AND kind = ? AND name = ?`, run, kind, name).Scan(&old)
		switch {
		case err == nil && old == digest:
			return nil
		case err == nil:
			return ErrDiffers
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO file (run_id, kind, name, digest, bytes, added) VALUES (?, ?, ?, ?, ?, ?)`,
			run, kind, name, digest, n, instant(time.Now()))
		return err
	})
	return digest, err
}

// put writes content under its digest: to a temporary file first, which takes its name
// only when all of it is on disk.
func (s *Store) put(r io.Reader) (digest string, n int64, err error) {
	tmp, err := os.CreateTemp(filepath.Join(s.dir, "files", "tmp"), "keep-*")
	if err != nil {
		return "", 0, err
	}
	defer os.Remove(tmp.Name()) // gone already if all went well
	h := sha256.New()
	n, err = io.Copy(io.MultiWriter(tmp, h), r)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err != nil {
		return "", 0, err
	}
	digest = hex.EncodeToString(h.Sum(nil))
	dir, file := digest[:2], digest[2:]
	if err := s.files.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", 0, err
	}
	if err := s.files.Rename(path.Join("tmp", filepath.Base(tmp.Name())), path.Join(dir, file)); err != nil {
		return "", 0, err
	}
	for _, d := range []string{dir, "."} {
		if err := s.syncDir(d); err != nil {
			return "", 0, err
		}
	}
	return digest, n, nil
}

func (s *Store) syncDir(name string) error {
	d, err := s.files.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Kept lists the kept files of a run in the order in which they were added.
func (s *Store) Kept(ctx context.Context, run int64) ([]File, error) {
	type row struct {
		File
		added string
	}
	rows, err := s.read.QueryContext(ctx, `SELECT kind, name, digest, bytes, added FROM file WHERE run_id = ? ORDER BY id`, run)
	if err != nil {
		return nil, s.trouble("list files", err)
	}
	all, err := collect(rows, func(f *row) []any { return []any{&f.Kind, &f.Name, &f.Digest, &f.Bytes, &f.added} })
	if err != nil {
		return nil, s.trouble("list files", err)
	}
	var out []File
	for _, f := range all {
		if f.Added, err = parseInstant(f.added); err != nil {
			return nil, s.trouble("list files", err)
		}
		out = append(out, f.File)
	}
	return out, nil
}

// Content opens a kept file by its digest; the caller closes it. Reading to the end fails
// if the content no longer has that digest.
func (s *Store) Content(digest string) (io.ReadCloser, error) {
	doing := fmt.Sprintf("open kept file %q", digest)
	if b, err := hex.DecodeString(digest); err != nil || len(b) != sha256.Size || hex.EncodeToString(b) != digest {
		return nil, s.trouble(doing, errors.New("that is no digest: 64 hex digits"))
	}
	f, err := s.files.Open(path.Join(digest[:2], digest[2:]))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if err != nil {
		return nil, s.trouble(doing, err)
	}
	return &checked{f: f, hash: sha256.New(), want: digest}, nil
}

// checked reads a file and compares its digest at the end.
type checked struct {
	f    *os.File
	hash hash.Hash
	want string
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.f.Read(p)
	c.hash.Write(p[:n])
	if err == io.EOF {
		if got := hex.EncodeToString(c.hash.Sum(nil)); got != c.want {
			return n, fmt.Errorf("kept file %s is damaged: its content has digest %s", c.want, got)
		}
	}
	return n, err
}

func (c *checked) Close() error { return c.f.Close() }

// abandoned is the age at which a temporary file's writer must be dead.
const abandoned = 24 * time.Hour

// sweep removes what killed processes left in files/tmp. Another process may be writing
// there now, so age decides; what cannot be removed is tried again the next time.
func (s *Store) sweep() {
	left, err := fs.ReadDir(s.files.FS(), "tmp")
	if err != nil {
		return
	}
	for _, e := range left {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = s.files.Remove(path.Join("tmp", e.Name()))
		}
	}
}
