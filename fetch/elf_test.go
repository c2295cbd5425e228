package fetch

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"backslide/lab"

	"github.com/google/go-cmp/cmp"
)

// fakeObject describes an ELF file to write: just enough for a loader's questions.
type fakeObject struct {
	soname  string
	interp  string
	needed  []string
	runpath string
	rpath   string
	needs   map[string][]string // by soname; a name with ? before it is weak
	gives   []string
	machine elf.Machine // 0: x86-64
}

// strtab is a string table being built.
type strtab struct{ b []byte }

func (s *strtab) add(text string) uint32 {
	if len(s.b) == 0 {
		s.b = []byte{0}
	}
	at := len(s.b)
	s.b = append(append(s.b, text...), 0)
	return uint32(at)
}

// bytes writes the object as a 64-bit little-endian ELF shared object. Layouts: System V
// gABI, chapters 4 and 5; version sections: Linux Standard Base 5.0, 10.7.
func (o fakeObject) bytes() []byte {
	le := binary.LittleEndian
	var str strtab
	str.add("")
	var dyn []byte
	tag := func(t elf.DynTag, v uint64) { dyn = le.AppendUint64(le.AppendUint64(dyn, uint64(t)), v) }
	for _, n := range o.needed {
		tag(elf.DT_NEEDED, uint64(str.add(n)))
	}
	for t, v := range map[elf.DynTag]string{elf.DT_SONAME: o.soname, elf.DT_RUNPATH: o.runpath, elf.DT_RPATH: o.rpath} {
		if v != "" {
			tag(t, uint64(str.add(v)))
		}
	}
	needs, gives := o.verneed(&str), o.verdef(&str)
	if len(needs) > 0 {
		tag(elf.DT_VERNEED, 1)
	}
	if len(gives) > 0 {
		tag(elf.DT_VERDEF, 1)
	}
	tag(elf.DT_NULL, 0)

	type section struct {
		name string
		typ  elf.SectionType
		data []byte
		link uint32
		info int
	}
	sections := []section{
		{}, // the null section
		{".dynstr", elf.SHT_STRTAB, str.b, 0, 0},
		{".dynsym", elf.SHT_DYNSYM, make([]byte, 24), 1, 0},
		{".dynamic", elf.SHT_DYNAMIC, dyn, 1, 0},
		{".gnu.version", elf.SHT_GNU_VERSYM, []byte{0, 0}, 2, 0},
		{".interp", elf.SHT_PROGBITS, append([]byte(o.interp), 0), 0, 0},
	}
	if len(needs) > 0 {
		sections = append(sections, section{".gnu.version_r", elf.SHT_GNU_VERNEED, needs, 1, len(o.needs)})
	}
	if len(gives) > 0 {
		sections = append(sections, section{".gnu.version_d", elf.SHT_GNU_VERDEF, gives, 1, len(o.gives)})
	}
	var names strtab
	nameAt := make([]uint32, len(sections)+1)
	for i, s := range sections {
		nameAt[i] = names.add(s.name)
	}
	nameAt[len(sections)] = names.add(".shstrtab")
	sections = append(sections, section{".shstrtab", elf.SHT_STRTAB, names.b, 0, 0})

	const ehdr, phdr = 64, 56
	progs := 0
	if o.interp != "" {
		progs = 1
	}
	at := uint64(ehdr + phdr*progs)
	var body []byte
	headers := make([]elf.Section64, len(sections))
	var interpAt uint64
	for i, s := range sections {
		if i == 0 {
			continue
		}
		if s.name == ".interp" {
			interpAt = at
		}
		headers[i] = elf.Section64{Name: nameAt[i], Type: uint32(s.typ), Off: at, Size: uint64(len(s.data)), Link: s.link, Info: uint32(s.info), Addralign: 1}
		body, at = append(body, s.data...), at+uint64(len(s.data))
	}
	machine := o.machine
	if machine == 0 {
		machine = elf.EM_X86_64
	}
	h := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_DYN), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Phoff: ehdr, Shoff: at, Ehsize: ehdr, Phentsize: phdr, Phnum: uint16(progs),
		Shentsize: 64, Shnum: uint16(len(sections)), Shstrndx: uint16(len(sections) - 1),
	}
	var out bytes.Buffer
	parts := []any{h}
	if progs == 1 {
		n := uint64(len(o.interp) + 1)
		parts = append(parts, elf.Prog64{Type: uint32(elf.PT_INTERP), Off: interpAt, Filesz: n, Memsz: n})
	}
	for _, part := range append(parts, body, headers) {
		if err := binary.Write(&out, le, part); err != nil {
			panic(err) // a bytes.Buffer takes everything
		}
	}
	return out.Bytes()
}

