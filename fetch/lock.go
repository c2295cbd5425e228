package fetch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lock takes the cache's lock called name, waiting for whoever holds it, in this process
// or another. The kernel frees it when its holder dies. Lock files are never removed: a
// lock on a removed file excludes nobody.
func (c *Cache) lock(ctx context.Context, name string) (unlock func(), err error) {
	for waited := false; ; {
		unlock, ok, err := c.tryLock(name)
		if err != nil || ok {
			return unlock, err
		}
		if !waited {
			c.logf("%s: waiting for another process that is at it", name)
			waited = true
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lock on %s: %w", name, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// tryLock is lock without waiting; ok is false when someone else has it.
func (c *Cache) tryLock(name string) (unlock func(), ok bool, err error) {
	dir := filepath.Join(c.Dir, "locks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, false, unwritable(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, false, unwritable(err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, false, nil
		}
		return nil, false, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return func() { f.Close() }, true, nil
}

// unwritable says what was being done when the cache could not be written to, and what to
// do about it; nil stays nil.
func unwritable(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrPermission), errors.Is(err, unix.EROFS), errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("write to the cache: %w; choose another cache directory", err)
	}
	return fmt.Errorf("write to the cache: %w", err)
}
