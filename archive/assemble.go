package archive

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
)

// assemble makes one result of what the files hold: what only several files together tell,
// tables of one folder that show the same figure, numbers of replicates.
func (r *reader) assemble(out *Result, files []*file) {
	files = slices.DeleteFunc(files, func(f *file) bool { return f == nil })
	r.dropCopies(out, files)
	r.scans(files)
	r.completeTables(files)
	lost := 0
	for _, f := range files {
		out.Summaries = append(out.Summaries, f.result.Summaries...)
		out.Problems = append(out.Problems, f.result.Problems...)
		out.Doubts = append(out.Doubts, f.result.Doubts...)
		lost += f.dropped
		switch {
		case len(f.records) > 0 || f.inserts != nil:
			out.Files++
		case (f.kind == unknown || f.kind == empty) && len(f.result.Problems) == 0 && len(out.Ignored) < maxAll:
			out.Ignored = append(out.Ignored, f.shown)
		}
	}
	out.Records = r.merge(out, files)
	out.Records = append(out.Records, r.perOperation(files)...)
	out.Records = append(out.Records, r.insertBenchmark(files)...)
	Number(out.Records)
	out.Doubts = append(out.Doubts, r.falseSamples(files, out.Records)...)
	out.Doubts = append(out.Doubts, WrongRatios(out.Records)...)
	out.Doubts = append(out.Doubts, Copies(out.Records)...)
	out.Problems = capped(out.Problems, lost, "problems")
	out.Doubts = capped(alike(out.Doubts), 0, "doubts")
}

// dropCopies ignores CSVs without names of columns beside the TSV that has them.
func (r *reader) dropCopies(out *Result, files []*file) {
	named := map[string]bool{}
	for _, f := range files {
		if f.kind == legend {
			named[f.dir+"/"+f.stem] = true
		}
	}
	for _, f := range files {
		if f.kind == bare && named[f.dir+"/"+f.stem] {
			f.records, f.result.Doubts, f.full = nil, nil, false
			out.Ignored = append(out.Ignored, f.shown+" (its TSV names the columns)")
		}
	}
}

// completeTables fills in what tables do not say and their folder does: the clients, which
// the names of raw results tell, and the range, which copies leave out where a test has one.
func (r *reader) completeTables(files []*file) {
	type where struct {
		dir  string
		test Test // without what is filled in
	}
	clients, ranges := map[where]map[int]bool{}, map[where]map[int]bool{}
	note := func(m map[where]map[int]bool, w where, n int) {
		if n == 0 {
			return
		}
		if m[w] == nil {
			m[w] = map[int]bool{}
		}
		m[w][n] = true
	}
	for _, f := range files {
		for i := range f.records {
			t := f.records[i].Test
			n, rng := t.Clients, t.Range
			t.Clients = 0
			note(clients, where{f.dir, t}, n)
			if f.dir != "." {
				note(clients, where{path.Dir(f.dir), t}, n)
			}
			t.Range = 0
			note(ranges, where{f.dir, t}, rng)
		}
	}
	for _, f := range files {
		if f.kind != legend && f.kind != bare {
			continue
		}
		for i := range f.records {
			t := &f.records[i].Test
			if t.Range == 0 {
				t.Range = only(ranges[where{f.dir, *t}])
			}
			if t.Clients == 0 {
				t.Clients = only(clients[where{f.dir, *t}])
			}
		}
	}
}

// only returns the single member of a set; 0: there is not exactly one.
func only(set map[int]bool) int {
	if len(set) != 1 {
		return 0
	}
	for n := range set {
		return n
	}
	return 0
}

// merge joins the records of all files. A table cell that another table of the same folder
// shows too is one figure and not two.
func (r *reader) merge(out *Result, files []*file) []Record {
	type key struct {
		dir    string
		cell   Cell
		metric string
		base   string
	}
	type shown struct {
		value float64
		file  string
	}
	tables := map[key][]shown{}
	var all []Record
	for _, f := range files {
		for _, rec := range f.records {
			if rec.Origin == Tabled {
				k := key{f.dir, rec.Cell, rec.Metric, rec.Base}
				k.cell.Clients = 0
				again := slices.ContainsFunc(tables[k], func(s shown) bool {
					return s.file != f.name && math.Abs(s.value-rec.Value) <= 1e-3*max(s.value, rec.Value)
				})
				if again {
					out.Again++
					continue
				}
				tables[k] = append(tables[k], shown{rec.Value, f.name})
			}
			all = append(all, rec)
		}
		f.records = slices.Clip(f.records)
	}
	return all
}

