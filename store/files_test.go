package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sha256sum of "hello\n".
const hello = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"

func TestKeep(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := openLab(t, dir)
	id, _ := newRun(t, s)
	names := []string{"error.log", "block 2/error.log", "../../../evil", "/etc/evil", "..", "", "a\nb"}
	for _, name := range append(names, "error.log") {
		digest, err := s.Keep(ctx, id, "error-log", name, strings.NewReader("hello\n"))
		if err != nil || digest != hello {
			t.Fatalf("Keep %q: %s, %v, want %s", name, digest, err, hello)
		}
	}
	if _, err := s.Keep(ctx, id, "error-log", "error.log", strings.NewReader("other")); !errors.Is(err, ErrDiffers) {
		t.Errorf("other content under one name: %v, want ErrDiffers", err)
	}
	var want []File
	for _, name := range names {
		want = append(want, File{Kind: "error-log", Name: name, Digest: hello, Bytes: 6})
	}
	got, err := s.Kept(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(File{}, "Added")); d != "" {
		t.Errorf("Kept (-want +got):\n%s", d)
	}
	r, err := s.Content(hello)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, err := io.ReadAll(r); err != nil || string(b) != "hello\n" {
		t.Errorf("content %q, %v", b, err)
	}
	// A name is no path: the content lies once, under its digest, and nothing else is there.
	var files []string
	err = filepath.WalkDir(filepath.Join(dir, "files"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(path, dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// the refused content too: it was on disk before its name was looked at
	const other = "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"
	if d := cmp.Diff([]string{"/files/58/" + hello[2:], "/files/d9/" + other[2:]}, files); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
}

func TestContentRefused(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := openLab(t, dir)
	id, _ := newRun(t, s)
	for _, digest := range []string{"", "..", "../" + hello[3:], strings.ToUpper(hello), hello + "00", "../../backslide.db", strings.Repeat("/", 64)} {
		if r, err := s.Content(digest); err == nil {
			r.Close()
			t.Errorf("Content(%q) opens something", digest)
		}
	}
	if _, err := s.Content(hello); !errors.Is(err, ErrUnknown) {
		t.Errorf("Content of nothing: %v, want ErrUnknown", err)
	}
	// a folder that leads out of the lab is not followed
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "files", hello[:2])); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keep(ctx, id, "log", "a", strings.NewReader("hello\n")); err == nil {
		t.Error("Keep follows a link out of the lab")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside the lab: %v, %v", left, err)
	}
	if kept, err := s.Kept(ctx, id); err != nil || len(kept) > 0 {
		t.Errorf("recorded without content: %v, %v", kept, err)
	}
}

func TestDamage(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := openLab(t, dir)
	id, _ := newRun(t, s)
	if _, err := s.Keep(ctx, id, "log", "a", strings.NewReader("hello\n")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "files", hello[:2], hello[2:]), []byte("hullo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := s.Content(hello)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("damaged content: %v", err)
	}
	// kept again, it is whole again
	if _, err := s.Keep(ctx, id, "log", "a", strings.NewReader("hello\n")); err != nil {
		t.Fatal(err)
	}
	again, err := s.Content(hello)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := io.ReadAll(again); err != nil {
		t.Error(err)
	}
}

func TestKeepFails(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s := openLab(t, dir)
	id, _ := newRun(t, s)
	broken := io.MultiReader(strings.NewReader("half"), failing{})
	if _, err := s.Keep(ctx, id, "log", "a", broken); !errors.Is(err, errPipe) {
		t.Errorf("Keep of a reader that fails: %v", err)
	}
	old := filepath.Join(dir, "files", "tmp", "keep-old")
	young := filepath.Join(dir, "files", "tmp", "keep-young")
	for _, name := range []string{old, young} {
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	day := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(old, day, day); err != nil {
		t.Fatal(err)
	}
	openLab(t, dir)
	left, err := os.ReadDir(filepath.Dir(old))
	if err != nil || len(left) != 1 || left[0].Name() != "keep-young" {
		t.Errorf("in files/tmp: %v, %v; want what may still be written", left, err)
	}
}

var errPipe = errors.New("broken pipe")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errPipe }
