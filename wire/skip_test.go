package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// Payloads as servers send them.

func okay(head, affected, status byte) []byte { return []byte{head, affected, 0, status, 0, 0, 0} }

func refusal(code int, state, message string) []byte {
	b := []byte{headError, byte(code), byte(code >> 8)}
	if state != "" {
		b = append(append(b, '#'), state...)
	}
	return append(b, message...)
}

func column(name string) []byte {
	var b []byte
	for _, s := range []string{"def", "schema", "alias", "table", name, "origin"} {
		b = append(appendLength(b, len(s)), s...)
	}
	return append(b, 12, 45, 0, 255, 0, 0, 0, 253, 0, 0, 0, 0, 0)
}

func values(texts ...string) []byte {
	var b []byte
	for _, s := range texts {
		if s == Null {
			b = append(b, headLocalFile)
			continue
		}
		b = append(appendLength(b, len(s)), s...)
	}
	return b
}

// transcript is a server's reply and what is to be made of it.
type transcript struct {
	name     string
	cached   bool
	okEnds   bool
	reply    []byte
	want     lab.Reply
	open     bool   // the reply is not whole
	expected string // part of the error; empty: none
}

func transcripts() []transcript {
	join := bytes.Join
	long := strings.Repeat("x", 70000)
	return []transcript{
		{name: "OK", reply: packets(1, okay(headOK, 7, 2)), want: lab.Reply{Affected: 7}},
		{name: "OK with text", reply: packets(1, append(okay(headOK, 250, 2), "Rows matched: 250"...)), want: lab.Reply{Affected: 250}},
		{name: "65536 rows affected", reply: packets(1, []byte{0, 0xfd, 0, 0, 1, 0, 2, 0, 0, 0}), want: lab.Reply{Affected: 65536}},
		{name: "error", reply: packets(1, refusal(1062, "23000", "Duplicate entry")),
			want: lab.Reply{Code: 1062, State: "23000", Message: "Duplicate entry"}},
		{name: "error without state", reply: packets(1, refusal(1040, "", "Too many")), want: lab.Reply{Code: 1040, Message: "Too many"}},
		{name: "error out of turn", reply: packets(0, refusal(4031, "HY000", "idle")), want: lab.Reply{Code: 4031, State: "HY000", Message: "idle"}},
		{name: "rows, older ends", reply: packets(1, []byte{1}, column("c"), eof(2), values("a"), values("b"), eof(2)), want: lab.Reply{Rows: 2}},
		{name: "rows, newer ends", okEnds: true, reply: packets(1, []byte{1}, column("c"), values("a"), values("b"), okay(headEOF, 0, 2)), want: lab.Reply{Rows: 2}},
		{name: "no rows, newer ends", okEnds: true, reply: packets(1, []byte{1}, column("c"), okay(headEOF, 0, 2)), want: lab.Reply{}},
		{name: "metadata known, older ends", cached: true, reply: pointReply(), want: lab.Reply{Rows: 1}},
		{name: "metadata known, newer ends", cached: true, okEnds: true, reply: packets(1, []byte{1, 0}, []byte{0, 0}, okay(headEOF, 0, 2)), want: lab.Reply{Rows: 1}},
		{name: "metadata sent again", cached: true, reply: packets(1, []byte{2, 1}, column("c"), column("d"), eof(2), []byte{0, 0}, eof(2)), want: lab.Reply{Rows: 1}},
		{name: "row beyond one read", reply: packets(1, []byte{1}, column("c"), eof(2), values(long), values("a"), eof(2)), want: lab.Reply{Rows: 2}},
		{name: "error after rows", reply: packets(1, []byte{1}, column("c"), eof(2), values("a"), refusal(1317, "70100", "interrupted")),
			want: lab.Reply{Rows: 1, Code: 1317, State: "70100", Message: "interrupted"}},
		{name: "error instead of metadata", reply: packets(1, []byte{1}, refusal(1317, "70100", "interrupted")),
			want: lab.Reply{Code: 1317, State: "70100", Message: "interrupted"}},
		{name: "several results", reply: join([][]byte{
			packets(1, []byte{1}, column("c"), eof(2), values("a"), eof(2|statusMoreResults)),
			packets(6, okay(headOK, 3, 2|statusMoreResults), []byte{1}, column("c"), eof(2), values("a"), eof(2|statusMoreResults)),
			packets(12, okay(headOK, 4, 2)),
		}, nil), want: lab.Reply{Rows: 2, Affected: 7}},
		{name: "several results, newer ends", okEnds: true, reply: packets(1, []byte{1}, column("c"), values("a"), okay(headEOF, 0, 2|statusMoreResults),
			okay(headOK, 1, 2)), want: lab.Reply{Rows: 1, Affected: 1}},
		{name: "error in a later result", reply: packets(1, okay(headOK, 3, 2|statusMoreResults), refusal(1054, "42S22", "no")),
			want: lab.Reply{Affected: 3, Code: 1054, State: "42S22", Message: "no"}},
		{name: "row that begins as an end, but is long", reply: packets(1, []byte{1}, column("c"), eof(2), append([]byte{headEOF}, make([]byte, 20)...), eof(2)), want: lab.Reply{Rows: 1}},
		{name: "260 rows: numbers wrap", reply: packets(1, append(append([][]byte{{1}, column("c"), eof(2)}, slicesOf(260, values("v"))...), eof(2))...), want: lab.Reply{Rows: 260}},

		{name: "nothing", open: true},
		{name: "half a header", reply: []byte{7, 0}, open: true},
		{name: "no end of rows", reply: packets(1, []byte{1}, column("c"), eof(2), values("a")), open: true},
		{name: "announced and not sent", reply: []byte{0xfe, 0xff, 0xff, 1, 0}, open: true},

		{name: "wrong number", reply: packets(2, okay(headOK, 7, 2)), expected: "expected packet 1, got packet 2"},
		{name: "empty packet", reply: packets(1, nil), expected: "expected a payload"},
		{name: "empty row", reply: packets(1, []byte{1}, column("c"), eof(2), nil), expected: "expected a payload"},
		{name: "end instead of a result", reply: packets(1, eof(2)), expected: "expected a number of columns"},
		{name: "file asked for", reply: packets(1, append([]byte{headLocalFile}, "/etc/passwd"...)), expected: `local file "/etc/passwd", which is refused`},
		{name: "no columns", reply: packets(1, []byte{0xfc, 0, 0}), expected: "expected a number of columns"},
		{name: "too many columns", reply: packets(1, []byte{0xfd, 1, 0, 1}), expected: "expected a number of columns"},
		{name: "metadata flag not agreed on", reply: packets(1, []byte{1, 0}), expected: "expected a number of columns"},
		{name: "row instead of the end of metadata", reply: packets(1, []byte{1}, column("c"), values("a")), expected: "expected the end of the definitions"},
		{name: "end instead of metadata", reply: packets(1, []byte{2}, column("c"), eof(2)), expected: "expected a definition of a column"},
		{name: "short OK", reply: packets(1, []byte{0, 0}), expected: "expected an OK packet"},
		{name: "short error", reply: packets(1, []byte{headError, 1}), expected: "expected an error packet"},
		{name: "error without number", reply: packets(1, []byte{headError, 0, 0}), expected: "expected an error packet with a number"},
		{name: "long end", reply: packets(1, []byte{1}, column("c"), eof(2), []byte{headEOF, 0, 0, 2, 0, 0}), expected: "expected an EOF packet"},
	}
}

