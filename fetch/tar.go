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
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// extractFile unpacks a tarball below root: plain, gzip, xz or zstd, told by its first bytes.
func extractFile(ctx context.Context, file, root string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := decompress(f)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := extract(ctx, r, dir); err != nil {
		return fmt.Errorf("%s: %w", file, err)
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

// extract unpacks a tar stream below root and refuses, by name, whatever could touch
// something outside: absolute names, "..", links that leave root, entries that would be
// written through a link, device nodes. root enforces the same a second time.
func extract(ctx context.Context, r io.Reader, root *os.Root) error {
	links := map[string]bool{} // symbolic links of the archive
	files := map[string]bool{}
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
		name, err := entryName(h, links)
		if err == nil && name != "." {
			err = place(t, h, name, root, files)
		}
		if err != nil {
			return fmt.Errorf("entry %q: %w", h.Name, err)
		}
		links[name] = h.Typeflag == tar.TypeSymlink
		files[name] = h.Typeflag == tar.TypeReg || h.Typeflag == tar.TypeLink
	}
}

// entryName returns the clean name below which an entry goes, or why it is refused.
func entryName(h *tar.Header, links map[string]bool) (string, error) {
	if strings.HasPrefix(h.Name, "/") {
		return "", errors.New("refused: absolute name")
	}
	name := path.Clean(h.Name)
	if !fs.ValidPath(name) {
		return "", errors.New("refused: name leaves the target")
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if links[dir] {
			return "", fmt.Errorf("refused: it lies behind the symbolic link %s", dir)
		}
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeDir:
	case tar.TypeSymlink:
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

// place creates one entry below root.
func place(r io.Reader, h *tar.Header, name string, root *os.Root, files map[string]bool) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	st, err := root.Lstat(name)
	if err == nil && h.Typeflag == tar.TypeDir && st.IsDir() {
		return nil
	}
	// A later entry of the same name wins, and must not be written through a link.
	if err == nil {
		if err := root.Remove(name); err != nil {
			return err
		}
	}
	if h.Typeflag == tar.TypeDir {
		return root.Mkdir(name, 0o755)
	}
	switch h.Typeflag {
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		old := path.Clean(h.Linkname)
		if !files[old] {
			return fmt.Errorf("refused: hard link to %q, which is no file of the archive before it", h.Linkname)
		}
		return root.Link(old, name)
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Chmod(fs.FileMode(h.Mode)&0o777|0o600), f.Close())
}
