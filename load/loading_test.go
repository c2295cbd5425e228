package load_test

import (
	"os"
	"sort"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"backslide/lab"
	"backslide/load"
	"backslide/proc"
	"backslide/server"
)

// BenchmarkLoading fills a sysbench table with its secondary index, and lets sysbench's
// own prepare do the same on the same server, one after the other, in
// turn first. It reports the median ratios of our time to theirs, and of the CPU time of
// server and client. ROWS in the environment sets the size. Try
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
	theirs := func() error {
		_, err := proc.Output(b.Context(), prepare)
		return err
	}
	ours := func() error {
		phase, last := "", time.Now()
		return p.Load(b.Context(), l.dial("test"), load.LoadOptions{Seed: 1, Phase: func(text string) {
			if phase != "" {
				b.Logf("  %s: %s", phase, time.Since(last).Round(time.Millisecond))
			}
			phase, last = text, time.Now()
		}})
	}
	var times, cpus []float64
	for round := 0; b.Loop(); round++ {
		var a, z spent
		if round%2 == 0 { // who comes second finds the other's pages to flush
			a, z = l.spent(b, theirs), l.spent(b, ours)
		} else {
			z, a = l.spent(b, ours), l.spent(b, theirs)
		}
		if got := l.text(b, "SELECT CONCAT(COUNT(*), ' ', COUNT(DISTINCT id)) FROM sbtest1"); got != rows+" "+rows {
			b.Errorf("%s rows, want %s twice", got, rows)
		}
		b.Logf("%s rows: sysbench %s and %.2f s of CPU, ours %s and %.2f s", rows, a.wall.Round(time.Millisecond), a.cpu, z.wall.Round(time.Millisecond), z.cpu)
		times, cpus = append(times, z.wall.Seconds()/a.wall.Seconds()), append(cpus, z.cpu/a.cpu)
	}
	sort.Float64s(times)
	sort.Float64s(cpus)
	b.ReportMetric(times[len(times)/2], "ours/sysbench")
	b.ReportMetric(cpus[len(cpus)/2], "cpu/sysbench")
}

// spent is what filling a table took: time, and CPU seconds of server and client.
type spent struct {
	wall time.Duration
	cpu  float64
}

// spent fills the table, which is not there before.
func (l *live) spent(b *testing.B, fill func() error) spent {
	b.Helper()
	l.run(b, "DROP TABLE IF EXISTS sbtest1")
	began, used := time.Now(), l.cpu(b)
	if err := fill(); err != nil {
		b.Fatal(err)
	}
	x := spent{time.Since(began), l.cpu(b) - used}
	b.Logf("  table and indexes: %s MB", l.text(b, "SELECT CONCAT(ROUND(data_length/1e6), ' + ', ROUND(index_length/1e6)) FROM information_schema.tables WHERE table_schema='test' AND table_name='sbtest1'"))
	return x
}

// cpu returns the CPU seconds that the server, this process and its children have used.
func (l *live) cpu(t testing.TB) float64 {
	t.Helper()
	p, err := procfs.NewProc(l.PID())
	if err != nil {
		t.Fatal(err)
	}
	st, err := p.Stat()
	if err != nil {
		t.Fatal(err)
	}
	sum := st.CPUTime()
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var ru unix.Rusage
		if err := unix.Getrusage(who, &ru); err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(ru.Utime.Nano() + ru.Stime.Nano()).Seconds()
	}
	return sum
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