func slicesOf(n int, v []byte) [][]byte {
	s := make([][]byte, n)
	for i := range s {
		s[i] = v
	}
	return s
}

// outcome is all that can be seen of a skipper.
type outcome struct {
	Used  int
	Done  bool
	Err   string
	Reply lab.Reply
}

// walk feeds b in pieces: up to cut, then in steps of step.
func walk(cached, okEnds bool, b []byte, cut, step int) outcome {
	s := &skipper{cached: cached, okEnds: okEnds}
	s.begin(1)
	var o outcome
	for o.Used < len(b) && !o.Done && o.Err == "" {
		n := step
		if o.Used < cut {
			n = cut
		}
		piece := b[o.Used:min(len(b), o.Used+n)]
		used, done, err := s.feed(bytes.Clone(piece))
		o.Used += used
		o.Done = done
		if err != nil {
			var p *ProtocolError
			if !errors.As(err, &p) {
				return outcome{Err: fmt.Sprintf("not a ProtocolError: %v", err)}
			}
			o.Err = err.Error()
		}
		if used < len(piece) && !done && err == nil {
			return outcome{Err: fmt.Sprintf("stopped after %d of %d bytes", used, len(piece))}
		}
	}
	if o.Done {
		o.Reply = s.reply
	}
	return o
}

