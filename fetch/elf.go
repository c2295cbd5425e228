package fetch

import (
	"cmp"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"backslide/lab"
)

// object is what matters of an ELF file for loading it.
type object struct {
	path    string
	machine elf.Machine
	class   elf.Class
	interp  string // program's loader; empty for libraries
	needed  []string
	rpath   []string // DT_RPATH, $ORIGIN replaced
	runpath []string // DT_RUNPATH
	// needs maps a library's soname to the symbol versions wanted of it; weak ones are
	// left out, as the loader does not insist on them.
	needs map[string][]string
	gives []string // symbol versions that it defines; none: the loader checks nothing
}

func readObject(path string) (object, error) {
	if !isFile(path) {
		return object{}, fmt.Errorf("%s is not a file", path) // a pipe would be waited for, a device may act
	}
	f, err := elf.Open(path)
	if err != nil {
		return object{}, err
	}
	defer f.Close()
	o := object{path: path, machine: f.Machine, class: f.Class, needs: map[string][]string{}}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz > 0 && p.Filesz < 4096 {
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err != nil {
				return object{}, fmt.Errorf("%s: %w", path, err)
			}
			o.interp = strings.TrimRight(string(b), "\x00")
		}
	}
	if f.Section(".dynamic") == nil {
		return o, nil // static
	}
	if o.needed, err = f.ImportedLibraries(); err != nil {
		return object{}, fmt.Errorf("%s: %w", path, err)
	}
	o.rpath = runPath(f, elf.DT_RPATH, path)
	o.runpath = runPath(f, elf.DT_RUNPATH, path)
	if err := o.readVersions(f); err != nil {
		return object{}, fmt.Errorf("%s: %w", path, err)
	}
	return o, nil
}

func (o *object) readVersions(f *elf.File) error {
	if tag, err := f.DynValue(elf.DT_VERNEED); err == nil && len(tag) > 0 {
		needs, err := f.DynamicVersionNeeds()
		if err != nil {
			return err
		}
		for _, n := range needs {
			for _, d := range n.Needs {
				if d.Flags&elf.VER_FLG_WEAK == 0 {
					o.needs[n.Name] = append(o.needs[n.Name], d.Dep)
				}
			}
		}
	}
	if tag, err := f.DynValue(elf.DT_VERDEF); err == nil && len(tag) > 0 {
		gives, err := f.DynamicVersions()
		if err != nil {
			return err
		}
		for _, v := range gives {
			o.gives = append(o.gives, v.Name)
		}
	}
	return nil
}

// runPath returns a path list of the dynamic section with $ORIGIN replaced.
func runPath(f *elf.File, tag elf.DynTag, path string) []string {
	values, err := f.DynString(tag)
	if err != nil {
		return nil
	}
	var dirs []string
	for _, v := range values {
		for _, d := range strings.Split(v, ":") {
			if d != "" {
				origin := filepath.Dir(path)
				dirs = append(dirs, strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(d))
			}
		}
	}
	return dirs
}

// loaderView finds libraries as the dynamic loader would.
type loaderView struct {
	loader  string   // the tree's own; answers to its own name
	path    []string // --library-path or LD_LIBRARY_PATH
	host    []string // default directories; none with a loader of the tree's own: what is missing must not be taken from the host
	objects map[string]object
}

func newLoaderView(loader string, path []string) *loaderView {
	v := &loaderView{loader: loader, path: path, objects: map[string]object{}}
	if loader == "" {
		v.host = hostDirs("/etc/ld.so.conf")
	}
	return v
}

func (v *loaderView) read(path string) (object, error) {
	if o, ok := v.objects[path]; ok {
		return o, nil
	}
	o, err := readObject(path)
	if err == nil {
		v.objects[path] = o
	}
	return o, err
}

// find returns the file that a library name of o is loaded from. Files for another
// machine are passed over, as the loader does.
func (v *loaderView) find(soname string, o object) (object, bool) {
	if strings.Contains(soname, "/") {
		lib, err := v.read(soname)
		return lib, err == nil
	}
	if v.loader != "" && filepath.Base(v.loader) == soname {
		lib, err := v.read(v.loader)
		return lib, err == nil
	}
	dirs := slices.Concat(v.path, o.runpath, v.host)
	if len(o.runpath) == 0 {
		dirs = slices.Concat(o.rpath, v.path, v.host)
	}
	for _, d := range dirs {
		lib, err := v.read(filepath.Join(d, soname))
		if err == nil && lib.machine == o.machine && lib.class == o.class {
			return lib, true
		}
	}
	return object{}, false
}

