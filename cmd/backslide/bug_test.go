package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"backslide/lab"
	"backslide/server/servertest"
)

// sidesOf returns two sides of which the second has options that are nobody's business.
func sidesOf(family lab.Family, version string) []lab.Side {
	base := lab.Side{
		Build:  lab.Build{Name: "dir:/home/someone/builds/old", Family: family, Version: "10.5.29", Origin: "dir /home/someone/builds/old", ID: "0123456789abcdef"},
		Config: lab.Config{Name: "default", Options: []lab.Option{{Name: "innodb_buffer_pool_size", Value: "64M"}}},
	}
	next := base
	next.Build.Version, next.Build.Flags = version, "-O2 -fdebug-prefix-map=/home/someone/src=."
	next.Config.Options = append(next.Config.Options[:1:1],
		lab.Option{Name: "master_password", Value: "hunter2"}, lab.Option{Name: "report-host", Value: "db7.example.com"}, lab.Option{Name: "innodb_data_home_dir", Value: "/home/someone/ib"})
	return []lab.Side{base, next}
}

// bugReport stores a run in a lab of its own and returns the bug report on its step.
func bugReport(t *testing.T, use lab.WorkloadUse, step string, sides []lab.Side, flags ...string) string {
	t.Helper()
	home := t.TempDir()
	storeStep(t, home, 0.8, use, step, sides)
	return command(t, home, append([]string{"report", "--format", "bug", "1", step}, flags...)...)
}

func TestBugReport(t *testing.T) {
	sides := sidesOf(lab.MariaDB, "11.8.2-MariaDB")
	got := bugReport(t, lab.WorkloadUse{Name: "sysbench", Params: map[string]string{"rows": "1000"}}, "point-query", sides)
	for _, want := range []string{
		"# point-query at 2 clients: mariadb 11.8.2-MariaDB is 20.0 % slower than mariadb 10.5.29\n",
		"a ratio of 0.800, 99 % interval [0.7", "## How to repeat", "mariadb-install-db --no-defaults --auth-root-authentication-method=normal --datadir=/tmp/base\nmariadbd --no-defaults --datadir=/tmp/base --socket=/tmp/base.sock", "--innodb_buffer_pool_size=64M", "```sh\n#!/bin/sh\n",
		"CREATE TABLE sbtest1", "FROM numbers WHERE n <= 1000", "cat > client0.sql <<'SQL'\nSELECT c FROM sbtest1 WHERE id", "cat > client1.sql",
		"## Expected and actual", "| 2 | 10000 | 8000 | 0.800 |", "## Evidence", "backslide explain 1 point-query", "## Environment",
		"--master\\_password=<left out>", "dir …/old", "-fdebug-prefix-map=…/src=.",
	} {
		if !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(got, "&lt;", "<"), "&gt;", ">"), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	for _, private := range []string{"someone", "hunter2", "example.com", "/home"} {
		if strings.Contains(got, private) {
			t.Errorf("the report tells %q", private)
		}
	}
	if t.Failed() {
		t.Log(got)
	}
	if got := bugReport(t, lab.WorkloadUse{Name: "sysbench"}, "point-query", sides, "--private"); !strings.Contains(got, "/home/someone/ib") {
		t.Error("--private leaves out a path")
	}
}

