package load_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"backslide/lab"
	"backslide/load"
)

// TestDocs parses and binds every example of the reference, and looks for every key and
// function that the language has in it.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile("../docs/workloads.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	parts := strings.Split(string(b), "\n```")
	for i := 1; i < len(parts); i += 2 {
		text, ok := strings.CutPrefix(parts[i], "toml\n")
		if !ok {
			t.Errorf("block %d is not toml: %.40q", i/2+1, parts[i])
			continue
		}
		examples++
		w, err := load.Parse(fmt.Sprintf("docs/workloads.md, example %d", examples), text)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, f := range []lab.Family{lab.MySQL, lab.MariaDB} {
			p, err := w.Bind(nil, load.Target{Family: f, Version: [3]int{10, 5, 0}, Engine: "InnoDB", Schema: "x"})
			if err != nil {
				t.Error(err)
				continue
			}
			for _, s := range w.Steps {
				if err := p.Check(s.Name); err != nil {
					t.Error(err)
				}
				if p.Digest(s.Name, 1, 0, 4, 100) == "" {
					t.Errorf("%s: step %s has no operations", w.Name, s.Name)
				}
			}
		}
	}
	if examples < 6 {
		t.Errorf("%d examples", examples)
	}
	for _, word := range append(load.Functions(), load.Keys()...) {
		if !strings.Contains(string(b), "`"+word) && !strings.Contains(string(b), "\n"+word) && !strings.Contains(string(b), "[["+word+"]]") && !strings.Contains(string(b), "[[step."+word+"]]") && !strings.Contains(string(b), "[step."+word+"]") {
			t.Errorf("the reference does not mention %s", word)
		}
	}
}
