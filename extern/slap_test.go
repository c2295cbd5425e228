package extern

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// TestSlapText reads the same rows from both forms.
func TestSlapText(t *testing.T) {
	const text = `Benchmark
	Running for engine innodb
	Average number of seconds to run all queries: 19.695 seconds
	Minimum number of seconds to run all queries: 19.627 seconds
	Maximum number of seconds to run all queries: 19.769 seconds
	Number of clients running queries: 4
	Average number of queries per client: 250

Benchmark
	Running for engine innodb
	Load: read
	Average number of seconds to run all queries: 19.332 seconds
	Minimum number of seconds to run all queries: 19.306 seconds
	Maximum number of seconds to run all queries: 19.349 seconds
	Number of clients running queries: 8
	Average number of queries per client: 125

`
	want := []SlapRow{{"innodb", "", 19.695, 19.627, 19.769, 4, 250}, {"innodb", "read", 19.332, 19.306, 19.349, 8, 125}}
	r, err := ParseSlap(Output{Stdout: strings.NewReader(text)})
	if d := cmp.Diff(want, r.Rows); d != "" || err != nil || r.Invalid != "" || len(r.Notes) > 0 || len(r.Warnings) > 0 {
		t.Errorf("text: %v, %+v (-want +got):\n%s", err, r, d)
	}
	want[0].Label = "mixed, but mine"
	r, err = ParseSlap(Output{Stdout: strings.NewReader("innodb,mixed, but mine,19.695,19.627,19.769,4,250\ninnodb,read,19.332,19.306,19.349,8,125\n")})
	if d := cmp.Diff(want, r.Rows); d != "" || err != nil || r.Invalid != "" || len(r.Notes) > 0 {
		t.Errorf("CSV: %v, %+v (-want +got):\n%s", err, r, d)
	}
}

