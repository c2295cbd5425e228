package fetch

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"backslide/lab"
)

// useDir describes an existing tree, anew each time: it may have been built again. Its
// manifest goes to the cache, nothing to the tree.
func (c *Cache) useDir(ctx context.Context, dir string) (lab.Build, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return lab.Build{}, err
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return lab.Build{}, fmt.Errorf("%s is not a directory", dir)
	}
	b, err := describe(ctx, "dir:"+dir, dir)
	if err != nil {
		return lab.Build{}, err
	}
	b.Origin = "dir"
	if b.ID, err = binaryID(b.Server); err != nil {
		return lab.Build{}, err
	}
	sum := sha256.Sum256([]byte(dir))
	folder := "dir-" + hex.EncodeToString(sum[:8])
	unlock, err := c.lock(ctx, folder)
	if err != nil {
		return lab.Build{}, err
	}
	defer unlock()
	at := filepath.Join(c.Dir, "builds", folder)
	if err := os.MkdirAll(at, 0o755); err != nil {
		return lab.Build{}, unwritable(err)
	}
	return b, unwritable(writeManifest(filepath.Join(at, manifestName), b))
}

// binaryID returns the ID of a build known by its server binary: a digest over the
// binary's digest and its build-id.
func binaryID(server string) (string, error) {
	sum, err := fileSHA256(server)
	if err != nil {
		return "", err
	}
	id := sha256.Sum256([]byte(sum + " " + buildID(server)))
	return hex.EncodeToString(id[:]), nil
}

// buildID returns the GNU build-id of a binary, or nothing.
func buildID(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	s := f.Section(".note.gnu.build-id")
	if s == nil || s.Size < 16 || s.Size > 4096 {
		return ""
	}
	note, err := s.Data()
	if err != nil {
		return ""
	}
	return hex.EncodeToString(note[16:]) // behind three sizes and the name "GNU\0"
}

// useTar installs a tarball: FILE-or-URL#sha256=HEX. It is kept by its digest.
func (c *Cache) useTar(ctx context.Context, spec string) (lab.Build, error) {
	from, digest, err := parseTar(spec)
	if err != nil {
		return lab.Build{}, err
	}
	return c.install(ctx, "tar-"+digest[:32], func(stage string) (lab.Build, error) {
		tree := filepath.Join(stage, "tree")
		if err := os.Mkdir(tree, 0o755); err != nil {
			return lab.Build{}, unwritable(err)
		}
		if err := c.unpackTar(ctx, from, digest, stage, tree); err != nil {
			return lab.Build{}, err
		}
		b, err := describe(ctx, "tar:"+spec, topOf(tree))
		if err != nil {
			return lab.Build{}, err
		}
		b.Origin = "tar sha256 " + digest
		b.ID = digest
		return b, nil
	})
}

// unpackTar unpacks a tarball that has the digest. What is unpacked is the file that was
// read for that, whatever has its name by then.
func (c *Cache) unpackTar(ctx context.Context, from, digest, stage, tree string) error {
	open := func() (*os.File, error) { return os.Open(from) }
	if isURL(from) {
		open = func() (*os.File, error) { return c.get(ctx, from, stage) }
	}
	f, err := open()
	if err != nil {
		return err
	}
	defer f.Close()
	sum, err := openSHA256(f)
	if err != nil {
		return err
	}
	if sum != digest {
		return fmt.Errorf("%s has SHA-256 %s, not %s as asked; nothing was unpacked", from, sum, digest)
	}
	c.logf("tar: unpacking %s", filepath.Base(from))
	return extractFile(ctx, f, tree)
}

// parseTar splits FILE-or-URL#sha256=HEX; a FILE becomes absolute.
func parseTar(spec string) (from, digest string, err error) {
	at := strings.LastIndex(spec, "#")
	if at > 0 {
		from = spec[:at]
		digest = strings.ToLower(strings.TrimPrefix(spec[at+1:], "sha256="))
	}
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size || !strings.HasPrefix(spec[at+1:], "sha256=") {
		return "", "", errors.New("a tarball is named with its digest, tar:FILE-or-URL#sha256=HEX; " +
			"take it from whoever published the file, or from sha256sum for a file of one's own")
	}
	u, _ := url.Parse(from)
	switch {
	case isURL(from) && u.User != nil:
		return "", "", errors.New("there is a user or a password in the URL, and a build's name stands in results and reports; download the file and name that")
	case isURL(from):
		return from, digest, nil
	case strings.HasPrefix(from, "http://"), strings.HasPrefix(from, "https://"):
		return "", "", errors.New("not a URL that can be read")
	}
	from, err = filepath.Abs(from)
	return from, digest, err
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// topOf returns the directory of an unpacked tarball that the server's tree starts in:
// the only one at the top, if the top itself has no server.
func topOf(tree string) string {
	if _, _, err := findServer(tree); err == nil {
		return tree
	}
	entries, err := os.ReadDir(tree)
	if err == nil && len(entries) == 1 && entries[0].IsDir() {
		return filepath.Join(tree, entries[0].Name())
	}
	return tree
}
