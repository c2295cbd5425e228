package stacks

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/proc"
)

// TestFiles looks up functions of the C library, whose exported symbols say where they
// begin, as if it had none.
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
		if a, b := files.Name(libs[0], offset), files.Name(libs[0], offset+s.Size-1); a != b || !strings.HasPrefix(a, "[libc.so+0x") {
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

// TestSymbols: functions bear the names of a file of symbols of the same build id, and of
// no other.
func TestSymbols(t *testing.T) {
	here := t.TempDir()
	program, source := filepath.Join(here, "program"), filepath.Join(here, "a.c")
	if err := os.WriteFile(source, []byte("int far_away(int x) { return x * 3 + 1; }\nint main(int n, char **a) { return far_away(n); }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// The race detector needs a C compiler too.
	if _, err := proc.Output(t.Context(), proc.Command{Args: []string{"gcc", "-O0", "-Wl,--build-id=sha1", "-o", program, source}}); err != nil {
		t.Fatal(err)
	}
	id := buildID(program)
	if len(id) != 40 {
		t.Fatalf("build id %q, want 20 bytes", id)
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	offset := uint64(0)
	for _, s := range symbols {
		for _, p := range f.Progs {
			if s.Name == "far_away" && p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				offset = s.Value - p.Vaddr + p.Off
			}
		}
	}
	byID, byPath, wrong := t.TempDir(), t.TempDir(), t.TempDir()
	for name, target := range map[string]string{
		filepath.Join(byID, ".build-id", id[:2], id[2:]+".debug"):  program,
		filepath.Join(byPath, program) + ".debug":                  program,
		filepath.Join(wrong, ".build-id", id[:2], id[2:]+".debug"): "/bin/sh",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]string{byID: "far_away", byPath: "far_away", wrong: "[program+0x"} {
		if got := (&Files{Debug: []string{dir}}).Name(program, offset+5); !strings.HasPrefix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