// TestSlapTraps has one case for each way in which an output misleads.
func TestSlapTraps(t *testing.T) {
	four := Slap{Query: "select 1", Clients: []int{4}, Queries: 1000, Iterations: 10}
	for _, x := range []struct {
		name        string
		asked       Slap
		out, stderr string
		exit        int
		invalid     string
		warning     string
		ops         int64
		wall        float64
	}{
		{name: "good", asked: four, out: ",mixed,19.695,19.627,19.769,4,250\n", ops: 10000, wall: 196.95},
		{name: "failed with exit status 0", asked: four, stderr: "mysqlslap: Cannot run query select * from nosuch ERROR : Table 'slap.nosuch' doesn't exist\n",
			invalid: "wrote to standard error (exit status 0): mysqlslap: Cannot run query"},
		{name: "failed with a fast result", asked: four, out: ",mixed,0.002,0.002,0.002,4,250\n", stderr: "mysqlslap: Cannot run query select * from nosuch ERROR : Table 'slap.nosuch' doesn't exist\n",
			invalid: "Cannot run query"},
		{name: "no schema", asked: four, out: ",mixed,1.007,1.007,1.007,4,250\n", stderr: "mysqlslap: Error when connecting to server: 1049 Unknown database 'nosuch'\n", invalid: "1049"},
		{name: "exit status", asked: four, out: ",mixed,19.695,19.627,19.769,4,250\n", exit: 1, invalid: "ended with exit status 1"},
		{name: "notice", asked: four, out: ",mixed,19.695,19.627,19.769,4,250\n", stderr: "mysqlslap: Deprecated program name. It will be removed in a future release, use '/usr/bin/mariadb-slap' instead\n",
			warning: "Deprecated", ops: 10000, wall: 196.95},
		{name: "five queries for eight clients", asked: Slap{Query: "select 1", Clients: []int{8}}, out: ",mixed,1.500,1.500,1.500,8,0\n", invalid: "8 clients ran 0 queries each"},
		{name: "ten queries for three clients", asked: Slap{Query: "select 1", Clients: []int{3}, Queries: 10}, out: ",mixed,0.110,0.110,0.110,3,3\n",
			warning: "ran 9 queries of the 10 asked for", ops: 9, wall: 0.11},
		{name: "row missing", asked: Slap{Query: "select 1", Clients: []int{1, 3}, Queries: 300}, out: ",mixed,0.900,0.900,0.900,1,300\n", invalid: "no result for 3 clients"},
		{name: "engine missing", asked: Slap{Auto: true, Engines: []string{"InnoDB", "MyISAM"}}, out: "innodb,mixed,0.900,0.900,0.900,1,300\n", invalid: "no result for 1 clients MyISAM"},
		{name: "several engines", asked: Slap{Auto: true, Engines: []string{"InnoDB", "MyISAM"}}, out: "innodb,mixed,0.9,0.9,0.9,1,300\nmyisam,mixed,0.9,0.9,0.9,1,300\n", invalid: "several results for 1 clients"},
		{name: "nothing", asked: four, invalid: "printed no result"},
		{name: "below the clock", asked: Slap{Query: "select 1", Queries: 10}, out: ",mixed,0.000,0.000,0.000,1,10\n", invalid: "shorter than mysqlslap's clock", warning: "there is no rate"},
		{name: "near the clock", asked: Slap{Query: "select 1", Queries: 10}, out: ",mixed,0.011,0.011,0.011,1,10\n", warning: "1 ms is 9.1% of a round", ops: 10, wall: 0.011},
		{name: "tie", asked: four, out: ",mixed,0.211,0.211,0.211,4,250\n", warning: "all 10 rounds took the same 0.211 s", ops: 10000, wall: 2.11},
		{name: "average outside", asked: four, out: ",mixed,0.311,0.411,0.511,4,250\n", warning: "not between minimum and maximum", ops: 10000, wall: 3.11},
		{name: "underflow", asked: four, out: ",mixed,18446744073709551.615,0.1,0.1,4,250\n,mixed,18446744073709551615.0,0.1,0.1,4,250\n", invalid: "impossible number"},
		{name: "negative", asked: four, out: ",mixed,-0.1,0.1,0.1,4,250\n", invalid: "impossible number"},
		{name: "cut off", asked: Slap{Query: "select 1"}, out: "Benchmark\n\tAverage number of seconds to run all queries: 19.695 seconds\n", invalid: "cut off"},
		{name: "noise", asked: four, out: "query was: 1,2,3,4,5,6,x\n,mixed,19.695,19.627,19.769,4,250\n", ops: 10000, wall: 196.95},
	} {
		r, err := x.asked.Parse(Output{Stdout: strings.NewReader(x.out), Stderr: strings.NewReader(x.stderr), Exit: x.exit})
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
		f := r.Figures(x.asked.clients()[0])
		if !strings.Contains(f.Err, x.invalid) || (x.invalid == "") != (f.Err == "") {
			t.Errorf("%s: %q, want %q", x.name, f.Err, x.invalid)
		}
		w := strings.Join(f.Warnings, "\n")
		if !strings.Contains(w, x.warning) || x.warning == "" && x.invalid == "" && w != "" {
			t.Errorf("%s: warnings %q, want %q", x.name, w, x.warning)
		}
		if f.Ops != x.ops || f.Err == "" && (f.Wall < x.wall-1e-9 || f.Wall > x.wall+1e-9) {
			t.Errorf("%s: %d operations in %g s, want %d in %g", x.name, f.Ops, f.Wall, x.ops, x.wall)
		}
	}
}

// TestSlapImported: of an output found somewhere the rounds are not known.
func TestSlapImported(t *testing.T) {
	r, err := ParseSlap(Output{Stdout: strings.NewReader(",mixed,19.695,19.627,19.769,4,250\n")})
	f := r.Figures(4)
	if err != nil || f.Ops != 1000 || f.Wall != 19.695 || !strings.Contains(strings.Join(f.Warnings, ""), "counted as one") {
		t.Errorf("%v %+v", err, f)
	}
	if f := r.Figures(8); f.Err != "mysqlslap has no result for 8 clients" {
		t.Errorf("%+v", f)
	}
}

