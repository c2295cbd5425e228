package compare

import (
	"fmt"
	"strings"

	"backslide/lab"
	"backslide/stat"
)

// Slices are left out by what disturbed them from outside, never by their result.
const (
	// stolen is the share of all CPU time, taken by the hypervisor, beyond which a slice is
	// disturbed. Its whole mirrored group is then left out, for all variants alike.
	stolen = 0.05
	// keptLeast is the share of a block's groups at a level that has to be left: of a block
	// disturbed all the way none are left out, since taking turns has spread it evenly.
	keptLeast = 0.5
	// unevenP is the p-value under which variants are said to be disturbed unequally.
	unevenP = 0.001
)

// isDisturbed reports whether a slice is beyond the rule.
func (j *judge) isDisturbed(o obs) bool {
	return o.steal > stolen*float64(max(1, j.run.Host.CPUs))*o.wall
}

// disturbances returns the mirrored groups to leave out. What is left out of a block
// depends on that block alone, so that later blocks change no earlier look.
func (j *judge) disturbances() map[lab.Level]map[place]bool {
	out := map[lab.Level]map[place]bool{}
	for _, l := range j.levels {
		hit := map[place]bool{}
		for _, v := range j.run.Variants {
			for _, o := range j.of(v, l.Level).good {
				if j.isDisturbed(o) {
					hit[o.group()] = true
				}
			}
		}
		if len(hit) == 0 {
			continue
		}
		all, gone := map[int32]map[place]bool{}, map[int32]int{}
		for _, v := range j.run.Variants {
			for _, o := range j.of(v, l.Level).good {
				if all[o.block] == nil {
					all[o.block] = map[place]bool{}
				}
				all[o.block][o.group()] = true
			}
		}
		for g := range hit {
			gone[g.block]++
		}
		for g := range hit {
			if n := len(all[g.block]); float64(n-gone[g.block]) < keptLeast*float64(n) {
				delete(hit, g)
			}
		}
		out[l.Level] = hit
	}
	return out
}

// drops counts what was disturbed and left out, by variant; nil if steal was never read.
func (j *judge) drops() []lab.Drops {
	var out []lab.Drops
	read := false
	for _, v := range j.run.Variants {
		d := lab.Drops{Variant: v}
		for _, l := range j.levels {
			gone := j.disturbed[l.Level]
			for _, o := range j.of(v, l.Level).good {
				read = read || o.steal >= 0
				d.Slices++
				if j.isDisturbed(o) {
					d.Disturbed++
				}
				if gone[o.group()] {
					d.Dropped++
				}
			}
		}
		out = append(out, d)
	}
	if !read {
		return nil
	}
	return out
}

// steal says how many slices lost CPU time to the hypervisor, per variant if any did.
func (j *judge) steal() []string {
	var hits, tries []int
	var parts []string
	hit, all, gone := 0, 0, 0
	for _, d := range j.drops() {
		if d.Slices > 0 {
			parts = append(parts, fmt.Sprintf("%s %.0f %%", d.Variant, 100*float64(d.Disturbed)/float64(d.Slices)))
		}
		hits, tries = append(hits, d.Disturbed), append(tries, d.Slices)
		hit, all, gone = hit+d.Disturbed, all+d.Slices, gone+d.Dropped
	}
	if hit == 0 {
		return nil
	}
	note := fmt.Sprintf("the hypervisor took more than %.0f %% of the CPU time in %d of %d slices: %s", 100*stolen, hit, all, strings.Join(parts, ", "))
	if gone > 0 {
		note += fmt.Sprintf("; left out with their whole mirrored groups: %d slices", gone)
	}
	out := []string{note}
	if p := stat.Same(hits, tries); p < unevenP {
		out = append(out, "the hypervisor did not treat the variants alike: one that uses more CPU may attract more of it, and leaving its slices out favours it")
	}
	return out
}
