package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

const resetText = `
name = "resets"
[params]
n = 1
[[step]]
name = "index"
group = "load"
read = true
prepared = false
ops = "$n"
sql = "CREATE INDEX x ON t{client} (c)"
before = ["SET @a = {client}", { sql = "never", family = "mysql" }]
after = ["DROP INDEX x ON t{client}"]
[[step]]
name = "connect"
group = "point"
read = true
connect = true
ops = 5
ignore = [7]
sql = "SELECT {serial}"
`

// TestReset looks at what is sent around slices, and when: what comes behind a slice is
// put off, so that nobody measures it.
func TestReset(t *testing.T) {
	srv := newFake(t)
	srv.record()
	p := mustBind(t, resetText)
	if p.Ops("index") != 1 || p.Ops("connect") != 5 || p.Ops("nosuch") != 0 {
		t.Errorf("operations of a slice: %d, %d, %d", p.Ops("index"), p.Ops("connect"), p.Ops("nosuch"))
	}
	sess, err := p.Session(t.Context(), Work{Step: "index", Clients: 2, Seed: 7}, srv.dial, Options{Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	before := len(srv.logged())
	if _, err := sess.Slice(t.Context(), SliceSpec{Ops: 2}, func() { before = len(srv.logged()) }); err != nil {
		t.Fatal(err)
	}
	if before != 2 {
		t.Errorf("%d statements before measuring, want 2", before)
	}
	if n := len(srv.logged()); n != 4 {
		t.Errorf("%d statements when the slice has ended, want 4", n)
	}
	// Two slices' work at once is done as two slices.
	measured := 0
	r, err := sess.Slice(t.Context(), SliceSpec{Ops: 4}, func() { measured++ })
	if err != nil {
		t.Fatal(err)
	}
	if measured != 1 || r.Ops != 4 || r.Hist.N() != 4 {
		t.Errorf("measuring was said %d times, of %d operations and %d latencies", measured, r.Ops, r.Hist.N())
	}
	if err := sess.Close(); err != nil {
		t.Fatal(err)
	}
	one := []string{"SET @a = 0", "SET @a = 1", "CREATE INDEX x ON t0 (c)", "CREATE INDEX x ON t1 (c)", "DROP INDEX x ON t0", "DROP INDEX x ON t1"}
	want := append(append(append([]string{}, one...), one...), one...)
	got := srv.logged()
	for i := 2; i+1 < len(got); i += 6 { // clients work side by side
		if got[i] > got[i+1] {
			got[i], got[i+1] = got[i+1], got[i]
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("statements (-want +got):\n%s", d)
	}
}

// TestConnect counts connections: two that stay open and do nothing, and one for each
// operation, which has ended with it.
func TestConnect(t *testing.T) {
	srv := newFake(t)
	srv.handle = func(_ int, sql string) lab.Reply {
		if strings.HasSuffix(sql, "3") {
			return lab.Reply{Code: 7, Message: "ignored"}
		}
		return lab.Reply{Rows: 1}
	}
	sess := open(t, srv, mustBind(t, resetText), "connect", 2, 1)
	r, err := sess.Slice(t.Context(), SliceSpec{Ops: 10}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	closed := 0
	for _, c := range srv.conns {
		if c.closed {
			closed++
		}
	}
	if r.Ops != 10 || r.Rows != 9 || len(srv.conns) != 12 || closed != 10 {
		t.Errorf("%d operations, %d rows, %d connections, %d closed; want 10, 9, 12, 10", r.Ops, r.Rows, len(srv.conns), closed)
	}
}

func TestConnectRefused(t *testing.T) {
	srv := newFake(t)
	n := 0
	dial := func(ctx context.Context) (Conn, error) {
		if n++; n > 3 {
			return nil, errors.New("too many")
		}
		return srv.dial(ctx)
	}
	sess, err := mustBind(t, resetText).Session(t.Context(), Work{Step: "connect", Clients: 1}, dial, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = sess.Slice(t.Context(), SliceSpec{Ops: 5}, func() {}); err == nil || !strings.Contains(err.Error(), "client 0: connect: too many") {
		t.Errorf("error: %v", err)
	}
	if err := sess.Close(); err != nil {
		t.Error(err)
	}
}

func TestResetErrors(t *testing.T) {
	for _, tt := range []struct{ step, want string }{
		{"ops = 0", "ops = 0 is under 1"},
		{"ops = -1", "ops = -1 is under 1"},
		{"ops = \"client\"", "not a whole number that is known beforehand"},
		{"after = [\"DO 1\"]", "it needs ops"},
		{"ops = 1\nbefore = [\"DO :x\"]", "unknown argument :x"},
		{"ops = 1\nbefore = [\"DO {serial}\"]", "unknown name \"serial\""},
	} {
		_, err := Parse("x.toml", fmt.Sprintf("name = \"x\"\n[[step]]\nname = \"s\"\ngroup = \"write\"\nsql = \"DO 1\"\n%s\n", tt.step))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.step, err, tt.want)
		}
	}
}

// TestServerTime: the server's clock is read around slices that ask for it, behind what
// leads to them, and told how many statements to wait for.
func TestServerTime(t *testing.T) {
	srv := newFake(t)
	srv.record()
	clock := &fakeClock{srv: srv}
	sess, err := mustBind(t, resetText).Session(t.Context(), Work{Step: "index", Clients: 2, Seed: 7}, srv.dial, Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	for i, asked := range []bool{false, true, true} {
		if _, err := sess.Slice(t.Context(), SliceSpec{Ops: 2, Clock: asked}, func() {}); err != nil {
			t.Fatal(err)
		}
		d, err := sess.ServerTime()
		if asked != (err == nil) || asked && d != 2*time.Second {
			t.Errorf("slice %d: %s, %v", i, d, err)
		}
	}
	// Each slice is two statements; before each, two lead to it, and before all but the
	// first two undo the last.
	if d := cmp.Diff([]int{8, 14}, clock.begun); d != "" {
		t.Errorf("statements before the clock was looked at (-want +got):\n%s", d)
	}
	clock.err = errors.New("lost count")
	if _, err := sess.Slice(t.Context(), SliceSpec{Ops: 2, Clock: true}, func() {}); err != nil {
		t.Errorf("a clock that fails is no reason for a slice to fail: %v", err)
	}
	if _, err := sess.ServerTime(); !errors.Is(err, clock.err) {
		t.Errorf("a clock that fails: %v", err)
	}
}

// fakeClock says that each statement took a second.
type fakeClock struct {
	srv   *fakeServer
	begun []int // statements before each Begin
	err   error
}

func (k *fakeClock) Begin([]Conn) error {
	k.begun = append(k.begun, len(k.srv.logged()))
	return k.err
}

func (k *fakeClock) Since(_ []Conn, statements []int64) (time.Duration, error) {
	n := int64(0)
	for _, s := range statements {
		n += s
	}
	return time.Duration(n) * time.Second, nil
}
