package wire

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"backslide/lab"
)

// written returns what the connection has sent so far.
func written(t *testing.T, peer int) []byte {
	t.Helper()
	b := make([]byte, 1<<16)
	n, errno := recv(peer, b)
	if errno != 0 && errno != unix.EAGAIN {
		t.Fatal(errno)
	}
	return b[:n]
}

// TestExecutePackets holds the packets of a statement with two parameters as the types of
// its arguments change, and after a refusal.
func TestExecutePackets(t *testing.T) {
	c, peer := pair(t)
	c.stmts = []*statement{newStatement("SELECT ?, ?", 7, 2)}
	fixed := "17 07000000 00 01000000 00 " // execute, id, no cursor, once, no NULL
	one, text := lab.Arg{Int: 1}, lab.Arg{IsText: true, Text: []byte("ab")}
	refused := refusal(1213, "40001", "Deadlock")
	for i, x := range []struct {
		args  []lab.Arg
		want  string
		reply []byte
	}{
		{[]lab.Arg{one, one}, "01 0800 0800 0100000000000000 0100000000000000", okay(0, 0, 2)},
		{[]lab.Arg{{Int: -2}, one}, "00 feffffffffffffff 0100000000000000", okay(0, 0, 2)},
		{[]lab.Arg{one, text}, "01 0800 fd00 0100000000000000 02 6162", refused},
		{[]lab.Arg{one, text}, "01 0800 fd00 0100000000000000 02 6162", okay(0, 0, 2)},
		{[]lab.Arg{one, {IsText: true}}, "00 0100000000000000 00", refused},
		{[]lab.Arg{one, text}, "00 0100000000000000 02 6162", okay(0, 0, 2)},
		{[]lab.Arg{text, text}, "01 fd00 fd00 02 6162 02 6162", okay(0, 0, 2)},
	} {
		if err := c.SendExecute(0, x.args); err != nil {
			t.Fatal(err)
		}
		want, err := hex.DecodeString(strings.ReplaceAll(fixed+x.want, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(packets(0, want), written(t, peer)); d != "" {
			t.Errorf("execution %d (-want +got):\n%s", i, d)
		}
		send(peer, packets(1, x.reply))
		if done, _, err := c.Receive(); !done || err != nil {
			t.Fatal(done, err)
		}
	}
}

func TestMisuse(t *testing.T) {
	c, _ := pair(t)
	c.stmts = []*statement{newStatement("SELECT ?", 7, 1)}
	for _, x := range []struct {
		err  error
		want string
	}{
		{c.SendExecute(1, nil), "no prepared statement has the handle 1"},
		{c.SendExecute(-1, nil), "no prepared statement has the handle -1"},
		{c.SendExecute(0, nil), "0 arguments for the 1 parameters of SELECT ?"},
		{third(c.Receive()), "no statement is under way"},
		{c.SendQuery([]byte("SELECT 1")), "<nil>"},
		{c.SendQuery([]byte("SELECT 1")), "a statement is under way"},
		{c.SendExecute(0, nil), "a statement is under way"},
		{third(c.Prepare("SELECT 1")), "a statement is under way"},
		{c.Close(), "<nil>"},
		{c.Close(), "<nil>"},
		{c.SendQuery(nil), net.ErrClosed.Error()},
		{third(c.Receive()), net.ErrClosed.Error()},
	} {
		got := "<nil>"
		if x.err != nil {
			got = x.err.Error()
		}
		if !strings.HasPrefix(got, x.want) {
			t.Errorf("got %s, want %s", got, x.want)
		}
	}
	if c.FD() != -1 {
		t.Errorf("FD of a closed connection: got %d, want -1", c.FD())
	}
}

func third[A, B any](_ A, _ B, err error) error { return err }

// TestLargeStatements sends more than the kernel takes at once, and more than one packet
// holds: the reply's packets go on counting from the statement's.
func TestLargeStatements(t *testing.T) {
	for _, size := range []int{1 << 20, maxPayload - 2, maxPayload - 1, maxPayload + 5} {
		c, peer := pair(t)
		sql := bytes.Repeat([]byte("SELECT"), size/6+1)[:size]
		if err := c.SendQuery(sql); err != nil {
			t.Fatal(err)
		}
		if !c.WantWrite() {
			t.Fatalf("%d bytes: all sent at once; the test is too small", size)
		}
		want := split(nil, append([]byte{comQuery}, sql...))
		var got []byte
		buf := make([]byte, 1<<20)
		for stalls := 0; len(got) < len(want) && stalls < 10; stalls++ {
			for {
				n, _ := recv(peer, buf)
				if n == 0 {
					break
				}
				got, stalls = append(got, buf[:n]...), 0
			}
			if done, _, err := c.Receive(); done || err != nil {
				t.Fatal(done, err)
			}
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes: got %d bytes in packets, want %d", size, len(got), len(want))
		}
		seq := byte(1 + (size+1)/maxPayload)
		send(peer, packets(seq, okay(0, 0, 2)))
		if done, _, err := c.Receive(); !done || err != nil || c.WantWrite() {
			t.Errorf("%d bytes: done %v, error %v, more to write %v", size, done, err, c.WantWrite())
		}
	}
}

// TestEarlyAnswer: a server that answers before it has read the statement leaves no way on.
func TestEarlyAnswer(t *testing.T) {
	c, peer := pair(t)
	if err := c.SendQuery(make([]byte, 4<<20)); err != nil {
		t.Fatal(err)
	}
	send(peer, packets(1, refusal(1153, "08S01", "packet bigger than max_allowed_packet")))
	done, r, err := c.Receive()
	if !done || r.Code != 1153 || !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "bigger than max_allowed_packet") {
		t.Errorf("got done %v, code %d, error %v, want code 1153 and ErrGone with the server's reason", done, r.Code, err)
	}
}

// TestGone holds what is made of a server that goes away.
func TestGone(t *testing.T) {
	t.Run("in mid-reply", func(t *testing.T) {
		c, peer := pair(t)
		c.SendQuery([]byte("SELECT 1"))
		send(peer, packets(1, []byte{1}, column("c"), eof(2), values("a")))
		if done, _, err := c.Receive(); done || err != nil {
			t.Fatal(done, err)
		}
		unix.Shutdown(peer, unix.SHUT_RDWR)
		if _, _, err := c.Receive(); !errors.Is(err, ErrGone) || !errors.Is(err, io.EOF) {
			t.Errorf("got %v, want ErrGone", err)
		}
		if err := c.SendQuery(nil); !errors.Is(err, ErrGone) {
			t.Errorf("afterwards: got %v, want ErrGone", err)
		}
	})
	t.Run("with last words", func(t *testing.T) {
		c, peer := pair(t)
		send(peer, packets(0, refusal(4031, "HY000", "idle for too long")))
		unix.Shutdown(peer, unix.SHUT_RDWR)
		if err := c.SendQuery([]byte("SELECT 1")); err != nil {
			t.Fatal(err)
		}
		done, r, err := c.Receive()
		if !done || r.Code != 4031 || !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), "idle for too long") {
			t.Errorf("got done %v, code %d, error %v", done, r.Code, err)
		}
	})
	t.Run("before", func(t *testing.T) {
		c, peer := pair(t)
		unix.Shutdown(peer, unix.SHUT_RDWR)
		if _, err := c.Query("SELECT 1"); !errors.Is(err, ErrGone) {
			t.Errorf("got %v, want ErrGone", err)
		}
	})
	t.Run("refusal in between", func(t *testing.T) {
		c, peer := pair(t)
		send(peer, packets(1, refusal(1317, "70100", "interrupted")))
		if r, err := c.Query("SELECT 1"); err != nil || r.Code != 1317 {
			t.Fatalf("got %v, %v", r, err)
		}
		unix.Shutdown(peer, unix.SHUT_RDWR)
		if _, err := c.Query("SELECT 1"); !errors.Is(err, ErrGone) {
			t.Errorf("got %v, want ErrGone", err)
		}
	})
}

