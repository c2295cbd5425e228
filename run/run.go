// Package run is the conductor: it prepares data, restarts every variant's server once a
// block, orders short mirrored slices, stores each slice when it ends, stops what is
// decided, and resumes what was interrupted. It declares the small interfaces that it
// needs; it knows no protocol, no SQL and no statistics.
package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"backslide/lab"
)

// Host makes and starts servers. Directories are absolute.
type Host interface {
	// Init makes dir an initialised, empty data directory for v.
	Init(ctx context.Context, v lab.Variant, dir string) error
	// Start starts v's server on the data directory dir and returns when it is ready.
	// watch, if not empty, is what it is to be watched with: some need options.
	Start(ctx context.Context, v lab.Variant, dir string, watch lab.Instrument) (Server, error)
	// Clone copies the data directory of a server that was stopped cleanly.
	Clone(ctx context.Context, from, to string) error
	// DataKey names the data set of v: equal keys, equal data.
	DataKey(v lab.Variant) string
	// Volatile reports whether v's tables are empty after a restart.
	Volatile(v lab.Variant) bool
}

// Server is a running server of one variant.
type Server interface {
	PID() int
	Socket() string
	Ready() time.Time // when it first answered
	Died() <-chan struct{}
	Err() error // why it died, with the end of its log; nil if it ended well
	Freeze() error
	Thaw() error
	Stop(ctx context.Context) error
	Kill()
	Side(ctx context.Context) (lab.Side, error)
	// Serving returns the server's threads that serve connections, whoever's, where it
	// does not tell which serves whom; nil: not known.
	Serving() []int
}

// Client generates load in a process of its own.
type Client interface {
	PID() int
	// Load fills the tables of every workload for v.
	Load(ctx context.Context, v lab.Variant, socket string, progress func(done, total int64)) error
	// Open connects the clients of one level to one server and prepares its statements.
	Open(ctx context.Context, v lab.Variant, socket string, work Work) (Session, error)
}

// Work says which operations a session executes.
type Work struct {
	Level lab.Level
	Seed  uint64
	Block int
	Spin  time.Duration // added to each operation: an injected slowdown
}

// Session is an open set of connections for one level.
type Session interface {
	// Notes are doubts about the state that the server was brought to.
	Notes() []string
	// Connections are the server's side of the session's connections.
	Connections() Connections
	// Slice runs operations; measuring is called when the discarded part is over, and again
	// should more have to be discarded. A driver whose clock is coarse may round times.
	Slice(ctx context.Context, spec Spec, measuring func()) (Outcome, error)
	// ServerTime returns the seconds that the statements of the last slice, one with
	// Spec.Clock, took by the server's own clock, summed over clients, as a reading that says which clock; one
	// without a name: it tells none. note is a doubt. It may send statements.
	ServerTime(ctx context.Context) (r lab.Reading, note string, err error)
	Close() error
}

// Connections are a server's own numbers of what serves a session.
type Connections struct {
	IDs     []uint32 // of the connections
	Threads []int    // of the operating system, one for each connection; nil: not known
}

// Spec is the length of one slice. Exactly one of Duration and Ops is set.
type Spec struct {
	Seq      int           // for time-ended slices: equal Seq starts at equal operations
	Discard  time.Duration // before measuring; time-ended slices only
	Duration time.Duration
	Ops      int64         // fixed work over all clients
	Timeout  time.Duration // then the slice has failed
	Rate     float64       // operations per second over all clients, of an open loop; 0: the step's own, if it has one
	Clock    bool          // the server's own time of the statements will be asked for
}

// Outcome is what a client says of a slice's measured part.
type Outcome struct {
	Start      time.Time
	Wall       float64 // seconds
	Ops        int64
	Offered    float64 // operations per second that an open loop asked for; 0: a closed loop
	Behind     int64   // of those, due and not ended
	Latency    float64 // mean seconds of an operation
	P50        float64 // seconds, as the next two
	P95        float64
	P99        float64
	Rows       int64
	Retries    int64
	Errors     []lab.ErrorCount
	Parts      []lab.Part   // of a step with roles; Ops, Rows and Hist are the first's
	Series     []lab.Series // of a slice of seconds
	Hist       []byte
	Warnings   []string // doubts about this slice
	ClientUser float64  // CPU seconds of the client process
	ClientSys  float64
	Apart      bool // these are of another process than the client's: of a tool
}

