package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"backslide/lab"
)

const (
	worthNames = 0.05 // share of the sampled CPU time without a function's name that is worth a doubt
	worthFile  = 0.01 // share of it that a file must have to be named
)

// nameless says how much of the sampled CPU time of a side is in functions without a name,
// in which files these are, and where the names are to be had.
func (x *evidence) nameless(side string, v lab.Variant, seen []lab.Observation) {
	sum, n, files := 0.0, 0, map[string]float64{}
	for _, o := range seen {
		if o.Key.Kind != lab.Stacks.Kind() || !saw(o, lab.Stacks) {
			continue
		}
		n++
		sum += o.Unknown
		for _, f := range o.Nameless {
			files[f.Name] += f.Value
		}
	}
	if n == 0 || sum/float64(n) <= worthNames {
		return
	}
	names := slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		return cmp.Or(cmp.Compare(files[b], files[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, name := range names {
		if share := files[name] / float64(n); share >= worthFile {
			parts = append(parts, name+" "+percent(share))
		}
	}
	s := fmt.Sprintf("%s: %s of the sampled CPU time is in functions without a name", side, percent(sum/float64(n)))
	if len(parts) > 0 {
		s += " (" + strings.Join(parts, ", ") + ")"
	}
	var b lab.Build
	if r := x.Run.Sides[v.String()]; r != nil {
		b = r.Build
	}
	x.doubt(s + "; " + wantSymbols(b))
}

// wantSymbols says where the symbols of a build are to be had.
func wantSymbols(b lab.Build) string {
	const then = "unpack it and explain again with --symbols DIR"
	suite, ok := strings.CutPrefix(b.Origin, "apt ")
	i := slices.IndexFunc(b.Packages, func(p lab.Package) bool { return strings.Contains(p.Name, "-server-core") })
	if !ok || i < 0 {
		return "if there is a package or a file with the symbols of this build, " + then
	}
	return fmt.Sprintf("its names are in the package %s-dbgsym %s of Debian's archive of debug symbols, suite %s-debug: %s", b.Packages[i].Name, b.Packages[i].Version, suite, then)
}
