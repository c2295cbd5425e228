package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"backslide/lab"
	"backslide/store"
)

// shared returns a folder of published results beside the checkout, or says that it is not
// there: they are not ours to keep in the project.
func shared(t *testing.T, elem ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{"..", "..", "..", "shared", "data", "mytools"}, elem...)...)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("published results to test with are missing: %v", err)
	}
	return dir
}

// command runs a command line in a lab and returns what it prints.
func command(t *testing.T, dir string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := backslide(strings.NewReader(""), &out, &errs, append([]string{"--lab", dir}, args...)); code != exitSame {
		t.Fatalf("backslide %s: exit code %d\n%s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}

// TestPublishedTables imports a folder, and compares every cell of the relative table that
// its author published with what the command says, to the two decimals that it has. The
// author's ratios are of rates that were rounded first, so ours are rounded likewise.
func TestPublishedTables(t *testing.T) {
	dir := shared(t, "nov25.sb.mysql", "dop1")
	home := t.TempDir()
	if out := command(t, home, "import", dir); !strings.Contains(out, "import i1, dop1") || !strings.Contains(out, "no verdict is possible") {
		t.Errorf("import says:\n%.1000s", out)
	}
	rows, err := csv.NewReader(strings.NewReader(command(t, home, "report", "i1", "--format", "csv", "--base", "x.my5651_rel_o2nofp.z12a_c8r32.pk1"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	ratios := map[[2]string]string{} // by step without range, and variant
	for _, r := range rows {
		if r[7] == "qps" && r[13] != "" {
			var base, value, ratio float64
			fmt.Sscan(r[9], &base)
			fmt.Sscan(r[10], &value)
			fmt.Sscan(r[13], &ratio)
			if math.Abs(ratio-value/base) > 1e-5*ratio {
				t.Errorf("%s of %s: ratio %s of %s and %s", r[1], r[6], r[13], r[10], r[9])
			}
			ratios[[2]string{r[1], r[6]}] = fmt.Sprintf("%.2f", math.RoundToEven(value)/math.RoundToEven(base))
		}
	}
	table, err := os.ReadFile(filepath.Join(dir, "qps.rel.all.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	cells := 0
	for _, line := range strings.Split(string(table), "\n") {
		if _, name, ok := strings.Cut(line, " : "); ok && strings.HasPrefix(line, "col-") {
			columns = append(columns, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(name), "x."), ".pk1"))
			continue
		}
		fs := strings.Fields(line)
		if len(columns) == 0 || len(fs) != len(columns)+1 || strings.HasPrefix(line, "col-") {
			continue
		}
		step, rng, _ := strings.Cut(fs[len(columns)], "_range=")
		for i, want := range fs[:len(columns)] {
			got, ok := ratios[[2]string{step, columns[i]}]
			if !ok {
				got, ok = ratios[[2]string{step + ".range" + rng, columns[i]}]
			}
			if !ok || got != want {
				t.Errorf("%s of %s: %s, published %s", step, columns[i], got, want)
			}
			cells++
		}
	}
	if cells < 33*7 {
		t.Errorf("%d cells compared, want at least 33 steps of 7 builds", cells)
	}
	if out := command(t, home, "compare", "--view", "dense"); !strings.Contains(out, "my9500_rel_o2nofp") {
		t.Errorf("the dense view lacks a build:\n%s", out)
	}
}

// TestPublishedGroups compares the summaries of groups with those computed by hand from the
// published rates, with ratios that are not rounded: 5.7.44 to 9.5.0 against 5.6.51.
func TestPublishedGroups(t *testing.T) {
	file := filepath.Join(shared(t, "apr26.sb.hetz"), "qps.abs.my.latest.tsv")
	home := t.TempDir()
	command(t, home, "import", file)
	var e lab.Estimates
	if err := json.Unmarshal([]byte(command(t, home, "report", "--format", "json")), &e); err != nil {
		t.Fatal(err)
	}
	got := map[lab.Group][4][]string{}
	for _, g := range e.Groups {
		row := got[g.Group]
		for i, x := range []float64{g.Min, g.Max, g.Average, g.Median} {
			row[i] = append(row[i], fmt.Sprintf("%.3f", x))
		}
		got[g.Group] = row
	}
	for group, want := range map[lab.Group][4]string{
		lab.Point:     {"0.868 0.757 0.751 0.772", "3.341 2.577 2.537 2.608", "2.295 1.862 1.837 1.869", "2.884 2.348 2.340 2.397"},
		lab.Range:     {"0.857 0.687 0.685 0.679", "0.919 0.751 0.746 0.751", "0.887 0.728 0.722 0.720", "0.889 0.734 0.729 0.729"},
		lab.Aggregate: {"0.848 0.727 0.704 0.706", "1.813 1.600 1.582 1.577", "1.253 1.113 1.096 1.086", "1.238 1.093 1.074 1.048"},
		lab.Write:     {"1.302 1.198 1.169 1.151", "7.360 7.047 6.962 6.770", "2.506 2.536 2.455 2.332", "2.078 2.235 2.120 2.019"},
	} {
		for i, w := range want {
			if !slices.Equal(got[group][i], strings.Fields(w)) {
				t.Errorf("%s: %v, want %s", group, got[group][i], w)
			}
		}
	}
}

// TestVmstatDoubt imports raw vmstat: how far the published average is off is said.
func TestVmstatDoubt(t *testing.T) {
	out := command(t, t.TempDir(), "import", shared(t, "feb25.pg.perf"))
	if !strings.Contains(out, "cpu/s is published as 43.70, -4.5 % off") {
		t.Errorf("import does not say how far the published average is off:\n%s", out)
	}
}

// TestBaseAfterTheFact compares a stored run against another of its variants: the ratio is
// the inverse, and what regressed has improved.
func TestBaseAfterTheFact(t *testing.T) {
	home := t.TempDir()
	storeRun(t, home, 0.8)
	// 6 blocks at 0.8 and a spread of 1 %: both directions are sure.
	var out bytes.Buffer
	if code := backslide(strings.NewReader(""), &out, &out, []string{"--lab", home, "compare", "--view", "brief"}); code != exitDiffer || !strings.Contains(out.String(), "0.800") {
		t.Errorf("exit code %d, want %d, and 0.800 in:\n%s", code, exitDiffer, out.String())
	}
	if got := command(t, home, "compare", "--view", "brief", "--base", "mariadb@11.8"); !strings.Contains(got, "mariadb@10.5 / mariadb@11.8") || !strings.Contains(got, "1.250") {
		t.Errorf("against the other base, want 1.250 in:\n%s", got)
	}
	out.Reset()
	if code := backslide(strings.NewReader(""), &out, &out, []string{"--lab", home, "compare", "--base", "mariadb@11.7"}); code != exitTrouble || !strings.Contains(out.String(), "did you mean") {
		t.Errorf("a base that was not run: exit code %d, %s", code, out.String())
	}
}

// storeRun keeps a run of six blocks of two variants in a lab, the second of which makes
// ratio times the first's operations, give or take half a percent.
func storeRun(t *testing.T, home string, ratio float64) {
	t.Helper()
	storeStep(t, home, ratio, lab.WorkloadUse{Name: "slap"}, "q1-10", nil)
}

// storeStep is storeRun of a step of a workload; sides are what the servers said, in the
// order of the variants, and before what each block ran before the step.
func storeStep(t *testing.T, home string, ratio float64, use lab.WorkloadUse, step string, sides []lab.Side, before ...lab.LevelPlan) {
	t.Helper()
	e, err := lab.Experiment{Builds: []string{"mariadb@10.5", "mariadb@11.8"}, Workloads: []lab.WorkloadUse{use}, Clients: []int{2}}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	vs := e.Variants()
	level := lab.Level{Step: lab.Step{Workload: use.Name, Name: step}, Clients: 2}
	r := lab.Run{
		Name: e.Name, Started: time.Now(), Experiment: e, Plan: e.Plan, Base: vs[0], Variants: vs, Sides: map[string]*lab.Side{},
		Levels: append(before, lab.LevelPlan{Level: level, Group: lab.Point, Read: true, Slice: time.Second, Slices: 2}),
	}
	for i := range sides {
		r.Sides[vs[i].String()] = &sides[i]
	}
	id, err := st.NewRun(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for block := range 6 {
		for seq := range 2 {
			for i, v := range vs {
				ops := 10000.0
				if i > 0 {
					ops *= ratio * (1 + 0.005*float64(2*(block%2)-1))
				}
				k := lab.SliceKey{Block: block, Seq: seq, Cell: lab.Cell{Variant: v, Step: level.Step, Clients: 2}, Kind: lab.Measured}
				if err := st.AddSlice(t.Context(), id, lab.Slice{SliceKey: k, Position: 2*seq + i, Start: time.Now(), Wall: 1, Ops: int64(math.Round(ops))}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
