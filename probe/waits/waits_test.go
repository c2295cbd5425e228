package waits

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"backslide/lab"
)

func TestSupported(t *testing.T) {
	for _, c := range []struct {
		settings map[string]string
		want     string
	}{
		{map[string]string{"performance_schema": "ON"}, ""},
		{map[string]string{"performance_schema": "1"}, ""},
		{map[string]string{"performance_schema": "OFF"}, "performance_schema=ON"},
		{map[string]string{"version": "10.11.6"}, "built without"},
		{nil, "built without"},
	} {
		err := Supported(c.settings)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("Supported(%v) = %v, want %q", c.settings, err, c.want)
		}
	}
}

func TestOptions(t *testing.T) {
	build := func(f lab.Family, version string) lab.Build { return lab.Build{Family: f, Version: version} }
	for _, c := range []struct {
		build  lab.Build
		engine string
		want   string
		absent string
	}{
		{build(lab.MySQL, "5.6.24"), "InnoDB", "performance_schema_max_mutex_classes", "rocksdb"},
		{build(lab.MySQL, "9.7.4"), "", "performance_schema_instrument=wait/%=ON", "max_mutex_classes"},
		{build(lab.MariaDB, "11.8.9-MariaDB"), "RocksDB", "rocksdb_perf_context_level=3", "innodb"},
	} {
		var all []string
		for _, o := range Options(c.build, c.engine) {
			all = append(all, o.String())
		}
		got := strings.Join(all, " ")
		if !strings.Contains(got, c.want) || strings.Contains(got, c.absent) || !strings.Contains(got, "--performance_schema=ON") {
			t.Errorf("%v %s: %s", c.build.Version, c.engine, got)
		}
	}
}

// at returns a snapshot of that many seconds after some moment, of two clients whose
// threads are 7 and 8 and an observer's that is 9.
func at(sec float64, rows map[string]map[key]sums) Snapshot {
	when := time.Date(2026, 1, 1, 0, 0, 0, int(sec*1e9), time.UTC)
	c := counters{global: map[string]string{"Uptime": fmt.Sprint(100 + int(sec))}}
	return Snapshot{Began: when, Ended: when, conns: []uint64{1, 2}, threads: []uint64{7, 8}, own: 9, tables: rows, first: c, last: c}
}

func waits(rows map[key]sums) map[string]map[key]sums {
	return map[string]map[key]sums{threadWaits: rows}
}

func event(n, ps uint64) sums { return sums{"COUNT_STAR": n, "SUM_TIMER_WAIT": ps} }

const sec = 1_000_000_000_000 // in ps

func close() cmp.Option { return cmpopts.EquateApprox(1e-9, 1e-15) }

