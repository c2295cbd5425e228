//go:build !race

package load

import "time"

// near is how close clocks have to be.
const near = 2 * time.Microsecond
