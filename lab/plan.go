package lab

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Placement says which CPUs servers and clients may use. It changes throughput several
// fold, so it is equal for all variants and printed with every result.
type Placement string

// The placements.
const (
	Unpinned Placement = "unpinned" // left to the kernel
	OneCore  Placement = "one-core" // server and client on the same single core
	Split    Placement = "split"    // servers on one half of the cores, client on the other
	// CoLocated pins each connection's server thread to the core of the client's loop that
	// drives it. It takes wake-ups across cores out, and changes how the server is
	// scheduled: what it gains is the scheduler's, not the server's.
	CoLocated Placement = "co-located"
)

// How a plan decides, and when a difference has had blocks enough.
const (
	GST        = "gst"   // group-sequential boundaries
	EValues    = "e"     // e-values
	UntilRed   = "red"   // when it holds for the whole report
	UntilAmber = "amber" // when it is called
)

// Plan is how an experiment is measured and judged. It is fixed before the first block
// and stored with the run; zero fields are filled in by WithDefaults.
type Plan struct {
	Seed      uint64        `json:"seed"`
	BlocksMax int           `json:"blocks_max"`   // restarts of every variant at most
	Budget    time.Duration `json:"budget_ns"`    // wall time for all blocks; 0: no limit
	Alpha     float64       `json:"alpha"`        // two-sided, per test: chance of a false regressed or improved
	AlphaEq   float64       `json:"alpha_eq"`     // two-sided, of the equivalence interval
	Margin    float64       `json:"margin"`       // equivalence margin as a log-ratio: 0.05 is about 5 %
	Rho       float64       `json:"rho"`          // power of the spending function
	Rule      string        `json:"rule"`         // gst: looks up to blocks_max, planned; e: e-values, open-ended, blocks_max may be raised later
	Stop      string        `json:"stop"`         // red: a difference gets blocks until its red lamp is lit too; amber: it does not
	Slice     time.Duration `json:"slice_ns"`     // measured length of a read slice
	Discard   time.Duration `json:"discard_ns"`   // start of a read slice that is not measured
	Warm      time.Duration `json:"warm_ns"`      // unmeasured work per read cell after a restart
	Slices    int           `json:"slices"`       // per variant, level and block; even, so that groups mirror
	FitSlices bool          `json:"fit_slices"`   // Slices is where to start: a pilot of the noise decides for each level
	FitLength bool          `json:"fit_length"`   // likewise Slice
	Latency   float64       `json:"latency"`      // share of the base's speed at which read steps are run again, as an open loop; 0: not
	Placement Placement     `json:"placement"`    // CPUs of servers and clients
	Freeze    string        `json:"freeze"`       // auto, cgroup, stop, off: how idle servers are kept still
	GroupSize int           `json:"group_size"`   // variants per mirrored group, base included
	Together  int           `json:"together"`     // servers up at once; 0: all. 1: no interleaving, each server is started twice a block
	Inject    float64       `json:"inject"`       // share by which the copy of the base (or, if negative, the base) is slowed down on purpose
	AA        bool          `json:"aa"`           // the base is there twice, as a check of the lab itself
	Diagnose  int           `json:"diagnose"`     // rounds of watching what was called, after the measured blocks; 0: none
	Confirms  int64         `json:"confirms"`     // run whose calls this one measures again, roles swapped; 0: none
	Memory    int64         `json:"memory_bytes"` // what the servers may use together; 0: 70 % of the host's
}

// WithDefaults returns p with every zero field set.
func (p Plan) WithDefaults() Plan {
	set := func(f *float64, v float64) {
		if *f == 0 {
			*f = v
		}
	}
	if p.Seed == 0 {
		p.Seed = 1
	}
	if p.BlocksMax == 0 {
		p.BlocksMax = 20
	}
	set(&p.Alpha, 0.01)
	set(&p.AlphaEq, 0.05)
	set(&p.Margin, 0.05)
	set(&p.Rho, 2)
	if p.Rule == "" {
		p.Rule = GST
	}
	if p.Stop == "" {
		p.Stop = UntilRed
	}
	if p.Slice == 0 {
		p.Slice, p.FitLength = 200*time.Millisecond, true
	}
	if p.Discard == 0 {
		p.Discard = 10 * time.Millisecond
	}
	if p.Warm == 0 {
		p.Warm = 300 * time.Millisecond
	}
	if p.Slices == 0 {
		p.Slices, p.FitSlices = 8, true
	}
	if p.Placement == "" {
		p.Placement = Unpinned
	}
	if p.Freeze == "" {
		p.Freeze = "auto"
	}
	if p.GroupSize == 0 {
		p.GroupSize = 4
	}
	return p
}

