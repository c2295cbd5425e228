package fetch

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"backslide/lab"

	"github.com/google/go-cmp/cmp"
)

// shared returns the cache that every test of the project and every user of this machine
// account shares, so that builds are fetched once.
func shared(t *testing.T) *Cache {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real builds, from the network or the cache")
	}
	dir, err := DefaultDir()
	if err != nil {
		t.Fatal(err)
	}
	return &Cache{Dir: dir, Log: t.Logf}
}

func sharedBuild(t *testing.T, name string) lab.Build {
	t.Helper()
	b, err := shared(t).Build(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFiveBuilds(t *testing.T) {
	c := shared(t)
	mariadbSQL := []string{"mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"}
	for _, tt := range []struct {
		name    string
		family  lab.Family
		version string // start of what the server says
		origin  string // start of it
		core    string // package with the server
		libc    bool   // brings its own C library, and allocators
		sql     []string
	}{
		{"mysql@5.6", lab.MySQL, "5.6.24", "npm", npmPackage, false, []string{"mysql_system_tables.sql", "mysql_system_tables_data.sql"}},
		{"mysql@9.7", lab.MySQL, "9.7.", "apt sid", "mysql-server-core", true, nil},
		{"mariadb@10.5", lab.MariaDB, "10.5.", "apt bullseye", "mariadb-server-core-10.5", true, mariadbSQL},
		{"mariadb@10.11", lab.MariaDB, "10.11.", "apt bookworm", "mariadb-server-core", true, mariadbSQL},
		{"mariadb@11.8", lab.MariaDB, "11.8.", "apt trixie", "mariadb-server-core", true,
			[]string{"mariadb_system_tables.sql", "mariadb_performance_tables.sql", "mariadb_system_tables_data.sql"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := c.Build(context.Background(), tt.name)
			if err != nil {
				t.Fatal(err)
			}
			if b.Name != tt.name || b.Family != tt.family || !strings.HasPrefix(b.Version, tt.version) || !strings.HasPrefix(b.Origin, tt.origin) {
				t.Errorf("got %s %s %s from %s", b.Name, b.Family, b.Version, b.Origin)
			}
			// The server itself, started again as whoever uses the build would.
			args := []string{b.Server, "--no-defaults", "--version"}
			if b.Loader != "" {
				args = append([]string{b.Loader, "--library-path", strings.Join(b.LibraryPath, ":")}, args...)
			}
			cmd := exec.Command(args[0], args[1:]...)
			if b.Loader == "" {
				cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(b.LibraryPath, ":"))
			}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "Ver "+b.Version+" ") {
				t.Errorf("%v says %q, %v; want %s", args, out, err, b.Version)
			}
			if err := Preflight(b); err != nil {
				t.Error(err)
			}
			if tt.libc != (b.Loader != "") || tt.libc != (b.Preloads["jemalloc"] != "") || len(b.LibraryPath) == 0 {
				t.Errorf("loader %q, library path %q, preloads %v", b.Loader, b.LibraryPath, b.Preloads)
			}
			var sql []string
			for _, p := range b.SystemSQL {
				sql = append(sql, filepath.Base(p))
			}
			if d := cmp.Diff(tt.sql, sql); d != "" {
				t.Errorf("system SQL (-want +got):\n%s", d)
			}
			checkManifest(t, c, b, tt.core)
		})
	}
}

// checkManifest checks what must hold of every manifest of packages, on disk too.
func checkManifest(t *testing.T, c *Cache, b lab.Build, core string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.Dir, "builds", folderOf(b.Name), manifestName))
	if err != nil {
		t.Fatal(err)
	}
	var disk lab.Build
	if err := json.Unmarshal(text, &disk); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(b, disk); d != "" {
		t.Errorf("manifest (-returned +on disk):\n%s", d)
	}
	if !slices.ContainsFunc(b.Packages, func(p lab.Package) bool { return p.Name == core }) || b.ID != packagesID(b.Packages) {
		t.Errorf("ID %s, packages %v", b.ID, b.Packages)
	}
	for _, p := range b.Packages {
		if raw, err := hex.DecodeString(p.SHA256); err != nil || len(raw) != 32 || p.Version == "" {
			t.Errorf("package %+v", p)
		}
	}
	paths := slices.Concat([]string{b.Server, b.BaseDir, b.MessagesDir}, b.LibraryPath, b.SystemSQL)
	for _, p := range b.Preloads {
		paths = append(paths, p)
	}
	for _, p := range paths {
		if _, err := os.Stat(p); err != nil || p != b.Dir && !strings.HasPrefix(p, b.Dir+"/") {
			t.Errorf("path %s, %v; want below %s", p, err, b.Dir)
		}
	}
	have, _ := c.Installed()
	if !slices.ContainsFunc(have, func(h lab.Build) bool { return cmp.Equal(h, b) }) {
		t.Errorf("not among Installed")
	}
}

