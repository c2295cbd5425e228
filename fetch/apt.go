package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"backslide/lab"
	"backslide/proc"
)

// defaultKeyring holds the keys of Debian's archives, where a source does not say.
const defaultKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// errNoApt is what a machine without apt gets.
func errNoApt(err error) error {
	return fmt.Errorf("releases by name come through apt: %w; use a tree that is here (dir:PATH), a tarball (tar:FILE-or-URL#sha256=HEX) or mysql@5.6 (npm)", err)
}

// readSources returns the Debian archives that the machine's apt is configured with.
func readSources(ctx context.Context) (main, security []source, err error) {
	out, err := proc.Output(ctx, proc.Command{Args: []string{"apt-config", "shell", "LIST", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d"}, Timeout: time.Minute})
	if err != nil {
		return nil, nil, errNoApt(err)
	}
	var files []string
	for line := range strings.Lines(string(out)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		v = strings.Trim(v, "'")
		switch {
		case v == "" || v == "/dev/null":
		case k == "LIST":
			files = append(files, v)
		case k == "PARTS":
			// As apt does: only these two endings, in the order of names.
			parts, _ := filepath.Glob(filepath.Join(v, "*"))
			for _, p := range parts {
				if e := filepath.Ext(p); e == ".list" || e == ".sources" {
					files = append(files, p)
				}
			}
		}
	}
	var all []source
	for _, f := range files {
		text, err := os.ReadFile(f)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read apt's sources: %w", err)
		}
		if filepath.Ext(f) == ".sources" {
			all = append(all, parseDeb822(string(text))...)
		} else {
			all = append(all, parseList(string(text))...)
		}
	}
	for i := range all {
		if _, err := os.Stat(defaultKeyring); all[i].keyring == "" && err == nil {
			all[i].keyring = defaultKeyring
		}
	}
	main, security = archives(all)
	if len(main) == 0 {
		return nil, nil, errNoApt(fmt.Errorf("none of its sources (%s) is a Debian archive", strings.Join(files, ", ")))
	}
	return main, security, nil
}

// apt is apt with directories of its own for one suite, so that any suite can be used
// beside the system's, as any user, and the system's package state is neither read nor
// changed.
type apt struct {
	suite string
	dir   string
}

func (c *Cache) apt(suite string) apt {
	return apt{suite: suite, dir: filepath.Join(c.Dir, "apt", suite)}
}

func (a apt) sources() string { return filepath.Join(a.dir, "sources.list") }
func (a apt) stamp() string   { return filepath.Join(a.dir, "stamp") }

// setup makes the directories and the configuration file. The state file is empty:
// otherwise installed packages would count as satisfied. Other configuration of the
// system (proxies, credentials, trusted keys) stays in force.
func (a apt) setup() error {
	for _, d := range []string{"state", "lists/partial", "cache/archives/partial", "tmp"} {
		if err := os.MkdirAll(filepath.Join(a.dir, d), 0o755); err != nil {
			return unwritable(err)
		}
	}
	if strings.ContainsAny(a.dir, "\";\n") {
		return fmt.Errorf("cache directory %q: apt's configuration cannot express this path", a.dir)
	}
	conf := fmt.Sprintf(`Dir::Etc::sourcelist "%[1]s/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "%[1]s/state";
Dir::State::lists "%[1]s/lists";
Dir::State::status "%[1]s/status";
Dir::Cache "%[1]s/cache";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "";
APT::Sandbox::User "";
APT::Get::List-Cleanup "false";
APT::Get::AllowUnauthenticated "false";
APT::Update::Error-Mode "any";
Acquire::AllowInsecureRepositories "false";
Acquire::Languages "none";
Acquire::PDiffs "false";
Acquire::Retries "2";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::DEP-11-icons-small;
#clear Acquire::IndexTargets::deb::DEP-11-icons;
#clear Acquire::IndexTargets::deb::Contents-deb;
`, a.dir)
	for name, text := range map[string]string{"apt.conf": conf, "status": ""} {
		path := filepath.Join(a.dir, name)
		if old, err := os.ReadFile(path); err == nil && string(old) == text {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return unwritable(err)
		}
	}
	return nil
}

// run runs an apt program with this suite's configuration, in workdir.
func (a apt) run(ctx context.Context, workdir, program string, args ...string) (string, error) {
	out, err := proc.Output(ctx, proc.Command{
		Args:    append([]string{program, "-q=2", "-c", filepath.Join(a.dir, "apt.conf")}, args...),
		Dir:     workdir,
		Env:     append(os.Environ(), "LC_ALL=C", "TMPDIR="+filepath.Join(a.dir, "tmp")),
		Timeout: 15 * time.Minute,
	})
	return string(out), err
}

// fresh reports whether the package lists are younger than age and were made from the
// archives that are configured now.
func (a apt) fresh(age time.Duration, main, security []source) bool {
	st, err := os.Stat(a.stamp())
	if err != nil || time.Since(st.ModTime()) > age {
		return false
	}
	have, err := os.ReadFile(a.sources())
	return err == nil && slices.Contains(candidates(a.suite, main, security), string(have))
}

// candidates returns the texts of sources.list to try for a suite, best first: each
// mirror with the security archive, then without.
func candidates(suite string, main, security []source) []string {
	var out []string
	for _, m := range main {
		for _, s := range security {
			out = append(out, m.line(suite)+s.line(suite+"-security"))
		}
		out = append(out, m.line(suite))
	}
	return out
}

// refresh fetches the suite's package lists. A source list takes the place of the one
// before only when it worked, so that a failure leaves the lists that were there.
func (a apt) refresh(ctx context.Context, main, security []source) error {
	try := a.sources() + ".try"
	defer os.Remove(try)
	var first error
	for _, text := range candidates(a.suite, main, security) {
		if err := os.WriteFile(try, []byte(text), 0o644); err != nil {
			return unwritable(err)
		}
		_, err := a.run(ctx, a.dir, "apt-get", "-o", "Dir::Etc::sourcelist="+try, "update")
		if err == nil {
			if err := os.Rename(try, a.sources()); err != nil {
				return unwritable(err)
			}
			return unwritableUnlessNil(os.WriteFile(a.stamp(), nil, 0o644))
		}
		if errors.Is(err, proc.ErrMissing) {
			return errNoApt(err)
		}
		if ctx.Err() != nil {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func unwritableUnlessNil(err error) error {
	if err == nil {
		return nil
	}
	return unwritable(err)
}

// update makes the suite usable: its lists are fresh, or there are at least old ones.
// With force they are fetched whatever their age.
func (c *Cache) update(ctx context.Context, a apt, main, security []source, force bool) error {
	unlock, err := c.lock(ctx, "apt-"+a.suite)
	if err != nil {
		return err
	}
	defer unlock()
	if err := a.setup(); err != nil {
		return err
	}
	age := c.MaxAge
	if age == 0 {
		age = 24 * time.Hour
	}
	if !force && a.fresh(age, main, security) {
		return nil
	}
	c.logf("%s: fetching package lists", a.suite)
	err = a.refresh(ctx, main, security)
	if err == nil || ctx.Err() != nil {
		return err
	}
	st, statErr := os.Stat(a.stamp())
	if statErr != nil {
		return fmt.Errorf("%s: %w", a.suite, err)
	}
	c.logf("%s: using package lists of %s: %v", a.suite, st.ModTime().Format(time.DateOnly), err)
	return nil
}

// aptOffers returns what the suites of the machine's Debian mirror have. A suite that the
// mirror does not have is not an error as long as one of them is there.
func (c *Cache) aptOffers(ctx context.Context) ([]Offer, error) {
	main, security, err := readSources(ctx)
	if err != nil {
		return nil, err
	}
	names := suites()
	found := make([][]Offer, len(names))
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			a := c.apt(name)
			if errs[i] = c.update(ctx, a, main, security, false); errs[i] == nil {
				found[i], errs[i] = a.offers(ctx)
			}
		})
	}
	wg.Wait()
	if !slices.Contains(errs, nil) {
		return nil, fmt.Errorf("no package lists of %s could be fetched and none are cached: %w; "+
			"check the network, or use a tree (dir:PATH) or a tarball (tar:FILE#sha256=HEX) that is here", strings.Join(names, ", "), errs[0])
	}
	for i, err := range errs {
		if err != nil {
			c.logf("%s: left out: %v", names[i], err)
		}
	}
	return slices.Concat(found...), nil
}

// offers lists the server packages of the suite in all their versions.
func (a apt) offers(ctx context.Context) ([]Offer, error) {
	names, err := a.packages(ctx, isCore, "mariadb-server-core", "mysql-server-core")
	if err != nil || len(names) == 0 {
		return nil, err
	}
	text, err := a.run(ctx, a.dir, "apt-cache", append([]string{"madison"}, names...)...)
	if err != nil {
		return nil, err
	}
	offers := parseMadison(text)
	for i := range offers {
		offers[i].suite = a.suite
	}
	return offers, nil
}

// packages returns the suite's packages that start with one of prefixes and that keep wants.
func (a apt) packages(ctx context.Context, keep func(string) bool, prefixes ...string) ([]string, error) {
	var names []string
	for _, prefix := range prefixes {
		text, err := a.run(ctx, a.dir, "apt-cache", "pkgnames", prefix)
		if err != nil {
			return nil, err
		}
		for _, n := range strings.Fields(text) {
			if keep(n) {
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// isAllocator reports whether a package holds one of the allocators that can be preloaded.
func isAllocator(pkg string) bool {
	for _, stem := range []string{"libjemalloc", "libtcmalloc-minimal", "libmimalloc"} {
		if n, ok := strings.CutPrefix(pkg, stem); ok && n != "" && strings.Trim(strings.TrimSuffix(n, "t64"), "0123456789.") == "" {
			return true
		}
	}
	return false
}

// plan returns the packages that make up an offer, with their digests in the signed index.
func (a apt) plan(ctx context.Context, o Offer) ([]deb, error) {
	// The core package's siblings of the same version: the SQL of the system tables, and MyRocks.
	siblings := []string{strings.Replace(o.pkg, "-core", "", 1), string(o.Family) + "-plugin-rocksdb"}
	roots := []string{o.pkg}
	for _, s := range siblings {
		if o.Family != lab.MariaDB {
			break // MySQL's core package is complete
		}
		text, err := a.run(ctx, a.dir, "apt-cache", "madison", s)
		if err != nil {
			return nil, err
		}
		if strings.Contains(text, "| "+o.pkgVersion+" |") {
			roots = append(roots, s)
		}
	}
	allocators, err := a.packages(ctx, isAllocator, "libjemalloc", "libtcmalloc", "libmimalloc")
	if err != nil {
		return nil, err
	}
	// mariadb-server is unpacked for its files; its dependencies (perl, init systems) are not wanted.
	walk := slices.DeleteFunc(append(slices.Clone(roots), allocators...), func(n string) bool { return n == siblings[0] })
	text, err := a.run(ctx, a.dir, "apt-cache", append([]string{"depends", "--recurse", "--important"}, walk...)...)
	if err != nil {
		return nil, err
	}
	exact := make([]string, len(roots))
	for i, r := range roots {
		exact[i] = r + "=" + o.pkgVersion
	}
	rootText, err := a.run(ctx, a.dir, "apt-cache", append([]string{"show"}, exact...)...)
	if err != nil {
		return nil, err
	}
	libText, err := a.run(ctx, a.dir, "apt-cache", append([]string{"show", "--no-all-versions"}, append(parseDepends(text), allocators...)...)...)
	if err != nil {
		return nil, err
	}
	index := append(parseDebs(rootText), parseDebs(libText)...)
	debs := closure(append(roots, allocators...), index)
	if len(debs) == 0 || debs[0].Version != o.pkgVersion {
		return nil, fmt.Errorf("%s %s: not in the package lists of %s", o.pkg, o.pkgVersion, a.suite)
	}
	return debs, nil
}

// fetchApt installs an offer of a Debian suite.
func (c *Cache) fetchApt(ctx context.Context, name string, o Offer) (lab.Build, error) {
	a := c.apt(o.suite)
	return c.install(ctx, folderOf(name), func(stage string) (lab.Build, error) {
		began := time.Now()
		debs, err := c.download(ctx, a, o, filepath.Join(stage, "debs"))
		if err != nil {
			return lab.Build{}, err
		}
		if err := unpack(ctx, filepath.Join(stage, "debs"), stage); err != nil {
			return lab.Build{}, err
		}
		if err := relink(stage); err != nil {
			return lab.Build{}, err
		}
		b, err := describe(ctx, name, stage)
		if err != nil {
			return lab.Build{}, err
		}
		b.Origin = o.Origin
		for _, d := range debs {
			b.Packages = append(b.Packages, d.Package)
		}
		b.ID = packagesID(b.Packages)
		c.logf("%s: %s from %s, %.0f s", name, b.Version, o.Origin, time.Since(began).Seconds())
		return b, nil
	})
}

// download brings an offer's packages into dir, each with the digest of the index. When a
// package is gone from the mirror, the lists are too old: they are fetched once more. What
// the mirror still does not have and the server can do without is then left out.
func (c *Cache) download(ctx context.Context, a apt, o Offer, dir string) ([]deb, error) {
	debs, err := a.plan(ctx, o)
	if err == nil {
		err = c.getDebs(ctx, a, debs, dir)
	}
	if err == nil || ctx.Err() != nil {
		return debs, err
	}
	main, security, srcErr := readSources(ctx)
	if srcErr != nil {
		return nil, err
	}
	c.logf("%s: %v", o.Name, err)
	if err := c.update(ctx, a, main, security, true); err != nil {
		return nil, err
	}
	if debs, err = a.plan(ctx, o); err != nil {
		return nil, err
	}
	if err = c.getDebs(ctx, a, debs, dir); err == nil {
		return debs, nil
	}
	kept := slices.DeleteFunc(slices.Clone(debs), func(d deb) bool {
		if !isOptional(d.Name) || c.getDebs(ctx, a, []deb{d}, dir) == nil {
			return false
		}
		c.logf("%s: left out %s %s, which the mirror lists and does not have", o.Name, d.Name, d.Version)
		return true
	})
	if len(kept) == len(debs) {
		return nil, err
	}
	return kept, c.getDebs(ctx, a, kept, dir)
}

// isOptional reports whether a server starts without a package: plugins and allocators.
func isOptional(pkg string) bool {
	return strings.Contains(pkg, "-plugin-") || isAllocator(pkg)
}

// getDebs downloads packages into dir, which it empties first, and checks their digests.
func (c *Cache) getDebs(ctx context.Context, a apt, debs []deb, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return unwritable(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return unwritable(err)
	}
	want := map[string]bool{}
	args := []string{"download"}
	var size int64
	for _, d := range debs {
		args = append(args, d.Name+"="+d.Version)
		want[d.SHA256] = true
		n, _ := lab.ParseBytes(d.size)
		size += n
	}
	c.logf("%s: downloading %d packages, %.0f MB", a.suite, len(debs), float64(size)/1e6)
	if _, err := a.run(ctx, dir, "apt-get", args...); err != nil {
		return err
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.deb"))
	for _, f := range files {
		sum, err := fileSHA256(f)
		if err != nil {
			return err
		}
		if !want[sum] {
			return fmt.Errorf("%s: SHA-256 %s is not in the package lists", filepath.Base(f), sum)
		}
		delete(want, sum)
	}
	if len(want) > 0 {
		return fmt.Errorf("apt-get download: %d packages are missing", len(want))
	}
	return nil
}

// unpack unpacks the packages in dir below root and removes dir.
func unpack(ctx context.Context, dir, root string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := proc.Output(ctx, proc.Command{Args: []string{"dpkg-deb", "-x", f, root}}); err != nil {
			return fmt.Errorf("unpack %s: %w", filepath.Base(f), err)
		}
	}
	return os.RemoveAll(dir)
}

func fileSHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
