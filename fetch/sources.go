package fetch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// suites lists the Debian suites that builds are looked for in, oldest first. Which of
// them the machine's mirror has is found by trying.
func suites() []string { return []string{"bullseye", "bookworm", "trixie", "sid"} }

// source is one archive of apt's configuration with one suite.
type source struct {
	uri      string
	suite    string
	keyring  string // file; empty: apt's trusted keys
	security bool   // the archive of security updates
}

// line returns the source in one-line form for another suite of the same archive.
func (s source) line(suite string) string {
	if s.keyring == "" {
		return fmt.Sprintf("deb %s %s main\n", s.uri, suite)
	}
	return fmt.Sprintf("deb [signed-by=%s] %s %s main\n", s.keyring, s.uri, suite)
}

// newSource returns the source of one entry and suite, if it can be a Debian archive: binary
// packages, component main, a suite that Debian has, and no key but Debian's. apt checks
// the signature in the end.
func newSource(uri, suite string, components []string, keyring string) (source, bool) {
	name, _, _ := strings.Cut(strings.TrimSuffix(suite, "/updates"), "-")
	ours := append(suites(), "buster", "forky", "duke", "oldoldstable", "oldstable", "stable", "testing", "unstable")
	scheme, _, _ := strings.Cut(uri, ":")
	switch {
	case !slices.Contains(ours, name) || !slices.Contains(components, "main"):
		return source{}, false
	case strings.TrimPrefix(suite, name) != "" && !slices.Contains([]string{"-security", "-updates", "/updates", "-backports", "-proposed-updates"}, strings.TrimPrefix(suite, name)):
		return source{}, false // bookworm-pgdg
	case keyring != "" && !strings.HasPrefix(filepath.Base(keyring), "debian-archive-"):
		return source{}, false
	case scheme == "cdrom" || uri == "" || strings.ContainsAny(uri+keyring, " \t\n]"):
		return source{}, false
	}
	return source{
		uri: uri, suite: suite, keyring: keyring,
		security: strings.HasSuffix(suite, "-security") || strings.HasSuffix(suite, "/updates"),
	}, true
}

// parseList reads apt's one-line form: deb [ key=value … ] uri suite component…
// Lines that are not Debian's are left out; so are lines that apt itself would refuse.
func parseList(text string) []source {
	var out []source
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb")
		if !ok || rest == "" || !strings.ContainsAny(rest[:1], " \t") {
			continue
		}
		keyring := ""
		rest = strings.TrimSpace(rest)
		if strings.HasPrefix(rest, "[") {
			opts, after, ok := strings.Cut(rest[1:], "]")
			if !ok {
				continue
			}
			for _, o := range strings.Fields(opts) {
				if k, v, _ := strings.Cut(o, "="); strings.EqualFold(k, "signed-by") {
					keyring = v
				}
			}
			rest = after
		}
		f := strings.Fields(rest)
		if len(f) < 3 {
			continue
		}
		if s, ok := newSource(f[0], f[1], f[2:], keyring); ok {
			out = append(out, s)
		}
	}
	return out
}

// parseDeb822 reads apt's .sources form: stanzas of fields.
func parseDeb822(text string) []source {
	var out []source
	for _, st := range stanzas(text) {
		if strings.EqualFold(st["enabled"], "no") || !slices.Contains(strings.Fields(st["types"]), "deb") {
			continue
		}
		for _, uri := range strings.Fields(st["uris"]) {
			for _, suite := range strings.Fields(st["suites"]) {
				if s, ok := newSource(uri, suite, strings.Fields(st["components"]), st["signed-by"]); ok {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// archives returns the distinct archives among sources: those of releases and those of
// security updates, in the order in which they are configured.
func archives(all []source) (main, security []source) {
	seen := map[source]bool{}
	for _, s := range all {
		s.suite = ""
		if seen[s] {
			continue
		}
		seen[s] = true
		if s.security {
			security = append(security, s)
		} else {
			main = append(main, s)
		}
	}
	return main, security
}

// stanzas splits text in Debian's control format into fields by lower-case name.
// Continuation lines are joined with newlines, comment lines dropped.
func stanzas(text string) []map[string]string {
	var out []map[string]string
	cur, last := map[string]string{}, ""
	for line := range strings.Lines(text + "\n\n") {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			if len(cur) > 0 {
				out = append(out, cur)
			}
			cur, last = map[string]string{}, ""
		case line[0] == ' ' || line[0] == '\t':
			if last != "" {
				cur[last] += "\n" + strings.TrimSpace(line)
			}
		default:
			k, v, ok := strings.Cut(line, ":")
			if !ok || k == "" {
				last = ""
				continue
			}
			last = strings.ToLower(k)
			cur[last] = strings.TrimSpace(v)
		}
	}
	return out
}
