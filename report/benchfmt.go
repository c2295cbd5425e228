package report

import (
	"io"

	"backslide/lab"
)

// Benchfmt writes Go's benchmark format.
func Benchfmt(w io.Writer, s lab.Summary) error { return nil }
