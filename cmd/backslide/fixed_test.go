package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"backslide/lab"
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
	// The server's own time: of all statements where the Performance Schema is on, else of
	// those of whole tables; never more than the client waited, but for what comes behind
	// an answer.
	var summary lab.Summary
	text, _ = c.must(0, "report", "--format", "json")
	if err := json.Unmarshal([]byte(text), &summary); err != nil {
		t.Fatal(err)
	}
	clocks := map[string]lab.ServerClock{
		"index-1 ps=0": lab.Profile, "index-1 ps=1": lab.PerformanceSchema, "create-drop ps=1": lab.PerformanceSchema,
	}
	for _, cell := range summary.Cells {
		at := cell.Cell.Step.Name + " " + cell.Cell.Variant.Config
		by := clocks[at]
		switch k := cell.Clocks; {
		case by == "" && k.Slices > 0:
			t.Errorf("%s: a time by %v", at, k.By)
		case by != "" && (k.Slices != cell.Slices || len(k.By) != 1 || k.By[0] != by):
			t.Errorf("%s: %d of %d slices timed by %v, want all by %s", at, k.Slices, cell.Slices, k.By, by)
		case by != "" && (k.Server <= 0 || k.Server > 1.2*k.Client+0.001):
			t.Errorf("%s: %v s by the server, %v s by the client", at, k.Server, k.Client)
		}
		delete(clocks, at)
	}
	if len(clocks) > 0 {
		t.Errorf("no cells %v", clocks)
	}
	totals, _ := c.must(0, "report", "--view", "totals")
	memory, _ := c.must(0, "report", "--view", "memory")
	for _, tt := range []struct{ text, want string }{{totals, "connect"}, {totals, "total"}, {totals, "×"}, {totals, "own clocks"}, {memory, "MiB resident"}, {memory, "account for themselves"}} {
		if !strings.Contains(tt.text, tt.want) {
			t.Errorf("no %q in\n%s", tt.want, tt.text)
		}
	}
}
