// Package fetch brings builds of database servers to this host, once, into a cache
// directory: from the suites of the machine's own Debian mirror through apt, from npm,
// from a tarball, or an existing tree in place. It needs no root and no containers and
// writes nothing outside the cache directory. It says what a tree lacks before anyone
// starts it (Preflight); it starts no server itself beyond asking for its version.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"backslide/lab"
)

// Cache is a directory of builds. Several processes may use one directory at once. The
// zero values of all fields but Dir are useful.
type Cache struct {
	Dir    string                           // absolute; made when needed
	Log    func(format string, args ...any) // progress, one line a call; may be nil; called from several goroutines
	MaxAge time.Duration                    // of package lists before they are fetched anew; 0: a day

	stall time.Duration // a download that brings nothing for so long has failed; 0: a minute
}

// DefaultDir returns the cache directory that every user of a machine account shares:
// backslide below the user's cache directory.
func DefaultDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory: %w; set XDG_CACHE_HOME", err)
	}
	return filepath.Join(dir, "backslide"), nil
}

// Build returns the build called name, fetching it unless it is installed. Names are
//
//	mariadb@10.5, mysql@9.7, mysql@5.6    the newest of a series
//	mariadb@10.5.23                       that release
//	mariadb@11.8+sid                      from that suite, compiled by its compiler
//	dir:/opt/mysql-8.0                    a tree in place; it is never written to
//	tar:FILE-or-URL#sha256=HEX            a tarball with its digest
//
// An installed build is returned without looking for newer releases of its series.
func (c *Cache) Build(ctx context.Context, name string) (lab.Build, error) {
	b, err := c.build(ctx, name)
	if err != nil {
		return lab.Build{}, fmt.Errorf("build %s: %w", withoutUser(name), err)
	}
	b.Name = name
	return b, nil
}

func (c *Cache) build(ctx context.Context, name string) (lab.Build, error) {
	if path, ok := strings.CutPrefix(name, "dir:"); ok {
		return c.useDir(ctx, path)
	}
	if rest, ok := strings.CutPrefix(name, "tar:"); ok {
		return c.useTar(ctx, rest)
	}
	name = strings.ToLower(name)
	w, err := parseName(name)
	if err != nil {
		offers, _ := c.offers(ctx)
		return lab.Build{}, fmt.Errorf("%w%s", err, lab.Suggest(name, c.names(offers)))
	}
	// A broken manifest elsewhere is not in the way of this build.
	have, _ := c.Installed()
	for _, b := range have {
		if b.Name == name || w.is(b) {
			return b, nil
		}
	}
	offers, trouble := c.offers(ctx)
	o, ok := w.pick(offers)
	switch {
	case !ok && len(offers) == 0 && trouble != nil:
		return lab.Build{}, trouble
	case !ok && trouble != nil:
		return lab.Build{}, fmt.Errorf("no such build here%s (not every source answered: %w)", lab.Suggest(name, c.names(offers)), trouble)
	case !ok:
		return lab.Build{}, fmt.Errorf("no such build here%s", lab.Suggest(name, c.names(offers)))
	}
	for _, b := range have {
		if o.installedAs(b) {
			return b, nil
		}
	}
	if o.npm {
		return c.fetchNPM(ctx, name, o)
	}
	return c.fetchApt(ctx, name, o)
}

// wanted is a parsed build name.
type wanted struct {
	family  lab.Family
	version string // one to three dotted numbers
	suite   string // empty: any
}

func parseName(name string) (wanted, error) {
	family, rest, ok := strings.Cut(name, "@")
	if !ok || family != string(lab.MySQL) && family != string(lab.MariaDB) {
		return wanted{}, errors.New("not a build's name (family@version, dir:PATH or tar:FILE#sha256=HEX)")
	}
	version, suite, _ := strings.Cut(rest, "+")
	parts := strings.Split(version, ".")
	for _, p := range parts {
		if p == "" || len(parts) > 3 || strings.Trim(p, "0123456789") != "" {
			return wanted{}, fmt.Errorf("%q is not a version (10.5 or 10.5.23)", version)
		}
	}
	return wanted{family: lab.Family(family), version: version, suite: suite}, nil
}

