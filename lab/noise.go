package lab

// Lamps are the tests that a report makes, and their levels, fixed before the first block. The amber
// lamp is a test's own: at Alpha, so that some are lit by chance. The red lamp is lit when
// a test calls at its share of Level, which bounds the chance of even one false red in the
// whole report. Copies of the base are in neither.
type Lamps struct {
	Tests     int     `json:"tests"`     // by throughput: comparisons and summaries of groups
	Secondary int     `json:"secondary"` // by other metrics
	Alpha     float64 `json:"alpha"`     // of the amber lamp
	Level     float64 `json:"level"`     // of all red lamps together

	AlphaRed          float64 `json:"alpha_red"`           // of the red lamp of each of Tests
	AlphaRedSecondary float64 `json:"alpha_red_secondary"` // of each of Secondary

	FalseAmbers float64 `json:"false_ambers"` // expected by throughput if nothing differs: Alpha·Tests at most
}

// GroupSummary is a candidate against the base over all steps of a group. Test is the
// geometric mean of the steps' throughput, one difference per block in which all of them
// have one; the other figures are of the steps' own ratios candidate/base, as published
// tables have them, unrounded.
type GroupSummary struct {
	Candidate Variant `json:"candidate"`
	Group     Group   `json:"group"`
	Clients   int     `json:"clients"` // 0: over all numbers of clients
	Levels    int     `json:"levels"`  // that enter

	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Average float64 `json:"average"`
	Median  float64 `json:"median"`

	Test Comparison `json:"test"` // its Level has no step
}

// AA is what two copies of one build say of the lab: whatever is called between them is a
// false alarm.
type AA struct {
	Tests    int     `json:"tests"`    // levels with blocks enough to be called
	Alarms   int     `json:"alarms"`   // regressed or improved, by throughput
	Expected float64 `json:"expected"` // alarms that chance allows: Tests·alpha
	P        float64 `json:"p"`        // chance of so many alarms or more
	Values   int     `json:"values"`   // p-values that Uniform is of; 0: too few to say
	Uniform  float64 `json:"uniform"`  // chance that p-values are as far from uniform as these
	Held     bool    `json:"held"`     // more than chance: no lamp of the run is red
	Text     string  `json:"text"`     // all of it in a sentence
}

// Noise is what a run says of its own measurements.
type Noise struct {
	Pairs  []PairNoise `json:"pairs,omitempty"` // levels and candidates in the order of Comparisons
	Drops  []Drops     `json:"drops,omitempty"` // by variant, base first; none if steal was not read
	Advice string      `json:"advice,omitempty"`
}

// PairNoise is the noise of a candidate and the base at one level, by throughput. Standard
// deviations are of logarithms; negative: too few slices or blocks to say.
type PairNoise struct {
	Candidate Variant `json:"candidate"`
	Level     Level   `json:"level"`
	Blocks    int     `json:"blocks"`
	Mirrors   float64 `json:"mirrors"` // mirrored groups per block, mean

	SliceSD   float64 `json:"slice_sd"`   // of one mirrored group's difference within a block
	RestartSD float64 `json:"restart_sd"` // of a block's difference, beyond what slices explain: where one start of a server is not like another
	DriftSD   float64 `json:"drift_sd"`   // of a mirrored group's drift, which mirroring has taken out
	Order     float64 `json:"order"`      // how much faster whichever side ran later within a half of a mirrored group, mean
	OrderP    float64 `json:"order_p"`    // chance of an Order so far from 0; negative: too few blocks
	IAT       float64 `json:"iat"`        // factor by which neighbouring groups that resemble each other widen a block's variance, at least 1

	Overhead float64 `json:"overhead_sec"`     // per side and block: share of restarts, warm-up, discarded starts
	Measured float64 `json:"measured_sec"`     // per side and block, mean
	Best     float64 `json:"best_sec"`         // measured per side and block at which machine time is used best; negative: not known
	Slices   int     `json:"slices,omitempty"` // per side and block that Best comes to; 0: not known

	Steal       float64 `json:"steal"`            // share of all CPU time; negative where the host does not tell, as the next two
	HostBusy    float64 `json:"host_busy"`        // share of all CPU time, used by others than server and client
	Runq        float64 `json:"runq"`             // seconds that server threads waited for a CPU, per second
	MajorFaults float64 `json:"major_faults"`     // of the servers, per second
	ClientBusy  float64 `json:"client_busy"`      // of the CPUs that the client may use and has threads for; negative: not known
	ServerBusy  float64 `json:"server_busy"`      // likewise
	StallCPU    float64 `json:"stall_cpu"`        // share of the time in which some task of the host waited for a CPU; negative: not known, as all down to Dirty
	StallMemory float64 `json:"stall_memory"`     // likewise, for memory
	StallIO     float64 `json:"stall_io"`         // likewise, for storage
	Frequency   float64 `json:"frequency_hz"`     // of the CPUs, mean
	FasterClock float64 `json:"faster_clock"`     // ln of the CPUs' frequency in the candidate's slices over that in the base's; 0: not known
	Throttled   int64   `json:"throttled"`        // times that a CPU was slowed down for its heat
	BaseDirty   float64 `json:"base_dirty_bytes"` // of the file cache not yet on storage at the end of the base's slices, mean
	Dirty       float64 `json:"dirty_bytes"`      // likewise, of the candidate's
	Dropped     int     `json:"dropped"`          // mirrored groups left out by outside rules

	Notes  []string `json:"notes,omitempty"` // what is not stationary
	Advice string   `json:"advice,omitempty"`
}

// Drops is how many slices of a variant were disturbed from outside, and left out.
type Drops struct {
	Variant   Variant `json:"variant"`
	Slices    int     `json:"slices"`    // good ones, before any was left out
	Disturbed int     `json:"disturbed"` // of those, themselves beyond the rule
	Dropped   int     `json:"dropped"`   // of Slices, left out with their whole mirrored group
}
