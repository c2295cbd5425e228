package lab

import (
	"math"
	"slices"
)

// Part is what one role of a step did in a slice, over all clients.
type Part struct {
	Role    string
	Ops     int64
	Rows    int64
	Offered float64 // operations per second that its rate asked for; 0: it has none
	Hist    []byte  // latency histogram, encoded by load.Histogram
}

// sustained is the share of its rate that a role has to come to, as the insert benchmark's
// rule has it.
const sustained = 0.95

// Sustained reports whether the role came to its rate in a slice of wall seconds: to 95 %,
// rounded to whole operations. One without a rate always does.
func (p Part) Sustained(wall float64) bool {
	const fuzz = 1e-9 // of what seconds, a fraction, can tell
	return p.Offered <= 0 || float64(p.Ops) >= math.Round(sustained*p.Offered)*wall*(1-fuzz)
}

// Series is one thing about a slice, second by second from its start. Seconds that are not
// whole are left out.
type Series struct {
	Name   string    `json:"name"` // rate, worst, of a role: insert rate; server cpu, history length
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"` // negative: not known
}

// Stalled is the share of a series' median under which a second is a stall.
const Stalled = 0.1

// fewestSeconds is how many seconds a series needs to have a usual one.
const fewestSeconds = 12

// Stalls returns the seconds, from 0, in which next to nothing was done, of a series of
// operations per second.
func (s Series) Stalls() []int {
	if len(s.Values) < fewestSeconds {
		return nil
	}
	sorted := slices.Sorted(slices.Values(s.Values))
	usual := sorted[len(sorted)/2]
	var out []int
	for i, v := range s.Values {
		if v >= 0 && v < Stalled*usual {
			out = append(out, i)
		}
	}
	return out
}

// Reading is one thing about a long slice that is read before and after it: a counter's
// growth, or a size at its end.
type Reading struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
}

// Names of readings and series that reports arrange.
const (
	Accounted = "memory accounted" // bytes that a server itself says it holds
	Beyond    = "memory beyond"    // bytes resident beyond these: code, what nobody counts, the allocator's overhead and fragmentation

	PageReads       = "page reads"       // requests of InnoDB to storage
	PageWrites      = "page writes"      // likewise, its log included
	EngineReads     = "engine reads"     // bytes of these
	EngineWrites    = "engine writes"    // likewise; of MyRocks flushes and compactions
	Doublewrite     = "doublewrite"      // bytes, of the writes
	Fsyncs          = "fsyncs"           // of InnoDB; of MyRocks its log's
	BlockReads      = "block reads"      // of MyRocks: blocks that were not in its cache
	CompactionReads = "compaction reads" // bytes
)