// TestBetweenNesting: a row fetched took 0.9 s, of which 0.2 s were for reading a page and
// 0.1 s for a mutex; a metadata lock took 0.5 s, all in its condition. 10 operations.
func TestBetweenNesting(t *testing.T) {
	a := at(0, waits(map[key]sums{
		{7, "wait/synch/mutex/innodb/buf_pool_mutex"}: event(5, 1*sec),
		{9, "wait/synch/mutex/sql/LOCK_open"}:         event(5, 1*sec),
	}))
	b := at(2, waits(map[key]sums{
		{7, "wait/synch/mutex/innodb/buf_pool_mutex"}:            event(15, 1.1*sec),
		{7, "wait/io/file/innodb/innodb_data_file"}:              event(4, 0.15*sec),
		{8, "wait/io/file/innodb/innodb_data_file"}:              event(1, 0.05*sec),
		{7, "wait/io/table/sql/handler"}:                         event(10, 0.9*sec),
		{8, "wait/lock/metadata/sql/mdl"}:                        event(1, 0.5*sec),
		{8, "wait/synch/cond/sql/MDL_context::COND_wait_status"}: event(1, 0.5*sec),
		{7, "idle"}:                           event(10, 3*sec),  // began before the first reading
		{9, "wait/synch/mutex/sql/LOCK_open"}: event(500, 2*sec), // the observer's own
	}))
	d := Between(a, b, 10)
	want := Delta{Ops: 10, Wall: 2, Threads: 2,
		Events: []lab.Amount{
			{Name: "wait/synch/cond/sql/MDL_context::COND_wait_status", Value: 0.05, Count: 0.1},
			{Name: "wait/io/file/innodb/innodb_data_file", Value: 0.02, Count: 0.5},
			{Name: "wait/synch/mutex/innodb/buf_pool_mutex", Value: 0.01, Count: 1},
		},
		Around: []lab.Amount{
			{Name: "wait/io/table/sql/handler", Value: 0.09, Count: 1},
			{Name: "wait/lock/metadata/sql/mdl", Value: 0.05, Count: 0.1},
		},
		Idle: lab.Amount{Name: "idle", Value: 0.3, Count: 1},
	}
	if diff := cmp.Diff(want, d, close(), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// TestBetweenDoubts: what cannot be is said, with what is left out and what is kept.
func TestBetweenDoubts(t *testing.T) {
	const mutex, file = "wait/synch/mutex/sql/A", "wait/io/file/sql/b"
	before := func() Snapshot {
		return at(0, waits(map[key]sums{{7, mutex}: event(10, 5*sec), {8, mutex}: event(1, sec)}))
	}
	after := func(rows map[key]sums) Snapshot { return at(2, waits(rows)) }
	both := map[key]sums{{7, mutex}: event(11, 6*sec), {8, mutex}: event(1, sec)}
	for _, c := range []struct {
		name   string
		a, b   Snapshot
		ops    int64
		note   string
		events []string
	}{
		{"fine", before(), after(both), 1, "", []string{mutex}},
		{"no operation", before(), after(both), 0, "no operation", nil},
		{"counter goes down", before(), after(map[key]sums{{7, mutex}: event(3, 6*sec), {8, mutex}: event(1, sec), {7, file}: event(1, 1)}), 1, "reset", nil},
		{"sum goes down", before(), after(map[key]sums{{7, mutex}: event(11, 4*sec), {8, mutex}: event(1, sec)}), 1, "reset", nil},
		{"wrapped", before(), after(map[key]sums{{7, mutex}: event(11, math.MaxUint64), {8, mutex}: event(1, sec), {7, file}: event(1, 7)}), 1, "wrapped", []string{file}},
		{"not timed", before(), after(map[key]sums{{7, mutex}: event(11, 6*sec), {8, mutex}: event(1, sec), {7, file}: event(5, 0)}), 1, "not timed", []string{mutex}},
		{"impossible", before(), after(map[key]sums{{7, mutex}: event(11, 8*sec), {8, mutex}: event(1, sec)}), 1, "impossible: 1 of 2 threads", []string{mutex}},
		{"a client ended", before(), after(map[key]sums{{7, mutex}: event(11, 6*sec)}), 1, "1 of the clients' connections ended", []string{mutex}},
		{"restarted", at(0, waits(nil)), func() Snapshot { s := after(both); s.first.global = map[string]string{"Uptime": "1"}; return s }(), 1, "restarted", nil},
		{"clock changed", func() Snapshot { s := before(); s.timers = map[string]string{"wait": "CYCLE"}; return s }(),
			func() Snapshot { s := after(both); s.timers = map[string]string{"wait": "TICK"}; return s }(), 1, "wait: CYCLE, then TICK", nil},
		{"lost", before(), func() Snapshot {
			s := after(both)
			s.lost = map[string]uint64{"Performance_schema_mutex_instances_lost": 3}
			return s
		}(), 1, "mutex_instances_lost is 3", []string{mutex}},
		{"only counters", Snapshot{}, Snapshot{}, 1, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Between(c.a, c.b, c.ops)
			notes := strings.Join(d.Notes, "\n")
			if c.note == "" && notes != "" || !strings.Contains(notes, c.note) {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
			var events []string
			for _, e := range d.Events {
				events = append(events, e.Name)
			}
			if diff := cmp.Diff(c.events, events); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCounters: what the observer did is taken off, what is of a moment is left out.
func TestCounters(t *testing.T) {
	a := counters{
		global:  map[string]string{"Com_select": "1000", "Threads_running": "3", "Handler_read_key": "7", "Innodb_rows_read": "50", "Created_tmp_tables": "9", "Innodb_row_lock_time": "10", "Rsa_public_key": "x", "Select_scan": "50"},
		session: map[string]string{"Com_select": "10", "Threads_running": "3", "Handler_read_key": "2", "Innodb_rows_read": "50", "Created_tmp_tables": "9", "Innodb_row_lock_time": "10", "Select_scan": "1"},
		engines: map[string]int64{"m": 5, "down": 7},
	}
	b := counters{
		global:  map[string]string{"Com_select": "1104", "Threads_running": "9", "Handler_read_key": "207", "Innodb_rows_read": "850", "Created_tmp_tables": "13", "Innodb_row_lock_time": "10", "Rsa_public_key": "y", "Select_scan": "51"},
		session: map[string]string{"Com_select": "14", "Threads_running": "9", "Handler_read_key": "2", "Innodb_rows_read": "850", "Created_tmp_tables": "13", "Innodb_row_lock_time": "10", "Select_scan": "2"},
		engines: map[string]int64{"m": 25, "down": 6, "new": 4, "twice": 800},
		mirrors: map[string]string{"m": "Innodb_unknown", "twice": "Innodb_rows_read"},
	}
	a.engines["twice"] = 0
	// Com_select: 104 less the observer's 4. Innodb_rows_read is the server's, so the
	// session shows the same. Created_tmp_tables: all the observer's own.
	got, notes := counterChange(a, b)
	if diff := cmp.Diff(map[string]int64{"Com_select": 100, "Handler_read_key": 200, "Innodb_rows_read": 800, "m": 20}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1 counters went down and are left out, they may have been reset: down"}, notes); diff != "" {
		t.Error(diff)
	}
}

// TestCountersOtherConnection: what the second connection did is taken off, and it is
// said that the first one's is not.
func TestCountersOtherConnection(t *testing.T) {
	a := counters{own: "5", global: map[string]string{"Com_select": "1000", "Innodb_rows_read": "50"}, session: map[string]string{"Com_select": "900", "Innodb_rows_read": "50"}}
	b := counters{own: "6", global: map[string]string{"Com_select": "1104", "Innodb_rows_read": "70"}, session: map[string]string{"Com_select": "4", "Innodb_rows_read": "70"}}
	got, notes := counterChange(a, b)
	if diff := cmp.Diff(map[string]int64{"Com_select": 100, "Innodb_rows_read": 20}, got); diff != "" {
		t.Error(diff)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "not the same") {
		t.Errorf("%q", notes)
	}
}

func TestGauges(t *testing.T) {
	for _, name := range []string{"Threads_running", "Threads_connected", "Threads_cached", "Open_tables", "Uptime", "Innodb_buffer_pool_pages_dirty", "Innodb_row_lock_time_avg", "Innodb_row_lock_current_waits",
		"Innodb_data_pending_reads", "innodb_metrics os_log_pending_fsyncs", "Innodb_history_list_length", "Innodb_lsn_current", "Memory_used", "Max_used_connections", "Key_blocks_used", "Last_query_cost"} {
		if !isGauge(name) {
			t.Errorf("%s is taken for a counter", name)
		}
	}
	for _, name := range []string{"Threads_created", "Opened_tables", "Handler_read_next", "Innodb_buffer_pool_read_requests", "Innodb_buffer_pool_reads", "Innodb_buffer_pool_pages_flushed", "Innodb_row_lock_time",
		"Innodb_row_lock_waits", "Innodb_os_log_written", "Innodb_os_log_fsyncs", "Created_tmp_disk_tables", "Sort_merge_passes", "Table_open_cache_misses", "Bytes_sent", "Key_read_requests", "Innodb_data_written", "Qcache_hits"} {
		if isGauge(name) {
			t.Errorf("%s is taken for a value of a moment", name)
		}
	}
}

// Recorded from MySQL 5.6.24 and 9.7.4 and MariaDB 10.11, shortened.
func TestSemaphores(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]int64
	}{
		{"5.6", "srv_master_thread log flush and writes: 0\n----------\nSEMAPHORES\n----------\nOS WAIT ARRAY INFO: reservation count 11\nOS WAIT ARRAY INFO: signal count 13\n" +
			"--Thread 139807469545152 has waited at row0ins.cc line 2418 for 0.0000 seconds the semaphore:\n" +
			"Mutex spin waits 2, rounds 40, OS waits 3\nRW-shared spins 1, rounds 30, OS waits 1\nRW-excl spins 0, rounds 0, OS waits 0\nSpin rounds per wait: 0.00 mutex, 30.00 RW-shared, 0.00 RW-excl\n" +
			"------------\nTRANSACTIONS\n------------\nRW-excl spins 5, rounds 5, OS waits 5\n",
			map[string]int64{"innodb latches: OS wait array reservation count": 11, "innodb latches: OS wait array signal count": 13, "innodb latches: Mutex spin waits": 2, "innodb latches: Mutex rounds": 40, "innodb latches: Mutex OS waits": 3,
				"innodb latches: RW-shared spins": 1, "innodb latches: RW-shared rounds": 30, "innodb latches: RW-shared OS waits": 1, "innodb latches: RW-excl spins": 0, "innodb latches: RW-excl rounds": 0, "innodb latches: RW-excl OS waits": 0}},
		{"9.7", "SEMAPHORES\n----------\nRW-sx spins 7, rounds 8, OS waits 9\nSpin rounds per wait: 0.00 RW-shared\n",
			map[string]int64{"innodb latches: RW-sx spins": 7, "innodb latches: RW-sx rounds": 8, "innodb latches: RW-sx OS waits": 9}},
		{"MariaDB 10.11", "-----------------\nBACKGROUND THREAD\n-----------------\nsrv_master_thread loops: 0 srv_active, 0 srv_shutdown, 0 srv_idle\n----------\nSEMAPHORES\n----------\n------------\nTRANSACTIONS\n", map[string]int64{}},
	} {
		got := map[string]int64{}
		parseSemaphores(c.text, got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func rows(values ...[]string) [][]*string {
	var out [][]*string
	for _, r := range values {
		row := make([]*string, len(r))
		for i := range r {
			if r[i] != "NULL" {
				row[i] = &r[i]
			}
		}
		out = append(out, row)
	}
	return out
}

func TestMetrics(t *testing.T) {
	want := map[string]int64{"innodb_metrics dml_inserts": 46, "innodb_metrics buffer_pages_created": 3}
	for _, state := range []struct{ column, on, off string }{{"STATUS", "enabled", "disabled"}, {"ENABLED", "1", "0"}} {
		got := counters{engines: map[string]int64{}, mirrors: map[string]string{}}
		err := got.parseMetrics([]string{"NAME", "COUNT", state.column, "TYPE", "COMMENT"}, rows(
			[]string{"dml_inserts", "46", state.on, "status_counter", "Number of rows inserted"},
			[]string{"buffer_pages_created", "3", state.on, "counter", "Number of pages created (innodb_pages_created)"},
			[]string{"trx_rseg_history_len", "9", state.on, "value", ""},
			[]string{"lock_deadlocks", "0", state.off, "counter", ""},
			[]string{"odd", "NULL", state.on, "counter", "NULL"},
		))
		if diff := cmp.Diff(want, got.engines); err != nil || diff != "" {
			t.Errorf("%s: %v %s", state.column, err, diff)
		}
		if m := got.mirrors["innodb_metrics buffer_pages_created"]; m != "Innodb_pages_created" {
			t.Errorf("it mirrors %q", m)
		}
	}
	if err := new(counters).parseMetrics([]string{"NAME"}, nil); err == nil {
		t.Error("no error for a table without the columns")
	}
}

// TestSourceParse: columns come in the server's order and in its case.
func TestSourceParse(t *testing.T) {
	s := source{table: "t", thread: "THREAD_ID", name: []string{"EVENT_NAME"}}
	got := map[key]sums{}
	err := s.parse(got, []string{"thread_id", "EVENT_NAME", "Sum_Timer_Wait", "COUNT_STAR"}, rows(
		[]string{"7", "wait/synch/mutex/sql/A", "18446744073709551615", "3"},
		[]string{"8", "a\x00b\n" + strings.Repeat("x", 1000), "NULL", "1"},
	))
	want := map[key]sums{
		{7, "wait/synch/mutex/sql/A"}:                          event(3, math.MaxUint64),
		{8, "a b " + strings.Repeat("x", longest-len("a b "))}: event(1, 0),
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, bad := range [][]string{{"7", "e", "-1", "3"}, {"7", "e", "1.5", "3"}, {"x", "e", "1", "3"}, {"7", "e", "18446744073709551616", "3"}, {"7", "e", "1"}} {
		if err := s.parse(map[key]sums{}, []string{"THREAD_ID", "EVENT_NAME", "SUM_TIMER_WAIT", "COUNT_STAR"}, rows(bad)); err == nil {
			t.Errorf("%v is read", bad)
		}
	}
}

// TestTakeErrors: a server that cannot be read is an error that says what to do.
func TestTakeErrors(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers map[string][][]*string
		want    string
	}{
		{"off", map[string][][]*string{"SHOW GLOBAL VARIABLES": rows([]string{"performance_schema", "OFF"})}, "performance_schema=ON"},
		{"not built in", nil, "built without"},
		{"no thread instrumentation", map[string][][]*string{"SHOW GLOBAL VARIABLES": rows([]string{"performance_schema", "ON"}), "SELECT NAME, ENABLED": rows([]string{"global_instrumentation", "YES"})}, "consumer thread_instrumentation is off"},
		{"no such connection", map[string][][]*string{"SHOW GLOBAL VARIABLES": rows([]string{"performance_schema", "ON"}), "SELECT NAME, ENABLED": rows([]string{"global_instrumentation", "YES"}, []string{"thread_instrumentation", "YES"})}, "CONNECTION_ID()"},
	} {
		query := func(_ context.Context, sql string) ([]string, [][]*string, error) {
			for prefix, answer := range c.answers {
				if strings.HasPrefix(sql, prefix) {
					return []string{"NAME", "VALUE"}, answer, nil
				}
			}
			return nil, nil, nil
		}
		if _, err := Take(t.Context(), query, []uint64{5}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestWheres(t *testing.T) {
	s := source{table: "t", thread: "THREAD_ID", where: "COUNT_STAR > 0"}
	threads := make([]uint64, 2*chunk+1)
	got := s.wheres(threads)
	if len(got) != 3 || got[2] != " WHERE THREAD_ID IN (0) AND (COUNT_STAR > 0)" {
		t.Errorf("%d statements, the last %q", len(got), got[len(got)-1])
	}
	if got := (source{table: "t"}).wheres(nil); len(got) != 1 || got[0] != "" {
		t.Errorf("%q", got)
	}
}

func FuzzSemaphores(f *testing.F) {
	f.Add("SEMAPHORES\n---\nRW-shared spins 1, rounds 30, OS waits 1\n")
	f.Add("SEMAPHORES\nOS WAIT ARRAY INFO: signal count 99999999999999999999\nMutex spin waits -1, , 3")
	f.Fuzz(func(t *testing.T, text string) {
		out := map[string]int64{}
		parseSemaphores(text, out)
		for name := range out {
			if !strings.HasPrefix(name, "innodb latches: ") {
				t.Errorf("%q", name)
			}
		}
	})
}

// FuzzBetween: whatever two readings say, no amount is negative or not a number.
func FuzzBetween(f *testing.F) {
	f.Add("wait/synch/mutex/sql/A", "1", "5", "wait/io/table/sql/handler", "18446744073709551615", "0")
	f.Add("idle", "3", "9", "idle", "1", "1")
	f.Fuzz(func(t *testing.T, name1, n1, ps1, name2, n2, ps2 string) {
		src := sources()[0]
		read := func(name, n, ps string) (Snapshot, bool) {
			out := map[key]sums{}
			err := src.parse(out, []string{"THREAD_ID", "EVENT_NAME", "COUNT_STAR", "SUM_TIMER_WAIT"}, rows([]string{"7", name, n, ps}, []string{"8", "wait/x", n, ps}))
			s := at(float64(len(name)), waits(out))
			s.first.global[name], s.last.global[name] = n, ps
			s.tables[digests], s.tables[prepared], s.tables[files], s.tables[tableIO] = out, out, out, out
			return s, err == nil
		}
		a, ok1 := read(name1, n1, ps1)
		b, ok2 := read(name2, n2, ps2)
		if !ok1 || !ok2 {
			return
		}
		d := Between(a, b, 3)
		for _, list := range [][]lab.Amount{d.Events, d.Around, d.Others, d.Stages, d.Statements, d.Digests, d.Files, d.Tables, d.Counters, {d.Idle}} {
			for _, x := range list {
				if !(x.Value >= 0) || math.IsInf(x.Value, 0) || x.Count < 0 {
					t.Errorf("%+v", x)
				}
			}
		}
	})
}
