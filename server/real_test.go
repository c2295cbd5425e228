package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/fetch/fetchtest"
	"backslide/lab"
	"backslide/proc"
)

// stand is where one build's servers are tried: an initialised data directory to clone.
type stand struct {
	build lab.Build
	data  string
	guard *proc.Guard
}

func newStand(t *testing.T, name string) *stand {
	t.Helper()
	st := &stand{build: fetchtest.Build(t, name)}
	var err error
	if st.guard, err = proc.NewGuard(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.guard.Close() })
	s := st.spec(t)
	began := time.Now()
	if err := Init(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	t.Logf("initialised in %v", time.Since(began))
	st.data = s.DataDir
	return st
}

// spec returns a spec with directories of its own, which are not there yet.
func (st *stand) spec(t *testing.T) Spec {
	t.Helper()
	dir := t.TempDir()
	run, err := os.MkdirTemp("", "bs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	f, err := proc.NewFreezer(t.Context(), "auto")
	if err != nil {
		t.Fatal(err)
	}
	return Spec{
		Build: st.build, DataDir: filepath.Join(dir, "data"), RunDir: filepath.Join(run, "a"),
		LogFile: filepath.Join(dir, "error.log"), Guard: st.guard, Freezer: f, Extra: smallLog(st.build),
	}
}

// smallLog keeps the tests from writing hundreds of megabytes of empty redo log.
func smallLog(b lab.Build) []lab.Option {
	if b.Family == lab.MySQL && b.AtLeast(8, 0, 30) {
		return parse("innodb_redo_log_capacity=8M")
	}
	return parse("innodb_log_file_size=8M")
}

// clone returns a spec with a data directory that is ready to be started.
func (st *stand) clone(t *testing.T) Spec {
	t.Helper()
	s := st.spec(t)
	if err := CloneDir(t.Context(), st.data, s.DataDir); err != nil {
		t.Fatal(err)
	}
	return s
}

// begin starts a server and kills it at the end of the test.
func begin(t *testing.T, s Spec) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	srv, err := Start(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Kill)
	t.Logf("started in %v", time.Since(began))
	return srv
}

func stop(t *testing.T, srv *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := srv.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func db(t *testing.T, srv *Server) *sql.DB {
	t.Helper()
	db, err := srv.DB("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func query(t *testing.T, db *sql.DB, q string) []string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func fiveBuilds() []string {
	return []string{"mysql@5.6", "mysql@9.7", "mariadb@10.5", "mariadb@10.11", "mariadb@11.8"}
}

// TestFiveBuilds takes every build through a life.
func TestFiveBuilds(t *testing.T) {
	for _, name := range fiveBuilds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStand(t, name)
			s := st.clone(t)
			t.Run("life", func(t *testing.T) { testLife(t, s) })
			t.Run("refused options", func(t *testing.T) { testRefused(t, s) })
			t.Run("engines and accepted options", func(t *testing.T) { testAccepted(t, s) })
		})
	}
}

// testLife: started, asked, frozen, thawed, stopped cleanly.
func testLife(t *testing.T, s Spec) {
	ctx := t.Context()
	srv := begin(t, s)
	if !runs(srv.PID()) || srv.Ready().IsZero() || srv.Err() != nil || srv.Addr() != "" {
		t.Errorf("pid %d, ready %v, err %v, addr %q", srv.PID(), srv.Ready(), srv.Err(), srv.Addr())
	}
	d := db(t, srv)
	if got := query(t, d, "SELECT CONCAT(User, '@', Host) FROM mysql.user WHERE User NOT LIKE 'mysql.%' AND User NOT LIKE 'mariadb.%' ORDER BY 1"); !slices.Equal(got,
		[]string{"backslide@127.0.0.1", "backslide@localhost", "root@localhost"}) {
		t.Errorf("accounts: %q", got)
	}
	for _, q := range []string{"CREATE DATABASE bench", "CREATE TABLE bench.t (id INT PRIMARY KEY) ENGINE=InnoDB", "INSERT INTO bench.t VALUES (1), (2)", "SET GLOBAL max_connections = 77"} {
		if _, err := d.ExecContext(ctx, q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	settings, err := srv.Settings(ctx)
	if err != nil || settings["max_connections"] != "77" || settings["datadir"] != s.DataDir+"/" || len(settings) < 300 {
		t.Errorf("%d settings, %v: max_connections %q, datadir %q", len(settings), err, settings["max_connections"], settings["datadir"])
	}
	testFreeze(t, srv, d)
	stop(t, srv)
	for _, path := range []string{s.socket(), s.pidFile(), s.RunDir, s.tempDir()} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there after a clean stop", path)
		}
	}
	if err := srv.Err(); err != nil {
		t.Errorf("Err after a clean stop: %v", err)
	}
}

