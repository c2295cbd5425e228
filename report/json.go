package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"backslide/lab"
)

// Schema is the value of "schema" in what JSON writes. It changes when the meaning of a
// field does, not when one is added.
const Schema = "backslide-summary/1"

// document is a lab.Summary in JSON, field for field, with a name of the format.
type document struct {
	Schema string `json:"schema"`
	lab.Summary
}

// JSON writes the whole summary as one JSON object: the fields of lab.Summary under the
// names of their tags, in base units, times in RFC 3339, durations in nanoseconds. An end
// of an interval, mde and critical are null where they are infinite, since blocks are too
// few. Map keys are sorted, so equal summaries give equal bytes. ReadJSON reads it back.
func JSON(w io.Writer, s lab.Summary) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	if err := e.Encode(document{Schema, s}); err != nil {
		return fmt.Errorf("write summary of run %d as JSON: %w", s.Run.ID, err)
	}
	return nil
}

// ReadJSON reads what JSON wrote.
func ReadJSON(r io.Reader) (lab.Summary, error) {
	var d document
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return lab.Summary{}, fmt.Errorf("read a summary: %w", err)
	}
	if d.Schema != Schema {
		return lab.Summary{}, fmt.Errorf("read a summary: schema is %q, and this version reads %q: %w", d.Schema, Schema, errors.ErrUnsupported)
	}
	return d.Summary, nil
}
