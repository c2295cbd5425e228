package explain

import (
	"cmp"
	"slices"
	"strings"

	"backslide/lab"
)

// settings returns what differs between the set-ups of the two sides: what nobody asked
// for first, and of that what is known to matter most.
func settings(in Input) []lab.SettingChange {
	base, cand := in.Run.Sides[in.Comparison.Base.String()], in.Run.Sides[in.Comparison.Candidate.String()]
	if base == nil || cand == nil {
		return nil
	}
	var out []lab.SettingChange
	add := func(name, b, c string) {
		if b != c {
			out = append(out, lab.SettingChange{Name: name, Base: b, Candidate: c})
		}
	}
	add("build flags", base.Build.Flags, cand.Build.Flags)
	add("preloaded library", base.Config.Preload, cand.Config.Preload)
	add("launcher", strings.Join(base.Config.Launcher, " "), strings.Join(cand.Config.Launcher, " "))
	for i := range out {
		if in.Known != nil {
			out[i].Known, out[i].Weight = in.Known(out[i].Name)
		}
	}
	slices.SortStableFunc(out, func(a, b lab.SettingChange) int {
		asked := func(s lab.SettingChange) int {
			if s.Asked {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(asked(a), asked(b)), cmp.Compare(b.Weight, a.Weight))
	})
	return out
}
