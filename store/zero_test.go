package store

import (
	"reflect"
	"time"
)

// zeroFields returns the paths of v's fields that are zero, looking into structs and
// first elements.
func zeroFields(v any) []string { return zeroIn(reflect.ValueOf(v), "") }

func zeroIn(v reflect.Value, path string) []string {
	if v.IsZero() {
		return []string{path}
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return nil
		}
		var out []string
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if path != "" {
				name = path + "." + name
			}
			out = append(out, zeroIn(v.Field(i), name)...)
		}
		return out
	}
	return nil
}
