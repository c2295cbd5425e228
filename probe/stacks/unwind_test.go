package stacks

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ulikunitz/xz"

	"backslide/proc"
)

// TestFiles looks up functions of the C library, which exports them, by their first and
// last byte.
func TestFiles(t *testing.T) {
	libs, err := filepath.Glob("/lib/*-linux-gnu/libc.so.6")
	if err != nil || len(libs) == 0 {
		t.Fatalf("no C library was found: %v", err)
	}
	f, err := elf.Open(libs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	at := map[uint64][]string{} // a function may have several names
	for _, s := range symbols {
		at[s.Value] = append(at[s.Value], s.Name)
	}
	var files Files
	tried, wrong := 0, 0
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size < 32 || s.Value == 0 {
			continue
		}
		offset := s.Value
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				offset = s.Value - p.Vaddr + p.Off
			}
		}
		tried++
		if a, b := files.Name(libs[0], offset), files.Name(libs[0], offset+s.Size-1); a != b || !slices.Contains(at[s.Value], a) {
			wrong++ // written in assembly with several entries, or split
		}
	}
	if tried < 500 || wrong*20 > tried {
		t.Errorf("%d of %d functions were not found whole", wrong, tried)
	}
	for name, file := range map[string]string{"no file": "/nowhere", "no ELF": "unwind.go"} {
		if got := files.Name(file, 4096); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := files.Name(libs[0], 1<<40); got != "" {
		t.Errorf("an offset outside of the file: %s", got)
	}
}

