package load

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"backslide/lab"
)

// TestEngine knows before a run what an engine cannot do, and what it does otherwise.
func TestEngine(t *testing.T) {
	text := func(create, step string) string {
		return "name = \"w\"\n[[table]]\nname = \"t\"\ncreate = [" + create + "]\n[[step]]\nname = \"s\"\ngroup = \"write\"\n" + step
	}
	const plain, do = "\"CREATE TABLE t (a INT) ENGINE={engine}\"", "sql = \"DO 1\"\n"
	for _, c := range []struct {
		engine, create, step string
		refused, note        string // with the steps that it is about, in brackets
	}{
		{"MEMORY", "\"CREATE TABLE t (a INT, b MEDIUMTEXT) ENGINE={engine}\"", do, "no BLOB, TEXT or JSON []", ""},
		{"MEMORY", "\"CREATE TABLE t (a INT COMMENT 'no blob', `text` INT) ENGINE={engine}\"", do, "", ""},
		{"MEMORY", plain, "sql = \"SELECT text FROM t WHERE a = 1\"\n", "", ""},
		{"MEMORY", plain, "sql = \"CHECK TABLE t\"\n", "no CHECK TABLE [s]", ""},
		{"MyISAM", plain, "sql = \"CHECK TABLE t\"\n", "", ""},
		{"MEMORY", plain, do + "ops = 1\nbefore = [\"ALTER TABLE t ADD b TEXT\"]\n", "no BLOB, TEXT or JSON [s]", ""},
		{"InnoDB", "\"CREATE TABLE t (a INT, b TEXT) ENGINE={engine}\"", do + "begin = true\n", "", ""},
		{"MyRocks", "\"CREATE TABLE t (a TEXT, FULLTEXT KEY (a)) ENGINE={engine}\"", do, "no FULLTEXT", ""},
		{"MyRocks", plain, "sql = \"CREATE TEMPORARY TABLE x (a INT) ENGINE={engine}\"\n", "no temporary tables [s]", ""},
		{"MyRocks", plain, "sql = \"CREATE TEMPORARY TABLE x (a INT) ENGINE=InnoDB\"\n", "", "another engine [s]"},
		{"MyRocks", plain, "sql = \"SELECT a FROM t WHERE a BETWEEN 1 AND 2 FOR UPDATE\"\nbegin = true\n", "", "no gaps"},
		{"MyISAM", "\"CREATE TABLE t (a TEXT) ENGINE={engine}\"", do + "begin = true\n", "", "no transactions"},
		{"Aria", plain, "[[step.statement]]\nsql = \"BEGIN\"\n[[step.statement]]\nsql = \"ROLLBACK\"\n", "", "no transactions"},
		{"MEMORY", plain, do + "[[step.side]]\nopen = [\"START TRANSACTION WITH CONSISTENT SNAPSHOT\"]\n", "", "no transactions"},
		{"Aria", plain, "sql = \"SELECT COUNT(*) FROM t FORCE INDEX (`PRIMARY`)\"\n", "", "COUNT(*)"},
		{"Aria", plain, "sql = \"SELECT COUNT(*) FROM t WHERE a > 1\"\n", "", ""},
		{"Aria", "\"CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES u (a)) ENGINE={engine}\"", do, "", "foreign keys are ignored []"},
		{"MEMORY", "{ sql = \"CREATE TABLE t (a INT) ENGINE={engine}\", engine = \"InnoDB\" }", do, "creates table t []", ""},
		{"MEMORY", plain, "choose = [{ sql = \"DO 1\", engine = \"InnoDB\" }]\n", "no SQL for it on mariadb 11.8.0 [s]", ""},
	} {
		w, err := Parse("w.toml", text(c.create, c.step))
		if err != nil {
			t.Fatal(err)
		}
		p, err := w.Bind(nil, Target{Family: lab.MariaDB, Version: [3]int{11, 8, 0}, Engine: c.engine, Schema: "x"})
		if err != nil {
			t.Fatal(err)
		}
		notes, refused := p.Engine(w.Steps)
		for what, x := range map[string]struct {
			facts []Fact
			want  string
		}{"refused": {refused, c.refused}, "notes": {notes, c.note}} {
			all := ""
			for _, f := range x.facts {
				all += fmt.Sprintf("%s %v", f.What, f.Steps)
			}
			words, steps, _ := strings.Cut(x.want, " [")
			if (all == "") != (x.want == "") || !strings.Contains(all, words) || !strings.HasSuffix(all, steps) {
				t.Errorf("%s, %s, %s: %s %q, want %q", c.engine, c.create, c.step, what, all, x.want)
			}
		}
		if p, _ := w.Bind(nil, Target{Family: lab.MariaDB, Version: [3]int{11, 8, 0}, Engine: c.engine, Schema: "x"}); strings.Contains(c.step, "begin") != slices.Contains(p.steps["s"].ignore, duplicateKey) && slices.Contains(lawless(), c.engine) {
			t.Errorf("%s, %s: errors %v are passed over", c.engine, c.step, p.steps["s"].ignore)
		}
	}
}

// The insert benchmark's size is known beforehand: 20000 + 100 + 8000 rows and 3200 a
// second of query steps, of each client.
func TestInsertEstimate(t *testing.T) {
	p := builtIn(t, "insert", map[string]string{"rows": "20000", "more": "8000", "seconds": "2"}, Target{Family: lab.MariaDB, Version: [3]int{11, 8, 0}, Engine: "InnoDB", Clients: 3})
	rows, bytes := p.Estimate()
	if want := int64(3 * (20000 + 100 + 8000 + 2*3200)); rows != want || bytes < 100*rows || bytes > 400*rows {
		t.Errorf("%d rows, %d bytes each; want %d rows", rows, bytes/rows, want)
	}
	if got := []time.Duration{p.Paced("l.i0"), p.Paced("qr500"), p.Paced("none")}; got[0] != 0 || got[1] != 2*time.Second || got[2] != 0 {
		t.Errorf("paced: %v, want 0, 2 s, 0", got)
	}
	for engine, parts := range map[string]bool{"InnoDB": true, "MyISAM": true, "Aria": true, "MyRocks": false, "MEMORY": false} {
		p := builtIn(t, "insert", map[string]string{"partitions": "4"}, Target{Family: lab.MariaDB, Version: [3]int{11, 8, 0}, Engine: engine})
		if _, refused := p.Engine(p.Workload.Steps); (len(refused) == 0) != parts {
			t.Errorf("%s in partitions: %v", engine, refused)
		}
	}
	for _, engine := range []string{"InnoDB", "MyRocks", "MyISAM", "Aria", "MEMORY"} {
		p := builtIn(t, "insert", nil, Target{Family: lab.MariaDB, Version: [3]int{11, 8, 0}, Engine: engine})
		if _, refused := p.Engine(p.Workload.Steps); len(refused) > 0 {
			t.Errorf("%s: %v", engine, refused)
		}
	}
}
