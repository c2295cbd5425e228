package report

import (
	"math/rand/v2"
	"strings"
	"testing"

	"backslide/lab"
)

// candidates makes up a run of three candidates, one of them slower, in some steps at
// some numbers of clients.
func candidates(steps []string, clients ...int) lab.Summary {
	sh := shape{blocks: 12}
	for _, c := range []string{"threads=1", "threads=4", "threads=8", "threads=16"} {
		sh.variants = append(sh.variants, lab.Variant{Build: "mysql@9.7", Config: c, Engine: "InnoDB"})
	}
	for _, name := range steps {
		for _, n := range clients {
			sh.levels = append(sh.levels, lab.LevelPlan{Level: lab.Level{Step: lab.Step{Workload: "ddl", Name: name}, Clients: n}, Group: lab.Write})
		}
	}
	return invent(sh, rand.New(rand.NewPCG(7, 8)), func(v lab.Variant, _ lab.Level, _ lab.Metric) effect {
		if v.Config == "threads=16" {
			return effect{-0.3, 0.02}
		}
		return effect{0, 0.02}
	})
}

// One table holds all candidates where there is one step, or one number of clients.
func TestMatrices(t *testing.T) {
	for _, tt := range []struct {
		name     string
		s        lab.Summary
		tables   int
		first    string // head of the first cell of a row, and of the first column
		sentence string
	}{
		{"one step at one number of clients", candidates([]string{"index-3"}, 1), 0, "", "index-3, 3 candidates against mysql@9.7/threads=1: 1 of 3 regressed, namely mysql@9.7/threads=16 at 1 client −2"},
		{"one step", candidates([]string{"index-3"}, 1, 4), 1, "mysql@9.7/threads=4 1 client", "index-3, 3 candidates against mysql@9.7/threads=1: 2 of 6 regressed, worst mysql@9.7/threads=16 at "},
		{"one number of clients", candidates([]string{"index-3", "index-1"}, 1), 1, "index-3 mysql@9.7/threads=4", "mysql@9.7/threads=16 against mysql@9.7/threads=1: 2 of 2 regressed"},
		{"several of both", candidates([]string{"index-3", "index-1"}, 1, 4), 3, "index-3 1 client", "mysql@9.7/threads=16 against mysql@9.7/threads=1: 4 of 4 regressed"},
	} {
		p, err := newPage(tt.s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		tables := p.Matrices
		if p.Matrix != nil {
			tables = []matrix{*p.Matrix}
		}
		if len(tables) != tt.tables {
			t.Errorf("%s: %d tables of ratios, want %d", tt.name, len(tables), tt.tables)
			continue
		}
		if len(tables) > 0 {
			if got := tables[0].Groups[0].Rows[0].Head + " " + tables[0].Heads[0].Text; got != tt.first {
				t.Errorf("%s: the first table begins with %q, want %q", tt.name, got, tt.first)
			}
		}
		ids := map[string]int{}
		for _, m := range tables {
			for _, g := range m.Groups {
				for _, r := range g.Rows {
					for _, c := range r.Cells {
						ids[c.ID]++
					}
				}
			}
		}
		for id, n := range ids {
			if n != 1 {
				t.Errorf("%s: %d cells lead to comparison %s", tt.name, n, id)
			}
		}
		if len(tables) > 0 && len(ids) != p.Levels.Total {
			t.Errorf("%s: cells lead to %d of %d comparisons", tt.name, len(ids), p.Levels.Total)
		}
		if r := p.Levels.First.Rows[0]; p.OneStep != (r.Step == "mysql@9.7/threads=4") || p.OneStep != (p.Levels.What == "candidate") {
			t.Errorf("%s: comparisons begin with %s, the first with %q", tt.name, p.Levels.What, r.Step)
		}
		if got := text(t, tt.s, Options{View: Brief}); !strings.Contains(got, tt.sentence) {
			t.Errorf("%s: the text lacks %q:\n%s", tt.name, tt.sentence, got)
		}
		if page := html(t, tt.s); !strings.Contains(page, tt.sentence) {
			t.Errorf("%s: the page lacks %q", tt.name, tt.sentence)
		}
	}
}

// Units suit the column: none of its values is a long number.
func TestColumnScale(t *testing.T) {
	for _, tt := range []struct {
		sc     scale
		values []float64
		want   string
		factor float64
	}{
		{scale{unit: "µs", factor: 1e6}, []float64{3e-5, 2.5}, "µs", 1e6},
		{scale{unit: "µs", factor: 1e6}, []float64{0, 0.5, 2.5}, "ms", 1e3},
		{scale{unit: "µs/op", factor: 1e6}, []float64{12, 60}, "s/op", 1},
		{scale{unit: "B/op", factor: 1}, []float64{161e6, 200e6}, "MiB/op", 1.0 / (1 << 20)},
		{scale{unit: "/op", factor: 1}, []float64{1e9}, "/op", 1},
		{scale{unit: "µs", factor: 1e6}, nil, "µs", 1e6},
	} {
		v := view{means: map[lab.Cell]*lab.CellMean{}}
		for i, x := range tt.values {
			v.means[lab.Cell{Clients: i}] = &lab.CellMean{P50: x}
		}
		got := v.columnScale(tt.sc, func(m *lab.CellMean) []float64 { return []float64{m.P50} })
		if got.unit != tt.want || got.factor != tt.factor {
			t.Errorf("%v in %s are shown in %s with factor %v, want %s and %v", tt.values, tt.sc.unit, got.unit, got.factor, tt.want, tt.factor)
		}
	}
}
