package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"backslide/fetch"
	"backslide/lab"
)

// evilText is what a server, a package manager or a file may say to a terminal: colour,
// another title, a new line over the old one, letters in another order.
const evilText = "\x1b[2J\x1b]0;x\x07\r\b\u009b31m\u202eevil\xff"

// harmlessly fails unless text has evilText in it, and nothing that a terminal obeys.
func harmlessly(t *testing.T, what, text string) {
	t.Helper()
	if !strings.Contains(text, "evil") {
		t.Errorf("%s does not hold the text: %q", what, text)
	}
	if i := strings.IndexAny(text, "\x1b\x07\r\b\u009b\u202e"); i >= 0 || !utf8.ValidString(text) {
		t.Errorf("%s has signs that a terminal obeys: %q", what, text[max(0, i):])
	}
}

// TestMessagesHarmless looks at the ways by which texts of others come to the terminal.
func TestMessagesHarmless(t *testing.T) {
	var out, errs bytes.Buffer
	dir := filepath.Join(t.TempDir(), evilText)
	if code := backslide(strings.NewReader(""), &out, &errs, []string{"fetch", "dir:" + dir}); code != exitTrouble {
		t.Errorf("exit code %d", code)
	}
	harmlessly(t, "an error", errs.String())

	errs.Reset()
	events := newProgress(&errs, 3).events()
	events.Note(evilText)
	events.Slice(lab.Slice{Err: evilText}, 1, 2, 0)
	harmlessly(t, "progress", errs.String())

	errs.Reset()
	e := &env{stdout: &out, stderr: &errs, cacheDir: t.TempDir()}
	c, err := e.cache()
	if err != nil {
		t.Fatal(err)
	}
	c.Log("apt-get: %s", evilText)
	harmlessly(t, "the log of a fetch", errs.String())
}

// TestBuildsHarmless lists a build whose manifest says anything, and one that is damaged.
func TestBuildsHarmless(t *testing.T) {
	var out, errs bytes.Buffer
	cache := t.TempDir()
	at := filepath.Join(cache, "builds", "x")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	server := filepath.Join(at, "mysqld")
	manifest := fmt.Sprintf(`{"name":"dir:/\u001b[2Jevil","version":"1\u001b[31m\u202e","server":%q}`, server)
	for name, text := range map[string]string{"mysqld": "", "manifest.json": manifest} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := (&fetch.Cache{Dir: cache}).Installed(); len(have) != 1 || err != nil {
		t.Fatalf("installed: %v, %v", have, err)
	}
	t.Setenv("PATH", t.TempDir()) // without apt and npm only what is installed is listed
	backslide(strings.NewReader(""), &out, &errs, []string{"builds", "--cache", cache})
	harmlessly(t, "the list of builds", out.String())
}

// TestHarmless: what people read stays as it is.
func TestHarmless(t *testing.T) {
	const text = "µs/op\t±1,5 %\n日本 é – ▼\n"
	if got := harmlessText(text); got != text {
		t.Errorf("got %q, want it unchanged", got)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if _, err := (harmless{full}).Write([]byte(text)); err == nil {
		t.Error("a full disk is no error")
	}
	if n, err := (harmless{io.Discard}).Write([]byte(evilText)); n != len(evilText) || err != nil {
		t.Errorf("wrote %d of %d, %v", n, len(evilText), err)
	}
}

// TestReportUmask: a report is for those to read whom its user lets read files.
func TestReportUmask(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	name := filepath.Join(t.TempDir(), "r.html")
	for _, text := range []string{"one", "two"} {
		if err := writeFile(name, func(f *os.File) error { _, err := f.WriteString(text); return err }); err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(name)
		if got, _ := os.ReadFile(name); err != nil || st.Mode() != 0o600 || string(got) != text {
			t.Errorf("mode %v, %q, %v; want -rw------- %q", st.Mode(), got, err, text)
		}
	}
	boom := fmt.Errorf("boom")
	if err := writeFile(name, func(*os.File) error { return boom }); err == nil {
		t.Error("no error")
	}
	if left, _ := os.ReadDir(filepath.Dir(name)); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
