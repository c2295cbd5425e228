package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"backslide/lab"
)

// dataDir is where the loaded data set of v lies once Prepare has made it.
func (c *Conductor) dataDir(v lab.Variant) string {
	return filepath.Join(c.Dir, "data", c.Host.DataKey(v))
}

// Prepare makes the loaded data set of every variant that has none yet, one after the
// other so that they do not disturb each other's layout. A data set that was interrupted
// is made anew.
func (c *Conductor) Prepare(ctx context.Context, vs []lab.Variant) error {
	for _, v := range vs {
		if _, err := os.Stat(c.dataDir(v)); err == nil {
			continue
		}
		if err := c.prepare(ctx, v); err != nil {
			return fmt.Errorf("prepare %s: %w", v, err)
		}
	}
	return nil
}

func (c *Conductor) prepare(ctx context.Context, v lab.Variant) (err error) {
	work, err := c.scratch("prepare")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	data := filepath.Join(work, "data")
	c.phase("initialise %s", v)
	if err := c.Host.Init(ctx, v, data); err != nil {
		return err
	}
	s, err := c.startServer(ctx, v, data, "")
	if err != nil {
		return err
	}
	defer s.Kill()
	if !c.Host.Volatile(v) {
		c.phase("load %s", v)
		if err := c.load(ctx, v, s); err != nil {
			return err
		}
	}
	stop, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if err := s.Stop(stop); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.dataDir(v)), 0o700); err != nil {
		return err
	}
	return os.Rename(data, c.dataDir(v))
}

func (c *Conductor) load(ctx context.Context, v lab.Variant, s Server) error {
	ctx, cancel := untilDead(ctx, s)
	defer cancel()
	progress := func(done, total int64) {
		if c.Events.Load != nil {
			c.Events.Load(v, done, total)
		}
	}
	if err := c.Client.Load(ctx, v, s.Socket(), progress); err != nil {
		return fmt.Errorf("load: %w", cause(ctx, err))
	}
	return nil
}

// untilDead returns a context that ends, with the reason, when the server does.
func untilDead(ctx context.Context, s Server) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-s.Died():
			cancel(ended(s))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// ended says why a server has ended that was not told to by us.
func ended(s Server) error {
	if err := s.Err(); err != nil {
		return err
	}
	return errors.New("the server was shut down by somebody else")
}

// dying is how long a server that broke a connection may take to be gone.
const dying = time.Second

// cause prefers the reason that a context of untilDead ended to what the ending broke: a
// client sees a connection reset before anyone sees that the server is gone.
func cause(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(dying):
		return err
	}
}
