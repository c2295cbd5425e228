package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"backslide/lab"
	"backslide/load"
)

// defaultHeap is max_heap_table_size where no option sets it.
const defaultHeap = 16 << 20

// mostNoted is how many steps of a workload a note names; what is refused is named in full.
const mostNoted = 4

// engineFacts collects what the engines of an experiment make of its workloads, so that it
// can be said in a line for each thing and not for each engine, workload and step.
type engineFacts struct {
	notes, refused []engineFact
}

// engineFact is one thing, with the engines that it is about and the steps that meet it.
type engineFact struct {
	what           string
	engines, where []string
}

// add takes in what a program's engine makes of the steps that are to be run.
func (f *engineFacts) add(p *load.Program, steps []load.StepInfo) {
	notes, refused := p.Engine(steps)
	for _, n := range notes {
		f.notes = addFact(f.notes, p, n, mostNoted)
	}
	for _, r := range refused {
		f.refused = addFact(f.refused, p, r, math.MaxInt)
	}
}

// addFact names at most so many steps of the program's workload.
func addFact(all []engineFact, p *load.Program, fact load.Fact, most int) []engineFact {
	i := slices.IndexFunc(all, func(f engineFact) bool { return f.what == fact.What })
	if i < 0 {
		i = len(all)
		all = append(all, engineFact{what: fact.What})
	}
	where := "the tables of " + p.Workload.Name
	if n := len(fact.Steps); n > most {
		where = fmt.Sprintf("%s and %d more steps of %s", strings.Join(fact.Steps[:most-1], ", "), n-most+1, p.Workload.Name)
	} else if n > 0 {
		where = strings.Join(fact.Steps, ", ") + " of " + p.Workload.Name
	}
	if !slices.Contains(all[i].engines, p.Target.Engine) {
		all[i].engines = append(all[i].engines, p.Target.Engine)
	}
	if !slices.Contains(all[i].where, where) {
		all[i].where = append(all[i].where, where)
	}
	return all
}

func (f engineFact) String() string {
	return fmt.Sprintf("%s: %s (%s)", strings.Join(f.engines, ", "), f.what, strings.Join(f.where, "; "))
}

// factLines returns a line for each fact.
func factLines(facts []engineFact) []string {
	var out []string
	for _, f := range facts {
		out = append(out, f.String())
	}
	return out
}

// err returns what engines cannot do, and nil if they can do all.
func (f *engineFacts) err() error {
	if len(f.refused) == 0 {
		return nil
	}
	return errors.New("engines: these cannot run all of it:\n  " + strings.Join(factLines(f.refused), "\n  ") +
		"\nname other steps or SQL, or leave these engines out")
}

// heapNote says that a MEMORY table may be full before the end; empty if not.
func (s *setup) heapNote(v lab.Variant, p *load.Program) string {
	if v.Engine != "MEMORY" {
		return ""
	}
	cfg, _ := s.Config(v.Config)
	most := int64(defaultHeap)
	for _, o := range cfg.For(s.builds[v.Build].Family) {
		if n, err := lab.ParseBytes(o.Value); err == nil && lab.NormalName(o.Name) == "max_heap_table_size" {
			most = n
		}
	}
	_, bytes := p.Estimate()
	if bytes <= most {
		return ""
	}
	return fmt.Sprintf("MEMORY: workload %s makes about %s, and a table of config %s holds %s: it may be full before the end; set max_heap_table_size",
		p.Workload.Name, size(bytes), v.Config, size(most))
}
