package server

import (
	"io"
	"os"
	"strings"
)

// logFrom is the part of an error log that one process wrote.
type logFrom struct {
	path   string
	offset int64
}

// logMax is how much of a log is read at most, from its end: crashes write stack traces,
// and some servers a line per refused connection.
const logMax = 1 << 20

// How many lines of a log an error quotes.
const (
	quoteLines      = 15
	quoteErrorLines = 8
)

// text returns what was written, or nothing if it cannot be read any more.
func (l logFrom) text() string {
	f, err := os.Open(l.path)
	if err != nil {
		return ""
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	b, err := io.ReadAll(io.NewSectionReader(f, max(l.offset, size-logMax), logMax))
	if err != nil {
		return ""
	}
	return string(b)
}

// quoteEnd returns the last lines, to be put behind an error.
func (l logFrom) quoteEnd() string { return l.quote(tail(l.text(), quoteLines)) }

// quoteErrors returns the lines that say what the server objects to, or the last ones.
func (l logFrom) quoteErrors() string {
	text := l.text()
	if lines := errorLines(text); len(lines) > 0 {
		return l.quote(strings.Join(lines[:min(len(lines), quoteErrorLines)], "\n"))
	}
	return l.quote(tail(text, quoteLines))
}

func (l logFrom) quote(text string) string {
	if text == "" {
		return "; its log " + l.path + " is empty"
	}
	return "; its log " + l.path + " says:\n\t" + strings.ReplaceAll(text, "\n", "\n\t")
}

// tail returns the last n lines of a text, without the newline at its end.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// errorLines returns the lines of an error log that report an error. It leaves out what
// every start or check of options reports that has no data directory.
func errorLines(text string) []string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		switch {
		case strings.Contains(line, "mysql.plugin table"), strings.HasSuffix(line, "Aborting"):
		case strings.Contains(line, "[ERROR]"), strings.Contains(line, "Unknown suffix"),
			strings.Contains(line, "error while loading shared libraries"):
			out = append(out, line)
		}
	}
	return out
}
