package stacks

import (
	"debug/elf"
	"encoding/hex"
	"path/filepath"
)

// readSymbols returns the functions of a file by address, from the file of its symbols,
// which strip(1) or a package of debug symbols has put into one of the Debug directories.
func (f *Files) readSymbols(file string) map[uint64]string {
	id := buildID(file)
	for _, dir := range f.Debug {
		names := []string{filepath.Join(dir, file) + ".debug", filepath.Join(dir, filepath.Base(file)) + ".debug"}
		if len(id) > 2 {
			names = append([]string{filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug")}, names...)
		}
		for _, name := range names {
			// A file of other bits would give wrong names, which are worse than none.
			if id != "" && buildID(name) == id {
				return functionSymbols(name)
			}
		}
	}
	return nil
}

func functionSymbols(file string) map[uint64]string {
	f, err := elf.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	all, err := f.Symbols()
	if err != nil {
		return nil
	}
	out := map[uint64]string{}
	for _, s := range all {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value != 0 {
			out[s.Value] = s.Name
		}
	}
	return out
}

// buildID returns the build id of an ELF file in hex, "" if it has none: the note that
// ld(1) writes with --build-id.
func buildID(file string) string {
	f, err := elf.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	sec := f.Section(".note.gnu.build-id")
	if sec == nil {
		return ""
	}
	// Sizes of name and description, type, the name GNU with its zero, the id.
	const head = 16
	b, err := sec.Data()
	if err != nil || len(b) <= head || len(b) > 1<<10 {
		return ""
	}
	return hex.EncodeToString(b[head:])
}
