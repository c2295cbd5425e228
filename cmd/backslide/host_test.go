package main

import (
	"testing"

	"backslide/lab"
)

// TestDataKey compares configs with one whose data are loaded: equal keys share them.
func TestDataKey(t *testing.T) {
	base := lab.Config{Name: "a", Options: []lab.Option{{Name: "innodb_page_size", Value: "16k"}, {Name: "performance_schema", Value: "1"}}}
	for _, tt := range []struct {
		what   string
		change func(*lab.Config)
		same   bool
	}{
		{"name", func(c *lab.Config) { c.Name = "b" }, true},
		{"allocator", func(c *lab.Config) { c.Preload = "jemalloc" }, true},
		{"launcher", func(c *lab.Config) { c.Launcher = []string{"taskset", "-c", "0"} }, true},
		{"an option that leaves no trace", func(c *lab.Config) { c.Options[1].Value = "0" }, true},
		{"another, in another spelling", func(c *lab.Config) {
			c.ByFamily = map[lab.Family][]lab.Option{lab.MySQL: {{Name: "loose-innodb-ddl-threads", Value: "4"}}}
		}, true},
		{"an option of a family", func(c *lab.Config) {
			c.ByFamily = map[lab.Family][]lab.Option{lab.MySQL: {{Name: "character_set_server", Value: "latin1"}}}
		}, false},
		{"page size", func(c *lab.Config) { c.Options[0].Value = "8k" }, false},
		{"an unknown option", func(c *lab.Config) { c.Options = append(c.Options, lab.Option{Name: "x", Bare: true}) }, false},
	} {
		v := lab.Variant{Build: "m", Config: "c", Engine: "InnoDB"}
		key := func(c lab.Config) string {
			h := &host{builds: map[string]lab.Build{"m": {ID: "1"}}, configs: map[string]lab.Config{"c": c}, data: map[lab.Variant]string{v: "rows"}}
			return h.DataKey(v)
		}
		other := base
		other.Options = append([]lab.Option(nil), base.Options...)
		tt.change(&other)
		if got := key(base) == key(other); got != tt.same {
			t.Errorf("%s: data are shared %t, want %t", tt.what, got, tt.same)
		}
	}
}
