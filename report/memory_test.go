package report

import (
	"errors"
	"strings"
	"testing"

	"backslide/lab"
)

func TestMemory(t *testing.T) {
	s := totalsRun(false)
	for i, c := range s.Cells {
		m := lab.Memory{First: 100 << 20, Last: 110 << 20, Most: 120 << 20}
		if c.Cell.Variant != s.Run.Base {
			m = lab.Memory{First: 90 << 20, Last: 55 << 20, Most: 95 << 20} // half of the base's
		}
		s.Cells[i].Memory = m
	}
	s.Cells[0].Memory.Accounted = 70 << 20
	s.Cells[0].Memory.First, s.Cells[len(s.Cells)-2].Memory.Last = 80<<20, 115<<20 // the base's first and last step
	var b strings.Builder
	if err := Text(&b, s, Options{View: Residence, Decimals: 2}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  insert.row  110.0     55.0 ×0.50 QPS 0.67 ?\n",
		"  timed       115.0     55.0 ×0.48 QPS 1.00 ?\n",
		"a (base)   80.0  115.0  120.0\n",
		"b          90.0   55.0   95.0\n",
		"  insert.row  70.0 +40.0  n/a\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	// Where allocators differ, reports about more have it too.
	var full, page strings.Builder
	if err := Text(&full, s, Options{Decimals: 2}); err != nil || strings.Contains(full.String(), "MiB resident") {
		t.Errorf("memory of variants with one allocator: %v\n%s", err, full.String())
	}
	s.Run.Experiment.Configs = []lab.Config{{Name: "default"}, {Name: "je", Preload: "jemalloc"}}
	cand := s.Run.Variants[1]
	cand.Config = "je"
	s.Run.Variants = append(s.Run.Variants, cand)
	full.Reset()
	if err := errors.Join(Text(&full, s, Options{Decimals: 2}), HTML(&page, s, Options{})); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(full.String(), "MiB resident at the end") || !strings.Contains(page.String(), "MiB resident at the end") {
		t.Errorf("no memory of variants with two allocators in\n%s", full.String())
	}
	b.Reset()
	if err := Text(&b, totalsRun(false), Options{View: Residence}); err != nil || !strings.Contains(b.String(), "does not tell") {
		t.Errorf("without figures: %v\n%s", err, b.String())
	}
}
