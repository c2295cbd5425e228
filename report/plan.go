package report

import (
	"fmt"
	"slices"
	"time"

	"backslide/lab"
)

// slicesLine says how many slices there were, and how long.
func (v *view) slicesLine() string {
	few, most := 0, 0
	var short, long time.Duration
	for _, l := range v.Run.Levels {
		if l.Why == "" {
			continue
		}
		if most == 0 {
			few, short = l.Slices, l.Slice
		}
		few, most = min(few, l.Slices), max(most, l.Slices)
		short, long = min(short, l.Slice), max(long, l.Slice)
	}
	if most == 0 {
		return fmt.Sprintf("%d per variant, level and block; read slices of %s", v.plan.Slices, v.plan.Slice)
	}
	return fmt.Sprintf("%s per variant, level and block of short operations, of %s, as a pilot of their noise called for; else about %d of %s",
		between(few, most), between(short, long), v.plan.Slices, v.plan.Slice)
}

// between returns "4", or "4 to 8".
func between[T comparable](from, to T) string {
	if from == to {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%v to %v", from, to)
}

const mostPilots = 5 // levels whose slices are explained

// pilots says why the levels with the most slices have them.
func (v *view) pilots() []string {
	levels := slices.DeleteFunc(slices.Clone(v.Run.Levels), func(l lab.LevelPlan) bool { return l.Why == "" })
	slices.SortStableFunc(levels, func(a, b lab.LevelPlan) int { return b.Slices - a.Slices })
	var out []string
	for i, l := range levels {
		if i == mostPilots {
			return append(out, fmt.Sprintf("slices of %s more are explained in JSON", count(len(levels)-i, "level")))
		}
		out = append(out, fmt.Sprintf("slices of %s: %d of %s, since %s", v.at(l.Level), l.Slices, l.Slice, clean(l.Why)))
	}
	return out
}