// is reports whether b is the release that w names in full, made of packages.
func (w wanted) is(b lab.Build) bool {
	v := b.VersionNumber()
	return w.family == b.Family && w.suite == "" && w.version == fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) && len(b.Packages) > 0
}

// pick returns the first of offers, which are ranked, that w names.
func (w wanted) pick(offers []Offer) (Offer, bool) {
	for _, o := range offers {
		if o.Family == w.family && (o.Version == w.version || strings.HasPrefix(o.Version, w.version+".")) &&
			(w.suite == "" || w.suite == o.suite || w.suite == o.pocket) {
			return o, true
		}
	}
	return Offer{}, false
}

// Offer is a build that can be had here.
type Offer struct {
	Name    string // shortest name by which Build gets this one
	Family  lab.Family
	Version string // dotted numbers: 10.5.29
	Origin  string // apt bullseye-security, npm

	npm        bool
	suite      string // whose package lists have it: bullseye
	pocket     string // suite as the archive names it: bullseye-security
	pkg        string // main package
	pkgVersion string
}

// installedAs reports whether b was unpacked from this offer's main package.
func (o Offer) installedAs(b lab.Build) bool {
	if strings.HasPrefix(b.Name, "dir:") || strings.HasPrefix(b.Name, "tar:") {
		return false
	}
	return b.Origin == o.Origin && slices.ContainsFunc(b.Packages, func(p lab.Package) bool {
		return p.Name == o.pkg && p.Version == o.pkgVersion
	})
}

// names returns the names that offers and installed builds answer to.
func (c *Cache) names(offers []Offer) []string {
	var names []string
	for _, o := range offers {
		names = append(names, o.Name)
	}
	have, _ := c.Installed()
	for _, b := range have {
		names = append(names, b.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Available returns what can be had here, ranked: by family, then newest first, then the
// older suite first. It refreshes package lists older than MaxAge and falls back to those
// it has. A source that does not answer is logged; it is an error when none does.
func (c *Cache) Available(ctx context.Context) ([]Offer, error) {
	offers, trouble := c.offers(ctx)
	if len(offers) == 0 && trouble != nil {
		return nil, fmt.Errorf("find builds: %w", trouble)
	}
	if trouble != nil {
		c.logf("%v", trouble)
	}
	return offers, nil
}

// offers is Available with the trouble of single sources.
func (c *Cache) offers(ctx context.Context) ([]Offer, error) {
	var apt, npm []Offer
	var aptErr, npmErr error
	var wg sync.WaitGroup
	wg.Go(func() { apt, aptErr = c.aptOffers(ctx) })
	wg.Go(func() { npm, npmErr = c.npmOffers(ctx) })
	wg.Wait()
	offers := append(apt, npm...)
	rank(offers)
	return offers, errors.Join(aptErr, npmErr)
}

// rank sorts offers and gives each the shortest name that picks it.
func rank(offers []Offer) {
	slices.SortStableFunc(offers, func(a, b Offer) int {
		if a.Family != b.Family {
			return strings.Compare(string(a.Family), string(b.Family))
		}
		va, vb := lab.Build{Version: a.Version}.VersionNumber(), lab.Build{Version: b.Version}.VersionNumber()
		return slices.Compare(vb[:], va[:])
	})
	taken := map[string]bool{}
	for i := range offers {
		o := &offers[i]
		v := lab.Build{Version: o.Version}.VersionNumber()
		series := fmt.Sprintf("%s@%d.%d", o.Family, v[0], v[1])
		exact := fmt.Sprintf("%s@%s", o.Family, o.Version)
		for _, name := range []string{series, exact, series + "+" + o.suite, exact + "+" + o.pocket} {
			o.Name = name
			if !taken[name] {
				break
			}
		}
		taken[series], taken[exact], taken[series+"+"+o.suite], taken[o.Name] = true, true, true, true
	}
}

func (c *Cache) maxAge() time.Duration {
	if c.MaxAge == 0 {
		return 24 * time.Hour
	}
	return c.MaxAge
}

func (c *Cache) logf(format string, args ...any) {
	if c.Log != nil {
		c.Log(format, args...)
	}
}
