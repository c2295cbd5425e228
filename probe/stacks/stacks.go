// Package stacks turns what perf recorded into profiles: it reads perf script's text in
// one pass, keeps weights by call stack, and shows them as flat tables, call trees, folded
// text, pprof files and differential flame graphs in µs per operation. It writes perf's
// command lines and explains its complaints, but runs nothing.
//
// Samples of one process are no replicate: standard errors here are those of sampling
// alone, the least that a difference must exceed to be worth looking at. Whether two
// variants differ is decided elsewhere, from blocks.
package stacks

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// Unknown is the name of a frame that perf found no symbol for.
const Unknown = "[unknown]"

// Frame is one function of a call stack. It is a map key.
type Frame struct {
	Name   string // as perf wrote it, without offset: demangled, or mangled where perf could not
	DSO    string // the file that it is in, as perf wrote it; "" if not asked for, "inlined" if it was
	Kernel bool
}

// Amount is what samples add up to.
type Amount struct {
	Weight  float64 // sum of the periods, in the profile's unit
	Samples int64
	Squares float64 // sum of the squared periods, for the standard error
}

func (a *Amount) add(b Amount) {
	a.Weight += b.Weight
	a.Samples += b.Samples
	a.Squares += b.Squares
}

// Profile holds weights by call stack, for one event. The zero value is an empty profile.
// Its methods may be called from several goroutines as long as none adds to it.
type Profile struct {
	Event string // as perf names it: cycles, cpu-clock:u
	Unit  string // of weights: nanoseconds, samples, or the event's name

	// BuildIDs are those of files that functions without a symbol are in, by DSO and in hex,
	// so that their names can be looked up later: see Files.Rename.
	BuildIDs map[string]string

	total  Amount
	frames []Frame
	byName map[Frame]int32
	nodes  []node // a parent stands before its children
	byEdge map[edge]int32
}

// node is a call stack: its parent's, and one frame more. Its amount is that of the
// samples which ended just there.
type node struct {
	parent int32 // -1: called by nobody we know
	frame  int32
	self   Amount
}

type edge struct{ parent, frame int32 }

// noParent is the parent of a stack's outermost frame.
const noParent int32 = -1

// Total returns the amount of all samples.
func (p *Profile) Total() Amount { return p.total }

// Add adds one sample, or several of the same stack. The stack begins with the outermost
// frame and is not kept.
func (p *Profile) Add(stack []Frame, a Amount) {
	at := noParent
	for _, f := range stack {
		at = p.child(at, p.intern(f))
	}
	p.addAt(at, a)
}

func (p *Profile) addAt(at int32, a Amount) {
	p.total.add(a)
	if at != noParent {
		p.nodes[at].self.add(a)
	}
}

func (p *Profile) intern(f Frame) int32 {
	if id, ok := p.byName[f]; ok {
		return id
	}
	if p.byName == nil {
		p.byName = map[Frame]int32{}
	}
	id := int32(len(p.frames))
	p.frames = append(p.frames, f)
	p.byName[f] = id
	return id
}

func (p *Profile) child(parent, frame int32) int32 {
	e := edge{parent, frame}
	if id, ok := p.byEdge[e]; ok {
		return id
	}
	if p.byEdge == nil {
		p.byEdge = map[edge]int32{}
	}
	id := int32(len(p.nodes))
	p.nodes = append(p.nodes, node{parent: parent, frame: frame})
	p.byEdge[e] = id
	return id
}

// stack appends the frames of a node, outermost first.
func (p *Profile) stack(buf []Frame, id int32) []Frame {
	at := len(buf)
	for ; id != noParent; id = p.nodes[id].parent {
		buf = append(buf, p.frames[p.nodes[id].frame])
	}
	slices.Reverse(buf[at:])
	return buf
}

