package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

func TestStatements(t *testing.T) {
	const sel, upd = "select 1 from t", "update t set a = 1"
	forms := func(s []Statement) string {
		var f []string
		for _, st := range s {
			f = append(f, string(st.Form))
		}
		return strings.Join(f, " ")
	}
	for _, tt := range []struct {
		family  lab.Family
		version [3]int
		sql     string
		want    string
	}{
		{lab.MySQL, [3]int{5, 5, 62}, sel, "tabular"},
		{lab.MySQL, [3]int{5, 5, 62}, upd, ""},
		{lab.MySQL, [3]int{5, 6, 24}, sel, "json tabular"},
		{lab.MySQL, [3]int{5, 6, 24}, upd, "json tabular"},
		{lab.MySQL, [3]int{8, 0, 16}, sel, "json tabular tree"},
		{lab.MySQL, [3]int{8, 0, 36}, sel, "json tabular tree tree-analyze"},
		{lab.MySQL, [3]int{9, 7, 4}, sel, "json tabular tree json2 tree-analyze json2-analyze"},
		{lab.MySQL, [3]int{9, 7, 4}, upd, "json tabular tree json2"},
		{lab.MariaDB, [3]int{10, 0, 38}, sel, "tabular"},
		{lab.MariaDB, [3]int{10, 5, 29}, sel, "json tabular json-analyze tabular-analyze"},
		{lab.MariaDB, [3]int{11, 8, 9}, upd, "json tabular"},
		{lab.MariaDB, [3]int{11, 8, 9}, "/* hint */ -- x\n (SELECT 1)", "json tabular json-analyze tabular-analyze"},
		{lab.MariaDB, [3]int{11, 8, 9}, "select 1 into outfile 'x'", "json tabular"},
		{lab.MariaDB, [3]int{11, 8, 9}, "with x as (select 1) delete from t", "json tabular"},
		{lab.MariaDB, [3]int{11, 8, 9}, "commit", ""},
		{lab.MariaDB, [3]int{11, 8, 9}, "create table t (a int)", ""},
		{lab.MariaDB, [3]int{11, 8, 9}, "", ""},
		{lab.MariaDB, [3]int{11, 8, 9}, "/*", ""},
	} {
		if got := forms(Statements(tt.family, tt.version, tt.sql)); got != tt.want {
			t.Errorf("%s %v %q: got %q, want %q", tt.family, tt.version, tt.sql, got, tt.want)
		}
	}
	s := Statements(lab.MySQL, [3]int{9, 7, 4}, sel)
	if s[0].SQL != "EXPLAIN FORMAT=JSON "+sel || len(s[0].Before) != 1 || s[0].Executes || !s[4].Executes {
		t.Errorf("%+v", s)
	}
}

