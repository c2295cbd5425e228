package fetch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHostSuite(t *testing.T) {
	for text, want := range map[string]string{
		"ID=debian\nVERSION_CODENAME=bookworm\n":                      "bookworm",
		"PRETTY_NAME=\"x\"\nVERSION_CODENAME=\"trixie\"\nID='debian'": "trixie",
	} {
		file := filepath.Join(t.TempDir(), "os-release")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := hostSuite(file); err != nil || got != want {
			t.Errorf("%q: suite %q, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "ID=ubuntu\nVERSION_CODENAME=jammy\n", "ID=debian\n", "ID=debian\nVERSION_CODENAME=buzz\n"} {
		file := filepath.Join(t.TempDir(), "os-release")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := hostSuite(file); err == nil || !strings.Contains(err.Error(), "bookworm") {
			t.Errorf("%q: %v; want an error that names the suites", text, err)
		}
	}
	if _, err := hostSuite("/no/such/file"); err == nil {
		t.Error("no os-release: no error")
	}
}
