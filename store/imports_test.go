package store

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// imported has every field of a figure set once, and a table's figure beside an output's.
func imported() lab.Import {
	out := lab.Figure{
		Host: "h", Build: "my8044", Config: "z12a", Engine: "InnoDB", Workload: "sysbench", Step: "scan", Range: 100, Clients: 40,
		Metric: "qps", Unit: "op/sec", Value: 90, Runs: 1, Origin: "output", Replicate: 1, File: "a/b", Line: 7,
	}
	second, table, ratio := out, out, out
	second.Value, second.Runs = 120, 2
	table.Value, table.Origin = 500, "table"
	ratio.Value, ratio.Base, ratio.Origin = 0.5, "my5651.z12a", "table"
	return lab.Import{
		Name: "dop40", At: time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC), Sources: []string{"a"}, Files: 2,
		Figures: []lab.Figure{out, second, table, ratio}, Problems: []string{"a/c:3: x is no figure"}, Doubts: []string{"a/d: odd"},
	}
}

func TestImport(t *testing.T) {
	s := openLab(t, t.TempDir())
	im := imported()
	if zero := zeroFields(im.Figures[0]); len(zero) != 1 || zero[0] != "Base" {
		t.Errorf("fields of the fixture that are zero: %v, want Base alone", zero)
	}
	id, err := s.AddImport(t.Context(), im)
	if err != nil {
		t.Fatal(err)
	}
	im.ID = id
	got, err := s.Import(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(im, got); d != "" {
		t.Errorf("stored and read back (-want +got):\n%s", d)
	}
	list, err := s.Imports(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "dop40" || list[0].Figures != nil {
		t.Errorf("Imports() = %v, %v, want the one without its figures", list, err)
	}
	if _, err := s.Import(t.Context(), id+1); !errors.Is(err, ErrUnknown) {
		t.Errorf("an import that is not there: %v, want ErrUnknown", err)
	}
	var value float64
	var runs int
	if err := s.read.QueryRow(`SELECT value, runs FROM v_import_qps`).Scan(&value, &runs); err != nil {
		t.Fatal(err)
	}
	if value != 110 || runs != 3 { // (90·1 + 120·2) / 3; the table's figure and the ratio are not in it
		t.Errorf("v_import_qps says %g of %d runs, want 110 of 3", value, runs)
	}
	for _, q := range []string{"UPDATE import SET name = ''", "DELETE FROM import_figure", "UPDATE import_figure SET value = 1", "DELETE FROM import"} {
		if _, err := s.write.Exec(q); err == nil {
			t.Errorf("%s went through", q)
		}
	}
}
