package main

import (
	"bytes"
	"io"
	"strings"

	"backslide/report"
)

// harmless is a writer of messages to a terminal. Servers' logs, package managers and files
// of others speak through them, and must not move the cursor, colour, or put text in
// another order than it is read in: what could, is shown as a replacement character. Each
// write holds whole characters.
type harmless struct{ w io.Writer }

// Write is io.Writer's.
func (h harmless) Write(p []byte) (int, error) {
	if _, err := io.WriteString(h.w, harmlessText(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// harmlessText keeps line breaks and tabs.
func harmlessText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case report.Controls(r):
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// show writes a report to standard output. Formats for programs have names as they are,
// which is no good on a terminal.
func (e *env) show(format string, write func(io.Writer) error) error {
	if _, ok := e.terminal(); !ok || format == "text" {
		return write(e.stdout)
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	_, err := harmless{e.stdout}.Write(b.Bytes())
	return err
}
