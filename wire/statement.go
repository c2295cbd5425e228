package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"backslide/lab"
)

// Column types of the protocol that arguments are sent as.
const (
	typeBigint  = 0x08
	typeVarchar = 0xfd
)

// statement is a prepared statement and the packet that executes it.
type statement struct {
	sql    string
	id     uint32
	params int
	flag   int    // offset in packet of the byte that says whether types follow
	packet []byte // as sent last; everything before flag stays
	text   []bool // by parameter, the type sent last
	typed  bool   // the server knows the types in text
	closed bool
}

// Prepare prepares a statement on the server and returns its handle, counted from 0, and
// its number of parameters. It blocks. A refusal is a *ServerError.
func (c *Conn) Prepare(sql string) (stmt, params int, err error) {
	if err := c.command(comPrepare, sql); err != nil {
		return 0, 0, err
	}
	s, err := c.prepared(sql)
	if err != nil {
		return 0, 0, c.after("prepare", err)
	}
	c.stmts = append(c.stmts, s)
	return len(c.stmts) - 1, s.params, nil
}

// command begins a blocking call with one command.
func (c *Conn) command(com byte, arg string) error {
	if err := c.ready(); err != nil {
		return err
	}
	c.out = append(append(c.out[:0], 0, 0, 0, 0, com), arg...)
	c.start()
	c.r, c.w = 0, 0
	return c.dispatch(c.out)
}

// after keeps a connection whose server refused a statement in order, and gives up any
// other.
func (c *Conn) after(doing string, err error) error {
	if c.r != c.w && !errors.Is(err, ErrGone) {
		err = errors.Join(err, &ProtocolError{"the end of the reply", fmt.Sprint(c.w-c.r, " more bytes")})
		return c.fail(fmt.Errorf("%s: %w", doing, err))
	}
	if len(c.pending) > 0 {
		err = errors.Join(err, gone(errUnread))
		return c.fail(fmt.Errorf("%s: %w", doing, err))
	}
	if e := (*ServerError)(nil); errors.As(err, &e) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return c.fail(fmt.Errorf("%s: %w", doing, err))
}

// prepared reads the reply to a request to prepare.
func (c *Conn) prepared(sql string) (*statement, error) {
	b, err := c.readPacket(maxReply)
	switch {
	case err != nil:
		return nil, err
	case len(b) > 0 && b[0] == headError:
		return nil, serverError(b, sql)
	case len(b) < 9 || b[0] != headOK:
		return nil, malformed("a prepared statement", b)
	}
	id, columns, params := binary.LittleEndian.Uint32(b[1:]), binary.LittleEndian.Uint16(b[5:]), binary.LittleEndian.Uint16(b[7:])
	for _, n := range [2]uint16{params, columns} {
		if err := c.skipMetadata(int(n)); err != nil {
			return nil, err
		}
	}
	return newStatement(sql, id, int(params)), nil
}

// skipMetadata reads n definitions and what ends them.
func (c *Conn) skipMetadata(n int) error {
	if n == 0 {
		return nil
	}
	for range n {
		b, err := c.readPacket(maxReply)
		if err != nil {
			return err
		}
		if len(b) == 0 || b[0] >= headLocalFile {
			return malformed("a definition", b)
		}
	}
	return c.skipMiddle()
}

// skipMiddle reads the packet that ends definitions, if there is to be one.
func (c *Conn) skipMiddle() error {
	if c.skip.okEnds {
		return nil
	}
	b, err := c.readPacket(maxReply)
	if err != nil {
		return err
	}
	return parseMiddle(b)
}

func newStatement(sql string, id uint32, params int) *statement {
	s := &statement{sql: sql, id: id, params: params, text: make([]bool, params)}
	b := append(make([]byte, headerSize, 64), comExecute)
	b = binary.LittleEndian.AppendUint32(b, id)
	b = append(b, 0)          // no cursor
	b = append(b, 1, 0, 0, 0) // once
	if params > 0 {
		b = append(b, make([]byte, (params+7)/8)...) // which are NULL: none
	}
	s.flag, s.packet = len(b), b
	return s
}

// SendExecute starts a prepared statement with as many arguments as it has parameters.
// They are copied. Nothing is allocated once packets of that size have been sent.
func (c *Conn) SendExecute(stmt int, args []lab.Arg) error {
	if err := c.ready(); err != nil {
		return err
	}
	s, err := c.statement(stmt)
	if err != nil {
		return err
	}
	if len(args) != s.params {
		return fmt.Errorf("%d arguments for the %d parameters of %s", len(args), s.params, clip(s.sql, 200))
	}
	b := s.packet[:s.flag]
	same := s.params == 0 || s.same(args)
	if s.params > 0 {
		if same {
			b = append(b, 0)
		} else {
			b = s.appendTypes(append(b, 1), args)
		}
		for i := range args {
			b = appendArg(b, &args[i])
		}
	}
	s.packet = b
	if err := c.begin(b); err != nil {
		return err
	}
	if !same {
		c.typed = s
	}
	return nil
}

func (c *Conn) statement(stmt int) (*statement, error) {
	if stmt < 0 || stmt >= len(c.stmts) || c.stmts[stmt].closed {
		return nil, fmt.Errorf("no prepared statement has the handle %d on this connection", stmt)
	}
	return c.stmts[stmt], nil
}

// same says that the server knows the types of args.
func (s *statement) same(args []lab.Arg) bool {
	if !s.typed {
		return false
	}
	for i := range args {
		if args[i].IsText != s.text[i] {
			return false
		}
	}
	return true
}

