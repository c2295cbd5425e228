package stat

import "sync"

// Boundaries keeps what has been computed for each rule, since reports ask for the same
// few rules thousands of times. The zero value is ready; it may be used by several
// goroutines at once.
type Boundaries struct {
	mu    sync.Mutex
	rules map[Rule]*solved
}

type solved struct {
	boundary func() Boundary
	reach    func() Reach
}

func (b *Boundaries) rule(r Rule) *solved {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.rules[r]
	if !ok {
		if b.rules == nil {
			b.rules = map[Rule]*solved{}
		}
		s = &solved{}
		s.boundary = sync.OnceValue(r.Solve)
		s.reach = sync.OnceValue(func() Reach { return s.boundary().Reach() })
		b.rules[r] = s
	}
	return s
}

// Get returns r.Solve(). The rule has to pass Check.
func (b *Boundaries) Get(r Rule) Boundary { return b.rule(r).boundary() }

// Reach returns b.Get(r).Reach().
func (b *Boundaries) Reach(r Rule) Reach { return b.rule(r).reach() }
