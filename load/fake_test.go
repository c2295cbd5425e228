package load

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"backslide/lab"
)

// fakeServer answers statements over socket pairs. handle is called for each, from one
// goroutine for each connection; nil answers at once with one row.
type fakeServer struct {
	t      testing.TB
	handle func(client int, sql string) lab.Reply
	dead   func(sql string) bool // the server closes the connection instead of answering

	mu    sync.Mutex
	conns []*fakeConn
	log   []string
	n     atomic.Int64
}

// fakeConn is a Conn. A request is a statement's number or text, a reply 24 bytes.
type fakeConn struct {
	srv      *fakeServer
	id       int
	fd, peer int
	prepared []string
	got      []byte
	out      []byte
	fixed    []byte // sent for any prepared statement when nobody looks at it
	closed   bool
	done     chan struct{}
}

func newFake(t testing.TB) *fakeServer {
	s := &fakeServer{t: t}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range s.conns {
			if !c.closed {
				t.Errorf("connection %d was left open", c.id)
				unix.Close(c.fd)
			}
			<-c.done
		}
	})
	return s
}

func (s *fakeServer) dial(context.Context) (Conn, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &fakeConn{srv: s, id: len(s.conns), fd: fds[0], peer: fds[1], done: make(chan struct{}), got: make([]byte, 0, 64)}
	s.conns = append(s.conns, c)
	go c.serve()
	return c, nil
}

// serve reads length-prefixed statements and answers them.
func (c *fakeConn) serve() {
	defer close(c.done)
	defer unix.Close(c.peer)
	buf := make([]byte, 1<<20)
	reply := make([]byte, 0, 256)
	n := 0
	for {
		m, err := unix.Read(c.peer, buf[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || m == 0 {
			return
		}
		n += m
		for n >= 4 {
			size := int(binary.LittleEndian.Uint32(buf))
			if n < 4+size {
				break
			}
			if c.srv.dead != nil && c.srv.dead(string(buf[4:4+size])) {
				return
			}
			r := lab.Reply{Rows: 1}
			if c.srv.handle != nil {
				r = c.srv.handle(c.id, string(buf[4:4+size]))
			}
			copy(buf, buf[4+size:n])
			n -= 4 + size
			reply = binary.LittleEndian.AppendUint32(reply[:0], uint32(r.Code))
			reply = binary.LittleEndian.AppendUint32(reply, uint32(r.Rows))
			reply = binary.LittleEndian.AppendUint32(reply, uint32(len(r.Message)))
			reply = append(reply, r.Message...)
			if _, err := unix.Write(c.peer, reply); err != nil {
				return
			}
			c.srv.n.Add(1)
		}
	}
}

func (c *fakeConn) FD() int          { return c.fd }
func (c *fakeConn) ThreadID() uint32 { return uint32(c.id) }

func (c *fakeConn) Prepare(sql string) (int, int, error) {
	c.prepared, c.fixed = append(c.prepared, sql), []byte(sql)
	return len(c.prepared) - 1, strings.Count(sql, "?"), nil
}

func (c *fakeConn) SendExecute(stmt int, args []lab.Arg) error {
	if c.srv.handle == nil && c.srv.dead == nil {
		return c.write(c.fixed)
	}
	sql := []byte{}
	i := 0
	for _, b := range []byte(c.prepared[stmt]) {
		switch {
		case b != '?':
			sql = append(sql, b)
		case args[i].IsText:
			sql = quoteSQL(sql, args[i].Text)
			i++
		default:
			sql = fmt.Append(sql, args[i].Int)
			i++
		}
	}
	if i != len(args) {
		c.srv.t.Errorf("%d arguments for %s", len(args), c.prepared[stmt])
	}
	return c.write(sql)
}

func (c *fakeConn) SendQuery(sql []byte) error { return c.write(sql) }

func (c *fakeConn) write(sql []byte) error {
	c.out = binary.LittleEndian.AppendUint32(c.out[:0], uint32(len(sql)))
	c.out = append(c.out, sql...)
	for b := c.out; len(b) > 0; {
		n, err := unix.SendmsgN(c.fd, b, nil, nil, unix.MSG_NOSIGNAL)
		if err == unix.EAGAIN {
			unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLOUT}}, 1000)
			continue
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func (c *fakeConn) Receive() (bool, lab.Reply, error) {
	room := c.got[len(c.got):cap(c.got)]
	n, err := unix.Read(c.fd, room)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return false, lab.Reply{}, nil
	case err != nil:
		return false, lab.Reply{}, err
	case n == 0:
		return false, lab.Reply{}, io.EOF
	}
	c.got = c.got[:len(c.got)+n]
	if len(c.got) < 12 {
		return false, lab.Reply{}, nil
	}
	size := int(binary.LittleEndian.Uint32(c.got[8:]))
	if len(c.got) < 12+size {
		if cap(c.got) < 12+size {
			c.got = append(make([]byte, 0, 12+size), c.got...)
		}
		return false, lab.Reply{}, nil
	}
	r := lab.Reply{Code: int(binary.LittleEndian.Uint32(c.got)), Rows: int64(binary.LittleEndian.Uint32(c.got[4:]))}
	if size > 0 {
		r.Message, r.State = string(c.got[12:12+size]), "HY000"
	}
	c.got = c.got[:0]
	return true, r, nil
}

func (c *fakeConn) Query(sql string) (lab.Reply, error) { return exec(context.Background(), c, sql) }

func (c *fakeConn) WantWrite() bool { return false }

func (c *fakeConn) Close() error {
	c.closed = true
	return unix.Close(c.fd)
}

// record makes the server keep every statement, and answer with one row.
func (s *fakeServer) record() {
	s.handle = func(_ int, sql string) lab.Reply {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.log = append(s.log, sql)
		return lab.Reply{Rows: 1}
	}
}

func (s *fakeServer) logged() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log
}

var _ Conn = (*fakeConn)(nil)

func mustBind(t testing.TB, text string) *Program {
	t.Helper()
	w, err := Parse("test.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Bind(nil, Target{Family: lab.MariaDB, Version: [3]int{11, 8, 0}, Engine: "InnoDB", Schema: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
