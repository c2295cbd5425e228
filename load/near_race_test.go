//go:build race

package load

import "time"

// near is how close clocks have to be; the race detector makes code many times slower.
const near = 20 * time.Microsecond