// TestTexts reads forms and ways of access that the recordings do not have.
func TestTexts(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nested loops with a constant", `
-> Nested loop inner join  (cost=1.2 rows=1)
    -> Constant row from c  (cost=0.1 rows=1)
    -> Index lookup on t using k (a=3, b=c.x), with index condition: (t.d < 'a, b = (')  (cost=1.2e+3 rows=1.5e+6)
`, "<const> const; t ref k(2)"},
		{"as a batch client writes it", `-> Limit: 5 row(s)\n    -> Covering index scan on t1 using a (reverse)  (cost=0.35 rows=5)\n`, "t1 index a covering"},
		{"batched key access", `
-> Batched key access left join
    -> Batch input rows
        -> Table scan on a  (cost=1 rows=1)
    -> Multi-range index lookup on b using k (x=a.y)  (cost=1 rows=1)
`, "a ALL; b ref k(1) join buffer BKA"},
		{"never executed", `
-> Nested loop inner join  (cost=1 rows=1) (actual time=0.1..0.1 rows=0 loops=1)
    -> Table scan on a  (cost=1 rows=1) (actual time=0.1..0.1 rows=0 loops=1)
    -> Single-row index lookup on b using PRIMARY (id=a.y)  (cost=1 rows=1) (never executed)
`, "a ALL; b eq_ref PRIMARY(1)"},
		{"sort-union", `
-> Filter: (x)  (cost=1 rows=1)
    -> Sort-deduplicate by row ID  (cost=1 rows=1)
        -> Index range scan on t using a over (a < 5) OR (9 < a)  (cost=1 rows=1)
        -> Index range scan on t using b over ('x' <= b <= 'y, c')  (cost=1 rows=1)
`, "t index_merge(sort_union a, b)"},
		{"a condition of several lines", `
-> Filter: (t.c = 'a
b')  (cost=1 rows=1)
    -> Index range scan on t using k over (a = 1 AND NULL < b < 5) OR (a = 2 AND 'z' <= b)  (cost=1 rows=1)
`, "t range k(2)"},
		{"a union in FROM", `
-> Table scan on u  (cost=1 rows=1)
    -> Union materialize with deduplication  (cost=1 rows=1)
        -> Table scan on a  (cost=1 rows=1)
        -> Table scan on b  (cost=1 rows=1)
`, "<derived> ALL of (query (a ALL); query (b ALL))"},
		{"a loose scan", `-> Covering index skip scan for grouping on t using k  (cost=1 rows=1)`, "t range k covering"},
		{"the first version 2", `{"query": "select", "operation": "Table scan on t", "table_name": "t", "access_type": "table", "estimated_rows": 3.0}`, "t ALL"},
		{"MariaDB with a row filter", `{"query_block": {"select_id": 1, "nested_loop": [{"table": {"table_name": "t", "access_type": "ref|filter", "key": "a", "key_length": "5", "used_key_parts": ["a"],
			"rowid_filter": {"range": {"key": "b", "used_key_parts": ["b"]}, "rows": 5}, "rows": 10, "r_rows": null}}]}}`, "t ref a(1) row filter b"},
		{"MariaDB with a hash join", `{"query_block": {"nested_loop": [{"table": {"table_name": "a", "access_type": "ALL"}}, {"block-nl-join": {"table": {"table_name": "b", "access_type": "hash_ALL", "key": "#hash#$hj"},
			"buffer_type": "flat", "join_type": "BNLH"}}]}}`, "a ALL; b hash_ALL #hash#$hj join buffer hash"},
		{"a union without duplicates in MariaDB's FROM", `{"query_block": {"nested_loop": [{"table": {"table_name": "<derived2>", "access_type": "ALL", "materialized": {"query_block": {"union_result": {"table_name": "<union2,3>",
			"query_specifications": [{"query_block": {"table": {"table_name": "a", "access_type": "ALL"}}}, {"query_block": {"table": {"table_name": "b", "access_type": "ALL"}}}]}}}}}]}}`, "<derived> ALL of (query (a ALL); query (b ALL))"},
		{"impossible", `{"query_block": {"select_id": 1, "message": "Impossible WHERE"}}`, "Impossible WHERE"},
	} {
		p, err := ParseText(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := p.String(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
	for name, text := range map[string]string{
		"nothing":      "",
		"prose":        "You have an error in your SQL syntax",
		"half a JSON":  `{"query_block": {"table":`,
		"another JSON": `{"a": 1}`,
		"too deep":     strings.Repeat(`{"query_block":`, 2*maxDepth),
	} {
		if _, err := ParseText(text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := ParseText("-> <not executable by iterator executor>\n"); !errors.Is(err, ErrNoPlan) {
		t.Errorf("not executable: %v", err)
	}
}

// TestRowsNeverExecuted: a step that was not executed examined nothing.
func TestRowsNeverExecuted(t *testing.T) {
	p, err := ParseText("-> Nested loop\n    -> Table scan on a  (cost=1 rows=1) (actual time=0.1..0.1 rows=1.5 loops=4)\n    -> Table scan on b  (cost=1 rows=1) (never executed)\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := p.RowsExamined(); got != 6 || !ok {
		t.Errorf("got %v, %v", got, ok)
	}
}

func tabularOf(t *testing.T, text string) *Node {
	t.Helper()
	var columns []string
	var rows [][]*string
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		cells := strings.Split(line, "|")
		if i == 0 {
			columns = cells
			continue
		}
		var row []*string
		for _, c := range cells {
			if c == "NULL" {
				row = append(row, nil)
			} else {
				row = append(row, &c)
			}
		}
		rows = append(rows, row)
	}
	p, err := Parse(columns, rows)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFlips is a plan that changed after ANALYZE TABLE: the same statement read its tables
// in the other order.
func TestFlips(t *testing.T) {
	const head = "id|select_type|table|type|possible_keys|key|key_len|ref|rows|Extra\n"
	one := tabularOf(t, head+`1|SIMPLE|task|index|PRIMARY|PRIMARY|96|NULL|8092|Using index; Using temporary; Using filesort
1|SIMPLE|incident|eq_ref|PRIMARY,incident_category|PRIMARY|96|test.task.sys_id|1|NULL`)
	two := tabularOf(t, head+`1|SIMPLE|incident|index|PRIMARY,incident_category|incident_category|123|NULL|7786|Using index
1|SIMPLE|task|eq_ref|PRIMARY|PRIMARY|96|test.incident.sys_id|1|Using index`)
	if Equal(one, two) {
		t.Error("plans of other orders are equal")
	}
	want := []string{
		"task: index PRIMARY covering -> eq_ref PRIMARY covering; rows expected 8092 -> 1",
		"incident: eq_ref PRIMARY -> index incident_category covering; rows expected 1 -> 7786",
		"order of tables: task, incident -> incident, task",
		"sort: yes -> no",
		"temporary table: yes -> no",
	}
	if d := cmp.Diff(want, Diff(one, two)); d != "" {
		t.Errorf("difference (-want +got):\n%s", d)
	}
	if Diff(one, one) != nil || Diff(nil, one) != nil {
		t.Error("no difference is one")
	}
}

func TestDiff(t *testing.T) {
	const head = "id|select_type|table|type|possible_keys|key|key_len|ref|rows|Extra\n"
	base := tabularOf(t, head+"1|PRIMARY|t|ref|k|k|9|const|10|Using where\n2|SUBQUERY|s|ALL|NULL|NULL|NULL|NULL|100|NULL")
	for _, tt := range []struct {
		name, cand string
		want       []string
	}{
		{"less of the key", "1|PRIMARY|t|ref|k|k|5|const|900|Using where\n2|SUBQUERY|s|ALL|NULL|NULL|NULL|NULL|100|NULL", []string{"t: ref k by 9 bytes of key -> ref k by 5 bytes of key; rows expected 10 -> 900"}},
		{"estimates and conditions alone", "1|PRIMARY|t|ref|k|k|9|const|20|NULL\n2|SUBQUERY|s|ALL|NULL|NULL|NULL|NULL|300|Using where", nil},
		{"no subquery", "1|SIMPLE|t|ref|k|k|9|const|10|Using where", []string{"s: was read by ALL, is not read any more", "query blocks: 2 -> 1"}},
		{"a join", "1|SIMPLE|t|ref|k|k|9|const|10|Using where\n1|SIMPLE|s|ALL|NULL|NULL|NULL|NULL|100|NULL", []string{"query blocks: 2 -> 1"}},
		{"another table", "1|PRIMARY|t|ref|k|k|9|const|10|Using where\n2|SUBQUERY|x|ALL|NULL|NULL|NULL|NULL|100|NULL", []string{"s: was read by ALL, is not read any more", "x: was not read, is read by ALL"}},
		{"a constant more", "1|PRIMARY|c|const|PRIMARY|PRIMARY|4|const|1|NULL\n1|PRIMARY|t|ref|k|k|9|const|10|NULL\n2|SUBQUERY|s|ALL|NULL|NULL|NULL|NULL|100|NULL", nil},
	} {
		cand := tabularOf(t, head+tt.cand)
		if d := cmp.Diff(tt.want, Diff(base, cand)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
		if Equal(base, cand) != (tt.want == nil) {
			t.Errorf("%s: Equal is %v", tt.name, Equal(base, cand))
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("-> Sort: a\n    -> Index lookup on t using k (a = 1)  (cost=1 rows=1) (actual time=1..2 rows=3 loops=4)\n")
	f.Add(`{"query_block": {"union_result": {"query_specifications": [{"query_block": {"table": {"table_name": "t", "table": {}}}}]}}}`)
	f.Add(`{"query_plan": {"operation": "Hash join", "inputs": [{"operation": "Table scan on t"}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParseText(text)
		if err != nil {
			return
		}
		check(t, p)
	})
}

func FuzzTabular(f *testing.F) {
	f.Add("1|SIMPLE|t|ref|k|k|9|const|10|Using where\n2|UNION|<derived1>|ALL||||||\nNULL|UNION RESULT|<union1,2>|ALL||||||")
	f.Add("1|PRIMARY|<derived2>|ALL||||||\n2|DERIVED|<derived3>|ALL||||||\n3|DERIVED|<derived2>|ref||||||Using intersect(a,union(b,c))")
	f.Add("1|SIMPLE|t|ref||||||\n2|UNION|<derived1>|ALL||||||\nNULL|UNION RESULT|<union1,2>|ALL||||||") // a union that would fill a table of its own
	f.Fuzz(func(t *testing.T, text string) {
		columns := strings.Split("id|select_type|table|type|possible_keys|key|key_len|ref|rows|Extra", "|")
		var rows [][]*string
		for line := range strings.SplitSeq(text, "\n") {
			cells := strings.Split(line, "|")
			row := make([]*string, len(columns))
			for i := range min(len(cells), len(row)) {
				row[i] = &cells[i]
			}
			rows = append(rows, row)
		}
		p, err := Parse(columns, rows)
		if err != nil {
			return
		}
		check(t, p)
	})
}

// check holds what is true of every plan.
func check(t *testing.T, p *Node) {
	t.Helper()
	if !Equal(p, p) || Diff(p, p) != nil {
		t.Error("a plan differs from itself")
	}
	other := newNode(Query)
	if Equal(p, other) != (Diff(p, other) == nil) {
		t.Errorf("Equal and Diff disagree: %q", Diff(p, other))
	}
	_ = p.String()
	p.RowsExamined()
}
