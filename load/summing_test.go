package load_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"backslide/lab"
	"backslide/load"
	"backslide/wire"
)

// summer is a connection that adds up what statements return and how many rows they
// change. It sends prepared statements as text, and waits for each answer; a pipe stands
// for the socket that the answer is awaited from.
type summer struct {
	conn
	sum      *atomic.Uint64
	pipe     [2]int
	prepared []string
	reply    lab.Reply
	err      error
}

func summing(dial load.Dial, sum *atomic.Uint64) load.Dial {
	return func(ctx context.Context) (load.Conn, error) {
		c, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		s := &summer{conn: c.(conn), sum: sum}
		return s, unix.Pipe2(s.pipe[:], unix.O_NONBLOCK|unix.O_CLOEXEC)
	}
}

func (s *summer) FD() int         { return s.pipe[0] }
func (s *summer) WantWrite() bool { return false }

func (s *summer) Close() error {
	return errors.Join(unix.Close(s.pipe[0]), unix.Close(s.pipe[1]), s.conn.Close())
}

// Prepare has the server prepare the statement too, which may refuse it.
func (s *summer) Prepare(sql string) (stmt, params int, err error) {
	s.prepared = append(s.prepared, sql)
	_, params, err = s.conn.Prepare(sql)
	return len(s.prepared) - 1, params, err
}

func (s *summer) SendExecute(stmt int, args []lab.Arg) error {
	pieces := strings.Split(s.prepared[stmt], "?")
	text := pieces[0]
	for i, a := range args {
		if a.IsText {
			text += "'" + string(a.Text) + "'"
		} else {
			text += strconv.FormatInt(a.Int, 10)
		}
		text += pieces[i+1]
	}
	return s.SendQuery([]byte(text))
}

func (s *summer) SendQuery(sql []byte) error {
	text := string(sql)
	verb, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	s.reply, s.err = lab.Reply{}, nil
	switch verb {
	case "SELECT":
		var got [][]string
		_, got, s.err = s.Rows(text)
		if e := (*wire.ServerError)(nil); errors.As(s.err, &e) {
			s.reply, s.err = lab.Reply{Code: e.Code, State: e.State, Message: e.Message}, nil
		}
		s.reply.Rows = int64(len(got))
		s.sum.Add(sumOf(got))
	default:
		s.reply, s.err = s.Query(text)
		if strings.Contains(" INSERT UPDATE DELETE REPLACE ", " "+verb+" ") {
			s.sum.Add(sumOf([][]string{{verb, strconv.FormatInt(s.reply.Affected, 10)}}))
		}
	}
	_, err := unix.Write(s.pipe[1], []byte{1})
	return err
}

func (s *summer) Receive() (done bool, r lab.Reply, err error) {
	var b [1]byte
	switch _, err := unix.Read(s.pipe[0], b[:]); err {
	case nil:
		return true, s.reply, s.err
	case unix.EAGAIN:
		return false, lab.Reply{}, nil
	default:
		return false, lab.Reply{}, err
	}
}

// sumOf adds up rows in whatever order.
func sumOf(rows [][]string) (sum uint64) {
	for _, row := range rows {
		h := fnv.New64a()
		fmt.Fprintf(h, "%q", row)
		sum += h.Sum64()
	}
	return sum
}
