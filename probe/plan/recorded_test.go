package plan

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "with the live test: record what the servers answer")

// answer is what a server said to one EXPLAIN.
type answer struct {
	query   string // name in queries
	form    Form
	columns []string
	rows    [][]*string
}

// servers are those whose answers are recorded in testdata.
var servers = []string{"mysql@5.6", "mysql@9.7", "mariadb@10.5", "mariadb@10.11", "mariadb@11.8"}

func recording(server string) string {
	return filepath.Join("testdata", strings.Replace(server, "@", "-", 1)+".txtar")
}

// load reads recorded answers, and the plan that each query of theirs has, by query.
func load(t *testing.T, server string) (answers []answer, plans map[string]string) {
	t.Helper()
	ar, err := txtar.ParseFile(recording(server))
	if err != nil {
		t.Fatal(err)
	}
	plans = map[string]string{}
	for _, f := range ar.Files {
		query, form, _ := strings.Cut(f.Name, "/")
		text := strings.TrimSuffix(string(f.Data), "\n")
		switch {
		case form == "plan":
			plans[query] = text
		case strings.HasPrefix(form, string(Tabular)):
			a := answer{query: query, form: Form(form)}
			for i, line := range strings.Split(text, "\n") {
				cells := strings.Split(line, "\t")
				if i == 0 {
					a.columns = cells
					continue
				}
				var row []*string
				for _, c := range cells {
					row = append(row, cell(c))
				}
				a.rows = append(a.rows, row)
			}
			answers = append(answers, a)
		default:
			answers = append(answers, answer{query: query, form: Form(form), columns: []string{"EXPLAIN"}, rows: [][]*string{{&text}}})
		}
	}
	return answers, plans
}

func cell(s string) *string {
	if s == `\N` {
		return nil
	}
	return &s
}

