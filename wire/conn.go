// Package wire is a lean client of the MySQL protocol, made to generate load: its
// sockets are outside Go's poller, statements are patched into ready packets, replies are
// walked by their headers instead of decoded, and nothing is allocated per operation.
//
// The hot path is SendExecute or SendQuery, then Receive whenever FD is readable. It never
// waits; the caller polls. Everything else blocks, for at most the connection's timeout.
// One statement is under way at a time. A Conn is used by one goroutine at a time.
//
// It does not compress, read local files, change users, or pool.
package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"backslide/lab"

	"golang.org/x/sys/unix"
)

// Options say how to reach a server and who to be there.
type Options struct {
	Network  string // "unix" or "tcp"
	Address  string // the socket's path, or host:port
	User     string
	Password string
	Schema   string        // the default schema; empty: none
	TLS      *tls.Config   // nil: no TLS; otherwise TLS or no connection
	Timeout  time.Duration // of Dial, and of each blocking call until SetTimeout; 0: 30 s

	// DeprecateEOF asks for the end-of-rows packets that MySQL's own library asks for. Without
	// it the client asks for what libmariadb asks for, and is comparable to tools that use that.
	DeprecateEOF bool
}

// String leaves the password out.
func (o Options) String() string {
	return fmt.Sprintf("%s:%s as user %q", o.Network, o.Address, o.User)
}

// Conn is one connection to a server.
type Conn struct {
	fd      int
	address string
	tls     *tls.Conn
	hello   greeting
	caps    uint64 // what both sides agreed on
	timeout time.Duration

	err      error     // why the connection is of no more use
	lost     error     // why nothing can be sent; the server's last words may still be read
	deadline time.Time // of the blocking call under way
	blocking bool      // crypto/tls is to wait for input: during its handshake
	dry      bool      // crypto/tls is to use up its input and take no more

	busy    bool   // a statement was sent and its reply is not whole
	pending []byte // what the kernel did not take yet
	out     []byte // text statements, and statements of many packets
	in      []byte // input; c.in[c.r:c.w] is unread by a blocking call
	r, w    int
	seq     byte   // of the next packet that a blocking call reads
	packet  []byte // payload that a blocking call read
	skip    skipper

	stmts []*statement
	typed *statement // under way with its types sent; nil: types were known
}

const defaultTimeout = 30 * time.Second

// Dial connects and authenticates. An error is a *HandshakeError if a server was reached.
// The caller owns the connection and closes it.
func Dial(ctx context.Context, o Options) (*Conn, error) {
	c := &Conn{address: o.Network + ":" + o.Address, timeout: o.Timeout, in: make([]byte, inputBuffer)}
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	c.start()
	if t, ok := ctx.Deadline(); ok && t.Before(c.deadline) {
		c.deadline = t
	}
	var err error
	if err = c.connect(ctx, o); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.address, err)
	}
	if err := c.session(ctx, o); err != nil {
		unix.Close(c.fd)
		return nil, &HandshakeError{Address: c.address, User: o.User, Err: err}
	}
	c.skip.cached = c.caps&capCacheMetadata != 0
	c.skip.okEnds = c.caps&capDeprecateEOF != 0
	return c, nil
}

// session is handshake, ended early by ctx.
func (c *Conn) session(ctx context.Context, o Options) error {
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		unix.Shutdown(c.fd, unix.SHUT_RDWR) // wakes what waits
		close(cut)
	})
	err := c.handshake(o)
	if !stop() {
		<-cut
		return context.Cause(ctx)
	}
	return err
}

// connect makes fd a connected non-blocking socket.
func (c *Conn) connect(ctx context.Context, o Options) error {
	sa, family, err := resolve(ctx, o)
	if err != nil {
		return err
	}
	c.fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	if family != unix.AF_UNIX {
		err = unix.SetsockoptInt(c.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err == nil {
		err = c.reach(ctx, sa)
	}
	if err != nil {
		unix.Close(c.fd)
	}
	return err
}

func (c *Conn) reach(ctx context.Context, sa unix.Sockaddr) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := unix.Connect(c.fd, sa)
		switch {
		case err == unix.EINPROGRESS:
			if err := c.connected(ctx); err != nil {
				return err
			}
			n, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
			if err == nil && n != 0 {
				err = unix.Errno(n)
			}
			return err
		case err == unix.EAGAIN || err == unix.EINTR: // a unix socket whose queue is full
			if err := c.expired(); err != nil {
				return err
			}
			time.Sleep(2 * time.Millisecond)
		default:
			return err
		}
	}
}

// connected waits until the attempt to connect has ended, looking at ctx now and then.
func (c *Conn) connected(ctx context.Context) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if ready, err := c.poll(unix.POLLOUT, 50*time.Millisecond); ready || err != nil {
			return err
		}
	}
}

