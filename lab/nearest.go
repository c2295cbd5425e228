package lab

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
)

// Nearest returns up to three of known that a user who wrote name may have meant, the
// likeliest first.
func Nearest(name string, known []string) []string {
	type scored struct {
		name string
		d    int
	}
	var all []scored
	low := strings.ToLower(name)
	for _, k := range known {
		kl := strings.ToLower(k)
		d := distance(low, kl)
		if strings.Contains(kl, low) || strings.Contains(low, kl) {
			d = min(d, 2)
		}
		if d <= max(2, len(name)/3) {
			all = append(all, scored{k, d})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].d < all[j].d })
	var out []string
	for _, s := range all[:min(3, len(all))] {
		out = append(out, s.name)
	}
	return out
}

// Spelled returns the one of known that name is but for case, hyphens, underscores and
// blanks; name itself where there is none.
func Spelled(name string, known []string) string {
	if slices.Contains(known, name) {
		return name
	}
	plain := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
	}
	for _, k := range known {
		if plain(k) == plain(name) {
			return k
		}
	}
	return name
}

// Suggest returns "; did you mean …?" for a name that is not among known, or the known
// names when none is near, or nothing when there are none.
func Suggest(name string, known []string) string {
	if near := Nearest(name, known); len(near) > 0 {
		return fmt.Sprintf("; did you mean %s?", strings.Join(near, " or "))
	}
	if len(known) == 0 {
		return ""
	}
	sorted := append([]string(nil), known...)
	sort.Strings(sorted)
	sorted = slices.Compact(sorted)
	if len(sorted) > 12 {
		sorted = append(sorted[:12], "…")
	}
	return "; known: " + strings.Join(sorted, ", ")
}

// distance is the number of single-letter edits, and swaps of neighbours, from a to b.
func distance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}

// siblings returns the keys that v has beside the last part of key.
func siblings(v any, key toml.Key) []string {
	t := reflect.TypeOf(v)
	for _, part := range key[:len(key)-1] {
		t = element(t)
		if t.Kind() != reflect.Struct {
			return nil
		}
		f, ok := fieldFor(t, part)
		if !ok {
			return nil
		}
		t = f.Type
	}
	t = element(t)
	if t.Kind() != reflect.Struct {
		return nil
	}
	var out []string
	for i := range t.NumField() {
		if n := keyName(t.Field(i)); n != "" {
			out = append(out, n)
		}
	}
	return out
}

func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

func fieldFor(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if strings.EqualFold(keyName(t.Field(i)), key) {
			return t.Field(i), true
		}
	}
	return reflect.StructField{}, false
}

func keyName(f reflect.StructField) string {
	if !f.IsExported() {
		return ""
	}
	name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
	switch name {
	case "-":
		return ""
	case "":
		return strings.ToLower(f.Name)
	}
	return name
}
