package archive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestHostile reads a folder of what nobody should read: pipes, links out of it, names with
// control characters, folders without end, lines without end.
func TestHostile(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret.csv")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(secret, "test,secret\nx,1\n")
	for name, text := range map[string]string{
		"good.csv":          "test,a\nx,1\n",
		"long.csv":          "test,a\nw,3\n" + strings.Repeat("y", 1<<20) + ",1\nz,2\n",
		"wide.csv":          "test" + strings.Repeat(",a", 5000) + "\nx" + strings.Repeat(",1", 5000) + "\n",
		"na\x1b[2Jme\n.csv": "test,a\nx,\x1b]0;evil\a\n",
		"script.csv":        "test,<script>alert(1)</script>\nx,1\n",
		strings.Repeat("d/", maxDepth+2) + "deep": "test,a\nx,1\n",
		".hidden/x.csv": "test,hidden\nx,1\n",
	} {
		write(filepath.Join(dir, name), text)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "link.csv")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.csv"), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := Read(t.Context(), os.DirFS(dir), Options{Tools: tools()})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a|x|qps|1 op/sec|good.csv:2", "a|w|qps|3 op/sec|long.csv:2", "a|z|qps|2 op/sec|long.csv:4",
		"<script>alert(1)</script>|x|qps|1 op/sec|script.csv:2", // whoever shows it escapes it
	}
	if d := cmp.Diff(want, asText(r.Records)); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	wantProblems(t, r.Problems, "more than 64 folders deep", "link.csv: neither a file nor a folder", "long.csv:3: line of more than 65536 bytes", "pipe.csv: neither a file")
	if len(r.Ignored) != 2 || strings.ContainsAny(strings.Join(r.Ignored, ""), "\x1b\n") {
		t.Errorf("ignored: %q, want the table of text and the table that is too wide", r.Ignored)
	}
}

