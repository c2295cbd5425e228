package load_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
	"backslide/load"
	"backslide/proc"
	"backslide/server"
)

// twins are the steps that stock sysbench has too, with its arguments for them.
func twins() map[string][]string {
	readOnly := func(only string) []string {
		args := []string{"oltp_read_only", "--range-size=1000"}
		for _, kind := range []string{"simple", "sum", "order", "distinct"} {
			if kind != only {
				args = append(args, "--"+kind+"-ranges=0")
			}
		}
		return args
	}
	return map[string][]string{
		"point-query":        {"oltp_point_select"},
		"read-only-10":       {"oltp_read_only", "--range-size=10"},
		"read-only-100":      {"oltp_read_only", "--range-size=100"},
		"read-only-10000":    {"oltp_read_only", "--range-size=10000"},
		"read-only-simple":   readOnly("simple"),
		"read-only-sum":      readOnly("sum"),
		"read-only-order":    readOnly("order"),
		"read-only-distinct": readOnly("distinct"),
		"read-write-10":      {"oltp_read_write", "--range-size=10"},
		"read-write-100":     {"oltp_read_write", "--range-size=100"},
		"write-only":         {"oltp_write_only"},
		"update-index":       {"oltp_update_index"},
		"update-nonindex":    {"oltp_update_non_index"},
		"delete":             {"oltp_delete"},
		"insert":             {"oltp_insert"},
	}
}

// TestAgainstSysbench compares what the server's general log says of our steps with what
// it says of stock sysbench's. That is kept in testdata/sysbench; where sysbench is
// installed it is run again and compared with what is kept.
func TestAgainstSysbench(t *testing.T) {
	l := startServer(t, "mariadb@10.11", "InnoDB", lab.Option{Name: "log_output", Value: "TABLE"})
	p := l.bind(t, "sysbench", "InnoDB", map[string]string{"tables": "3", "rows": "20000"})
	if err := p.Load(t.Context(), l.dial("test"), load.LoadOptions{Seed: 1}); err != nil {
		t.Fatal(err)
	}
	const events = 20
	for step, args := range twins() {
		kept := filepath.Join("testdata", "sysbench", step+".txt")
		theirs, err := sysbench(t, l, args, events)
		switch {
		case errors.Is(err, proc.ErrMissing):
			t.Logf("%v; compared with what was kept", err)
		case err != nil:
			t.Error(err)
			continue
		case os.Getenv("UPDATE_GOLDEN") != "":
			if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(kept, []byte(theirs), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		b, err := os.ReadFile(kept)
		if err != nil {
			t.Error(err)
			continue
		}
		if d := cmp.Diff(string(b), theirs); theirs != "" && d != "" {
			t.Errorf("%s: sysbench differs from what was kept (-kept +now):\n%s", step, d)
		}
		if d := cmp.Diff(string(b), ours(t, l, p, step, events)); d != "" {
			t.Errorf("%s (-sysbench +ours):\n%s", step, d)
		}
	}
}

// sysbench runs some events of a stock test in one thread.
func sysbench(t *testing.T, l *live, args []string, events int64) (string, error) {
	args = append([]string{"sysbench"}, args...)
	args = append(args, "--db-driver=mysql", "--mysql-socket="+l.Socket(), "--mysql-user="+server.User, "--mysql-db=test", "--tables=3", "--table-size=20000",
		"--threads=1", fmt.Sprintf("--events=%d", events), "--time=0", "--rand-type=uniform", "run")
	var err error
	got := logged(t, l, func() {
		_, err = proc.Output(t.Context(), proc.Command{Args: args, Timeout: time.Minute})
	})
	return got, err
}

func ours(t *testing.T, l *live, p *load.Program, step string, transactions int64) string {
	t.Helper()
	ops := transactions * p.PerTransaction(step)
	return logged(t, l, func() {
		s, err := p.Session(t.Context(), load.Work{Step: step, Clients: 1, Seed: 1}, l.dial("test"), load.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.Slice(t.Context(), load.SliceSpec{Ops: ops}, func() {}); err != nil {
			t.Fatal(err)
		}
	})
}

// logged returns the statements that the server ran while f did, with numbers and texts
// taken out, and what differs in every transaction counted: how wide ranges are, how long
// lists and texts.
func logged(t *testing.T, l *live, f func()) string {
	t.Helper()
	db, err := l.DB("test")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	run := func(sql string) {
		if _, err := db.Exec(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	run("TRUNCATE mysql.general_log")
	run("SET GLOBAL general_log = 1")
	f()
	run("SET GLOBAL general_log = 0")
	rows, err := db.Query("SELECT argument FROM mysql.general_log WHERE command_type IN ('Execute', 'Query') ORDER BY event_time")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var b strings.Builder
	last, times := "", 0
	flush := func() {
		if times > 0 {
			fmt.Fprintf(&b, "%d x %s\n", times, last)
		}
	}
	var transaction []string
	add := func() {
		text := strings.Join(transaction, "\n     ")
		if transaction = nil; text != last {
			flush()
			last, times = text, 0
		}
		times++
	}
	within := false
	for rows.Next() {
		var sql string
		if err := rows.Scan(&sql); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(sql, "SET GLOBAL") || strings.HasPrefix(sql, "SET NAMES") {
			continue
		}
		transaction = append(transaction, normal(sql))
		within = within && sql != "COMMIT" || sql == "BEGIN"
		if !within {
			add()
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	flush()
	return b.String()
}

// normal replaces numbers and texts, of which the shape is kept.
func normal(sql string) string {
	sql = regexp.MustCompile(`BETWEEN (\d+) AND (\d+)`).ReplaceAllStringFunc(sql, func(s string) string {
		var from, to int
		fmt.Sscanf(s, "BETWEEN %d AND %d", &from, &to)
		return fmt.Sprintf("BETWEEN N AND N+%d", to-from)
	})
	sql = regexp.MustCompile(`'[^']*'`).ReplaceAllStringFunc(sql, func(s string) string {
		return regexp.MustCompile(`\d`).ReplaceAllString(s, "#")
	})
	sql = regexp.MustCompile(`sbtest\d`).ReplaceAllString(sql, "sbtestT")
	return regexp.MustCompile(`([=( ,])[1-9]\d*`).ReplaceAllString(sql, "${1}N")
}