func testFreeze(t *testing.T, srv *Server, d *sql.DB) {
	ctx := t.Context()
	if err := srv.Freeze(ctx); err != nil {
		t.Fatal(err)
	}
	before, err := proc.CPUTime(srv.PID())
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 60*time.Millisecond)
	defer cancel()
	if _, err := d.ExecContext(short, "SELECT 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a frozen server answered: %v", err)
	}
	if after, err := proc.CPUTime(srv.PID()); err != nil || after != before {
		t.Errorf("a frozen server used %v of CPU, %v", after-before, err)
	}
	if err := srv.Thaw(); err != nil {
		t.Fatal(err)
	}
	if got := query(t, d, "SELECT 2"); !slices.Equal(got, []string{"2"}) {
		t.Errorf("after Thaw: %q", got)
	}
}

// runs reports whether there is such a process and it is no zombie.
func runs(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}

// engineSQL returns an engine's name as SQL has it, for ENGINE= clauses.
func engineSQL(engine string) string {
	if engine == "MyRocks" {
		return "ROCKSDB"
	}
	return engine
}

// testEngines makes a table with each engine that a build has, in one server.
func testEngines(t *testing.T, d *sql.DB, engines []string) {
	for _, e := range engines {
		for _, q := range []string{"CREATE TABLE bench." + e + " (id INT PRIMARY KEY, v INT) ENGINE=" + engineSQL(e), "INSERT INTO bench." + e + " VALUES (1, 2)"} {
			if _, err := d.ExecContext(t.Context(), q); err != nil {
				t.Errorf("%s: %v", q, err)
			}
		}
		got := query(t, d, "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'bench' AND TABLE_NAME = '"+e+"'")
		if !slices.Equal(got, []string{engineSQL(e)}) {
			t.Errorf("table %s has engine %q, want %s", e, got, engineSQL(e))
		}
	}
}

// testRefused tries, one by one, options that a build does not know any more or not yet.
func testRefused(t *testing.T, s Spec) {
	refused := map[string][]string{
		"mysql@5.6": {"innodb_page_cleaners=2", "innodb_redo_log_capacity=1G", "tx_isolation=READ-COMMITTED"},
		"mysql@9.7": {"innodb_log_file_size=20M", "innodb_log_files_in_group=3", "default_authentication_plugin=x", "mysql_native_password=ON",
			"query_cache_size=4194304", "expire_logs_days=1", "tx_isolation=READ-COMMITTED", "innodb_undo_tablespaces=2", "skip-host-cache",
			"character-set-server=utf8", "innodb_flush_method=foo"},
		"mariadb@10.5":  {"innodb_redo_log_capacity=1G", "innodb_flush_method=foo"},
		"mariadb@10.11": {"innodb_redo_log_capacity=1G", "innodb_flush_method=foo"},
		"mariadb@11.8":  {"innodb_redo_log_capacity=1G", "innodb_flush_method=foo"},
	}[s.Build.Name]
	for _, o := range append(refused, "no-such-option") {
		s.Config.Options = parse(o)
		name, value, _ := strings.Cut(o, "=")
		err := Check(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), "refuses its options") || !strings.Contains(err.Error(), "[ERROR]") ||
			!strings.Contains(lab.NormalName(err.Error()), lab.NormalName(name)) && !strings.Contains(err.Error(), value) {
			t.Errorf("Check of %s: %v, want the server's own words", o, err)
		}
	}
	s.Config.Options = parse(refused[0])
	if _, err := Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), s.LogFile+" says:") || !strings.Contains(err.Error(), refused[0]) {
		t.Errorf("Start with %s: %v, want the server's own words", refused[0], err)
	}
	for _, e := range map[lab.Family][]string{lab.MySQL: {"Aria", "MyRocks"}, lab.MariaDB: {"InooDB"}}[s.Build.Family] {
		s.Engine = e
		if _, err := Start(t.Context(), s); err == nil || !strings.Contains(err.Error(), "has no engine "+e) {
			t.Errorf("Start with %s: %v, want that there is none", e, err)
		}
	}
}

