package load

import (
	"reflect"
	"strings"
)

// Functions lists the functions of expressions.
func Functions() []string { return append(keys(signatures()), "list") }

// Keys lists the keys that a workload file may have, at any depth.
func Keys() []string {
	found := map[string]bool{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return
		}
		for i := range t.NumField() {
			if name := strings.Split(t.Field(i).Tag.Get("toml"), ",")[0]; name != "" {
				found[name] = true
				visit(t.Field(i).Type)
			}
		}
	}
	visit(reflect.TypeOf(workloadFile{}))
	return keys(found)
}
