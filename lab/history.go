package lab

import "time"

// History is one experiment over its runs: nights of one build, or releases.
type History struct {
	Name   string       `json:"name"`             // of the experiment
	Runs   []HistoryRun `json:"runs"`             // the oldest first
	Ratio  bool         `json:"ratio"`            // tracks are of ln(candidate/base), with one base in all runs; else of ln(op/sec), since the base changes
	Base   Variant      `json:"base"`             // zero: not one in all runs
	Alpha  float64      `json:"alpha"`            // chance of any change in a track of which nothing changes
	Tracks []Track      `json:"tracks"`           // in the order of levels, then of what is followed
	Doubts []string     `json:"doubts,omitempty"` // what was not the same in all runs, and who is in too few
}

// HistoryRun is a run of a history.
type HistoryRun struct {
	ID      int64     `json:"id"`
	Started time.Time `json:"started"`
	Base    Variant   `json:"base"`
}

// Track is throughput at one level, run after run.
type Track struct {
	Name    string       `json:"name"` // of the variant that is followed, or that it is each run's own
	Level   Level        `json:"level"`
	Group   Group        `json:"group"`
	Points  []TrackPoint `json:"points"` // in the order of runs; runs without one are left out
	Changes []Change     `json:"changes,omitempty"`
	Spikes  []int        `json:"spikes,omitempty"` // indices of points that stand out alone, which is no change
	Trend   float64      `json:"trend,omitempty"`  // from the first to the last point, as a log-ratio, if it rises or falls all the time and there is no change; 0: it does not
	TrendP  float64      `json:"trend_p,omitempty"`
}

// TrackPoint is what one run says.
type TrackPoint struct {
	Run     int      `json:"run"` // index in History.Runs
	Variant Variant  `json:"variant"`
	Version string   `json:"version,omitempty"` // that its server reported
	Value   float64  `json:"value"`             // see History.Ratio
	Lo      *float64 `json:"lo"`                // interval of Value; nil: not known
	Hi      *float64 `json:"hi"`
	Blocks  int      `json:"blocks"`
	Verdict Verdict  `json:"verdict,omitempty"` // of that run
}

// Change is where a track has a new level, or begins to drift to one.
type Change struct {
	At     int     `json:"at"`     // index of the first point that is not of the old level
	To     int     `json:"to"`     // index of the first point of the new level: At for a step
	Before float64 `json:"before"` // mean of the old level, as the points' Value
	After  float64 `json:"after"`  // mean of the new level
	P      float64 `json:"p"`
}

// Size returns the change as a log-ratio: −0.05 is about 5 % less.
func (c Change) Size() float64 { return c.After - c.Before }

// Moved reports whether the track changed, or has a trend.
func (t Track) Moved() bool { return len(t.Changes) > 0 || t.Trend != 0 }
