package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// reader reads the files of one import.
type reader struct {
	fsys     fs.FS
	options  Options
	patterns *patterns
	signs    *signs
	figures  atomic.Int64 // records so far, over all files
}

// Read reads a folder, or the files of it that the options name. The error is of the file
// system's root, a file that was named, or the context; everything else is in the result.
// Symbolic links, devices and pipes are not followed.
func Read(ctx context.Context, fsys fs.FS, o Options) (Result, error) {
	o.Host, o.Build, o.Config = clean(o.Host), clean(o.Build), clean(o.Config)
	r := &reader{fsys: fsys, options: o, patterns: newPatterns(), signs: newSigns()}
	var out Result
	names := o.Files
	if len(names) == 0 {
		var err error
		if names, err = r.walk(ctx, &out); err != nil {
			return Result{}, fmt.Errorf("import %s: %w", o.Root, err)
		}
	}
	files, err := r.readAll(ctx, names, len(o.Files) > 0)
	if err != nil {
		return Result{}, fmt.Errorf("import %s: %w", o.Root, err)
	}
	r.assemble(&out, files)
	return out, nil
}

// walk lists the regular files, in the order of their names.
func (r *reader) walk(ctx context.Context, out *Result) ([]string, error) {
	var names []string
	err := fs.WalkDir(r.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == ".":
			return err
		case err != nil:
			out.Problems = append(out.Problems, Problem{File: r.shown(name), Msg: cause(err)})
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir() && strings.Count(name, "/") >= maxDepth:
			out.Problems = append(out.Problems, Problem{File: r.shown(name), Msg: fmt.Sprintf("more than %d folders deep; not read", maxDepth)})
			return fs.SkipDir
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir(), strings.HasPrefix(d.Name(), "."):
		case !d.Type().IsRegular():
			out.Problems = append(out.Problems, Problem{File: r.shown(name), Msg: "neither a file nor a folder (" + d.Type().Type().String() + "); not read"})
		default:
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// readAll reads files on as many CPUs as there are, in any order, and returns them in theirs.
func (r *reader) readAll(ctx context.Context, names []string, named bool) ([]*file, error) {
	files := make([]*file, len(names))
	errs := make([]error, len(names))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), max(1, len(names))) {
		wg.Go(func() {
			buf := bufio.NewReaderSize(nil, maxLine)
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(names) {
					return
				}
				files[i], errs[i] = r.read(ctx, names[i], buf, named)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return nil, err
	}
	return files, nil
}

// file is what was read of a file.
type file struct {
	place
	reader  *reader
	name    string // in the file system
	shown   string // to users
	kind    kind
	records []Record
	result  Result // summaries, problems, doubts
	dropped int    // problems beyond the bound
	full    bool   // figures were left out since there are too many
	samples *samples
	inserts *inserts
	dots    dots
}

// read reads a file. Only a file that a user named has an error, where it cannot be opened.
func (r *reader) read(ctx context.Context, name string, buf *bufio.Reader, named bool) (*file, error) {
	f := &file{reader: r, name: name, shown: r.shown(name), place: r.patterns.place(name, r.options)}
	h, err := r.fsys.Open(name)
	if err != nil {
		if named {
			return nil, err
		}
		f.problem(0, "%s", cause(err))
		return f, nil
	}
	defer h.Close()
	if s, err := h.Stat(); err != nil || !s.Mode().IsRegular() {
		if named {
			return nil, fmt.Errorf("%s is no regular file", f.shown)
		}
		f.problem(0, "no regular file; not read")
		return f, nil
	}
	buf.Reset(&cancellable{ctx, h})
	head, err := buf.Peek(maxHead)
	if err != nil && err != io.EOF {
		f.problem(0, "%s", cause(err))
		return f, nil
	}
	f.kind = r.signs.recognise(head)
	if err := f.parse(buf, head); err != nil && ctx.Err() == nil {
		f.problem(0, "reading stopped: %s", cause(err))
	}
	if f.full {
		f.problem(0, "the import holds more than %d figures; the rest is left out: import fewer files at a time", maxFigures)
	}
	if named && (f.kind == unknown || f.kind == empty) {
		f.problem(0, "%s", map[kind]string{unknown: "no kind of result that is known here", empty: "empty"}[f.kind])
	}
	return f, nil
}

func (f *file) parse(buf *bufio.Reader, head []byte) error {
	l := &lines{br: buf, problem: f.problem}
	switch f.kind {
	case sysbench:
		return f.sysbench(buf, head)
	case slap:
		return f.slap(buf)
	case met:
		f.met(l)
	case mets:
		f.mets(l)
	case vmstat:
		f.vmstat(l)
	case iostat:
		f.iostat(l)
	case ps:
		f.ps(l)
	case legend:
		f.legend(l)
	case grid:
		f.grid(l)
	case bare:
		f.bare(l)
	case clients:
		f.clients(l)
	case ibench:
		f.ibench(l)
	case steps:
		f.steps(l)
	case gobench:
		return f.gobench(buf)
	case document:
		return f.document(buf)
	case binary:
		f.problem(0, "binary or compressed; unpack it first if it holds results")
	case utf16:
		f.problem(0, "text in UTF-16; convert it to UTF-8")
	}
	f.dots.doubt(f)
	if l.cut > 0 && (f.inserts != nil || slices.ContainsFunc(f.records, func(r Record) bool { return r.Line == l.cut })) {
		f.doubt(l.cut, "the last line does not end: if the file was cut there, its last figure or name is only the beginning of one")
	}
	return l.failed()
}

// problem notes what could not be read.
func (f *file) problem(line int, format string, args ...any) {
	if len(f.result.Problems) >= maxProblems {
		f.dropped++
		return
	}
	f.result.Problems = append(f.result.Problems, Problem{File: f.shown, Line: line, Msg: fmt.Sprintf(format, args...)})
}

// doubt notes what was read and should not be believed.
func (f *file) doubt(line int, format string, args ...any) {
	if len(f.result.Doubts) < maxProblems {
		f.result.Doubts = append(f.result.Doubts, Problem{File: f.shown, Line: line, Msg: fmt.Sprintf(format, args...)})
	}
}

// add keeps a figure, unless there are too many.
func (f *file) add(r Record) {
	if f.reader.figures.Add(1) > maxFigures {
		f.full = true
		return
	}
	if r.Unit == "" {
		r.Unit = unit(r.Metric)
	}
	r.Runs = max(1, r.Runs)
	r.Host = f.reader.options.Host
	r.File = f.shown
	f.records = append(f.records, r)
}

// cell returns the cell that the file's name speaks of.
func (f *file) cell() Cell { return Cell{Variant: f.variant, Test: f.test} }

// shown returns a name as users know it, fit for a terminal.
func (r *reader) shown(name string) string {
	full := path.Join(r.options.Root, name)
	if len(full) > 4*maxName {
		full = full[:2*maxName] + "…" + full[len(full)-maxName:]
	}
	var out []string
	for _, part := range strings.Split(full, "/") {
		out = append(out, clean(part))
	}
	return strings.Join(out, "/")
}

// cause returns what went wrong without the path, which the message has already.
func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Op + ": " + pe.Err.Error()
	}
	return clean(err.Error())
}

// cancellable ends reading when the context does.
type cancellable struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancellable) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}
