package archive

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Copies finds folders that hold the same rates for the same cells, digit by digit, and
// files that hold them twice: one measurement that was published twice, whose figures would
// pass for replicates.
func Copies(rs []Record) (out []Problem) {
	type figure struct {
		cell   Cell
		value  float64
		origin Origin
	}
	in := map[figure][]string{}
	pairs := map[[2]string]int{}
	rates := map[string]int{} // per folder
	type place struct {
		figure
		file string
	}
	once, again := map[place]bool{}, map[string]int{}
	for _, r := range rs {
		if r.Metric != QPS || r.Base != "" || r.Value < 1000 {
			continue // fewer digits may agree by chance
		}
		dir := path.Dir(r.File)
		rates[dir]++
		k := figure{r.Cell, r.Value, r.Origin}
		if at := (place{k, r.File}); once[at] {
			again[r.File]++
		} else {
			once[at] = true
		}
		if slices.Contains(in[k], dir) {
			continue
		}
		for _, other := range in[k] {
			pairs[[2]string{other, dir}]++
		}
		if len(in[k]) < 10 {
			in[k] = append(in[k], dir)
		}
	}
	for p, n := range pairs {
		if n >= 5 {
			out = append(out, Problem{File: p[1], Msg: fmt.Sprintf(
				"%d of its %d rates are equal to those in %s, digit by digit: the same measurement twice, no replicates", n, rates[p[1]], p[0])})
		}
	}
	for file, n := range again {
		if n >= 5 {
			out = append(out, Problem{File: file, Msg: fmt.Sprintf("%d rates stand in it more than once, digit by digit: the same measurement again, no replicates", n)})
		}
	}
	slices.SortFunc(out, Problem.compare)
	return out
}

// alike joins doubts that differ only in their figures, where there are many: the first
// stands for all.
func alike(list []Problem) []Problem {
	const few = 3
	n := map[string]int{}
	for _, p := range list {
		n[shape(p.Msg)]++
	}
	told := map[string]bool{}
	var out []Problem
	for _, p := range list {
		s := shape(p.Msg)
		if n[s] > few {
			if told[s] {
				continue
			}
			told[s] = true
			p.Msg += fmt.Sprintf("; %d more like it", n[s]-1)
		}
		out = append(out, p)
	}
	return out
}

// shape is a message without its figures.
func shape(msg string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '.' {
			return -1
		}
		return r
	}, msg)
}

// capped sorts and bounds a list of what is told, and says how much is not.
func capped(list []Problem, lost int, what string) []Problem {
	slices.SortStableFunc(list, Problem.compare)
	if len(list) > maxAll {
		lost += len(list) - maxAll
		list = list[:maxAll]
	}
	if lost > 0 {
		list = append(list, Problem{Msg: fmt.Sprintf("and %d more %s", lost, what)})
	}
	return list
}