// The names that a plan may give, in the order of messages.
func placements() []string {
	return []string{string(Unpinned), string(OneCore), string(Split), string(CoLocated)}
}
func freezers() []string { return []string{"auto", "cgroup", "stop", "off"} }
func rules() []string    { return []string{GST, EValues} }
func stops() []string    { return []string{UntilRed, UntilAmber} }

// spelled returns p with names as they are written here: one_core is one-core.
func (p Plan) spelled() Plan {
	p.Placement = Placement(Spelled(string(p.Placement), placements()))
	p.Freeze, p.Rule, p.Stop = Spelled(p.Freeze, freezers()), Spelled(p.Rule, rules()), Spelled(p.Stop, stops())
	return p
}

// Check returns the first thing wrong with a plan whose defaults are filled in.
func (p Plan) Check() error {
	switch {
	case p.BlocksMax < 1 || p.BlocksMax > 1000:
		return fmt.Errorf("plan: blocks = %d is outside 1 to 1000", p.BlocksMax)
	case p.Alpha <= 0 || p.Alpha >= 0.5:
		return fmt.Errorf("plan: alpha = %g is outside 0 to 0.5", p.Alpha)
	case p.AlphaEq <= 0 || p.AlphaEq >= 0.5:
		return fmt.Errorf("plan: alpha_eq = %g is outside 0 to 0.5", p.AlphaEq)
	case p.Margin <= 0 || p.Margin >= 1:
		return fmt.Errorf("plan: margin = %s is outside 0 to 100 %%; five percent is 5%%", sharePercent(p.Margin))
	case p.Rho < 0.5 || p.Rho > 5:
		return fmt.Errorf("plan: rho = %g is outside 0.5 to 5", p.Rho)
	case p.Slice < 20*time.Millisecond:
		return fmt.Errorf("plan: slice = %s is under 20ms", p.Slice)
	case p.Slice > time.Hour:
		return fmt.Errorf("plan: slice = %s is over 1h; slices are short, so that they can alternate, and many", p.Slice)
	case p.Discard < 0:
		return fmt.Errorf("plan: discard = %s is negative", p.Discard)
	case p.Warm < 0:
		return fmt.Errorf("plan: warm = %s is negative", p.Warm)
	case p.Budget < 0:
		return fmt.Errorf("plan: budget = %s is negative", p.Budget)
	case p.Slices < 2 || p.Slices%2 != 0:
		return fmt.Errorf("plan: slices = %d is no even number from 2, so groups cannot mirror", p.Slices)
	case p.Latency < 0 || p.Latency >= 1:
		return fmt.Errorf("plan: latency = %s is outside 0 to 100 %%, the share of the base's speed that is asked for; seventy percent is 70%%", sharePercent(p.Latency))
	case p.Diagnose < 0 || p.Diagnose > 100:
		return fmt.Errorf("plan: diagnose = %d is outside 0 to 100 rounds", p.Diagnose)
	case p.GroupSize < 2:
		return fmt.Errorf("plan: group_size = %d is under 2", p.GroupSize)
	}
	for _, name := range []struct {
		key, value string
		known      []string
	}{{"rule", p.Rule, rules()}, {"stop", p.Stop, stops()}, {"placement", string(p.Placement), placements()}, {"freeze", p.Freeze, freezers()}} {
		if !slices.Contains(name.known, name.value) {
			return fmt.Errorf("plan: %s = %q is none of %s", name.key, name.value, strings.Join(name.known, ", "))
		}
	}
	return nil
}
