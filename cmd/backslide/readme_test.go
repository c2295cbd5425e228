package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"backslide/lab"
)

// TestReadme reads the experiment of the README as a user would, and looks for every
// command that it names.
func TestReadme(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	_, rest, ok := strings.Cut(text, "```toml\n")
	if !ok {
		t.Fatal("the README has no experiment")
	}
	exp, _, _ := strings.Cut(rest, "```")
	x, err := lab.ParseExperiment("README.md", exp, func(string) (string, error) { return "[mysqld]\nbinlog_format=ROW\n", nil })
	if err != nil {
		t.Fatal(err)
	}
	if got := x.Variants(); len(got) != 3 || got[0].Config != "nobinlog" {
		t.Errorf("variants %v", got)
	}
	for _, use := range x.Workloads {
		if _, err := readWorkload(use); err != nil {
			t.Error(err)
		}
	}
	root := newRoot(&env{stdout: io.Discard, stderr: io.Discard})
	for _, line := range strings.Split(text, "\n") {
		_, command, ok := strings.Cut(line, "`backslide ")
		if !ok {
			continue
		}
		name := strings.Fields(strings.Trim(command, "`"))[0]
		name = strings.Trim(name, "`")
		if name == "COMMAND" || name == "completion" {
			continue
		}
		if found, _, err := root.Find([]string{name}); err != nil || found == root {
			t.Errorf("the README names backslide %s, which does not exist", name)
		}
	}
}
