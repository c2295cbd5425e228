package load

import (
	"sync"
	"time"
)

// Second is what ended in one second of a slice.
type Second struct {
	Ops   int64
	Worst int64 // nanoseconds that the slowest transaction took
}

// fewestSeconds is how long a slice is at least of which seconds are kept.
const fewestSeconds = 2

// series is what all workers of a session did in one role, second by second.
type series struct {
	mu  sync.Mutex
	all []Second
}

func (s *series) reset() { s.all = s.all[:0] }

func (s *series) add(at int, got Second) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.all) <= at {
		s.all = append(s.all, Second{})
	}
	s.all[at].Ops += got.Ops
	s.all[at].Worst = max(s.all[at].Worst, got.Worst)
}

// pulse counts what a worker's clients do in one role. A transaction costs it a
// comparison more than its histogram; only once a second it hands the second over.
type pulse struct {
	hist Histogram
	to   *series
	from int64 // stamp of the slice's start
	end  int64 // stamp of the current second's end
	now  Second
}

func (p *pulse) reset(from int64) {
	p.hist.Reset()
	p.from, p.end, p.now = from, from+int64(time.Second), Second{}
}

// add counts a transaction that ended at stamp now.
func (p *pulse) add(now, latency, ops int64) {
	p.hist.add(latency)
	if now >= p.end {
		p.turn(now)
	}
	p.now.Ops += ops
	p.now.Worst = max(p.now.Worst, latency)
}

// turn hands over the second that has ended and goes to the one that now lies in.
func (p *pulse) turn(now int64) {
	p.to.add(p.second(), p.now)
	p.now = Second{}
	p.end += (now - p.end + int64(time.Second)) / int64(time.Second) * int64(time.Second)
}

// second is the number of the current second.
func (p *pulse) second() int { return int((p.end-p.from)/int64(time.Second)) - 1 }

// seconds returns what happened second by second, by role; nil of a short slice. The
// last second may be a part of one.
func (s *Session) seconds(wall float64) [][]Second {
	if wall < fewestSeconds {
		return nil
	}
	for _, w := range s.workers {
		for i := range w.parts {
			if p := &w.parts[i]; p.now.Ops > 0 {
				p.to.add(p.second(), p.now)
			}
		}
	}
	var out [][]Second
	for _, r := range s.series {
		out = append(out, append([]Second(nil), r.all...))
	}
	return out
}