// Stacks calls yield with every stack that samples ended in, outermost frame first, in an
// order that depends on nothing but the order of adding. The slice is valid during the
// call only. Samples without any frame come as an empty stack, last.
func (p *Profile) Stacks(yield func(stack []Frame, a Amount) bool) {
	var buf []Frame
	rest := p.total
	for id, n := range p.nodes {
		if n.self.Samples == 0 {
			continue
		}
		rest.add(Amount{-n.self.Weight, -n.self.Samples, -n.self.Squares})
		buf = p.stack(buf[:0], int32(id))
		if !yield(buf, n.self) {
			return
		}
	}
	if rest.Samples > 0 {
		yield(nil, rest)
	}
}

// Merge adds profiles of the same event up. Nil profiles are passed over, and so are those
// without samples, of which perf has not said what it counts in.
func Merge(profiles ...*Profile) (*Profile, error) {
	sum := &Profile{}
	for _, p := range profiles {
		switch {
		case p == nil || p.total.Samples == 0:
			continue
		case sum.Event == "":
			sum.Event, sum.Unit = p.Event, p.Unit
		case sum.Event != p.Event || sum.Unit != p.Unit:
			return nil, fmt.Errorf("merge profiles: one counts %s in %s, another %s in %s: these do not add up", sum.Event, sum.Unit, p.Event, p.Unit)
		}
		for dso, id := range p.BuildIDs {
			if sum.BuildIDs == nil {
				sum.BuildIDs = map[string]string{}
			}
			sum.BuildIDs[dso] = id
		}
		p.Stacks(func(stack []Frame, a Amount) bool {
			sum.Add(stack, a)
			return true
		})
	}
	return sum, nil
}

// UnknownShare returns the share of the weight, between 0 and 1, whose innermost frame has
// no symbol, or which has no frame at all.
func (p *Profile) UnknownShare() float64 {
	sum := 0.0
	for _, share := range p.UnknownShares() {
		sum += share
	}
	return min(sum, 1)
}

// UnknownShares returns the same by the file that the innermost frame is in, as perf wrote
// it; under "" what has no frame or whose file is not known.
func (p *Profile) UnknownShares() map[string]float64 {
	out := map[string]float64{}
	if p.total.Weight <= 0 {
		return out
	}
	p.Stacks(func(stack []Frame, a Amount) bool {
		switch {
		case len(stack) == 0:
			out[""] += a.Weight / p.total.Weight
		case stack[len(stack)-1].nameless():
			file := stack[len(stack)-1].DSO
			if file == Unknown {
				file = ""
			}
			out[file] += a.Weight / p.total.Weight
		}
		return true
	})
	return out
}

// Folded writes a line per stack, as flame graph tools read it: names from the outermost
// on, separated by semicolons, a space, and the weight. Kernel frames end in _[k]. Lines
// are sorted.
func (p *Profile) Folded(w io.Writer) error {
	sums := map[string]float64{}
	p.Stacks(func(stack []Frame, a Amount) bool {
		var b strings.Builder
		for i, f := range stack {
			if i > 0 {
				b.WriteByte(';')
			}
			b.WriteString(foldedName(f))
		}
		sums[b.String()] += a.Weight
		return true
	})
	lines := make([]string, 0, len(sums))
	for key, weight := range sums {
		if key == "" {
			key = Unknown
		}
		lines = append(lines, fmt.Sprintf("%s %.0f\n", key, weight))
	}
	slices.Sort(lines)
	for _, line := range lines {
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	return nil
}

// library takes the version off the name of a shared library: libc-2.31.so and libc.so.6
// are libc.so.
func library(file string) string {
	stem, _, ok := strings.Cut(file, ".so")
	if !ok {
		return file
	}
	if i := strings.LastIndexByte(stem, '-'); i > 0 && i+1 < len(stem) && stem[i+1] >= '0' && stem[i+1] <= '9' {
		stem = stem[:i]
	}
	return stem + ".so"
}

// foldedName returns a name that cannot be taken for two: for frames without a symbol the
// file's name stands in.
func foldedName(f Frame) string {
	name := f.Name
	if name == Unknown && f.DSO != "" && f.DSO != Unknown {
		name = "[" + library(path.Base(f.DSO)) + "]"
	}
	name = strings.NewReplacer(";", ",", "\n", " ", "\r", " ").Replace(name)
	if f.Kernel {
		name += "_[k]"
	}
	return name
}
