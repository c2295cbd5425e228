package stacks

import (
	"fmt"
	"io"
	"math"

	"github.com/google/pprof/profile"
)

// WritePprof writes the profile in the format of pprof, compressed, with the number of
// samples and their weight as its two values. go tool pprof reads it, also as -diff_base.
func (p *Profile) WritePprof(w io.Writer) error {
	out := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: p.Event, Unit: p.Unit}},
		DefaultSampleType: p.Event,
		PeriodType:        &profile.ValueType{Type: p.Event, Unit: p.Unit},
	}
	b := pprofBuilder{out: out, ids: p.BuildIDs, locations: map[Frame]*profile.Location{}, mappings: map[string]*profile.Mapping{}}
	p.Stacks(func(stack []Frame, a Amount) bool {
		s := &profile.Sample{Value: []int64{a.Samples, whole(a.Weight)}}
		for i := len(stack) - 1; i >= 0; i-- {
			s.Location = append(s.Location, b.location(stack[i]))
		}
		out.Sample = append(out.Sample, s)
		return true
	})
	if err := out.CheckValid(); err != nil {
		return fmt.Errorf("write a pprof profile: %w", err)
	}
	if err := out.Write(w); err != nil {
		return fmt.Errorf("write a pprof profile: %w", err)
	}
	return nil
}

func whole(v float64) int64 {
	if v >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(math.Round(v))
}

type pprofBuilder struct {
	out       *profile.Profile
	ids       map[string]string // of files
	locations map[Frame]*profile.Location
	mappings  map[string]*profile.Mapping
}

// kernelFile marks the functions of the kernel as pprof's own readers of perf data do.
const kernelFile = "[kernel.kallsyms]"

func (b *pprofBuilder) location(f Frame) *profile.Location {
	if l := b.locations[f]; l != nil {
		return l
	}
	fn := &profile.Function{ID: uint64(len(b.out.Function) + 1), Name: f.Name, SystemName: f.Name}
	if f.Name == Unknown {
		fn.Name = foldedName(Frame{Name: f.Name, DSO: f.DSO}) // so that pprof's tables say which file it was
	}
	if f.Kernel {
		fn.Filename = kernelFile
	}
	b.out.Function = append(b.out.Function, fn)
	l := &profile.Location{ID: uint64(len(b.out.Location) + 1), Mapping: b.mapping(f.DSO), Line: []profile.Line{{Function: fn}}}
	b.out.Location = append(b.out.Location, l)
	b.locations[f] = l
	return l
}

func (b *pprofBuilder) mapping(dso string) *profile.Mapping {
	if dso == "" {
		return nil
	}
	m := b.mappings[dso]
	if m == nil {
		// No addresses were kept but in names, so there is nothing for pprof to symbolise.
		m = &profile.Mapping{ID: uint64(len(b.out.Mapping) + 1), File: dso, BuildID: b.ids[dso], HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}
		b.out.Mapping = append(b.out.Mapping, m)
		b.mappings[dso] = m
	}
	return m
}

// ReadPprof reads what WritePprof wrote. The squares of the periods are not in it: they are
// those of equal periods within each stack, the least they can have been.
func ReadPprof(r io.Reader) (*Profile, error) {
	in, err := profile.Parse(r)
	if err != nil {
		return nil, fmt.Errorf("read a pprof profile: %w", err)
	}
	if len(in.SampleType) != 2 || in.SampleType[0].Type != "samples" {
		return nil, fmt.Errorf("read a pprof profile: it has other values than the number of samples and their weight, so it was not written here")
	}
	p := &Profile{Event: in.SampleType[1].Type, Unit: in.SampleType[1].Unit}
	for _, m := range in.Mapping {
		if m.BuildID == "" {
			continue
		}
		if p.BuildIDs == nil {
			p.BuildIDs = map[string]string{}
		}
		p.BuildIDs[m.File] = m.BuildID
	}
	for _, s := range in.Sample {
		var stack []Frame
		for i := len(s.Location) - 1; i >= 0; i-- {
			l := s.Location[i]
			for j := len(l.Line) - 1; j >= 0; j-- {
				stack = append(stack, readFrame(l, l.Line[j].Function))
			}
		}
		n, w := s.Value[0], float64(s.Value[1])
		if n > 0 && w >= 0 {
			p.Add(stack, Amount{Weight: w, Samples: n, Squares: w * w / float64(n)})
		}
	}
	return p, nil
}

func readFrame(l *profile.Location, fn *profile.Function) Frame {
	var f Frame
	if l.Mapping != nil {
		f.DSO = l.Mapping.File
	}
	if fn != nil {
		f.Name, f.Kernel = fn.SystemName, fn.Filename == kernelFile
	}
	return f
}