// TestReplies feeds each reply whole, byte by byte, and cut in two at each place. What
// comes after it is left alone.
func TestReplies(t *testing.T) {
	for _, x := range transcripts() {
		t.Run(x.name, func(t *testing.T) {
			whole := walk(x.cached, x.okEnds, x.reply, 0, len(x.reply)+1)
			if !strings.Contains(whole.Err, x.expected) || (x.expected == "") != (whole.Err == "") {
				t.Fatalf("got error %q, want %q", whole.Err, x.expected)
			}
			if x.expected == "" {
				want := outcome{Used: len(x.reply), Done: !x.open, Reply: x.want}
				if d := cmp.Diff(want, whole); d != "" {
					t.Fatalf("(-want +got):\n%s", d)
				}
			}
			// The message may show less of a packet that came in pieces, and a bad one may be
			// known as such before its last byte.
			same := cmp.Transformer("", func(o outcome) outcome {
				o.Err, _, _ = strings.Cut(o.Err, ", got")
				return o
			})
			for cut := range min(len(x.reply), 400) {
				for _, step := range []int{1 + len(x.reply)/1000, len(x.reply) + 1} {
					if d := cmp.Diff(whole, walk(x.cached, x.okEnds, x.reply, cut, step), same); d != "" {
						t.Fatalf("cut at %d, then steps of %d (-whole +pieces):\n%s", cut, step, d)
					}
				}
			}
			if whole.Done {
				more := walk(x.cached, x.okEnds, append(bytes.Clone(x.reply), 1, 2, 3), 0, len(x.reply)+3)
				if d := cmp.Diff(whole, more); d != "" {
					t.Fatalf("with bytes behind (-without +with):\n%s", d)
				}
			}
		})
	}
}

// TestLongRow walks rows of exactly one full packet, which an empty one must follow, and
// of more. Continuations may begin like an end or an error.
func TestLongRow(t *testing.T) {
	for _, size := range []int{maxPayload, maxPayload + 1, 2 * maxPayload} {
		row := bytes.Repeat([]byte{0xff}, size)
		row[0] = headEOF // a value of more than 16 MB: its length takes eight bytes
		framed := split(nil, row)
		seq := byte(4)
		for i := 0; i < len(framed); i += headerSize + maxPayload {
			framed[i+3] = seq
			seq++
		}
		for _, okEnds := range []bool{false, true} {
			b := packets(1, []byte{1}, column("c"), eof(2))
			end := eof(2)
			if okEnds {
				b, end = packets(2, []byte{1}, column("c")), okay(headEOF, 0, 2)
			}
			b = append(append(b, framed...), packets(seq, end)...)
			s := &skipper{okEnds: okEnds}
			s.begin(b[3])
			var done bool
			for p := 0; p < len(b); p += inputBuffer {
				var err error
				if _, done, err = s.feed(b[p:min(len(b), p+inputBuffer)]); err != nil {
					t.Fatalf("%d bytes, okEnds %v: %v", size, okEnds, err)
				}
			}
			if !done || s.reply.Rows != 1 {
				t.Errorf("%d bytes, okEnds %v: got %d rows, done %v, want 1 row, done", size, okEnds, s.reply.Rows, done)
			}
		}
	}
}

// FuzzReply feeds arbitrary bytes in different pieces: the outcome must be the same.
func FuzzReply(f *testing.F) {
	for _, x := range transcripts() {
		if len(x.reply) < 1000 {
			f.Add(x.cached, x.okEnds, x.reply, 3, 2)
		}
	}
	f.Fuzz(func(t *testing.T, cached, okEnds bool, b []byte, cut, step int) {
		cut, step = max(0, cut%64), max(1, step%64)
		whole := walk(cached, okEnds, b, 0, len(b)+1)
		pieces := walk(cached, okEnds, b, cut, step)
		whole.Err, _, _ = strings.Cut(whole.Err, ", got")
		pieces.Err, _, _ = strings.Cut(pieces.Err, ", got")
		if d := cmp.Diff(whole, pieces); d != "" {
			t.Fatalf("cut %d, step %d (-whole +pieces):\n%s", cut, step, d)
		}
	})
}