func (o fakeObject) verneed(str *strtab) []byte {
	le := binary.LittleEndian
	var b []byte
	var libs []string
	for lib := range o.needs {
		libs = append(libs, lib)
	}
	slices.Sort(libs)
	index := uint16(2)
	for i, lib := range libs {
		versions := o.needs[lib]
		next := uint32(16 + 16*len(versions))
		if i == len(libs)-1 {
			next = 0
		}
		b = le.AppendUint16(le.AppendUint16(b, 1), uint16(len(versions)))
		b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, str.add(lib)), 16), next)
		for j, v := range versions {
			name, weak := strings.CutPrefix(v, "?")
			flags, step := uint16(0), uint32(16)
			if weak {
				flags = uint16(elf.VER_FLG_WEAK)
			}
			if j == len(versions)-1 {
				step = 0
			}
			b = le.AppendUint32(b, 0) // hash
			b = le.AppendUint16(le.AppendUint16(b, flags), index)
			b = le.AppendUint32(le.AppendUint32(b, str.add(name)), step)
			index++
		}
	}
	return b
}

func (o fakeObject) verdef(str *strtab) []byte {
	le := binary.LittleEndian
	var b []byte
	for i, v := range o.gives {
		next := uint32(28)
		if i == len(o.gives)-1 {
			next = 0
		}
		b = le.AppendUint16(le.AppendUint16(le.AppendUint16(le.AppendUint16(b, 1), 0), uint16(i+1)), 1)
		b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, 0), 20), next)
		b = le.AppendUint32(le.AppendUint32(b, str.add(v)), 0)
	}
	return b
}

func writeObjects(t *testing.T, root string, objects map[string]fakeObject) {
	t.Helper()
	files := map[string]string{}
	for name, o := range objects {
		files[name] = string(o.bytes())
	}
	write(t, root, files)
}

