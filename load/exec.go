package load

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"backslide/lab"
)

// exec runs one statement and makes an error of a refusal.
func exec(ctx context.Context, c Conn, sql string) (lab.Reply, error) {
	if err := c.SendQuery([]byte(sql)); err != nil {
		return lab.Reply{}, fmt.Errorf("%s: %w", quoteShort(sql), err)
	}
	r, err := await(ctx, c)
	if err != nil {
		return r, fmt.Errorf("%s: %w", quoteShort(sql), err)
	}
	if r.Code != 0 {
		return r, &StatementError{sql, r}
	}
	return r, nil
}

func runAll(ctx context.Context, c Conn, statements []string) error {
	for _, sql := range statements {
		if _, err := exec(ctx, c, sql); err != nil {
			return err
		}
	}
	return nil
}

// await waits for the reply to what was sent on c.
func await(ctx context.Context, c Conn) (lab.Reply, error) {
	pfd := []unix.PollFd{{Fd: int32(c.FD())}}
	for ctx.Err() == nil {
		done, r, err := c.Receive()
		if done || err != nil {
			return r, err
		}
		pfd[0].Events = unix.POLLIN
		if c.WantWrite() {
			pfd[0].Events |= unix.POLLOUT
		}
		if _, err := unix.Poll(pfd, 100); err != nil && !errors.Is(err, unix.EINTR) {
			return r, fmt.Errorf("wait for a reply: %w", err)
		}
	}
	return lab.Reply{}, context.Cause(ctx)
}
