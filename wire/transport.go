package wire

import (
	"errors"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// read returns input without waiting; again{} if there is none.
func (c *Conn) read(b []byte) (int, error) {
	if c.tls != nil {
		return c.readTLS(b)
	}
	n, errno := recv(c.fd, b)
	if n > 0 {
		return n, nil
	}
	return 0, c.noInput(errno)
}

// noInput says what a recv without bytes means.
func (c *Conn) noInput(errno unix.Errno) error {
	switch {
	case errno == unix.EAGAIN && c.lost != nil:
		return gone(c.lost)
	case errno == unix.EAGAIN:
		return again{}
	case errno == 0:
		return gone(io.EOF)
	}
	return gone(errno)
}

func (c *Conn) readTLS(b []byte) (int, error) {
	n, err := c.tls.Read(b)
	var wait again
	switch {
	case n > 0:
		return n, nil
	case errors.As(err, &wait):
		return 0, wait
	case errors.Is(err, ErrGone):
		return 0, err
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return 0, gone(err)
	case err == nil:
		return 0, again{}
	}
	return 0, err
}

// send starts sending b, which stays unchanged until the reply has come. What the kernel
// does not take at once is sent by Receive. That the peer is gone shows when its last
// words are read.
func (c *Conn) send(b []byte) {
	if c.tls != nil {
		if _, err := c.tls.Write(b); err != nil && c.lost == nil {
			c.lost = err
		}
		return
	}
	n, errno := send(c.fd, b)
	if n == len(b) {
		return
	}
	c.pending = b[n:]
	if errno != unix.EAGAIN {
		c.flush()
	}
}

// flush sends what is pending, as far as the kernel takes it.
func (c *Conn) flush() {
	for len(c.pending) > 0 {
		n, errno := send(c.fd, c.pending)
		if errno == unix.EAGAIN {
			return
		}
		if errno != 0 {
			c.lost, c.pending = errno, nil
			return
		}
		c.pending = c.pending[n:]
	}
}

// WantWrite says that part of the statement has not been sent: poll FD for writing too,
// and call Receive when it is writable.
func (c *Conn) WantWrite() bool { return len(c.pending) > 0 }

// fdConn is the socket as crypto/tls sees it.
type fdConn struct{ c *Conn }

// Read returns again{} instead of waiting, except during the handshake of TLS.
func (f fdConn) Read(b []byte) (int, error) {
	c := f.c
	if c.dry {
		return 0, again{}
	}
	for {
		n, errno := recv(c.fd, b)
		if n > 0 {
			return n, nil
		}
		err := c.noInput(errno)
		if errno == 0 {
			err = io.EOF
		}
		if err != (again{}) || !c.blocking {
			return 0, err
		}
		if err := c.wait(); err != nil {
			return 0, err
		}
	}
}

// Write always takes all of b: crypto/tls gives up for ever on a write that it would have
// to repeat. What the kernel does not take is kept.
func (f fdConn) Write(b []byte) (int, error) {
	c := f.c
	if c.lost == nil {
		c.flush()
		k := 0
		if len(c.pending) == 0 {
			k, _ = send(c.fd, b)
		}
		c.pending = append(c.pending, b[k:]...)
	}
	return len(b), nil
}

func (f fdConn) Close() error                     { return nil }
func (f fdConn) LocalAddr() net.Addr              { return nil }
func (f fdConn) RemoteAddr() net.Addr             { return nil }
func (f fdConn) SetDeadline(time.Time) error      { return nil }
func (f fdConn) SetReadDeadline(time.Time) error  { return nil }
func (f fdConn) SetWriteDeadline(time.Time) error { return nil }
