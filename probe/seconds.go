package probe

import (
	"context"
	"database/sql"
	"math"
	"time"

	"backslide/lab"
)

// Long is a server that is observed second by second.
type Long struct {
	PID     int
	DB      *sql.DB // of its own, for its counters; nil: they are not read
	Engine  string  // proper name, as in lab.Engines
	DataDir string
}

// second is what one look at a server saw; −1 is not known.
type second struct {
	cpu, read, write, rss float64
	status                status
}

// Follow observes a long slice: once a second it reads /proc and, in one query, the
// server's counters. That is work for the server too, the same for every one. The func
// that it returns ends it and says what was seen; ctx ends the looking too.
func Follow(ctx context.Context, l Long) func() ([]lab.Series, []lab.Reading) {
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{Long: l, sizes: sizesOf(l.DataDir)}
	f.first = readStatus(ctx, l)
	f.last = f.first
	if at, err := f.p.Take(l.PID, 0); err == nil {
		f.start, f.at = at, at
	}
	began := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.run(ctx, began)
	}()
	return func() ([]lab.Series, []lab.Reading) {
		cancel()
		<-done
		after, stop := context.WithTimeout(context.Background(), looks)
		defer stop()
		if end := readStatus(after, l); len(end) > 0 {
			f.checkpoints += moved(f.last, end)
			f.last = end
		}
		if at, err := f.p.Take(l.PID, 0); err == nil {
			f.at = at
		}
		return f.series(), f.readings(time.Since(began))
	}
}

// looks is how long the last look at the counters may take.
const looks = 10 * time.Second

type follower struct {
	Long
	p           Prober
	start, at   Snapshot
	first, last status
	sizes       sizes // before
	seen        []second
	checkpoints int
}

// run looks once a second. A look that took longer leaves the seconds that it missed
// unknown: there the server, or the host, did not answer.
func (f *follower) run(ctx context.Context, began time.Time) {
	for {
		next := len(f.seen) + 1
		wait := time.NewTimer(time.Until(began.Add(time.Duration(next) * time.Second)))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return
		}
		s, ok := f.look(ctx)
		if !ok {
			return
		}
		late := int(time.Since(began)/time.Second) - next
		f.seen = append(f.seen, s)
		for range late {
			f.seen = append(f.seen, second{cpu: -1, read: -1, write: -1, rss: -1})
		}
	}
}

func (f *follower) look(ctx context.Context) (second, bool) {
	s := second{cpu: -1, read: -1, write: -1, rss: -1}
	now, err := f.p.Take(f.PID, 0)
	if err != nil {
		return s, false // the server is gone
	}
	u, span := Between(f.at, now, nil), now.Time.Sub(f.at.Time).Seconds()
	f.at = now
	if u.ServerUser >= 0 {
		s.cpu = (u.ServerUser + u.ServerSystem) / span
	}
	if u.ReadBytes >= 0 && u.WriteBytes >= 0 {
		s.read, s.write = float64(u.ReadBytes)/span, float64(u.WriteBytes)/span
	}
	s.rss = float64(u.RSS)
	if s.status = readStatus(ctx, f.Long); len(s.status) > 0 {
		f.checkpoints += moved(f.last, s.status)
		f.last = s.status
	}
	return s, ctx.Err() == nil
}

// moved returns 1 if a checkpoint was made from a to b.
func moved(a, b status) int {
	x, y := a.get(checkpointLSN), b.get(checkpointLSN)
	if x >= 0 && y > x {
		return 1
	}
	return 0
}

// series returns what was seen; things that were never known are left out.
func (f *follower) series() []lab.Series {
	var out []lab.Series
	add := func(name, unit string, value func(second) float64) {
		s := lab.Series{Name: name, Unit: unit, Values: make([]float64, len(f.seen))}
		known := false
		for i, v := range f.seen {
			s.Values[i] = significant(value(v))
			known = known || s.Values[i] >= 0
		}
		if known {
			out = append(out, s)
		}
	}
	add("server cpu", "cpu-sec/sec", func(s second) float64 { return s.cpu })
	add("read", "B/sec", func(s second) float64 { return s.read })
	add("written", "B/sec", func(s second) float64 { return s.write })
	add("rss", "B", func(s second) float64 { return s.rss })
	add(lab.Beyond, "B", func(s second) float64 {
		if own := s.status.get(accounted); own > 0 && s.rss > 0 {
			return max(0, s.rss-own)
		}
		return -1
	})
	for _, g := range gauges() {
		add(g.name, g.unit, func(s second) float64 { return s.status.get(g.key) })
	}
	return out
}

// significant rounds to four digits: series are for looking at.
func significant(v float64) float64 {
	if v <= 0 {
		return max(v, -1)
	}
	scale := math.Pow(10, math.Floor(math.Log10(v))-3)
	return math.Round(v/scale) * scale
}
