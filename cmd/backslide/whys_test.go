package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"backslide/lab"
	"backslide/probe/stacks"
	"backslide/store"
)

// A run that was watched has explanations with flame graphs on its page.
func TestWhys(t *testing.T) {
	home := t.TempDir()
	st, err := store.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	base, cand := lab.Variant{Build: "old", Config: "std", Engine: "InnoDB"}, lab.Variant{Build: "new", Config: "std", Engine: "InnoDB"}
	level := lab.Level{Step: lab.Step{Workload: "w", Name: "point"}, Clients: 4}
	r := lab.Run{
		Name: "watched", Started: time.Unix(1700000000, 0).UTC(), Base: base, Variants: []lab.Variant{base, cand},
		Levels: []lab.LevelPlan{{Level: level, Group: lab.Point, Read: true, Slices: 2}},
		Sides:  map[string]*lab.Side{base.String(): {Build: lab.Build{Family: lab.MariaDB}}, cand.String(): {Build: lab.Build{Family: lab.MySQL}}},
	}
	if r.ID, err = st.NewRun(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for v, function := range map[lab.Variant]string{base: "fast_path", cand: "slow_path"} {
		for round := range 2 {
			key := lab.SliceKey{Block: round, Cell: lab.Cell{Variant: v, Step: level.Step, Clients: 4}, Kind: lab.Stacks.Kind()}
			p := &stacks.Profile{Event: "cpu-clock", Unit: "nanoseconds"}
			p.Add([]stacks.Frame{{Name: "do_command"}, {Name: function}}, stacks.Amount{Weight: 1000, Samples: 1000, Squares: 1000})
			var b bytes.Buffer
			if err := p.WritePprof(&b); err != nil {
				t.Fatal(err)
			}
			o := lab.Observation{Key: key, Ops: 100, Wall: 1, Functions: []lab.Amount{{Name: function, Value: 1e-4}}, Files: []string{fileName(key)}}
			if _, err := st.Keep(t.Context(), r.ID, stacksKind, fileName(key), &b); err != nil {
				t.Fatal(err)
			}
			js, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.Keep(t.Context(), r.ID, observationKind, fileName(key), bytes.NewReader(js)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	e := &env{labDir: home}
	whys, err := e.whys(t.Context(), lab.Summary{Run: r, Comparisons: []lab.Comparison{
		{Base: base, Candidate: cand, Level: level, Metric: lab.ServerCPU},
		{Base: base, Candidate: cand, Level: level, Metric: lab.QPS, Verdict: lab.Regressed, LogRatio: -0.5},
		{Base: base, Candidate: lab.Variant{Build: "unwatched"}, Level: level, Metric: lab.QPS},
	}})
	if err != nil || len(whys) != 1 {
		t.Fatalf("%d explanations, %v; want one", len(whys), err)
	}
	svg := string(whys[0].Flame)
	if !strings.Contains(svg, "slow_path") || !strings.Contains(svg, "fast_path") || len(whys[0].Functions) != 2 {
		t.Errorf("functions %+v, flame graph %.300s", whys[0].Functions, svg)
	}
	// All of the 100 µs of either side are in its function, below the one that both have.
	root := whys[0].Calls
	if root == nil || len(root.Calls) != 1 || len(root.Calls[0].Calls) != 2 {
		t.Fatalf("call tree %+v", root)
	}
	for _, c := range root.Calls[0].Calls {
		want := map[string]float64{"fast_path": -1e-4, "slow_path": 1e-4}[c.Total.Name]
		if math.Abs(c.Total.Diff-want) > 1e-9 || c.Self.Diff != c.Total.Diff || !c.Total.Holds() || want == 0 {
			t.Errorf("call %+v, want a difference of %v s", c, want)
		}
	}
}
