package probe

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"backslide/lab"
)

// TestFollow observes this process for two seconds, some of the second one busy.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"shop/t.ibd": 300_000, "#rocksdb/1.sst": 50_000, "mysql/user.ibd": 70_000, "binlog.000001": 9000, "ib_logfile0": 100_000, "#innodb_redo/1": 5000} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Blocks may be preallocated, but never fewer than the content takes.
	s := sizesOf(dir)
	if s.tables < 350_000 || s.tables > 450_000 || s.binlog < 9000 || s.binlog > 20_000 || s.all < 534_000 {
		t.Errorf("sizes %+v, want tables of 350,000, a binlog of 9,000 bytes and about 534,000 in all", s)
	}
	end := Follow(t.Context(), Long{PID: os.Getpid(), DataDir: dir})
	time.Sleep(1050 * time.Millisecond)
	for until := time.Now().Add(500 * time.Millisecond); time.Now().Before(until); {
	}
	if err := os.WriteFile(filepath.Join(dir, "binlog.000002"), make([]byte, 40_000), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(600 * time.Millisecond)
	series, readings := end()
	got := map[string]lab.Series{}
	for _, s := range series {
		got[s.Name] = s
	}
	cpu := got["server cpu"].Values
	// A loaded host may give us next to no time, and let seconds go by.
	if len(cpu) < 2 || cpu[1] <= 0 || got["rss"].Values[0] < 1e6 || len(got["written"].Values) != len(cpu) {
		t.Errorf("series %+v, want two seconds or more, and CPU time in the second", series)
	}
	if _, ok := got["history length"]; ok {
		t.Error("a history length without a server")
	}
	grown := -1.0
	for _, r := range readings {
		if r.Name == "binlog" {
			grown = r.Value
		}
	}
	if grown < 40_000 || grown > 60_000 {
		t.Errorf("binlog grew by %g bytes, want 40,000; −1: nobody says", grown)
	}
	if got, want := []float64{significant(-1), significant(0), significant(123456), significant(0.00012344)}, []float64{-1, 0, 123500, 0.0001234}; got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || math.Abs(got[3]-want[3]) > 1e-12 {
		t.Errorf("rounded to %v, want %v", got, want)
	}
}