// What Debian 12 lacks for a server of Debian 13, by the libraries of a Debian 12 build.
// A server's needs of 2.38 and 3.4.32 are facts of its package.
func TestPreflightOfANewerServer(t *testing.T) {
	b, old := sharedBuild(t, "mariadb@11.8"), sharedBuild(t, "mariadb@10.11")
	b.Loader, b.LibraryPath, b.Preloads = old.Loader, old.LibraryPath, nil
	var got *PreflightError
	if err := Preflight(b); !errors.As(err, &got) {
		t.Fatalf("got %v", err)
	}
	versions := map[string]bool{}
	for _, m := range got.Missing {
		if m.Binary == b.Server && m.User == b.Server {
			for _, v := range m.Versions {
				versions[v] = true
			}
		}
	}
	if !versions["GLIBC_2.38"] || !versions["GLIBCXX_3.4.32"] {
		t.Errorf("missing for the server: %v\n%v", versions, got)
	}
	// A library that is hidden is named for the server and for the plugin.
	b = sharedBuild(t, "mariadb@11.8")
	hidden := t.TempDir()
	for _, d := range b.LibraryPath {
		libs, err := filepath.Glob(filepath.Join(d, "*.so*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range libs {
			name := filepath.Base(l)
			if _, err := os.Lstat(filepath.Join(hidden, name)); err != nil && name != "libz.so.1" {
				if err := os.Symlink(l, filepath.Join(hidden, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	b.LibraryPath, b.Preloads = []string{hidden}, nil
	if err := Preflight(b); !errors.As(err, &got) {
		t.Fatalf("libz.so.1 hidden: %v", err)
	}
	var by []string
	for _, m := range got.Missing {
		by = append(by, filepath.Base(m.Binary)+" "+m.Library)
	}
	if d := cmp.Diff([]string{"mariadbd libz.so.1", "ha_rocksdb.so libz.so.1"}, by); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A real tree, C library and loader included, as a tarball and as a directory: the same
// server, found the same way.
func TestRepackedBuild(t *testing.T) {
	b := sharedBuild(t, "mariadb@11.8")
	// Without client programs and documentation.
	text := packTree(t, b.Dir, "release", "usr/sbin", "usr/lib", "usr/lib64", "usr/share/mariadb")
	c := &Cache{Dir: t.TempDir()}
	tarred, err := c.Build(context.Background(), tarName(t, text))
	if err != nil {
		t.Fatal(err)
	}
	inPlace, err := c.Build(context.Background(), "dir:"+b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []lab.Build{tarred, inPlace} {
		want := rebase(b, b.Dir, got.Dir)
		want.Name, want.Origin, want.ID, want.Packages = got.Name, got.Origin, got.ID, nil
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", got.Origin, d)
		}
	}
	if have, err := c.Installed(); len(have) != 2 || err != nil {
		t.Errorf("installed: %v, %v", have, err)
	}
}

// Installed builds need neither apt nor npm nor a network.
func TestOffline(t *testing.T) {
	c := shared(t)
	want := sharedBuild(t, "mariadb@11.8")
	t.Setenv("PATH", t.TempDir())
	got, err := c.Build(context.Background(), "mariadb@11.8")
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	v := want.VersionNumber()
	exact := "mariadb@11.8." + strings.TrimPrefix(strings.SplitN(want.Version, "-", 2)[0], "11.8.")
	got, err = c.Build(context.Background(), exact)
	if err != nil || got.Name != exact || got.ID != want.ID || v[2] == 0 {
		t.Errorf("%s: %+v, %v", exact, got, err)
	}
}

func TestAvailable(t *testing.T) {
	c := shared(t)
	offers, err := c.Available(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mysql@5.6", "mysql@9.7", "mariadb@10.5", "mariadb@10.11", "mariadb@11.8"} {
		if !slices.ContainsFunc(offers, func(o Offer) bool { return o.Name == want }) {
			t.Errorf("%s is not among %v", want, offers)
		}
	}
	for name, want := range map[string]string{"mariadb@10.6": "did you mean mariadb@10.5", "mysql@5.7": "did you mean mysql@5.6", "mariadb10.5": "did you mean mariadb@10.5"} {
		_, err := c.Build(context.Background(), name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