func TestSlapArgs(t *testing.T) {
	maria, mysql, old := Version{Family: lab.MariaDB, Major: 10, Minor: 11}, Version{Family: lab.MySQL, Major: 9, Minor: 7}, Version{Family: lab.MySQL, Major: 5, Minor: 6}
	base := "mysqlslap --no-defaults --socket=/s --no-drop --query=select 1 --delimiter=; --concurrency=1 --iterations=1"
	for _, x := range []struct {
		s    Slap
		v    Version
		want string // a complete command line, or an error
	}{
		{Slap{Query: "select 1", Socket: "/s"}, Version{}, base + " --csv"},
		{Slap{Query: "select 1", Socket: "/s", NoTLS: true}, maria, base + " --csv --skip-ssl"},
		{Slap{Query: "select 1", Socket: "/s", NoTLS: true}, old, base + " --csv --skip-ssl"},
		{Slap{Query: "select 1", Socket: "/s", NoTLS: true, Text: true}, mysql, base + " --ssl-mode=DISABLED"},
		{Slap{Program: "/opt/mariadb-slap", Defaults: "/my.cnf", User: "u", Schema: "d", Query: "a$b", Delimiter: "$", Clients: []int{1, 8}, Iterations: 3, Queries: 80, Engines: []string{"InnoDB", "MEMORY"},
			Options: []lab.Option{{Name: "detach", Value: "5"}}}, maria,
			"/opt/mariadb-slap --defaults-file=/my.cnf --user=u --create-schema=d --no-drop --query=a$b --delimiter=$ --concurrency=1,8 --iterations=3 --number-of-queries=80 --engine=innodb,memory --csv --detach=5"},
		{Slap{Auto: true, Engines: []string{"InnoDB"}}, maria, "mysqlslap --no-defaults --auto-generate-sql --concurrency=1 --iterations=1 --engine=innodb --csv"},
		{Slap{Auto: true, Schema: "mine", Drop: true}, maria, "mysqlslap --no-defaults --create-schema=mine --auto-generate-sql --concurrency=1 --iterations=1 --csv"},
		{Slap{Auto: true, Schema: "mine"}, maria, "mysqlslap: schema mine: generated queries would drop it with all its tables: allow that, or name none"},
		{Slap{}, maria, "mysqlslap: either a query or generated ones"},
		{Slap{Auto: true, Query: "select 1"}, maria, "mysqlslap: either a query or generated ones"},
		{Slap{Query: "select 1", Clients: []int{0}}, maria, "mysqlslap: 0 clients: must be one or more"},
		{Slap{Query: "select 1", Clients: []int{2, 1, 2}}, maria, "mysqlslap: 2 clients: named twice, so that results cannot be told apart"},
		{Slap{Query: "select 1", Clients: []int{1, 8}, Queries: 5}, maria, "mysqlslap: 5 queries for 8 clients: none would be left for some: ask for 8 or more"},
		{Slap{Query: "select 1", Iterations: -1}, maria, "mysqlslap: a number is negative"},
	} {
		args, err := x.s.Args(x.v)
		got := strings.Join(args, " ")
		if err != nil {
			got = err.Error()
		}
		if got != x.want {
			t.Errorf("%+v:\ngot  %s\nwant %s", x.s, got, x.want)
		}
	}
	if n := (Slap{Clients: []int{1, 20, 3}}).Connections(); n != 21 {
		t.Errorf("%d connections, want 21", n)
	}
}

func FuzzSlap(f *testing.F) {
	f.Add(",mixed,19.695,19.627,19.769,4,250\n", "", 0)
	f.Add("innodb,mixed,0.000,0.000,0.000,8,0\n,a,b,1,1,1,1,99999999999999\n", "mysqlslap: Cannot run query\n", 0)
	f.Add("Benchmark\n\tAverage number of seconds to run all queries: 1.5 seconds\n\tMinimum number of seconds to run all queries: 1.5 seconds\n"+
		"\tMaximum number of seconds to run all queries: 1.5 seconds\n\tNumber of clients running queries: 131071\n\tAverage number of queries per client: 17592186044415\n", "", 1)
	f.Fuzz(func(t *testing.T, stdout, stderr string, exit int) {
		asked := Slap{Query: "q", Clients: []int{4, 131071}, Queries: 1000, Iterations: 2}
		for _, parse := range []func(Output) (SlapRun, error){ParseSlap, asked.Parse} {
			r, err := parse(Output{Stdout: strings.NewReader(stdout), Stderr: strings.NewReader(stderr), Exit: exit})
			if err != nil {
				t.Fatal(err)
			}
			for _, clients := range []int{0, 4, 131071} {
				f := r.Figures(clients)
				if f.Ops < 0 || f.Wall < 0 || (f.Err == "") == (f.Ops == 0 || f.Wall == 0) || exit != 0 && f.Err == "" {
					t.Errorf("figures %+v", f)
				}
			}
			if n := len(fmt.Sprintf("%+v", r)); n > 200_000+1000*len(stdout) {
				t.Errorf("%d bytes were kept of %d", n, len(stdout))
			}
		}
	})
}
