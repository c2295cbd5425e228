package load

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Settled is what became of one settle action.
type Settled struct {
	Name    string
	Took    time.Duration
	Reached bool // the condition was met within the limit; true when there is none
}

// Settle brings the server to rest as the step asks for before it: it runs the actions'
// statements, waits for their conditions, and undoes them. A condition that is not met
// within its limit is not an error.
func (p *Program) Settle(ctx context.Context, name string, dial Dial) ([]Settled, error) {
	st, err := p.step(name)
	if err != nil {
		return nil, err
	}
	if len(st.settle) == 0 {
		return nil, nil
	}
	c, err := dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("settle before %s: %w", name, err)
	}
	defer c.Close()
	var out []Settled
	for _, s := range st.settle {
		done, err := p.settles[s].run(ctx, c)
		out = append(out, done)
		if err != nil {
			return out, fmt.Errorf("settle %s before %s: %w", s, name, err)
		}
	}
	return out, nil
}

func (s settle) run(ctx context.Context, c Conn) (Settled, error) {
	began := time.Now()
	out := Settled{Name: s.name, Reached: true}
	err := runAll(ctx, c, s.do)
	if err == nil && s.until != "" {
		out.Reached, err = s.wait(ctx, c)
	}
	// Settings go back to what they were even when the wait was cut short.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err = errors.Join(err, runAll(last, c, s.undo))
	out.Took = time.Since(began)
	return out, err
}

// wait asks until the condition returns a row.
func (s settle) wait(ctx context.Context, c Conn) (bool, error) {
	limit := time.NewTimer(s.limit)
	defer limit.Stop()
	every := time.NewTicker(s.every)
	defer every.Stop()
	for {
		r, err := exec(ctx, c, s.until)
		if err != nil || r.Rows > 0 {
			return err == nil, err
		}
		select {
		case <-every.C:
		case <-limit.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}
