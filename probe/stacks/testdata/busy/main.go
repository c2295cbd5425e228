// Program busy spends three quarters of its time in one function and a quarter in
// another, for a minute, to be watched by perf.
package main

import "time"

func main() {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		busyThree(&sink)
		busyOne(&sink)
	}
}

// sink keeps the compiler from leaving the loops out.
var sink uint64

//go:noinline
func busyThree(x *uint64) {
	for range int(3e6) {
		*x = *x*6364136223846793005 + 1442695040888963407
	}
}

//go:noinline
func busyOne(x *uint64) {
	for range int(1e6) {
		*x = *x*6364136223846793005 + 1442695040888963407
	}
}
