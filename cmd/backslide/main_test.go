package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// runEnvName makes this test binary a backslide.
const runEnvName = "BACKSLIDE_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(clientEnvName) != "" || os.Getenv(runEnvName) != "" {
		// Started by a test as backslide, or by such a one as its client child.
		os.Exit(backslide(os.Stdin, os.Stdout, os.Stderr, os.Args[1:]))
	}
	testscript.Main(m, map[string]func(){"backslide": main})
}

// TestScripts runs command lines and looks at what they print: testdata/script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Cmds: map[string]func(*testscript.TestScript, bool, []string){"nights": nights}, Setup: func(e *testscript.Env) error {
		// Builds are shared with the user's cache, labs are not.
		e.Setenv("BACKSLIDE_CACHE", defaultCache())
		return nil
	}})
}
