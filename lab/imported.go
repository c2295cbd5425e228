package lab

import "time"

// Import is what others measured, as a lab keeps it. It has no blocks, so nothing in it
// can become a verdict.
type Import struct {
	ID       int64     `json:"id"`
	Name     string    `json:"name"`
	At       time.Time `json:"at"`      // when it was read
	Sources  []string  `json:"sources"` // what the user named
	Files    int       `json:"files"`   // that figures came from
	Figures  []Figure  `json:"figures,omitempty"`
	Problems []string  `json:"problems,omitempty"` // what could not be read: file:line: message
	Doubts   []string  `json:"doubts,omitempty"`   // what was read and should not be believed as it stands
}

// Figure is one figure of an import: archive.Record says what its fields mean.
type Figure struct {
	Host      string  `json:"host,omitempty"`
	Build     string  `json:"build"`
	Config    string  `json:"config,omitempty"`
	Engine    string  `json:"engine,omitempty"`
	Workload  string  `json:"workload,omitempty"`
	Step      string  `json:"step"`
	Range     int     `json:"range,omitempty"`   // 0: none, or not said
	Clients   int     `json:"clients,omitempty"` // 0: not said
	Metric    string  `json:"metric"`
	Unit      string  `json:"unit"`
	Value     float64 `json:"value"`
	Runs      int     `json:"runs"`           // of which Value is the mean
	Base      string  `json:"base,omitempty"` // of a ratio: what it is relative to
	Origin    string  `json:"origin"`         // output, sampled, averaged, table
	Replicate int     `json:"replicate"`      // from 0, among figures of equal cell, metric, base and origin
	File      string  `json:"file"`
	Line      int     `json:"line,omitempty"`
}

// Estimates are point estimates of several variants, arranged for reading. They are no
// verdicts: variants were not interleaved, and with one run per cell no noise is known.
type Estimates struct {
	Name     string            `json:"name"`
	Sources  []string          `json:"sources"`
	Config   string            `json:"config,omitempty"` // of all columns, where they have one in common and their names leave it out
	Columns  []EstimateColumn  `json:"columns"`
	Base     int               `json:"base"` // index of the column that gives bases their name
	Rows     []EstimateRow     `json:"rows"` // by step, clients and metric, in the order of tables
	Groups   []EstimateSummary `json:"groups,omitempty"`
	Dense    []EstimateSummary `json:"dense,omitempty"` // with aggregates counted as ranges
	Doubts   []string          `json:"doubts,omitempty"`
	Problems []string          `json:"problems,omitempty"`
}

// EstimateColumn is who was measured.
type EstimateColumn struct {
	Name string `json:"name"`           // as short as tells columns apart
	Full string `json:"variant"`        // build.config, and the engine if known
	Host string `json:"host,omitempty"` // empty: not said
	Base int    `json:"base"`           // index of the column that it is relative to, of the same host; −1: none
}

// EstimateRow is one metric of a step at a number of clients.
type EstimateRow struct {
	Workload string     `json:"workload,omitempty"`
	Step     string     `json:"step"`
	Group    Group      `json:"group,omitempty"`   // empty: a warm-up, or not known
	Clients  int        `json:"clients,omitempty"` // 0: not said
	Metric   string     `json:"metric"`
	Unit     string     `json:"unit"`
	Values   []Estimate `json:"values"` // by column
}

// Estimate is the mean of a cell's runs.
type Estimate struct {
	Value float64 `json:"value"`
	Runs  int     `json:"runs"`         // 0: not measured
	SD    float64 `json:"sd,omitempty"` // of the logarithm, between runs; 0: not known, which one run never is
}

// EstimateSummary says how a group of steps fared in a column, as ratios to the base that
// are not rounded.
type EstimateSummary struct {
	Group   Group   `json:"group"`
	Clients int     `json:"clients,omitempty"`
	Column  int     `json:"column"`
	Steps   int     `json:"steps"` // that both sides have
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Average float64 `json:"average"`
	Median  float64 `json:"median"` // mean of the middle two for an even number
}
