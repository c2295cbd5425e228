package main

import (
	"context"
	"fmt"
	"strconv"

	"backslide/lab"
	"backslide/load"
	"backslide/wire"
)

// limits are what a server allows at once, over all of its clients.
type limits struct {
	connections int // max_connections
	statements  int // max_prepared_stmt_count
}

// configured returns the limits that a server will have with options, as far as they are
// known before it runs: the defaults are those of all versions since MySQL 5.6.
func configured(options []lab.Option) limits {
	l := limits{connections: 151, statements: 16382}
	for _, o := range options {
		n, err := strconv.Atoi(o.Value)
		if err != nil {
			continue
		}
		switch lab.NormalName(o.Name) {
		case "max_connections":
			l.connections = n
		case "max_prepared_stmt_count":
			l.statements = n
		}
	}
	return l
}

// allow says which limit does not allow a step with so many clients, or nil. It is asked
// beforehand, for a tool that is refused connections need not say so, and looks slow.
func (l limits) allow(p *load.Program, step string, clients int) error {
	connections, statements := p.Needs(step, clients)
	for _, x := range []struct {
		need, limit int
		what, name  string
	}{
		{connections, l.connections, "connections", "max_connections"},
		{statements, l.statements, "prepared statements", "max_prepared_stmt_count"},
	} {
		if x.need > x.limit {
			return fmt.Errorf("%w: step %s with %d clients needs %d %s, %s is %d: raise it in the config, or have fewer clients",
				load.ErrLimit, step, clients, x.need, x.what, x.name, x.limit)
		}
	}
	return nil
}

// actual asks a running server for its limits: it lowers them where the system's are lower.
func actual(ctx context.Context, to load.Dial) (limits, error) {
	c, err := to(ctx)
	if err != nil {
		return limits{}, err
	}
	defer c.Close()
	w, ok := c.(*wire.Conn)
	if !ok {
		return limits{}, fmt.Errorf("a connection of type %T cannot be asked", c)
	}
	const ask = "SELECT @@max_connections, @@max_prepared_stmt_count"
	_, rows, err := w.Rows(ask)
	if err != nil {
		return limits{}, err
	}
	var l limits
	if len(rows) == 1 && len(rows[0]) == 2 {
		if l.connections, err = strconv.Atoi(rows[0][0]); err == nil {
			l.statements, err = strconv.Atoi(rows[0][1])
		}
	}
	if err != nil || l.connections == 0 {
		return l, fmt.Errorf("%s: the answer is %q", ask, rows)
	}
	return l, nil
}

// checkLimits says which level needs more than its server will allow.
func (s *setup) checkLimits() error {
	for _, v := range s.Variants() {
		config, _ := s.Config(v.Config)
		l := configured(config.For(s.builds[v.Build].Family))
		for i, w := range s.workloads {
			for _, step := range w.steps {
				for _, n := range s.Clients {
					if err := l.allow(s.programs[v][i], step.Name, n); err != nil {
						return fmt.Errorf("workload %s for %s: %w", w.use.Name, v, err)
					}
				}
			}
		}
	}
	return nil
}
