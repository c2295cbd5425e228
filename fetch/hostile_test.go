package fetch

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestExtractModes: a server that others could write to would run for us what they wrote.
func TestExtractModes(t *testing.T) {
	at := t.TempDir()
	all, none := file("all", "x"), file("none", "x")
	all.Mode, none.Mode = 0o7777, 0
	if err := unpackInto(t, pack(t, all, none), at); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"all": 0o755, "none": 0o600} {
		if st, err := os.Stat(filepath.Join(at, name)); err != nil || st.Mode() != want {
			t.Errorf("%s has mode %v, %v, want %v", name, st.Mode(), err, want)
		}
	}
}

// TestExtractTooMuch: what a small file says that it unpacks to is held against the disk
// before anything of it is written.
func TestExtractTooMuch(t *testing.T) {
	var b bytes.Buffer
	if err := tar.NewWriter(&b).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "bomb", Mode: 0o644, Size: 1 << 60}); err != nil {
		t.Fatal(err)
	}
	at := t.TempDir()
	err := unpackInto(t, b.Bytes(), at)
	if err == nil || !strings.Contains(err.Error(), `entry "bomb": refused`) || !strings.Contains(err.Error(), "room") {
		t.Errorf("got %v, want it refused", err)
	}
	if left := listTree(t, at); len(left) > 0 {
		t.Errorf("unpacked %v", left)
	}

	x, err := newExtraction(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer x.root.Close()
	x.left = 10_000 // two empty files and no third
	err = x.extract(context.Background(), bytes.NewReader(pack(t, file("a", ""), file("b", ""), file("c", ""))))
	if err == nil || !strings.Contains(err.Error(), `entry "c": refused`) {
		t.Errorf("many small files: %v, want the third refused", err)
	}
}

// debOf returns a package of files, as deb(5) has it.
func debOf(t *testing.T, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, m := range []struct {
		name string
		text []byte
	}{{"debian-binary", []byte("2.0\n")}, {"control.tar", pack(t, file("./control", "Package: x\n"))}, {"data.tar", pack(t, entries...)}} {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n%s", m.name, 0, 0, 0, "100644", len(m.text), m.text)
		if len(m.text)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// unpackDebs unpacks packages in this order, below a directory that is alone in another.
func unpackDebs(t *testing.T, packages ...[]byte) (root string, err error) {
	t.Helper()
	around := t.TempDir()
	root = filepath.Join(around, "tree")
	for i, text := range packages {
		write(t, root, map[string]string{fmt.Sprintf("debs/%d.deb", i): string(text)})
	}
	err = unpack(context.Background(), filepath.Join(root, "debs"), root)
	if entries, _ := os.ReadDir(around); len(entries) != 1 {
		t.Errorf("around the tree: %v", entries)
	}
	return root, err
}

// TestUnpackPackages: a package's absolute links mean the tree's files; programs do not run
// as somebody else.
func TestUnpackPackages(t *testing.T) {
	suid := file("./usr/lib/tool", "tool")
	suid.Mode = 0o4755
	root, err := unpackDebs(t,
		debOf(t, dir("./"), dir("./lib64"), link("./lib64/ld.so", "/lib/x/ld-2.31.so"), link("./lib64/up.so", "/../../lib/x/ld-2.31.so"), link("./top.so", "/lib/x/ld-2.31.so")),
		debOf(t, dir("./"), file("./lib/x/ld-2.31.so", "in the tree"), link("./lib/x/same.so", "ld-2.31.so"), suid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lib64/ld.so", "lib64/up.so", "lib/x/same.so", "top.so"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || string(text) != "in the tree" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if st, err := os.Stat(filepath.Join(root, "usr/lib/tool")); err != nil || st.Mode() != 0o755 {
		t.Errorf("a set-user-ID program: mode %v, %v, want -rwxr-xr-x", st.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(root, "debs")); err == nil {
		t.Error("the packages were kept")
	}
}

// TestUnpackHostilePackages: not even two packages together write beside the tree.
func TestUnpackHostilePackages(t *testing.T) {
	host := t.TempDir()
	root, err := unpackDebs(t, debOf(t, link("./usr/lib/x", host)), debOf(t, file("./usr/lib/x/f", "written through a link")))
	if entries, _ := os.ReadDir(host); len(entries) > 0 {
		t.Errorf("written beside the tree: %v (%v)", entries, err)
	}
	if got, readErr := os.ReadFile(filepath.Join(root, host, "f")); err == nil && string(got) != "written through a link" {
		t.Errorf("in the tree: %q, %v", got, readErr)
	}
	for name, p := range map[string][]byte{
		"up":      debOf(t, file("../x", "")),
		"link up": debOf(t, link("./a", "../x")),
		"device":  debOf(t, dev("./null")),
	} {
		if _, err := unpackDebs(t, p); err == nil || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), "0.deb") {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	whole := debOf(t, file("./a", strings.Repeat("x", 5000)))
	if _, err := unpackDebs(t, whole[:len(whole)-4000]); err == nil || !strings.Contains(err.Error(), "dpkg-deb") {
		t.Errorf("cut short: %v, want what dpkg-deb says", err)
	}
}

// TestTarSwapped: what is unpacked is what was verified, also if another file has got its
// name meanwhile.
func TestTarSwapped(t *testing.T) {
	good := packTree(t, fakeTree(t, "bin/mysqld", "8.0.36", "share/english/errmsg.sys"), "mysql")
	name := tarName(t, good)
	path := strings.TrimPrefix(name[:strings.Index(name, "#")], "tar:")
	c := &Cache{Dir: t.TempDir(), Log: func(format string, args ...any) {
		if strings.HasPrefix(format, "tar: unpacking") { // the digest was right
			if err := os.Rename(path, path+".good"); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(path, pack(t, file("evil", "evil")), 0o644); err != nil {
				t.Error(err)
			}
		}
	}}
	if b, err := c.Build(context.Background(), name); err != nil || b.Version != "8.0.36" {
		t.Errorf("got %q, %v", b.Version, err)
	}
}

// TestDownloadStalls: a server that goes silent is given up, before and after its first byte.
func TestDownloadStalls(t *testing.T) {
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/some" {
			w.Write([]byte("some"))
			w.(http.Flusher).Flush()
		}
		<-release
	}))
	defer srv.Close()
	defer close(release)
	c := &Cache{Dir: t.TempDir(), stall: 100 * time.Millisecond}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, path := range []string{"/none", "/some"} {
		_, err := c.Build(ctx, "tar:"+srv.URL+path+"#sha256="+strings.Repeat("0", 64))
		if err == nil || !strings.Contains(err.Error(), "nothing came for 100ms") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if left := leftovers(t, c.Dir); len(left) > 0 {
		t.Errorf("left over %v", left)
	}
}

// TestDownloadTooLarge: what has no room on the disk is not begun.
func TestDownloadTooLarge(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "1152921504606846976")
	}))
	defer srv.Close()
	c := &Cache{Dir: t.TempDir()}
	_, err := c.Build(context.Background(), "tar:"+srv.URL+"/b.tar#sha256="+strings.Repeat("0", 64))
	if err == nil || !strings.Contains(err.Error(), "has room for") {
		t.Errorf("got %v", err)
	}
}

