//go:build !race

package store

// slower is by how much the race detector makes code slower.
const slower = 1
