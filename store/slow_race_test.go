//go:build race

package store

// largeBlocks is smaller under the race detector, which makes all of it many times slower
// and times meaningless.
const largeBlocks = 2
