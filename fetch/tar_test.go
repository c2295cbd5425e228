package fetch

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"backslide/lab"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// file, link, hard and dev are tar entries.
func file(name, text string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text)), PAXRecords: map[string]string{"BACKSLIDE.text": text}}
}
func link(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
}
func hard(name, to string) tar.Header {
	return tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: to}
}
func dir(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755} }
func dev(name string) tar.Header {
	return tar.Header{Typeflag: tar.TypeChar, Name: name, Devmajor: 1, Devminor: 3}
}

// pack makes a tarball of entries; a file's text travels in its header.
func pack(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		text := h.PAXRecords["BACKSLIDE.text"]
		h.PAXRecords = nil
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unpackInto(t testing.TB, text []byte, at string) error {
	t.Helper()
	x, err := newExtraction(at)
	if err != nil {
		t.Fatal(err)
	}
	defer x.root.Close()
	return x.extract(context.Background(), bytes.NewReader(text))
}

func TestExtract(t *testing.T) {
	at := t.TempDir()
	exe := file("top/bin/run", "run")
	exe.Mode = 0o4755
	err := unpackInto(t, pack(t, dir("top/"), exe, file("./top/a", "first"), file("top/a", "second"), link("top/lib/x.so", "../a"), link("top/lib/y.so", "x.so"),
		hard("top/b", "top/a"), link("top/c", "a"), file("top/c", "no link any more"), link("top/d", "bin"), dir("top/d"), file("top/d/e", "e")), at)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"top/bin/run": "run", "top/a": "second", "top/lib/y.so": "second", "top/b": "second", "top/c": "no link any more", "top/d/e": "e"} {
		got, err := os.ReadFile(filepath.Join(at, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if st, err := os.Stat(filepath.Join(at, "top/bin/run")); err != nil || st.Mode() != 0o755 {
		t.Errorf("mode of an executable: %v, %v; set-user-ID must not survive", st.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(at, "top/bin/e")); err == nil {
		t.Error("an entry was written through a link")
	}
}

func TestExtractRefuses(t *testing.T) {
	fifo := dev("dir/pipe")
	fifo.Typeflag = tar.TypeFifo
	for _, tt := range []struct {
		name    string
		entries []tar.Header
		want    string // in the error, after the name of the last entry
	}{
		{"absolute", []tar.Header{file("/etc/x", "")}, "absolute name"},
		{"up", []tar.Header{file("../x", "")}, "leaves the target"},
		{"up, hidden", []tar.Header{file("a/../../x", "")}, "leaves the target"},
		{"link out", []tar.Header{link("a/l", "../../x")}, "leaves the target"},
		{"link absolute", []tar.Header{link("l", "/etc/passwd")}, "leaves the target"},
		{"link empty", []tar.Header{link("l", "./../x")}, "leaves the target"},
		{"through a link", []tar.Header{dir("d"), link("l", "d"), file("l/x", "")}, "behind the symbolic link l"},
		{"link down and up", []tar.Header{link("s", "."), link("l", "s/../x")}, "down and up"},
		{"hard link out", []tar.Header{hard("l", "../x")}, "leaves the target"},
		{"hard link absolute", []tar.Header{hard("l", "/etc/passwd")}, "leaves the target"},
		{"hard link to a link", []tar.Header{link("s", "x"), hard("l", "s")}, "no file of the archive"},
		{"hard link to what comes later", []tar.Header{hard("l", "x"), file("x", "")}, "no file of the archive"},
		{"device", []tar.Header{dev("dir/null")}, "not a file, directory or link"},
		{"fifo", []tar.Header{fifo}, "not a file, directory or link"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			around := t.TempDir()
			write(t, around, map[string]string{"x": "mine", "tree/keep": ""})
			bad := tt.entries[len(tt.entries)-1].Name
			if strings.HasPrefix(tt.name, "hard link to what") {
				bad = tt.entries[0].Name
			}
			err := unpackInto(t, pack(t, tt.entries...), filepath.Join(around, "tree"))
			if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("entry %q: refused", bad)) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q refused: %q", err, bad, tt.want)
			}
			if got, err := os.ReadDir(around); err != nil || len(got) != 2 {
				t.Errorf("around the target: %v, %v", got, err)
			}
			// As a build: nothing is left behind.
			c := &Cache{Dir: t.TempDir()}
			_, err = c.Build(context.Background(), tarName(t, pack(t, tt.entries...)))
			if err == nil || !strings.Contains(err.Error(), "refused") {
				t.Errorf("Build: %v", err)
			}
			if left, _ := os.ReadDir(filepath.Join(c.Dir, "builds")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// listTree lists what is below root, directories with a slash behind.
func listTree(t testing.TB, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if d.IsDir() {
			rel += "/"
		}
		out = append(out, rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tarName writes a tarball and returns the name of its build.
func tarName(t *testing.T, text []byte) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "build.tar")
	if err := os.WriteFile(p, text, 0o644); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	return "tar:" + p + "#sha256=" + hex.EncodeToString(sum[:])
}

// packTree makes a tarball of a tree, or of those parts of it, below the name top; files'
// contents and links included.
func packTree(t *testing.T, tree, top string, parts ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if len(parts) == 0 {
		parts = []string{"."}
	}
	for _, part := range parts {
		err := filepath.WalkDir(filepath.Join(tree, part), func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(tree, p)
			if err != nil {
				return err
			}
			return packFile(w, p, filepath.Join(top, rel))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// packFile adds the file at p to w as name. An absolute link, as to the fake server, is
// followed.
func packFile(w *tar.Writer, p, name string) error {
	st, err := os.Lstat(p)
	if err != nil {
		return err
	}
	target := ""
	if st.Mode()&fs.ModeSymlink != 0 {
		if target, err = os.Readlink(p); err != nil {
			return err
		}
		if filepath.IsAbs(target) {
			if st, err = os.Stat(p); err != nil {
				return err
			}
		}
	}
	h, err := tar.FileInfoHeader(st, target)
	if err != nil {
		return err
	}
	h.Name = name
	if err := w.WriteHeader(h); err != nil || !st.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(p)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

func compressed(t *testing.T, text []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{"tar": text}
	var g, x, z bytes.Buffer
	gw := gzip.NewWriter(&g)
	xw, err := xz.NewWriter(&x)
	if err != nil {
		t.Fatal(err)
	}
	zw, err := zstd.NewWriter(&z, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []io.WriteCloser{gw, xw, zw} {
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	out["gzip"], out["xz"], out["zstd"] = g.Bytes(), x.Bytes(), z.Bytes()
	return out
}

func extractPath(t *testing.T, path, root string) error {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return extractFile(context.Background(), f, root)
}

func TestDecompress(t *testing.T) {
	text := pack(t, dir("a"), file("a/b", "text"))
	for kind, c := range compressed(t, text) {
		at, p := t.TempDir(), filepath.Join(t.TempDir(), "x") // the name does not matter
		if err := os.WriteFile(p, c, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := extractPath(t, p, at); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if got, err := os.ReadFile(filepath.Join(at, "a/b")); string(got) != "text" {
			t.Errorf("%s: %q, %v", kind, got, err)
		}
		if err := os.WriteFile(p, c[:len(c)/3], 0o644); err != nil {
			t.Fatal(err)
		}
		if err := extractPath(t, p, t.TempDir()); err == nil {
			t.Errorf("%s: cut short, and no error", kind)
		}
	}
}

func TestTarBuild(t *testing.T) {
	tree := fakeTree(t, "bin/mysqld", "8.0.36", "share/english/errmsg.sys", "lib/plugin/x")
	for _, top := range []string{"mysql-8.0.36-linux", "."} {
		c := &Cache{Dir: t.TempDir()}
		name := tarName(t, packTree(t, tree, top))
		b, err := c.Build(context.Background(), name)
		if err != nil {
			t.Fatal(err)
		}
		digest := name[len(name)-64:]
		base := filepath.Join(c.Dir, "builds", "tar-"+digest[:32], "tree", top)
		want := lab.Build{Name: name, Family: lab.MySQL, Version: "8.0.36", Origin: "tar sha256 " + digest, ID: digest, Flags: b.Flags,
			Dir: base, Server: base + "/bin/mysqld", BaseDir: base, MessagesDir: base + "/share", PluginDir: base + "/lib/plugin"}
		if d := cmp.Diff(want, b); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		// The tarball may go: the build stays, by its digest.
		if err := os.Remove(strings.TrimPrefix(name[:strings.Index(name, "#")], "tar:")); err != nil {
			t.Fatal(err)
		}
		if again, err := c.Build(context.Background(), name); err != nil || !cmp.Equal(again, b) {
			t.Errorf("again: %v, %v", again, err)
		}
	}
}

func TestTarFromURL(t *testing.T) {
	tree := fakeTree(t, "bin/mysqld", "8.4.1", "share/english/errmsg.sys")
	text := packTree(t, tree, "mysql")
	sum := sha256.Sum256(text)
	digest := hex.EncodeToString(sum[:])
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/b.tar.gz" {
			http.NotFound(w, r)
			return
		}
		w.Write(text)
	}))
	defer srv.Close()
	c := &Cache{Dir: t.TempDir()}
	for _, tt := range []struct{ spec, want string }{
		{srv.URL + "/b.tar.gz#sha256=" + strings.Repeat("0", 64), "not " + strings.Repeat("0", 64) + " as asked"},
		{srv.URL + "/none#sha256=" + digest, "404"},
		{srv.URL + "/b.tar.gz", "sha256sum"},
		{srv.URL + "/b.tar.gz#sha256=" + digest[1:], "sha256sum"},
		{srv.URL + "/b.tar.gz#md5=" + digest, "sha256sum"},
		{"/nonexistent.tar#sha256=" + digest, "no such file"},
	} {
		if _, err := c.Build(context.Background(), "tar:"+tt.spec); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.spec, err, tt.want)
		}
	}
	if have, err := c.Installed(); len(have) > 0 || err != nil {
		t.Errorf("after refusals: %v, %v", have, err)
	}
	b, err := c.Build(context.Background(), "tar:"+srv.URL+"/b.tar.gz#sha256="+digest)
	if err != nil || b.Version != "8.4.1" || b.ID != digest {
		t.Errorf("got %+v, %v", b, err)
	}
	if left := leftovers(t, c.Dir); len(left) > 0 {
		t.Errorf("left over %v", left)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(filepath.Dir(b.Dir)), "download")); err == nil {
		t.Error("the tarball was kept")
	}
}

// FuzzExtract unpacks anything and looks around the target: nothing beside it may change,
// and no link of it may lead out.
func FuzzExtract(f *testing.F) {
	f.Add(pack(f, dir("a"), file("a/b", "text"), link("a/c", "b"), hard("d", "a/b")))
	f.Add(pack(f, link("s", "."), link("l", "s/../x")))
	f.Add(pack(f, dir("d"), link("l", "d"), dir("l"), file("l/x", "1")))
	f.Add(pack(f, file("../x", "1"), link("l", "../x"), file("l", "2")))
	f.Fuzz(func(t *testing.T, text []byte) {
		around := t.TempDir()
		write(t, around, map[string]string{"x": "mine", "tree/.keep": ""})
		tree := filepath.Join(around, "tree")
		_ = unpackInto(t, text, tree) // refused or not: what matters is what it did
		entries, err := os.ReadDir(around)
		got, readErr := os.ReadFile(filepath.Join(around, "x"))
		if err != nil || readErr != nil || len(entries) != 2 || string(got) != "mine" {
			t.Fatalf("around the target: %v, %q, %v, %v", entries, got, err, readErr)
		}
		for _, rel := range listTree(t, tree) {
			to, err := filepath.EvalSymlinks(filepath.Join(tree, rel))
			if err == nil && to != tree && !strings.HasPrefix(to, tree+"/") {
				t.Fatalf("%s leads to %s", rel, to)
			}
		}
	})
}

func FuzzParseTar(f *testing.F) {
	f.Add("/a/b.tar#sha256=" + strings.Repeat("ab", 32))
	f.Add("#sha256=" + strings.Repeat("ab", 32))
	f.Add("x#")
	f.Fuzz(func(t *testing.T, spec string) {
		from, digest, err := parseTar(spec)
		if err == nil && (len(digest) != 64 || from == "" || !isURL(from) && !filepath.IsAbs(from)) {
			t.Errorf("%q: %q, %q", spec, from, digest)
		}
	})
}
