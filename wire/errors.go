package wire

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrGone means that the server ended the connection or died: nothing more can be done
// with this Conn.
var ErrGone error = goneError{}

// goneError says Gone, for callers that know errors only by such a method.
type goneError struct{}

func (goneError) Error() string { return "server went away" }
func (goneError) Gone() bool    { return true }

// ServerError is a server's refusal of what a blocking call asked. Receive, Query and Exec
// report refusals as replies instead.
type ServerError struct {
	Code      int    // the server's error number
	State     string // SQLSTATE, empty if the server sent none
	Message   string
	Statement string // what was sent, empty during the handshake
}

// ErrorCode returns Code, for callers that know errors only by such a method.
func (e *ServerError) ErrorCode() int { return e.Code }

// Error quotes at most the first 200 bytes of the statement.
func (e *ServerError) Error() string {
	s := fmt.Sprintf("server error %d", e.Code)
	if e.State != "" {
		s += " (" + e.State + ")"
	}
	s += ": " + e.Message
	if e.Statement != "" {
		s += ": in " + clip(e.Statement, 200)
	}
	return s
}

// HandshakeError means that a server was reached and that no session came of it: it
// refused the account, speaks another protocol, or lacks TLS. That no server could be
// reached is an error of another type.
type HandshakeError struct {
	Address string // network:address
	User    string
	Err     error // a *ServerError, a *ProtocolError, ErrGone, or another cause
}

// Error names the server, the account and the cause.
func (e *HandshakeError) Error() string {
	return fmt.Sprintf("handshake with %s as user %q: %v", e.Address, e.User, e.Err)
}

// Unwrap returns the cause.
func (e *HandshakeError) Unwrap() error { return e.Err }

// ProtocolError means that the server sent bytes that are not a valid reply.
type ProtocolError struct {
	Expected string
	Got      string
}

// Error says what was expected, and shows the first bytes of what came.
func (e *ProtocolError) Error() string {
	return "malformed packet: expected " + e.Expected + ", got " + e.Got
}

// malformed describes payload b where something else was expected.
func malformed(expected string, b []byte) error {
	const shown = 16
	got := fmt.Sprintf("%d bytes % x", len(b), b[:min(len(b), shown)])
	if len(b) > shown {
		got += " …"
	}
	return &ProtocolError{Expected: expected, Got: got}
}

// gone wraps the cause of a lost connection.
func gone(cause error) error { return fmt.Errorf("%w: %w", ErrGone, cause) }

// errUnread means that a server answered a statement before it had read all of it, so that
// the rest can be neither sent nor left out.
var errUnread = errors.New("it answered a statement that it had not read to the end")

// again is what reading returns when there is nothing to read yet. It is a net.Error that
// says it is temporary, so that crypto/tls goes on where it was.
type again struct{}

func (again) Error() string   { return "no input yet" }
func (again) Timeout() bool   { return true }
func (again) Temporary() bool { return true }

// clip shortens s to about n bytes at a character's boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
