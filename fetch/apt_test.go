package fetch

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnsignedArchive: an archive that nobody signed is refused, whatever the machine's own
// configuration lets pass.
func TestUnsignedArchive(t *testing.T) {
	repo := t.TempDir()
	write(t, repo, map[string]string{
		"dists/bookworm/Release": "Suite: bookworm\nCodename: bookworm\nArchitectures: amd64 arm64\nComponents: main\nDate: Tue, 01 Jan 2030 00:00:00 UTC\nSHA256:\n" +
			" e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0 main/binary-amd64/Packages\n" +
			" e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0 main/binary-arm64/Packages\n",
		"dists/bookworm/main/binary-amd64/Packages": "",
		"dists/bookworm/main/binary-arm64/Packages": "",
	})
	aptWith(t, "deb [trusted=yes allow-insecure=yes allow-weak=yes] file:"+repo+" bookworm main\n")
	conf, err := os.OpenFile(os.Getenv("APT_CONFIG"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer conf.Close()
	const loose = `Acquire::AllowInsecureRepositories "true"; Acquire::AllowWeakRepositories "true"; Acquire::AllowDowngradeToInsecureRepositories "true"; APT::Get::AllowUnauthenticated "true"; Acquire::Check-Date "false";`
	if _, err := conf.WriteString(loose); err != nil {
		t.Fatal(err)
	}
	main, security, err := readSources(context.Background())
	if err != nil || len(main) != 1 {
		t.Fatalf("sources %v, %v", main, err)
	}
	a := (&Cache{Dir: t.TempDir()}).apt("bookworm")
	if err := a.setup(); err != nil {
		t.Fatal(err)
	}
	if err := a.refresh(context.Background(), main, security); err == nil || !strings.Contains(err.Error(), "not signed") {
		t.Errorf("got %v, want it refused", err)
	}
	dump, err := a.run(context.Background(), a.dir, "apt-config", "dump")
	if err != nil {
		t.Fatal(err)
	}
	for _, option := range []string{"Acquire::AllowInsecureRepositories", "Acquire::AllowWeakRepositories", "Acquire::AllowDowngradeToInsecureRepositories", "APT::Get::AllowUnauthenticated"} {
		if !strings.Contains(dump, option+` "false"`) {
			t.Errorf("%s is not false", option)
		}
	}
}

// TestSourcesPrivate: the address of a mirror may hold a password, as in files of apt's that
// only root can read.
func TestSourcesPrivate(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "apt-get"), []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	a := (&Cache{Dir: t.TempDir()}).apt("bookworm")
	if err := a.setup(); err != nil {
		t.Fatal(err)
	}
	if err := a.refresh(context.Background(), []source{{uri: "http://me:geheim@mirror.example/debian"}}, nil); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(a.sources())
	if err != nil || st.Mode() != 0o600 {
		t.Errorf("mode %v, %v, want -rw-------", st.Mode(), err)
	}
}