// Store keeps what was measured. All of it is written when a method returns.
type Store interface {
	AddSlice(ctx context.Context, run int64, s lab.Slice) error
	// Slices returns the measured slices of a run without what only reports need: histograms,
	// series and readings.
	Slices(ctx context.Context, run int64) ([]lab.Slice, error)
	SetSide(ctx context.Context, run int64, v lab.Variant, s lab.Side) error
	AddEvent(ctx context.Context, run int64, block int, v lab.Variant, text string) error
	EndRun(ctx context.Context, run int64, at time.Time) error
}

// Outlook is what the slices of a run decide, and what is expected of the rest.
type Outlook struct {
	Comparisons []lab.Comparison // those by throughput; a level is open until they are Done
	Left        time.Duration    // of slices still to be run; 0: not known
}

// Events are told what happens; nil funcs are skipped. They are called from one goroutine.
type Events struct {
	Phase func(text string)                                      // something long begins
	Load  func(v lab.Variant, done, total int64)                 // rows loaded
	Block func(block, open int, left, most time.Duration)        // a block begins; left is expected
	Slice func(s lab.Slice, done, turns int, left time.Duration) // a slice was stored
	Note  func(text string)                                      // something went wrong, or is worth knowing
}

// Conductor runs experiments. All fields are needed, but Follow, Account and Events.
type Conductor struct {
	Host   Host
	Client Client
	Store  Store
	// Meter starts reading the usage of a server and the client; the func that it
	// returns says what was used since. threads are those of the server that serve the
	// clients; nil: not known.
	Meter func(server, client int, threads []int) (func() (lab.Usage, error), error)
	// Judge says what the slices so far decide, and what is still to come.
	Judge func(run lab.Run, slices []lab.Slice) (Outlook, error)
	// Follow, if not nil, begins to observe a server second by second during a slice of a
	// level that is whole; the func that it returns ends that and says what it saw.
	Follow func(ctx context.Context, v lab.Variant, s Server) func() ([]lab.Series, []lab.Reading)
	// Account, if not nil, returns what a server says of its memory. It is asked behind a
	// variant's last slice of a level, outside of what is measured.
	Account func(ctx context.Context, s Server) []lab.Reading
	Events  Events
	Dir     string // for data sets and clones, in the lab directory
}

// ErrClient means that the client process is gone: no server's fault.
var ErrClient = errors.New("the client process is gone")

// ErrBase means that the base cannot be run, so nothing can be compared.
var ErrBase = errors.New("the base does not run")

// Run runs the blocks of a stored run that are still missing, and ends the run when all
// levels are decided, or the plan's blocks or budget are used up. When ctx ends it stops
// all servers and returns its cause; the run can be resumed.
func (c *Conductor) Run(ctx context.Context, r lab.Run) error {
	slices, err := c.Store.Slices(ctx, r.ID)
	if err != nil {
		return err
	}
	if r.Sides == nil {
		r.Sides = map[string]*lab.Side{}
	}
	began := time.Now()
	var spent time.Duration
	failed := 0 // blocks in a row without the base
	for block := range r.Plan.BlocksMax {
		open, n, left, err := c.open(r, before(slices, block))
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		r.Levels = learn(r.Levels, slices)
		b := &blockRun{c: c, run: r, block: block, phases: phases(r, block, open), done: doneIn(slices, block)}
		spent += span(slices, block) // also of what an interrupted execution has of it
		if b.complete() {
			continue
		}
		each := b.expected()
		if block > 0 && r.Plan.Budget > 0 && spent+time.Since(began)+each > r.Plan.Budget {
			c.note("budget of %s is used up after %d blocks", r.Plan.Budget, block)
			break
		}
		if c.Events.Block != nil {
			most := each * time.Duration(r.Plan.BlocksMax-block)
			if left <= 0 || left > most {
				left = most
			}
			c.Events.Block(block, n, left, most)
		}
		got, err := b.execute(ctx)
		slices = append(slices, kept(got)...)
		if err != nil {
			return fmt.Errorf("block %d: %w", block+1, err)
		}
		if failed++; usable(got, r.Variants[0]) || len(got) == 0 {
			failed = 0
		}
		if failed == 3 {
			return fmt.Errorf("blocks %d to %d: %w: %s", block-1, block+1, ErrBase, lastError(got, r.Variants[0]))
		}
	}
	return c.Store.EndRun(ctx, r.ID, time.Now())
}

