package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"backslide/lab"
)

// summarySection returns least, greatest, average and median ratio of each group, as
// published by hand: a row for each, a column per candidate.
func (s sheet) summarySection(sums []lab.EstimateSummary) section {
	t := &table{head: []string{"group", ""}, fixed: 2}
	var columns []int
	for i := range s.columns {
		if !s.isBase(i) {
			columns = append(columns, i)
			t.head = append(t.head, s.columns[i].over()+s.columns[i].name)
		}
	}
	type key struct {
		group   lab.Group
		clients int
	}
	var order []key
	by := map[key]map[int]lab.EstimateSummary{}
	for _, x := range sums {
		k := key{x.Group, x.Clients}
		if by[k] == nil {
			by[k] = map[int]lab.EstimateSummary{}
			order = append(order, k)
		}
		by[k][x.Column] = x
	}
	for _, k := range order {
		label := clean(string(k.group))
		if s.severalClients() && k.clients > 0 {
			label += "/" + strconv.Itoa(k.clients)
		}
		for _, what := range []struct {
			name string
			of   func(lab.EstimateSummary) float64
		}{
			{"min", func(x lab.EstimateSummary) float64 { return x.Min }}, {"max", func(x lab.EstimateSummary) float64 { return x.Max }},
			{"average", func(x lab.EstimateSummary) float64 { return x.Average }}, {"median", func(x lab.EstimateSummary) float64 { return x.Median }},
		} {
			cells := plain(label, what.name)
			label = ""
			for _, i := range columns {
				text := none
				if x, ok := by[k][i]; ok {
					text = decimals(what.of(x), s.decimals)
				}
				cells = append(cells, cell{parts: []string{text}})
			}
			t.rows = append(t.rows, row{cells: cells})
		}
	}
	if len(t.rows) == 0 {
		return section{}
	}
	return section{title: "Groups of steps: " + s.relative() + " to " + s.columns[s.base].name + ", over the steps that both have", table: t}
}

// denseSection returns the densest view: a row per build and config, a column per host and
// number of clients, and in it the average ratio of point, range and write steps.
func (s sheet) denseSection(sums []lab.EstimateSummary) section {
	type place struct {
		host    string
		clients int
	}
	type key struct {
		name string
		place
		group lab.Group
	}
	var names []string
	var places []place
	at := map[key]float64{}
	hosts := false
	for _, x := range sums {
		if x.Group == lab.Load {
			continue
		}
		c := s.columns[x.Column]
		hosts = hosts || c.host != ""
		p := place{c.host, x.Clients}
		if !slices.Contains(names, c.name) {
			names = append(names, c.name)
		}
		if !slices.Contains(places, p) {
			places = append(places, p)
		}
		at[key{c.name, p, x.Group}] = x.Average
	}
	t := &table{head: []string{"variant"}, fixed: 1}
	for _, p := range places {
		head := clientHead(p.clients)
		if hosts {
			head = cmp.Or(p.host, "host not said") + "\n" + head
		}
		t.head = append(t.head, head)
	}
	for _, name := range names {
		cells := plain(name)
		for _, p := range places {
			var parts []string
			for _, g := range []lab.Group{lab.Point, lab.Range, lab.Write} {
				text := none
				if x, ok := at[key{name, p, g}]; ok {
					text = decimals(x, s.decimals)
				}
				parts = append(parts, text)
			}
			cells = append(cells, plain(strings.Join(parts, "-"))...)
		}
		t.rows = append(t.rows, row{cells: cells})
	}
	if len(t.rows) == 0 {
		return section{}
	}
	return section{
		title: fmt.Sprintf("average %s of point-range-write steps to %s", s.relative(), s.columns[s.base].name),
		intro: []string{"a-b-c is point-range-write, and range has the aggregates in it: means over steps, without a verdict."},
		table: t,
	}
}
