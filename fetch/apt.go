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

	"backslide/proc"
)

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
		all[i].keyring = keyringFor(all[i].keyring)
	}
	main, security = archives(all)
	if len(main) == 0 {
		return nil, nil, errNoApt(fmt.Errorf("none of its sources (%s) is a Debian archive", strings.Join(files, ", ")))
	}
	return main, security, nil
}

// keyringFor returns the keyring to check a Debian archive with: the one with the keys of
// all suites, where it is installed, else the one that was configured.
func keyringFor(configured string) string {
	for _, k := range []string{"/usr/share/keyrings/debian-archive-keyring.gpg", "/usr/share/keyrings/debian-archive-keyring.pgp"} {
		if isFile(k) {
			return k
		}
	}
	return configured
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
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::Languages "none";
Acquire::PDiffs "false";
Acquire::Retries "1";
Acquire::Retries::Delay::Maximum "1";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
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
		// A mirror's address may hold a password.
		if err := os.WriteFile(try, []byte(text), 0o600); err != nil {
			return unwritable(err)
		}
		_, err := a.run(ctx, a.dir, "apt-get", "-o", "Dir::Etc::sourcelist="+try, "update")
		if err == nil {
			if err := os.Rename(try, a.sources()); err != nil {
				return unwritable(err)
			}
			return unwritable(os.WriteFile(a.stamp(), nil, 0o644))
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
	if !force && a.fresh(c.maxAge(), main, security) {
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
