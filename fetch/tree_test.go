package fetch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"backslide/lab"

	"github.com/google/go-cmp/cmp"
)

// TestMain lets the test binary stand in for a server: called as mysqld or mariadbd it
// prints the version that the file VERSION beside it says. Called with FETCH_HELPER set it
// is another process that installs (install_test.go).
func TestMain(m *testing.M) {
	switch name := filepath.Base(os.Args[0]); {
	case name == "mysqld" || name == "mariadbd":
		text, err := os.ReadFile(filepath.Join(filepath.Dir(os.Args[0]), "VERSION"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%s  Ver %s for Linux on x86_64 (Source distribution)\n", os.Args[0], strings.TrimSpace(string(text)))
	case os.Getenv("FETCH_HELPER") != "":
		helper()
	default:
		os.Exit(m.Run())
	}
}

// write makes files with the given text below root.
func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fakeTree makes a tree whose server is the test binary, linked to server (bin/mysqld).
func fakeTree(t *testing.T, server, version string, files ...string) string {
	t.Helper()
	root := t.TempDir()
	all := map[string]string{filepath.Join(filepath.Dir(server), "VERSION"): version}
	for _, f := range files {
		all[f] = ""
	}
	write(t, root, all)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(root, server)); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestLayouts(t *testing.T) {
	for _, tt := range []struct {
		name, server, version string
		files                 []string
		want                  lab.Build // paths relative to the tree
	}{
		{
			"Oracle tarball", "bin/mysqld", "8.0.36", []string{"share/english/errmsg.sys", "lib/plugin/semisync.so", "share/mysql_system_tables.sql"},
			lab.Build{Family: lab.MySQL, Version: "8.0.36", BaseDir: ".", MessagesDir: "share", PluginDir: "lib/plugin"},
		},
		{
			"Oracle 5.6 tarball", "bin/mysqld", "5.6.51-log", []string{"share/english/errmsg.sys", "lib/plugin/x", "share/mysql_system_tables.sql", "share/mysql_system_tables_data.sql"},
			lab.Build{Family: lab.MySQL, Version: "5.6.51-log", BaseDir: ".", MessagesDir: "share", PluginDir: "lib/plugin",
				SystemSQL: []string{"share/mysql_system_tables.sql", "share/mysql_system_tables_data.sql"}},
		},
		{
			"Debian tree", "usr/sbin/mariadbd", "11.8.9-MariaDB-1", []string{"usr/share/mysql/x", "usr/share/mariadb/english/errmsg.sys", "usr/lib/mysql/plugin/x",
				"usr/share/mariadb/mariadb_system_tables.sql", "usr/share/mariadb/mariadb_performance_tables.sql", "usr/share/mariadb/mariadb_system_tables_data.sql"},
			lab.Build{Family: lab.MariaDB, Version: "11.8.9-MariaDB-1", BaseDir: "usr", MessagesDir: "usr/share/mariadb", PluginDir: "usr/lib/mysql/plugin",
				SystemSQL: []string{"usr/share/mariadb/mariadb_system_tables.sql", "usr/share/mariadb/mariadb_performance_tables.sql", "usr/share/mariadb/mariadb_system_tables_data.sql"}},
		},
		{
			"make install", "sbin/mysqld", "5.7.44", []string{"share/mysql/english/errmsg.sys"},
			lab.Build{Family: lab.MySQL, Version: "5.7.44", BaseDir: ".", MessagesDir: "share/mysql"},
		},
		{
			"RPM tree", "usr/libexec/mariadbd", "10.6.1-MariaDB", []string{"usr/share/mariadb/english/errmsg.sys", "usr/lib64/mysql/plugin/x", "usr/share/mariadb/mysql_system_tables.sql"},
			lab.Build{Family: lab.MariaDB, Version: "10.6.1-MariaDB", BaseDir: "usr", MessagesDir: "usr/share/mariadb", PluginDir: "usr/lib64/mysql/plugin",
				SystemSQL: []string{"usr/share/mariadb/mysql_system_tables.sql"}},
		},
		{
			"server at the top", "mysqld", "5.6.24", []string{"share/english/errmsg.sys", "share/mysql_system_tables.sql", "share/mysql_system_tables_data.sql"},
			lab.Build{Family: lab.MySQL, Version: "5.6.24", BaseDir: ".", MessagesDir: "share",
				SystemSQL: []string{"share/mysql_system_tables.sql", "share/mysql_system_tables_data.sql"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := fakeTree(t, tt.server, tt.version, tt.files...)
			c := &Cache{Dir: t.TempDir()}
			got, err := c.Build(context.Background(), "dir:"+root)
			if err != nil {
				t.Fatal(err)
			}
			want := tt.want
			want.Name, want.Origin, want.Dir, want.Server = "dir:"+root, "dir", root, filepath.Join(root, tt.server)
			want.BaseDir, want.MessagesDir = filepath.Join(root, want.BaseDir), filepath.Join(root, want.MessagesDir)
			if want.PluginDir != "" {
				want.PluginDir = filepath.Join(root, want.PluginDir)
			}
			for i := range want.SystemSQL {
				want.SystemSQL[i] = filepath.Join(root, want.SystemSQL[i])
			}
			if want.ID, err = binaryID(want.Server); err != nil {
				t.Fatal(err)
			}
			want.Flags = got.Flags // whatever compiled the test
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			have, err := c.Installed()
			if err != nil || len(have) != 1 || !cmp.Equal(have[0], got) {
				t.Errorf("Installed: %v, %v", have, err)
			}
		})
	}
}

func TestDirRefused(t *testing.T) {
	script := t.TempDir()
	write(t, script, map[string]string{"bin/mysqld": "#!/bin/sh\n", "share/english/errmsg.sys": ""})
	noVersion := fakeTree(t, "bin/mysqld", "unknown", "share/english/errmsg.sys")
	for _, tt := range []struct{ dir, want string }{
		{t.TempDir() + "/none", "is not a directory"},
		{t.TempDir(), "no server in it"},
		{script, "no server in it"},
		{fakeTree(t, "bin/mysqld", "8.0.1"), "no english/errmsg.sys"},
		{noVersion, "names no version"},
	} {
		c := &Cache{Dir: t.TempDir()}
		_, err := c.Build(context.Background(), "dir:"+tt.dir)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.dir, err, tt.want)
		}
		if have, _ := c.Installed(); len(have) > 0 {
			t.Errorf("%s: looks installed", tt.dir)
		}
	}
}

// A rebuilt tree is another build, though its name is the same.
func TestDirFollowsTheBinary(t *testing.T) {
	root := fakeTree(t, "bin/mysqld", "8.0.1", "share/english/errmsg.sys")
	c := &Cache{Dir: t.TempDir()}
	a, err := c.Build(context.Background(), "dir:"+root)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile(a.Server)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(a.Server); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.Server, append(self, 0), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, root, map[string]string{"bin/VERSION": "8.0.2"})
	b, err := c.Build(context.Background(), "dir:"+root)
	if err != nil {
		t.Fatal(err)
	}
	if b.ID == a.ID || b.Version != "8.0.2" {
		t.Errorf("got %s %s after %s %s", b.Version, b.ID, a.Version, a.ID)
	}
}

