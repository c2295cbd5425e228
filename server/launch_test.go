package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

func TestCommandLine(t *testing.T) {
	lib := filepath.Join(t.TempDir(), "libjemalloc.so.2")
	if err := os.WriteFile(lib, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	own := lab.Build{Name: "own", Server: "/b/mysqld", Loader: "/b/ld.so", LibraryPath: []string{"/b/l1", "/b/l2"}, Preloads: map[string]string{"jemalloc": lib}}
	host := own
	host.Loader = ""
	plain := lab.Build{Name: "plain", Server: "/b/mysqld"}
	pin := []string{"taskset", "-c", "0"}
	for _, tt := range []struct {
		name   string
		build  lab.Build
		config lab.Config
		want   []string
		env    []string // behind the common ones
	}{
		{"plain", plain, lab.Config{Env: []string{"A=b"}}, []string{"/b/mysqld", "--no-defaults"}, []string{"A=b"}},
		{"own loader", own, lab.Config{}, []string{"/b/ld.so", "--library-path", "/b/l1:/b/l2", "/b/mysqld", "--no-defaults"}, nil},
		{"own loader, all", own, lab.Config{Preload: "jemalloc", Launcher: pin},
			[]string{"taskset", "-c", "0", "/b/ld.so", "--library-path", "/b/l1:/b/l2", "--preload", lib, "/b/mysqld", "--no-defaults"}, nil},
		{"host's loader", host, lab.Config{Preload: lib}, []string{"/b/mysqld", "--no-defaults"}, []string{"LD_LIBRARY_PATH=/b/l1:/b/l2", "LD_PRELOAD=" + lib}},
		{"host's loader, all", host, lab.Config{Preload: "jemalloc", Launcher: pin},
			[]string{"taskset", "-c", "0", "env", "LD_LIBRARY_PATH=/b/l1:/b/l2", "LD_PRELOAD=" + lib, "/b/mysqld", "--no-defaults"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, env, err := commandLine(tt.build, tt.config)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("command (-want +got):\n%s", d)
			}
			if !slices.Equal(env[3:], tt.env) || !strings.HasPrefix(env[0], "PATH=") {
				t.Errorf("env %q, want %q at its end", env, tt.env)
			}
		})
	}
	if !slices.Equal(pin, []string{"taskset", "-c", "0"}) {
		t.Errorf("the config's launcher was changed: %q", pin)
	}
	for _, preload := range []string{"tcmalloc", "lib/x.so", "/no/such.so"} {
		if _, _, err := commandLine(own, lab.Config{Preload: preload}); err == nil {
			t.Errorf("preload %s: no error", preload)
		}
	}
}

func TestTasksetCPUs(t *testing.T) {
	for _, tt := range []struct {
		launcher string
		want     []int
		err      bool
	}{
		{"", nil, false},
		{"numactl -C 0", nil, false},
		{"taskset -c 0,2-3", []int{0, 2, 3}, false},
		{"/usr/bin/taskset -a --cpu-list 1", []int{1}, false},
		{"taskset --cpu-list=1", []int{1}, false},
		{"taskset 0x5", []int{0, 2}, false},
		{"taskset 3", []int{0, 1}, false},
		{"taskset -c x", nil, true},
		{"taskset zz", nil, true},
	} {
		got, err := tasksetCPUs(strings.Fields(tt.launcher))
		if !slices.Equal(got, tt.want) || (err != nil) != tt.err {
			t.Errorf("tasksetCPUs(%s) = %v, %v, want %v", tt.launcher, got, err, tt.want)
		}
	}
}

