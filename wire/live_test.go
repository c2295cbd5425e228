package wire

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
	"backslide/server"
	"backslide/server/servertest"
)

// TestServers runs the client against real servers of the oldest and newest generations
// of both families.
func TestServers(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	for _, x := range []struct {
		build string
		tls   bool // the server has it without being told
	}{{"mysql@5.6", false}, {"mysql@9.7", true}, {"mariadb@10.5", false}, {"mariadb@11.8", true}} {
		t.Run(x.build, func(t *testing.T) {
			t.Parallel()
			l := start(t, x.build)
			l.tls = x.tls
			t.Run("accounts", l.accounts)
			for _, newer := range []bool{false, true} {
				l.newer = newer
				t.Run(fmt.Sprintf("DeprecateEOF %v", newer), func(t *testing.T) {
					t.Run("replies", l.replies)
					t.Run("rows", l.rows)
					if newer == x.tls { // it is slow, and the newer servers have the newer way
						t.Run("large", l.large)
					}
				})
			}
			t.Run("peer", l.peer)
			t.Run("kill", l.kill)
		})
	}
}

// live is a running server.
type live struct {
	*server.Server
	family lab.Family
	tls    bool
	newer  bool // ask for DeprecateEOF
}

func start(t *testing.T, build string) *live {
	t.Helper()
	b, s := servertest.Start(t, build, []lab.Option{{Name: "max_allowed_packet", Value: "64M"}}, func(s *server.Spec) { s.TCP = true })
	l := &live{Server: s, family: b.Family}
	c := l.dial(t, Options{User: "root"})
	for _, q := range l.setup() {
		must(t, c, q)
	}
	return l
}

// setup is what every test needs: accounts, a table of 1024 rows, a procedure.
func (l *live) setup() []string {
	q := []string{"CREATE DATABASE w", "USE w"}
	for _, host := range []string{"localhost", "127.0.0.1"} {
		for name, by := range map[string]string{"empty": "", "secret": " IDENTIFIED BY 'swordfish'"} {
			q = append(q, fmt.Sprintf("CREATE USER '%s'@'%s'%s", name, host, by), fmt.Sprintf("GRANT ALL ON w.* TO '%s'@'%s'", name, host))
		}
	}
	q = append(q, "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, c VARCHAR(200) NOT NULL, n INT)", "INSERT INTO t (c) VALUES (REPEAT('c', 120))")
	for range 10 {
		q = append(q, "INSERT INTO t (c) SELECT c FROM t")
	}
	return append(q, "UPDATE t, (SELECT @i := 0) z SET id = 100000 + (@i := @i + 1)", "UPDATE t SET id = id - 100000",
		"CREATE PROCEDURE p(n INT) BEGIN SELECT id FROM t WHERE id <= n; SELECT 'x', NULL; UPDATE t SET n = 1 WHERE id <= n; END")
}

