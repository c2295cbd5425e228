package lab

import (
	"encoding/json"
	"time"
)

// Instrument is what a diagnosis watches a cell with. Slices that it disturbed have its
// name as their Kind, so that they enter no comparison.
type Instrument string

// The instruments.
const (
	Plain  Instrument = "plain"  // none, and the server's counters read before and after: what the others cost is measured against it
	Stacks Instrument = "stacks" // samples of the server's call stacks
	Waits  Instrument = "waits"  // the server's own timing of waits, switched on at its start
	Plans  Instrument = "plans"  // EXPLAIN of every statement
)

// Kind returns the kind of the slices that are taken with i.
func (i Instrument) Kind() Kind { return Kind(i) }

// Amount is how much of something an operation needed.
type Amount struct {
	Name  string  `json:"name"`            // a function, a wait event, a counter
	Value float64 `json:"value"`           // per operation: seconds, or a count
	Count float64 `json:"count,omitempty"` // times per operation, where Value is seconds and the times are known
}

// Observation is what one diagnostic slice of one cell saw. Key.Block is the round of the
// diagnosis: each round is a fresh restart of every variant.
type Observation struct {
	Key        SliceKey        `json:"key"`
	Ops        int64           `json:"ops"`
	Wall       float64         `json:"wall_sec"`
	Functions  []Amount        `json:"functions,omitempty"`      // CPU seconds of the clients' threads by the function that used them, from stacks; of all threads where the clients' are not known
	Background []Amount        `json:"background,omitempty"`     // likewise of the server's other threads; none where the clients' are not known
	Spins      []Amount        `json:"spins,omitempty"`          // of these, CPU seconds spent spinning on a latch, by what spins: waiting that burns CPU
	Unknown    float64         `json:"unknown,omitempty"`        // share of the CPU time whose function has no name
	Nameless   []Amount        `json:"nameless,omitempty"`       // the same by the file that the function is in; Value is a share
	Events     []Amount        `json:"events,omitempty"`         // seconds of the clients' threads by wait event; none nested in another
	Idle       Amount          `json:"idle,omitzero"`            // seconds that the clients' threads waited for a next statement: the client's time
	Around     []Amount        `json:"around,omitempty"`         // seconds by events that contain Events and CPU time: table I/O, metadata locks
	Stages     []Amount        `json:"stages,omitempty"`         // seconds of the clients' statements by stage: contain Events and CPU time
	Statements []Amount        `json:"statements,omitempty"`     // seconds of the clients' statements by kind: contain all the above but Idle
	Digests    []Amount        `json:"digests,omitempty"`        // likewise by their text without arguments, whoever sent them; prepared ones under the text that they were prepared from
	Tables     []Amount        `json:"tables,omitempty"`         // seconds of all threads by table and what was done; Count is rows, except of locks
	FileIO     []Amount        `json:"file_io,omitempty"`        // seconds of all threads by kind of file and what was done
	Others     []Amount        `json:"others,omitempty"`         // seconds of the threads that serve no client, by wait event; their sleeping for want of work included
	Counters   []Amount        `json:"counters,omitempty"`       // status counters, engines' own included
	OldestTrx  float64         `json:"oldest_trx_sec,omitempty"` // age of the oldest open transaction at the end, clients' own left out; 0: none
	Plans      []StatementPlan `json:"plans,omitempty"`
	Notes      []string        `json:"notes,omitempty"` // doubts: what could not be read, resets, shares without a name
	Files      []string        `json:"files,omitempty"` // names of kept files with the raw evidence
}

// StatementPlan is how a server said it would execute a statement.
type StatementPlan struct {
	Statement string `json:"statement"` // as sent, with arguments
	Tree      string `json:"tree"`      // normalised, an indented line for each node
	// Node is the same as probe/plan encodes it.
	Node json.RawMessage `json:"node,omitempty"`
	// RowsExamined is how many rows all tables together were read for one execution: found
	// ones if Actual, else estimated; negative: not said.
	RowsExamined float64 `json:"rows_examined"`
	Actual       bool    `json:"actual,omitempty"`
}

// Component is an amount on both sides of a comparison, with what is known of its
// difference. A component is a cause only if its interval excludes zero.
type Component struct {
	Name      string  `json:"name"`
	Unit      string  `json:"unit"` // of all amounts: sec/op, 1/op, B/op
	Base      float64 `json:"base"`
	Candidate float64 `json:"candidate"`
	Diff      float64 `json:"diff"` // Candidate − Base
	Lo        float64 `json:"lo"`   // 99 % interval of Diff over replicates; −Inf and +Inf when there are too few
	Hi        float64 `json:"hi"`
	Share     float64 `json:"share"` // Diff as a share of the difference in time per operation; 0 where that makes no sense
	N         int     `json:"n"`     // replicates on each side
	Note      string  `json:"note,omitempty"`

	// Tallies are what the times of a wait, a stage, a statement, a file or a table are made
	// of; nil of everything else.
	Tallies *Tallies `json:"tallies,omitempty"`
}

// Tallies are what was counted and timed of something on both sides.
type Tallies struct {
	Base      Tally `json:"base"`
	Candidate Tally `json:"candidate"`
}

