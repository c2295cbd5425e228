package fetch

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	"golang.org/x/sys/unix"
)

// extractFile unpacks an open tarball below root: plain, gzip, xz or zstd, told by its
// first bytes.
func extractFile(ctx context.Context, f *os.File, root string) error {
	r, err := decompress(f)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	x, err := newExtraction(root)
	if err != nil {
		return err
	}
	defer x.root.Close()
	if err := x.extract(ctx, r); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}

func decompress(f io.Reader) (io.Reader, error) {
	r := bufio.NewReaderSize(f, 1<<20)
	head, err := r.Peek(6)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzip.NewReader(r)
	case bytes.HasPrefix(head, []byte{0xfd, '7', 'z', 'X', 'Z', 0}):
		return xz.NewReader(r)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return r, nil
}

// extraction is the unpacking of tar streams below one directory.
type extraction struct {
	root   *os.Root
	rooted bool  // links to absolute names mean root's, as in the packages of a system
	left   int64 // bytes that may still be unpacked

	links map[string]bool // symbolic links of the stream, by name
	files map[string]bool // files of it, to which hard links may be made
}

// newExtraction may fill the disk that root is on to nine tenths of what is free now: a
// small file can unpack to any size, and others need the disk too.
func newExtraction(root string) (*extraction, error) {
	free, err := freeBytes(root)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	return &extraction{root: dir, left: free - free/10}, nil
}

// freeBytes returns what this user may still write to the disk that dir is on. Where the
// file system does not say, that is without a bound.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	if st.Blocks == 0 {
		return math.MaxInt64, nil
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// extract unpacks a tar stream below root and refuses, by name, whatever could touch
// something outside: absolute names, "..", links that leave root, entries that would be
// written through a link, device nodes, more than there is room for. root enforces most of
// that a second time.
func (x *extraction) extract(ctx context.Context, r io.Reader) error {
	x.links, x.files = map[string]bool{}, map[string]bool{}
	t := tar.NewReader(r)
	for entries := 0; ; entries++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) && entries > 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not a tarball, or damaged: %w", err)
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if err := x.entry(t, h); err != nil {
			return fmt.Errorf("entry %q: %w", h.Name, err)
		}
	}
}

func (x *extraction) entry(r io.Reader, h *tar.Header) error {
	name, err := x.entryName(h)
	if err != nil {
		return err
	}
	if err := x.take(h); err != nil {
		return err
	}
	if name != "." {
		if err := x.place(r, h, name); err != nil {
			return err
		}
	}
	x.links[name] = h.Typeflag == tar.TypeSymlink
	x.files[name] = h.Typeflag == tar.TypeReg || h.Typeflag == tar.TypeLink
	return nil
}

// take takes the size of an entry, holes of sparse files included, off what is left; an
// empty one still costs a block.
func (x *extraction) take(h *tar.Header) error {
	const block = 4096
	if h.Size > x.left-block {
		return fmt.Errorf("refused: with its %d bytes the archive would unpack to more than the disk has room for", h.Size)
	}
	x.left -= h.Size + block
	return nil
}

// entryName returns the clean name below which an entry goes, or why it is refused.
func (x *extraction) entryName(h *tar.Header) (string, error) {
	if strings.HasPrefix(h.Name, "/") {
		return "", errors.New("refused: absolute name")
	}
	name := path.Clean(h.Name)
	if !fs.ValidPath(name) {
		return "", errors.New("refused: name leaves the target")
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if x.links[dir] {
			return "", fmt.Errorf("refused: it lies behind the symbolic link %s", dir)
		}
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir:
	case tar.TypeSymlink:
		if x.rooted {
			h.Linkname = inside(name, h.Linkname)
		}
		if err := checkLink(name, h.Linkname); err != nil {
			return "", err
		}
	case tar.TypeLink:
		if strings.HasPrefix(h.Linkname, "/") || !fs.ValidPath(path.Clean(h.Linkname)) {
			return "", fmt.Errorf("refused: hard link to %q leaves the target", h.Linkname)
		}
	default:
		return "", fmt.Errorf("refused: type %q is not a file, directory or link", h.Typeflag)
	}
	return name, nil
}

// inside returns the target of a symbolic link called name with a target that is absolute
// made relative to where the link is, so that it stays in the tree.
func inside(name, target string) string {
	if !path.IsAbs(target) {
		return target
	}
	return strings.Repeat("../", strings.Count(name, "/")) + strings.TrimPrefix(path.Clean(target), "/")
}

// checkLink refuses the target of a symbolic link called name that could leave the root.
// ".." may stand in front only: behind a name that is a link itself it would not mean
// what it seems to.
func checkLink(name, target string) error {
	if target == "" || strings.HasPrefix(target, "/") {
		return fmt.Errorf("refused: symbolic link to %q leaves the target", target)
	}
	depth, down := strings.Count(name, "/"), false
	for _, part := range strings.Split(target, "/") {
		switch {
		case part == "" || part == ".":
		case part != "..":
			down = true
		case down:
			return fmt.Errorf("refused: symbolic link to %q goes down and up again", target)
		default:
			if depth--; depth < 0 {
				return fmt.Errorf("refused: symbolic link to %q leaves the target", target)
			}
		}
	}
	return nil
}

// place creates one entry.
func (x *extraction) place(r io.Reader, h *tar.Header, name string) error {
	if err := x.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	st, err := x.root.Lstat(name)
	if err == nil && h.Typeflag == tar.TypeDir && st.IsDir() {
		return nil
	}
	// A later entry of the same name wins, and must not be written through a link.
	if err == nil {
		if err := x.root.Remove(name); err != nil {
			return err
		}
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return x.root.Mkdir(name, 0o755)
	case tar.TypeSymlink:
		return x.root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		old := path.Clean(h.Linkname)
		if !x.files[old] {
			return fmt.Errorf("refused: hard link to %q, which is no file of the archive before it", h.Linkname)
		}
		return x.root.Link(old, name)
	}
	f, err := x.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	// Nobody else may write to what is going to be run, and nothing runs as somebody else.
	return errors.Join(err, f.Chmod(fs.FileMode(h.Mode)&0o755|0o600), f.Close())
}
