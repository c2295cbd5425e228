package wire

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnasked: a connection that waits for its next statement ends with what the server did
// to it, not with a complaint about its user.
func TestUnasked(t *testing.T) {
	for _, x := range []struct {
		name string
		said []byte
		gone bool
		want string
	}{
		{"closed", nil, true, "EOF"},
		{"told why", packets(0, refusal(4031, "HY000", "The client was disconnected by the server because of inactivity")), true, "4031 (HY000): The client was disconnected"},
		{"babble", packets(0, okay(headOK, 0, 2)), false, "expected nothing, since no statement is under way"},
		{"half a header", []byte{1, 2}, false, "expected nothing"},
	} {
		c, peer := pair(t)
		send(peer, x.said)
		unix.Shutdown(peer, unix.SHUT_WR)
		done, _, err := c.Receive()
		if done || err == nil || errors.Is(err, ErrGone) != x.gone || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: done %t, error %v; want %s, gone %t", x.name, done, err, x.want, x.gone)
		}
		if again := c.SendQuery([]byte("SELECT 1")); again != err {
			t.Errorf("%s: the next statement says %v, not %v", x.name, again, err)
		}
	}
}
