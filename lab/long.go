package lab

// LongCell is what the whole slices of a cell show beyond its CellMean, over all clients.
type LongCell struct {
	Cell     Cell       `json:"cell"`
	Blocks   int        `json:"blocks"`
	Roles    []RoleMean `json:"roles"`              // the first is the step's result; one without a name for a step without roles
	Readings []Reading  `json:"readings,omitempty"` // means over the blocks that have them
	Traces   []Trace    `json:"traces,omitempty"`   // one for each block
}

// RoleMean is one role of a step, over the blocks of a run.
type RoleMean struct {
	Role    string  `json:"role"`
	Rate    float64 `json:"rate_per_sec"`    // operations per second, total over total in a block, mean over blocks
	Offered float64 `json:"offered_per_sec"` // that its rate asked for; 0: it has none
	Slow    int     `json:"slow"`            // blocks in which it did not sustain its rate
	P50     float64 `json:"p50_sec"`         // of a transaction, all blocks and clients merged
	P95     float64 `json:"p95_sec"`
	P99     float64 `json:"p99_sec"`
	Max     float64 `json:"max_sec"`
	// Shares of transactions by how long they took: up to each of ResponseBounds, and over
	// the last.
	Shares []float64 `json:"shares"`
	// Seconds is the operations per second that were met or exceeded in 50, 95 and 99 % of
	// the seconds; nil when there were too few seconds.
	Seconds []float64 `json:"seconds,omitempty"`
}

// Sustained reports whether the role came to its rate in every block.
func (r RoleMean) Sustained() bool { return r.Slow == 0 }

// Trace is the series of one whole slice.
type Trace struct {
	Block  int      `json:"block"`
	Series []Series `json:"series"`
}

// ResponseBounds are the seconds by which responses are counted, as the insert benchmark
// has them.
func ResponseBounds() []float64 {
	return []float64{256e-6, 1e-3, 4e-3, 16e-3, 64e-3, 256e-3, 1, 4, 16}
}