// save records answers and the plans that were read from them.
func save(t *testing.T, server string, answers []answer) {
	t.Helper()
	ar := &txtar.Archive{Comment: []byte("What " + server + " answers to EXPLAIN, and the plan that is read from it. Recorded by the live test with -update.\n\n")}
	for _, a := range answers {
		if a.form == JSON {
			p, err := Parse(a.columns, a.rows)
			if err != nil {
				t.Fatal(err)
			}
			ar.Files = append(ar.Files, txtar.File{Name: a.query + "/plan", Data: []byte(p.String() + "\n")})
		}
		var b strings.Builder
		if len(a.columns) > 1 {
			b.WriteString(strings.Join(a.columns, "\t") + "\n")
		}
		for _, row := range a.rows {
			for i, c := range row {
				if i > 0 {
					b.WriteByte('\t')
				}
				if c == nil {
					b.WriteString(`\N`)
				} else {
					b.WriteString(strings.TrimSuffix(*c, "\n"))
				}
			}
			b.WriteByte('\n')
		}
		ar.Files = append(ar.Files, txtar.File{Name: a.query + "/" + string(a.form), Data: []byte(b.String())})
	}
	if err := os.WriteFile(recording(server), txtar.Format(ar), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRecorded: all forms in which a server tells the plan of a statement are read as one
// tree, which is the one that the recording says.
func TestRecorded(t *testing.T) {
	for _, server := range servers {
		t.Run(server, func(t *testing.T) {
			answers, plans := load(t, server)
			if len(plans) < len(asked) {
				t.Errorf("%d plans are recorded, of %d queries", len(plans), len(asked))
			}
			checkForms(t, answers, plans)
		})
	}
}

// checkForms holds that the answers to a query are one plan.
func checkForms(t *testing.T, answers []answer, plans map[string]string) {
	t.Helper()
	first := map[string]*Node{}
	for _, a := range answers {
		name := a.query + "/" + string(a.form)
		p, err := Parse(a.columns, a.rows)
		if errors.Is(err, ErrNoPlan) && a.form != JSON && a.form != Tabular {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want, ok := plans[a.query]; ok && a.form == JSON {
			if d := cmp.Diff(want, p.String()); d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
		}
		if first[a.query] == nil {
			first[a.query] = p
			continue
		}
		if !Equal(first[a.query], p) {
			t.Errorf("%s: the plan differs between forms:\n  %s\n  %s", name, first[a.query], p)
		}
		if d := Diff(first[a.query], p); d != nil && Equal(first[a.query], p) {
			t.Errorf("%s: equal plans differ: %q", name, d)
		}
	}
}

// TestRecordedRows: rows per loop and loops are read from the forms that ran the statement.
func TestRecordedRows(t *testing.T) {
	for _, server := range servers[1:] {
		answers, _ := load(t, server)
		seen := 0
		for _, a := range answers {
			if a.query != "left-join" || !strings.HasSuffix(string(a.form), "-analyze") {
				continue
			}
			seen++
			p, err := Parse(a.columns, a.rows)
			if err != nil {
				t.Fatal(err)
			}
			tables := p.Tables()
			if len(tables) != 2 || tables[0].ActRows != 50 || tables[1].ActRows != 1 {
				t.Errorf("%s %s: %+v", server, a.form, tables)
			}
			got, ok := p.RowsExamined()
			if a.form == TabularAnalyze {
				if ok {
					t.Errorf("%s %s: %v rows examined, without loops", server, a.form, got)
				}
			} else if !ok || got != 100 { // 50 of t1, one of t2 for each
				t.Errorf("%s %s: %v, %v rows examined, want 100", server, a.form, got, ok)
			}
		}
		if seen < 2 {
			t.Errorf("%s: %d forms with rows", server, seen)
		}
	}
}

// TestDuplicateKeys: MariaDB 10.5 names both tables of a join "table" in one object.
func TestDuplicateKeys(t *testing.T) {
	answers, _ := load(t, "mariadb@10.5")
	i := slices.IndexFunc(answers, func(a answer) bool { return a.query == "left-join" && a.form == JSON })
	text := *answers[i].rows[0][0]
	if strings.Contains(text, "nested_loop") || strings.Count(text, `"table":`) != 2 {
		t.Fatalf("this is no longer an object with two tables:\n%s", text)
	}
	p, err := ParseText(text)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.String(), "t1 range a(1) covering; t2 ref t1_id(1); temporary, filesort"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestAcrossServers: the plan of a query is compared over versions and vendors.
func TestAcrossServers(t *testing.T) {
	plans := map[string]*Node{}
	for _, server := range servers {
		answers, _ := load(t, server)
		for _, a := range answers {
			if a.form == JSON {
				p, err := Parse(a.columns, a.rows)
				if err != nil {
					t.Fatal(err)
				}
				plans[a.query+" "+server] = p
			}
		}
	}
	for _, server := range servers[1:] {
		if a, b := plans["left-join mysql@5.6"], plans["left-join "+server]; !Equal(a, b) {
			t.Errorf("left-join: mysql@5.6 and %s differ: %q", server, Diff(a, b))
		}
	}
	for _, tt := range []struct {
		query, base, cand string
		want              []string
	}{
		{"order-by-limit", "mariadb@10.11", "mariadb@11.8", []string{"th: index_merge(intersect ticket_id, htype) + filesort -> index create_time"}},
		{"order-by-limit", "mysql@5.6", "mariadb@10.11", nil},
		{"no-index", "mysql@5.6", "mysql@9.7", []string{"t3: ALL join buffer BNL -> ALL join buffer hash"}},
		{"derived", "mysql@5.6", "mysql@9.7", []string{"t3: ALL + temporary + filesort -> ALL + temporary"}},
	} {
		got := Diff(plans[tt.query+" "+tt.base], plans[tt.query+" "+tt.cand])
		for i, s := range got { // estimates change with every recording
			got[i], _, _ = strings.Cut(s, "; rows expected")
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s, %s -> %s (-want +got):\n%s", tt.query, tt.base, tt.cand, d)
		}
	}
}
