package lab

import (
	"fmt"
	"strings"
)

// Variant names a build, a config and an engine of an experiment. It is a map key.
type Variant struct {
	Build  string `json:"build"`
	Config string `json:"config"`
	Engine string `json:"engine"` // InnoDB, MyISAM, Aria, MEMORY, MyRocks: as in Engines
	Copy   int    `json:"copy,omitempty"`
}

// String returns build/config/engine, with the number of a copy (an A/A twin) behind it.
func (v Variant) String() string {
	s := v.Build + "/" + v.Config + "/" + v.Engine
	if v.Copy > 0 {
		s += fmt.Sprintf("#%d", v.Copy)
	}
	return s
}

// Step names one microbenchmark of a workload.
type Step struct {
	Workload string `json:"workload"`
	Name     string `json:"step"`
}

// String returns workload/step.
func (s Step) String() string { return s.Workload + "/" + s.Name }

// rateMark stands between a step's name and the rate that it is run at.
const rateMark = "@"

// AtShare returns s as it is run at a set rate: a share of the speed that the base reaches
// with it. It is a step of its own, point-query@70%.
func (s Step) AtShare(share float64) Step {
	s.Name += fmt.Sprintf("%s%.3g%%", rateMark, 100*share)
	return s
}

// Closed returns the step of a workload that s runs: itself without what AtShare added.
func (s Step) Closed() Step {
	if i := strings.LastIndex(s.Name, rateMark); i > 0 && strings.HasSuffix(s.Name, "%") {
		s.Name = s.Name[:i]
	}
	return s
}

// Cell is what is measured: a variant, a step, a number of clients. It is a map key.
type Cell struct {
	Variant Variant `json:"variant"`
	Step    Step    `json:"step"`
	Clients int     `json:"clients"`
}

// String returns the variant, and workload/step/clients.
func (c Cell) String() string { return fmt.Sprintf("%s %s/%d", c.Variant, c.Step, c.Clients) }

// Level is a cell without its variant: what is compared across variants.
type Level struct {
	Step    Step `json:"step"`
	Clients int  `json:"clients"`
}

// String returns workload/step/clients.
func (l Level) String() string { return fmt.Sprintf("%s/%d", l.Step, l.Clients) }

// Level returns the cell's step and clients.
func (c Cell) Level() Level { return Level{Step: c.Step, Clients: c.Clients} }

// Group is what kind of work a step does; reports summarise by it.
type Group string

// The groups, in the order in which reports show them.
const (
	Load      Group = "load"
	Point     Group = "point"
	Range     Group = "range"
	Aggregate Group = "aggregate"
	Write     Group = "write"

	// Paced holds the steps that Plan.Latency adds. They are none of Groups: what is asked
	// of them is latency, and the throughput of a set rate says nothing.
	Paced Group = "at a set rate"
)

// Groups lists all groups in the order of reports.
func Groups() []Group { return []Group{Load, Point, Range, Aggregate, Write} }

// Engines maps the lower-case names that users write to an engine's proper name.
func Engines() map[string]string {
	return map[string]string{
		"innodb": "InnoDB", "myisam": "MyISAM", "aria": "Aria", "memory": "MEMORY", "heap": "MEMORY",
		"myrocks": "MyRocks", "rocksdb": "MyRocks",
	}
}
