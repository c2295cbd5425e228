package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// paced has queries beside a writer whose server says how long each insert takes at least,
// and beside one whose rate no server reaches.
const paced = `
name = "paced"
chain = true
prepared = false
[[table]]
name = "t"
create = ["CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL) ENGINE={engine}"]
[[step]]
name = "held"
group = "point"
[[step.role]]
name = "query"
sql = "SELECT v FROM t WHERE id = 1"
[[step.role]]
name = "insert"
ops = 2
rate = 2
[[step.role.statement]]
sql = "INSERT INTO t (v) VALUES (1)"
[[step.role.statement]]
sql = "DO SLEEP(@@GLOBAL.long_query_time)"
[[step]]
name = "beyond"
group = "point"
[[step.role]]
name = "query"
sql = "SELECT v FROM t WHERE id = 1"
[[step.role]]
name = "insert"
ops = 20
rate = 1_000_000
sql = "INSERT INTO t (v) VALUES (1)"
`

// A writer that does not keep its rate is said beside the verdict, which there is none of,
// with whose it was and how far it came: on one side only, and on both.
func TestWritersFallBehind(t *testing.T) {
	c := newCLI(t)
	if err := os.WriteFile(filepath.Join(c.dir, "paced.toml"), []byte(paced), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must(0, "run", "--build", "mariadb@11.8", "--config", "even:long_query_time=0", "--config", "late:long_query_time=2",
		"--workload", "paced.toml", "--blocks", "1")
	text, _ := c.must(0, "report")
	text = strings.Join(strings.Fields(text), " ") // lines are folded
	c.must(0, "report", "-o", "page.html")
	page, err := os.ReadFile(filepath.Join(c.dir, "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	for name, shown := range map[string]string{"report": text, "page": string(page)} {
		for _, want := range []string{
			`late/InnoDB fell behind: insert came to 0\.\d of 2\.0 operations a second in block 1 \(in 1 block in all\), so what ran beside it is not comparable: no verdict`,
			`even/InnoDB fell behind: insert came to \d+\.\d of 1000000\.0 operations`,
			`late/InnoDB fell behind: insert came to \d+\.\d of 1000000\.0 operations`,
		} {
			if !regexp.MustCompile(want).MatchString(shown) {
				t.Errorf("%s does not say %q", name, want)
			}
		}
		if not := `even/InnoDB fell behind: insert came to \d+\.\d of 2\.0`; regexp.MustCompile(not).MatchString(shown) {
			t.Errorf("%s says %q of a writer that kept its rate", name, not)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	rates, _ := c.must(0, "report", "--view", "insert")
	for _, want := range []string{`(?m)^.*late.* 0\.\d+ ✗.*✗`, `(?m)^ *asked +2`, "came to less than 95 % of its rate"} {
		if !regexp.MustCompile(want).MatchString(rates) {
			t.Errorf("no %q in\n%s", want, rates)
		}
	}
}
