package plan

import (
	"fmt"
	"strings"

	"backslide/lab"
)

// Form is a form of EXPLAIN's answer.
type Form string

// The forms. Those that end in -analyze ran the statement and say what was found.
const (
	Tabular        Form = "tabular"         // a row per table
	JSON           Form = "json"            // query_block: MySQL's version 1 and MariaDB's
	JSON2          Form = "json2"           // query_plan: MySQL's version 2, the tree of iterators
	Tree           Form = "tree"            // MySQL's tree of iterators as text
	TabularAnalyze Form = "tabular-analyze" // MariaDB's ANALYZE statement
	JSONAnalyze    Form = "json-analyze"    // MariaDB's ANALYZE FORMAT=JSON
	JSON2Analyze   Form = "json2-analyze"   // MySQL's EXPLAIN ANALYZE FORMAT=JSON
	TreeAnalyze    Form = "tree-analyze"    // MySQL's EXPLAIN ANALYZE
)

// Statement is one way to ask for a plan.
type Statement struct {
	Form     Form
	Before   []string // to be sent first, on the same connection
	SQL      string
	Executes bool // the statement is really run
}

// Statements returns the ways in which a server of the family and version can be asked for
// the plan of a statement, the best first: that which says most about the access of tables
// without running the statement. There is none for statements that have no plan, and those
// that run the statement come only if it writes nothing.
func Statements(f lab.Family, version [3]int, sql string) []Statement {
	verb := firstWord(sql)
	if !explainable(verb) {
		return nil
	}
	var s []Statement
	switch f {
	case lab.MySQL:
		s = mysqlStatements(version, sql, verb)
	case lab.MariaDB:
		s = mariadbStatements(version, sql)
	}
	if !readOnly(verb, sql) {
		for i, st := range s {
			if st.Executes {
				return s[:i] // they stand last
			}
		}
	}
	return s
}

func mysqlStatements(version [3]int, sql, verb string) []Statement {
	var s []Statement
	// 5.6 is the first to explain statements that write.
	if !atLeast(version, 5, 6, 3) && verb != "select" {
		return nil
	}
	if !atLeast(version, 5, 6, 5) {
		return append(s, Statement{Form: Tabular, SQL: "EXPLAIN " + sql})
	}
	v1 := Statement{Form: JSON, SQL: "EXPLAIN FORMAT=JSON " + sql}
	v2 := atLeast(version, 8, 3, 0)
	if v2 {
		v1.Before = []string{"SET SESSION explain_json_format_version = 1"}
	}
	// Since 8.0 plain EXPLAIN may answer in any form: explain_format says which.
	s = append(s, v1, Statement{Form: Tabular, SQL: "EXPLAIN FORMAT=TRADITIONAL " + sql})
	set2 := []string{"SET SESSION explain_json_format_version = 2"}
	if atLeast(version, 8, 0, 16) {
		s = append(s, Statement{Form: Tree, SQL: "EXPLAIN FORMAT=TREE " + sql})
	}
	if v2 {
		s = append(s, Statement{Form: JSON2, Before: set2, SQL: "EXPLAIN FORMAT=JSON " + sql})
	}
	if atLeast(version, 8, 0, 18) {
		s = append(s, Statement{Form: TreeAnalyze, SQL: "EXPLAIN ANALYZE FORMAT=TREE " + sql, Executes: true})
		if !atLeast(version, 8, 0, 21) { // FORMAT is new there
			s[len(s)-1].SQL = "EXPLAIN ANALYZE " + sql
		}
	}
	if v2 {
		s = append(s, Statement{Form: JSON2Analyze, Before: set2, SQL: "EXPLAIN ANALYZE FORMAT=JSON " + sql, Executes: true})
	}
	return s
}

func mariadbStatements(version [3]int, sql string) []Statement {
	if !atLeast(version, 10, 1, 2) {
		return []Statement{{Form: Tabular, SQL: "EXPLAIN " + sql}}
	}
	return []Statement{
		{Form: JSON, SQL: "EXPLAIN FORMAT=JSON " + sql},
		{Form: Tabular, SQL: "EXPLAIN " + sql},
		{Form: JSONAnalyze, SQL: "ANALYZE FORMAT=JSON " + sql, Executes: true},
		{Form: TabularAnalyze, SQL: "ANALYZE " + sql, Executes: true},
	}
}

func atLeast(v [3]int, major, minor, patch int) bool {
	for i, want := range [3]int{major, minor, patch} {
		if v[i] != want {
			return v[i] > want
		}
	}
	return true
}

// firstWord returns the first word of a statement in lower case, behind comments and
// parentheses.
func firstWord(sql string) string {
	for {
		sql = strings.TrimLeft(sql, " \t\r\n(")
		switch {
		case strings.HasPrefix(sql, "/*") && strings.Contains(sql[2:], "*/"):
			_, sql, _ = strings.Cut(sql[2:], "*/")
		case strings.HasPrefix(sql, "-- ") || strings.HasPrefix(sql, "#"):
			_, sql, _ = strings.Cut(sql, "\n")
		default:
			end := strings.IndexFunc(sql, func(r rune) bool { return r < 'A' || r > 'z' })
			if end < 0 {
				end = len(sql)
			}
			return strings.ToLower(sql[:end])
		}
	}
}

func explainable(verb string) bool {
	switch verb {
	case "select", "with", "insert", "update", "delete", "replace", "table", "values":
		return true
	}
	return false
}

// readOnly reports whether running the statement changes nothing. It would rather say no.
func readOnly(verb, sql string) bool {
	switch verb {
	case "select", "table", "values":
		return !hasWord(sql, "into") // a file, a variable
	case "with":
		return !hasWord(sql, "update") && !hasWord(sql, "delete") && !hasWord(sql, "insert") && !hasWord(sql, "into")
	}
	return false
}

func hasWord(sql, word string) bool {
	for _, w := range strings.FieldsFunc(strings.ToLower(sql), func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		if w == word {
			return true
		}
	}
	return false
}

// Parse reads an answer: the names of its columns and its rows, in which nil is NULL. The
// form is seen from the answer itself, since plain EXPLAIN has another in each version.
func Parse(columns []string, rows [][]*string) (*Node, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("read a plan: EXPLAIN returned no rows")
	}
	if len(columns) > 1 {
		return parseTabular(columns, rows)
	}
	var text strings.Builder
	for _, row := range rows {
		if len(row) == 1 && row[0] != nil {
			text.WriteString(*row[0])
			text.WriteByte('\n')
		}
	}
	return ParseText(text.String())
}

// ParseText reads an answer of a single value: JSON or a tree.
func ParseText(text string) (*Node, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return parseJSON(text)
	}
	return parseTree(text)
}