// resolve returns the address of a server, the first one if its name has several.
func resolve(ctx context.Context, o Options) (unix.Sockaddr, int, error) {
	switch o.Network {
	case "unix":
		if len(o.Address) == 0 || len(o.Address) > 107 {
			return nil, 0, fmt.Errorf("the path has %d bytes; a unix socket's has 1 to 107", len(o.Address))
		}
		return &unix.SockaddrUnix{Name: o.Address}, unix.AF_UNIX, nil
	case "tcp":
		host, service, err := net.SplitHostPort(o.Address)
		if err != nil {
			return nil, 0, err
		}
		port, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
		if err != nil {
			return nil, 0, err
		}
		ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, 0, err
		}
		if len(ips) == 0 {
			return nil, 0, fmt.Errorf("%s has no address", host)
		}
		if ip := ips[0].Unmap(); ip.Is4() {
			return &unix.SockaddrInet4{Port: port, Addr: ip.As4()}, unix.AF_INET, nil
		}
		return &unix.SockaddrInet6{Port: port, Addr: ips[0].As16()}, unix.AF_INET6, nil
	}
	return nil, 0, fmt.Errorf("network %q is neither unix nor tcp", o.Network)
}

// FD is the socket, for polling; -1 once closed. The connection stays its owner. Poll it
// level-triggered: Receive may leave input behind.
func (c *Conn) FD() int { return c.fd }

// ThreadID is the server's number of this connection, as in its process list.
func (c *Conn) ThreadID() uint32 { return c.hello.thread }

// ServerVersion is the version as the server's greeting says it.
func (c *Conn) ServerVersion() string { return c.hello.version }

// TLSState returns the state of TLS, nil if the connection is without.
func (c *Conn) TLSState() *tls.ConnectionState {
	if c.tls == nil {
		return nil
	}
	s := c.tls.ConnectionState()
	return &s
}

// SetTimeout changes how long each following blocking call may take.
func (c *Conn) SetTimeout(d time.Duration) { c.timeout = d }

// Close tells the server, as far as that takes no waiting, and closes the socket. A
// second call does nothing.
func (c *Conn) Close() error {
	if c.fd < 0 {
		return nil
	}
	if c.err == nil && !c.busy {
		c.send([]byte{1, 0, 0, 0, comQuit})
	}
	err := unix.Close(c.fd)
	c.fd, c.busy = -1, false
	c.fail(net.ErrClosed)
	return err
}

// Query runs one text statement and waits for its whole reply.
func (c *Conn) Query(sql string) (lab.Reply, error) {
	if err := c.SendQuery([]byte(sql)); err != nil {
		return lab.Reply{}, err
	}
	return c.await()
}

// Exec runs one prepared statement and waits for its whole reply.
func (c *Conn) Exec(stmt int, args []lab.Arg) (lab.Reply, error) {
	if err := c.SendExecute(stmt, args); err != nil {
		return lab.Reply{}, err
	}
	return c.await()
}

// await receives until the reply is whole. A timeout leaves a connection of no more use,
// because the reply may still come.
func (c *Conn) await() (lab.Reply, error) {
	c.start()
	for {
		done, r, err := c.Receive()
		if done || err != nil {
			return r, err
		}
		if err := c.wait(); err != nil {
			return r, c.fail(err)
		}
	}
}

// ready says why a statement cannot be sent now.
func (c *Conn) ready() error {
	if c.err != nil {
		return c.err
	}
	if c.busy {
		return errors.New("a statement is under way on this connection: receive its reply first")
	}
	return nil
}

// fail makes err the reason why the connection is of no more use, unless there is one.
func (c *Conn) fail(err error) error {
	if c.err == nil {
		c.err = err
	}
	c.busy, c.pending = false, nil
	return c.err
}

// start begins the time of a blocking call.
func (c *Conn) start() { c.deadline = time.Now().Add(c.timeout) }

// expired says that the blocking call's time is over.
func (c *Conn) expired() error {
	if time.Now().After(c.deadline) {
		return fmt.Errorf("no answer within %s: %w", c.timeout, os.ErrDeadlineExceeded)
	}
	return nil
}

// wait returns when there is input, having sent what was pending as far as it went.
func (c *Conn) wait() error {
	events := int16(unix.POLLIN)
	if len(c.pending) > 0 {
		events |= unix.POLLOUT
	}
	for {
		ready, err := c.poll(events, time.Minute)
		if err != nil {
			return err
		}
		if ready {
			c.flush()
			return nil
		}
	}
}

// poll waits for events on the socket, for at most d and not beyond the deadline.
func (c *Conn) poll(events int16, d time.Duration) (ready bool, err error) {
	if err := c.expired(); err != nil {
		return false, err
	}
	d = min(d, time.Until(c.deadline)+time.Millisecond)
	p := [1]unix.PollFd{{Fd: int32(c.fd), Events: events}}
	n, err := unix.Poll(p[:], int(d.Milliseconds()))
	if err != nil && err != unix.EINTR {
		return false, fmt.Errorf("poll: %w", err)
	}
	return n > 0, nil
}
