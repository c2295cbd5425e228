package archive

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"backslide/lab"
)

// folder returns what the reference scripts call the folder of a variant.
func folder(v Variant) string {
	if v.Config == "" {
		return v.Build
	}
	return "x." + v.Build + "." + v.Config + ".pk1"
}

// sortKey orders names of tests as the reference's tables do: files by name, in a locale
// that passes over punctuation.
func sortKey(t Test) string {
	s := t.Step
	if t.Range > 0 {
		s += fmt.Sprintf("range%d", t.Range)
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, strings.ToLower(s)+"pk")
}

// rank is the place of a step's group in tables; warm-ups and others come last.
func rank(step string) int {
	g, ok := Group(step)
	if !ok {
		return len(lab.Groups())
	}
	return slices.Index(lab.Groups(), g)
}

// plain formats a number without trailing zeros.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// MetColumns are the metrics of a block of averages, in its order.
func MetColumns() []string {
	return []string{CPUPerOp, CSPerOp, ReadPerOp, ReadKBPer, WriteKBPer, QPS}
}

// Summary says how a group of tests fared in one column, as ratios to the base.
type Summary struct {
	Group   lab.Group
	Variant Variant
	Tests   int // that both sides have
	Min     float64
	Max     float64
	Avg     float64 // arithmetic mean
	Median  float64 // mean of the middle two for an even number
	Runs    int     // of each cell, the fewest
}

// Groups summarises a table of rates by groups of tests, each column but the base's, from
// ratios that are not rounded. Warm-ups and steps that no group is known of do not count.
// group says which group a step is in: Group, or another division.
func (t Table) Groups(base int, group func(step string) (lab.Group, bool)) (out []Summary) {
	rel := t.Relative(base)
	for _, g := range lab.Groups() {
		for j, v := range rel.Columns {
			if j == base {
				continue
			}
			var xs []float64
			runs := 0
			for _, r := range rel.Rows {
				if in, ok := group(r.Test.Step); !ok || in != g || r.Values[j].N == 0 {
					continue
				}
				xs = append(xs, r.Values[j].Mean)
				if runs == 0 || r.Values[j].N < runs {
					runs = r.Values[j].N
				}
			}
			if len(xs) > 0 {
				out = append(out, summarise(Summary{Group: g, Variant: v, Runs: runs}, xs))
			}
		}
	}
	return out
}

// Dense is Group with aggregates counted as ranges, as in tables that give point, range and
// write as a-b-c.
func Dense(step string) (lab.Group, bool) {
	g, ok := Group(step)
	if g == lab.Aggregate {
		g = lab.Range
	}
	return g, ok
}

func summarise(s Summary, xs []float64) Summary {
	slices.Sort(xs)
	n := len(xs)
	s.Tests, s.Min, s.Max = n, xs[0], xs[n-1]
	for _, x := range xs {
		s.Avg += x / float64(n)
	}
	s.Median = (xs[(n-1)/2] + xs[n/2]) / 2
	return s
}
