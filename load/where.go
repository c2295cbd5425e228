package load

import (
	"fmt"
	"strconv"
	"strings"

	"backslide/lab"
)

// path leads to a key of a workload file: {"step#2", "args", "id"}; #n is the place in
// an array of tables, from 0.
type path []string

func (p path) add(more ...string) path { return append(append(path(nil), p...), more...) }

func nth(name string, i int) string { return name + "#" + strconv.Itoa(i) }

// fault is an error at a place in a workload file.
type fault struct {
	at  path
	msg string
}

func (f *fault) Error() string { return f.msg }

func bad(at path, format string, args ...any) error {
	return &fault{at, fmt.Sprintf(format, args...)}
}

// syntaxError gives err the line that it is about.
func syntaxError(file, text string, err error) error {
	if f, ok := err.(*fault); ok {
		return &lab.SyntaxError{File: file, Line: locate(text, f.at), Msg: f.msg}
	}
	return err
}

// locate returns the line, from 1, of the deepest part of p that text has; 0 if none. It
// reads TOML as people write workloads: headers, dotted keys and one-line inline tables.
func locate(text string, p path) int {
	line, depth := 0, 0
	seen := map[string]int{}
	var table path
	for i, l := range strings.Split(text, "\n") {
		l = strings.TrimSpace(l)
		full := table
		switch {
		case strings.HasPrefix(l, "[["):
			table = header(strings.Split(strings.Trim(l[2:], "[] \t"), "."), seen, true)
			full = table
		case strings.HasPrefix(l, "["):
			end := strings.IndexByte(l, ']')
			if end < 0 {
				continue
			}
			table = header(strings.Split(l[1:end], "."), seen, false)
			full = table
		default:
			key, rest, ok := strings.Cut(l, "=")
			if !ok || strings.HasPrefix(l, "#") {
				continue
			}
			for _, k := range strings.Split(key, ".") {
				full = full.add(strings.Trim(k, " \t\"'"))
			}
			if len(full) < len(p) && strings.Contains(rest, p[len(full)]) {
				full = full.add(p[len(full)])
			}
		}
		if n := common(full, p); n > depth && n == min(len(full), len(p)) {
			line, depth = i+1, n
		}
	}
	return line
}

// header numbers the tables of a header by how many of their name came before.
func header(parts []string, seen map[string]int, array bool) path {
	var p path
	for i, part := range parts {
		part = strings.Trim(part, " \t\"'")
		at := strings.Join(p, ".") + "." + part
		if array && i == len(parts)-1 {
			seen[at]++
		}
		if n := seen[at]; n > 0 {
			part = nth(part, n-1)
		}
		p = append(p, part)
	}
	return p
}

func common(a, b path) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
