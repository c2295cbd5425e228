// Package servertest starts real servers for tests, as httptest does for HTTP. Only tests
// import it.
package servertest

import (
	"os"
	"path/filepath"
	"testing"

	"backslide/fetch/fetchtest"
	"backslide/lab"
	"backslide/proc"
	"backslide/server"
)

// Start starts a build's server on an empty data directory, with options, for as long as
// the test runs; the test is skipped under -short. change, if not nil, has the last word on
// how.
func Start(t testing.TB, name string, options []lab.Option, change func(*server.Spec)) (lab.Build, *server.Server) {
	t.Helper()
	b := fetchtest.Build(t, name)
	guard, err := proc.NewGuard(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { guard.Close() })
	// Test directories are too deep for a socket.
	run, err := os.MkdirTemp("", "bs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	here := t.TempDir()
	spec := server.Spec{
		Build: b, DataDir: filepath.Join(here, "data"), RunDir: filepath.Join(run, "a"), LogFile: filepath.Join(here, "log"), Guard: guard,
		Config: lab.Config{Name: "test", Options: append([]lab.Option{{Name: "innodb_flush_log_at_trx_commit", Value: "2"}}, options...)},
	}
	if change != nil {
		change(&spec)
	}
	if err := server.Init(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	s, err := server.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return b, s
}
