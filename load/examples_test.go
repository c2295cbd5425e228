package load

import (
	"slices"
	"strings"
	"testing"

	"backslide/lab"
)

// TestExamples: each statement once, whole, with the arguments that the stream gives.
func TestExamples(t *testing.T) {
	w, err := Parse("w.toml", `
name = "examples"
[[table]]
name = "t"
rows = 100
create = ["CREATE TABLE t (id INT NOT NULL)"]
columns.id = "uniform(1, 100)"
[[step]]
name = "mix"
group = "point"
[[step.transaction]]
weight = 99
[[step.transaction.statement]]
sql = "SELECT * FROM t WHERE id = :id"
args.id = "uniform(1, 100)"
repeat = 3
[[step.transaction]]
weight = 1
begin = true
[[step.transaction.statement]]
sql = "DELETE FROM t WHERE id = :id"
args.id = "uniform(1, 100)"
`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Bind(nil, Target{Family: lab.MariaDB, Version: [3]int{10, 11, 0}, Engine: "InnoDB", Schema: "s"})
	if err != nil {
		t.Fatal(err)
	}
	got := p.Examples("mix", 1, 0, 2)
	if len(got) != 2 {
		t.Fatalf("%q, want both statements once", got)
	}
	slices.Sort(got)
	for i, prefix := range []string{"DELETE FROM t WHERE id = ", "SELECT * FROM t WHERE id = "} {
		arg, ok := strings.CutPrefix(got[i], prefix)
		if !ok || arg == "" || strings.Trim(arg, "0123456789") != "" {
			t.Errorf("%q, want %q and a number", got[i], prefix)
		}
	}
	if !slices.Equal(p.Examples("mix", 1, 0, 2), p.Examples("mix", 1, 0, 2)) || len(p.Examples("none", 1, 0, 1)) != 0 {
		t.Error("not the same twice, or some for an unknown step")
	}
}
