package archive

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// samples is what samples of a test say beyond their records.
type samples struct {
	cell Cell
	dir  string

	// Of averages: how many rows of iostat and of vmstat they are of.
	iostat, vmstat float64

	// Of a raw vmstat: its samples, and how the reference scripts average it. They count as
	// samples what is none: the row since boot, and repeated headings as zeros.
	rows, headings int
	published      map[string]float64
}

// vmstat averages context switches and CPU over the samples of a vmstat. The first row is
// an average since boot and no sample, repeated headings are none either. Seconds of
// sysbench's warm-up are in it as in the published averages: nothing marks them.
func (f *file) vmstat(l *lines) {
	if !f.known {
		f.problem(1, "samples of a test that the name of the file does not tell; expected sb.vm.TEST.rangeN.pkN.dopN")
		return
	}
	var at map[string]int
	width, rows, bad, headings, first := 0, 0, 0, 0, 0
	var boot, cs, cpu float64
	var bootCPU float64
	for line, ok := l.next(); ok; line, ok = l.next() {
		fs := strings.Fields(line)
		switch {
		case len(fs) == 0:
			continue
		case strings.HasPrefix(strings.TrimLeft(fs[0], "-"), "procs"):
			headings++
			continue
		case len(fs) > 2 && fs[2] == "swpd":
			at, width = index(fs), len(fs)
			continue
		case at == nil:
			f.problem(l.n, "a row before the names of the columns")
			continue
		}
		c, us, sy, good := vmRow(fs, at, width)
		switch {
		case !good:
			bad++
			f.problem(l.n, "no row of vmstat: %s", quote(line))
		case first == 0:
			first, boot, bootCPU = l.n, c, us+sy
		default:
			rows++
			cs += c
			cpu += us + sy
		}
	}
	if rows == 0 {
		f.problem(l.n, "no samples: vmstat's first row is an average since boot")
		return
	}
	if !f.fair(l.n, bad, rows) {
		return
	}
	n := float64(rows)
	f.sampled(CSPerSec, cs/n, first+1)
	f.sampled(CPUPerSec, cpu/n, first+1)
	wrong := n + float64(max(0, headings-1)) + 1 // what they divide by
	f.samples = &samples{cell: f.cell(), dir: f.dir, rows: rows, headings: max(0, headings-1), published: map[string]float64{
		CSPerSec: (cs + boot) / wrong, CPUPerSec: (cpu + bootCPU) / wrong,
	}}
}

// fair reports whether the rows that could be read stand for all. Which rows cannot is no
// chance: where figures from a thousand on have a separator, the small ones are left.
func (f *file) fair(line, bad, good int) bool {
	if bad <= 1 || 20*bad <= good {
		return true
	}
	// beyond the bound of problems too, since it says what the others come to
	f.result.Problems = append(f.result.Problems, Problem{File: f.shown, Line: line, Msg: fmt.Sprintf(
		"%d of %d rows cannot be read, and the others are no fair sample of them: no averages", bad, bad+good)})
	return false
}

func vmRow(fs []string, at map[string]int, width int) (cs, us, sy float64, ok bool) {
	if len(fs) < width {
		return
	}
	for _, x := range []struct {
		name string
		to   *float64
	}{{"cs", &cs}, {"us", &us}, {"sy", &sy}} {
		i, have := at[x.name]
		if !have {
			return 0, 0, 0, false
		}
		if *x.to, ok = number(fs[i]); !ok || strings.Contains(fs[i], ".") { // they are whole: a dot stands between thousands
			return 0, 0, 0, false
		}
	}
	return cs, us, sy, us+sy <= 101
}

func index(names []string) map[string]int {
	m := map[string]int{}
	for i, n := range names {
		if _, ok := m[n]; !ok {
			m[n] = i
		}
	}
	return m
}

func (f *file) sampled(metric string, v float64, line int) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		f.add(Record{Cell: f.cell(), Metric: metric, Value: v, Origin: Sampled, Line: line})
	}
}

// device is the sum of a device's rows.
type device struct {
	rows           int
	r, w, rkB, wkB float64
}

