package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"backslide/lab"
)

// Schema is the value of "schema" in what JSON writes. It changes when the meaning of a
// field does, not when one is added.
const Schema = "backslide-summary/1"

// document is a lab.Summary in JSON, field for field, with a name of the format.
type document struct {
	Schema string `json:"schema"`
	summary
}

// summary shadows the comparisons of a lab.Summary.
type summary struct {
	lab.Summary
	Comparisons []comparison `json:"comparisons"`
}

// comparison shadows those fields of a lab.Comparison that may be infinite.
type comparison struct {
	lab.Comparison
	Lo       *float64 `json:"lo"`
	Hi       *float64 `json:"hi"`
	EqLo     *float64 `json:"eq_lo"`
	EqHi     *float64 `json:"eq_hi"`
	SD       *float64 `json:"sd"`
	MDE      *float64 `json:"mde"`
	Critical *float64 `json:"critical"`
}

// JSON writes the whole summary as one JSON object: the fields of lab.Summary under the
// names of their tags, in base units, times in RFC 3339, durations in nanoseconds. An end
// of an interval, mde and critical are null where they are infinite, since blocks are too
// few. Map keys are sorted, so equal summaries give equal bytes. ReadJSON reads it back.
func JSON(w io.Writer, s lab.Summary) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	if err := e.Encode(documentOf(s)); err != nil {
		return fmt.Errorf("write summary of run %d as JSON: %w", s.Run.ID, err)
	}
	return nil
}

func documentOf(s lab.Summary) document {
	d := document{Schema: Schema, summary: summary{Summary: s, Comparisons: make([]comparison, len(s.Comparisons))}}
	for i, c := range s.Comparisons {
		d.Comparisons[i] = comparison{
			Comparison: c,
			Lo:         known(c.Lo), Hi: known(c.Hi), EqLo: known(c.EqLo), EqHi: known(c.EqHi),
			SD: known(c.SD), MDE: known(c.MDE), Critical: known(c.Critical),
		}
	}
	return d
}

func known(x float64) *float64 {
	if !finite(x) {
		return nil
	}
	return &x
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
	s := d.Summary
	s.Comparisons = make([]lab.Comparison, len(d.Comparisons))
	for i, c := range d.Comparisons {
		x := c.Comparison
		x.Lo, x.EqLo = orInf(c.Lo, -1), orInf(c.EqLo, -1)
		x.Hi, x.EqHi = orInf(c.Hi, 1), orInf(c.EqHi, 1)
		x.SD, x.MDE, x.Critical = orInf(c.SD, 1), orInf(c.MDE, 1), orInf(c.Critical, 1)
		s.Comparisons[i] = x
	}
	return s, nil
}

func orInf(x *float64, sign int) float64 {
	if x == nil {
		return math.Inf(sign)
	}
	return *x
}
