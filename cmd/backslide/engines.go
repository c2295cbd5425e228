package main

import (
	"fmt"

	"backslide/lab"
	"backslide/load"
)

// defaultHeap is max_heap_table_size where no option sets it.
const defaultHeap = 16 << 20

// fits returns why a variant's engine cannot run a workload, and what else is to be known
// of it there.
func (s *setup) fits(v lab.Variant, p *load.Program) ([]string, error) {
	notes, err := p.Engine()
	if err != nil || v.Engine != "MEMORY" {
		return notes, err
	}
	cfg, _ := s.Config(v.Config)
	most := int64(defaultHeap)
	for _, o := range cfg.For(s.builds[v.Build].Family) {
		if n, err := lab.ParseBytes(o.Value); err == nil && lab.NormalName(o.Name) == "max_heap_table_size" {
			most = n
		}
	}
	if _, bytes := p.Estimate(); bytes > most {
		notes = append(notes, fmt.Sprintf("MEMORY: workload %s makes about %s, and a table of config %s holds %s: it may be full before the end; set max_heap_table_size",
			p.Workload.Name, size(bytes), v.Config, size(most)))
	}
	return notes, nil
}
