package load

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"backslide/lab"
)

func TestServerGone(t *testing.T) {
	srv := newFake(t)
	var n atomic.Int64
	srv.dead = func(string) bool { return n.Add(1) > 50 }
	sess := open(t, srv, mustBind(t, pointText), "read", 4, 4)
	began := time.Now()
	_, err := sess.Slice(context.Background(), SliceSpec{Duration: time.Minute}, func() {})
	if !errors.Is(err, ErrGone) {
		t.Errorf("got %v, want ErrGone", err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("a server that is gone was noticed after %s", took)
	}
}

// eagerConn is a connection whose socket takes half of a statement at once, and whose
// server answers while the client hands it the other half.
type eagerConn struct {
	*fakeConn
	rest []byte
}

func (c *eagerConn) SendQuery(sql []byte) error {
	b := append(binary.LittleEndian.AppendUint32(nil, uint32(len(sql))), sql...)
	c.rest = b[len(b)/2:]
	_, err := unix.Write(c.fd, b[:len(b)/2])
	return err
}

func (c *eagerConn) WantWrite() bool { return len(c.rest) > 0 }

func (c *eagerConn) Receive() (bool, lab.Reply, error) {
	if c.WantWrite() {
		if _, err := unix.Write(c.fd, c.rest); err != nil {
			return false, lab.Reply{}, err
		}
		c.rest = nil
		unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}, 10_000)
	}
	return c.fakeConn.Receive()
}

// TestLongStatements: the answer to a statement that is sent in pieces may come as soon as
// the last of them is sent.
func TestLongStatements(t *testing.T) {
	srv := newFake(t)
	dial := func(ctx context.Context) (Conn, error) {
		c, err := srv.dial(ctx)
		return &eagerConn{fakeConn: c.(*fakeConn)}, err
	}
	p := mustBind(t, strings.Replace(pointText, `name = "write"`, `name = "write"`+"\nprepared = false", 1))
	s, err := p.Session(context.Background(), Work{Step: "write", Clients: 3, Seed: 7}, dial, Options{Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Slice(context.Background(), SliceSpec{Ops: 100}, func() {})
	if err != nil || r.Ops != 100 {
		t.Errorf("%d operations, error %v; want 100", r.Ops, err)
	}
}

type endedError struct{ yes bool }

func (endedError) Error() string { return "over" }
func (e endedError) Gone() bool  { return e.yes }

func TestEnded(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{io.EOF, true},
		{fmt.Errorf("read: %w", syscall.ECONNRESET), true},
		{&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}, true},
		{fmt.Errorf("read: %w", net.ErrClosed), true},
		{fmt.Errorf("receive: %w: %w", endedError{true}, errors.New("timeout")), true},
		{endedError{false}, false},
		{syscall.EINVAL, false},
		{errors.New("malformed packet"), false},
	} {
		if got := ended(c.err); got != c.want {
			t.Errorf("%v: gone %v, want %v", c.err, got, c.want)
		}
	}
}

func TestHangs(t *testing.T) {
	srv := newFake(t)
	release := make(chan struct{})
	srv.handle = func(int, string) lab.Reply { <-release; return lab.Reply{} }
	p := mustBind(t, pointText)
	sess := open(t, srv, p, "read", 2, 1)
	_, err := sess.Slice(context.Background(), SliceSpec{Duration: 10 * time.Millisecond, Timeout: 100 * time.Millisecond}, func() {})
	if err == nil || !strings.Contains(err.Error(), "no end after 100ms") {
		t.Errorf("got %v, want a timeout", err)
	}
	sess = open(t, srv, p, "read", 2, 2)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	time.AfterFunc(30*time.Millisecond, func() { cancel(why) })
	if _, err := sess.Slice(ctx, SliceSpec{Duration: time.Minute}, func() {}); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause of the cancelling", err)
	}
	close(release)
}