// Tally is by how much the servers' sums of it (SUM_TIMER_WAIT, COUNT_STAR) grew in all
// rounds together. Sides that did not do equally many operations have tallies that only
// TimesPerOp compares.
type Tally struct {
	Seconds    float64 `json:"total_sec"`    // as timed, of all threads that are meant
	Times      float64 `json:"total_times"`  // rows of tables; 0: not counted
	TimesPerOp float64 `json:"times_per_op"` // over all operations; 0: not counted
}

// Holds reports whether the interval of c excludes zero.
func (c Component) Holds() bool { return c.Lo > 0 || c.Hi < 0 }

// CauseKind says what sort of thing a cause is.
type CauseKind string

// The kinds of causes.
const (
	PlanCause     CauseKind = "plan"       // a statement is executed in another way
	CPUCause      CauseKind = "cpu"        // the server computes more
	SpinCause     CauseKind = "spin"       // threads wait for a latch by burning CPU
	WaitCause     CauseKind = "wait"       // threads are blocked, on an instrumented event
	BlockedCause  CauseKind = "blocked"    // threads are blocked, on nothing that is instrumented
	RunqCause     CauseKind = "run-queue"  // threads wait for a CPU that others have
	HostCause     CauseKind = "host"       // other processes, or the hypervisor, took the CPU: not the server
	ClientCause   CauseKind = "client"     // the client, or the way to it
	OverheadCause CauseKind = "background" // background threads of the server
)

// Cause is one ranked explanation of a verdict.
type Cause struct {
	Kind     CauseKind `json:"kind"`
	What     string    `json:"what"` // a sentence's subject: "CPU in page_cur_search_with_match"
	Amount   Component `json:"amount"`
	Evidence []string  `json:"evidence,omitempty"` // sentences, the strongest first
}

// PlanChange compares the plans of one statement on the two sides.
type PlanChange struct {
	Statement     string   `json:"statement"`
	Base          string   `json:"base"`      // tree
	Candidate     string   `json:"candidate"` // tree
	Changes       []string `json:"changes,omitempty"`
	BaseRows      float64  `json:"base_rows"` // examined per execution; negative: not said
	CandidateRows float64  `json:"candidate_rows"`
	Flips         []string `json:"flips,omitempty"` // sides whose plan was not the same after each restart
}

// SettingChange is a difference of set-up between the two sides.
type SettingChange struct {
	Name      string `json:"name"` // a server variable, "library jemalloc", "build flags"
	Base      string `json:"base"`
	Candidate string `json:"candidate"`
	Asked     bool   `json:"asked,omitempty"`  // the experiment set it
	Known     string `json:"known,omitempty"`  // why it is known to matter; empty: nothing known
	Weight    int    `json:"weight,omitempty"` // for ranking: more is more likely to matter
}

// InstrumentCost is what watching cost: throughput with the instrument over that without.
type InstrumentCost struct {
	Instrument Instrument `json:"instrument"`
	Variant    Variant    `json:"variant"`
	Ratio      float64    `json:"ratio"`
	N          int        `json:"n"` // rounds
}

// Call is a function of a call tree, in one way of being called: that of both sides, laid on
// top of each other. Amounts are CPU time of all threads over all rounds together; their
// intervals are of sampling alone, so that a call is evidence and never a cause.
type Call struct {
	Total Component `json:"total"` // of the function and of what it calls
	Self  Component `json:"self"`  // of the function alone
	Calls []Call    `json:"calls,omitempty"`
}

// Explanation is a verdict with its ranked causes and all evidence.
type Explanation struct {
	Run        int64      `json:"run"`
	At         time.Time  `json:"at"`
	Comparison Comparison `json:"comparison"`
	Headline   string     `json:"headline"` // one sentence that a person can repeat
	Causes     []Cause    `json:"causes"`   // the largest share of the difference first
	// Unexplained is what of the difference in time no cause accounts for. It has no interval.
	Unexplained Component        `json:"unexplained,omitzero"`
	Budget      []Component      `json:"budget"` // time per operation and client; adds up to its first line, the period
	Beside      []Component      `json:"beside"` // what is not part of the period: background CPU, I/O, context switches
	Functions   []Component      `json:"functions,omitempty"`
	Calls       *Call            `json:"calls,omitempty"` // the root is no function: it stands for all CPU time; nil: no stacks of both sides
	Spins       []Component      `json:"spins,omitempty"`
	Events      []Component      `json:"events,omitempty"`
	Counters    []Component      `json:"counters,omitempty"`
	Background  []Component      `json:"background,omitempty"` // CPU of the server's other threads by function
	Around      []Component      `json:"around,omitempty"`     // as in Observation
	Stages      []Component      `json:"stages,omitempty"`     // likewise
	Statements  []Component      `json:"statements,omitempty"` // likewise
	Digests     []Component      `json:"digests,omitempty"`    // likewise
	Tables      []Component      `json:"tables,omitempty"`     // likewise
	FileIO      []Component      `json:"file_io,omitempty"`    // likewise
	Others      []Component      `json:"others,omitempty"`     // likewise
	Plans       []PlanChange     `json:"plans,omitempty"`
	Settings    []SettingChange  `json:"settings,omitempty"`
	Cost        []InstrumentCost `json:"cost,omitempty"`
	SampledBy   string           `json:"sampled_by,omitempty"` // perf's event that call stacks were taken at: cycles, or cpu-clock where there are no counters
	Doubts      []string         `json:"doubts,omitempty"`
}
