package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// copyChunk is how much is copied between two looks at the context.
const copyChunk = 32 << 20

// CloneDir makes to a copy of the data directory from, whose server must have been shut
// down. Files share their blocks where the file system can do that; elsewhere they are
// copied with their holes and brought to the disk, so that no server is measured while
// the system still writes them. to must not exist; after an error it does not exist.
func CloneDir(ctx context.Context, from, to string) error {
	fail := func(err error) error { return fmt.Errorf("clone %s to %s: %w", from, to, err) }
	if _, err := os.Lstat(to); err == nil {
		return fail(fs.ErrExist)
	}
	part := to + ".part"
	if err := os.RemoveAll(part); err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fail(err)
	}
	err := cloneTree(ctx, from, part)
	if err == nil {
		err = os.Rename(part, to)
	}
	if err != nil {
		return fail(errors.Join(err, os.RemoveAll(part)))
	}
	return nil
}

func cloneTree(ctx context.Context, from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		dest := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.Mkdir(dest, info.Mode().Perm()|0o700)
		case info.Mode().IsRegular():
			return cloneFile(ctx, path, dest, info)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(target, dest)
		}
		return nil // a socket that a killed server left
	})
}

func cloneFile(ctx context.Context, from, to string, info fs.FileInfo) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	if unix.IoctlFileClone(int(dst.Fd()), int(src.Fd())) == nil {
		return nil
	}
	if err := copySparse(ctx, src, dst, info.Size()); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return dst.Sync()
}

// copySparse copies the parts of a file that hold data. The holes between them read as
// zeros on both sides.
func copySparse(ctx context.Context, src, dst *os.File, size int64) error {
	if err := dst.Truncate(size); err != nil {
		return err
	}
	for pos := int64(0); pos < size; {
		start, err := unix.Seek(int(src.Fd()), pos, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return nil // nothing but a hole up to the end
		}
		if err != nil {
			return err
		}
		end, err := unix.Seek(int(src.Fd()), start, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		if err := copyRange(ctx, src, dst, start, end); err != nil {
			return err
		}
		pos = end
	}
	return nil
}

// copyRange copies bytes from start to end in the kernel, or through memory where two
// file systems do not do that between them.
func copyRange(ctx context.Context, src, dst *os.File, start, end int64) error {
	buf := []byte(nil)
	for pos := start; pos < end; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		chunk := int(min(end-pos, copyChunk))
		in, out := pos, pos
		n, err := unix.CopyFileRange(int(src.Fd()), &in, int(dst.Fd()), &out, chunk, 0)
		switch {
		case errors.Is(err, unix.EXDEV), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS), err == nil && n == 0:
			if buf == nil {
				buf = make([]byte, 1<<20)
			}
			if n, err = src.ReadAt(buf[:min(chunk, len(buf))], pos); n == 0 {
				return err
			}
			if _, err = dst.WriteAt(buf[:n], pos); err != nil {
				return err
			}
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		}
		pos += int64(n)
	}
	return nil
}
