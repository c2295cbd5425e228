package fetch

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"backslide/lab"
	"backslide/proc"
)

// errNoServer means that a tree holds no server where one could be.
var errNoServer = errors.New("no server in it (mariadbd or mysqld in bin, sbin, libexec, usr/sbin, usr/libexec or the top)")

// describe finds out what there is to know of a tree: where its parts are, what loads it,
// and the family and version that the server itself reports. It leaves Origin, ID and
// Packages to the caller. A server that cannot be loaded here is a *PreflightError.
func describe(ctx context.Context, name, root string) (lab.Build, error) {
	server, base, err := findServer(root)
	if err != nil {
		return lab.Build{}, err
	}
	o, err := readObject(server)
	if err != nil {
		return lab.Build{}, fmt.Errorf("read %s: %w", server, err)
	}
	libs := libraryDirs(root, base)
	b := lab.Build{
		Name: name, Dir: root, Server: server, BaseDir: base,
		Loader:      findLoader(root, o.interp, libs),
		MessagesDir: firstDir("english/errmsg.sys", shareDirs(base)),
		PluginDir:   firstDir(".", []string{base + "/lib/plugin", base + "/lib/mysql/plugin", base + "/lib/mariadb/plugin", base + "/lib64/mysql/plugin", base + "/lib64/plugin"}),
		Preloads:    findPreloads(libs),
		Flags:       compiler(server),
	}
	if b.MessagesDir == "" {
		return lab.Build{}, fmt.Errorf("%s: no english/errmsg.sys in its share directory; the server needs it", root)
	}
	if b.LibraryPath, err = usedDirs(b, libs); err != nil {
		return lab.Build{}, err
	}
	if err := Preflight(b); err != nil {
		return lab.Build{}, err
	}
	if i := slices.IndexFunc(b.LibraryPath, func(d string) bool { return strings.Contains(d, ":") }); i >= 0 {
		return lab.Build{}, fmt.Errorf("%s: the loader takes a colon for the end of a path: put the tree, or the cache, where there is none", b.LibraryPath[i])
	}
	if b.Family, b.Version, err = askVersion(ctx, b); err != nil {
		return lab.Build{}, err
	}
	b.SystemSQL = systemSQL(b)
	return b, nil
}

// findServer returns the server binary of a tree and its --basedir.
func findServer(root string) (server, base string, err error) {
	for _, dir := range []string{"usr/sbin", "sbin", "bin", "libexec", "usr/libexec", "usr/bin", "."} {
		for _, name := range []string{"mariadbd", "mysqld"} {
			path := filepath.Join(root, dir, name)
			if isFile(path) && isELF(path) {
				base := root
				if dir != "." {
					base = filepath.Dir(filepath.Join(root, dir))
				}
				return path, base, nil
			}
		}
	}
	return "", "", fmt.Errorf("%s: %w", root, errNoServer)
}

