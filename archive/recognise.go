package archive

import (
	"bytes"
	"regexp"
	"strings"
)

// kind is a kind of file.
type kind int

const (
	unknown kind = iota
	empty
	binary
	sysbench
	slap
	met      // averages of one test: "iostat, vmstat normalized by operation rate"
	mets     // tables of averages, build by build, test by test
	vmstat   // raw
	iostat   // raw
	ps       // raw
	legend   // numbers by column, columns named above
	grid     // name × build with the builds in the first line
	bare     // name × build without the builds
	clients  // client counts × build, a table per test
	ibench   // intervals of a client of the insert benchmark
	steps    // the insert benchmark's figures of one step, build by build
	gobench  // Go's benchmark format
	document // a summary of backslide's own
	utf16    // text, but not as we know it
)

// signs are compiled once per import.
type signs struct {
	sysbench, gobench, ps, slapCSV, metHead, summary *regexp.Regexp
}

func newSigns() *signs {
	return &signs{
		sysbench: regexp.MustCompile(`(?m)^(sysbench \d+\.\d+|OLTP test statistics:|SQL statistics:|    queries performed:|\[ *\d+s ?\] +(thds|threads):)`),
		gobench:  regexp.MustCompile(`(?m)^Benchmark[^\s:]*[ \t]+\d+[ \t]+[0-9.]`),
		ps:       regexp.MustCompile(`(?m)^\S+ +\d+ +[\d.]+ +[\d.]+ +\d+ +\d+ +\S+ +[A-Z]\S* +\S+ +[\d:-]+ +\S`),
		slapCSV:  regexp.MustCompile(`^[A-Za-z]*,[^,]*,[\d.]+,[\d.]+,[\d.]+,\d+,\d+$`),
		metHead:  regexp.MustCompile(`^sb\.(prepare\.)?met\.`),
		summary:  regexp.MustCompile(`"schema"\s*:\s*"backslide-summary/`),
	}
}

// recognise says what a file is from its first bytes.
func (s *signs) recognise(head []byte) kind {
	switch {
	case len(bytes.TrimSpace(head)) == 0:
		return empty
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return utf16
	case bytes.IndexByte(head, 0) >= 0,
		bytes.HasPrefix(head, []byte("\x1f\x8b")), bytes.HasPrefix(head, []byte("BZh")), bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		return binary
	}
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	first, second := firstLines(head)
	title := strings.TrimRight(first, " \t")
	text := string(head)
	switch {
	case strings.HasPrefix(first, "{") && s.summary.MatchString(text):
		return document
	case title == "iostat, vmstat normalized by operation rate":
		return met
	case s.metHead.MatchString(first) && strings.TrimRight(second, " \t") == "--- absolute":
		return mets
	case strings.HasPrefix(strings.TrimLeft(first, "-"), "procs") && strings.Contains(second, "swpd"):
		return vmstat
	case strings.HasPrefix(first, "Linux ") && (strings.Contains(text, "avg-cpu:") || strings.Contains(text, "\nDevice")),
		strings.HasPrefix(first, "avg-cpu:"), strings.HasPrefix(first, "Device") && strings.Contains(first, "r/s"):
		return iostat
	case strings.HasPrefix(first, "Relative to: "), strings.HasPrefix(first, "col-1 : "):
		return legend
	case strings.HasPrefix(first, "ips\tqps\trps\t"):
		return steps
	case strings.Contains(text, "i_sec\tt_sec\ti_ips\tt_ips\t"):
		return ibench
	case s.sysbench.Match(head):
		return sysbench
	case strings.Contains(text, "Average number of seconds to run all queries:"), s.slapCSV.MatchString(first):
		return slap
	case strings.Contains(text, "concurrency/engine"):
		return clients
	case s.gobench.Match(head):
		return gobench
	}
	if k := s.table(first, second); k != unknown {
		return k
	}
	if s.ps.Match(head) {
		return ps
	}
	return unknown
}

// firstLines returns the first two lines that are not blank.
func firstLines(head []byte) (first, second string) {
	for line := range bytes.Lines(head) {
		t := strings.TrimSpace(string(line))
		switch {
		case t == "":
		case first == "":
			first = strings.TrimRight(string(line), "\r\n")
		default:
			return first, strings.TrimRight(string(line), "\r\n")
		}
	}
	return first, ""
}

// table tells name × build tables, with and without a line of builds, from other text.
func (s *signs) table(first, second string) kind {
	sep := separator(first)
	if sep == 0 {
		return unknown
	}
	head := fields(first, sep)
	if len(head) < 2 || len(head) > maxColumns {
		return unknown
	}
	if _, bad := numbers(head[1:]); bad == "" {
		if _, ok := number(head[0]); !ok && strings.Contains(head[0], "_range=") {
			return bare
		}
		return unknown
	}
	if head[0] == "Variable_name" || strings.Trim(first, "col-0123456789\t") == "" {
		return unknown
	}
	for _, h := range head[1:] {
		if _, ok := number(h); ok || h == "" {
			return unknown
		}
	}
	row := fields(second, sep)
	if len(row) != len(head) {
		return unknown
	}
	seen := false
	for _, c := range row[1:] {
		_, ok := number(c)
		if !ok && !missing(c) {
			return unknown
		}
		seen = seen || ok
	}
	if _, ok := number(row[0]); ok || !seen {
		return unknown
	}
	return grid
}

// missing reports whether a cell of a table says that there is no figure.
func missing(s string) bool {
	switch strings.ToLower(s) {
	case "", "-", "na", "n/a", "nan", "?":
		return true
	}
	return false
}

// separator returns what splits a line: a tab, a comma or a semicolon; 0: nothing does.
func separator(line string) byte {
	for _, sep := range []byte("\t,;") {
		if strings.IndexByte(line, sep) >= 0 {
			return sep
		}
	}
	return 0
}

// fields splits a line, with quotes as in CSV but never across lines.
func fields(line string, sep byte) []string {
	if !strings.Contains(line, `"`) {
		out := strings.Split(line, string(sep))
		for i := range out {
			out[i] = strings.TrimSpace(out[i])
		}
		return out
	}
	var out []string
	var field strings.Builder
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"' && quoted && i+1 < len(line) && line[i+1] == '"':
			field.WriteByte('"')
			i++
		case c == '"':
			quoted = !quoted
		case c == sep && !quoted:
			out = append(out, strings.TrimSpace(field.String()))
			field.Reset()
		default:
			field.WriteByte(c)
		}
	}
	return append(out, strings.TrimSpace(field.String()))
}
