package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sys/unix"
)

// readyPause is the pause between two looks at a starting server.
const readyPause = 2 * time.Millisecond

// awaitReady waits until the server has answered a query. A socket's file alone means
// nothing, and neither does an answer: the process at the other end must be ours.
func (s *Server) awaitReady(ctx context.Context) error {
	for {
		err := s.tryReady(ctx)
		if err == nil {
			s.ready = time.Now()
			return nil
		}
		var foreign *foreignError
		if errors.As(err, &foreign) {
			return err
		}
		select {
		case <-s.p.Done():
			return s.refused()
		case <-ctx.Done():
			return fmt.Errorf("not ready in time: %w (last: %v)%s", context.Cause(ctx), err, s.log.quoteEnd())
		case <-time.After(readyPause):
		}
	}
}

// refused explains the end of a server that never was ready.
func (s *Server) refused() error {
	err := s.p.Err()
	if err == nil {
		err = errors.New("it ended at once")
	}
	text := s.log.text()
	if s.addr != "" && strings.Contains(text, "TCP/IP port") && !strings.Contains(text, "unknown ") {
		return fmt.Errorf("%w (%s)%s", errPortTaken, s.addr, s.log.quoteErrors())
	}
	return fmt.Errorf("%w%s", err, s.log.quoteErrors())
}

// tryReady asks the server who it is, once.
func (s *Server) tryReady(ctx context.Context) error {
	if _, err := os.Lstat(s.Socket()); err != nil {
		return err
	}
	if err := s.identify(ctx, s.Socket(), s.adopt); err != nil {
		return err
	}
	if s.addr == "" {
		return nil
	}
	return s.identify(ctx, s.addr, s.isPeer)
}

// identify runs a query at an address and compares what the server says of itself.
func (s *Server) identify(ctx context.Context, addr string, check func(net.Conn) error) error {
	db, err := open(addr, "", check)
	if err != nil {
		return err
	}
	defer db.Close()
	var socket, pidFile string
	if err := db.QueryRowContext(ctx, "SELECT @@socket, @@pid_file").Scan(&socket, &pidFile); err != nil {
		return err
	}
	text, err := os.ReadFile(pidFile)
	if err != nil {
		return err
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || pid != s.pid || socket != s.Socket() {
		return fmt.Errorf("the server at %s says that its socket is %s and its pid %q, not %s and %d", addr, socket, text, s.Socket(), s.pid)
	}
	return nil
}

// adopt takes the process at the other end of a connection as the server if it belongs to
// the group that we started: a launcher may stay in front of the server.
func (s *Server) adopt(c net.Conn) error {
	pid, err := peer(c)
	if err != nil {
		return err
	}
	if group, err := syscall.Getpgid(pid); err != nil || group != s.p.PID() {
		return &foreignError{socket: s.Socket(), pid: pid, want: s.p.PID()}
	}
	s.pid = pid
	return nil
}

// foreignError is a socket at which another process answers.
type foreignError struct {
	socket    string
	pid, want int
}

func (e *foreignError) Error() string {
	return fmt.Sprintf("pid %d answers on %s, not the server (pid %d)", e.pid, e.socket, e.want)
}

// isPeer checks that the process at the other end of a connection is the server. Over TCP
// the kernel does not tell, so there identify must do.
func (s *Server) isPeer(c net.Conn) error {
	if _, ok := c.(*net.UnixConn); !ok {
		return nil
	}
	pid, err := peer(c)
	if err != nil {
		return err
	}
	if pid != s.pid {
		return &foreignError{socket: s.Socket(), pid: pid, want: s.pid}
	}
	return nil
}

// peer returns the number of the process that listens at the other end of a connection
// over a unix socket, see SO_PEERCRED in unix(7).
func peer(c net.Conn) (int, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return 0, fmt.Errorf("%s is not a unix socket", c.RemoteAddr())
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if credErr != nil {
		return 0, fmt.Errorf("who listens on %s: %w", c.RemoteAddr(), credErr)
	}
	return int(cred.Pid), nil
}

// open returns a pool of connections as User to a socket's path or a host and port. Every
// new connection must pass check.
func open(addr, schema string, check func(net.Conn) error) (*sql.DB, error) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.DBName = User, schema
	cfg.Net, cfg.Addr = "tcp", addr
	if strings.HasPrefix(addr, "/") {
		cfg.Net = "unix"
	}
	cfg.Logger = &mysql.NopLogger{} // what goes wrong is in the errors
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if err := check(c); err != nil {
			c.Close()
			return nil, err
		}
		return c, nil
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}
