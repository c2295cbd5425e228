package server_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"backslide/fetch/fetchtest"
	"backslide/lab"
	"backslide/server"
	"backslide/server/servertest"
)

// TestAllocatorOfTheHost starts a server that runs on the host's C library with an
// allocator of the host's suite, and looks for it in the process.
func TestAllocatorOfTheHost(t *testing.T) {
	cache := fetchtest.Cache(t)
	var path string
	_, s := servertest.Start(t, "mysql@5.6", nil, func(spec *server.Spec) {
		b, err := cache.WithPreload(t.Context(), spec.Build, "jemalloc")
		if err != nil {
			t.Fatal(err)
		}
		spec.Build, spec.Config.Preload, path = b, "jemalloc", b.Preloads["jemalloc"]
	})
	maps, err := os.ReadFile("/proc/" + strconv.Itoa(s.PID()) + "/maps")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(maps), "/libjemalloc.so") {
		t.Errorf("no jemalloc (%s) in the server's memory", path)
	}
	for _, name := range []string{"", lab.Glibc, "/lib/x.so"} {
		b := fetchtest.Build(t, "mysql@5.6")
		if got, err := cache.WithPreload(t.Context(), b, name); err != nil || len(got.Preloads) != 0 {
			t.Errorf("preload %q: %v, %v; nothing has to be fetched", name, got.Preloads, err)
		}
	}
	if _, err := cache.WithPreload(t.Context(), fetchtest.Build(t, "mysql@5.6"), "umem"); err == nil || !strings.Contains(err.Error(), "jemalloc") {
		t.Errorf("preload umem: %v; want an error that names what there is", err)
	}
	if _, err := cache.WithPreload(t.Context(), fetchtest.Build(t, "mariadb@10.5"), "mimalloc"); err == nil || !strings.Contains(err.Error(), "C libraries of its own") {
		t.Errorf("an allocator that the suite does not have: %v", err)
	}
}
