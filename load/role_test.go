package load

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

const rolesText = `
name = "roles"
prepared = false
[[step]]
name = "pair"
group = "write"
[[step.role]]
name = "insert"
ops = 60
counts = 3
sql = "INSERT INTO t{client} (id, v) VALUES (:id, :v)"
rows = 3
each.id = "op * 3 + item + 1"
each.v = "letters(3, 6)"
[[step.role]]
name = "delete"
follows = "insert"
lead = 4
counts = 3
sql = "DELETE FROM t{client} WHERE id >= :old LIMIT 3"
args.old = "1 + op * 3"
[[step.role]]
name = "query"
sql = "SELECT v FROM t{client} WHERE id = :id"
args.id = "uniform(1, 100)"
`

// TestRoles runs a writer, a deleter behind it and a reader that goes on until both have
// done their work, however clients are spread over threads.
func TestRoles(t *testing.T) {
	p := mustBind(t, rolesText)
	if got := p.Ops("pair"); got != 60 {
		t.Errorf("ops of a client = %d, want 60", got)
	}
	if d := cmp.Diff([]string{"insert", "delete", "query"}, p.Roles("pair")); d != "" {
		t.Error(d)
	}
	for _, c := range []struct{ clients, loops int }{{1, 1}, {4, 2}, {3, 3}} {
		t.Run(fmt.Sprintf("%d clients, %d loops", c.clients, c.loops), func(t *testing.T) {
			srv := newFake(t)
			var mu sync.Mutex
			ahead, most := map[string]int{}, 0
			number := regexp.MustCompile(`t(\d+)`)
			srv.handle = func(_ int, sql string) lab.Reply {
				mu.Lock()
				defer mu.Unlock()
				at := number.FindString(sql)
				switch sql[:6] {
				case "INSERT":
					ahead[at]++
					most = max(most, ahead[at])
				case "DELETE":
					if ahead[at]--; ahead[at] < 0 {
						t.Errorf("%s: deleted before it was inserted", sql)
					}
				}
				return lab.Reply{Rows: 1}
			}
			srv.record()
			sess := open(t, srv, p, "pair", c.clients, c.loops)
			total := int64(60 * c.clients)
			for slice := range 2 {
				r, err := sess.Slice(context.Background(), SliceSpec{Ops: total}, func() {})
				if err != nil {
					t.Fatal(err)
				}
				if r.Ops != total || len(r.Parts) != 3 || r.Parts[0].Ops != total || r.Parts[1].Ops != total || r.Hist.N() != total/3 {
					t.Errorf("slice %d: ops %d, parts %+v, latencies %d; want %d operations in each third", slice, r.Ops, r.Parts, r.Hist.N(), total)
				}
			}
			// An insert may have been answered whose end the client has not seen yet, on top
			// of the 4 that it may be ahead.
			if most > 5 {
				t.Errorf("inserts were %d ahead of deletes, want 4 at most", most)
			}
			inserted := map[string]int{}
			for _, sql := range srv.logged() {
				if strings.HasPrefix(sql, "INSERT") {
					inserted[sql[:strings.Index(sql, ", '")]]++
				}
			}
			if len(inserted) != 2*20*c.clients {
				t.Errorf("%d different inserts, want 2 slices × 20 × %d clients", len(inserted), c.clients)
			}
			if _, err := sess.Slice(context.Background(), SliceSpec{Ops: 1}, func() {}); err == nil {
				t.Error("a part of the step's operations was accepted")
			}
		})
	}
}

