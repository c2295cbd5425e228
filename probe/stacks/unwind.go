package stacks

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// Files finds where functions begin in files that were stripped of their symbols, from the
// table that exceptions are unwound by, which stripping leaves. So functions without a
// name can at least be told from each other. Where the file has names after all, or they
// were put into a file of their own and that is there, functions have them. The zero value
// is ready; it is not for use by several goroutines.
type Files struct {
	// Debug are directories with files of symbols, as /usr/lib/debug: by build id below
	// .build-id, or under the path or name of the file that they belong to. What strip(1)
	// left a link to is also looked for beside the file.
	Debug []string

	starts map[string]*functions
	byID   map[string]map[uint64]string // symbols by build id, of files that may be gone: see Rename
}

// functions are those of one file.
type functions struct {
	begin    []uint64          // addresses, ascending
	symbols  map[uint64]string // by address, of those that have one
	segments []elf.ProgHeader
	buildID  string // in hex; "": it has none
}

// Name names the function at an offset of a file by where it begins: [mariadbd+0xe49340].
// or by its symbol. It returns "" if the file cannot be read or has no such table. A name of the first kind is good for
// one build only: comparisons keep it if both sides ran the same file.
func (f *Files) Name(file string, offset uint64) string {
	if f.starts == nil {
		f.starts = map[string]*functions{}
	}
	fn, ok := f.starts[file]
	if !ok {
		fn, _ = readFunctions(file) // without: the frame stays unknown
		if fn != nil {
			fn.symbols = f.readSymbols(file)
		}
		f.starts[file] = fn
	}
	if fn == nil {
		return ""
	}
	for _, s := range fn.segments {
		if offset < s.Off || offset >= s.Off+s.Filesz {
			continue
		}
		addr := offset - s.Off + s.Vaddr
		i, exact := slices.BinarySearch(fn.begin, addr)
		if !exact {
			i--
		}
		if i < 0 {
			return ""
		}
		if name := fn.symbols[fn.begin[i]]; name != "" {
			return name
		}
		return fmt.Sprintf("[%s+0x%x]", library(path.Base(file)), fn.begin[i])
	}
	return ""
}

// addressed reports whether a frame bears a name made by Files.
func (f Frame) addressed() bool {
	return strings.HasPrefix(f.Name, "[") && strings.HasSuffix(f.Name, "]") && strings.Contains(f.Name, "+0x")
}

// nameless reports whether a frame has no symbol.
func (f Frame) nameless() bool { return f.Name == Unknown || f.addressed() }

// maxFunctions bounds what is believed of a table.
const maxFunctions = 4 << 20

// readFunctions reads .eh_frame_hdr, whose format is in the Linux Standard Base, Core
// Generic, chapter "Exception Frames": four bytes of version and encodings, the place of
// .eh_frame, the number of functions, and a sorted table of (beginning, description), all
// relative to the section. Other encodings than these, which linkers write, are not read.
func readFunctions(file string) (*functions, error) {
	if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() {
		return nil, fmt.Errorf("find functions: %s is not a file", file) // but a device that was mapped
	}
	f, err := elf.Open(file)
	if err != nil {
		return nil, fmt.Errorf("find functions: %w", err)
	}
	defer f.Close()
	sec := f.Section(".eh_frame_hdr")
	if sec == nil {
		return nil, fmt.Errorf("find functions: %s has no table to unwind by", file)
	}
	begin, err := readTable(sec.Open(), sec.Addr, f.ByteOrder)
	if err != nil {
		return nil, fmt.Errorf("find functions of %s: %w", file, err)
	}
	fn := &functions{begin: begin, buildID: buildIDOf(f)}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			fn.segments = append(fn.segments, p.ProgHeader)
		}
	}
	return fn, nil
}

func readTable(r io.Reader, addr uint64, order binary.ByteOrder) ([]uint64, error) {
	const udata4, pcrelSdata4, datarelSdata4 = 0x03, 0x1b, 0x3b
	var head struct {
		Version, Pointer, Count, Table uint8
		Frames                         int32
		Functions                      uint32
	}
	if err := binary.Read(r, order, &head); err != nil {
		return nil, err
	}
	if head.Version != 1 || head.Pointer != pcrelSdata4 || head.Count != udata4 || head.Table != datarelSdata4 || head.Functions > maxFunctions {
		return nil, fmt.Errorf("its table to unwind by is of another kind: %+v", head)
	}
	entries := make([][2]int32, head.Functions)
	if err := binary.Read(r, order, entries); err != nil {
		return nil, err
	}
	begin := make([]uint64, len(entries))
	for i, e := range entries {
		begin[i] = addr + uint64(int64(e[0]))
	}
	slices.Sort(begin)
	return begin, nil
}
