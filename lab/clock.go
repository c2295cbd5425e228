package lab

import "strings"

// ServerClock is what a server itself times statements with.
type ServerClock string

// The clocks.
const (
	PerformanceSchema ServerClock = "Performance Schema"
	Profile           ServerClock = "SHOW PROFILE"
)

// timedBy begins the names of the readings that are a server's own time of statements.
const timedBy = "statements by the "

// Reading returns the name of the reading of a slice that is this clock's: the seconds of
// all its statements, added up over clients.
func (c ServerClock) Reading() string { return timedBy + string(c) }

// ServerTime returns the seconds that the statements of the slice took by the server's own
// clock, added up over clients, and which clock that is; false: it told none.
func (s Slice) ServerTime() (sec float64, by ServerClock, ok bool) {
	for _, r := range s.Readings {
		if name, ok := strings.CutPrefix(r.Name, timedBy); ok {
			return r.Value, ServerClock(name), true
		}
	}
	return 0, "", false
}

// Clocks are how long the statements of one operation took, by both sides: means over the
// slices of which the server told its own time. Zero: of none.
type Clocks struct {
	Server float64       `json:"server_sec"`
	Client float64       `json:"client_sec"`
	By     []ServerClock `json:"by"`
	Slices int           `json:"slices"`
}
