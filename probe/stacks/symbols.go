package stacks

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/ulikunitz/xz"
)

// readSymbols returns the functions of a file by address: those that it exports, those of
// the compressed table that some distributions leave in stripped files, and those of the
// file that strip(1) or a package of debug symbols has put them into.
func (f *Files) readSymbols(file string) map[uint64]string {
	e, err := elf.Open(file)
	if err != nil {
		return nil
	}
	defer e.Close()
	out := exported(e)
	maps.Copy(out, functionSymbols(e))
	maps.Copy(out, miniSymbols(e))
	id, link := buildIDOf(e), debugLinkOf(e)
	for _, name := range f.debugFiles(file, id, link.name) {
		// A file of other bits would give wrong names, which are worse than none.
		if id != "" && buildID(name) == id || id == "" && link.is(name) {
			maps.Copy(out, symbolsOf(name))
			break
		}
	}
	return out
}

// debugFiles returns where the symbols of a file may be, in the order in which GDB looks:
// GDB manual, "Debugging Information in Separate Files". And, since packages of symbols are
// unpacked elsewhere than servers, under the file's own name alone.
func (f *Files) debugFiles(file, id, link string) []string {
	var out []string
	if len(id) > 2 {
		for _, dir := range f.Debug {
			out = append(out, filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"))
		}
	}
	here, base := filepath.Split(file)
	if link != "" {
		out = append(out, filepath.Join(here, link), filepath.Join(here, ".debug", link))
	}
	for _, dir := range f.Debug {
		out = append(out, filepath.Join(dir, file)+".debug", filepath.Join(dir, base)+".debug", filepath.Join(dir, base))
		if link != "" {
			out = append(out, filepath.Join(dir, here, link), filepath.Join(dir, link))
		}
	}
	return out
}

func symbolsOf(file string) map[uint64]string {
	e, err := elf.Open(file)
	if err != nil {
		return nil
	}
	defer e.Close()
	return functionSymbols(e)
}

func functionSymbols(e *elf.File) map[uint64]string {
	all, err := e.Symbols()
	if err != nil {
		return nil
	}
	return functionsAmong(all)
}

func exported(e *elf.File) map[uint64]string {
	all, err := e.DynamicSymbols()
	if err != nil {
		return map[uint64]string{}
	}
	return functionsAmong(all)
}

// functionsAmong returns the functions that are defined in the file.
func functionsAmong(all []elf.Symbol) map[uint64]string {
	out := map[uint64]string{}
	for _, s := range all {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value != 0 && s.Section != elf.SHN_UNDEF {
			out[s.Value] = s.Name
		}
	}
	return out
}

// maxMini bounds what a compressed table may unpack to.
const maxMini = 256 << 20

// miniSymbols reads .gnu_debugdata: an ELF file with the names of functions that are not
// exported, compressed by xz. GDB manual, "MiniDebugInfo".
func miniSymbols(e *elf.File) map[uint64]string {
	sec := e.Section(".gnu_debugdata")
	if sec == nil {
		return nil
	}
	r, err := xz.NewReader(sec.Open())
	if err != nil {
		return nil
	}
	b, err := io.ReadAll(io.LimitReader(r, maxMini))
	if err != nil {
		return nil
	}
	mini, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	return functionSymbols(mini)
}

// debugLink is the name of a file of symbols and its checksum, as objcopy(1) writes them
// with --add-gnu-debuglink.
type debugLink struct {
	name string // "": none
	sum  uint32 // CRC-32 of the file
}

func debugLinkOf(e *elf.File) debugLink {
	// The name, zeros up to a multiple of four, the checksum.
	b := smallSection(e, ".gnu_debuglink")
	end := bytes.IndexByte(b, 0)
	if end <= 0 || len(b) < 4 {
		return debugLink{}
	}
	return debugLink{name: filepath.Base(string(b[:end])), sum: e.ByteOrder.Uint32(b[len(b)-4:])}
}

// is reports whether a file is the one that the link means.
func (l debugLink) is(file string) bool {
	if l.name == "" {
		return false
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	sum := crc32.NewIEEE()
	_, err = io.Copy(sum, f)
	return err == nil && sum.Sum32() == l.sum
}

// buildID returns the build id of an ELF file in hex, "" if it has none.
func buildID(file string) string {
	e, err := elf.Open(file)
	if err != nil {
		return ""
	}
	defer e.Close()
	return buildIDOf(e)
}

// buildIDOf reads the note that ld(1) writes with --build-id.
func buildIDOf(e *elf.File) string {
	// Sizes of name and description, type, the name GNU with its zero, the id.
	const head = 16
	b := smallSection(e, ".note.gnu.build-id")
	if len(b) <= head {
		return ""
	}
	return hex.EncodeToString(b[head:])
}

// smallSection returns a section of at most 4 KiB, nil if it is larger or not there. Its
// size is looked at before it is read: compressed sections can unpack to any.
func smallSection(e *elf.File, name string) []byte {
	sec := e.Section(name)
	if sec == nil || sec.Size > 1<<12 {
		return nil
	}
	b, err := sec.Data()
	if err != nil {
		return nil
	}
	return b
}
