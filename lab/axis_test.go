package lab

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAxes(t *testing.T) {
	const text = `
builds = ["mysql@9.7"]
base = "mysql@9.7/ps=0+ddl=4"
[[workload]]
name = "ddl"
[[axis]]
name = "ps"
option = "performance_schema"
values = [false, true]
[[axis]]
option = "preload"
values = ["glibc", "jemalloc"]
`
	e, err := ParseExperiment("x.toml", strings.Replace(text, "ps=0+ddl=4", "ps=OFF+preload=glibc", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	off, on := []Option{{Name: "performance_schema", Value: "OFF"}}, []Option{{Name: "performance_schema", Value: "ON"}}
	want := []Config{
		{Name: "ps=OFF+preload=glibc", Options: off, Preload: "glibc"},
		{Name: "ps=OFF+preload=jemalloc", Options: off, Preload: "jemalloc"},
		{Name: "ps=ON+preload=glibc", Options: on, Preload: "glibc"},
		{Name: "ps=ON+preload=jemalloc", Options: on, Preload: "jemalloc"},
	}
	if d := cmp.Diff(want, e.Configs); d != "" {
		t.Errorf("configs (-want +got):\n%s", d)
	}
	if e.Base != "mysql@9.7/ps=OFF+preload=glibc/InnoDB" {
		t.Errorf("base = %s", e.Base)
	}
	if _, err := ParseExperiment("x.toml", text, nil); err == nil || !strings.Contains(err.Error(), "ps=0+ddl=4") {
		t.Errorf("a base that is none of the configs: %v", err)
	}
}

// Axes multiply named configs, and those keep what they have.
func TestAxesOverConfigs(t *testing.T) {
	in := []Config{{Name: "a", Options: []Option{{Name: "x", Value: "1"}}}, {Name: "b", Launcher: []string{"taskset"}}}
	got, err := multiply(in, []axisFile{{Name: "t", Option: "innodb_ddl_threads", Values: []any{int64(1), int64(4)}}})
	if err != nil {
		t.Fatal(err)
	}
	one, four := Option{Name: "innodb_ddl_threads", Value: "1"}, Option{Name: "innodb_ddl_threads", Value: "4"}
	want := []Config{
		{Name: "a+t=1", Options: []Option{{Name: "x", Value: "1"}, one}},
		{Name: "a+t=4", Options: []Option{{Name: "x", Value: "1"}, four}},
		{Name: "b+t=1", Options: []Option{one}, Launcher: []string{"taskset"}},
		{Name: "b+t=4", Options: []Option{four}, Launcher: []string{"taskset"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("configs (-want +got):\n%s", d)
	}
}

func TestAxisErrors(t *testing.T) {
	many := make([]any, 300)
	for i := range many {
		many[i] = int64(i)
	}
	for _, tt := range []struct {
		axes []axisFile
		want string
	}{
		{[]axisFile{{Values: []any{int64(1)}}}, "number 1 has no option"},
		{[]axisFile{{Option: "x"}}, "x has no values"},
		{[]axisFile{{Option: "a-b", Values: []any{"1"}}, {Option: "a_b", Values: []any{"2"}}}, "a_b is there twice"},
		{[]axisFile{{Option: "x", Name: "a/b", Values: []any{"1"}}}, `name "a/b"`},
		{[]axisFile{{Option: "x", Values: []any{"wait/%=ON"}}}, "write a [[config]]"},
		{[]axisFile{{Option: "x", Values: []any{[]any{}}}}, "x"},
		{[]axisFile{{Option: "x", Values: many}}, "more than 256"},
	} {
		_, err := multiply(nil, tt.axes)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v; want %q", tt.axes, err, tt.want)
		}
	}
}
