package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// Lines as MySQL 5.6.24 and 9.7.4 and MariaDB 10.5.29 and 11.8.9 write them.
const warnings = `2026-12-01  0:29:31 0 [Warning] The parameter innodb_page_cleaners is deprecated and has no effect.
2026-12-01  0:29:31 0 [Warning] 'innodb-undo-logs' was removed. It does nothing now and exists only for compatibility with old my.cnf files.
2026-12-01  0:29:31 0 [Warning] /opt/mariadb/bin/mariadbd: unknown variable 'loose-foo=1'
2026-12-01T00:29:26.859848Z 0 [Warning] [MY-000067] [Server] unknown option '--loose-bar'.
2026-12-01T00:29:26.308542Z 0 [Warning] [MY-012358] [InnoDB] Option innodb_dedicated_server is ignored for innodb_buffer_pool_size because innodb_buffer_pool_size=136314880 is specified explicitly.
2026-12-01T00:29:26.298237Z 0 [Warning] [MY-011070] [Server] 'binlog_format' is deprecated and will be removed in a future release.
2026-12-01 00:29:20 29214 [Warning] option 'innodb-io-capacity': unsigned value 10 adjusted to 100
2026-12-01  0:29:31 0 [Warning] 'proxies_priv' entry '@% root@vm' ignored in --skip-name-resolve mode.
`

func TestIgnored(t *testing.T) {
	settings := map[string]string{
		"innodb_page_cleaners": "1", "innodb_io_capacity": "100", "innodb_buffer_pool_size": "134217728", "binlog_format": "ROW",
		"log_bin": "OFF", "tx_isolation": "REPEATABLE-READ", "datadir": "/lab/d/", "port": "0", "general_log": "OFF", "time_zone": "SYSTEM",
		"skip_name_resolve": "ON", "innodb_dedicated_server": "ON", "thread_handling": "one-thread-per-connection", "init_connect": "",
	}
	for _, tt := range []struct {
		options []string
		want    []string
	}{
		{[]string{"innodb_page_cleaners=1"}, []string{"innodb_page_cleaners: asked 1, without effect: The parameter innodb_page_cleaners is deprecated and has no effect."}},
		{[]string{"innodb-undo-logs=5"}, []string{"innodb_undo_logs: asked 5, without effect: 'innodb-undo-logs' was removed. It does nothing now and exists only for compatibility with old my.cnf files."}},
		{[]string{"loose_foo=1", "loose-bar"}, []string{"foo: asked 1, without effect: unknown variable 'loose-foo=1'", "bar: asked for, without effect: unknown option '--loose-bar'."}},
		{[]string{"innodb_io_capacity=10"}, []string{"innodb_io_capacity: asked 10, got 100"}},
		{[]string{"innodb_buffer_pool_size=128M", "innodb_dedicated_server=1", "binlog_format=row", "skip-name-resolve"}, nil},
		{[]string{"innodb_buffer_pool_size=130M"}, []string{"innodb_buffer_pool_size: asked 130M, got 134217728"}},
		{[]string{"innodb_buffer_pool_size=1G", "innodb-buffer-pool-size=128M"}, nil}, // the later one wins
		{[]string{"log-bin=x"}, []string{"log_bin: asked x, got OFF"}},
		{[]string{"log-bin=x", "skip-log-bin"}, nil},
		{[]string{"skip-log-bin", "log-bin"}, []string{"log_bin: asked for, got OFF"}},
		{[]string{"disable_general_log", "enable-general-log=0"}, nil},
		{[]string{"skip-general-log=0"}, []string{"skip_general_log: asked 0, got general_log OFF"}},
		{[]string{"transaction-isolation=READ-COMMITTED"}, []string{"transaction_isolation: asked READ-COMMITTED, got tx_isolation REPEATABLE-READ"}},
		{[]string{"default-time-zone=SYSTEM"}, nil},
		{[]string{"datadir=/var/lib/mysql", "port=3306", "user=mysql"}, []string{
			"datadir: asked /var/lib/mysql, without effect: backslide decides it", "port: asked 3306, without effect: backslide decides it", "user: asked mysql, without effect: backslide decides it"}},
		{[]string{"datadir=/lab/d"}, nil},
		{[]string{"thread_handling=pool-of-threads"}, []string{"thread_handling: asked pool-of-threads, got one-thread-per-connection"}},
		{[]string{"init_connect=SET x"}, []string{"init_connect: asked SET x, got an empty value"}},
		{[]string{"performance-schema-instrument=a=ON", "performance-schema-instrument=b=ON", "plugin-load-add=ha_rocksdb"}, nil},
		{[]string{"innodb_secret=3"}, []string{"innodb_secret: asked 3, accepted, but the server shows no such setting: it may have no effect"}},
	} {
		if d := cmp.Diff(tt.want, Ignored(parse(tt.options...), settings, warnings)); d != "" {
			t.Errorf("Ignored(%q) (-want +got):\n%s", tt.options, d)
		}
	}
}

