// Package fetchtest gives tests real builds of servers, out of the user's cache. Only
// tests import it. It starts nothing: servertest does.
package fetchtest

import (
	"testing"

	"backslide/fetch"
	"backslide/lab"
)

// Cache returns the user's cache of builds. A test that asks for it is skipped under
// -short, and only there.
func Cache(t testing.TB) *fetch.Cache {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real servers")
	}
	dir, err := fetch.DefaultDir()
	if err != nil {
		t.Fatal(err)
	}
	return &fetch.Cache{Dir: dir, Log: t.Logf}
}

// Build returns an installed build, fetching it into the user's cache if need be. The
// test fails when it cannot be had.
func Build(t testing.TB, name string) lab.Build {
	t.Helper()
	b, err := Cache(t).Build(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
