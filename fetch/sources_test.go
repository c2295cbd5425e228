package fetch

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"backslide/lab"

	"github.com/google/go-cmp/cmp"
)

const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

func TestParseList(t *testing.T) {
	const text = `# comment
deb http://mirror.example/debian bookworm main contrib   # trailing
deb-src http://mirror.example/debian bookworm main
deb [arch=amd64 signed-by=` + keyring + `] http://mirror.example/debian bookworm-updates main
deb [ signed-by=/usr/share/keyrings/vendor.gpg ] http://vendor.example/apt bookworm main
deb http://vendor.example/apt bookworm stable
deb http://pg.example/apt bookworm-pgdg main
deb	http://sec.example/debian-security	bookworm-security	main
deb http://sec.example/debian-security buster/updates main
deb mirror+file:/etc/apt/mirrors/debian.list stable main
deb http://archive.example/ubuntu noble main
deb cdrom:[Debian]/ bookworm main
deb [broken http://mirror.example/debian bookworm main
deb http://mirror.example/debian ./
debian
`
	want := []source{
		{uri: "http://mirror.example/debian", suite: "bookworm"},
		{uri: "http://mirror.example/debian", suite: "bookworm-updates", keyring: keyring},
		{uri: "http://sec.example/debian-security", suite: "bookworm-security", security: true},
		{uri: "http://sec.example/debian-security", suite: "buster/updates", security: true},
		{uri: "mirror+file:/etc/apt/mirrors/debian.list", suite: "stable"},
	}
	if d := cmp.Diff(want, parseList(text), cmp.AllowUnexported(source{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestParseDeb822(t *testing.T) {
	const text = `Types: deb deb-src
# a comment within
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: ` + keyring + `

Types: deb
URIs: http://sec.example/debian-security
Suites:
 bookworm-security
Components: main
Signed-By: ` + keyring + `

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: sid
Components: main

Types: deb
URIs: http://vendor.example/node
Suites: nodistro
Components: main
Signed-By: /usr/share/keyrings/vendor.gpg

Types: deb
URIs: http://vendor.example/deb
Suites: bookworm
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBGPL0BUBEADmW5NdOOHwPIJlgPu6JDcKw/NZJPR8lsD3K87ZM18gzyQZJD+w
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb-src
URIs: http://mirror.example/debian
Suites: trixie
Components: main
`
	want := []source{
		{uri: "http://mirror.example/debian", suite: "bookworm", keyring: keyring},
		{uri: "http://mirror.example/debian", suite: "bookworm-updates", keyring: keyring},
		{uri: "http://sec.example/debian-security", suite: "bookworm-security", keyring: keyring, security: true},
	}
	got := parseDeb822(text)
	if d := cmp.Diff(want, got, cmp.AllowUnexported(source{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	main, security := archives(got)
	if len(main) != 1 || len(security) != 1 {
		t.Fatalf("archives: %v, %v", main, security)
	}
	lines := []string{
		"deb [signed-by=" + keyring + "] http://mirror.example/debian trixie main\n" +
			"deb [signed-by=" + keyring + "] http://sec.example/debian-security trixie-security main\n",
		"deb [signed-by=" + keyring + "] http://mirror.example/debian trixie main\n",
	}
	if d := cmp.Diff(lines, candidates("trixie", main, security)); d != "" {
		t.Errorf("candidates (-want +got):\n%s", d)
	}
}

// Whatever a source file says, what goes into ours is whole lines of Debian archives.
func fuzzSources(f *testing.F, parse func(string) []source) {
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range parse(text) {
			line := s.line("sid")
			if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "sid main\n") || strings.Contains(s.uri, " ") ||
				s.keyring != "" && !strings.Contains(s.keyring, "debian-archive-") {
				t.Errorf("%q gives %q", text, line)
			}
			if again := parseList(line); len(again) != 1 || again[0].uri != s.uri || again[0].keyring != s.keyring {
				t.Errorf("%q is read as %+v, not as %+v", line, again, s)
			}
		}
	})
}

func FuzzParseList(f *testing.F) {
	f.Add("deb [signed-by=" + keyring + "] http://mirror.example/debian bookworm main\n")
	f.Add("deb http://a#b bookworm main")
	fuzzSources(f, parseList)
}

func FuzzParseDeb822(f *testing.F) {
	f.Add("Types: deb\nURIs: http://mirror.example/debian\nSuites: sid\nComponents: main\n\n")
	f.Add("types: deb\nuris: http://a#b\n c\nsuites: bookworm\ncomponents: main\nsigned-by: x\n")
	fuzzSources(f, parseDeb822)
}

func TestNoApt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	c := &Cache{Dir: t.TempDir()}
	_, err := c.Build(context.Background(), "mariadb@10.5")
	for _, want := range []string{"apt-config", "program not found", "dir:PATH", "tar:FILE-or-URL"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

// aptWith makes apt read text as the only source list of the machine.
func aptWith(t *testing.T, text string) {
	t.Helper()
	d := t.TempDir()
	write(t, d, map[string]string{
		"sources.list": text,
		"apt.conf":     `Dir::Etc::sourcelist "` + d + `/sources.list"; Dir::Etc::sourceparts "/dev/null";`,
	})
	t.Setenv("APT_CONFIG", filepath.Join(d, "apt.conf"))
	t.Setenv("npm_config_registry", "http://127.0.0.1:9/") // nobody listens there
	t.Setenv("npm_config_fetch_retries", "0")
}

func TestNoNetworkNothingCached(t *testing.T) {
	aptWith(t, "deb http://127.0.0.1:9/debian bookworm main\ndeb http://127.0.0.1:9/debian-security bookworm-security main\n")
	c := &Cache{Dir: t.TempDir()}
	_, err := c.Build(context.Background(), "mariadb@10.5")
	for _, want := range []string{"none are cached", "check the network", "dir:PATH"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if _, err := c.Available(context.Background()); err == nil {
		t.Error("Available: no error")
	}
}

func TestNoDebianArchive(t *testing.T) {
	aptWith(t, "deb http://127.0.0.1:9/ubuntu noble main\n")
	c := &Cache{Dir: t.TempDir()}
	_, err := c.Build(context.Background(), "mariadb@10.5")
	if err == nil || !strings.Contains(err.Error(), "is a Debian archive") || !strings.Contains(err.Error(), "tar:") {
		t.Errorf("got %v", err)
	}
}

func TestParseMadison(t *testing.T) {
	const text = `mariadb-server-core-10.5 | 1:10.5.29-0+deb11u1 | http://sec.example/debian-security bullseye-security/main amd64 Packages
mariadb-server-core-10.5 | 1:10.5.23-0+deb11u1 | http://mirror.example/debian bullseye/main amd64 Packages
mysql-server-core |    9.7.4-2 | http://mirror.example/debian sid/main amd64 Packages
  mysql-9.7 |    9.7.4-2 | http://mirror.example/debian sid/main Sources
default-mysql-server-core | 1.1.1 | http://mirror.example/debian sid/main amd64 Packages
N: something | else
`
	want := []Offer{
		{Family: lab.MariaDB, Version: "10.5.29", Origin: "apt bullseye-security", pocket: "bullseye-security", pkg: "mariadb-server-core-10.5", pkgVersion: "1:10.5.29-0+deb11u1"},
		{Family: lab.MariaDB, Version: "10.5.23", Origin: "apt bullseye", pocket: "bullseye", pkg: "mariadb-server-core-10.5", pkgVersion: "1:10.5.23-0+deb11u1"},
		{Family: lab.MySQL, Version: "9.7.4", Origin: "apt sid", pocket: "sid", pkg: "mysql-server-core", pkgVersion: "9.7.4-2"},
	}
	if d := cmp.Diff(want, parseMadison(text), cmp.AllowUnexported(Offer{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func FuzzParseMadison(f *testing.F) {
	f.Add("mysql-server-core |    9.7.4-2 | http://mirror.example/debian sid/main amd64 Packages\n")
	f.Add("mariadb-server-core- | : | a b/c d Packages\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, o := range parseMadison(text) {
			if o.Family != lab.MySQL && o.Family != lab.MariaDB || o.Version == "" || strings.Trim(o.Version, "0123456789.") != "" || o.pkgVersion == "" {
				t.Errorf("%q: %+v", text, o)
			}
		}
	})
}

func TestUpstream(t *testing.T) {
	for in, want := range map[string]string{
		"1:11.8.9+ds-4": "11.8.9", "1:10.5.29-0+deb11u1": "10.5.29", "9.7.4-2": "9.7.4", "8.0.36~rc1": "8.0.36", "": "", "1:": "", "x": "",
	} {
		if got := upstream(in); got != want {
			t.Errorf("upstream(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestRankAndPick(t *testing.T) {
	// In the order in which suites are looked at.
	offers := []Offer{
		{Family: lab.MariaDB, Version: "10.5.23", suite: "bullseye", pocket: "bullseye"},
		{Family: lab.MariaDB, Version: "10.5.29", suite: "bullseye", pocket: "bullseye-security"},
		{Family: lab.MariaDB, Version: "10.11.18", suite: "bookworm", pocket: "bookworm"},
		{Family: lab.MariaDB, Version: "11.8.9", suite: "trixie", pocket: "trixie"},
		{Family: lab.MySQL, Version: "9.7.4", suite: "sid", pocket: "sid"},
		{Family: lab.MariaDB, Version: "11.8.9", suite: "sid", pocket: "sid"},
		{Family: lab.MySQL, Version: "5.6.24", suite: "npm", pocket: "npm"},
	}
	rank(offers)
	var names []string
	for _, o := range offers {
		names = append(names, o.Name)
		w, err := parseName(o.Name)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := w.pick(offers); got != o {
			t.Errorf("%s picks %+v, not %+v", o.Name, got, o)
		}
	}
	want := []string{"mariadb@11.8", "mariadb@11.8+sid", "mariadb@10.11", "mariadb@10.5", "mariadb@10.5.23", "mysql@9.7", "mysql@5.6"}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for name, version := range map[string]string{
		"mariadb@11": "11.8.9", "mariadb@10": "10.11.18", "mariadb@10.5.29": "10.5.29", "mariadb@10.5+bullseye": "10.5.29", "mariadb@10.1": "", "mysql@9.7.4+sid": "9.7.4", "mysql@9.7+trixie": "",
	} {
		w, err := parseName(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := w.pick(offers); got.Version != version {
			t.Errorf("%s picks %q, want %q", name, got.Version, version)
		}
	}
	for _, name := range []string{"", "mariadb", "mariadb@", "mariadb@x", "mariadb@10..5", "mariadb@1.2.3.4", "postgres@15", "mariadb@-1", "@10.5"} {
		if _, err := parseName(name); err == nil {
			t.Errorf("%q is taken for a name", name)
		}
	}
}

func TestParseDepends(t *testing.T) {
	const text = `mariadb-server-core
  PreDepends: libc6
 |Depends: <debconf-2.0>
    cdebconf
  Depends: libaio1t64
<debconf-2.0>
libc6
libaio1t64:amd64
libc6
`
	if d := cmp.Diff([]string{"mariadb-server-core", "libc6", "libaio1t64"}, parseDepends(text)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

const packages = `Package: core
Version: 1:10.5.1-1
Section: database
Pre-Depends: libc6 (>= 2.14)
Depends: liburing2 (>= 2.1), liburi-perl, default-thing | libsecond1, libvirtual1 (= 3), perl:any, libold1
Description: one
 Depends: not-a-field
SHA256: AA

Package: libc6
Version: 2.31-1
Section: libs
Depends: libgcc-s1
SHA256: bb

Package: liburing2
Section: non-free/libs
Version: 2.1-2
SHA256: cc

Package: liburi-perl
Version: 5
Section: perl
Depends: perl, libnot1
SHA256: dd

Package: libnot1
Version: 5
Section: libs

Package: libsecond1
Version: 5
Section: libs

Package: libprovider1
Version: 5
Section: libs
Provides: libvirtual1 (= 3), other

Package: libold1
Version: 5
Section: oldlibs

Package: libc6
Version: 2.28-1
Section: libs
Depends: libnot1

Package: noversion
`

func TestClosure(t *testing.T) {
	index := parseDebs(packages)
	var names []string
	for _, d := range closure([]string{"core", "nonexistent"}, index) {
		names = append(names, d.Name+" "+d.Version)
	}
	// libgcc-s1 is not in the index: Preflight would tell. liburing2 must not fall to a
	// rule that was meant for liburi-perl.
	want := []string{"core 1:10.5.1-1", "libc6 2.31-1", "liburing2 2.1-2", "libsecond1 5", "libprovider1 5", "libold1 5"}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if index[0].SHA256 != "aa" {
		t.Errorf("digest %q", index[0].SHA256)
	}
}

func FuzzParseDebs(f *testing.F) {
	f.Add(packages)
	f.Add("Package: a\nVersion: 1\nDepends: a | b (>= 1) , c:any [amd64] <!x>, ,|\n")
	f.Fuzz(func(t *testing.T, text string) {
		index := parseDebs(text)
		for _, d := range index {
			if d.Name == "" || d.Version == "" {
				t.Errorf("%q: %+v", text, d)
			}
			for _, n := range slices.Concat(slices.Concat(d.depends...), d.provides) {
				if n == "" || strings.ContainsAny(n, " ,|(:[<") {
					t.Errorf("%q: relation to %q", text, n)
				}
			}
			if got := closure([]string{d.Name}, index); len(got) == 0 || got[0].Name != d.Name || len(got) > len(index) {
				t.Errorf("%q: closure of %s: %v", text, d.Name, got)
			}
		}
	})
}

func FuzzParseDepends(f *testing.F) {
	f.Add("a\n  Depends: b\nb:amd64\n<c>\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range parseDepends(text) {
			if n == "" || strings.ContainsAny(n[:1], " \t|<") || strings.Contains(n, ":") {
				t.Errorf("%q: %q", text, n)
			}
		}
	})
}

func TestNPMRelease(t *testing.T) {
	for in, want := range map[string]string{"5.6.24002": "5.6.24", "5.6.24": "5.6.24", "8.0.36001": "8.0.36"} {
		if got := (npmView{Version: in}).release(); got != want {
			t.Errorf("release of %s: %s, want %s", in, got, want)
		}
	}
}

func TestCheckIntegrity(t *testing.T) {
	p := filepath.Join(t.TempDir(), "abc")
	if err := os.WriteFile(p, []byte("abc"), 0o644); err != nil {
		t.Fatal(err)
	}
	// SHA-512 of "abc": FIPS 180-2, appendix C.1.
	const abc = "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw=="
	if err := checkIntegrity(p, abc); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"sha512-AAAA", "sha512-!", strings.Replace(abc, "3a81", "3a82", 1)} {
		if err := checkIntegrity(p, bad); err == nil {
			t.Errorf("%s passes", bad)
		}
	}
}
