package extern

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"sysbench 1.0.20\n": {Tool: "sysbench", Major: 1, Patch: 20},
		"sysbench 1.1.0-9072687 (using bundled LuaJIT 2.1.0-beta3)":                  {Tool: "sysbench", Major: 1, Minor: 1, Suffix: "-9072687"},
		"sysbench 0.4.12:  multi-threaded system evaluation benchmark":               {Tool: "sysbench", Minor: 4, Patch: 12},
		"sysbench 0.5:  multi-threaded system evaluation benchmark":                  {Tool: "sysbench", Minor: 5},
		"mysqlslap  Ver 1.0 Distrib 10.11.19-MariaDB, for debian-linux-gnu (x86_64)": {"mysqlslap", lab.MariaDB, 10, 11, 19, "-MariaDB"},
		"/usr/bin/mariadb-slap from 11.8.2-MariaDB, client 15.2 for linux":           {"mysqlslap", lab.MariaDB, 11, 8, 2, "-MariaDB"},
		"mysqlslap  Ver 1.0 Distrib 5.6.51, for Linux (x86_64)":                      {"mysqlslap", lab.MySQL, 5, 6, 51, ""},
		"mysqlslap  Ver 9.7.0 for Linux on x86_64 (MySQL Community Server - GPL)":    {"mysqlslap", lab.MySQL, 9, 7, 0, ""},
	} {
		if got, ok := ParseVersion(text); !ok || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "sysbench", "sysbench oltp_read_write run", "sysbench 1", "sysbench 1..2", "sysbench 1.2.3.4", "mysql Ver 8.0.1", "sysbench 99999999999999999999.1"} {
		if got, ok := ParseVersion(text); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestSysbenchArgs(t *testing.T) {
	full := Sysbench{
		Script: "oltp_read_only", Tables: 4, Rows: 1000, RangeSize: 10, Engine: "InnoDB", Options: []lab.Option{{Name: "skip-trx", Value: "on"}},
		Threads: 8, Time: time.Minute, Events: 7, Rate: 2.5, Warmup: 5 * time.Second, Report: time.Second, Text: true, Seed: 42, Percentile: 99, Histogram: true,
		Socket: "/s", User: "u", Schema: "d", Config: "/c",
	}
	small := Sysbench{Script: "oltp_point_select", Threads: 1, Time: time.Second}
	with := func(f func(*Sysbench)) Sysbench { s := small; f(&s); return s }
	data := " --db-driver=mysql --config-file=/c --mysql-socket=/s --mysql-user=u --mysql-db=d --tables=4 --table-size=1000 --mysql-storage-engine=innodb --rand-seed=42 --skip-trx=on"
	for _, x := range []struct {
		s       Sysbench
		v       Version
		command string
		want    string // a complete command line, or an error
	}{
		{full, Version{Major: 1, Minor: 1}, Run, "sysbench oltp_read_only" + data +
			" --threads=8 --time=60 --events=7 --range-size=10 --rate=2.5 --warmup-time=5 --report-interval=1 --percentile=99 --db-ps-mode=disable --histogram=on run"},
		{full, Version{Major: 1, Minor: 1}, Prepare, "sysbench oltp_read_only" + data + " prepare"},
		{full, Version{Major: 1, Minor: 1}, Cleanup, "sysbench oltp_read_only" + data + " cleanup"},
		{small, Version{}, Run, "sysbench oltp_point_select --db-driver=mysql --threads=1 --time=1 --events=0 run"},
		{full, Version{Major: 1, Patch: 20}, Run, "sysbench run: warm-up: comes with version 1.1: run it once before as a warm-up instead"},
		{small, Version{Minor: 5}, Run, "sysbench run: version 0.5: has other options: use 1.0 or later"},
		{small, Version{}, "help", "sysbench help: no such command: there are prepare, run and cleanup"},
		{with(func(s *Sysbench) { s.Script = "" }), Version{}, Run, "sysbench run: no script: name one that comes with sysbench, or a Lua file"},
		{with(func(s *Sysbench) { s.Script = "-x.lua" }), Version{}, Run, "sysbench run: script -x.lua: would be taken for an option: write ./-x.lua"},
		{with(func(s *Sysbench) { s.Time = 1500 * time.Millisecond }), Version{}, Run, "sysbench run: 1.5s: times are whole seconds"},
		{with(func(s *Sysbench) { s.Time = 0 }), Version{}, Run, "sysbench run: no end: set a time or a number of events"},
		{with(func(s *Sysbench) { s.Threads = 0 }), Version{}, Run, "sysbench run: no threads"},
		{with(func(s *Sysbench) { s.Rows = -1 }), Version{}, Prepare, "sysbench prepare: a number is out of range: none is negative, and a percentile is at most 100"},
	} {
		args, err := x.s.Args(x.v, x.command)
		got := strings.Join(args, " ")
		if err != nil {
			got = err.Error()
		}
		if got != x.want {
			t.Errorf("%s of %+v:\ngot  %s\nwant %s", x.command, x.s, got, x.want)
		}
	}
	if got := full.Connections(); got != 8 {
		t.Errorf("%d connections", got)
	}
}

func TestEnv(t *testing.T) {
	for _, x := range []struct {
		script    string
		env, want []string
	}{
		{"oltp_read_only", []string{"A=1"}, []string{"A=1"}},
		{"/l/my.lua", []string{"A=1"}, []string{"A=1", "LUA_PATH=/l/?.lua;;"}},
		{"my.lua", nil, []string{"LUA_PATH=?.lua;;"}},
		{"l/my", []string{"LUA_PATH=/x/?.lua", "A=1"}, []string{"A=1", "LUA_PATH=l/?.lua;/x/?.lua"}},
	} {
		if d := cmp.Diff(x.want, Sysbench{Script: x.script}.Env(x.env)); d != "" {
			t.Errorf("%s (-want +got):\n%s", x.script, d)
		}
	}
}