func TestSame(t *testing.T) {
	for _, tt := range []struct {
		variable, asked, got string
		want                 bool
	}{
		{"x", "128M", "134217728", true}, {"x", "128m", "134217728", true}, {"x", "1T", "1099511627776", true}, {"x", "128M", "134217729", false},
		{"x", "0.5", "0.500000", true}, {"x", "0.5", "0.6", false}, {"x", "007", "7", true}, {"x", "-1", "2000", true},
		{"x", "99", "1", false}, {"x", "1", "99", false}, {"x", "2", "0", false},
		{"x", "1", "ON", true}, {"x", "true", "ON", true}, {"x", "yes", "OFF", false}, {"x", "0", "OFF", true}, {"x", "off", "NO", true},
		{"x", "ON", "1", true}, {"x", "ON", "0", false}, {"x", "OFF", "0", true}, {"x", "ON", "2", true},
		{"log_bin", "/var/log/bin", "ON", true}, {"log_bin", "name", "OFF", false},
		{"sql_mode", "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION", "NO_ENGINE_SUBSTITUTION,STRICT_TRANS_TABLES", true},
		{"sql_mode", "STRICT_TRANS_TABLES", "NO_ENGINE_SUBSTITUTION,STRICT_TRANS_TABLES", false},
		{"sql_mode", "ANSI", "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ANSI", true},
		{"sql_mode", "", "STRICT_TRANS_TABLES", false}, {"sql_mode", "", "", true},
		{"optimizer_switch", "mrr=off", "index_merge=on,mrr=off", true}, {"optimizer_switch", "mrr=on", "index_merge=on,mrr=off", false},
		{"optimizer_switch", "default,mrr=off", "index_merge=on,mrr=off", true},
		{"tls_version", "TLSv1.2, TLSv1.3", "TLSv1.2,TLSv1.3", true},
		{"character_set_server", "utf8", "utf8mb3", true}, {"collation_server", "utf8_bin", "utf8mb3_bin", true}, {"character_set_server", "utf8mb4", "utf8mb3", false},
		{"innodb_flush_method", "o_direct", "O_DIRECT", true}, {"innodb_flush_method", "fsync", "O_DIRECT", false},
		{"innodb_flush_method", "4", "O_DIRECT", true}, // an enumeration's number
		{"innodb_data_home_dir", "/a/b", "/a/b/", true}, {"x", "'quoted'", "quoted", true}, {"datadir", "/", "/a/", false},
	} {
		if got := same(tt.variable, tt.asked, tt.got); got != tt.want {
			t.Errorf("same(%s, asked %q, got %q) = %v, want %v", tt.variable, tt.asked, tt.got, got, tt.want)
		}
	}
}

// FuzzSame: what a server shows as it was asked is always the same.
func FuzzSame(f *testing.F) {
	f.Add("sql_mode", "ANSI,,x=1", "ON")
	f.Add("x", "1e400", "NaN")
	f.Fuzz(func(t *testing.T, variable, value, other string) {
		if !same(variable, value, value) {
			t.Errorf("same(%q, %q, %q) = false", variable, value, value)
		}
		same(variable, value, other)
	})
}

func FuzzIgnored(f *testing.F) {
	f.Add("loose_foo", "1", warnings)
	f.Add("skip_", "", "[Warning] ] '': does nothing")
	f.Fuzz(func(t *testing.T, name, value, log string) {
		Ignored([]lab.Option{{Name: name, Value: value}, {Name: name, Bare: true}}, map[string]string{"foo": value}, log)
	})
}