func isELF(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// libraryDirs returns the tree's directories that may hold shared libraries.
func libraryDirs(root, base string) []string {
	var out []string
	for _, d := range slices.Concat(
		glob(root, "usr/lib/*-linux-*"), glob(root, "lib/*-linux-*"),
		[]string{root + "/usr/lib64", root + "/lib64", root + "/usr/lib", root + "/lib", base + "/lib/private", base + "/lib", base},
	) {
		if st, err := os.Stat(d); err == nil && st.IsDir() && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// glob returns the paths below root that match a pattern, in order. Root itself may hold
// signs of patterns.
func glob(root, pattern string) []string {
	found, _ := fs.Glob(os.DirFS(root), pattern) // the patterns are valid
	for i := range found {
		found[i] = filepath.Join(root, found[i])
	}
	return found
}

// findLoader returns the tree's own loader, when it has one and a C library with it, and
// they are not the host's.
func findLoader(root, interp string, libs []string) string {
	if interp == "" || !slices.ContainsFunc(libs, func(d string) bool { return isFile(d + "/libc.so.6") }) {
		return ""
	}
	for _, d := range append([]string{root + filepath.Dir(interp), root + "/usr" + filepath.Dir(interp)}, libs...) {
		p := filepath.Join(d, filepath.Base(interp))
		if isFile(p) && sameFile(p, interp) {
			return ""
		}
		if isFile(p) {
			return p
		}
	}
	return ""
}

func sameFile(a, b string) bool {
	sa, errA := os.Stat(a)
	sb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(sa, sb)
}

// usedDirs returns those of the tree's library directories that the build's binaries load
// something from which they would not find there by themselves.
func usedDirs(b lab.Build, libs []string) ([]string, error) {
	alone := newLoaderView(b.Loader, nil)
	view := newLoaderView(b.Loader, libs)
	used := map[string]bool{}
	for _, binary := range binaries(b) {
		_, before, err := alone.check(binary)
		if err != nil {
			return nil, err
		}
		_, loaded, err := view.check(binary)
		if err != nil {
			return nil, err
		}
		for _, l := range loaded {
			if !slices.ContainsFunc(before, func(p string) bool { return sameFile(p, l) }) {
				used[filepath.Dir(l)] = true
			}
		}
	}
	var out []string
	for _, d := range libs {
		if used[d] {
			out = append(out, d)
		}
	}
	return out, nil
}

func shareDirs(base string) []string {
	return []string{base + "/share", base + "/share/mysql", base + "/share/mariadb"}
}

// firstDir returns the first of dirs that exists and holds file.
func firstDir(file string, dirs []string) string {
	for _, d := range dirs {
		if _, err := os.Stat(filepath.Join(d, file)); err == nil {
			return d
		}
	}
	return ""
}

// findPreloads returns the allocators that lie in dirs, by the names that configs use.
func findPreloads(dirs []string) map[string]string {
	out := map[string]string{}
	for _, a := range []struct{ name, pattern string }{
		{"jemalloc", "libjemalloc.so.[0-9]*"},
		{"tcmalloc", "libtcmalloc_minimal.so.[0-9]*"},
		{"tcmalloc", "libtcmalloc.so.[0-9]*"},
		{"mimalloc", "libmimalloc.so.[0-9]*"},
	} {
		for _, d := range dirs {
			found := glob(d, a.pattern)
			if out[a.name] == "" && len(found) > 0 {
				out[a.name] = found[0] // the soname: the shortest name sorts first
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// systemSQL returns the scripts that make the system tables, in order; none when the
// server makes them itself.
func systemSQL(b lab.Build) []string {
	var names []string
	switch {
	case b.Family == lab.MariaDB:
		names = []string{"system_tables.sql", "performance_tables.sql", "system_tables_data.sql"}
	case !b.AtLeast(5, 7, 0):
		names = []string{"system_tables.sql", "system_tables_data.sql"}
	}
	var out []string
	for _, n := range names {
		for _, prefix := range []string{"mariadb_", "mysql_"} {
			if d := firstDir(prefix+n, shareDirs(b.BaseDir)); d != "" {
				out = append(out, filepath.Join(d, prefix+n))
				break
			}
		}
	}
	return out
}

// askVersion runs the server with --version through the tree's loader.
func askVersion(ctx context.Context, b lab.Build) (lab.Family, string, error) {
	c := proc.Command{Args: []string{b.Server, "--no-defaults", "--version"}, Timeout: time.Minute}
	path := strings.Join(b.LibraryPath, ":")
	switch {
	case b.Loader != "":
		c.Args = append([]string{b.Loader, "--library-path", path}, c.Args...)
	case path != "":
		c.Env = append(os.Environ(), "LD_LIBRARY_PATH="+path)
	}
	out, err := proc.Output(ctx, c)
	if err != nil {
		return "", "", fmt.Errorf("ask %s for its version: %w", b.Server, err)
	}
	return parseVersion(string(out))
}

// parseVersion reads what a server prints for --version.
func parseVersion(out string) (lab.Family, string, error) {
	m := regexp.MustCompile(`\bVer (\d+\.\d+\.\d+\S*)`).FindStringSubmatch(out)
	if m == nil {
		return "", "", fmt.Errorf("%q names no version", strings.TrimSpace(out))
	}
	if strings.Contains(m[1], "MariaDB") {
		return lab.MariaDB, m[1], nil
	}
	return lab.MySQL, m[1], nil
}

// compiler returns the compiler that a binary names in its .comment section.
func compiler(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	s := f.Section(".comment")
	if s == nil || s.Size > 1<<16 {
		return ""
	}
	text, err := s.Data()
	if err != nil {
		return ""
	}
	var out []string
	for _, c := range strings.Split(string(text), "\x00") {
		if c != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return strings.Join(out, "; ")
}
