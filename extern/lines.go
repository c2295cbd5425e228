package extern

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Bounds of what is kept of an output, however long it is.
const (
	maxLine      = 4096   // bytes of a line
	maxNotes     = 100    // lines that nobody understood
	maxErrors    = 20     // lines that report a failure
	maxIntervals = 100000 // a day of seconds
	maxBuckets   = 4096   // of a histogram; sysbench has 1024
	maxRows      = 1000   // of a mysqlslap
	maxShown     = 200    // bytes of a line that is quoted
)

// eachLine calls f with each line of r, without its end and cut at maxLine bytes.
func eachLine(r io.Reader, f func(line string)) error {
	if r == nil {
		return nil
	}
	br := bufio.NewReaderSize(r, maxLine)
	for {
		line, more, err := br.ReadLine()
		if err == nil || len(line) > 0 {
			f(string(line))
		}
		for more && err == nil {
			_, more, err = br.ReadLine()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// clip shortens a line for quoting.
func clip(s string) string {
	if len(s) > maxShown {
		return strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	return s
}

// keep appends a line to a list that holds at most most, and reports whether it did.
func keep(list *[]string, most int, line string) bool {
	if len(*list) >= most {
		return false
	}
	*list = append(*list, clip(line))
	return true
}

// tally counts something that need be said once.
type tally struct {
	n     int
	first string // the line where it first was
}

func (t *tally) add(line string) {
	if t.n == 0 {
		t.first = clip(line)
	}
	t.n++
}

// warn appends a warning unless the count is zero. The format takes n and the line.
func (t tally) warn(to *[]string, format string) {
	if t.n > 0 {
		*to = append(*to, fmt.Sprintf(format, t.n, t.first))
	}
}

// unsaid stands for a number that the output does not hold, or holds but cannot mean.
const unsaid = -1

// number reads a number that can be a count or a rate. A number cannot be when it is
// negative, not finite, or 2^63 or more, which is an unsigned subtraction below zero.
func number(s string) (v float64, isNumber, canBe bool) {
	v, err := strconv.ParseFloat(strings.TrimPrefix(s, "-"), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return unsaid, false, false
	}
	if strings.HasPrefix(s, "-") && v != 0 || math.IsNaN(v) || v >= 1<<63 {
		return unsaid, true, false
	}
	return v, true, true
}

// count reads a whole number, as number does.
func count(s string) (n int64, isNumber, canBe bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && n < 0:
		return unsaid, true, false
	case err != nil:
		return unsaid, false, false
	}
	return n, true, true
}

// after returns the word that follows a label in a line, without commas and brackets. The
// label begins a word.
func after(line, label string) (string, bool) {
	for from := 0; ; {
		i := strings.Index(line[from:], label)
		if i < 0 {
			return "", false
		}
		i += from
		from = i + len(label)
		if i > 0 && line[i-1] != ' ' && line[i-1] != '(' {
			continue
		}
		rest := strings.TrimLeft(line[from:], " ")
		end := strings.IndexAny(rest, " ,)")
		if end < 0 {
			end = len(rest)
		}
		return rest[:end], end > 0
	}
}
