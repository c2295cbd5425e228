//go:build race

package main

// raced says that this test binary, which is also the command that tests start, has the
// race detector in it: several times the memory and the time.
const raced = true
