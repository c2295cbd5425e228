// Package workloads holds the built-in workloads as data. It reads nothing into them:
// load.Parse does, as for a user's own.
package workloads

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.toml
var files embed.FS

// Text returns a built-in workload's file name and text.
func Text(name string) (file, text string, ok bool) {
	file = name + ".toml"
	b, err := files.ReadFile(file)
	return file, string(b), err == nil
}

// Names returns the names of the built-in workloads, sorted.
func Names() []string {
	var out []string
	paths, _ := fs.Glob(files, "*.toml") // the pattern is valid
	for _, p := range paths {
		out = append(out, strings.TrimSuffix(p, ".toml"))
	}
	return out
}
