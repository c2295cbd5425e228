package wire

import (
	"encoding/binary"
	"fmt"
)

// Sizes of the protocol, in bytes, and what this client accepts.
const (
	headerSize  = 4         // three bytes of length, one of sequence number
	maxPayload  = 1<<24 - 1 // of one packet; a packet this long is continued by the next
	maxSend     = 1 << 30   // of one statement: the most that any server's max_allowed_packet allows
	maxReply    = 64 << 10  // of one packet of a handshake or of metadata
	maxDecoded  = 256 << 20 // of all rows of one call of Rows
	maxColumns  = 1 << 16
	maxKept     = 1 << 20 // buffers that grew beyond are given up after use
	inputBuffer = 32 << 10
)

// Commands.
const (
	comQuit      = 0x01
	comQuery     = 0x03
	comPrepare   = 0x16
	comExecute   = 0x17
	comStmtClose = 0x19
)

// First bytes of replies.
const (
	headOK        = 0x00
	headMore      = 0x01 // authentication goes on
	headFactor    = 0x02 // a second factor is asked for
	headLocalFile = 0xfb // the server asks for a file; in a row: NULL
	headEOF       = 0xfe // in a handshake: another plugin is asked for
	headError     = 0xff
)

const statusMoreResults = 0x0008

// putHeader writes the header of a packet at the start of b, for the payload behind it.
func putHeader(b []byte, seq byte) {
	n := len(b) - headerSize
	b[0], b[1], b[2], b[3] = byte(n), byte(n>>8), byte(n>>16), seq
}

// split appends to dst the packets of a payload that is too long for one.
func split(dst, payload []byte) []byte {
	for seq := byte(0); ; seq++ {
		n := min(len(payload), maxPayload)
		dst = append(dst, byte(n), byte(n>>8), byte(n>>16), seq)
		dst = append(dst, payload[:n]...)
		payload = payload[n:]
		if n < maxPayload {
			return dst
		}
	}
}

// appendLength appends n in the protocol's length encoding.
func appendLength(b []byte, n int) []byte {
	switch {
	case n < 251:
		return append(b, byte(n))
	case n < 1<<16:
		return append(b, 0xfc, byte(n), byte(n>>8))
	case n < 1<<24:
		return append(b, 0xfd, byte(n), byte(n>>8), byte(n>>16))
	}
	return binary.LittleEndian.AppendUint64(append(b, 0xfe), uint64(n))
}

// length reads a length-encoded integer and returns what follows it. NULL is not a length.
func length(b []byte) (n uint64, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, false
	}
	size := 0
	switch {
	case b[0] < 0xfb:
		return uint64(b[0]), b[1:], true
	case b[0] == 0xfc:
		size = 2
	case b[0] == 0xfd:
		size = 3
	case b[0] == 0xfe:
		size = 8
	}
	if size == 0 || len(b) < 1+size {
		return 0, nil, false
	}
	for i := size; i > 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	return n, b[1+size:], true
}

// text reads a length-encoded string, which aliases b, and returns what follows it.
func text(b []byte) (s, rest []byte, ok bool) {
	n, rest, ok := length(b)
	if !ok || n > uint64(len(rest)) {
		return nil, nil, false
	}
	return rest[:n], rest[n:], true
}

// parseOK reads an OK packet, or an OK packet that ends rows.
func parseOK(b []byte) (affected uint64, status uint16, err error) {
	affected, rest, ok := length(b[1:])
	if ok {
		_, rest, ok = length(rest) // last insert id
	}
	if !ok || len(rest) < 2 {
		return 0, 0, malformed("an OK packet", b)
	}
	return affected, binary.LittleEndian.Uint16(rest), nil
}

// parseEOF reads an end-of-rows packet of the older convention.
func parseEOF(b []byte) (status uint16, err error) {
	if len(b) != 5 {
		return 0, malformed("an EOF packet", b)
	}
	return binary.LittleEndian.Uint16(b[3:]), nil
}

// parseError reads an error packet. Before the handshake servers send no SQLSTATE.
func parseError(b []byte) (*ServerError, error) {
	if len(b) < 3 {
		return nil, malformed("an error packet", b)
	}
	e := &ServerError{Code: int(binary.LittleEndian.Uint16(b[1:]))}
	rest := b[3:]
	if len(rest) >= 6 && rest[0] == '#' {
		e.State, rest = string(rest[1:6]), rest[6:]
	}
	e.Message = string(rest)
	if e.Code == 0 {
		return nil, malformed("an error packet with a number", b)
	}
	return e, nil
}

// readPacket returns the payload of the next packet, continuations joined, of at most
// limit bytes. It is valid until the next call. Memory is taken as bytes arrive, not as
// the header announces them.
func (c *Conn) readPacket(limit int) ([]byte, error) {
	if cap(c.packet) > maxKept {
		c.packet = nil
	}
	c.packet = c.packet[:0]
	for {
		for c.w-c.r < headerSize {
			if err := c.fill(); err != nil {
				return nil, err
			}
		}
		h := c.in[c.r:]
		n, seq := int(h[0])|int(h[1])<<8|int(h[2])<<16, h[3]
		c.r += headerSize
		if len(c.packet)+n > limit {
			return nil, &ProtocolError{fmt.Sprintf("a packet of at most %d bytes", limit), fmt.Sprint(len(c.packet)+n, " bytes")}
		}
		for left := n; left > 0; {
			if c.r == c.w {
				if err := c.fill(); err != nil {
					return nil, err
				}
			}
			k := min(left, c.w-c.r)
			c.packet = append(c.packet, c.in[c.r:c.r+k]...)
			c.r += k
			left -= k
		}
		if want := c.seq; seq != want && (len(c.packet) == 0 || c.packet[0] != headError) {
			return nil, &ProtocolError{fmt.Sprintf("packet %d", want), fmt.Sprintf("packet %d", seq)}
		}
		c.seq = seq + 1
		if n < maxPayload {
			return c.packet, nil
		}
	}
}

// fill waits until there is more input behind c.w.
func (c *Conn) fill() error {
	if c.r > 0 {
		c.w = copy(c.in, c.in[c.r:c.w])
		c.r = 0
	}
	for {
		if err := c.expired(); err != nil {
			return err
		}
		n, err := c.read(c.in[c.w:])
		if n > 0 {
			c.w += n
			return nil
		}
		if err != (again{}) {
			return err
		}
		if err := c.wait(); err != nil {
			return err
		}
	}
}
