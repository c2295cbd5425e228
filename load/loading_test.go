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
// own prepare do the same on the same server, one after the other. It reports the median
// ratios of our time to theirs, and of the CPU time of server and client. ROWS in the environment sets the size. Try
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
	var times, cpus []float64
	for b.Loop() {
		l.run(b, "DROP TABLE IF EXISTS sbtest1")
		began, used := time.Now(), l.cpu(b)
		if _, err := proc.Output(b.Context(), prepare); err != nil {
			b.Fatal(err)
		}
		theirs, theirCPU := time.Since(began), l.cpu(b)-used
		l.run(b, "DROP TABLE sbtest1")
		began, used = time.Now(), l.cpu(b)
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
		ours, ourCPU := time.Since(began), l.cpu(b)-used
		if got := l.text(b, "SELECT CONCAT(COUNT(*), ' ', COUNT(DISTINCT id)) FROM sbtest1"); got != rows+" "+rows {
			b.Errorf("%s rows, want %s twice", got, rows)
		}
		b.Logf("%s rows: sysbench %s and %.2f s of CPU, ours %s and %.2f s", rows, theirs.Round(time.Millisecond), theirCPU, ours.Round(time.Millisecond), ourCPU)
		times, cpus = append(times, ours.Seconds()/theirs.Seconds()), append(cpus, ourCPU/theirCPU)
	}
	sort.Float64s(times)
	sort.Float64s(cpus)
	b.ReportMetric(times[len(times)/2], "ours/sysbench")
	b.ReportMetric(cpus[len(cpus)/2], "cpu/sysbench")
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