func (l *live) dial(t *testing.T, o Options) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), l.options(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// options fills in how to reach the server.
func (l *live) options(o Options) Options {
	o.DeprecateEOF = l.newer
	if o.Network == "tcp" {
		o.Address = l.Addr()
	} else {
		o.Network, o.Address = "unix", l.Socket()
	}
	return o
}

func must(t *testing.T, c *Conn, sql string) lab.Reply {
	t.Helper()
	r, err := c.Query(sql)
	if err != nil || r.Code != 0 {
		t.Fatalf("%s: %+v, %v", clip(sql, 100), r, err)
	}
	return r
}

// accounts logs in by each way: the first time, again, and when the server has forgotten.
func (l *live) accounts(t *testing.T) {
	root := l.dial(t, Options{User: "root"})
	ways := []Options{{Network: "tcp"}, {Network: "unix"}}
	if l.tls {
		ways = append(ways, Options{Network: "tcp", TLS: &tls.Config{InsecureSkipVerify: true}}, Options{Network: "unix", TLS: &tls.Config{InsecureSkipVerify: true}})
	}
	for _, o := range ways {
		name := fmt.Sprintf("%s, TLS %v", o.Network, o.TLS != nil)
		for _, account := range []struct{ user, password string }{{"empty", ""}, {"secret", "swordfish"}} {
			o.User, o.Password, o.Schema = account.user, account.password, "w"
			for _, when := range []string{"cold", "warm", "flushed"} {
				if when != "warm" {
					must(t, root, "FLUSH PRIVILEGES")
				}
				c, err := Dial(t.Context(), l.options(o))
				if err != nil {
					t.Errorf("%s, %s, %s: %v", name, account.user, when, err)
					continue
				}
				_, rows, err := c.Rows("SELECT SUBSTRING_INDEX(USER(), '@', 1), DATABASE(), CONNECTION_ID()")
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff([][]string{{account.user, "w", fmt.Sprint(c.ThreadID())}}, rows); d != "" {
					t.Errorf("%s, %s, %s (-want +got):\n%s", name, account.user, when, d)
				}
				if (c.TLSState() != nil) != (o.TLS != nil) {
					t.Errorf("%s: TLS is %v", name, c.TLSState())
				}
				c.Close()
			}
		}
		o.User, o.Password = "secret", "wrong-one"
		_, err := Dial(t.Context(), l.options(o))
		var h *HandshakeError
		var e *ServerError
		if !errors.As(err, &h) || !errors.As(err, &e) || e.Code != 1045 || strings.Contains(err.Error(), "wrong-one") {
			t.Errorf("%s, wrong password: got %v, want server error 1045", name, err)
		}
	}
	if !l.tls {
		_, err := Dial(t.Context(), l.options(Options{User: "empty", Network: "tcp", TLS: &tls.Config{InsecureSkipVerify: true}}))
		if err == nil || !strings.Contains(err.Error(), "this server offers none") {
			t.Errorf("TLS: got %v", err)
		}
	}
}

// replies holds what is counted and refused, text and prepared, TLS too.
func (l *live) replies(t *testing.T) {
	o := Options{User: "secret", Password: "swordfish", Schema: "w"}
	if l.tls {
		o.TLS = &tls.Config{InsecureSkipVerify: true}
	}
	c := l.dial(t, o)
	num := func(n int64) lab.Arg { return lab.Arg{Int: n} }
	str := func(s string) lab.Arg { return lab.Arg{IsText: true, Text: []byte(s)} }
	var got []string
	say := func(r lab.Reply, err error) {
		got = append(got, fmt.Sprintf("rows %d affected %d code %d state %s %v", r.Rows, r.Affected, r.Code, r.State, err))
	}
	for _, sql := range []string{
		"SELECT * FROM t", "SELECT c FROM t WHERE id = 5", "SELECT c FROM t WHERE id = -5", "UPDATE t SET n = 7 WHERE id <= 10", "UPDATE t SET n = 7 WHERE id <= 10",
		"SELECT nope FROM t", "INSERT INTO t (id, c) VALUES (1, '')", "SELECT 1; SELECT id FROM t WHERE id <= 3; DO 0; SELECT nope", "CALL p(4)",
	} {
		say(c.Query(sql))
	}
	for _, x := range []struct {
		sql  string
		args [][]lab.Arg
	}{
		{"SELECT c FROM t WHERE id BETWEEN ? AND ?", [][]lab.Arg{{num(1), num(1024)}, {num(11), num(20)}, {str("11"), num(12)}, {num(1), str("900")}, {num(5), num(4)}}},
		{"INSERT INTO t (id, c) VALUES (?, ?)", [][]lab.Arg{{num(1), str("duplicate")}, {num(5000), str(strings.Repeat("z", 190))}}},
		{"DELETE FROM t WHERE id = ?", [][]lab.Arg{{num(5000)}, {num(5000)}}},
		{"CALL p(?)", [][]lab.Arg{{num(2)}}},
		{"SELECT 1", [][]lab.Arg{nil, nil}},
	} {
		s, params, err := c.Prepare(x.sql)
		if err != nil || params != strings.Count(x.sql, "?") {
			t.Fatalf("%s: %d parameters, %v", x.sql, params, err)
		}
		for _, args := range x.args {
			say(c.Exec(s, args))
		}
		if err := c.CloseStatement(s); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"rows 1024 affected 0 code 0 state  <nil>", "rows 1 affected 0 code 0 state  <nil>", "rows 0 affected 0 code 0 state  <nil>",
		"rows 0 affected 10 code 0 state  <nil>", "rows 0 affected 0 code 0 state  <nil>",
		"rows 0 affected 0 code 1054 state 42S22 <nil>", "rows 0 affected 0 code 1062 state 23000 <nil>",
		"rows 4 affected 0 code 1054 state 42S22 <nil>", "rows 5 affected 4 code 0 state  <nil>",

		"rows 1024 affected 0 code 0 state  <nil>", "rows 10 affected 0 code 0 state  <nil>", "rows 2 affected 0 code 0 state  <nil>",
		"rows 900 affected 0 code 0 state  <nil>", "rows 0 affected 0 code 0 state  <nil>",
		"rows 0 affected 0 code 1062 state 23000 <nil>", "rows 0 affected 1 code 0 state  <nil>",
		"rows 0 affected 1 code 0 state  <nil>", "rows 0 affected 0 code 0 state  <nil>",
		"rows 3 affected 0 code 0 state  <nil>",
		"rows 1 affected 0 code 0 state  <nil>", "rows 1 affected 0 code 0 state  <nil>",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	must(t, c, "UPDATE t SET n = NULL")
	var e *ServerError
	if _, _, err := c.Prepare("SELECT nope FROM t"); !errors.As(err, &e) || e.Code != 1054 {
		t.Errorf("prepare: got %v, want server error 1054", err)
	}
	if r := must(t, c, "SELECT 1"); r.Rows != 1 {
		t.Errorf("after refusals: got %+v", r)
	}
}

// rows compares text with what is in the table.
func (l *live) rows(t *testing.T) {
	c := l.dial(t, Options{User: "empty", Schema: "w", Network: "tcp"})
	cols, rows, err := c.Rows("SELECT id, n AS nothing, '' AS e, 'ü' AS u FROM t WHERE id IN (1, 1024) ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"id", "nothing", "e", "u"}, cols); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff([][]string{{"1", Null, "", "ü"}, {"1024", Null, "", "ü"}}, rows); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if cols, rows, err := c.Rows("DO 0"); cols != nil || rows != nil || err != nil {
		t.Errorf("DO 0: got %v, %v, %v", cols, rows, err)
	}
	var e *ServerError
	if _, _, err := c.Rows("SELECT * FROM nowhere"); !errors.As(err, &e) || e.Code != 1146 || e.Statement != "SELECT * FROM nowhere" {
		t.Errorf("got %v, want server error 1146", err)
	}
}

// large sends and gets more than a packet holds, and more than the server takes.
func (l *live) large(t *testing.T) {
	c := l.dial(t, Options{User: "empty", Schema: "w"})
	const size = 17_000_000
	_, rows, err := c.Rows("SELECT LENGTH('" + strings.Repeat("x", size) + "')")
	if err != nil || rows[0][0] != fmt.Sprint(size) {
		t.Errorf("a statement of many packets: got %v, %v", rows, err)
	}
	sql := fmt.Sprintf("SELECT REPEAT('x', %d) FROM t WHERE id <= 2", size)
	if r := must(t, c, sql); r.Rows != 2 {
		t.Errorf("rows of many packets: got %+v", r)
	}
	if _, rows, err := c.Rows(sql); err != nil || len(rows) != 2 || len(rows[1][0]) != size {
		t.Errorf("rows of many packets: got %d, %v", len(rows), err)
	}
	s, _, err := c.Prepare("SELECT LENGTH(?)")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r, err := c.Exec(s, []lab.Arg{{IsText: true, Text: make([]byte, size)}}); err != nil || r.Rows != 1 {
			t.Errorf("an argument of many packets: got %+v, %v", r, err)
		}
	}
	r, err := c.Query("SELECT LENGTH('" + strings.Repeat("x", 70_000_000) + "')")
	if !errors.Is(err, ErrGone) && r.Code != 1153 {
		t.Errorf("more than max_allowed_packet: got %+v, %v, want code 1153 or ErrGone", r, err)
	}
}

// peer logs in by the name that the kernel vouches for.
func (l *live) peer(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if l.family != lab.MariaDB {
		return // its plugin is not in the server
	}
	root := l.dial(t, Options{User: "root"})
	must(t, root, fmt.Sprintf("GRANT ALL ON *.* TO '%s'@'localhost' IDENTIFIED VIA unix_socket", me.Username))
	c := l.dial(t, Options{User: me.Username, Password: "not looked at"})
	must(t, c, "DO 0")
}

// kill ends a connection, then the server, in mid-query.
func (l *live) kill(t *testing.T) {
	admin := l.dial(t, Options{User: "root"})
	c := l.dial(t, Options{User: "root"})
	if err := c.SendQuery([]byte("SELECT SLEEP(20)")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	must(t, admin, fmt.Sprintf("KILL %d", c.ThreadID()))
	lost(t, c, "KILL")

	if err := admin.SendQuery([]byte("SELECT SLEEP(20)")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	l.Kill()
	lost(t, admin, "kill -9")
	_, err := Dial(t.Context(), l.options(Options{User: "root"}))
	if err == nil || errors.As(err, new(*HandshakeError)) || !errors.Is(err, fs.ErrNotExist) && !strings.Contains(err.Error(), "refused") {
		t.Errorf("a dead server: got %v", err)
	}
}

// lost waits for the end of a connection. Some servers answer the statement first.
func lost(t *testing.T, c *Conn, how string) {
	t.Helper()
	c.SetTimeout(2 * time.Second)
	r, err := c.await()
	t.Logf("%s: %+v, %v", how, r, err)
	if err == nil {
		_, err = c.Query("DO 0")
	}
	if !errors.Is(err, ErrGone) {
		t.Errorf("%s: got %v, want ErrGone", how, err)
	}
}