// TestNamed: a file that a user names must be there, and be a result.
func TestNamed(t *testing.T) {
	fsys := fstest.MapFS{"a.txt": {Data: []byte("hello\n")}, "l": {Mode: fs.ModeNamedPipe}}
	r, err := Read(t.Context(), fsys, Options{Root: "r", Files: []string{"a.txt"}})
	if err != nil {
		t.Fatal(err)
	}
	wantProblems(t, r.Problems, "r/a.txt: no kind of result that is known here")
	for _, name := range []string{"nosuch", "l"} {
		if _, err := Read(t.Context(), fsys, Options{Root: "r", Files: []string{name}}); err == nil {
			t.Errorf("reading %s: no error", name)
		}
	}
	if _, err := Read(t.Context(), os.DirFS(filepath.Join(t.TempDir(), "no")), Options{Root: "no"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a root that is not there: error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, fsys, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

// TestNoTools says what it cannot read.
func TestNoTools(t *testing.T) {
	fsys := fstest.MapFS{"a": {Data: []byte(sysbenchText)}, "b": {Data: []byte(slapText)}, "c": {Data: []byte(`{ "schema": "backslide-summary/1" }`)}}
	r, err := Read(t.Context(), fsys, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantProblems(t, r.Problems, "a: an output of sysbench", "b: an output of mysqlslap", "c: a summary")
}

// TestTooMany bounds the figures of an import.
func TestTooMany(t *testing.T) {
	var b strings.Builder
	b.WriteString("test" + strings.Repeat(",b", 900) + "\n")
	row := strings.Repeat(",1", 900) + "\n"
	for i := range maxFigures/900 + 10 {
		fmt.Fprintf(&b, "t%d%s", i, row)
	}
	r := readMap(t, map[string]string{"a.csv": b.String(), "b.csv": b.String()}, Options{})
	if len(r.Records) > maxFigures {
		t.Errorf("%d figures, more than %d", len(r.Records), maxFigures)
	}
	if len(r.Problems) == 0 || !strings.Contains(r.Problems[0].Msg, "more than 200000 figures") {
		t.Errorf("problems: %v", r.Problems)
	}
}

// broken breaks off in mid-file.
type broken struct {
	fs.File
	n int
}

func (b *broken) Read(p []byte) (int, error) {
	if b.n > 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.File.Read(p[:min(len(p), 20)])
	b.n += n
	return n, err
}

type brokenFS struct{ fstest.MapFS }

func (f brokenFS) Open(name string) (fs.File, error) {
	h, err := f.MapFS.Open(name)
	if err != nil || name == "." {
		return h, err
	}
	return &broken{File: h}, nil
}

func TestBroken(t *testing.T) {
	r, err := Read(t.Context(), brokenFS{fstest.MapFS{"a.csv": {Data: []byte(gridText)}}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantProblems(t, r.Problems, "a.csv: unexpected EOF")
}

// kinds are the kinds of files that have a reader, with a file of each.
func kinds() map[kind]string {
	return map[kind]string{
		sysbench: sysbenchText, slap: slapText, met: metText, mets: metsText, vmstat: vmstatText()[:2000], iostat: iostatText, ps: psText,
		legend: relText, grid: gridText, bare: bareText, clients: clientsText, ibench: ibenchText, steps: stepsText, gobench: benchText,
		document: `{ "schema": "backslide-summary/1", "cells": [{"cell": {"variant": {"build": "a"}}, "values": {"qps": 1}}] }`,
	}
}

// TestRecognise: each kind by what is in it, whatever its name.
func TestRecognise(t *testing.T) {
	for want, text := range kinds() {
		if got := newSigns().recognise([]byte(text)); got != want {
			t.Errorf("kind %d, want %d, of\n%.100s", got, want, text)
		}
	}
}

// FuzzReaders gives each reader any bytes, also such as recognise would keep from it.
func FuzzReaders(f *testing.F) {
	for k, text := range kinds() {
		f.Add(int(k), "sb.vm."+testName, []byte(text))
		f.Add(int(k), "x.txt", []byte(text[:len(text)/2]))
		f.Add(int(k), "l.i0/o.ib.dop2.1", []byte(strings.ReplaceAll(text, "1", "-9e999")))
		f.Add(int(k), "a\x1b.csv", []byte(strings.ReplaceAll(text, "\n", "\x00\x1b\xff,\t")))
	}
	f.Add(int(vmstat), "sb.vm."+testName, []byte(strings.Repeat("9", 3*maxLine)))
	f.Fuzz(func(t *testing.T, k int, name string, text []byte) {
		if !fs.ValidPath(name) || name == "." {
			t.Skip("no path of a file system")
		}
		r := &reader{options: Options{Tools: tools()}, patterns: newPatterns(), signs: newSigns()}
		one := &file{reader: r, name: name, shown: r.shown(name), place: r.patterns.place(name, r.options), kind: kind(k)}
		buf := bufio.NewReaderSize(strings.NewReader(string(text)), maxLine)
		head, _ := buf.Peek(maxHead)
		if err := one.parse(buf, head); err != nil {
			t.Errorf("an error of reading memory: %v", err)
		}
		var out Result
		r.assemble(&out, []*file{one})
		sane(t, out)
	})
}

// FuzzRead reads a folder of two files of any content.
func FuzzRead(f *testing.F) {
	for _, text := range kinds() {
		f.Add("x.a.z1a_c8.pk1/sb.vm."+testName, []byte(text), []byte(relText))
	}
	f.Fuzz(func(t *testing.T, name string, a, b []byte) {
		if !fs.ValidPath(name) || name == "." || name == "b.tsv" || strings.HasPrefix(name, "b.tsv/") {
			t.Skip("no path of a file system")
		}
		r, err := Read(t.Context(), fstest.MapFS{name: {Data: a}, "b.tsv": {Data: b}}, Options{Tools: tools()})
		if err != nil {
			t.Fatal(err)
		}
		sane(t, r)
	})
}

// sane holds what is true of any result.
func sane(t *testing.T, r Result) {
	t.Helper()
	printable := func(what, s string) {
		bad := strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\u202e' })
		if bad || !utf8.ValidString(s) || len(s) > 6*maxName {
			t.Errorf("%s %q, %d bytes", what, s, len(s))
		}
	}
	for _, rec := range r.Records {
		if rec.Value < 0 || math.IsNaN(rec.Value) || math.IsInf(rec.Value, 0) || rec.Runs < 1 || rec.Metric == "" || rec.Unit == "" || rec.Unit == "?" || rec.Clients < 0 {
			t.Errorf("record %+v", rec)
		}
		for _, s := range []string{rec.Host, rec.Build, rec.Config, rec.Engine, rec.Workload, rec.Step, rec.Metric, rec.Unit, rec.Base, rec.File} {
			printable("name", s)
		}
	}
	for _, p := range append(r.Problems, r.Doubts...) {
		printable("message", p.Error())
	}
	for _, p := range r.Ignored {
		printable("ignored", p)
	}
	if len(r.Problems) > maxAll+1 || len(r.Doubts) > maxAll+1 {
		t.Errorf("%d problems, %d doubts", len(r.Problems), len(r.Doubts))
	}
	table := Tabulate(r.Records, QPS)
	_ = table.publishedAbs(true) + table.publishedRel(true)
	for i := range min(2, len(table.Columns)) {
		for _, s := range table.Groups(i, Group) {
			if s.Min > s.Median || s.Median > s.Max || s.Tests < 1 {
				t.Errorf("summary %+v", s)
			}
		}
	}
}
