package report

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"strings"
)

// csvWriter writes rows as RFC 4180 has them. A field that some spreadsheets would run as a
// formula, since it begins with =, +, - or @ and is no number, gets an apostrophe in front,
// by which they take it as text: names come from files and servers of others.
type csvWriter struct{ *csv.Writer }

func newCSV(w io.Writer) csvWriter {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	return csvWriter{out}
}

// Write writes a row. A failure stays with the writer.
func (w csvWriter) Write(row []string) {
	if slices.ContainsFunc(row, formula) {
		row = slices.Clone(row)
		for i, field := range row {
			if formula(field) {
				row[i] = "'" + field
			}
		}
	}
	w.Writer.Write(row)
}

// formula reports whether spreadsheets may run a field.
func formula(field string) bool {
	if field == "" || !strings.ContainsRune("=+-@\t\r", rune(field[0])) {
		return false
	}
	_, err := strconv.ParseFloat(field, 64)
	return err != nil
}