func TestParseVersion(t *testing.T) {
	for _, tt := range []struct {
		out     string
		family  lab.Family
		version string
	}{
		{"/x/usr/sbin/mariadbd  Ver 10.5.29-MariaDB-0+deb11u1 for debian-linux-gnu on x86_64 (Debian 11)\n", lab.MariaDB, "10.5.29-MariaDB-0+deb11u1"},
		{"/x/mysqld  Ver 5.6.24 for linux-glibc2.5 on x86_64 (MySQL Community Server (GPL))\n", lab.MySQL, "5.6.24"},
		{"/x/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))\n", lab.MySQL, "9.7.4-2"},
		{"warning: x\nmysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28)\n", lab.MySQL, "8.0.36-28"},
	} {
		f, v, err := parseVersion(tt.out)
		if err != nil || f != tt.family || v != tt.version {
			t.Errorf("parseVersion(%q) = %s, %s, %v", tt.out, f, v, err)
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add("mysqld  Ver 5.6.24 for linux-glibc2.5 on x86_64")
	f.Add("Ver 1.2")
	f.Fuzz(func(t *testing.T, out string) {
		family, version, err := parseVersion(out)
		if err == nil && (family == "" || lab.Build{Version: version}.VersionNumber() == [3]int{} && strings.Trim(version, "0.") == version) {
			t.Errorf("%q: %q %q", out, family, version)
		}
	})
}

func TestUnwritableCache(t *testing.T) {
	root := fakeTree(t, "bin/mysqld", "8.0.1", "share/english/errmsg.sys")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c := &Cache{Dir: filepath.Join(file, "cache")} // also for root, who may write anywhere
	_, err := c.Build(context.Background(), "dir:"+root)
	if err == nil || !strings.Contains(err.Error(), "write to the cache") || !strings.Contains(err.Error(), "choose another") {
		t.Errorf("got %v", err)
	}
	var pe *os.PathError
	if !errors.As(err, &pe) {
		t.Errorf("cause lost: %v", err)
	}
}