// Every step of every built-in workload that a server can run is said in plain SQL.
func TestRecipes(t *testing.T) {
	for _, name := range []string{"slap", "sysbench", "insert", "bug68079"} {
		w, err := readWorkload(lab.WorkloadUse{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		var levels []lab.LevelPlan // of a run of all steps
		for _, s := range w.w.Steps {
			levels = append(levels, lab.LevelPlan{Level: lab.Level{Step: lab.Step{Workload: name, Name: s.Name}, Clients: 2}, Read: s.Read, Ops: 50, Slices: 4})
		}
		for _, s := range w.w.Steps {
			r := lab.Run{Levels: levels, Experiment: lab.Experiment{Workloads: []lab.WorkloadUse{{Name: name}}}, Sides: map[string]*lab.Side{}}
			v := lab.Variant{Build: "b", Engine: "InnoDB"}
			r.Sides[v.String()] = &lab.Side{Build: lab.Build{Family: lab.MySQL, Version: "9.7.0"}}
			rec, err := recipeOf(r, lab.Comparison{Candidate: v, Level: lab.Level{Step: lab.Step{Workload: name, Name: s.Name}, Clients: 2}})
			if err != nil {
				t.Errorf("%s, %s: %v", name, s.Name, err)
				continue
			}
			if len(rec.Clients) < 2 || len(rec.Clients[0]) == 0 || rec.Ops == 0 {
				t.Errorf("%s, %s: clients do nothing", name, s.Name)
			}
			if i := slices.IndexFunc(rec.Notes, func(n string) bool { return strings.Contains(n, "before this one did to the tables is left out") }); i >= 0 {
				t.Errorf("%s, %s: %s", name, s.Name, rec.Notes[i])
			}
		}
	}
}

func TestBugRefused(t *testing.T) {
	home := t.TempDir()
	storeStep(t, home, 0.8, lab.WorkloadUse{Name: "slap"}, "PK", sidesOf(lab.MariaDB, "11.8.2"))
	for want, args := range map[string][]string{
		"about one step":               {"report", "--format", "bug", "1"},
		`step "PKK"; did you mean PK`:  {"report", "--format", "bug", "1", "PKK"},
		"its candidates are mariadb@1": {"report", "--format", "bug", "1", "PK", "--candidate", "mariadb@9"},
	} {
		var out bytes.Buffer
		if code := backslide(strings.NewReader(""), &out, &out, append([]string{"--lab", home}, args...)); code != exitTrouble || !strings.Contains(out.String(), want) {
			t.Errorf("%v: exit code %d, %s; want %q", args, code, out.String(), want)
		}
	}
}

// TestBugRepeats does on a real server what bug reports say, with nothing but their text,
// the shell and the mysql client.
func TestBugRepeats(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a real server")
	}
	type step struct {
		workload, step, table, key, rows string
		before                           []lab.LevelPlan // other than the steps of a chain
	}
	// In a block of the run, 4 slices of 15 operations inserted rows before.
	inserted := []lab.LevelPlan{{Level: lab.Level{Step: lab.Step{Workload: "sysbench", Name: "insert"}, Clients: 2}, Group: lab.Write, Ops: 15, Slices: 4}}
	// A step of a chain finds what those before it have left: l.x 1200 rows, to which it adds
	// 100; qr100 1300 of 2300, since as many of the oldest were deleted as inserted.
	for name, steps := range map[string][]step{
		"mariadb@11.8": {
			{"sysbench", "point-query", "sbtest1", "id", "1294\t1\t1294\n", inserted}, {"sysbench", "insert", "sbtest1", "id", "1234\t1\t1234\n", nil},
			{"insert", "l.x", "pi2", "transactionid", "1200\t1\t1200\n", nil},
			{"insert", "qr100", "pi2", "transactionid", "1300\t1001\t2300\n", nil},
		},
		"mysql@5.6": {{"sysbench", "read-only-10", "sbtest1", "id", "1294\t1\t1294\n", inserted}, {"slap", "q1-10", "foo", "i", "1234\t1\t1234\n", nil}},
	} {
		b, s := servertest.Start(t, name, nil, nil)
		for _, tt := range steps {
			t.Run(name+" "+tt.step, func(t *testing.T) {
				sides := sidesOf(b.Family, b.Version)
				params := map[string]string{"rows": "1234"}
				if tt.workload == "insert" {
					params = map[string]string{"rows": "1200", "more": "1000", "seconds": "1"}
				}
				home := t.TempDir()
				storeStep(t, home, 0.8, lab.WorkloadUse{Name: tt.workload, Params: params}, tt.step, sides, tt.before...)
				text := command(t, home, "report", "--format", "bug", "1", tt.step)
				m := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(text)
				if m == nil {
					t.Fatalf("no script in\n%s", text)
				}
				count := fmt.Sprintf("$MYSQL -N -e 'SELECT COUNT(*), MIN(%[1]s), MAX(%[1]s) FROM %[2]s.%[3]s'\n", tt.key, schema(tt.workload), tt.table)
				cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(m[1], "$MYSQL < schema.sql > /dev/null\n", "$MYSQL < schema.sql > /dev/null\n"+count, 1))
				cmd.Env = []string{"PATH=/usr/bin:/bin", "SOCKET=" + s.Socket(), "DBUSER=backslide", "TIMES=1", "TMPDIR=" + t.TempDir()}
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s\n%s", err, out, m[1])
				}
				if !strings.Contains(string(out), tt.rows) {
					t.Errorf("it says %q, want %q: the table's rows, the first and the last", out, tt.rows)
				}
				done := regexp.MustCompile(`(?m)^(\d+) operations in \d+ ms$`).FindSubmatch(out)
				if done == nil || len(bytes.Split(bytes.TrimSpace(out), []byte("\n"))) != 2 {
					t.Fatalf("it says\n%s", out)
				}
				if n, _ := strconv.Atoi(string(done[1])); n < 2 {
					t.Errorf("%d operations", n)
				}
			})
		}
	}
}
