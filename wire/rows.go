package wire

import "fmt"

// Null stands for NULL in rows of text. No server returns it from a text that holds no
// NUL bytes.
const Null = "\x00NULL"

// Rows runs a text statement and returns the first result set that it has, as text, Null
// for NULL. Of a statement without one, cols is nil. It blocks, and takes at most 256 MiB.
// A refusal is a *ServerError.
func (c *Conn) Rows(sql string) (cols []string, rows [][]string, err error) {
	if err := c.command(comQuery, sql); err != nil {
		return nil, nil, err
	}
	for room := maxDecoded; ; {
		names, values, more, err := c.resultSet(sql, &room)
		if err != nil {
			return nil, nil, c.after("read rows", err)
		}
		if cols == nil {
			cols, rows = names, values
		}
		if !more {
			break
		}
	}
	if c.r != c.w {
		return nil, nil, c.after("read rows", nil)
	}
	return cols, rows, nil
}

// resultSet reads one result of a text statement; more says that another follows.
func (c *Conn) resultSet(sql string, room *int) (cols []string, rows [][]string, more bool, err error) {
	b, err := c.readPacket(maxReply)
	switch {
	case err != nil:
		return nil, nil, false, err
	case len(b) == 0:
		return nil, nil, false, malformed("a result", b)
	case b[0] == headOK:
		_, status, err := parseOK(b)
		return nil, nil, status&statusMoreResults != 0, err
	case b[0] == headError:
		return nil, nil, false, serverError(b, sql)
	case b[0] == headLocalFile:
		return nil, nil, false, errLocalFile(b)
	}
	n, metadata, err := parseColumns(b, c.skip.cached)
	if err == nil && !metadata {
		err = malformed("metadata of a text statement", b)
	}
	if err != nil {
		return nil, nil, false, err
	}
	for range n {
		b, err := c.readPacket(maxReply)
		if err != nil {
			return nil, nil, false, err
		}
		name, err := columnName(b)
		if err != nil {
			return nil, nil, false, err
		}
		cols = append(cols, name)
		*room -= len(b) + 16
	}
	if err := c.skipMiddle(); err != nil {
		return nil, nil, false, err
	}
	for {
		b, err := c.readPacket(max(*room, maxReply))
		if err != nil {
			return nil, nil, false, err
		}
		if len(b) > 0 && b[0] == headError && len(b) < maxPayload {
			return nil, nil, false, serverError(b, sql)
		}
		if len(b) > 0 && b[0] == headEOF && ends(c.skip.okEnds, len(b)) {
			status, err := endStatus(c.skip.okEnds, b)
			return cols, rows, status&statusMoreResults != 0, err
		}
		row, err := parseRow(b, n)
		if err != nil {
			return nil, nil, false, err
		}
		// A value costs a string's 16 bytes, however short it is.
		if *room -= len(b) + 16*n + 24; *room < 0 {
			return nil, nil, false, fmt.Errorf("the rows are larger than %d bytes", maxDecoded)
		}
		rows = append(rows, row)
	}
}

// columnName reads the name that a column has in the result: the fifth of six texts.
func columnName(b []byte) (string, error) {
	var s []byte
	rest, ok := b, true
	for range 5 {
		if s, rest, ok = text(rest); !ok {
			return "", malformed("a definition of a column", b)
		}
	}
	return string(s), nil
}

// parseRow reads a row of n texts.
func parseRow(b []byte, n int) ([]string, error) {
	row := make([]string, 0, min(n, len(b)))
	rest := b
	for range n {
		if len(rest) > 0 && rest[0] == headLocalFile {
			row, rest = append(row, Null), rest[1:]
			continue
		}
		s, after, ok := text(rest)
		if !ok {
			return nil, malformed(fmt.Sprintf("a row of %d values", n), b)
		}
		row, rest = append(row, string(s)), after
	}
	if len(rest) > 0 {
		return nil, malformed(fmt.Sprintf("a row of %d values", n), b)
	}
	return row, nil
}
