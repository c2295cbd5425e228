package lab

import "time"

// Run is one execution of an experiment, as stored before its first block.
type Run struct {
	ID         int64            `json:"id"`
	Name       string           `json:"name"` // the experiment's
	Started    time.Time        `json:"started"`
	Ended      time.Time        `json:"ended"` // zero while it can be resumed
	Experiment Experiment       `json:"experiment"`
	Plan       Plan             `json:"plan"`
	Base       Variant          `json:"base"`
	Variants   []Variant        `json:"variants"` // base first
	Levels     []LevelPlan      `json:"levels"`   // in the order of the workloads' files
	Host       Host             `json:"host"`
	Sides      map[string]*Side `json:"sides"`            // by Variant.String()
	Freezer    string           `json:"freezer"`          // how idle servers were kept still
	Raised     []Raise          `json:"raised,omitempty"` // in order; the last is in Plan
}

// Raise is a decision to go on with a run beyond its plan, which only rule EValues allows.
type Raise struct {
	At     time.Time     `json:"at"`
	Blocks int           `json:"blocks"`    // at most, from then on
	Budget time.Duration `json:"budget_ns"` // wall time for all blocks from then on; 0: no limit
}

// LevelPlan is a level with what the run fixed about it before its first block.
type LevelPlan struct {
	Level  Level         `json:"level"`
	Group  Group         `json:"group"`
	Read   bool          `json:"read"`               // leaves the data as they were
	Warm   bool          `json:"warm"`               // run once per block for its effect, never measured
	Ops    int64         `json:"ops"`                // per slice over all clients; 0: slices end by time
	Slice  time.Duration `json:"slice_ns"`           // measured length of a slice that ends by time; expected length of another
	Slices int           `json:"slices"`             // per variant and block, even; 1 if it is Whole
	Open   bool          `json:"open,omitempty"`     // slices are an open loop: operations are due at a set rate
	Rate   float64       `json:"rate,omitempty"`     // operations per second over all clients that an Open level asks for; 0: the step's own
	Noise  float64       `json:"noise,omitempty"`    // standard deviation of a mirrored group's difference in the pilot, as a log-ratio; 0: not known
	Why    string        `json:"why,omitempty"`      // so long and so many slices; empty: the plan said so
	Limit  time.Duration `json:"limit_ns,omitempty"` // longest that a slice may take of a level that is one whole slice in a block; 0: it is many
	Grain  time.Duration `json:"grain_ns,omitempty"` // what lengths of timed slices are multiples of, and the shortest of others: the clock of a tool that drives the step; 0: any
	Spin   time.Duration `json:"spin_ns"`            // busy time added to each operation of the side that Plan.Inject slows down
}

// Whole reports whether the level is one slice of fixed work in a block, of any length:
// work that cannot be done again on the same data.
func (l LevelPlan) Whole() bool { return l.Limit > 0 }

// Timed reports whether the level's slices end by time, not after Ops operations.
func (l LevelPlan) Timed() bool { return l.Read && l.Ops == 0 }

// Side is what is known of one variant of a run: the build that ran, and what its
// server said of itself after its first start.
type Side struct {
	Build    Build             `json:"build"`
	Config   Config            `json:"config"`
	Settings map[string]string `json:"settings"`          // SHOW GLOBAL VARIABLES
	Ignored  []string          `json:"ignored,omitempty"` // options that had no effect: name, asked, got
	Engine   string            `json:"engine"`            // the engine's version, where it has its own
}

// Host is the machine that a run was made on, as far as it can matter to a number.
type Host struct {
	Kernel         string   `json:"kernel"`
	CPU            string   `json:"cpu"`
	CPUs           int      `json:"cpus"`
	Governor       string   `json:"governor"` // empty: the host does not tell
	Memory         int64    `json:"memory_bytes"`
	Virtual        string   `json:"virtual"` // hypervisor, empty on bare metal
	ClockSource    string   `json:"clock_source"`
	THP            string   `json:"thp"`
	Swappiness     string   `json:"swappiness"`
	FileSystem     string   `json:"file_system"` // of the lab directory
	Client         string   `json:"client"`      // version of backslide
	HardwareCycles bool     `json:"hardware_cycles"`
	Warnings       []string `json:"warnings,omitempty"`
}