// appendTypes appends the types of args. Until the server has accepted them they are not
// known: an error may have come before it looked.
func (s *statement) appendTypes(b []byte, args []lab.Arg) []byte {
	s.typed = false
	for i := range args {
		s.text[i] = args[i].IsText
		if s.text[i] {
			b = append(b, typeVarchar, 0)
		} else {
			b = append(b, typeBigint, 0)
		}
	}
	return b
}

func appendArg(b []byte, a *lab.Arg) []byte {
	if a.IsText {
		return append(appendLength(b, len(a.Text)), a.Text...)
	}
	return binary.LittleEndian.AppendUint64(b, uint64(a.Int))
}

// SendQuery starts a text statement, or several divided by semicolons. It is copied.
func (c *Conn) SendQuery(sql []byte) error {
	if err := c.ready(); err != nil {
		return err
	}
	c.out = append(append(c.out[:0], 0, 0, 0, 0, comQuery), sql...)
	return c.begin(c.out)
}

// begin sends a statement, header included, whose reply Receive will read.
func (c *Conn) begin(b []byte) error {
	if err := c.dispatch(b); err != nil {
		return err
	}
	c.busy = true
	c.skip.begin(c.seq)
	return nil
}

// dispatch sends a command, header included, and notes the number of the reply's first
// packet.
func (c *Conn) dispatch(b []byte) error {
	n := len(b) - headerSize
	if n > maxSend {
		return fmt.Errorf("a statement of %d bytes: no server takes more than %d", n, maxSend)
	}
	if n < maxPayload {
		putHeader(b, 0)
		c.send(b)
		c.seq = 1
		return nil
	}
	c.send(split(nil, b[headerSize:]))
	c.seq = byte(n/maxPayload + 1)
	return nil
}

// maxReads bounds the work of one Receive, so that the caller's loop goes round.
const maxReads = 64

// Receive takes in what there is of the reply, without waiting. done means that it was
// all of it, every result set included. An error means that the connection is of no more
// use; it wraps ErrGone if the server ended it, and then the reply still says the
// server's reason if it gave one.
func (c *Conn) Receive() (done bool, r lab.Reply, err error) {
	if c.err != nil {
		return false, r, c.err
	}
	if !c.busy {
		return false, r, c.unasked()
	}
	if len(c.pending) > 0 {
		c.flush()
	}
	for reads := 1; ; reads++ {
		n, err := c.read(c.in)
		if err != nil {
			c.dry = false
			if err == (again{}) {
				return false, r, nil
			}
			return false, r, c.fail(err)
		}
		used, done, err := c.skip.feed(c.in[:n])
		if err == nil && done && used < n {
			err = &ProtocolError{"the end of the reply", fmt.Sprint(n-used, " more bytes")}
		}
		switch {
		case err != nil:
			return false, r, c.fail(err)
		case done:
			c.dry = false
			return c.finish()
		case c.tls != nil:
			c.dry = reads >= maxReads // what TLS holds no poll would tell of
		case n < len(c.in) || reads >= maxReads:
			return false, r, nil
		}
	}
}

// unasked says what there is to read although no statement is under way: as a rule the end
// of the connection, perhaps with the server's reason.
func (c *Conn) unasked() error {
	n, err := c.read(c.in)
	switch {
	case err == (again{}):
		return errors.New("no statement is under way on this connection")
	case err != nil:
		return c.fail(err)
	}
	c.skip.begin(c.in[min(3, n-1)])
	if _, done, err := c.skip.feed(c.in[:n]); err == nil && done && c.skip.reply.Code != 0 {
		return c.fail(gone(refused(c.skip.reply)))
	}
	return c.fail(malformed("nothing, since no statement is under way", c.in[:n]))
}

// refused is a reply that is an error, as an error.
func refused(r lab.Reply) *ServerError {
	return &ServerError{Code: r.Code, State: r.State, Message: r.Message}
}

// finish ends a statement whose reply is whole.
func (c *Conn) finish() (bool, lab.Reply, error) {
	r := c.skip.reply
	c.busy = false
	if c.typed != nil {
		c.typed.typed = r.Code == 0
		c.typed = nil
	}
	if cap(c.out) > maxKept {
		c.out = nil
	}
	switch unread := len(c.pending) > 0; {
	case r.Code != 0 && last(r.Code):
		return true, r, c.fail(gone(refused(r)))
	case unread && r.Code != 0:
		return true, r, c.fail(gone(fmt.Errorf("%w: %w", errUnread, refused(r))))
	case unread:
		return true, r, c.fail(gone(errUnread))
	}
	return true, r, nil
}

// last says that a server sends this error as the last thing on a connection.
func last(code int) bool {
	switch code {
	case 1053, // ER_SERVER_SHUTDOWN
		1927, // ER_CONNECTION_KILLED, MariaDB
		4031: // ER_CLIENT_INTERACTION_TIMEOUT, MySQL
		return true
	}
	return false
}

// CloseStatement frees a prepared statement here and on the server, which does not answer.
func (c *Conn) CloseStatement(stmt int) error {
	if err := c.ready(); err != nil {
		return err
	}
	s, err := c.statement(stmt)
	if err != nil {
		return err
	}
	s.closed = true
	c.start()
	c.send(binary.LittleEndian.AppendUint32([]byte{5, 0, 0, 0, comStmtClose}, s.id))
	if err := c.finishSend(); err != nil {
		return c.fail(fmt.Errorf("close a statement: %w", err))
	}
	return nil
}