// TestRolesByTime lets a step with roles end by time: nobody waits for who has ended.
func TestRolesByTime(t *testing.T) {
	p := mustBind(t, rolesText)
	srv := newFake(t)
	sess := open(t, srv, p, "pair", 2, 2)
	r, err := sess.Slice(context.Background(), SliceSpec{Duration: 50 * time.Millisecond, Timeout: 20 * time.Second}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	if r.Ops == 0 || r.Parts[2].Ops == 0 {
		t.Errorf("ops %d, queries %d", r.Ops, r.Parts[2].Ops)
	}
}

// TestRates compares the two kinds of rate when the server stalls for half a second: one
// makes up for it, the other takes longer; only one has the waiting in its latencies.
func TestRates(t *testing.T) {
	for _, c := range []struct {
		catchup   bool
		min, max  float64 // seconds
		late, few int64   // operations that took over 100 ms, at least and at most; a loaded host adds some
	}{
		// 80 transactions, 40 a second: due at 0 … 1.975 s.
		{true, 1.9, 6, 10, 80},
		// As the insert benchmark does it: a second's wait before each second's operations,
		// and the stall of the first ones is lost, since 0.95 s have not gone by with it.
		{false, 2, 6, 1, 8},
	} {
		t.Run(fmt.Sprintf("catchup %v", c.catchup), func(t *testing.T) {
			t.Parallel()
			p := mustBind(t, fmt.Sprintf(`
name = "rates"
[[step]]
name = "s"
group = "write"
ops = 400
counts = 5
rate = 200
catchup = %v
prepared = false
sql = "INSERT INTO t VALUES (:v)"
rows = 5
each.v = "item"
`, c.catchup))
			srv := newFake(t)
			n := 0
			srv.handle = func(int, string) lab.Reply {
				if n++; n == 20 {
					time.Sleep(500 * time.Millisecond)
				}
				return lab.Reply{Affected: 5}
			}
			sess := open(t, srv, p, "s", 1, 1)
			r, err := sess.Slice(context.Background(), SliceSpec{Ops: 400, Timeout: time.Minute}, func() {})
			if err != nil {
				t.Fatal(err)
			}
			if r.Ops != 400 || r.Offered != 200 || r.Wall < c.min || r.Wall > c.max {
				t.Errorf("%d operations in %.2f s, asked for %g a second; want 400 in %g to %g s", r.Ops, r.Wall, r.Offered, c.min, c.max)
			}
			late := int64(0)
			for i, n := range r.Hist.counts {
				if low, _ := r.Hist.bounds(i); low > int64(100*time.Millisecond) {
					late += n
				}
			}
			if late < c.late || late > c.few {
				t.Errorf("%d operations took over 100 ms, want %d to %d", late, c.late, c.few)
			}
			if r.Wall >= fewestSeconds {
				sum, worst := int64(0), int64(0)
				for _, s := range r.Seconds[0] {
					sum, worst = sum+s.Ops, max(worst, s.Worst)
				}
				if sum != r.Ops || worst != int64(r.Hist.Max()) {
					t.Errorf("seconds hold %d operations, worst %d ns; want %d and %d: %v", sum, worst, r.Ops, r.Hist.Max(), r.Seconds)
				}
			}
		})
	}
}

// TestRows writes the same rows as text and bound to a prepared statement.
func TestRows(t *testing.T) {
	text := `
name = "rows"
[[step]]
name = "s"
group = "write"
sql = "INSERT INTO t (a, b, c) VALUES (:a, ':)', concat(:b, :c)) ON DUPLICATE KEY UPDATE a = :a"
rows = 3
args.a = "serial"
each.b = "letters(2, 2)"
each.c = "op * 3 + item"
`
	st := newStream(mustBind(t, strings.Replace(text, "sql =", "prepared = false\nsql =", 1)).steps["s"], 1, 0, 1)
	st.start(0, 2)
	st.next()
	got := string(st.sql(nil))
	want := regexp.MustCompile(`^INSERT INTO t \(a, b, c\) VALUES \(2, ':\)', concat\('([a-z]{2})', 6\)\),\(2, ':\)', concat\('([a-z]{2})', 7\)\),\(2, ':\)', concat\('([a-z]{2})', 8\)\) ON DUPLICATE KEY UPDATE a = 2$`)
	words := want.FindStringSubmatch(got)
	if words == nil || words[1] == words[2] && words[2] == words[3] {
		t.Fatalf("got %s", got)
	}
	bound := newStream(mustBind(t, text).steps["s"], 1, 0, 1)
	bound.start(0, 2)
	bound.next()
	var values []string
	for _, a := range bound.bound(nil) {
		if a.IsText {
			values = append(values, string(a.Text))
		} else {
			values = append(values, fmt.Sprint(a.Int))
		}
	}
	if d := cmp.Diff([]string{"2", words[1], "6", "2", words[2], "7", "2", words[3], "8", "2"}, values); d != "" {
		t.Errorf("bound values (-text +bound):\n%s", d)
	}
	one := "(?, ':)', concat(?, ?))"
	if got, want := bound.stmt().formText(0), "INSERT INTO t (a, b, c) VALUES "+one+","+one+","+one+" ON DUPLICATE KEY UPDATE a = ?"; got != want {
		t.Errorf("prepared as %s, want %s", got, want)
	}
	if n := bound.stmt().params(); n != 10 {
		t.Errorf("%d parameters, want 3 × 3 + 1", n)
	}
}

func TestRoleMistakes(t *testing.T) {
	head := "name = \"w\"\n[[step]]\nname = \"s\"\ngroup = \"write\"\n"
	for text, want := range map[string]string{
		"sql = \"DO 1\"\nrows = 2":                                                                   "VALUES (…)",
		"sql = \"INSERT INTO t VALUES (1\"\nrows = 2":                                                "has no )",
		"sql = \"DO 1\"\nrows = 0":                                                                   "outside 1 to 10000",
		"sql = \"DO 1\"\neach.a = 1":                                                                 "each is for statements with rows",
		"sql = \"DO 1\"\ncatchup = false":                                                            "no rate",
		"sql = \"DO 1\"\nlimit = \"1h\"":                                                             "steps of a chain",
		"sql = \"DO 1\"\nops = 5\nlimit = \"long\"":                                                  "is not a time",
		"sql = \"DO 1\"\n[[step.role]]\nname = \"a\"":                                                "are theirs",
		"[[step.role]]\nname = \"a\"\nsql = \"DO 1\"":                                                "no role has ops",
		"[[step.role]]\nsql = \"DO 1\"":                                                              "has no name",
		"[[step.role]]\nname = \"a\"\nfollows = \"b\"\nsql = \"DO 1\"":                               "no role before it",
		"[[step.role]]\nname = \"a\"\nlead = 2\nops = 1\nsql = \"DO 1\"":                             "follows none",
		"sql = \"INSERT INTO t VALUES (:a, :b)\"\nrows = 9999\nargs.a = 1\nargs.b = 1\neach.c = 1\n": "",
		"sql = \"INSERT INTO t VALUES (:a, :a, :a, :a, :a, :a, :a)\"\nrows = 9999\nargs.a = 1":       "protocol allows 65535",
	} {
		_, err := Parse("w.toml", head+text)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "w.toml:")):
			t.Errorf("%s: got %v, want %q with file and line", text, err, want)
		}
	}
}
