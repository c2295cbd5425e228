package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"backslide/lab"
)

// ExplainSchema is the value of "schema" in an explanation as JSON. It changes when the
// meaning of a field does, not when one is added.
const ExplainSchema = "backslide-explanation/1"

// explained is a lab.Explanation in JSON, field for field, with a name of the format.
type explained struct {
	Schema string `json:"schema"`
	lab.Explanation
}

// explainJSON writes an explanation as one JSON object: the fields of lab.Explanation under
// the names of their tags, in base units. Ends of intervals are null where they are infinite.
func explainJSON(w io.Writer, e lab.Explanation) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	if err := enc.Encode(explained{ExplainSchema, e}); err != nil {
		return fmt.Errorf("write the explanation of %s as JSON: %w", e.Comparison.Level, err)
	}
	return nil
}

// ReadExplanation reads what Explain wrote as JSON.
func ReadExplanation(r io.Reader) (lab.Explanation, error) {
	var d explained
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		return lab.Explanation{}, fmt.Errorf("read an explanation: %w", err)
	}
	if d.Schema != ExplainSchema {
		return lab.Explanation{}, fmt.Errorf("read an explanation: schema is %q, and this version reads %q: %w", d.Schema, ExplainSchema, errors.ErrUnsupported)
	}
	return d.Explanation, nil
}
