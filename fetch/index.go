package fetch

import (
	"slices"
	"strings"

	"backslide/lab"
)

// parseMadison reads apt-cache madison: package | version | uri suite/component arch Packages.
func parseMadison(text string) []Offer {
	var out []Offer
	for line := range strings.Lines(text) {
		f := strings.Split(line, "|")
		if len(f) != 3 {
			continue
		}
		where := strings.Fields(f[2])
		if len(where) < 4 || where[len(where)-1] != "Packages" {
			continue
		}
		pocket, _, ok := strings.Cut(where[1], "/")
		o := Offer{pkg: strings.TrimSpace(f[0]), pkgVersion: strings.TrimSpace(f[1]), pocket: pocket}
		o.Version = upstream(o.pkgVersion)
		family, _, _ := strings.Cut(o.pkg, "-")
		o.Family = lab.Family(family)
		o.Origin = "apt " + pocket
		if ok && o.Version != "" && isCore(o.pkg) {
			out = append(out, o)
		}
	}
	return out
}

// isCore reports whether a package holds a server binary: mariadb-server-core or
// mysql-server-core, in some suites with the series behind.
func isCore(pkg string) bool {
	rest, ok := strings.CutPrefix(pkg, "mariadb-server-core")
	if !ok {
		rest, ok = strings.CutPrefix(pkg, "mysql-server-core")
	}
	return ok && (rest == "" || rest[0] == '-' && len(rest) > 1 && strings.Trim(rest[1:], "0123456789.") == "")
}

// upstream returns the dotted numbers that a package's version starts with, without
// epoch and revision: 1:11.8.9+ds-4 is 11.8.9. Empty: it has none.
func upstream(version string) string {
	if _, rest, ok := strings.Cut(version, ":"); ok {
		version = rest
	}
	end := strings.IndexFunc(version, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end >= 0 {
		version = version[:end]
	}
	return strings.Trim(version, ".")
}

// parseDepends reads the package names of apt-cache depends --recurse: the lines that are
// not indented. Virtual packages stand in angle brackets and are left out.
func parseDepends(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.ContainsAny(line[:1], " \t|<") {
			continue
		}
		name, _, _ := strings.Cut(line, ":") // an architecture may follow
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// deb is one package of the index.
type deb struct {
	lab.Package
	size     string
	section  string
	depends  [][]string // alternatives of names, without versions
	provides []string
}

func parseDebs(text string) []deb {
	var out []deb
	for _, st := range stanzas(text) {
		if st["package"] == "" || st["version"] == "" {
			continue
		}
		_, section, ok := strings.Cut(st["section"], "/")
		if !ok {
			section = st["section"]
		}
		d := deb{
			Package: lab.Package{Name: st["package"], Version: st["version"], SHA256: strings.ToLower(st["sha256"])},
			size:    st["size"], section: section,
			depends: append(relations(st["pre-depends"]), relations(st["depends"])...),
		}
		for _, alt := range relations(st["provides"]) {
			d.provides = append(d.provides, alt...)
		}
		out = append(out, d)
	}
	return out
}

// relations reads a dependency field: groups of alternatives, names only.
func relations(field string) [][]string {
	var out [][]string
	for _, group := range strings.Split(field, ",") {
		var alts []string
		for _, a := range strings.Split(group, "|") {
			a = strings.TrimSpace(a)
			if end := strings.IndexAny(a, " (:[<\t\n"); end >= 0 {
				a = a[:end]
			}
			if a != "" {
				alts = append(alts, a)
			}
		}
		if len(alts) > 0 {
			out = append(out, alts)
		}
	}
	return out
}

// closure returns the packages to unpack for roots: the roots themselves and, over their
// dependencies, everything in the section of shared libraries. That leaves out what a
// server does not load (perl, debconf, init systems, clients) without a list of names;
// Preflight then proves that nothing is missing.
func closure(roots []string, index []deb) []deb {
	byName := map[string]deb{}
	provider := map[string]string{}
	for _, d := range index {
		if _, ok := byName[d.Name]; ok {
			continue // the first is the candidate
		}
		byName[d.Name] = d
		for _, p := range d.provides {
			if provider[p] == "" {
				provider[p] = d.Name
			}
		}
	}
	var out []deb
	seen := map[string]bool{}
	for todo := slices.Clone(roots); len(todo) > 0; todo = todo[1:] {
		d, ok := byName[todo[0]]
		if !ok || seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		out = append(out, d)
		for _, alts := range d.depends {
			for _, a := range alts {
				if _, ok := byName[a]; !ok {
					a = provider[a]
				}
				if dep, ok := byName[a]; ok {
					if dep.section == "libs" || dep.section == "oldlibs" {
						todo = append(todo, a)
					}
					break
				}
			}
		}
	}
	return out
}
