package load_test

import (
	"os"
	"sort"
	"testing"
	"time"

	"backslide/lab"
	"backslide/load"
	"backslide/proc"
	"backslide/server"
)

// BenchmarkLoading fills a sysbench table with its secondary index, and lets sysbench's
// own prepare do the same on the same server, one after the other. It reports the median
// ratio of our time to theirs. ROWS in the environment sets the size. Try
//
//	ROWS=1000000 go test -run=- -bench=Loading -benchtime=3x ./load
func BenchmarkLoading(b *testing.B) {
	rows := os.Getenv("ROWS")
	if rows == "" {
		rows = "100000"
	}
	l := startServer(b, "mariadb@10.11", "InnoDB", lab.Option{Name: "innodb_buffer_pool_size", Value: "1G"}, lab.Option{Name: "innodb_log_file_size", Value: "1G"})
	p := l.bind(b, "sysbench", "InnoDB", map[string]string{"rows": rows})
	prepare := proc.Command{Timeout: time.Hour, Args: []string{"sysbench", "oltp_read_only", "--db-driver=mysql", "--mysql-socket=" + l.Socket(),
		"--mysql-user=" + server.User, "--mysql-db=test", "--tables=1", "--table-size=" + rows, "prepare"}}
	var ratios []float64
	for b.Loop() {
		l.run(b, "DROP TABLE IF EXISTS sbtest1")
		began := time.Now()
		if _, err := proc.Output(b.Context(), prepare); err != nil {
			b.Fatal(err)
		}
		theirs := time.Since(began)
		l.run(b, "DROP TABLE sbtest1")
		began = time.Now()
		phase, last := "", began
		o := load.LoadOptions{Seed: 1, Phase: func(text string) {
			if phase != "" {
				b.Logf("  %s: %s", phase, time.Since(last).Round(time.Millisecond))
			}
			phase, last = text, time.Now()
		}}
		if err := p.Load(b.Context(), l.dial("test"), o); err != nil {
			b.Fatal(err)
		}
		ours := time.Since(began)
		if got := l.text(b, "SELECT CONCAT(COUNT(*), ' ', COUNT(DISTINCT id)) FROM sbtest1"); got != rows+" "+rows {
			b.Errorf("%s rows, want %s twice", got, rows)
		}
		b.Logf("%s rows: sysbench %s, ours %s", rows, theirs.Round(time.Millisecond), ours.Round(time.Millisecond))
		ratios = append(ratios, ours.Seconds()/theirs.Seconds())
	}
	sort.Float64s(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ours/sysbench")
}

// run executes a statement.
func (l *live) run(t testing.TB, sql string) {
	t.Helper()
	db, err := l.DB("test")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}
