package backslide

import (
	"encoding/json"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestLayers holds the import table of ARCHITECTURE.md: lab, stat and proc import
// nothing of ours, the packages of the rim import only those three, cmd sees all.
func TestLayers(t *testing.T) {
	core := []string{"lab", "stat", "proc"}
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	seen := 0
	for dec.More() {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		seen++
		name := strings.TrimPrefix(p.ImportPath, "backslide/")
		for _, imp := range p.Imports {
			if slices.Contains([]string{"os/exec"}, imp) && name != "proc" {
				t.Errorf("%s imports %s; only proc may: use proc.Output or proc.Start", name, imp)
			}
			ours, ok := strings.CutPrefix(imp, "backslide/")
			switch {
			case ok && strings.HasSuffix(imp, "test") && !strings.HasSuffix(name, "test"):
				t.Errorf("%s imports %s, which is for tests", name, ours)
			case !ok || strings.HasPrefix(name, "cmd/") || strings.HasSuffix(name, "test"):
			case slices.Contains(core, name):
				t.Errorf("%s imports %s; it may import nothing of ours", name, ours)
			case slices.Contains(core, ours):
			case path.Dir(name) == ours || path.Dir(ours) == name:
				// a package and its own sub-package
			default:
				t.Errorf("%s imports %s; packages of the rim import only %v: declare a small interface and let cmd wire it", name, ours, core)
			}
		}
	}
	if seen < 3 {
		t.Errorf("go list named %d packages; the table was not checked", seen)
	}
}