// check returns what binary lacks, directly or through its libraries, and the libraries
// that it loads, by path.
func (v *loaderView) check(binary string) ([]Missing, []string, error) {
	root, err := v.read(binary)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", binary, err)
	}
	var missing []Missing
	loaded := map[string]bool{}
	if root.interp != "" && v.loader == "" {
		if _, err := os.Stat(root.interp); err != nil {
			missing = append(missing, Missing{Binary: binary, User: binary, Library: root.interp})
		}
	}
	gone := map[string]bool{}
	for todo := []object{root}; len(todo) > 0; todo = todo[1:] {
		o := todo[0]
		for _, soname := range o.needed {
			lib, ok := v.find(soname, o)
			if !ok {
				if !gone[soname] {
					missing = append(missing, Missing{Binary: binary, User: o.path, Library: soname})
				}
				gone[soname] = true
				continue
			}
			if lack := lacking(o.needs[soname], lib.gives); len(lack) > 0 {
				missing = append(missing, Missing{Binary: binary, User: o.path, Library: soname, Found: lib.path, Versions: lack})
			}
			if !loaded[lib.path] {
				loaded[lib.path] = true
				todo = append(todo, lib)
			}
		}
	}
	return missing, slices.Sorted(maps.Keys(loaded)), nil
}

// lacking returns the wanted symbol versions that a library does not define.
func lacking(want, have []string) []string {
	if len(have) == 0 {
		return nil
	}
	var out []string
	for _, w := range want {
		if !slices.Contains(have, w) {
			out = append(out, w)
		}
	}
	return out
}

// Missing is a library, or versions of its symbols, that a binary needs and this host and
// the tree do not have.
type Missing struct {
	Binary   string   // what could not be loaded: server, plugin or allocator
	User     string   // the file that needs it: Binary, or a library that Binary loads
	Library  string   // soname, or the path of a program's loader
	Found    string   // the library's file, when only versions are missing
	Versions []string // GLIBC_2.38; empty: there is no such library
}

// String names the library, or its versions that are missing, and who asks for them.
func (m Missing) String() string {
	s := m.Library
	if len(m.Versions) > 0 {
		s = fmt.Sprintf("%s of %s", strings.Join(m.Versions, ", "), m.Found)
	}
	if m.User != m.Binary {
		s += " (for " + filepath.Base(m.User) + ")"
	}
	return s
}

// PreflightError lists everything that a build lacks to start here.
type PreflightError struct {
	Build   string
	Missing []Missing
}

// Error lists what is missing, program by program, and what to do about it.
func (e *PreflightError) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s cannot be loaded on this host:", e.Build)
	for i, m := range e.Missing {
		if i == 0 || e.Missing[i-1].Binary != m.Binary {
			fmt.Fprintf(&s, "\n  %s lacks", m.Binary)
		}
		fmt.Fprintf(&s, "\n    %s", m)
	}
	s.WriteString("\ninstall what is missing, or use a build that brings its own libraries (family@version)")
	return s.String()
}

// Preflight says whether the build's server, MyRocks plugin and allocators can be loaded
// on this host: every shared library is there and defines the symbol versions asked of
// it. What is missing is a *PreflightError. Nothing is run.
func Preflight(b lab.Build) error {
	v := newLoaderView(b.Loader, b.LibraryPath)
	var all []Missing
	for _, binary := range binaries(b) {
		missing, _, err := v.check(binary)
		if err != nil {
			return fmt.Errorf("preflight %s: %w", b.Name, err)
		}
		all = append(all, missing...)
	}
	if len(all) > 0 {
		return &PreflightError{Build: b.Name, Missing: all}
	}
	return nil
}

// binaries lists the files of a build that a server process loads by request.
func binaries(b lab.Build) []string {
	out := []string{b.Server}
	if rocks := filepath.Join(b.PluginDir, "ha_rocksdb.so"); b.PluginDir != "" && isFile(rocks) {
		out = append(out, rocks)
	}
	for _, name := range slices.SortedFunc(maps.Keys(b.Preloads), cmp.Compare) {
		out = append(out, b.Preloads[name])
	}
	return out
}

// hostDirs returns the directories that the host's loader searches: those of ld.so.conf,
// which ldconfig's cache is made from, and the built-in ones.
func hostDirs(conf string) []string {
	dirs := append(confDirs(conf, 0), "/lib64", "/usr/lib64", "/lib", "/usr/lib")
	// Debian's and Ubuntu's loaders have the multiarch directories built in.
	for _, pattern := range []string{"/lib/*-linux-gnu*", "/usr/lib/*-linux-gnu*"} {
		found, _ := filepath.Glob(pattern)
		dirs = append(dirs, found...)
	}
	return dirs
}

// confDirs reads a file of ld.so.conf's form, following include lines.
func confDirs(conf string, depth int) []string {
	text, err := os.ReadFile(conf)
	if err != nil || depth > 4 {
		return nil
	}
	var dirs []string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || f[0] == "hwcap":
		case f[0] == "include":
			for _, pattern := range f[1:] {
				if !filepath.IsAbs(pattern) {
					pattern = filepath.Join(filepath.Dir(conf), pattern)
				}
				found, _ := filepath.Glob(pattern)
				for _, p := range found {
					dirs = append(dirs, confDirs(p, depth+1)...)
				}
			}
		default:
			dirs = append(dirs, strings.TrimSuffix(f[0], "/"))
		}
	}
	return dirs
}
