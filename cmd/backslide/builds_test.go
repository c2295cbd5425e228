package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
	"backslide/load"
	"backslide/proc"
	runner "backslide/run"
	"backslide/server"
	"backslide/wire"
)

// allBuilds are the builds that every change must work with.
func allBuilds() []string {
	return []string{"mysql@5.6", "mysql@9.7", "mariadb@10.5", "mariadb@10.11", "mariadb@11.8"}
}

// TestAllBuilds starts every build, loads the same data, runs a slice, and compares the
// rows of the same SQL with those of the others, one by one. Their operations are the
// same too.
func TestAllBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	e := &env{stdout: io.Discard, stderr: os.Stderr, cacheDir: defaultCache()}
	x, err := lab.Experiment{Builds: allBuilds(), Workloads: []lab.WorkloadUse{
		{Name: "sysbench", Steps: []string{"range-notcovered-si"}, Params: map[string]string{"rows": "3000", "tables": "1"}},
	}}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.setup(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	rows, digests := map[string][][]string{}, map[string]string{}
	for _, v := range x.Variants() {
		rows[v.Build] = rowsOf(t, s, v)
		digests[v.Build] = s.programs[v][0].Digest("range-notcovered-si", 7, 3, 4, 1000)
	}
	base := allBuilds()[0]
	if len(rows[base]) != 101 {
		t.Errorf("%d rows of %s; want 1 with counts and sums, and 100", len(rows[base]), base)
	}
	for _, b := range allBuilds()[1:] {
		if d := cmp.Diff(rows[base], rows[b]); d != "" {
			t.Errorf("rows of %s (-%s +%s):\n%s", b, base, b, d)
		}
		if digests[b] != digests[base] {
			t.Errorf("operations of %s have digest %s, of %s %s", b, digests[b], base, digests[base])
		}
	}
	if other := s.programs[x.Variants()[0]][0].Digest("range-notcovered-si", 8, 3, 4, 1000); other == digests[base] {
		t.Error("another seed gives the same operations")
	}
}

// rowsOf loads a variant's data, runs a slice on it, and returns rows to compare.
func rowsOf(t *testing.T, s *setup, v lab.Variant) [][]string {
	t.Helper()
	dir := t.TempDir()
	guard, err := proc.NewGuard(filepath.Join(dir, "guard"))
	if err != nil {
		t.Fatal(err)
	}
	defer guard.Close()
	run, err := os.MkdirTemp("", "bs")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(run)
	h := &host{builds: s.builds, configs: map[string]lab.Config{"default": {Name: "default"}}, data: s.dataIDs(), guard: guard, runDir: run}
	data := filepath.Join(dir, "data")
	if err := h.Init(t.Context(), v, data); err != nil {
		t.Fatal(err)
	}
	srv, err := h.Start(t.Context(), v, data, "")
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Kill()
	p, db := s.programs[v][0], s.programs[v][0].Target.Schema
	if err := createSchema(t.Context(), srv.Socket(), db); err != nil {
		t.Fatal(err)
	}
	if err := p.Load(t.Context(), dial(srv.Socket(), db), load.LoadOptions{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	slice(t, p, srv, db)
	c, err := wire.Dial(t.Context(), wire.Options{Network: "unix", Address: srv.Socket(), User: server.User, Schema: db})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var out [][]string
	for _, sql := range []string{
		"SELECT COUNT(*), SUM(k), SUM(CRC32(c)), SUM(CRC32(pad)), MIN(id), MAX(id) FROM sbtest1",
		"SELECT id, k, c, pad FROM sbtest1 ORDER BY id LIMIT 1000, 100",
	} {
		_, r, err := c.Rows(sql)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r...)
	}
	return out
}

// slice runs a slice, and looks whether the server's threads that serve it are known.
func slice(t *testing.T, p *load.Program, srv runner.Server, db string) {
	t.Helper()
	to := dial(srv.Socket(), db)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sess, err := p.Session(ctx, load.Work{Step: "range-notcovered-si", Clients: 2, Seed: 1}, to, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	threads := srv.Serving()
	// Servers that tell may not do so in another config: what is found without asking has to
	// be right too.
	if told, err := serverThreads(ctx, to, p.Target.Family, sess.ConnectionIDs()); err == nil {
		for _, tid := range told {
			if threads != nil && !slices.Contains(threads, tid) {
				t.Errorf("thread %d serves a client, and %v are those that came after the server was ready", tid, threads)
			}
		}
		threads = told
	} else if threads == nil {
		t.Error(err)
	}
	end, err := new(meter).begin(srv.PID(), os.Getpid(), threads)
	if err != nil {
		t.Fatal(err)
	}
	r, err := sess.Slice(ctx, load.SliceSpec{Duration: 300 * time.Millisecond, Timeout: time.Minute}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	u, err := end()
	if err != nil {
		t.Fatal(err)
	}
	if cpu := u.ServerUser + u.ServerSystem; u.ConnCPU < 0.7*cpu || u.ConnCPU > 1.05*cpu || u.ConnRunq < 0 {
		t.Errorf("%d threads that serve clients used %v s of the server's %v s, and waited %v s for a CPU", len(threads), u.ConnCPU, cpu, u.ConnRunq)
	}
	if r.Ops == 0 || r.Rows == 0 || len(r.Errors) > 0 {
		t.Errorf("slice: %d operations, %d rows, errors %v", r.Ops, r.Rows, r.Errors)
	}
}
