package main

import (
	"errors"
	"strings"
	"testing"

	"backslide/lab"
	"backslide/load"
)

// A level over a server's limits is refused beforehand, with what it needs and what to do.
func TestLimits(t *testing.T) {
	w, err := load.Parse("w.toml", `
name = "w"
[[step]]
name = "s"
group = "point"
read = true
sql = "SELECT {client % 4} + :a"
args.a = 1
[[step]]
name = "slap"
group = "point"
read = true
sql = "SELECT 1"
[step.tool]
program = "mysqlslap"
`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.Bind(nil, load.Target{Family: lab.MariaDB, Version: [3]int{11, 8, 0}, Engine: "InnoDB", Schema: "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		step    string
		clients int
		options []lab.Option
		want    string // in the error; empty: none
	}{
		{"s", 151, nil, ""},
		{"s", 152, nil, "needs 152 connections, max_connections is 151"},
		{"slap", 150, nil, ""},
		{"slap", 151, nil, "needs 152 connections"}, // its own beside its clients
		{"s", 152, []lab.Option{{Name: "max-connections", Value: "10"}, {Name: "max_connections", Value: "200"}}, ""},
		// Four texts for each client.
		{"s", 25, []lab.Option{{Name: "max_prepared_stmt_count", Value: "100"}}, ""},
		{"s", 26, []lab.Option{{Name: "max_prepared_stmt_count", Value: "100"}}, "needs 104 prepared statements, max_prepared_stmt_count is 100"},
	} {
		err := configured(tt.options).allow(p, tt.step, tt.clients)
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || !errors.Is(err, load.ErrLimit)) {
			t.Errorf("%s with %d clients and %v: %v, want %q", tt.step, tt.clients, tt.options, err, tt.want)
		}
	}
}

func TestLimitsChecked(t *testing.T) {
	c := newCLI(t)
	_, errs := c.must(2, "check", "--build", "mariadb@10.11", "--workload", "slap", "--steps", "PK", "--clients", "1,400")
	for _, want := range []string{"mariadb@10.11/default/InnoDB", "step PK with 400 clients needs 400 connections"} {
		if !strings.Contains(errs, want) {
			t.Errorf("does not say %q:\n%s", want, errs)
		}
	}
	c.must(0, "check", "--build", "mariadb@10.11", "--workload", "slap", "--steps", "PK", "--clients", "1,400", "--config", "many:max_connections=500")
}
