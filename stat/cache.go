package stat

import (
	"math"
	"slices"
	"sort"
	"sync"
)

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

// P returns the sequential p-value of a test that was looked at as path says, one
// estimate per block from the first look on: the smallest level at which the rule would
// have called, whatever the rule's own Alpha, rounded up to a quarter of a power of ten;
// 1 if it would at none. It is for Holm and BH, once all tests have stopped. For each
// level it needs a boundary, so that the first use takes a second.
func (b *Boundaries) P(r Rule, path []Estimate) float64 {
	level := func(step int) float64 { return math.Pow(10, -float64(step)/4) }
	crossed := func(step int) bool {
		r.Alpha = level(step)
		return slices.ContainsFunc(path, func(e Estimate) bool {
			r.Prior = e.Prior
			return math.Abs(e.T()) >= b.Get(r).At(e.N)
		})
	}
	const smallest = 32 // steps: 1e-8
	steps := sort.Search(smallest, func(i int) bool { return !crossed(i + 1) })
	return level(steps)
}
