package extern_test

import (
	"os"
	"path/filepath"
	"testing"

	"backslide/fetch"
	"backslide/lab"
	"backslide/proc"
	"backslide/server"
)

func startServer(t *testing.T, build string, options ...lab.Option) *server.Server {
	t.Helper()
	dir, err := fetch.DefaultDir()
	if err != nil {
		t.Fatal(err)
	}
	b, err := (&fetch.Cache{Dir: dir, Log: t.Logf}).Build(t.Context(), build)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := proc.NewGuard(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { guard.Close() })
	run, err := os.MkdirTemp("", "bs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	here := t.TempDir()
	spec := server.Spec{
		Build: b, DataDir: filepath.Join(here, "data"), RunDir: filepath.Join(run, "a"), LogFile: filepath.Join(here, "log"), Guard: guard,
		Config: lab.Config{Name: "test", Options: append([]lab.Option{{Name: "innodb_flush_log_at_trx_commit", Value: "2"}, {Name: "innodb_log_file_size", Value: "8M"}}, options...)},
	}
	if err := server.Init(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	s, err := server.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}
