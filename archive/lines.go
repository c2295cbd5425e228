package archive

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what is kept of files, however large they are.
const (
	maxHead     = 64 << 10 // bytes by which a file is recognised
	maxLine     = 64 << 10 // bytes of a line; a longer one is left out
	maxProblems = 20       // problems that are told of a file
	maxAll      = 1000     // problems, doubts and ignored files that are told of an import
	maxFigures  = 200_000  // records of an import
	maxColumns  = 1000     // of a table
	maxName     = 200      // bytes of a name
	maxJSON     = 64 << 20 // bytes of a summary
	maxSeconds  = 1 << 20  // intervals of an insert benchmark, 12 days of seconds
	maxDevices  = 1000     // of an iostat
	maxDepth    = 64       // folders in folders
)

// lines reads lines and counts them. A line that is too long is a problem and skipped.
type lines struct {
	br      *bufio.Reader
	n       int // of the line last read, from 1
	cut     int // line at which the file ends without ending the line; 0: it ends it
	problem func(line int, format string, args ...any)
	err     error
}

// next returns the next line without its end.
func (l *lines) next() (string, bool) {
	for l.err == nil {
		b, err := l.br.ReadSlice('\n')
		if len(b) == 0 && err != nil {
			l.end(err)
			break
		}
		l.n++
		if err == bufio.ErrBufferFull {
			l.skip()
			l.problem(l.n, "line of more than %d bytes left out", l.br.Size())
			continue
		}
		line := string(b)
		if l.end(err); err == io.EOF {
			l.cut = l.n
		}
		if l.n == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		return strings.TrimRight(line, "\r\n"), true
	}
	return "", false
}

func (l *lines) skip() {
	for {
		_, err := l.br.ReadSlice('\n')
		if err != bufio.ErrBufferFull {
			l.end(err)
			return
		}
	}
}

func (l *lines) end(err error) {
	if err != nil {
		l.err = err
	}
}

// failed returns the error of reading, nil at the end of the file.
func (l *lines) failed() error {
	if l.err == io.EOF {
		return nil
	}
	return l.err
}

// number reads a decimal number that a measurement can have: finite, not below zero.
func number(s string) (float64, bool) {
	if s == "" || len(s) > 40 || strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) || v < 0 || v >= 1<<63 {
		return 0, false
	}
	return v, true
}

// count reads a whole number of at most nine digits.
func count(s string) (int, bool) {
	if s == "" || len(s) > 9 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// numbers reads fields that must all be numbers, and otherwise returns the first that is none.
func numbers(fields []string) (vs []float64, bad string) {
	for _, f := range fields {
		v, ok := number(f)
		if !ok {
			return nil, f
		}
		vs = append(vs, v)
	}
	return vs, ""
}

// clean makes a name from a file fit for a terminal: valid, printable, not too long.
func clean(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxName {
		s = s[:maxName]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		s = strings.TrimSuffix(s, string(utf8.RuneError))
		if r, n := utf8.DecodeLastRuneInString(s); r == utf8.RuneError && n == 1 {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	return strings.Map(func(r rune) rune {
		if r == ' ' || unicode.IsGraphic(r) && !unicode.IsSpace(r) {
			return r
		}
		return '\ufffd'
	}, s)
}

// quote quotes a piece of a line for a message.
func quote(s string) string {
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return fmt.Sprintf("%q", s)
}
