package compare

import (
	"testing"

	"backslide/lab"
)

// TestMemory takes the first, last and largest of each block, and then means over blocks.
func TestMemory(t *testing.T) {
	good := []obs{
		{place: place{block: 0}, rss: 100}, {place: place{block: 0}, rss: 300}, {place: place{block: 0}, rss: 200},
		{place: place{block: 1}, rss: 50},
		{place: place{block: 2}, rss: -1}, // not known: no block of the means
	}
	want := lab.Memory{First: (100 + 50) / 2, Last: (200 + 50) / 2, Most: (300 + 50) / 2}
	if got := memory(good); got != want {
		t.Errorf("memory = %+v, want %+v", got, want)
	}
	if got := memory(good[4:]); got != (lab.Memory{}) {
		t.Errorf("memory of what is not known = %+v", got)
	}
}