func TestReadTable(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":           "",
		"another encoding":  "\x01\x1b\x03\x3c" + strings.Repeat("\x00", 8),
		"too many":          "\x01\x1b\x03\x3b\x00\x00\x00\x00\xff\xff\xff\xff",
		"more than it has ": "\x01\x1b\x03\x3b\x00\x00\x00\x00\x05\x00\x00\x00\x00",
	} {
		if _, err := readTable(strings.NewReader(text), 0, binary.LittleEndian); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	got, err := readTable(strings.NewReader("\x01\x1b\x03\x3b\x00\x00\x00\x00\x02\x00\x00\x00"+"\x00\x01\x00\x00\x00\x00\x00\x00"+"\xf0\xff\xff\xff\x00\x00\x00\x00"), 0x1000, binary.LittleEndian)
	if d := cmp.Diff([]uint64{0xff0, 0x1100}, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

// unknown is text whose functions have no names, as if of two builds, or of the same.
func unknown(file string, first, second int) string {
	var b strings.Builder
	for i, addr := range []string{"1000", "2000"} {
		for range []int{first, second}[i] {
			b.WriteString("x 1/2 1.000000: 1000 cpu-clock: \n\t  " + addr + " [unknown] (" + file + ")\n\t 500 main (" + file + ")\n\n")
		}
	}
	return b.String()
}

// TestUnnamed: functions without symbols are told apart if both sides ran the same file.
func TestUnnamed(t *testing.T) {
	read := func(file string, first, second int) Side {
		r, err := Parse(strings.NewReader(unknown(file, first, second)), Select{Name: func(file string, offset uint64) string {
			if offset < 0x1000 {
				return ""
			}
			return map[uint64]string{0x1000: "[" + filepath.Base(file) + "+0x1000]", 0x2000: "[" + filepath.Base(file) + "+0x2000]"}[offset]
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Profiles[0].UnknownShare(); got != 1 {
			t.Errorf("unknown share %v: a name of an address is no symbol", got)
		}
		return Side{r.Profiles[0], 1e-6}
	}
	names := func(base, cand Side) string {
		d, err := Compare(base, cand, nil)
		if err != nil {
			t.Fatal(err)
		}
		flame, err := Overlay(base, cand, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var s []string
		for _, f := range d.Functions {
			s = append(s, f.Name)
		}
		for _, c := range flame.Calls[0].Calls {
			s = append(s, c.Name)
		}
		return strings.Join(s, " ")
	}
	same := names(read("/a/mysqld", 10, 30), read("/a/mysqld", 30, 10))
	if want := "[mysqld+0x1000] [mysqld+0x2000] main [mysqld+0x1000] [mysqld+0x2000]"; same != want {
		t.Errorf("the same file: %s", same)
	}
	other := names(read("/a/mysqld", 10, 30), read("/b/mysqld", 30, 10))
	if want := "[mysqld] main [mysqld]"; other != want {
		t.Errorf("another file: %s", other)
	}
}

// TestLiveStripped tells functions of a stripped program apart.
func TestLiveStripped(t *testing.T) {
	if testing.Short() {
		t.Skip("needs perf")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	out := filepath.Join(dir, "perf.data")
	// A shell spends its time in functions of its own that are not exported.
	p, err := proc.Start(proc.Spec{Args: []string{"/bin/sh", "-c", "i=0; while [ $i -lt 100000000 ]; do i=$((i+1)); done"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if _, err := proc.Output(ctx, proc.Command{Args: Record{PID: p.PID(), Length: 500 * time.Millisecond, Output: out}.Args(), Env: Env(os.Environ())}); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if _, err := proc.Output(ctx, proc.Command{Args: Script{Input: out}.Args(), Env: Env(os.Environ()), Stdout: &text}); err != nil {
		t.Fatal(err)
	}
	named := func(sel Select) int {
		r, err := Parse(strings.NewReader(text.String()), sel)
		if err != nil {
			t.Fatal(err)
		}
		different := map[string]bool{}
		for _, f := range r.Profiles[0].Flat() {
			if f.Self.Samples > 0 {
				different[f.Name] = true
			}
		}
		return len(different)
	}
	without, with := named(Select{}), named(Select{Name: new(Files).Name})
	t.Logf("%d functions without addresses, %d with", without, with)
	if with < without+3 {
		t.Errorf("%d functions without addresses, %d with", without, with)
	}
}

// TestSymbols: functions bear the names of a file of symbols of the same build id or, where
// there is none, of the same checksum, and of no other.
func TestSymbols(t *testing.T) {
	for name, buildIDs := range map[string]string{"build id": "--build-id=sha1", "checksum": "--build-id=none"} {
		t.Run(name, func(t *testing.T) {
			p := newStripped(t, buildIDs)
			beside, unpacked, wrong := filepath.Join(p.dir, ".debug"), t.TempDir(), t.TempDir()
			p.copy(t, "/bin/sh", filepath.Join(wrong, "program.debug"))
			dirs := map[string]string{wrong: "[program+0x", unpacked: "far_away"}
			p.copy(t, p.symbols, filepath.Join(unpacked, "program.debug"))
			if id := buildID(p.program); id != "" {
				byID, byPath, other := t.TempDir(), t.TempDir(), t.TempDir()
				file := filepath.Join(".build-id", id[:2], id[2:]+".debug")
				p.copy(t, p.symbols, filepath.Join(byID, file))
				p.copy(t, p.symbols, filepath.Join(byPath, p.program)+".debug")
				p.copy(t, "/bin/sh", filepath.Join(other, file))
				dirs[byID], dirs[byPath], dirs[other] = "far_away", "far_away", "[program+0x"
			}
			for dir, want := range dirs {
				if got := (&Files{Debug: []string{dir}}).Name(p.program, p.offset+5); !strings.HasPrefix(got, want) {
					t.Errorf("%s, want %s", got, want)
				}
			}
			p.copy(t, p.symbols, filepath.Join(beside, "program.debug"))
			if got := new(Files).Name(p.program, p.offset+5); got != "far_away" {
				t.Errorf("beside the program: %s, want far_away", got)
			}
		})
	}
}

// TestMini: functions bear the names of a compressed table within the file, and those that
// the file exports.
func TestMini(t *testing.T) {
	p := newStripped(t, "--build-id=sha1")
	if got := new(Files).Name(p.program, p.offset+5); !strings.HasPrefix(got, "[program+0x") {
		t.Errorf("%s without any names", got)
	}
	var packed bytes.Buffer
	w, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := os.ReadFile(p.symbols)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(symbols); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	mini := filepath.Join(p.dir, "mini.xz")
	if err := os.WriteFile(mini, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	p.tool(t, "objcopy", "--add-section", ".gnu_debugdata="+mini, p.program)
	if got := new(Files).Name(p.program, p.offset+5); got != "far_away" {
		t.Errorf("%s, want far_away", got)
	}
	exports := newStripped(t, "--build-id=sha1", "-rdynamic")
	if got := new(Files).Name(exports.program, exports.offset+5); got != "far_away" {
		t.Errorf("exported: %s, want far_away", got)
	}
}

// stripped is a program whose symbols were put into a file of their own.
type stripped struct {
	dir              string
	program, symbols string // files
	offset           uint64 // of the function far_away in the program
}

func newStripped(t *testing.T, linker string, flags ...string) stripped {
	t.Helper()
	p := stripped{dir: t.TempDir()}
	p.program, p.symbols = filepath.Join(p.dir, "program"), filepath.Join(t.TempDir(), "program.debug")
	source := filepath.Join(p.dir, "a.c")
	if err := os.WriteFile(source, []byte("int far_away(int x) { return x * 3 + 1; }\nint main(int n, char **a) { return far_away(n); }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// The race detector needs a C compiler too.
	p.tool(t, "gcc", append([]string{"-O0", "-Wl," + linker, "-o", p.program, source}, flags...)...)
	f, err := elf.Open(p.program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		for _, g := range f.Progs {
			if s.Name == "far_away" && g.Type == elf.PT_LOAD && s.Value >= g.Vaddr && s.Value < g.Vaddr+g.Filesz {
				p.offset = s.Value - g.Vaddr + g.Off
			}
		}
	}
	p.tool(t, "objcopy", "--only-keep-debug", p.program, p.symbols)
	p.tool(t, "strip", "--strip-all", p.program)
	p.tool(t, "objcopy", "--add-gnu-debuglink="+p.symbols, p.program)
	return p
}

func (p stripped) tool(t *testing.T, name string, args ...string) {
	t.Helper()
	if _, err := proc.Output(t.Context(), proc.Command{Args: append([]string{name}, args...)}); err != nil {
		t.Fatal(err)
	}
}

func (p stripped) copy(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// FuzzFiles looks up functions and symbols in files that say anything of themselves.
func FuzzFiles(f *testing.F) {
	libs, err := filepath.Glob("/lib/*-linux-gnu/libdl.so.2")
	if err != nil || len(libs) == 0 {
		f.Fatalf("no small library to start from: %v", err)
	}
	text, err := os.ReadFile(libs[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, uint64(0x1000))
	f.Add(text[:len(text)/2], uint64(0))
	f.Fuzz(func(t *testing.T, text []byte, offset uint64) {
		file := filepath.Join(t.TempDir(), "x.so")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		files := Files{Debug: []string{t.TempDir()}}
		for _, at := range []uint64{offset, 0, ^uint64(0)} {
			if name := files.Name(file, at); strings.HasPrefix(name, "[") && !(Frame{Name: name}).addressed() {
				t.Errorf("at %#x: %q", at, name)
			}
		}
		files.readSymbols(file) // also of a file without a table of functions
	})
}

// TestRename: functions of a stored profile get the names of symbols that came later, of
// the same build id only, though the program itself is gone by then.
func TestRename(t *testing.T) {
	p := newStripped(t, "--build-id=sha1")
	id := buildID(p.program)
	var sampled Files
	old := sampled.Name(p.program, p.offset+5)
	if !strings.HasPrefix(old, "[program+0x") {
		t.Fatalf("%s has a name already", old)
	}
	at := func(name string) []Frame {
		return []Frame{{Name: "main", DSO: p.program}, {Name: name, DSO: p.program}}
	}
	profile := &Profile{Event: "cpu-clock", Unit: "ns", BuildIDs: sampled.BuildIDs()}
	profile.Add(at(old), Amount{Weight: 30, Samples: 3, Squares: 300})
	profile.Add(at("far_away"), Amount{Weight: 10, Samples: 1, Squares: 100})
	var kept bytes.Buffer
	if err := profile.WritePprof(&kept); err != nil {
		t.Fatal(err)
	}
	stored, err := ReadPprof(&kept)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(p.program); err != nil {
		t.Fatal(err)
	}
	right, wrong := t.TempDir(), t.TempDir()
	file := filepath.Join(".build-id", id[:2], id[2:]+".debug")
	p.copy(t, p.symbols, filepath.Join(right, file))
	p.copy(t, "/bin/sh", filepath.Join(wrong, file))

	got, renamed := (&Files{Debug: []string{right}}).Rename(stored)
	if len(renamed) != 1 || renamed[old] != "far_away" {
		t.Errorf("renamed %v, want %s to far_away", renamed, old)
	}
	if flat := got.Flat(); flat[0].Name != "far_away" || flat[0].Self.Samples != 4 || got.Total() != stored.Total() {
		t.Errorf("after renaming: %+v of %+v, want 4 samples in far_away of %+v", flat, got.Total(), stored.Total())
	}
	if got, renamed := (&Files{Debug: []string{wrong}}).Rename(stored); got != stored || renamed != nil {
		t.Errorf("symbols of another build renamed %v", renamed)
	}
	stored.BuildIDs = nil
	if _, renamed := (&Files{Debug: []string{right}}).Rename(stored); renamed != nil {
		t.Errorf("without the build id, %v were renamed", renamed)
	}
}
