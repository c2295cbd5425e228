package report

import (
	"bytes"
	"os"
	"testing"
)

func TestWritePage(t *testing.T) {
	var b bytes.Buffer
	if err := HTML(&b, first()); err != nil {
		t.Fatal(err)
	}
	os.WriteFile("/tmp/first.html", b.Bytes(), 0o644)
}