// perOperation divides averages of raw samples by the rate that the same folder has for the
// same cell.
func (r *reader) perOperation(files []*file) (out []Record) {
	type at struct {
		dir  string
		cell Cell
	}
	rates := map[at]Record{}
	for _, f := range files {
		for _, rec := range f.records {
			if rec.Metric != QPS || rec.Base != "" || rec.Value <= 0 || rec.Origin == Tabled {
				continue
			}
			k := at{f.dir, rec.Cell}
			if old, ok := rates[k]; !ok || rec.Origin.distance() < old.Origin.distance() {
				rates[k] = rec
			}
		}
	}
	for _, f := range files {
		for _, rec := range f.records {
			if rec.Origin != Sampled {
				continue
			}
			q, ok := rates[at{f.dir, rec.Cell}]
			if !ok {
				continue
			}
			for _, d := range perOp(rec.Metric) {
				one := rec
				one.Metric, one.Unit, one.Value = d.metric, unit(d.metric), rec.Value*d.scale/q.Value
				out = append(out, one)
			}
		}
	}
	return out
}

type derived struct {
	metric string
	scale  float64
}

// perOp says what a figure per second becomes by division by the rate.
func perOp(metric string) []derived {
	switch metric {
	case CPUPerSec:
		return []derived{{CPUPerOp, 1}}
	case CSPerSec:
		return []derived{{CSPerOp, 1}}
	case ReadPerSec:
		return []derived{{ReadPerOp, 1}}
	case ReadMB:
		return []derived{{ReadKBPer, 1024}}
	case WriteMB:
		return []derived{{WriteKBPer, 1024}}
	}
	return nil
}

// insertBenchmark joins the clients of each step.
func (r *reader) insertBenchmark(files []*file) (out []Record) {
	type step struct {
		dir  string
		cell Cell
		run  string // files that are no client of several: each its own
	}
	var order []step
	by := map[step][]*inserts{}
	shown := map[step]string{}
	for _, f := range files {
		if f.inserts == nil {
			continue
		}
		k := step{dir: f.dir, cell: f.inserts.cell}
		if f.client == 0 {
			k.run = f.name
		}
		if by[k] == nil {
			order = append(order, k)
			shown[k] = f.shown
		}
		by[k] = append(by[k], f.inserts)
	}
	for _, k := range order {
		for _, rec := range combine(by[k]) {
			rec.File, rec.Host = shown[k], r.options.Host
			out = append(out, rec)
		}
	}
	return out
}

// falseSamples says how far off published averages are that count headings of vmstat as
// samples: exactly where the raw samples are there, else as one estimate for all.
func (r *reader) falseSamples(files []*file, records []Record) (out []Problem) {
	type at struct {
		dir    string
		cell   Cell
		metric string
	}
	published := map[at]Record{}
	for _, f := range files {
		for _, rec := range f.records {
			if rec.Origin == Averaged {
				published[at{f.dir, rec.Cell, rec.Metric}] = rec
			}
		}
	}
	raw := map[at]bool{}
	for _, f := range files {
		if f.samples == nil || f.samples.published == nil {
			continue
		}
		for _, rec := range f.records {
			k := at{f.dir, rec.Cell, rec.Metric}
			raw[at{f.dir, rec.Cell, ""}] = true
			p, ok := published[k]
			if !ok || rec.Value <= 0 || math.Abs(p.Value/rec.Value-1) < 0.005 {
				continue
			}
			out = append(out, Problem{File: p.File, Line: p.Line, Msg: fmt.Sprintf(
				"%s is published as %s, %+.1f %% off: the mean of the %d samples is %s; "+
					"the script counted %d headings as samples of zero and the row since boot as one more, which gives %s. The mean of the samples is used",
				rec.Metric, short(p.Value), 100*(p.Value/rec.Value-1), f.samples.rows, short(rec.Value),
				f.samples.headings, short(f.samples.published[rec.Metric]))})
		}
	}
	least, most, n := math.Inf(1), 0.0, 0
	for _, f := range files {
		s := f.samples
		if s == nil || s.vmstat == 0 || raw[at{f.dir, s.cell, ""}] {
			continue
		}
		low := 1 - s.iostat/s.vmstat
		least, most, n = min(least, low), max(most, low), n+1
	}
	if n > 0 {
		out = append(out, Problem{Msg: fmt.Sprintf(
			"%d averages of vmstat have more samples than iostat had: the script that made them counts repeated headings as zeros, so cs/s, cpu/s, cs/o and cpu/o are about %.1f to %.1f %% low; "+
				"without the raw vmstat they are taken as published", n, 100*least, 100*most)})
	}
	return out
}

func short(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.2f", v), ".00")
}
