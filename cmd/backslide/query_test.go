package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"backslide/lab"
	"backslide/load"
)

// Any text of a statement and of a schema reaches the server as it was written.
func TestQueryWorkload(t *testing.T) {
	schema := filepath.Join(t.TempDir(), "ddl.sql")
	ddl := "create table t (a int, b varchar(20) default '\"\\{x}');\n-- comment\ninsert into t values (1, 'é');\n"
	if err := os.WriteFile(schema, []byte(ddl), 0o600); err != nil {
		t.Fatal(err)
	}
	for query, read := range map[string]bool{
		"select b from t where b <> '{\"}' and a = 1": true,
		"(SELECT 1)\n UNION (SELECT 2)":               true,
		"update t set a = a + 1":                      false,
		"CALL p()":                                    false,
	} {
		text, err := queryFlags{query: query, schema: schema}.workload()
		if err != nil {
			t.Fatal(err)
		}
		w, err := load.Parse("--query", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if got := w.Steps[0].Read; got != read {
			t.Errorf("%s: read is %t, want %t", query, got, read)
		}
		if _, err := w.Bind(nil, load.Target{Family: lab.MySQL, Version: [3]int{5, 6, 24}, Engine: "InnoDB", Schema: "x"}); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
	if _, err := (queryFlags{query: "select 1", schema: "nosuch.sql"}).workload(); err == nil || !strings.Contains(err.Error(), "nosuch.sql") {
		t.Errorf("a missing schema file: %v", err)
	}
}
