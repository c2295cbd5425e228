// Package proc starts, watches, freezes and ends child processes, and accounts their CPU
// time. It alone imports os/exec. It knows nothing of databases.
package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Command is a helper program that is run to its end: apt-get, dpkg-deb, perf script.
type Command struct {
	Args    []string // the program, found in PATH if it has no slash, and its arguments
	Dir     string   // working directory; empty: ours
	Env     []string // whole environment; nil: ours
	Stdin   io.Reader
	Stdout  io.Writer     // where output goes instead of being returned
	Stderr  io.Writer     // where standard error goes besides into errors; nil: nowhere
	Timeout time.Duration // 0: until ctx ends
}

// ErrMissing means that a program is not installed.
var ErrMissing = errors.New("program not found")

// Output runs a command and returns what it wrote to standard output, unless Stdout takes
// that. It fails when the command does, with the end of its standard error. When ctx ends,
// the command's whole process group is killed.
func Output(ctx context.Context, c Command) ([]byte, error) {
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	name := filepath.Base(c.Args[0])
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	if errors.Is(cmd.Err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%s: %w", name, ErrMissing)
	}
	var out bytes.Buffer
	var errs tail
	cmd.Dir, cmd.Env, cmd.Stdin = c.Dir, c.Env, c.Stdin
	cmd.Stdout, cmd.Stderr = &out, &errs
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = io.MultiWriter(&errs, c.Stderr)
	}
	ownGroup(cmd)
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded) && c.Timeout > 0:
			err = fmt.Errorf("no end after %s", c.Timeout)
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		}
		if s := strings.TrimSpace(errs.String()); s != "" {
			return out.Bytes(), fmt.Errorf("%s: %w: %s", name, err, s)
		}
		return out.Bytes(), fmt.Errorf("%s: %w", name, err)
	}
	return out.Bytes(), nil
}

// tail keeps the last bytes written to it.
type tail struct{ b []byte }

const tailBytes = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > 2*tailBytes {
		t.b = append(t.b[:0], t.b[len(t.b)-tailBytes:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	if len(t.b) > tailBytes {
		return string(t.b[len(t.b)-tailBytes:])
	}
	return string(t.b)
}