// TestPasswordInURL: a name stands in results, reports and messages.
func TestPasswordInURL(t *testing.T) {
	var logged strings.Builder
	c := &Cache{Dir: t.TempDir(), Log: func(format string, args ...any) { fmt.Fprintf(&logged, format+"\n", args...) }}
	for _, from := range []string{"https://me:geheim@localhost:1/b.tar", "https://geheim@localhost:1/b.tar", "https://me:ge/geheim@localhost:1/b.tar", "https://me:%zzgeheim@localhost:1/b.tar"} {
		_, err := c.Build(context.Background(), "tar:"+from+"#sha256="+strings.Repeat("0", 64))
		if err == nil || strings.Contains(err.Error(), "geheim") || strings.Contains(logged.String(), "geheim") {
			t.Errorf("%s: error %v, logged %q; want an error without the password", from, err, logged.String())
		}
	}
}

// TestOddPaths: names with signs of patterns are names.
func TestOddPaths(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[1]*?")
	tree := fakeTree(t, "bin/mysqld", "8.0.36", "share/english/errmsg.sys", "lib/x86_64-linux-gnu/libjemalloc.so.2")
	odd := filepath.Join(dir, "tree")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tree, odd); err != nil {
		t.Fatal(err)
	}
	if dirs := libraryDirs(odd, odd); len(dirs) == 0 || findPreloads(dirs)["jemalloc"] == "" {
		t.Errorf("library directories %v, preloads %v", dirs, findPreloads(dirs))
	}
	if err := os.Remove(filepath.Join(odd, "lib/x86_64-linux-gnu/libjemalloc.so.2")); err != nil { // it is no library
		t.Fatal(err)
	}
	c := &Cache{Dir: filepath.Join(dir, "cache")}
	if _, err := c.Build(context.Background(), tarName(t, packTree(t, odd, "."))); err != nil {
		t.Fatal(err)
	}
	if have, err := c.Installed(); len(have) != 1 || err != nil {
		t.Errorf("installed: %v, %v", have, err)
	}
	write(t, c.Dir, map[string]string{"builds/.new-dead.1/bin/mysqld": "half"})
	if err := c.sweep("other"); err != nil {
		t.Error(err)
	}
	if got := listTree(t, filepath.Join(c.Dir, "builds")); strings.Contains(strings.Join(got, " "), "dead") {
		t.Errorf("a dead fetch's tree was left: %v", got)
	}
}

func TestSweepAllocators(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"bookworm/usr/keep": "", ".bookworm-123/usr/dead": "", ".trixie-1/usr/other": ""})
	sweepAllocators(filepath.Join(dir, "bookworm"))
	if got := strings.Join(listTree(t, dir), " "); strings.Contains(got, "dead") || !strings.Contains(got, "keep") || !strings.Contains(got, "other") {
		t.Errorf("left: %s", got)
	}
}

// TestOddLibraries: what a binary asks for may be a pipe, which nobody must wait for.
func TestOddLibraries(t *testing.T) {
	root := t.TempDir()
	pipe := filepath.Join(root, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, root, map[string]string{"x": string(fakeObject{needed: []string{pipe}}.bytes())})
	missing, _, err := newLoaderView("", nil).check(filepath.Join(root, "x"))
	if err != nil || len(missing) != 1 || missing[0].Library != pipe {
		t.Errorf("missing %v, %v, want the pipe", missing, err)
	}
}

// TestColon: a loader cannot be told of a directory with a colon in its name.
func TestColon(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a:b")
	write(t, root, map[string]string{
		"bin/mysqld": string(fakeObject{needed: []string{"libonly.so.1"}}.bytes()), "lib/libonly.so.1": string(fakeObject{soname: "libonly.so.1"}.bytes()),
		"share/english/errmsg.sys": "",
	})
	_, err := (&Cache{Dir: t.TempDir()}).Build(context.Background(), "dir:"+root)
	if err == nil || !strings.Contains(err.Error(), "colon") {
		t.Errorf("got %v, want it told of the colon", err)
	}
}
