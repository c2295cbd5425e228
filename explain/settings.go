package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"backslide/lab"
)

// missing stands for the value of a variable that a server does not have.
const missing = "(no such variable)"

// settings returns what differs between the set-ups of the two sides: what nobody asked
// for first, and of that what is known to matter most.
func settings(in Input) []lab.SettingChange {
	base, cand := in.Run.Sides[in.Comparison.Base.String()], in.Run.Sides[in.Comparison.Candidate.String()]
	if base == nil || cand == nil {
		return nil
	}
	out := append(around(base, cand), variables(base, cand)...)
	why := in.Known
	if why == nil {
		why = Known
	}
	for i := range out {
		out[i].Known, out[i].Weight = why(out[i].Name, out[i].Base, out[i].Candidate)
	}
	asked := func(s lab.SettingChange) int {
		if s.Asked {
			return 1
		}
		return 0
	}
	lacking := func(s lab.SettingChange) int {
		if s.Base == missing || s.Candidate == missing {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b lab.SettingChange) int {
		return cmp.Or(cmp.Compare(asked(a), asked(b)), cmp.Compare(b.Weight, a.Weight), cmp.Compare(lacking(a), lacking(b)))
	})
	return out
}

// around returns what differs outside the servers' variables: how they were built, and
// what they were started with.
func around(base, cand *lab.Side) []lab.SettingChange {
	var out []lab.SettingChange
	add := func(name, b, c string, asked bool) {
		if b != c {
			out = append(out, lab.SettingChange{Name: name, Base: or(b, "unknown"), Candidate: or(c, "unknown"), Asked: asked})
		}
	}
	add("build flags", base.Build.Flags, cand.Build.Flags, false)
	preload := base.Config.Preload != cand.Config.Preload
	add("library malloc", allocator(base), allocator(cand), preload)
	for _, l := range []struct{ name, variable string }{{"library ssl", "version_ssl_library"}, {"library zlib", "version_compile_zlib"}} {
		add(l.name, base.Settings[l.variable], cand.Settings[l.variable], false)
	}
	add("compiled for", base.Settings["version_compile_machine"], cand.Settings["version_compile_machine"], false)
	add("launcher", or(strings.Join(base.Config.Launcher, " "), "none"), or(strings.Join(cand.Config.Launcher, " "), "none"), true)
	add("environment", or(strings.Join(base.Config.Env, " "), "none"), or(strings.Join(cand.Config.Env, " "), "none"), true)
	return out
}

// allocator names the memory allocator of a side.
func allocator(s *lab.Side) string {
	switch p := s.Config.Preload; p {
	case "", "glibc":
		return or(s.Settings["version_malloc_library"], "system")
	default:
		return p
	}
}

// variables returns the server variables that differ, by name.
func variables(base, cand *lab.Side) []lab.SettingChange {
	a, b, asked := renamed(base.Variables()), renamed(cand.Variables()), renamed(lab.Asked(base, cand))
	names := maps.Clone(a)
	maps.Copy(names, b)
	var out []lab.SettingChange
	for _, n := range slices.Sorted(maps.Keys(names)) {
		av, inBase := a[n]
		bv, inCand := b[n]
		switch {
		case len(a) == 0 || len(b) == 0, inBase && inCand && lab.SameValue(av, bv):
			continue
		case !inBase && lab.Off(bv), !inCand && lab.Off(av): // what is off might as well not be there
			continue
		case !inBase:
			av = missing
		case !inCand:
			bv = missing
		default:
			av, bv = unlike(av, bv)
		}
		out = append(out, lab.SettingChange{Name: n, Base: av, Candidate: bv, Asked: asked[n] || follows(n, asked)})
	}
	return out
}

// follows reports whether a variable belongs to one that the experiment set, as
// performance_schema_digests_size does to performance_schema.
func follows(name string, asked map[string]bool) bool {
	for i := range name {
		if name[i] == '_' && asked[name[:i]] {
			return true
		}
	}
	return false
}

// renamed returns values by variable, old names made the present ones.
func renamed[V any](values map[string]V) map[string]V {
	out := maps.Clone(values)
	for _, n := range [][2]string{
		{"tx_isolation", "transaction_isolation"}, {"tx_read_only", "transaction_read_only"},
		{"log_slave_updates", "log_replica_updates"}, {"slave_parallel_workers", "replica_parallel_workers"},
	} {
		if v, ok := out[n[0]]; ok {
			if _, both := out[n[1]]; !both {
				out[n[1]] = v
			}
			delete(out, n[0])
		}
	}
	return out
}

// unlike reduces two lists, such as optimizer_switch, to the elements that are not in both.
func unlike(a, b string) (string, string) {
	x, y := strings.Split(a, ","), strings.Split(b, ",")
	if len(x) < 2 && len(y) < 2 {
		return a, b
	}
	only := func(these, others []string) string {
		var out []string
		for _, e := range these {
			if !slices.Contains(others, e) {
				out = append(out, e)
			}
		}
		return strings.Join(out, ",")
	}
	p, q := only(x, y), only(y, x)
	if p == "" && q == "" { // the same elements in another order
		return a, b
	}
	return p, q
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
