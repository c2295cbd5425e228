package fetch

import (
	"slices"
	"strings"
	"testing"

	"backslide/lab"

	"github.com/google/go-cmp/cmp"
)

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
