package load

import (
	"context"
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
