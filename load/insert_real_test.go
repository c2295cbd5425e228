package load_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"backslide/lab"
	"backslide/load"
)

// fullEnv, if set, makes TestInsertBenchmark as large as a small real one, on InnoDB of
// four servers: some minutes.
const fullEnv = "BACKSLIDE_INSERT_FULL"

// insertSize is how large the benchmark is: rows that l.i0 loads, and that l.i1 and l.i2
// insert; seconds of a query step.
type insertSize struct{ rows, more, seconds int }

// parted is of servers whose tables are in partitions, beside a transaction that stays open.
const parted = "mysql@9.7"

// TestInsertBenchmark runs all steps of the insert benchmark on servers and engines: each
// ends with the rows that the sizes say, with the same content everywhere.
func TestInsertBenchmark(t *testing.T) {
	size := insertSize{20000, 8000, 1}
	builds := []struct {
		build, plugin string
		engines       []string
	}{
		{"mariadb@10.5", "", []string{"InnoDB", "Aria"}},
		{"mariadb@11.8", "MyRocks", []string{"MyRocks", "MEMORY"}},
		{"mysql@9.7", "", []string{"InnoDB"}},
	}
	if os.Getenv(fullEnv) != "" {
		size = insertSize{200000, 80000, 5}
		builds = builds[:0]
		for _, b := range []string{"mariadb@10.5", "mariadb@10.11", "mariadb@11.8", "mysql@9.7"} {
			builds = append(builds, struct {
				build, plugin string
				engines       []string
			}{b, "", []string{"InnoDB"}})
		}
	}
	var mu sync.Mutex
	want := map[string]string{}
	began := time.Now()
	t.Cleanup(func() {
		if took := time.Since(began); took > 10*time.Minute {
			t.Errorf("it took %s, want 10 minutes at most", took)
		}
	})
	for _, c := range builds {
		t.Run(c.build, func(t *testing.T) {
			if os.Getenv(fullEnv) == "" {
				t.Parallel() // times are nothing to go by, contents are
			}
			l := startServer(t, c.build, c.plugin, lab.Option{Name: "max_heap_table_size", Value: "128M"}, lab.Option{Name: "innodb_buffer_pool_size", Value: "256M"}, lab.Option{Name: "sync_binlog", Value: "0"})
			for _, engine := range c.engines {
				t.Run(engine, func(t *testing.T) {
					contents := insertSteps(t, l, engine, size)
					mu.Lock()
					defer mu.Unlock()
					for what, got := range contents {
						if want[what] == "" {
							want[what] = got
						} else if got != want[what] {
							t.Errorf("%s: %s, elsewhere %s", what, got, want[what])
						}
					}
				})
			}
		})
	}
}

// insertSteps runs the steps in order and returns what has to be the same everywhere.
func insertSteps(t *testing.T, l *live, engine string, size insertSize) map[string]string {
	params := map[string]string{"rows": fmt.Sprint(size.rows), "more": fmt.Sprint(size.more), "seconds": fmt.Sprint(size.seconds)}
	if l.build.Name == parted && os.Getenv(fullEnv) == "" {
		params["partitions"], params["hold"] = "4", "1"
	}
	p := l.bind(t, "insert", engine, params)
	if err := p.Load(t.Context(), l.dial("test"), load.LoadOptions{Seed: 3}); err != nil {
		t.Fatal(err)
	}
	if n, want := l.text(t, "SELECT COUNT(partition_name) FROM information_schema.partitions WHERE table_name = 'pi1'"), params["partitions"]; n != want && (want != "" || n != "0") {
		t.Errorf("the table has %s partitions, want %q", n, want)
	}
	out := map[string]string{}
	for _, st := range p.Workload.Steps {
		if err := p.Check(st.Name); err != nil {
			t.Fatal(err)
		}
		set := l.flushing(t)
		settled, err := p.Settle(t.Context(), st.Name, l.dial("test"))
		if err != nil {
			t.Error(err)
		}
		if now := l.flushing(t); now != set {
			t.Errorf("%s: settling left %s, found %s", st.Name, now, set)
		}
		for _, s := range settled {
			if !s.Reached || s.Took > time.Minute {
				t.Errorf("%s before %s: reached %v after %s", s.Name, st.Name, s.Reached, s.Took)
			}
		}
		s, err := p.Session(t.Context(), load.Work{Step: st.Name, Clients: 1, Seed: 5}, l.dial("test"), load.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Slice(t.Context(), load.SliceSpec{Ops: p.Ops(st.Name), Timeout: 5 * time.Minute}, func() {})
		s.Close()
		if err != nil {
			t.Fatal(err)
		}
		slow := ""
		for _, part := range r.Parts {
			if part.Role == "hold" && (part.Hist.N() > 0 && part.Hist.Quantile(0.5) < time.Second) {
				t.Errorf("%s: a transaction was open for %s, want a second", st.Name, part.Hist.Quantile(0.5))
			}
			if !(lab.Part{Ops: part.Ops, Offered: part.Offered}).Sustained(r.Wall) {
				slow += fmt.Sprintf("; %s at %.0f of %.0f", part.Role, float64(part.Ops)/r.Wall, part.Offered)
			}
		}
		t.Logf("%-6s %8.2f s %10.0f/s p99 %s max %s%s", st.Name, r.Wall, float64(r.Ops)/r.Wall, r.Hist.Quantile(0.99), r.Hist.Max(), slow)
		// Two of ten random keys may be the same one.
		if st.Group == lab.Point && (r.Rows > 10*r.Ops || float64(r.Rows) < 9.9*float64(r.Ops)) {
			t.Errorf("%s: %d rows of %d queries, want 10 each", st.Name, r.Rows, r.Ops)
		}
		out[st.Name] = l.text(t, "SELECT CONCAT(COUNT(*), ' rows, ', MIN(transactionid), ' to ', MAX(transactionid), ', checksum ', "+
			"SUM(CRC32(CONCAT_WS(',', transactionid, dateandtime, cashregisterid, customerid, productid, price, data)))) FROM pi1")
	}
	writes := size.more + 3200*size.seconds // over all query steps: 2 · (100 + 500 + 1000) a second
	keys := fmt.Sprintf("%d rows, %d to %d, ", size.rows+100, 1+writes, size.rows+100+writes)
	if got := out["qp1000"]; len(got) < len(keys) || got[:len(keys)] != keys {
		t.Errorf("at the end there are %s, want %s…", got, keys)
	}
	return out
}