// TestCheckedBeforeStart: what is wrong with a spec is said before anything is made.
func TestCheckedBeforeStart(t *testing.T) {
	dir := t.TempDir()
	good := Spec{Build: lab.Build{Name: "b", Family: lab.MariaDB, Server: "/bin/false"}, DataDir: dir + "/d", RunDir: dir + "/r", LogFile: dir + "/l"}
	for _, tt := range []struct {
		name   string
		change func(*Spec)
		want   string
	}{
		{"socket of 108 bytes", func(s *Spec) { s.RunDir = "/" + strings.Repeat("x", 108-len("/sock")-1) }, "108 bytes and the system allows 107: use a run directory with a shorter path"},
		{"family", func(s *Spec) { s.Build.Family = "oracle" }, `family "oracle"`},
		{"relative path", func(s *Spec) { s.DataDir = "d" }, `"d" is not absolute`},
		{"engine", func(s *Spec) { s.Engine = "TokuDB" }, "has no engine TokuDB; it has InnoDB, MyISAM, Aria, MEMORY, MyRocks"},
		{"engine of the other family", func(s *Spec) { s.Build.Family, s.Engine = lab.MySQL, "Aria" }, "has no engine Aria; it has InnoDB"},
		{"plugin", func(s *Spec) { s.Engine, s.Build.PluginDir = "MyRocks", dir }, "no ha_rocksdb.so"},
		{"allocator", func(s *Spec) { s.Config.Preload = "jemalloc" }, `no allocator "jemalloc"`},
		{"redo log elsewhere", ask("innodb-log-group-home-dir", "/ssd/redo"), "--innodb-log-group-home-dir=/ssd/redo would keep files outside the data directory"},
		{"binary log beside", ask("log_bin", "../binlog"), "--log_bin=../binlog would keep files outside"},
		{"second data file elsewhere", ask("innodb_data_file_path", "ibdata1:12M;/ssd/ibdata2:12M:autoextend"), "would keep files outside"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := good
			tt.change(&s)
			for what, err := range map[string]error{"Init": Init(t.Context(), s), "Start": startErr(t, s), "Check": Check(t.Context(), s)} {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %v, want %q in it", what, err, tt.want)
				}
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("it made %v", left)
			}
		})
	}
	fine := good
	for _, o := range [][2]string{{"log_bin", "binlog"}, {"log_bin", "logs/binlog"}, {"innodb_undo_directory", "./"}, {"general_log_file", "/dev/null"},
		{"innodb_data_home_dir", ""}, {"innodb_log_group_home_dir", dir + "/d/redo"}, {"innodb_tmpdir", "/ssd"}} {
		ask(o[0], o[1])(&fine)
	}
	if _, err := fine.check(); err != nil {
		t.Errorf("files below the data directory: %v", err)
	}
	// 107 bytes are allowed.
	good.RunDir = "/" + strings.Repeat("x", 107-len("/sock")-1)
	if _, err := good.check(); err != nil || len(good.socket()) != 107 {
		t.Errorf("a socket of %d bytes: %v", len(good.socket()), err)
	}
}

// ask returns what adds an option to a spec.
func ask(name, value string) func(*Spec) {
	return func(s *Spec) { s.Extra = append(slices.Clone(s.Extra), lab.Option{Name: name, Value: value}) }
}

func startErr(t *testing.T, s Spec) error {
	t.Helper()
	srv, err := Start(t.Context(), s)
	if err == nil {
		srv.Kill()
	}
	return err
}

// TestNotAServer: a program that ends at once, saying why.
func TestNotAServer(t *testing.T) {
	dir := t.TempDir()
	s := Spec{Build: lab.Build{Name: "b", Family: lab.MySQL, Server: dir + "/server"}, DataDir: dir + "/d", RunDir: dir + "/r", LogFile: dir + "/logs/l"}
	if err := os.WriteFile(s.Build.Server, []byte("#!/bin/sh\necho libaio.so.1: cannot open shared object file >&2\nexit 127\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := startErr(t, s); err == nil || !strings.Contains(err.Error(), "data directory") {
		t.Errorf("Start without a data directory: %v", err)
	}
	if err := os.Mkdir(s.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	err := startErr(t, s)
	for _, want := range []string{"start b: server: exit status 127", s.LogFile + " says:", "libaio.so.1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Start: %v, want %q in it", err, want)
		}
	}
	for _, path := range []string{s.RunDir, s.tempDir()} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
}

func TestLogFrom(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	text := "old [ERROR] of the last start\n" + strings.Repeat("x\n", 40) + "1 [ERROR] unknown variable 'a=1'\n2 [ERROR] Aborting\n3 end\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	l := logFrom{path: path, offset: int64(strings.Index(text, "\n") + 1)}
	if got, want := l.quoteErrors(), "; its log "+path+" says:\n\t1 [ERROR] unknown variable 'a=1'"; got != want {
		t.Errorf("quoteErrors: %q, want %q", got, want)
	}
	if got := tail(l.text(), 2); got != "2 [ERROR] Aborting\n3 end" {
		t.Errorf("tail: %q", got)
	}
	if got := tail("a\n", 5); got != "a" {
		t.Errorf("tail: %q", got)
	}
	if got := strings.Count(l.quoteEnd(), "\n\t"); got != quoteLines {
		t.Errorf("quoteEnd has %d lines, want %d", got, quoteLines)
	}
	if got := (logFrom{path: path + ".none"}).quoteEnd(); !strings.Contains(got, "is empty") {
		t.Errorf("quoteEnd of no log: %q", got)
	}
	big := strings.Repeat("0123456789abcde\n", logMax/16+100)
	if err := os.WriteFile(path, []byte(big+"last\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := l.text(); len(got) != logMax || !strings.HasSuffix(got, "last\n") {
		t.Errorf("%d bytes of a long log, ending in %q", len(got), got[len(got)-10:])
	}
}