// kept returns slices as Store.Slices does. A run of hours has hundreds of thousands, and
// most of their bytes are histograms.
func kept(got []lab.Slice) []lab.Slice {
	var out []lab.Slice
	for _, s := range got {
		if s.Kind != lab.Measured {
			continue
		}
		s.Hist, s.Series, s.Readings, s.Parts = nil, nil, nil, slices.Clone(s.Parts)
		for i := range s.Parts {
			s.Parts[i].Hist = nil
		}
		out = append(out, s)
	}
	return out
}

// open returns which candidates still need blocks after the given slices, how many, and
// the time that they are expected to need.
func (c *Conductor) open(r lab.Run, slices []lab.Slice) (Open, int, time.Duration, error) {
	o, err := c.Judge(r, slices)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("judge: %w", err)
	}
	type key struct {
		l lab.Level
		v lab.Variant
	}
	done := map[key]bool{}
	for _, cmp := range o.Comparisons {
		if cmp.Metric == lab.QPS && cmp.Done {
			done[key{cmp.Level, cmp.Candidate}] = true
		}
	}
	n := 0
	for _, l := range r.Levels {
		for _, v := range candidates(r) {
			if !l.Warm && !done[key{l.Level, v}] {
				n++
			}
		}
	}
	return func(l lab.Level, v lab.Variant) bool { return !done[key{l, v}] }, n, o.Left, nil
}

// candidates are the variants that decide whether a level is open: all but the base, or
// the base when it is alone.
func candidates(r lab.Run) []lab.Variant {
	if len(r.Variants) == 1 {
		return r.Variants
	}
	return r.Variants[1:]
}

func (c *Conductor) note(format string, args ...any) {
	if c.Events.Note != nil {
		c.Events.Note(fmt.Sprintf(format, args...))
	}
}

func (c *Conductor) phase(format string, args ...any) {
	if c.Events.Phase != nil {
		c.Events.Phase(fmt.Sprintf(format, args...))
	}
}

// scratch makes an empty directory for data that nobody needs for long. Its name is new:
// a guard may still be removing what a killed run has left.
func (c *Conductor) scratch(name string) (string, error) {
	tmp := filepath.Join(c.Dir, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(tmp, name+"-")
}

// Sweep removes what killed runs have left in the lab. Nobody else may be running.
func (c *Conductor) Sweep() error { return os.RemoveAll(filepath.Join(c.Dir, "tmp")) }

func before(slices []lab.Slice, block int) []lab.Slice {
	var out []lab.Slice
	for _, s := range slices {
		if s.Block < block {
			out = append(out, s)
		}
	}
	return out
}

func doneIn(slices []lab.Slice, block int) map[lab.SliceKey]lab.Slice {
	out := map[lab.SliceKey]lab.Slice{}
	for _, s := range slices {
		if s.Block == block {
			out[s.SliceKey] = s
		}
	}
	return out
}

// span is the time from the first to the end of the last slice of a block.
func span(slices []lab.Slice, block int) time.Duration {
	var from, to time.Time
	for _, s := range slices {
		if s.Block != block || s.Start.IsZero() {
			continue
		}
		if from.IsZero() || s.Start.Before(from) {
			from = s.Start
		}
		if end := s.Start.Add(time.Duration(s.Wall * float64(time.Second))); end.After(to) {
			to = end
		}
	}
	return to.Sub(from)
}

// usable reports whether v has a good slice.
func usable(slices []lab.Slice, v lab.Variant) bool {
	for _, s := range slices {
		if s.Cell.Variant == v && s.Err == "" {
			return true
		}
	}
	return false
}

func lastError(slices []lab.Slice, v lab.Variant) string {
	for i := len(slices) - 1; i >= 0; i-- {
		if slices[i].Cell.Variant == v && slices[i].Err != "" {
			return slices[i].Err
		}
	}
	return "no slice"
}
