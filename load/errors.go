package load

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"

	"backslide/lab"
)

// ErrGone means that the server, or a connection to it, went away.
var ErrGone = errors.New("the server went away")

// ErrLimit means that a limit of the server was met: connections, prepared statements.
var ErrLimit = errors.New("a limit of the server was met")

// StatementError is a statement that the server refused.
type StatementError struct {
	SQL   string // as text, whatever protocol it was sent by
	Reply lab.Reply
}

// Error names the statement, and the server's error number, state and message.
func (e *StatementError) Error() string {
	return fmt.Sprintf("%s: error %d (%s): %s", e.SQL, e.Reply.Code, e.Reply.State, e.Reply.Message)
}

// ErrorCode returns the server's error number.
func (e *StatementError) ErrorCode() int { return e.Reply.Code }

// coded is an error that carries a server's error number.
type coded interface{ ErrorCode() int }

// limit marks errors that say that a limit of the server was met.
func limit(err error) error {
	var c coded
	if errors.As(err, &c) {
		switch c.ErrorCode() {
		case 1040, // ER_CON_COUNT_ERROR
			1135, // ER_CANT_CREATE_THREAD
			1203, // ER_TOO_MANY_USER_CONNECTIONS
			1226, // ER_USER_LIMIT_REACHED
			1461: // ER_MAX_PREPARED_STMT_COUNT_REACHED
			return fmt.Errorf("%w: %w", ErrLimit, err)
		}
	}
	return err
}

// longestSQL is how much of a statement an error shows.
const longestSQL = 1000

// clip shortens a statement for an error.
func clip(sql []byte) string {
	if len(sql) > longestSQL {
		return string(sql[:longestSQL]) + "…"
	}
	return string(sql)
}

// gone says that a connection broke, and marks it as ErrGone when the other side ended it.
func gone(c *client, err error) error {
	what := fmt.Sprintf("client %d: %s", c.n, quoteShort(string(c.sql(nil))))
	if ended(err) {
		return fmt.Errorf("%s: %w: %w", what, ErrGone, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// ended reports whether err says that the other side is gone: by a method of its own, or
// as the system's and Go's networking say it.
func ended(err error) bool {
	if g := (interface{ Gone() bool })(nil); errors.As(err, &g) && g.Gone() {
		return true
	}
	return slices.ContainsFunc([]error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, os.ErrClosed,
		syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ENOTCONN, syscall.ESHUTDOWN,
	}, func(end error) bool { return errors.Is(err, end) })
}
