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
	"time"

	"backslide/lab"
)

// Cache is a directory of builds. Several processes may use one directory at once. The
// zero values of all fields but Dir are useful.
type Cache struct {
	Dir    string                           // absolute; made when needed
	Log    func(format string, args ...any) // progress, one line a call; may be nil; called from several goroutines
	MaxAge time.Duration                    // of package lists before they are fetched anew; 0: a day
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
		return lab.Build{}, fmt.Errorf("build %s: %w", name, err)
	}
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
		return lab.Build{}, fmt.Errorf("%w%s", err, lab.Suggest(name, c.installedNames()))
	}
	// A broken manifest elsewhere is not in the way of this build.
	have, _ := c.Installed()
	for _, b := range have {
		if b.Name == name || w.exact() && w.suite == "" && w.is(b) {
			b.Name = name
			return b, nil
		}
	}
	offers, err := c.Available(ctx)
	o, ok := w.pick(offers)
	switch {
	case !ok && err != nil:
		return lab.Build{}, err
	case !ok:
		return lab.Build{}, fmt.Errorf("no such build here%s", lab.Suggest(name, append(offerNames(offers), c.installedNames()...)))
	}
	for _, b := range have {
		if o.installedAs(b) {
			b.Name = name
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

func (w wanted) exact() bool { return strings.Count(w.version, ".") == 2 }

// is reports whether b is a release that w names exactly.
func (w wanted) is(b lab.Build) bool {
	v := b.VersionNumber()
	return w.family == b.Family && w.version == fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) && len(b.Packages) > 0
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

func offerNames(offers []Offer) []string {
	var names []string
	for _, o := range offers {
		names = append(names, o.Name)
	}
	return names
}

// Available returns what can be had here, ranked: by family, then newest first, then the
// older suite first. It refreshes package lists older than MaxAge and falls back to those
// it has; when one source fails and another answers, it returns what there is along with
// the error.
func (c *Cache) Available(ctx context.Context) ([]Offer, error) {
	apt, aptErr := c.aptOffers(ctx)
	npm, npmErr := c.npmOffers(ctx)
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

func (c *Cache) logf(format string, args ...any) {
	if c.Log != nil {
		c.Log(format, args...)
	}
}
