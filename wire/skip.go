package wire

import (
	"fmt"
	"math"

	"backslide/lab"
)

// skipper walks a whole reply by the headers of its packets: it counts rows, sees errors
// and ends, and decodes nothing else. It can be fed any piece of the reply at a time and
// needs a piece no longer than until feed returns.
type skipper struct {
	cached bool // a column count is followed by a byte that says whether metadata follow
	okEnds bool // rows end with an OK packet, and no packet ends the metadata

	part    part
	columns int  // column definitions still to come
	seq     byte // of the next packet

	header  [headerSize]byte
	nheader int  // bytes of the header that have come
	left    int  // bytes of the packet's payload still to come
	size    int  // bytes of the payload, continuations included, whose headers have come
	head    byte // first byte of the payload
	begun   bool // head has come
	kept    [1 << 10]byte
	nkept   int // the payload's first bytes, if it is one to be read and came in pieces

	reply lab.Reply
}

// part is what the next packet belongs to.
type part int

const (
	partHead    part = iota // the beginning of a result
	partColumns             // column definitions
	partMiddle              // the end of the column definitions
	partRows
)

// begin prepares for the reply to a new statement.
// The reply's first packet has the number seq.
func (s *skipper) begin(seq byte) {
	s.part, s.seq, s.reply = partHead, seq, lab.Reply{}
	s.nheader = 0
	s.next()
}

// feed walks over b. It returns how many bytes it has used: all of them, unless the reply
// ended within. An error means that no more can be made of the reply.
func (s *skipper) feed(b []byte) (used int, done bool, err error) {
	p := 0
	for p < len(b) {
		if s.nheader == 0 && s.part == partRows && s.size == 0 {
			if p = s.rows(b, p); p == len(b) {
				return p, false, nil
			}
		}
		if s.nheader < headerSize {
			n := copy(s.header[s.nheader:], b[p:])
			s.nheader += n
			p += n
			if s.nheader < headerSize {
				return p, false, nil
			}
			s.left = int(s.header[0]) | int(s.header[1])<<8 | int(s.header[2])<<16
			s.size += s.left
		}
		if !s.begun && s.left > 0 {
			if p == len(b) {
				return p, false, nil
			}
			s.head, s.begun = b[p], true
		}
		n := min(s.left, len(b)-p)
		body := b[p : p+n]
		if n < s.left || s.nkept > 0 {
			s.nkept += copy(s.kept[s.nkept:], body)
			body = s.kept[:s.nkept]
		}
		p += n
		if s.left -= n; s.left > 0 {
			return p, false, nil
		}
		if done, err := s.end(body); done || err != nil {
			return p, done, err
		}
	}
	return p, false, nil
}

// rows walks over whole rows from b[p:], the plain case, and returns where it stopped.
func (s *skipper) rows(b []byte, p int) int {
	for p+headerSize < len(b) {
		n := int(b[p]) | int(b[p+1])<<8 | int(b[p+2])<<16
		next := p + headerSize + n
		if n == 0 || n == maxPayload || next > len(b) || b[p+3] != s.seq || b[p+headerSize] >= headEOF {
			break
		}
		s.seq++
		s.reply.Rows++
		p = next
	}
	return p
}

// end is called when the last byte of a packet has come. body is its payload, or the first
// bytes of it if it is long.
func (s *skipper) end(body []byte) (done bool, err error) {
	if seq := s.header[3]; seq != s.seq && s.head != headError {
		// Errors that a server sends unasked, on shutting down, have numbers of their own.
		return false, &ProtocolError{fmt.Sprintf("packet %d", s.seq), fmt.Sprintf("packet %d", seq)}
	}
	s.seq++
	s.nheader = 0
	if s.header[0] == 0xff && s.header[1] == 0xff && s.header[2] == 0xff {
		return false, nil // continued
	}
	if !s.begun {
		return false, malformed("a payload", nil)
	}
	done, err = s.packet(body)
	s.next()
	return done, err
}

// next prepares for the next payload.
func (s *skipper) next() { s.head, s.begun, s.size, s.nkept = 0, false, 0, 0 }

// packet looks at a whole payload.
func (s *skipper) packet(body []byte) (done bool, err error) {
	if s.head == headError && s.size < maxPayload {
		e, err := parseError(body)
		if err != nil {
			return false, err
		}
		s.reply.Code, s.reply.State, s.reply.Message = e.Code, e.State, e.Message
		return true, nil
	}
	switch s.part {
	case partHead:
		return s.result(body)
	case partColumns:
		if s.head >= headLocalFile {
			return false, malformed("a definition of a column", body)
		}
		if s.columns--; s.columns == 0 {
			s.part = partMiddle
			if s.okEnds {
				s.part = partRows
			}
		}
		return false, nil
	case partMiddle:
		s.part = partRows
		return false, parseMiddle(body)
	}
	if s.head != headEOF || !ends(s.okEnds, s.size) {
		s.reply.Rows++
		return false, nil
	}
	status, err := endStatus(s.okEnds, body)
	s.part = partHead
	return status&statusMoreResults == 0, err
}

// result looks at the first packet of a result: an OK, or a number of columns.
func (s *skipper) result(body []byte) (done bool, err error) {
	switch s.head {
	case headOK:
		affected, status, err := parseOK(body)
		s.reply.Affected += int64(min(affected, math.MaxInt64))
		return status&statusMoreResults == 0, err
	case headLocalFile:
		return false, errLocalFile(body)
	}
	n, metadata, err := parseColumns(body, s.cached)
	if err != nil {
		return false, err
	}
	s.columns, s.part = n, partColumns
	switch {
	case metadata:
	case s.okEnds:
		s.part = partRows
	default:
		s.part = partMiddle
	}
	return false, nil
}

// parseColumns reads how many columns a result has, and whether their definitions follow.
func parseColumns(b []byte, cached bool) (n int, metadata bool, err error) {
	v, rest, ok := length(b)
	metadata = true
	if ok && cached && len(rest) == 1 && rest[0] <= 1 {
		metadata, rest = rest[0] == 1, nil
	}
	if !ok || len(rest) > 0 || v == 0 || v > maxColumns {
		return 0, false, malformed("a number of columns", b)
	}
	return int(v), metadata, nil
}

// ends says that a payload of size bytes that begins with headEOF is no row: a row begins
// so only if its first value is longer than a packet.
func ends(okEnds bool, size int) bool {
	if okEnds {
		return size < maxPayload
	}
	return size < 9
}

// parseMiddle reads the packet that ends column definitions.
func parseMiddle(b []byte) error {
	if len(b) == 0 || b[0] != headEOF {
		return malformed("the end of the definitions", b)
	}
	_, err := parseEOF(b)
	return err
}

// endStatus reads the server's status from the packet that ends rows.
func endStatus(okEnds bool, b []byte) (uint16, error) {
	if okEnds {
		_, status, err := parseOK(b)
		return status, err
	}
	return parseEOF(b)
}

// errLocalFile refuses a server that asks for a file of ours. We have told it that we do
// not do that, so it is broken or hostile.
func errLocalFile(b []byte) error {
	return &ProtocolError{"a result", fmt.Sprintf("a request for the local file %q, which is refused", clip(string(b[1:]), 100))}
}
