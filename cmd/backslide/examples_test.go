package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// examples returns the experiment files of the project, by their paths from its directory,
// where the test then is: workloads of their own are named from there.
func examples(t *testing.T) []string {
	t.Helper()
	t.Chdir(filepath.Join("..", ".."))
	var out []string
	err := fs.WalkDir(os.DirFS("."), "examples", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "workloads" {
			return fs.SkipDir
		}
		if err == nil && filepath.Ext(path) == ".toml" {
			out = append(out, path)
		}
		return err
	})
	if err != nil || len(out) < 10 {
		t.Fatalf("%d examples: %v", len(out), err)
	}
	return out
}

// TestExamplesParse reads every example and its workloads.
func TestExamplesParse(t *testing.T) {
	for _, path := range examples(t) {
		var f experimentFlags
		x, err := f.experiment(path)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, use := range x.Workloads {
			w, err := readWorkload(use)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			for k := range use.Params {
				found := false
				for _, p := range w.w.Params {
					found = found || p.Name == k
				}
				if !found {
					t.Errorf("%s: workload %s has no parameter %s", path, use.Name, k)
				}
			}
		}
		if x.Plan.Budget == 0 {
			t.Errorf("%s: no budget; examples are for minutes", path)
		}
	}
}

// TestExamplesCheck runs backslide check on every example.
func TestExamplesCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real builds, from the network or the cache")
	}
	for _, path := range examples(t) {
		var out, errs bytes.Buffer
		if code := backslide(strings.NewReader(""), &out, &errs, []string{"check", "--lab", t.TempDir(), path}); code != 0 {
			t.Errorf("check %s: exit code %d\n%s", path, code, errs.String())
		}
		if !strings.Contains(out.String(), "base") {
			t.Errorf("check %s says\n%s", path, out.String())
		}
	}
}

// TestSeedsReadme looks for every experiment after the texts in the table that says which.
func TestSeedsReadme(t *testing.T) {
	paths := examples(t)
	b, err := os.ReadFile(filepath.Join("examples", "seeds", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if name := filepath.Base(path); filepath.Base(filepath.Dir(path)) == "seeds" && !strings.Contains(string(b), "`"+name+"`") {
			t.Errorf("the table does not name %s", name)
		}
	}
	for _, word := range strings.Fields(strings.ReplaceAll(string(b), "`", " ")) {
		if strings.HasSuffix(word, ".toml") {
			if _, err := os.Stat(filepath.Join("examples", "seeds", filepath.Base(word))); err != nil {
				t.Error(err)
			}
		}
	}
}
