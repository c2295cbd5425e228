package stacks

import (
	"path"
	"strconv"
	"strings"
)

// BuildIDs returns the build ids in hex of the files in which Name has looked for
// functions, of those that have one.
func (f *Files) BuildIDs() map[string]string {
	out := map[string]string{}
	for file, fn := range f.starts {
		if fn != nil && fn.buildID != "" {
			out[file] = fn.buildID
		}
	}
	return out
}

// Rename returns p with names for functions that had none when they were sampled, where
// there are symbols of their files by now, and what their names were: new by old. Symbols
// are those of the build id that was kept with the profile, whatever file is in the place
// of the sampled one today; profiles without build ids stay as they are.
func (f *Files) Rename(p *Profile) (*Profile, map[string]string) {
	renamed := map[string]string{}
	names := make(map[Frame]string, len(p.frames))
	for _, frame := range p.frames {
		if name := f.late(frame, p.BuildIDs[frame.DSO]); name != "" {
			names[frame], renamed[frame.Name] = name, name
		}
	}
	if len(renamed) == 0 {
		return p, nil
	}
	out := &Profile{Event: p.Event, Unit: p.Unit, BuildIDs: p.BuildIDs}
	var buf []Frame
	p.Stacks(func(stack []Frame, a Amount) bool {
		buf = append(buf[:0], stack...)
		for i, frame := range buf {
			if name, ok := names[frame]; ok {
				buf[i].Name = name
			}
		}
		out.Add(buf, a)
		return true
	})
	return out, renamed
}

// late returns the symbol of a frame that has an address for a name; "" if there is none.
func (f *Files) late(frame Frame, id string) string {
	addr, ok := frame.address()
	if !ok || id == "" {
		return ""
	}
	symbols, ok := f.byID[id]
	if !ok {
		for _, file := range append(f.debugFiles(frame.DSO, id, ""), frame.DSO) {
			if buildID(file) == id {
				symbols = symbolsOf(file)
			}
			if len(symbols) > 0 {
				break
			}
		}
		if f.byID == nil {
			f.byID = map[string]map[uint64]string{}
		}
		f.byID[id] = symbols
	}
	return symbols[addr]
}

// address returns where a function without a symbol begins, by the name that Files gave it.
func (f Frame) address() (addr uint64, ok bool) {
	hex, ok := strings.CutPrefix(f.Name, "["+library(path.Base(f.DSO))+"+0x")
	if !ok {
		return 0, false
	}
	hex, ok = strings.CutSuffix(hex, "]")
	if !ok {
		return 0, false
	}
	addr, err := strconv.ParseUint(hex, 16, 64)
	return addr, err == nil
}
