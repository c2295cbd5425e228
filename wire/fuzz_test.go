package wire

import (
	"bytes"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"backslide/lab"
)

// TestOversized: what a header announces is not taken for granted.
func TestOversized(t *testing.T) {
	c, peer := pair(t)
	send(peer, []byte{0xfe, 0xff, 0xff, 1, 0}) // 16 MB announced, one byte sent
	unix.Shutdown(peer, unix.SHUT_WR)
	if _, _, err := c.Prepare("SELECT 1"); err == nil || cap(c.packet) > 1<<20 {
		t.Errorf("got error %v and %d bytes of memory, want an error and little", err, cap(c.packet))
	}
}

// FuzzServer lets arbitrary bytes be the server of everything that the client can do.
// Whatever they are, each call returns soon, and takes memory in proportion.
func FuzzServer(f *testing.F) {
	for _, x := range transcripts() {
		if len(x.reply) < 1000 {
			f.Add(x.reply)
		}
	}
	f.Add(packets(0, hello("9.7.0", mysqlCaps, 0, pluginSHA2)))
	f.Add(packets(0, hello("9.7.0", mysqlCaps|capTLS, 0, pluginSHA2)))
	f.Add(append(packets(0, hello("9.7.0", mysqlCaps, 0, pluginNative)), packets(2, append([]byte{headEOF}, "mysql_native_password\x0012345678901234567890\x00"...), okay(0, 0, 2))...))
	f.Add(append(packets(0, hello("9.7.0", mysqlCaps, 0, pluginSHA2)), packets(2, []byte{headMore, sha2Wanted}, append([]byte{headMore}, "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"...))...))
	f.Add(packets(1, []byte{0, 1, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0}, column("?"), column("?"), eof(2), column("c"), eof(2)))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = b[:min(len(b), 64<<10)]
		for _, o := range []Options{{Network: "unix"}, {Network: "tcp", Password: "p", Schema: "s"}} {
			against(t, b, func(c *Conn) { c.session(t.Context(), o) })
		}
		for flags := range 4 {
			set := func(c *Conn) { c.skip.cached, c.skip.okEnds = flags&1 != 0, flags&2 != 0 }
			against(t, b, func(c *Conn) {
				set(c)
				if s, params, err := c.Prepare("SELECT ?"); err == nil {
					c.Exec(s, make([]lab.Arg, params))
				}
			})
			against(t, b, func(c *Conn) {
				set(c)
				c.Rows("SELECT 1")
				c.Query("SELECT 1")
				c.Query("SELECT 1")
			})
		}
	})
}

// against runs a client against a server that sends b and hangs up.
func against(t *testing.T, b []byte, run func(*Conn)) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[1])
	c := &Conn{fd: fds[0], timeout: 10 * time.Second, in: bytes.Repeat([]byte{0xaa}, 4096)}
	defer c.Close()
	if n, _ := send(fds[1], b); n != len(b) {
		t.Fatalf("the socket took %d of %d bytes", n, len(b))
	}
	unix.Shutdown(fds[1], unix.SHUT_WR)
	began := time.Now()
	c.start()
	run(c)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	if n := cap(c.packet) + cap(c.out) + cap(c.pending); n > 1<<20 {
		t.Errorf("%d bytes of buffers for %d bytes of input", n, len(b))
	}
}
