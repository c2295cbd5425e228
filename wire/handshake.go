package wire

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
)

// Capabilities of the protocol. Those of MariaDB alone lie above bit 31.
const (
	capMySQL            = 1 << 0 // a server without it speaks MariaDB's extension
	capLongFlag         = 1 << 2
	capSchema           = 1 << 3
	capProtocol41       = 1 << 9
	capTLS              = 1 << 11
	capTransactions     = 1 << 13
	capSecure           = 1 << 15
	capMultiStatements  = 1 << 16
	capMultiResults     = 1 << 17
	capPSMultiResults   = 1 << 18
	capPluginAuth       = 1 << 19
	capLongAuth         = 1 << 21
	capSessionTrack     = 1 << 23
	capDeprecateEOF     = 1 << 24
	capExtendedMetadata = 1 << 35
	capCacheMetadata    = 1 << 36
)

// wanted is what libmariadb asks for, as captured from sysbench, less what never changes
// a reply that this client reads: attributes, bulk execution, progress reports. And less
// the reading of local files, which no server may ask of us.
const wanted = capMySQL | capLongFlag | capProtocol41 | capTransactions | capSecure | capMultiStatements |
	capMultiResults | capPSMultiResults | capPluginAuth | capLongAuth | capSessionTrack |
	capExtendedMetadata | capCacheMetadata

const utf8mb4 = 45 // utf8mb4_general_ci: known to every version, and what libmariadb asks for

// greeting is the first packet of a server.
type greeting struct {
	version string
	thread  uint32
	caps    uint64
	salt    []byte
	plugin  string
}

func parseGreeting(b []byte) (greeting, error) {
	var g greeting
	bad := malformed("a greeting of protocol version 10", b)
	if len(b) < 1 || b[0] != 10 {
		return g, bad
	}
	version, rest, ok := bytes.Cut(b[1:], []byte{0})
	// thread 4, salt 8, filler 1, capabilities 2, collation 1, status 2, capabilities 2,
	// salt's length 1, filler 6, capabilities of MariaDB 4
	if !ok || len(rest) < 31 {
		return g, bad
	}
	// MariaDB before 11 hides its number from old replicas behind another.
	g.version = strings.TrimPrefix(string(version), "5.5.5-")
	g.thread = binary.LittleEndian.Uint32(rest)
	g.caps = uint64(binary.LittleEndian.Uint16(rest[13:])) | uint64(binary.LittleEndian.Uint16(rest[18:]))<<16
	if g.caps&capMySQL == 0 {
		g.caps |= uint64(binary.LittleEndian.Uint32(rest[27:])) << 32
	}
	g.salt = append(g.salt, rest[4:12]...)
	second := rest[31:]
	n := max(13, int(rest[20])-8) // the last byte is 0 and no salt
	if len(second) < n {
		return g, bad
	}
	g.salt = append(g.salt, second[:n-1]...)
	if name, _, _ := bytes.Cut(second[n:], []byte{0}); g.caps&capPluginAuth != 0 {
		g.plugin = string(name)
	}
	const needed = capProtocol41 | capSecure
	if g.caps&needed != needed {
		return g, errors.New("the server speaks only the protocol of MySQL 4.0 and older")
	}
	return g, nil
}

// handshake turns a connected socket into a session.
func (c *Conn) handshake(o Options) error {
	b, err := c.readPacket(maxReply)
	if err != nil {
		return fmt.Errorf("read the greeting: %w", err)
	}
	if len(b) > 0 && b[0] == headError { // too many connections, host refused
		return serverError(b, "")
	}
	if c.hello, err = parseGreeting(b); err != nil {
		return err
	}
	c.caps = c.agreed(o)
	if o.TLS != nil {
		if err := c.startTLS(o.TLS, o); err != nil {
			return err
		}
	}
	return c.authenticate(o)
}

// agreed returns the capabilities that both sides have.
func (c *Conn) agreed(o Options) uint64 {
	want := uint64(wanted)
	if o.Schema != "" {
		want |= capSchema
	}
	if o.DeprecateEOF {
		want |= capDeprecateEOF
	}
	if o.TLS != nil {
		want |= capTLS
	}
	return want & c.hello.caps
}

// startTLS asks the server to go on in TLS, and does.
func (c *Conn) startTLS(config *tls.Config, o Options) error {
	if c.hello.caps&capTLS == 0 {
		return errors.New("TLS was asked for and this server offers none: connect without, or give the server a certificate")
	}
	if c.r != c.w {
		return &ProtocolError{"silence before TLS", fmt.Sprint(c.w-c.r, " bytes")}
	}
	c.reply(c.preamble(nil))
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(o.Address)
	}
	if err := c.finishSend(); err != nil {
		return err
	}
	c.blocking = true
	t := tls.Client(fdConn{c}, config)
	if err := t.Handshake(); err != nil {
		return fmt.Errorf("TLS: %w", err)
	}
	c.blocking, c.tls = false, t
	return nil
}

// preamble appends what a request for TLS and a login have in common.
func (c *Conn) preamble(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(c.caps))
	b = binary.LittleEndian.AppendUint32(b, maxSend)
	b = append(b, utf8mb4)
	b = append(b, make([]byte, 19)...)
	return binary.LittleEndian.AppendUint32(b, uint32(c.caps>>32))
}

// login is the packet that says who we are, with the first move of a plugin.
func (c *Conn) login(o Options, plugin string, move []byte) []byte {
	b := c.preamble(nil)
	b = append(append(b, o.User...), 0)
	if c.caps&capLongAuth != 0 {
		b = appendLength(b, len(move))
	} else {
		b = append(b, byte(len(move))) // native and caching_sha2 moves have at most 32 bytes
	}
	b = append(b, move...)
	if c.caps&capSchema != 0 {
		b = append(append(b, o.Schema...), 0)
	}
	if c.caps&capPluginAuth != 0 {
		b = append(append(b, plugin...), 0)
	}
	return b
}

// reply sends payload as the next packet of the handshake.
func (c *Conn) reply(payload []byte) {
	b := append(make([]byte, headerSize, headerSize+len(payload)), payload...)
	putHeader(b, c.seq)
	c.seq++
	c.send(b)
}

// finishSend waits until nothing is pending.
func (c *Conn) finishSend() error {
	for len(c.pending) > 0 {
		if err := c.wait(); err != nil {
			return err
		}
	}
	return nil
}

// serverError is the error that an error packet carries, or why it is none.
func serverError(b []byte, statement string) error {
	e, err := parseError(b)
	if err != nil {
		return err
	}
	e.Statement = statement
	return e
}
