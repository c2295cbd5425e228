package store

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// demo fills a lab with figures that can be checked by hand: two blocks of two slices of
// 0.2 s for each of two variants. The base makes 10,000 op/s at 80 µs of CPU per
// operation, the candidate 9,500 in one block and 8,500 in the other at 90 µs; both
// switch context twice per operation. In a third block the candidate dies.
func demo(t *testing.T, dir string) *Store {
	t.Helper()
	ctx := context.Background()
	base := lab.Variant{Build: "old", Config: "default", Engine: "InnoDB"}
	next := lab.Variant{Build: "new", Config: "default", Engine: "InnoDB"}
	level := lab.Level{Step: lab.Step{Workload: "slap", Name: "q1"}, Clients: 4}
	s := openLab(t, dir)
	id, err := s.NewRun(ctx, lab.Run{
		Name: "demo", Started: time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC), Base: base, Variants: []lab.Variant{base, next},
		Levels: []lab.LevelPlan{{Level: level, Group: lab.Point, Read: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for v, side := range map[lab.Variant]lab.Side{
		base: {Build: lab.Build{Name: "old"}, Settings: map[string]string{
			"version": "10.5.29-MariaDB", "character_set_server": "latin1", "innodb_change_buffering": "none", "port": "0"}},
		next: {Build: lab.Build{Name: "new"}, Settings: map[string]string{
			"version": "11.8.9-MariaDB", "character_set_server": "utf8mb4", "port": "0"}},
	} {
		if err := s.SetSide(ctx, id, v, side); err != nil {
			t.Fatal(err)
		}
	}
	position := 0
	add := func(sl lab.Slice) {
		sl.Cell.Step, sl.Cell.Clients, sl.Kind, sl.Position = level.Step, level.Clients, lab.Measured, position
		position++
		if err := s.AddSlice(ctx, id, sl); err != nil {
			t.Fatal(err)
		}
	}
	for block, ops := range []int64{1900, 1700} {
		for seq := range 2 {
			k := lab.SliceKey{Block: block, Seq: seq, Cell: lab.Cell{Variant: base}}
			add(lab.Slice{SliceKey: k, Wall: 0.2, Ops: 2000, Usage: lab.Usage{ServerUser: 0.1, ServerSystem: 0.06, CtxVoluntary: 2000, CtxForced: 2000}})
			k.Cell.Variant = next
			sl := lab.Slice{SliceKey: k, Wall: 0.2, Ops: ops}
			sl.Usage = lab.Usage{ServerUser: 50e-6 * float64(ops), ServerSystem: 40e-6 * float64(ops), CtxVoluntary: ops, CtxForced: ops}
			if block == 1 && seq == 1 {
				sl.Usage.Steal, sl.Usage.ServerRunq = 0.02, -1
				sl.Errors = []lab.ErrorCount{{Code: 1213, Count: 3}}
			}
			add(sl)
		}
	}
	add(lab.Slice{SliceKey: lab.SliceKey{Block: 2, Cell: lab.Cell{Variant: next}}, Err: "the server died: signal 11"})
	if err := s.AddEvent(ctx, id, 2, next, "started again"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddImport(ctx, imported()); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestResultsPage runs every query of docs/results.md and compares its answer with the
// block behind it, through the driver and, where it is installed, the sqlite3 shell.
func TestResultsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := demo(t, dir)
	shell, noShell := exec.LookPath("sqlite3")
	parts := strings.Split(string(page), "```sql\n")[1:]
	if len(parts) < 5 {
		t.Fatalf("%d queries in docs/results.md", len(parts))
	}
	for _, part := range parts {
		query, rest, ok1 := strings.Cut(part, "```\n```\n")
		want, _, ok2 := strings.Cut(rest, "```")
		if !ok1 || !ok2 {
			t.Fatalf("no answer behind\n%s", part)
		}
		if d := cmp.Diff(want, ask(t, s, query)); d != "" {
			t.Errorf("%s\n(-want +got):\n%s", query, d)
		}
		if noShell != nil {
			continue
		}
		out, err := exec.Command(shell, "-readonly", "-header", filepath.Join(dir, Database), query).CombinedOutput()
		if d := cmp.Diff(want, string(out)); err != nil || d != "" {
			t.Errorf("sqlite3: %v: %s\n(-want +got):\n%s", err, query, d)
		}
	}
	if want := fmt.Sprintf("`PRAGMA application_id` is %d", application); !strings.Contains(string(page), want) {
		t.Errorf("docs/results.md does not say %q", want)
	}
	if want := fmt.Sprintf("This page describes version %d.", len(schemas())); !strings.Contains(string(page), want) {
		t.Errorf("docs/results.md does not say %q", want)
	}
}

// ask returns a query's answer as the sqlite3 shell prints it.
func ask(t *testing.T, s *Store, query string) string {
	t.Helper()
	rows, err := s.read.Query(query)
	if err != nil {
		t.Fatalf("%v\n%s", err, query)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.WriteString(strings.Join(cols, "|") + "\n")
	for rows.Next() {
		values, to := make([]any, len(cols)), make([]any, len(cols))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(cols))
		for i, v := range values {
			switch v := v.(type) {
			case nil:
			case float64:
				texts[i] = strconv.FormatFloat(v, 'f', -1, 64)
				if !strings.Contains(texts[i], ".") {
					texts[i] += ".0"
				}
			default:
				texts[i] = fmt.Sprint(v)
			}
		}
		out.WriteString(strings.Join(texts, "|") + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The view that reports and people read must say what lab.Slice.Value says.
func TestViewAgrees(t *testing.T) {
	ctx := context.Background()
	s := demo(t, t.TempDir())
	slices, err := s.Slices(ctx, 1, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.read.Query(`SELECT op_per_sec, server_cpu_sec_per_op, client_cpu_sec_per_op, server_runq_sec_per_op, context_switches_per_op,
		write_bytes_per_op, read_bytes_per_op FROM v_slice ORDER BY slice_id`)
	if err != nil {
		t.Fatal(err)
	}
	type figures [7]*float64
	got, err := collect(rows, func(f *figures) []any {
		return []any{&f[0], &f[1], &f[2], &f[3], &f[4], &f[5], &f[6]}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, sl := range slices {
		for j, m := range []lab.Metric{lab.QPS, lab.ServerCPU, lab.ClientCPU, lab.Runq, lab.Switches, lab.WriteIO, lab.ReadIO} {
			want, ok := sl.Value(m)
			switch have := got[i][j]; {
			case ok != (have != nil):
				t.Errorf("slice %d %s: known %t in Go, %t in SQL", i, m, ok, have != nil)
			case ok && (*have-want > 1e-9*want || want-*have > 1e-9*want):
				t.Errorf("slice %d %s: %g in Go, %g in SQL", i, m, want, *have)
			}
		}
	}
}
