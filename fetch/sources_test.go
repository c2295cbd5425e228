package fetch

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
