package lab

import "time"

// Verdict is what a comparison of a candidate with the base says.
type Verdict string

// The verdicts.
const (
	Regressed    Verdict = "regressed"
	Improved     Verdict = "improved"
	Equivalent   Verdict = "equivalent"
	Inconclusive Verdict = "inconclusive"
)

// Comparison is one candidate against the base at one step, number of clients and
// metric. Ratios are natural logarithms of candidate/base, so that +0.05 is about 5 % more.
type Comparison struct {
	Base      Variant `json:"base"`
	Candidate Variant `json:"candidate"`
	Level     Level   `json:"level"`
	Group     Group   `json:"group"`
	Metric    Metric  `json:"metric"`

	Blocks         []BlockDiff `json:"blocks"`          // one per block that has both sides, in order
	BaseValue      float64     `json:"base_value"`      // geometric mean over blocks, in Metric.Unit()
	CandidateValue float64     `json:"candidate_value"` // likewise

	LogRatio float64 `json:"log_ratio"` // mean over blocks
	Lo       float64 `json:"lo"`        // repeated confidence interval of LogRatio, 1−alpha; −Inf when blocks are too few
	Hi       float64 `json:"hi"`
	EqLo     float64 `json:"eq_lo"` // interval for the equivalence test, 1−alpha_eq
	EqHi     float64 `json:"eq_hi"`
	SD       float64 `json:"sd"`       // of one block's difference, moderated by the prior
	DF       float64 `json:"df"`       // degrees of freedom of SD, prior included
	MDE      float64 `json:"mde"`      // smallest difference seen with 90 % power at the plan's blocks_max
	Critical float64 `json:"critical"` // boundary that |t| was held against at this look

	Verdict Verdict  `json:"verdict"`
	Done    bool     `json:"done"`            // no further block will be run for it
	Real    bool     `json:"real"`            // equivalent, and yet the interval excludes zero: small but real
	Red     bool     `json:"red,omitempty"`   // regressed or improved at the level of the whole report, see Lamps
	Bound   bool     `json:"bound,omitempty"` // the client decides how much is done: the ratio is a lower bound, and never red
	Held    bool     `json:"held,omitempty"`  // would be red, but for a doubt that Notes tell
	Notes   []string `json:"notes,omitempty"` // doubts about this comparison
}

// BlockDiff is the replicate of all statistics: one block's difference.
type BlockDiff struct {
	Block     int     `json:"block"`
	Diff      float64 `json:"diff"`      // mean ln(candidate) − mean ln(base) over the block's slices
	Base      float64 `json:"base"`      // mean ln(base)
	Candidate float64 `json:"candidate"` // mean ln(candidate)
	Slices    int     `json:"slices"`    // per side, the smaller
}

// Failure is a cell that broke in a block, with its reason.
type Failure struct {
	Block int    `json:"block"`
	Cell  Cell   `json:"cell"`
	Err   string `json:"err"`
}

// Event is something that happened during a run and is no result: a server died, a block
// was resumed.
type Event struct {
	At      time.Time `json:"at"`
	Block   int       `json:"block"`   // −1: of no block
	Variant Variant   `json:"variant"` // zero: of no variant
	Text    string    `json:"text"`
}

// Summary is everything that a report shows of one run.
type Summary struct {
	Run         Run          `json:"run"`
	Comparisons []Comparison `json:"comparisons"`
	Cells       []CellMean   `json:"cells"`
	Failures    []Failure    `json:"failures,omitempty"`
	Events      []Event      `json:"events,omitempty"`
	Footnotes   []string     `json:"footnotes,omitempty"` // differences and doubts that hold for the whole run

	Long []LongCell `json:"long,omitempty"` // of levels that are whole, in the order of the run and its variants

	Lamps  Lamps          `json:"lamps,omitzero"`   // how many tests there are, and at which levels
	Groups []GroupSummary `json:"groups,omitempty"` // by throughput: candidates, groups and clients in order
	AA     *AA            `json:"aa,omitempty"`     // nil: no copy of the base, or one that was slowed down on purpose
	Noise  Noise          `json:"noise,omitzero"`
}

// Memory is what a server held resident at the ends of a cell's slices, in bytes, means
// over blocks. Zero: not known.
type Memory struct {
	First float64 `json:"first"` // slice of a block
	Last  float64 `json:"last"`
	Most  float64 `json:"most"`

	Accounted float64 `json:"accounted,omitempty"` // that the server itself said it held, behind the last
}

// CellMean holds one cell's level over all blocks, for the tables of absolute values.
type CellMean struct {
	Cell   Cell               `json:"cell"`
	Group  Group              `json:"group"`
	Blocks int                `json:"blocks"`
	Slices int                `json:"slices"`
	Values map[Metric]float64 `json:"values"`          // in Metric.Unit(): total over total, per block, then averaged over blocks
	Memory Memory             `json:"memory,omitzero"` // of the server
	Clocks Clocks             `json:"clocks,omitzero"` // of levels of fixed work, where the server tells its own time
	P50    float64            `json:"p50"`             // seconds, closed loop, of all slices merged; 0 where unknown
	P95    float64            `json:"p95"`
	P99    float64            `json:"p99"`
	Max    float64            `json:"max"`

	Rates   []float64    `json:"rates,omitempty"`   // op/sec of single slices: least, lower quarter, median, upper quarter, most
	Latency []LatencyBin `json:"latency,omitempty"` // of all slices merged, without gaps; none where unknown
}

// LatencyBin is how many latencies lay between the bin before and its end.
type LatencyBin struct {
	To    float64 `json:"to"` // seconds
	Count int64   `json:"n"`
}
