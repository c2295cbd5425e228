package store

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"backslide/lab"
)

func TestMain(m *testing.M) {
	if job := os.Getenv("STORE_TEST_CHILD"); job != "" {
		os.Exit(child(job, os.Args[1]))
	}
	os.Exit(m.Run())
}

func openLab(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// filledRun has every field of a run set to something that is not its zero value.
func filledRun() lab.Run {
	base := lab.Variant{Build: "mariadb@10.5", Config: "default", Engine: "InnoDB", Copy: 2}
	cand := lab.Variant{Build: "dir:/opt/my sql", Config: "big", Engine: "MyRocks", Copy: 1}
	option := lab.Option{Name: "innodb_buffer_pool_size", Value: "1G", Bare: true}
	config := lab.Config{
		Name: "default", Options: []lab.Option{option}, ByFamily: map[lab.Family][]lab.Option{lab.MySQL: {option}},
		Preload: "jemalloc", Launcher: []string{"taskset", "-c", "0"}, Env: []string{"A=b"},
	}
	plan := lab.Plan{Seed: 1<<63 + 5, Budget: time.Hour, Memory: 1 << 34, Together: 3, Confirms: 7, Diagnose: 5, Inject: 0.05, AA: true, Latency: 0.7}.WithDefaults()
	return lab.Run{
		Name: "first <light>", Started: time.Date(2026, 11, 30, 23, 59, 59, 123456789, time.UTC),
		Experiment: lab.Experiment{
			Name: "first <light>", File: "exp.toml", Builds: []string{base.Build, cand.Build}, Engines: []string{"InnoDB", "MyRocks"},
			Clients: []int{1, 4}, Base: base.String(), Configs: []lab.Config{config},
			Workloads: []lab.WorkloadUse{{Name: "slap", Steps: []string{"q1"}, Params: map[string]string{"rows": "64000"}}}, Plan: plan,
		},
		Plan: plan, Base: base, Variants: []lab.Variant{base, cand},
		Levels: []lab.LevelPlan{
			{Level: lab.Level{Step: lab.Step{Workload: "slap", Name: "q1"}, Clients: 1}, Group: lab.Point, Read: true, Warm: true, Slice: 200 * time.Millisecond, Slices: 8, Open: true, Rate: 700, Noise: 0.05, Why: "of the pilot"},
			{Level: lab.Level{Step: lab.Step{Workload: "sysbench", Name: "insert"}, Clients: 4}, Group: lab.Write, Ops: 5000, Slice: 400 * time.Millisecond, Slices: 4, Spin: time.Microsecond},
		},
		Host: lab.Host{
			Kernel: "6.1.0", CPU: "Xeon", CPUs: 2, Governor: "performance", Memory: 24 << 30, Virtual: "kvm", ClockSource: "tsc",
			THP: "madvise", Swappiness: "60", FileSystem: "ext4", Client: "v0.1", HardwareCycles: true, Warnings: []string{"noisy"},
		},
		Freezer: "cgroup v1",
	}
}

func filledSide(build string) lab.Side {
	return lab.Side{
		Build: lab.Build{
			Name: build, Family: lab.MariaDB, Version: "10.5.29-MariaDB", Origin: "apt bullseye-security", ID: "abc123", Flags: "-O2",
			Dir: "/cache/x", Server: "/cache/x/usr/sbin/mariadbd", Loader: "/cache/x/ld.so", LibraryPath: []string{"/cache/x/lib"},
			BaseDir: "/cache/x/usr", MessagesDir: "/cache/x/usr/share/mysql", PluginDir: "/cache/x/plugin", SystemSQL: []string{"a.sql"},
			Preloads: map[string]string{"jemalloc": "/cache/x/libjemalloc.so.2"},
			Packages: []lab.Package{{Name: "mariadb-server-core", Version: "1:10.5.29", SHA256: "00ff"}},
		},
		Config:   lab.Config{Name: "default", Options: []lab.Option{{Name: "skip-log-bin", Bare: true}}},
		Settings: map[string]string{"version": "10.5.29-MariaDB", "sql_mode": "", "init_connect": "SET x='é'"},
		Ignored:  []string{"innodb_page_cleaners: asked 4, got 1"},
		Engine:   "6.8.1",
	}
}

// filledSlice has every field set; n makes slices different.
func filledSlice(r lab.Run, n int) lab.Slice {
	l := r.Levels[n%len(r.Levels)].Level
	f := float64(n) + 0.1
	i := int64(n) + 1<<40
	return lab.Slice{
		SliceKey: lab.SliceKey{
			Block: n / 40, Set: 1, Seq: n % 40 / 4, Kind: lab.Measured,
			Cell: lab.Cell{Variant: r.Variants[n/2%2], Step: l.Step, Clients: l.Clients},
		},
		Position: n % 40, Restart: 1, Start: time.Date(2026, 12, 1, 0, 0, n, 987654321, time.UTC),
		Age: f, Wall: 0.2, Ops: i + 1, Offered: f + 100, Behind: i + 9, P50: f + 20, P95: f + 21, P99: f + 22, Warnings: []string{"late", fmt.Sprint(n)}, Latency: f + 0.5, Rows: i + 2, Retries: i + 3,
		Errors: []lab.ErrorCount{{Code: 1213, Count: i}, {Code: 1205, Count: 1}}, Hist: []byte(fmt.Sprintf("hist\x00%d", n)),
		Usage: lab.Usage{
			ServerUser: f + 1, ServerSystem: f + 2, ServerRunq: f + 3, ConnCPU: f + 1.5, ConnRunq: f + 2.5, ClientUser: f + 4, ClientSystem: f + 5,
			CtxVoluntary: i + 4, CtxForced: i + 5, ReadBytes: i + 6, WriteBytes: i + 7, ReadCalls: i + 8, WriteCalls: i + 9,
			MajorFaults: i + 10, Steal: f + 6, HostBusy: f + 7, RSS: i + 11,
			StallCPU: f + 10, StallMemory: f + 11, StallIO: f + 12, Dirty: i + 12, Frequency: f + 13, Throttled: i + 13,
		},
		Parts: []lab.Part{
			{Role: "query", Ops: i + 20, Rows: i + 21, Offered: f + 8, Hist: []byte("query\x00hist")},
			{Role: "insert", Ops: i + 22, Rows: i + 23, Offered: f + 9, Hist: []byte("insert\x00hist")},
		},
		Series:   []lab.Series{{Name: "query rate", Unit: "op/sec", Values: []float64{f, -1, 1e9}}, {Name: "rss", Unit: "B", Values: []float64{}}},
		Readings: []lab.Reading{{Name: "redo", Unit: "B", Value: f + 10}},
		Err:      "the server died: signal 11",
	}
}

func newRun(t *testing.T, s *Store) (int64, lab.Run) {
	t.Helper()
	r := filledRun()
	id, err := s.NewRun(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return id, r
}

func TestRunRoundTrip(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "a lab % ? #")
	s := openLab(t, dir)
	id, want := newRun(t, s)
	want.ID = id
	got, err := s.Run(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("Run before its first block (-want +got):\n%s", d)
	}
	want.Sides = map[string]*lab.Side{}
	for _, v := range want.Variants {
		side := filledSide(v.Build)
		want.Sides[v.String()] = &side
		if err := s.SetSide(ctx, id, v, side); err != nil {
			t.Fatal(err)
		}
		if err := s.SetSide(ctx, id, v, side); err != nil {
			t.Errorf("the same side again: %v", err)
		}
	}
	want.Ended = want.Started.Add(time.Hour)
	if err := s.EndRun(ctx, id, want.Ended); err != nil {
		t.Fatal(err)
	}
	runs, err := openLab(t, dir).Runs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]lab.Run{want}, runs); d != "" {
		t.Errorf("Runs after the end (-want +got):\n%s", d)
	}
}

