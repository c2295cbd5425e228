// Package archive reads what others measured: result folders of well-known benchmark
// scripts, outputs of sysbench, mysqlslap and the insert benchmark, samples of vmstat and
// iostat, tables of names and builds, Go benchmarks, and summaries that backslide wrote.
// It recognises files by what is in them, says with file and line what it could not read,
// and computes the ratios and summaries that such folders publish from the figures in them.
//
// It stores nothing, compares nothing and judges nothing: an imported figure has no blocks,
// so no verdict can come of it. Files may be damaged or hostile: memory is bounded whatever
// they hold (see the limits in lines.go), and every name that comes from one is cleaned of
// control characters.
package archive

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"backslide/lab"
)

// Variant is who was measured. It is a map key. What is not known is empty.
type Variant struct {
	Host   string // as the caller names it: Options.Host
	Build  string // my8044_rel_o2nofp, mariadb@10.11
	Config string // z12a_c8r32
	Engine string // InnoDB: as in lab.Engines where that knows it
}

// String returns build.config, as the reference scripts and their author write it, with
// what else is known behind it.
func (v Variant) String() string {
	s := v.Build
	if v.Config != "" {
		s += "." + v.Config
	}
	if v.Engine != "" {
		s += " " + v.Engine
	}
	if v.Host != "" {
		s += " on " + v.Host
	}
	return s
}

// Test is what was measured. It is a map key.
type Test struct {
	Workload string // sysbench, mysqlslap, ibench; empty: a table or benchmark that does not say
	Step     string // point-query.pre; in a folder of the reference scripts their name, warm-ups included
	Range    int    // the number in the name of the test; 0: none, or not said
	Clients  int    // 0: not said
}

// String returns the step as the reference scripts name it, and the clients if known.
func (t Test) String() string {
	s := t.name()
	if t.Clients > 0 {
		s += fmt.Sprintf("/%d", t.Clients)
	}
	return s
}

func (t Test) name() string {
	if t.Range == 0 {
		return t.Step
	}
	return fmt.Sprintf("%s.range%d", t.Step, t.Range)
}

// Cell is what a figure is of. It is a map key.
type Cell struct {
	Variant
	Test
}

// String returns variant and test, in the words of their own String methods.
func (c Cell) String() string { return c.Variant.String() + " " + c.Test.String() }

// Origin says how far a figure is from what was measured.
type Origin string

// The origins, the nearest first. A table in a folder of raw results is a view of them and
// no second measurement: Best leaves it out where something nearer is known.
const (
	Output   Origin = "output"   // printed by the tool that measured, or computed from that alone
	Sampled  Origin = "sampled"  // averaged here, from raw samples of vmstat, iostat or ps
	Averaged Origin = "averaged" // averaged by somebody's script
	Tabled   Origin = "table"    // a cell of somebody's table
)

func (o Origin) distance() int {
	switch o {
	case Output:
		return 0
	case Sampled:
		return 1
	case Averaged:
		return 2
	}
	return 3
}

// Metrics that more than one format has. Those per operation and per second have the names
// that the reference scripts publish; Unit of the record says in what they are. Metrics of
// backslide's own have the names of lab.Metrics.
const (
	QPS = string(lab.QPS) // op/sec; krow/sec for scans, which is one connection's speed

	CPUPerOp   = "cpu/o" // %-sec/op: percent of the whole machine, user and system, client included
	CSPerOp    = "cs/o"  // switches/op, of the whole machine
	ReadPerOp  = "r/o"   // reads/op
	ReadKBPer  = "rKB/o" // KiB/op
	WriteKBPer = "wKB/o" // KiB/op

	CPUPerSec  = "cpu/s" // %
	CSPerSec   = "cs/s"  // switches/sec
	ReadPerSec = "r/s"   // reads/sec
	ReadMB     = "rMB/s" // MiB/sec
	WritePer   = "w/s"   // writes/sec
	WriteMB    = "wMB/s" // MiB/sec

	ScanTotal = "scan-total" // krow/sec of all connections: the published figure of scans before April 2025
)