// iostat averages reads and writes of one device over the samples of an iostat -y -kx,
// which has no row since boot. Columns are found by their names.
func (f *file) iostat(l *lines) {
	if !f.known {
		f.problem(1, "samples of a test that the name of the file does not tell; expected sb.io.TEST.rangeN.pkN.dopN")
		return
	}
	var at map[string]int
	width, skip, rows, bad := 0, 0, 0, 0
	devices := map[string]*device{}
	seen := map[string]bool{} // in this report: a device may be listed twice
	var order []string
	for line, ok := l.next(); ok; line, ok = l.next() {
		fs := strings.Fields(line)
		switch {
		case len(fs) == 0 || fs[0] == "Linux":
			at = nil
		case strings.HasPrefix(fs[0], "avg-cpu"):
			at, skip = nil, 1
		case strings.HasPrefix(fs[0], "Device"):
			at, width, skip = index(fs), len(fs), 0
			clear(seen)
		case skip > 0:
			skip--
		case at == nil:
			f.problem(l.n, "a row before the names of the columns")
		case f.deviceRow(l.n, fs, at, width, devices, &order, seen):
			rows++
		default:
			bad++
		}
	}
	name := busiest(devices, order, f.reader.options.Device)
	d := devices[name]
	if d == nil || d.rows == 0 {
		f.problem(l.n, "no samples of a device%s", map[bool]string{true: " " + quote(f.reader.options.Device)}[f.reader.options.Device != ""])
		return
	}
	if !f.fair(l.n, bad, rows) {
		return
	}
	n := float64(d.rows)
	f.sampled(ReadPerSec, d.r/n, 1)
	f.sampled(WritePer, d.w/n, 1)
	f.sampled(ReadMB, d.rkB/n/1024, 1)
	f.sampled(WriteMB, d.wkB/n/1024, 1)
}

// deviceRow adds a row to its device, and reports whether it could be read.
func (f *file) deviceRow(n int, fs []string, at map[string]int, width int, devices map[string]*device, order *[]string, seen map[string]bool) bool {
	if len(fs) != width {
		f.problem(n, "%d fields for %d names", len(fs), width)
		return false
	}
	var v [4]float64
	for i, name := range []string{"r/s", "w/s", "rkB/s", "wkB/s"} {
		j, have := at[name]
		if !have {
			f.problem(n, "iostat without a column %s: run it with -kx", name)
			return false
		}
		var ok bool
		if v[i], ok = number(fs[j]); !ok {
			f.problem(n, "%s is no figure", quote(fs[j]))
			return false
		}
	}
	name := clean(fs[0])
	if seen[name] {
		name += "#2" // iostat of a kernel that lists a name twice
	}
	d := devices[name]
	if d == nil {
		if len(devices) >= maxDevices {
			f.problem(n, "more than %d devices", maxDevices)
			return false
		}
		d = &device{}
		devices[name] = d
		*order = append(*order, name)
	}
	seen[name] = true
	d.rows++
	d.r, d.w, d.rkB, d.wkB = d.r+v[0], d.w+v[1], d.rkB+v[2], d.wkB+v[3]
	return true
}

// busiest returns the device that was asked for, else the RAID or mapped device that moved
// the most bytes, else the disk that did. With none that moved any: the first.
func busiest(devices map[string]*device, order []string, asked string) string {
	if asked != "" {
		return asked
	}
	best, most := "", -1.0
	for _, raid := range []bool{true, false} {
		for _, name := range order {
			moved := devices[name].rkB + devices[name].wkB
			if is := strings.HasPrefix(name, "md") || strings.HasPrefix(name, "dm-"); is == raid && moved > most {
				best, most = name, moved
			}
		}
		if most > 0 {
			return best
		}
	}
	return best
}

// ps finds how much memory the server held at most: of the process with the largest address
// space in each sample, since the processes of a PostgreSQL share most of theirs.
func (f *file) ps(l *lines) {
	if !f.known {
		f.problem(1, "samples of a test that the name of the file does not tell; expected sb.ps.TEST.rangeN.pkN.dopN")
		return
	}
	var rss, vsz float64 // of one sample: between dates
	most, at := 0.0, 0
	end := func() {
		if rss > most {
			most = rss
		}
		rss, vsz = 0, 0
	}
	for line, ok := l.next(); ok; line, ok = l.next() {
		fs := strings.Fields(line)
		if len(fs) < 11 {
			end()
			continue
		}
		v, ok1 := number(fs[4])
		r, ok2 := number(fs[5])
		if _, pid := strconv.Atoi(fs[1]); pid != nil || !ok1 || !ok2 {
			continue
		}
		if at == 0 {
			at = l.n
		}
		if v > vsz || v == vsz && r > rss {
			vsz, rss = v, r
		}
	}
	end()
	if most > 0 {
		f.add(Record{Cell: f.cell(), Metric: "rss", Unit: "B", Value: most * 1024, Origin: Sampled, Line: at})
	}
}
