package load

import (
	"strings"
	"testing"
	"time"

	"backslide/lab"
)

// TestEngine knows before a run what an engine cannot do, and what it does otherwise.
func TestEngine(t *testing.T) {
	text := func(create, step string) string {
		return "name = \"w\"\n[[table]]\nname = \"t\"\ncreate = [\"" + create + "\"]\n[[step]]\nname = \"s\"\ngroup = \"write\"\nsql = \"DO 1\"\n" + step
	}
	for _, c := range []struct {
		engine, create, step string
		err, note            string
	}{
		{"MEMORY", "CREATE TABLE t (a INT, b MEDIUMTEXT) ENGINE={engine}", "", "MEDIUMTEXT", ""},
		{"MEMORY", "CREATE TABLE t (a INT COMMENT 'no blob', `text` INT) ENGINE={engine}", "", "", ""},
		{"InnoDB", "CREATE TABLE t (a INT, b TEXT) ENGINE={engine}", "begin = true", "", ""},
		{"MyRocks", "CREATE TABLE t (a TEXT, FULLTEXT KEY (a)) ENGINE={engine}", "", "FULLTEXT", ""},
		{"MyISAM", "CREATE TABLE t (a TEXT) ENGINE={engine}", "begin = true", "", "no transactions"},
		{"Aria", "CREATE TABLE t (a INT, FOREIGN KEY (a) REFERENCES u (a)) ENGINE={engine}", "", "", "ignores foreign keys"},
	} {
		w, err := Parse("w.toml", text(c.create, c.step))
		if err != nil {
			t.Fatal(err)
		}
		p, err := w.Bind(nil, Target{Family: lab.MariaDB, Version: [3]int{11, 8, 0}, Engine: c.engine, Schema: "x"})
		if err != nil {
			t.Fatal(err)
		}
		notes, err := p.Engine()
		if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s, %s: error %v, want %q", c.engine, c.create, err, c.err)
		}
		if all := strings.Join(notes, "\n"); (all == "") != (c.note == "") || !strings.Contains(all, c.note) {
			t.Errorf("%s, %s: notes %q, want %q", c.engine, c.create, all, c.note)
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
		if _, err := p.Engine(); (err == nil) != parts {
			t.Errorf("%s in partitions: %v", engine, err)
		}
	}
	for _, engine := range []string{"InnoDB", "MyRocks", "MyISAM", "Aria", "MEMORY"} {
		p := builtIn(t, "insert", nil, Target{Family: lab.MariaDB, Version: [3]int{11, 8, 0}, Engine: engine})
		if _, err := p.Engine(); err != nil {
			t.Errorf("%s: %v", engine, err)
		}
	}
}