func TestSliceRoundTrip(t *testing.T) {
	ctx := context.Background()
	s := openLab(t, t.TempDir())
	_, _ = newRun(t, s) // so that ids of run and rows differ
	id, r := newRun(t, s)
	var want []lab.Slice
	for n := range 100 {
		want = append(want, filledSlice(r, n))
	}
	unread := lab.Slice{SliceKey: want[0].SliceKey, Usage: lab.Usage{ServerUser: -1, CtxVoluntary: -1, HostBusy: -1, RSS: -1}}
	unread.Block, unread.Kind = 7, lab.Stacks.Kind()
	want = append(want, unread)
	for i := range want {
		sl := want[len(want)-1-i] // backwards: the order of storing is not the order of running
		if err := s.AddSlice(ctx, id, sl); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Slices(ctx, id, Filter{Hist: true, Long: true})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Slices (-want +got):\n%s", d)
	}
}

// All values of a filled thing must be set, or the round trips prove nothing.
func TestFilled(t *testing.T) {
	side := filledSide("x")
	r := filledRun()
	r.ID, r.Ended, r.Raised = 1, time.Now(), []lab.Raise{{At: time.Now(), Blocks: 2, Budget: 1}}
	r.Sides = map[string]*lab.Side{"x": &side}
	sl := filledSlice(r, 47)
	for _, v := range []any{r, side.Build, filledRun().Experiment.Configs[0], sl} {
		for _, path := range zeroFields(v) {
			t.Errorf("%T.%s is zero", v, path)
		}
	}
}

