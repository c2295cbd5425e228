package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// updateFlag is asked for through the flag set, so that no package variable holds it.
func update() bool { return flag.Lookup("update").Value.(flag.Getter).Get().(bool) }

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite golden files")
	flag.Parse()
	os.Exit(m.Run())
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if update() {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, d)
	}
}

func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		file, format string
		o            Options
	}{
		{"first.txt", "text", Options{}},
		{"first-80.txt", "text", Options{Width: 80}},
		{"first-40-brief.txt", "text", Options{Width: 40, View: Brief}},
		{"first-color.txt", "text", Options{Width: 120, View: Brief, Color: true}},
		{"first-cpu.txt", "text", Options{Metric: lab.ServerCPU, Width: 120, View: Brief}},
		{"first.md", "markdown", Options{}},
		{"first.csv", "csv", Options{}},
		{"first.bench", "benchfmt", Options{}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			var b bytes.Buffer
			if err := Write(&b, tt.format, first(), tt.o); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.file, b.Bytes())
		})
	}
}
