package main

import (
	"maps"
	"path/filepath"
	"slices"

	"backslide/lab"
	"backslide/probe/stacks"
)

// symbolDirs returns where a build's symbols are looked for: in the user's directory, which
// may also be that of an unpacked package, in the build's own tree, and on the host.
func symbolDirs(user string, b lab.Build) []string {
	const debug = "lib/debug"
	dirs := []string{filepath.Join(b.BaseDir, debug), filepath.Join(b.Dir, "usr", debug), filepath.Join("/usr", debug)}
	if user != "" {
		dirs = append([]string{user, filepath.Join(user, "usr", debug)}, dirs...)
	}
	return slices.Compact(dirs)
}

// withNames returns what was seen of stacks with functions renamed as in p, the profile
// that it is from. What spins keeps its name.
func withNames(o lab.Observation, p *stacks.Profile, renamed map[string]string) lab.Observation {
	o.Functions, o.Background = withFunctions(o.Functions, renamed), withFunctions(o.Background, renamed)
	o.Unknown, o.Nameless = p.UnknownShare(), nameless(p)
	return o
}

// withFunctions renames functions, and adds up those that then have the same name.
func withFunctions(amounts []lab.Amount, renamed map[string]string) []lab.Amount {
	var out []lab.Amount
	at := map[string]int{}
	for _, a := range amounts {
		if name, ok := renamed[a.Name]; ok {
			a.Name = stacks.Short(name)
		}
		i, ok := at[a.Name]
		if !ok {
			at[a.Name] = len(out)
			out = append(out, a)
			continue
		}
		out[i].Value += a.Value
	}
	return out
}

// nameless returns the shares of the CPU time without a function's name, by file.
func nameless(p *stacks.Profile) []lab.Amount {
	of := map[string]float64{}
	for file, share := range p.UnknownShares() {
		of[fileLabel(file)] += share
	}
	var out []lab.Amount
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, lab.Amount{Name: name, Value: of[name]})
	}
	return out
}

// fileLabel is how people are told of a file of functions.
func fileLabel(dso string) string {
	if dso == "" {
		return "no file"
	}
	return filepath.Base(dso)
}
