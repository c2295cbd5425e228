package report

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"backslide/lab"
)

func bugOf(t *testing.T, s lab.Summary, b Bug) string {
	t.Helper()
	var out bytes.Buffer
	if err := WriteBug(&out, s, b); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// regression returns a candidate and level of the first summary that regressed.
func regression(t *testing.T, s lab.Summary) Bug {
	t.Helper()
	for _, c := range s.Comparisons {
		if c.Metric == lab.QPS && c.Verdict == lab.Regressed {
			return Bug{Candidate: c.Candidate, Level: c.Level, NoRecipe: "no recipe"}
		}
	}
	t.Fatal("nothing regressed")
	return Bug{}
}

// A title is read alone: it must not say what the run has not shown.
func TestBugTitle(t *testing.T) {
	s := first()
	b := regression(t, s)
	if got := bugOf(t, s, b); !strings.Contains(strings.SplitN(got, "\n", 2)[0], "slower than") {
		t.Errorf("the title does not say what regressed:\n%.200s", got)
	}
	for i := range s.Comparisons {
		s.Comparisons[i].Verdict = lab.Inconclusive
	}
	if got := bugOf(t, s, b); !strings.Contains(strings.SplitN(got, "\n", 2)[0], ": no difference shown between") {
		t.Errorf("the title of what is inconclusive claims something:\n%.200s", got)
	}
}

// An explanation becomes evidence: causes with their intervals, functions, waits, plans.
func TestBugEvidence(t *testing.T) {
	s := first()
	b := regression(t, s)
	b.Explanation = &lab.Explanation{
		Headline: "It computes more.",
		Causes: []lab.Cause{{Kind: lab.CPUCause, What: "CPU in row_search", Amount: lab.Component{
			Unit: "sec/op", Base: 10e-6, Candidate: 12e-6, Diff: 2e-6, Lo: 1e-6, Hi: 3e-6}}},
		Events: []lab.Component{{Name: "wait/lock", Unit: "sec/op", Base: 1e-6, Candidate: 0.5e-6, Diff: -0.5e-6, Lo: math.Inf(-1), Hi: math.Inf(1)}},
		Plans:  []lab.PlanChange{{Statement: "SELECT `a` FROM t -- ```", Base: "index", Candidate: "table scan /home/me/x"}, {Statement: "SELECT 2", Base: "const", Candidate: "const"}},
		Budget: []lab.Component{{Name: "period", Unit: "sec/op", Base: 20e-6, Candidate: 25e-6, Diff: 5e-6, Lo: 4e-6, Hi: 6e-6}},
		Doubts: []string{"few samples"},
	}
	got := bugOf(t, s, b)
	for _, want := range []string{
		"It computes more.", "| CPU in row\\_search, µs/op | 10.0 | 12.0 | +2.00 | [+1.00, +3.00] |", "| wait/lock, µs/op | 1.00 | 0.500 | −0.500 | – |",
		"````sql\nSELECT `a` FROM t -- ```\n````", "table scan …/x", "- few samples",
		"SELECT 2\n```\n\non both sides:\n\n```\nconst\n", "| period, µs/op | 20.0 | 25.0 | +5.00 | [+4.00, +6.00] |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "backslide explain") {
		t.Error("it says that nothing was taken")
	}
}

// Statements reach the server whole, whatever they hold.
func TestHereDocuments(t *testing.T) {
	got := script(lab.Recipe{
		Schema: "s", Setup: []string{"CREATE PROCEDURE p() BEGIN SELECT 1; END", "SELECT 'x\nSQL\ny'"}, Clients: [][]string{{"SELECT '$HOME `x`'"}}, Ops: 1,
		Before: [][]string{{"SET @a = 1"}},
	}, 1)
	for _, want := range []string{
		"DELIMITER $$\nCREATE PROCEDURE p() BEGIN SELECT 1; END$$\nDELIMITER ;\n", "<<'SQL_'\n", "\nSQL_\n", "cat > client0.sql <<'SQL'\nSELECT '$HOME `x`';\nSQL\n",
		"cat > before0.sql", "$MYSQL --force s",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the script lacks %q:\n%s", want, got)
		}
	}
}

// Nothing from outside becomes markup of the report, or ends one of its blocks.
func TestBugHostile(t *testing.T) {
	s := hostile()
	b := regression(t, s)
	b.Recipe = &lab.Recipe{Schema: "s", Clients: [][]string{{"SELECT '```'"}}, Ops: 1, Notes: []string{"<b>"}}
	got := bugOf(t, s, b)
	for _, bad := range []string{"<script>", "<img", "\x1b", "\u202e"} {
		before, _, _ := strings.Cut(got, "## How to repeat")
		_, after, _ := strings.Cut(got, "## Expected and actual")
		if strings.Contains(before+after, bad) {
			t.Errorf("%q is in the report", bad)
		}
	}
	if !strings.Contains(got, "````sh\n") {
		t.Error("a statement can end the script's block")
	}
}

func TestRedaction(t *testing.T) {
	r := &bugReport{}
	for in, want := range map[string]string{
		"/usr/lib/x.so": "…/x.so", "dir /home/me/b": "dir …/b", "--datadir=/var/lib/mysql --x=1": "--datadir=…/mysql --x=1", "~/b/c": "…/c", "../b/c": "…/c",
		"wait/io/file/innodb": "wait/io/file/innodb", "mariadb@10.5/default/InnoDB": "mariadb@10.5/default/InnoDB", "µs/op": "µs/op", "1 / 2": "1 / 2",
		`error in "/a/b": no`: `error in "…/b": no`,
	} {
		if got := r.plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
	if got := r.option(lab.Option{Name: "replication-password", Value: "x"}); strings.Contains(got, "x") {
		t.Errorf("option says %q", got)
	}
}