func TestReadObject(t *testing.T) {
	root := t.TempDir()
	writeObjects(t, root, map[string]fakeObject{"lib/a.so": {
		soname: "a.so", interp: "/lib64/ld.so", needed: []string{"b.so", "c.so"}, runpath: "$ORIGIN/../private:${ORIGIN}",
		needs: map[string][]string{"b.so": {"B_1", "?B_2"}, "c.so": {"C_1"}}, gives: []string{"a.so", "A_1"},
	}})
	got, err := readObject(filepath.Join(root, "lib/a.so"))
	if err != nil {
		t.Fatal(err)
	}
	want := object{
		path: root + "/lib/a.so", machine: elf.EM_X86_64, class: elf.ELFCLASS64, interp: "/lib64/ld.so", needed: []string{"b.so", "c.so"},
		runpath: []string{root + "/lib/../private", root + "/lib"},
		needs:   map[string][]string{"b.so": {"B_1"}, "c.so": {"C_1"}}, gives: []string{"a.so", "A_1"},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(object{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestPreflight(t *testing.T) {
	root := t.TempDir()
	writeObjects(t, root, map[string]fakeObject{
		"bin/mysqld": {interp: "/lib64/ld-x.so", needed: []string{"libc.so.6", "libstdc++.so.6", "libgone.so.1", "libplain.so.1", "ld-x.so"},
			needs: map[string][]string{"libc.so.6": {"GLIBC_2.2.5", "GLIBC_2.38", "?GLIBC_2.99"}, "libstdc++.so.6": {"GLIBCXX_3.4.32"}, "libplain.so.1": {"PLAIN_1"}}},
		"lib/ld-x.so":            {soname: "ld-x.so", gives: []string{"GLIBC_2.3"}},
		"lib/libc.so.6":          {soname: "libc.so.6", gives: []string{"libc.so.6", "GLIBC_2.2.5"}, needed: []string{"ld-x.so"}, needs: map[string][]string{"ld-x.so": {"GLIBC_2.3"}}},
		"lib/libstdc++.so.6":     {needed: []string{"libc.so.6", "libdeep.so.1"}, gives: []string{"GLIBCXX_3.4"}, needs: map[string][]string{"libc.so.6": {"GLIBC_2.36"}}},
		"lib/libplain.so.1":      {},                      // defines no versions: the loader does not insist
		"lib/libgone.so.1":       {machine: elf.EM_PPC64}, // for another machine: not found
		"plugin/ha_rocksdb.so":   {needed: []string{"libzstd.so.1", "libown.so.1"}, runpath: "$ORIGIN/private"},
		"plugin/ha_other.so":     {needed: []string{"libnobodycares.so.1"}},
		"plugin/private/x":       {},
		"lib/libjemalloc.so.2":   {needed: []string{"libc.so.6"}},
		"plugin/libown.so.1":     {},
		"plugin/private/libz":    {},
		"lib/libtcmalloc.so.4.5": {},
	})
	if err := os.Rename(root+"/plugin/libown.so.1", root+"/plugin/private/libown.so.1"); err != nil {
		t.Fatal(err)
	}
	b := lab.Build{Name: "x", Server: root + "/bin/mysqld", Loader: root + "/lib/ld-x.so", LibraryPath: []string{root + "/lib"}, PluginDir: root + "/plugin",
		Preloads: map[string]string{"jemalloc": root + "/lib/libjemalloc.so.2"}}
	var got *PreflightError
	if err := Preflight(b); !errors.As(err, &got) {
		t.Fatalf("got %v", err)
	}
	server, rocks, cpp := b.Server, root+"/plugin/ha_rocksdb.so", root+"/lib/libstdc++.so.6"
	want := []Missing{
		{Binary: server, User: server, Library: "libc.so.6", Found: root + "/lib/libc.so.6", Versions: []string{"GLIBC_2.38"}},
		{Binary: server, User: server, Library: "libstdc++.so.6", Found: cpp, Versions: []string{"GLIBCXX_3.4.32"}},
		{Binary: server, User: server, Library: "libgone.so.1"},
		{Binary: server, User: cpp, Library: "libc.so.6", Found: root + "/lib/libc.so.6", Versions: []string{"GLIBC_2.36"}},
		{Binary: server, User: cpp, Library: "libdeep.so.1"},
		{Binary: rocks, User: rocks, Library: "libzstd.so.1"},
	}
	if d := cmp.Diff(want, got.Missing); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, line := range []string{"GLIBC_2.38 of " + root + "/lib/libc.so.6\n", "libdeep.so.1 (for libstdc++.so.6)\n", "ha_rocksdb.so lacks\n    libzstd.so.1\n"} {
		if !strings.Contains(got.Error(), line) {
			t.Errorf("message lacks %q:\n%s", line, got)
		}
	}
	// With the host's loader, its absence is the first thing to say.
	b.Loader = ""
	if err := Preflight(b); !errors.As(err, &got) || got.Missing[0].Library != "/lib64/ld-x.so" {
		t.Errorf("without the loader: %v", err)
	}
}

func TestPreflightClean(t *testing.T) {
	root := t.TempDir()
	writeObjects(t, root, map[string]fakeObject{
		"bin/mysqld":         {needed: []string{"libc.so.6", "libp.so.1"}, needs: map[string][]string{"libc.so.6": {"GLIBC_2.2.5"}}, rpath: "$ORIGIN/../private"},
		"lib/libc.so.6":      {gives: []string{"GLIBC_2.2.5"}},
		"lib/ld-x.so":        {},
		"private/libp.so.1":  {needed: []string{"libp2.so.1"}, rpath: "$ORIGIN"},
		"private/libp2.so.1": {},
	})
	if err := Preflight(lab.Build{Server: root + "/bin/mysqld", Loader: root + "/lib/ld-x.so", LibraryPath: []string{root + "/lib"}}); err != nil {
		t.Error(err)
	}
	if err := Preflight(lab.Build{Name: "x", Server: root + "/bin/none"}); err == nil || errors.As(err, new(*PreflightError)) {
		t.Errorf("no such server: %v", err)
	}
}

func TestConfDirs(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{
		"ld.so.conf":        "# comment\ninclude conf.d/*.conf\n/last/\nhwcap 0 nosegneg\ninclude " + root + "/loop.conf\n",
		"conf.d/a.conf":     "/a # why\n",
		"conf.d/b.conf":     "/b1\n/b2\n",
		"conf.d/c.disabled": "/never\n",
		"loop.conf":         "include loop.conf\n",
	})
	if d := cmp.Diff([]string{"/a", "/b1", "/b2", "/last"}, confDirs(root+"/ld.so.conf", 0)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// FuzzReadObject reads files that say anything of themselves, by all that reads them here.
func FuzzReadObject(f *testing.F) {
	f.Add(fakeObject{soname: "libx.so.1", interp: "/lib64/ld.so", needed: []string{"libc.so.6"}, runpath: "$ORIGIN/../lib", needs: map[string][]string{"libc.so.6": {"GLIBC_2.34", "?GLIBC_2.38"}}}.bytes())
	f.Add(fakeObject{soname: "libc.so.6", gives: []string{"libc.so.6", "GLIBC_2.34"}}.bytes())
	f.Add(fakeObject{needed: []string{"x.so", "/x.so", "../x.so"}, rpath: "$ORIGIN:"}.bytes())
	f.Fuzz(func(t *testing.T, text []byte) {
		file := filepath.Join(t.TempDir(), "x.so")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, loaded, err := newLoaderView("/nonexistent/ld.so", []string{filepath.Dir(file)}).check(file)
		if err == nil && len(loaded) > 1 {
			t.Errorf("one file loads %v", loaded)
		}
		buildID(file)
		compiler(file)
	})
}