func unit(metric string) string {
	switch metric {
	case QPS:
		return "op/sec"
	case CPUPerOp:
		return "%-sec/op"
	case CSPerOp:
		return "switches/op"
	case ReadPerOp:
		return "reads/op"
	case ReadKBPer, WriteKBPer:
		return "KiB/op"
	case CPUPerSec:
		return "%"
	case CSPerSec:
		return "switches/sec"
	case ReadPerSec:
		return "reads/sec"
	case WritePer:
		return "writes/sec"
	case ReadMB, WriteMB:
		return "MiB/sec"
	}
	return "?"
}

// Record is one figure.
type Record struct {
	Cell
	Metric string
	Unit   string // in the notation of Go's benchmark format; 1 for a ratio
	Value  float64
	Runs   int    // of which Value is the mean, as far as the file says; at least 1
	Base   string // of a ratio: what the value is relative to, a Variant's String; empty: absolute
	Origin Origin

	// Replicate numbers the figures of equal cell, metric, base and origin, from 0, in the
	// order of files and lines: several imports of a cell are its replicates.
	Replicate int

	File string // with Options.Root before it
	Line int    // from 1; of an average, where it stands or the samples begin
}

// Problem is something about a file that a user should know.
type Problem struct {
	File string // empty: of the import as a whole
	Line int    // from 1; 0: the file as a whole
	Msg  string
}

// Error returns file:line: message. A Problem is data and is not returned as an error.
func (p Problem) Error() string {
	switch {
	case p.File == "":
		return p.Msg
	case p.Line == 0:
		return p.File + ": " + p.Msg
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Msg)
}

func (p Problem) compare(q Problem) int {
	return cmp.Or(strings.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), strings.Compare(p.Msg, q.Msg))
}

// Result is what a folder or file holds.
type Result struct {
	Records   []Record
	Summaries []lab.Summary // of runs of backslide's own: their verdicts stand; their cells are Records too
	Problems  []Problem     // what could not be read; the rest is in Records
	Doubts    []Problem     // what was read and should not be believed as it stands
	Files     int           // files that figures came from
	Ignored   []string      // files of a folder that hold no results of a known kind
	Again     int           // table cells left out since another table of the same folder has them
}

// Options says what files cannot.
type Options struct {
	Root   string // what the user calls the root of the file system; part of File in records
	Host   string // where it was measured
	Build  string // of files whose place and name tell none
	Config string // likewise
	Device string // of iostat; empty: the one that moved the most bytes, a RAID before its disks

	// Files are paths in the file system; empty: all of it. A file that is named and of no
	// known kind is a Problem, one that a folder happens to hold is Ignored.
	Files []string

	Tools Tools
}

// Tools are parsers of other packages. Files of a kind whose parser is nil are Problems.
type Tools struct {
	Sysbench func(io.Reader) (Sysbench, error)
	Slap     func(io.Reader) (Slap, error)
	Summary  func(io.Reader) (lab.Summary, error)
}

// Sysbench is what sysbench printed of a run. A negative number is not known.
type Sysbench struct {
	Threads    int
	Queries    float64 // per second, as printed where sysbench prints it, else computed
	Events     float64 // per second, as printed
	Errors     float64 // ignored errors per second
	Reconnects float64 // per second

	Min, Avg, Max float64 // seconds, of events
	Percent       float64 // of which percentile P is
	P             float64 // seconds

	Invalid  string // why the figures must not be used; empty: they may
	Warnings []string
}

// Slap is what mysqlslap printed.
type Slap struct {
	Rows     []SlapRow
	Invalid  string
	Warnings []string
}

// SlapRow is what mysqlslap says of one number of clients.
type SlapRow struct {
	Engine, Label string
	Avg, Min, Max float64 // seconds of a round
	Clients       int
	Queries       int64 // of a round, all clients; 0: not known
}
