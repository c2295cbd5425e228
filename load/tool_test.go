package load

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

const toolHead = `
name = "w"
prepared = "$prepared"
[params]
rows = 1000
prepared = true
kind = "'uniform'"
[[step]]
name = "own"
group = "point"
read = true
begin = true
retry = [1]
choose = [{ sql = "SELECT 1 FROM {family}_t", family = "mysql" }, "SELECT {$rows}"]
`

// TestTools resolves steps that other tools drive, and what they take from others.
func TestTools(t *testing.T) {
	p := mustBind(t, toolHead+`
[[step]]
name = "points"
group = "point"
read = true
counts = "statements"
[step.tool]
program = "sysbench"
script = "oltp_point_select"
options = { table-size = "{$rows}", tables = 2, skip-trx = true, rand-type = "{$kind}" }
[[step]]
name = "zipf"
like = "points"
params.prepared = false
[step.tool]
options = { rand-type = "zipfian", rand-zipfian-exp = 0.8 }
[[step]]
name = "lua"
like = "own"
counts = "transactions"
[step.tool]
program = "sysbench"
script = "./own.lua"
[[step]]
name = "slap"
like = "own"
[step.tool]
program = "mysqlslap"
options = { commit = 10 }
[[step.side]]
open = ["A"]
close = ["B"]
`)
	options := []lab.Option{{Name: "rand-type", Value: "uniform"}, {Name: "skip-trx", Value: "on"}, {Name: "table-size", Value: "1000"}, {Name: "tables", Value: "2"}}
	zipf := []lab.Option{{Name: "rand-type", Value: "zipfian"}, {Name: "rand-zipfian-exp", Value: "0.8"}, options[1], options[2], options[3]}
	for step, want := range map[string]lab.Tool{
		"points": {Program: "sysbench", Script: "oltp_point_select", Queries: true, Options: options},
		"zipf":   {Program: "sysbench", Script: "oltp_point_select", Queries: true, Text: true, Options: zipf},
		"lua":    {Program: "sysbench", Script: "./own.lua"},
		"slap":   {Program: "mysqlslap", Query: "SELECT 1000", Options: []lab.Option{{Name: "commit", Value: "10"}}},
	} {
		got, ok := p.Tool(step)
		if d := cmp.Diff(want, got); d != "" || !ok {
			t.Errorf("%s (-want +got):\n%s", step, d)
		}
		if p.Digest(step, 1, 0, 1, 1) == p.Digest(step, 1, 0, 2, 1) {
			t.Errorf("%s: the digest does not tell 1 client from 2", step)
		}
	}
	if _, err := p.Recipe("points", 1, 1, 1000, nil); err == nil || !strings.Contains(err.Error(), "sysbench drives the step, with script oltp_point_select") {
		t.Errorf("a script as plain SQL: %v", err)
	}
	if got := p.Examples("points", 1, 0, 1); got != nil {
		t.Errorf("statements of a script: %q", got)
	}
	if d := cmp.Diff([]string{"SELECT 1000"}, p.Examples("slap", 1, 0, 1)); d != "" {
		t.Errorf("statements of mysqlslap (-want +got):\n%s", d)
	}
	if _, ok := p.Tool("own"); ok {
		t.Error("our own client is another tool")
	}
	if c, n := p.Needs("slap", 4); c != 6 || n != 0 { // 4, mysqlslap's own, the side session
		t.Errorf("slap needs %d connections and %d statements, want 6 and 0", c, n)
	}

	srv := newFake(t)
	srv.record()
	s, err := p.Session(context.Background(), Work{Step: "slap", Clients: 4}, srv.dial, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Slice(context.Background(), SliceSpec{Ops: 1}, func() {}); err == nil || !strings.Contains(err.Error(), "driven by mysqlslap") {
		t.Errorf("a slice of our client: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff([]string{"A", "B"}, srv.logged()); d != "" {
		t.Errorf("statements (-want +got):\n%s", d)
	}
}

func TestToolErrors(t *testing.T) {
	step := "[[step]]\nname = \"s\"\ngroup = \"point\"\nread = true\n" // lines 2 to 5
	for _, c := range []struct {
		name, text string
		line       int
		words      string
	}{
		{"no program", step + "[step.tool]\nscript = \"x\"", 6, "without a program"},
		{"unknown program", step + "[step.tool]\nprogram = \"sysbnch\"", 7, "did you mean sysbench"},
		{"no script", step + "[step.tool]\nprogram = \"sysbench\"", 6, "needs a script"},
		{"script of mysqlslap", step + "[step.tool]\nprogram = \"mysqlslap\"\nscript = \"x\"", 8, "runs the step's sql"},
		{"unknown key", step + "[step.tool]\nprogramm = \"sysbench\"", 7, "did you mean program"},
		{"sql beside a script", step + "sql = \"X\"\n[step.tool]\nprogram = \"sysbench\"\nscript = \"x\"", 2, "no statement beside it"},
		{"args", step + "args.a = 1\n[step.tool]\nprogram = \"sysbench\"\nscript = \"x\"", 6, "args is for steps that our own client drives"},
		{"rate", step + "rate = 5\n[step.tool]\nprogram = \"sysbench\"\nscript = \"x\"", 6, "rate is for steps"},
		{"threads", step + "[step.tool]\nprogram = \"sysbench\"\nscript = \"x\"\noptions.rand-type = \"uniform\"\noptions.threads = 4", 10, "threads of sysbench follows"},
		{"concurrency", step + "sql = \"X\"\n[step.tool]\nprogram = \"mysqlslap\"\noptions = { concurrency = 4 }", 9, "concurrency of mysqlslap follows"},
		{"option's kind", step + "[step.tool]\nprogram = \"sysbench\"\nscript = \"x\"\noptions.a = [1]", 9, "neither number"},
		{"option's parameter", step + "[step.tool]\nprogram = \"sysbench\"\nscript = \"x\"\noptions.a = \"{$nosuch}\"", 9, "$nosuch"},
		{"option's draw", step + "[step.tool]\nprogram = \"sysbench\"\nscript = \"x\"\noptions.a = \"{uniform(1, 2)}\"", 9, "known beforehand"},
		{"argument for mysqlslap", step + "sql = \"SELECT :a\"\n[step.tool]\nprogram = \"mysqlslap\"", 6, "unknown argument"},
		{"changing text", step + "sql = \"SELECT {op}\"\nprepared = false\n[step.tool]\nprogram = \"mysqlslap\"", 2, "one statement as it is"},
		{"two statements", step + "[step.tool]\nprogram = \"mysqlslap\"\n[[step.statement]]\nsql = \"A\"\n[[step.statement]]\nsql = \"B\"", 2, "one statement as it is"},
		{"counts", step + "counts = \"5\"\n[step.tool]\nprogram = \"sysbench\"\nscript = \"x\"", 6, "counts transactions or statements"},
		{"statements of writes", "[[step]]\nname = \"s\"\ngroup = \"write\"\ncounts = \"statements\"\n[step.tool]\nprogram = \"sysbench\"\nscript = \"x\"", 5, "has to count these"},
	} {
		_, err := Parse("w.toml", "name = \"w\"\n"+c.text)
		var se *lab.SyntaxError
		switch {
		case !errors.As(err, &se):
			t.Errorf("%s: got %v, want a SyntaxError", c.name, err)
		case se.Line != c.line || !strings.Contains(se.Msg, c.words):
			t.Errorf("%s: got line %d: %s\nwant line %d with %q", c.name, se.Line, se.Msg, c.line, c.words)
		}
	}
}
