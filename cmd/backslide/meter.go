package main

import (
	"fmt"

	"backslide/lab"
	"backslide/probe"
)

// meter reads what server and client use, for the conductor.
type meter struct{ p probe.Prober }

// begin starts reading; the func that it returns says what was used since. threads are
// those of the server that serve the clients.
func (m *meter) begin(server, client int, threads []int) (func() (lab.Usage, error), error) {
	a, err := m.p.Take(server, client)
	if err != nil {
		return nil, fmt.Errorf("read the counters of processes %d and %d: %w", server, client, err)
	}
	return func() (lab.Usage, error) {
		b, err := m.p.Take(server, client)
		if err != nil {
			return lab.Usage{}, fmt.Errorf("read the counters of processes %d and %d: %w", server, client, err)
		}
		return probe.Between(a, b, threads), nil
	}, nil
}
