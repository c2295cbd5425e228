package lab

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestExperimentDocs holds that docs/experiments.md has every key of an experiment file.
func TestExperimentDocs(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "docs", "experiments.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, v := range []any{experimentFile{}, configFile{}, axisFile{}, workloadFile{}, planFile{}} {
		x := reflect.TypeOf(v)
		for i := range x.NumField() {
			key := keyName(x.Field(i))
			if !strings.Contains(text, "`"+key+"`") && !strings.Contains(text, "["+key+"]") {
				t.Errorf("docs/experiments.md does not have the key %q of %s", key, x.Name())
			}
		}
	}
}
