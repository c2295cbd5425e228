package fetch

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"backslide/lab"
)

// WithPreload returns b with the allocator of that name among its preloads. Builds from
// Debian have the allocators of their own suite in their tree. One that runs on the host's
// libraries gets the host's suite's, fetched into the cache and checked as builds are.
func (c *Cache) WithPreload(ctx context.Context, b lab.Build, name string) (lab.Build, error) {
	if name == "" || name == lab.Glibc || filepath.IsAbs(name) || b.Preloads[name] != "" {
		return b, nil
	}
	if b.Loader != "" {
		return b, fmt.Errorf("%s runs on C libraries of its own, and its tree has no allocator %q%s", b.Name, name, lab.Suggest(name, sortedKeys(b.Preloads)))
	}
	have, err := c.hostAllocators(ctx)
	if err != nil {
		return b, fmt.Errorf("allocator %s for %s: %w; an absolute path to a shared object works too", name, b.Name, err)
	}
	if have[name] == "" {
		return b, fmt.Errorf("no allocator %q for %s here%s; an absolute path to a shared object works too", name, b.Name, lab.Suggest(name, sortedKeys(have)))
	}
	merged := map[string]string{name: have[name]}
	for n, path := range b.Preloads {
		merged[n] = path
	}
	b.Preloads = merged
	return b, nil
}

func sortedKeys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// hostAllocators returns the allocators of the host's own suite, fetching them once.
func (c *Cache) hostAllocators(ctx context.Context) (map[string]string, error) {
	suite, err := hostSuite("/etc/os-release")
	if err != nil {
		return nil, err
	}
	folder := "allocators-" + suite
	unlock, err := c.lock(ctx, folder)
	if err != nil {
		return nil, err
	}
	defer unlock()
	final := filepath.Join(c.Dir, "allocators", suite)
	sweepAllocators(final)
	if have := findPreloads(allocatorDirs(final)); have != nil {
		return have, nil
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return nil, unwritable(err)
	}
	stage, err := os.MkdirTemp(filepath.Dir(final), "."+suite+"-")
	if err != nil {
		return nil, unwritable(err)
	}
	defer os.RemoveAll(stage)
	if err := c.fetchAllocators(ctx, c.apt(suite), stage); err != nil {
		return nil, err
	}
	if err := syncTree(stage); err != nil {
		return nil, unwritable(err)
	}
	if err := os.RemoveAll(final); err != nil {
		return nil, unwritable(err)
	}
	if err := os.Rename(stage, final); err != nil {
		return nil, unwritable(err)
	}
	return findPreloads(allocatorDirs(final)), nil
}

// sweepAllocators removes what fetches that were killed left beside the folder final, whose
// lock the caller holds.
func sweepAllocators(final string) {
	for _, dead := range glob(filepath.Dir(final), "."+filepath.Base(final)+"-*") {
		os.RemoveAll(dead) // it is in nobody's way
	}
}

// fetchAllocators downloads a suite's allocators and unpacks them into dir.
func (c *Cache) fetchAllocators(ctx context.Context, a apt, dir string) error {
	main, security, err := readSources(ctx)
	if err != nil {
		return err
	}
	if err := c.update(ctx, a, main, security, false); err != nil {
		return err
	}
	names, err := a.packages(ctx, isAllocator, "libjemalloc", "libtcmalloc", "libmimalloc")
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("suite %s has none of the allocators", a.suite)
	}
	text, err := a.run(ctx, a.dir, "apt-cache", append([]string{"show", "--no-all-versions"}, names...)...)
	if err != nil {
		return err
	}
	debs := filepath.Join(dir, "debs")
	if err := c.getDebs(ctx, a, parseDebs(text), debs); err != nil {
		return err
	}
	return unpack(ctx, debs, dir)
}

// allocatorDirs returns the directories of libraries of unpacked packages.
func allocatorDirs(root string) []string {
	return glob(root, "usr/lib/*-linux-gnu")
}

// hostSuite returns the Debian suite that the host runs, as its os-release file says.
func hostSuite(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("find the host's suite: %w", err)
	}
	defer f.Close()
	values := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		k, v, _ := strings.Cut(lines.Text(), "=")
		values[k] = strings.Trim(v, `"'`)
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("find the host's suite: %w", err)
	}
	suite := values["VERSION_CODENAME"]
	if values["ID"] != "debian" || !slices.Contains(suites(), suite) {
		return "", fmt.Errorf("the host is %q %q, and allocators are fetched for Debian's %s", values["ID"], suite, strings.Join(suites(), ", "))
	}
	return suite, nil
}
