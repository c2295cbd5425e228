package wire

import (
	"testing"

	"golang.org/x/sys/unix"

	"backslide/lab"
)

// pair returns a connection as after its handshake, and the other end of its socket.
func pair(t testing.TB) (*Conn, int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := &Conn{fd: fds[0], timeout: defaultTimeout, in: make([]byte, inputBuffer)}
	t.Cleanup(func() {
		c.Close()
		unix.Close(fds[1])
	})
	return c, fds[1]
}

// pointReply is how a MariaDB server that leaves out known metadata answers a point query
// of one column of 120 bytes: a number of columns, an end of nothing, a row, an end.
func pointReply() []byte {
	row := append([]byte{0, 0, 119}, make([]byte, 119)...)
	return packets(1, []byte{1, 0}, eof(2), row, eof(2))
}

// packets frames payloads, numbered from seq.
func packets(seq byte, payloads ...[]byte) []byte {
	var b []byte
	for _, p := range payloads {
		b = append(b, byte(len(p)), byte(len(p)>>8), byte(len(p)>>16), seq)
		b = append(b, p...)
		seq++
	}
	return b
}

func eof(status byte) []byte { return []byte{headEOF, 0, 0, status, 0} }

// hot returns functions that run one operation against a peer in the same goroutine.
func hot(t testing.TB) (execute, query, bare func()) {
	c, peer := pair(t)
	c.skip.cached = true
	c.stmts = []*statement{newStatement("SELECT c FROM t WHERE id = ?", 1, 1)}
	reply, in := pointReply(), make([]byte, 4096)
	args := []lab.Arg{{Int: 1}}
	answer := func() {
		if n, _ := recv(peer, in); n == 0 {
			t.Fatal("the peer got nothing")
		}
		send(peer, reply)
	}
	finish := func() {
		if done, r, err := c.Receive(); !done || err != nil || r.Rows != 1 {
			t.Fatal(done, r, err)
		}
	}
	execute = func() {
		args[0].Int++
		if err := c.SendExecute(0, args); err != nil {
			t.Fatal(err)
		}
		answer()
		finish()
	}
	sql := []byte("SELECT c FROM t WHERE id = 12345")
	query = func() {
		if err := c.SendQuery(sql); err != nil {
			t.Fatal(err)
		}
		answer()
		finish()
	}
	packet := newStatement("", 1, 1).packet
	bare = func() {
		send(c.fd, packet)
		answer()
		recv(c.fd, in)
	}
	return execute, query, bare
}

func TestNoAllocation(t *testing.T) {
	execute, query, _ := hot(t)
	for name, op := range map[string]func(){"execute": execute, "query": query} {
		op() // grows buffers
		if n := testing.AllocsPerRun(1000, op); n != 0 {
			t.Errorf("%s: %v allocations per operation, want 0", name, n)
		}
	}
}

// BenchmarkOperation shows what this package costs beside the system calls (bare).
func BenchmarkOperation(b *testing.B) {
	execute, query, bare := hot(b)
	for _, x := range []struct {
		name string
		op   func()
	}{{"execute", execute}, {"query", query}, {"bare", bare}} {
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.op()
			}
		})
	}
}
