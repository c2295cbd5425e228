package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"backslide/lab"
)

// mostSeen is how many names a list has before the rest is counted.
const mostSeen = 5

// footnotes returns differences and doubts that hold for the whole run: first what makes
// numbers missing, then what makes the sides unlike, then what disturbed them.
func (j *judge) footnotes() []string {
	out := j.broken()
	base := j.run.Sides[j.run.Base.String()]
	out = append(out, j.unlike(base)...)
	for _, v := range j.run.Variants {
		if s := j.run.Sides[v.String()]; s != nil && len(s.Ignored) > 0 {
			out = append(out, fmt.Sprintf("%s: options that had no effect: %s", v, strings.Join(s.Ignored, "; ")))
		}
	}
	out = append(out, j.resumed()...)
	out = append(out, j.steal()...)
	out = append(out, j.foreign()...)
	out = append(out, j.shortage()...)
	out = append(out, j.doubted()...)
	out = append(out, j.aloneBehind()...)
	return append(out, j.serverErrors()...)
}

// doubted sums up what the client said of single slices: which cells, how many of each.
func (j *judge) doubted() []string {
	cells := map[string][]string{}
	total := map[string]int{}
	for _, l := range j.levels {
		for _, v := range j.run.Variants {
			c := j.of(v, l.Level)
			for text, n := range c.doubts {
				cells[text] = append(cells[text], fmt.Sprintf("%s with %s (%d of %d)", l.Level, v, n, len(c.good)+len(c.failed)))
				total[text] += n
			}
		}
	}
	var out []string
	for _, text := range slices.Sorted(maps.Keys(cells)) {
		what := "slices"
		if total[text] == 1 {
			what = "slice"
		}
		out = append(out, fmt.Sprintf("%d %s: %s: %s", total[text], what, text, list(cells[text])))
	}
	return out
}

// broken says at which levels nothing can be compared since the base has nothing there.
func (j *judge) broken() []string {
	var levels []string
	why := ""
	for _, l := range j.levels {
		c := j.of(j.run.Base, l.Level)
		if len(c.good) > 0 {
			continue
		}
		if len(c.failed) == 0 && !j.tried(l.Level) {
			continue // not its turn yet
		}
		levels = append(levels, l.Level.String())
		if why == "" && len(c.failed) > 0 {
			why = ": " + c.failed[0].reason
		}
	}
	switch {
	case len(levels) == 0:
		return nil
	case len(levels) == len(j.levels):
		return []string{fmt.Sprintf("the base %s broke at every level, so nothing can be compared%s", j.run.Base, why)}
	}
	return []string{fmt.Sprintf("the base %s broke at %s, where nothing can be compared%s", j.run.Base, list(levels), why)}
}

// tried reports whether any candidate has slices at a level.
func (j *judge) tried(l lab.Level) bool {
	return slices.ContainsFunc(j.candidates, func(v lab.Variant) bool { return j.of(v, l).block >= 0 })
}

// unlike says in what candidates are unlike the base besides what was asked for. What
// several have in common is said once.
func (j *judge) unlike(base *lab.Side) []string {
	var texts []string
	who := map[string][]string{}
	for _, v := range j.candidates {
		for _, text := range sideNotes(v, base, j.run.Sides[v.String()]) {
			if who[text] == nil {
				texts = append(texts, text)
			}
			who[text] = append(who[text], v.String())
		}
	}
	var out []string
	for _, text := range texts {
		if len(who[text]) == 1 {
			out = append(out, who[text][0]+" "+text)
			continue
		}
		out = append(out, list(who[text])+": each "+text)
	}
	return out
}

// sideNotes returns what is unlike between a candidate and the base besides what was
// asked for, as what can be said of the candidate: "differs from …".
func sideNotes(v lab.Variant, base, cand *lab.Side) []string {
	if base == nil || cand == nil {
		return nil
	}
	var out []string
	if note := settingsNote(base, cand); note != "" {
		out = append(out, note)
	}
	if base.Build.Flags != cand.Build.Flags {
		out = append(out, fmt.Sprintf("was compiled otherwise than the base: %s; the base: %s", orUnknown(cand.Build.Flags), orUnknown(base.Build.Flags)))
	}
	if base.Build.ID == cand.Build.ID && v.Copy == 0 && base.Engine == cand.Engine && noEffect(base, cand) {
		out = append(out, "is the same as the base: the options in which it differs had no effect")
	}
	return out
}

func orUnknown(flags string) string {
	if flags == "" {
		return "flags unknown"
	}
	return flags
}

// noEffect reports whether configs differ, and only in options that one side ignored.
func noEffect(base, cand *lab.Side) bool {
	if base.Config.Preload != cand.Config.Preload || !slices.Equal(base.Config.Launcher, cand.Config.Launcher) || !slices.Equal(base.Config.Env, cand.Config.Env) {
		return false
	}
	differ := lab.Asked(base, cand)
	for _, ignored := range slices.Concat(base.Ignored, cand.Ignored) {
		name := strings.FieldsFunc(ignored, func(r rune) bool { return strings.ContainsRune(" ,=:", r) })
		if len(name) > 0 {
			delete(differ, lab.NormalName(strings.TrimLeft(name[0], "-")))
		}
	}
	return len(differ) == 0 && len(lab.Asked(base, cand)) > 0
}

// resumed names the blocks in which servers were restarted more than once.
func (j *judge) resumed() []string {
	restarts := map[int32]map[int32]bool{}
	for _, c := range j.byCell {
		for _, o := range c.good {
			if restarts[o.block] == nil {
				restarts[o.block] = map[int32]bool{}
			}
			restarts[o.block][o.restart] = true
		}
	}
	var torn []string
	for _, b := range slices.Sorted(maps.Keys(restarts)) {
		if len(restarts[b]) > 1 {
			torn = append(torn, fmt.Sprint(b))
		}
	}
	if len(torn) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the run was resumed in the middle of block %s: its slices are not all of one start of the servers", list(torn))}
}

// foreign says that the run was made under foreign load, if so.
func (j *judge) foreign() []string {
	var busy, wall float64
	for _, l := range j.levels {
		for _, v := range j.run.Variants {
			if u := j.of(v, l.Level).use; u.busy >= 0 {
				busy += u.busy
				wall += u.wall
			}
		}
	}
	share := busy / wall / float64(max(1, j.run.Host.CPUs))
	if !(share >= otherWork) {
		return nil
	}
	return []string{fmt.Sprintf("other work on the host took %.0f %% of the CPU time: small differences cannot be seen under it, and what is seen is of a loaded host", 100*share)}
}

// serverErrors sums up the errors with which servers answered, per variant.
func (j *judge) serverErrors() []string {
	var out []string
	for _, v := range j.run.Variants {
		codes := map[int]int64{}
		for _, l := range j.levels {
			for code, n := range j.of(v, l.Level).errors {
				codes[code] += n
			}
		}
		var parts []string
		for _, code := range slices.Sorted(maps.Keys(codes)) {
			parts = append(parts, fmt.Sprintf("%d × error %d", codes[code], code))
		}
		if len(parts) > 0 {
			out = append(out, fmt.Sprintf("%s answered with errors: %s", v, list(parts)))
		}
	}
	return out
}

// list joins names, counting those after the first few.
func list(names []string) string {
	if len(names) > mostSeen {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostSeen], ", "), len(names)-mostSeen)
	}
	return strings.Join(names, ", ")
}
