package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFixedWork runs steps of declared work on two configs that share one data set: every
// slice holds just that work, it is undone behind it, and the report has its seconds.
func TestFixedWork(t *testing.T) {
	c := newCLI(t)
	text := `
builds = ["mariadb@10.11"]
base = "ps=0"
clients = [2]
[[axis]]
name = "ps"
option = "performance_schema"
values = [0, 1]
[[workload]]
name = "ddl"
steps = ["index-1", "create-drop"]
params = { rows = 2000, tables = 2, creates = 3 }
[[workload]]
name = "sqlbench"
steps = ["connect.one"]
params = { rows = 1000 }
[plan]
blocks = 1
slices = 4
`
	if err := os.WriteFile(filepath.Join(c.dir, "x.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must(0, "run", "x.toml")
	r, slices := c.slices()
	want := map[string]int64{"index-1": 2, "create-drop": 6, "connect.one": 400}
	for _, l := range r.Levels {
		if name := l.Level.Step.Name; l.Ops != want[name] || !l.Read || l.Timed() {
			t.Errorf("level %s: %d operations, want %d, and fixed work that leaves data as they were", name, l.Ops, want[name])
		}
	}
	n := 0
	for _, s := range slices {
		if s.Err != "" || s.Ops != want[s.Cell.Step.Name] {
			t.Errorf("%s: %d operations %s", s.Cell, s.Ops, s.Err)
		}
		n++
	}
	if n < 3*2*2 {
		t.Errorf("%d slices", n)
	}
	data, err := os.ReadDir(filepath.Join(c.dir, "lab", "data"))
	if err != nil || len(data) != 1 {
		t.Errorf("%d data sets of configs that differ in the Performance Schema alone, %v", len(data), err)
	}
	totals, _ := c.must(0, "report", "--view", "totals")
	memory, _ := c.must(0, "report", "--view", "memory")
	for _, tt := range []struct{ text, want string }{{totals, "connect"}, {totals, "total"}, {totals, "×"}, {memory, "MiB resident"}} {
		if !strings.Contains(tt.text, tt.want) {
			t.Errorf("no %q in\n%s", tt.want, tt.text)
		}
	}
}
