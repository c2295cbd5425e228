package main

import (
	"strings"
	"testing"
)

// What engines cannot do, and do otherwise, is said before a run: in a line for each thing,
// with the engines and steps that it is about.
func TestCheckEngines(t *testing.T) {
	c := newCLI(t)
	check := func(code int, args ...string) (stdout, stderr string) {
		return c.must(code, append([]string{"check", "--build", "mariadb@11.8", "--engine", "innodb,myrocks,myisam,aria,memory"}, args...)...)
	}
	_, said := check(2, "--workload", "ddl", "--steps", "parallel-read")
	if want := "\n  MEMORY: no CHECK TABLE (check-table of ddl)\n"; !strings.Contains(said, want) || strings.Count(said, "check-table") != 1 {
		t.Errorf("refused with %q, want one line %q", said, want)
	}
	for _, x := range []struct {
		args  []string
		notes []string
	}{
		{[]string{"--workload", "ddl", "--steps", "count"}, []string{"note: MyISAM, Aria, MEMORY: the number of a table's rows is known: COUNT(*) of all of them reads none (count of ddl)"}},
		{[]string{"--workload", "sysbench,sqlbench"}, []string{
			"note: MyISAM, Aria, MEMORY: no transactions: ", "(write-only, read-write-10, read-write-100 and 7 more steps of sysbench; transactions.insert, ",
			"note: MyRocks: tables of another engine are made, which the workload names (create.temporary of sqlbench)",
		}},
		{[]string{"--workload", "slap"}, nil},
	} {
		said, _ := check(0, x.args...)
		for _, want := range x.notes {
			if strings.Count(said, want) != 1 {
				t.Errorf("%v: not once %q in\n%s", x.args, want, said)
			}
		}
		lines := 0
		for _, want := range x.notes {
			lines += strings.Count(want, "note: ")
		}
		if n := strings.Count(said, "note: My"); n != lines {
			t.Errorf("%v: %d notes of engines, want %d, in\n%s", x.args, n, lines, said)
		}
	}
}