// testAccepted starts a server with options of which some take effect, some do nothing,
// and some do something else than was asked. It listens on TCP, and has every engine.
func testAccepted(t *testing.T, s Spec) {
	applied := []string{"innodb_buffer_pool_size=128M", "transaction-isolation=READ-COMMITTED", "skip-name-resolve", "max_connections=50", "long_query_time=0.5",
		"optimizer_switch=mrr=off", "performance-schema-instrument=wait/synch/%=ON", "sql_mode=STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION",
		"innodb_file_per_table", "innodb_flush_log_at_trx_commit=2", "tmp_table_size=1G", "log-bin=name", "skip-log-bin", "key-buffer-size=8M"}
	gone := []string{"innodb_buffer_pool_instances=4", "innodb_page_cleaners=2", "innodb_log_files_in_group=3", "innodb_thread_concurrency=3", "innodb_undo_logs=5"}
	ignored := map[string][]string{
		"mysql@5.6":     {"innodb_io_capacity=10", "back_log=70000"},
		"mysql@9.7":     {"innodb_io_capacity=10", "innodb_page_cleaners=3", "port=3306"},
		"mariadb@10.5":  gone,
		"mariadb@10.11": append(gone, "table_open_cache=3", "datadir=/var/lib/mysql"),
		"mariadb@11.8":  append(gone, "innodb_change_buffering=none", "query_cache_size=1000"),
	}[s.Build.Name]
	ignored = append(ignored, "loose-foo=1")
	s.Config.Options = parse(append(applied, ignored...)...)
	s.TCP = true
	engines := []string{"InnoDB", "MyISAM", "MEMORY"}
	if s.Build.Family == lab.MariaDB {
		engines = append(engines, "Aria")
		if _, err := os.Stat(filepath.Join(s.Build.PluginDir, "ha_rocksdb.so")); err == nil || s.Build.Name != "mariadb@10.5" {
			s.Engine, engines = "MyRocks", append(engines, "MyRocks")
		}
	}
	srv := begin(t, s)
	if log := srv.Log(); strings.Contains(log, "crash recovery") {
		t.Errorf("the server had to recover after a clean stop:\n%s", log)
	}
	testEngines(t, db(t, srv), engines)
	tcp, err := open(srv.Addr(), "bench", srv.isPeer)
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	if got := query(t, tcp, "SELECT COUNT(*) FROM t"); !slices.Equal(got, []string{"2"}) {
		t.Errorf("rows over TCP: %q, want 2", got)
	}
	settings, err := srv.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := Ignored(s.Asked(), settings, srv.Log())
	var names, want []string
	for _, sentence := range got {
		name, _, _ := strings.Cut(sentence, ":")
		names = append(names, name)
	}
	for _, o := range ignored {
		name, _, _ := strings.Cut(o, "=")
		want = append(want, lab.NormalName(name))
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("options without effect (-want +got):\n%s%s", d, strings.Join(got, "\n"))
	}
}

func parse(options ...string) []lab.Option {
	var out []lab.Option
	for _, o := range options {
		name, value, ok := strings.Cut(o, "=")
		out = append(out, lab.Option{Name: name, Value: value, Bare: !ok})
	}
	return out
}