// TestTrailing: bytes behind a reply would be taken for the next one.
func TestTrailing(t *testing.T) {
	for name, ask := range map[string]func(c *Conn) error{
		"query": func(c *Conn) error { _, err := c.Query("DO 0"); return err },
		"rows":  func(c *Conn) error { return third2(c.Rows("DO 0")) },
	} {
		c, peer := pair(t)
		send(peer, append(packets(1, okay(0, 0, 2)), 1))
		err := ask(c)
		if p := (*ProtocolError)(nil); !errors.As(err, &p) || p.Expected != "the end of the reply" {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func third2[A, B any](_ A, _ B, err error) error { return err }

func TestRows(t *testing.T) {
	c, peer := pair(t)
	send(peer, packets(1, okay(0, 1, 2|statusMoreResults), []byte{2}, column("a"), column("b"), eof(2),
		values("1", Null), values("", "ü"), eof(2|statusMoreResults), []byte{1}, column("ignored"), eof(2), values("x"), eof(2)))
	cols, rows, err := c.Rows("CALL p()")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a", "b"}, cols); d != "" {
		t.Errorf("columns (-want +got):\n%s", d)
	}
	if d := cmp.Diff([][]string{{"1", Null}, {"", "ü"}}, rows); d != "" {
		t.Errorf("rows (-want +got):\n%s", d)
	}
	send(peer, packets(1, refusal(1146, "42S02", "no table")))
	_, _, err = c.Rows("SELECT * FROM nowhere")
	var e *ServerError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *ServerError", err)
	}
	if d := cmp.Diff(&ServerError{Code: 1146, State: "42S02", Message: "no table", Statement: "SELECT * FROM nowhere"}, e); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// A refusal leaves the connection in order, a malformed row does not.
	send(peer, packets(1, []byte{1}, column("a"), eof(2), values("1", "2"), eof(2)))
	if _, _, err := c.Rows("SELECT 1"); err == nil || !strings.Contains(err.Error(), "expected a row of 1 values") {
		t.Errorf("a row of two values for one column: got %v", err)
	}
	if err := c.SendQuery(nil); err == nil {
		t.Error("the connection goes on after a malformed row")
	}
}

// TestRoom: rows are refused when they outgrow what a caller can be expected to hold.
func TestRoom(t *testing.T) {
	c, peer := pair(t)
	c.start()
	c.seq = 1
	send(peer, packets(1, append([][]byte{{1}, column("a"), eof(2)}, slicesOf(100, values("0123456789"))...)...))
	room := 1000 // a row takes 11 bytes, and 16 and 24 of Go's own
	if _, _, _, err := c.resultSet("", &room); err == nil || !strings.Contains(err.Error(), "the rows are larger") {
		t.Errorf("got %v", err)
	}
}

// TestPatience: whatever a server does, a blocking call ends.
func TestPatience(t *testing.T) {
	dir := t.TempDir()
	for name, serve := range map[string]func(net.Conn){
		"silent":   func(net.Conn) {},
		"dribbles": func(c net.Conn) { drip(c, []byte("\x50\x00\x00\x00\x0a")) },
		"babbles":  func(c net.Conn) { drip(c, bytes.Repeat([]byte{1, 0, 0, 0, 10}, 1000)) },
	} {
		path := filepath.Join(dir, name)
		listen(t, path, serve)
		began := time.Now()
		_, err := Dial(t.Context(), Options{Network: "unix", Address: path, User: "u", Password: "swordfish", Timeout: 80 * time.Millisecond})
		var h *HandshakeError
		if !errors.As(err, &h) {
			t.Errorf("%s: got %v, want a *HandshakeError", name, err)
		}
		if name != "babbles" && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: got %v, want a timeout", name, err)
		}
		if strings.Contains(err.Error(), "swordfish") {
			t.Errorf("%s: the error has the password: %v", name, err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("%s: took %s", name, took)
		}
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		began := time.Now()
		_, err := Dial(ctx, Options{Network: "unix", Address: filepath.Join(dir, "silent")})
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) > 2*time.Second {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, stop)
		_, err = Dial(ctx, Options{Network: "unix", Address: filepath.Join(dir, "silent")})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	})
	t.Run("query", func(t *testing.T) {
		c, _ := pair(t)
		c.SetTimeout(30 * time.Millisecond)
		_, err := c.Query("SELECT SLEEP(9)")
		if !errors.Is(err, os.ErrDeadlineExceeded) || c.SendQuery(nil) == nil {
			t.Errorf("got %v, want a timeout, and a connection of no more use", err)
		}
	})
}