func TestFilter(t *testing.T) {
	ctx := context.Background()
	s := openLab(t, t.TempDir())
	id, r := newRun(t, s)
	var all []lab.Slice
	for n := range 120 {
		sl := filledSlice(r, n)
		if n%3 == 0 {
			sl.Kind = lab.Stacks.Kind()
		}
		if err := s.AddSlice(ctx, id, sl); err != nil {
			t.Fatal(err)
		}
		sl.Hist, sl.Series, sl.Readings = nil, nil, nil // what a filter has to ask for
		for i := range sl.Parts {
			sl.Parts[i].Hist = nil
		}
		all = append(all, sl)
	}
	other := lab.Variant{Build: "none"}
	level := r.Levels[1].Level
	for name, f := range map[string]struct {
		filter Filter
		keep   func(lab.Slice) bool
	}{
		"all":     {Filter{}, func(lab.Slice) bool { return true }},
		"kind":    {Filter{Kind: lab.Measured}, func(s lab.Slice) bool { return s.Kind == lab.Measured }},
		"blocks":  {Filter{Blocks: []int{0, 2}}, func(s lab.Slice) bool { return s.Block != 1 }},
		"variant": {Filter{Variant: &r.Variants[1]}, func(s lab.Slice) bool { return s.Cell.Variant == r.Variants[1] }},
		"level": {Filter{Level: &level, Blocks: []int{1}, Kind: lab.Stacks.Kind()}, func(s lab.Slice) bool {
			return s.Cell.Level() == level && s.Block == 1 && s.Kind == lab.Stacks.Kind()
		}},
		"unknown": {Filter{Variant: &other}, func(lab.Slice) bool { return false }},
	} {
		var want []lab.Slice
		for _, sl := range all {
			if f.keep(sl) {
				want = append(want, sl)
			}
		}
		got, err := s.Slices(ctx, id, f.filter)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// Slices are read in parts when there are many, with the rows of other runs in between.
func TestParts(t *testing.T) {
	ctx := context.Background()
	s := openLab(t, t.TempDir())
	id, r := newRun(t, s)
	other, _ := newRun(t, s)
	for n := range 50 {
		for _, run := range []int64{id, other}[:1+n%2] {
			if err := s.AddSlice(ctx, run, filledSlice(r, n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ids, err := s.idsOf(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	of, wanted := span{1, 75}, condition{"s.run_id = ?", []any{id}}
	want, err := s.gatherParts(ctx, 1, ids, of, wanted)
	if err != nil || len(want.slices) != 50 || len(want.ids) != 50 {
		t.Fatalf("%d slices, %d ids, %v; want 50", len(want.slices), len(want.ids), err)
	}
	for n := range int64(7) {
		got, err := s.gatherParts(ctx, n+1, ids, of, wanted)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want.slices, got.slices); d != "" {
			t.Errorf("in %d parts (-want +got):\n%s", n+1, d)
		}
		if d := cmp.Diff(want.ids, got.ids); d != "" {
			t.Errorf("ids in %d parts (-want +got):\n%s", n+1, d)
		}
	}
}

// The sqlite3 shell must be able to read the lab, views included.
func TestShell(t *testing.T) {
	if testing.Short() {
		t.Skip("needs the sqlite3 shell")
	}
	ctx := context.Background()
	dir := t.TempDir()
	s := openLab(t, dir)
	id, r := newRun(t, s)
	sl := filledSlice(r, 0)
	sl.Err = ""
	if err := s.AddSlice(ctx, id, sl); err != nil {
		t.Fatal(err)
	}
	shell, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Fatalf("%v; install it (apt-get install sqlite3), or leave this test out with -short", err)
	}
	out, err := exec.Command(shell, "-readonly", filepath.Join(dir, Database), "SELECT variant, step, ops, round(op_per_sec) FROM v_qps").CombinedOutput()
	want := "mariadb@10.5/default/InnoDB#2|q1|1099511627777|5497558138885.0\n"
	if err != nil || string(out) != want {
		t.Errorf("sqlite3: %v\n%s, want %s", err, out, want)
	}
	// by the rules of the shell's version of SQLite, which may be years older
	out, err = exec.Command(shell, filepath.Join(dir, Database), "PRAGMA integrity_check").CombinedOutput()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("integrity_check in sqlite3: %v\n%s", err, out)
	}
	out, err = exec.Command(shell, filepath.Join(dir, Database), "DELETE FROM slice").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "write-once") {
		t.Errorf("DELETE in sqlite3: %v\n%s", err, out)
	}
}
