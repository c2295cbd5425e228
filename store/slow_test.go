//go:build !race

package store

// largeBlocks is the number of blocks of a large run.
const largeBlocks = 40