// drip writes a byte a millisecond until that fails.
func drip(c net.Conn, b []byte) {
	for i := range b {
		if _, err := c.Write(b[i : i+1]); err != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// listen serves every connection to a unix socket until the test ends.
func listen(t testing.TB, path string, serve func(net.Conn)) {
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		l.Close()
		close(ended)
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				serve(c)
				<-ended
				c.Close()
			}()
		}
	}()
}

func TestOptionsHidePassword(t *testing.T) {
	o := Options{Network: "tcp", Address: "db:3306", User: "me", Password: "swordfish"}
	if got, want := fmt.Sprintf("%v %+v", o, o), `tcp:db:3306 as user "me" tcp:db:3306 as user "me"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUnreachable(t *testing.T) {
	for _, x := range []struct{ o, want string }{
		{"unix:/nowhere/socket", "connect to unix:/nowhere/socket: no such file or directory"},
		{"unix:" + strings.Repeat("x", 108), "the path has 108 bytes"},
		{"tcp:127.0.0.1:1", "connect to tcp:127.0.0.1:1: connection refused"},
		{"tcp:127.0.0.1", "missing port"},
		{"pipe:x", `network "pipe" is neither unix nor tcp`},
	} {
		network, address, _ := strings.Cut(x.o, ":")
		_, err := Dial(t.Context(), Options{Network: network, Address: address, Timeout: time.Second})
		var h *HandshakeError
		if err == nil || !strings.Contains(err.Error(), x.want) || errors.As(err, &h) {
			t.Errorf("%s: got %v, want %s", x.o, err, x.want)
		}
	}
}
