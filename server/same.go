package server

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"backslide/lab"
)

// same reports whether a variable's value means what was asked for: 128M is 134217728, 1
// is ON, lists have no order. Where that cannot be told, as for an enumeration's number,
// it says yes.
func same(variable, asked, got string) bool {
	asked, got = clean(asked), clean(got)
	if asked == got {
		return true
	}
	if n, err := strconv.ParseFloat(got, 64); err == nil {
		return sameNumber(asked, n)
	}
	if on, ok := boolean(got); ok {
		want, isBool := boolean(asked)
		return isBool && want == on || !isBool && on // log_bin=name reads back as ON
	}
	if strings.ContainsAny(asked+got, ",=") {
		return sameList(variable, asked, got)
	}
	if asked == "on" && got != "" {
		return true // asked for without a value, and it has one
	}
	if _, err := strconv.ParseInt(asked, 10, 64); err == nil && got != "" {
		return true // an enumeration's number; its names are not known here
	}
	return false
}

// clean takes away differences in writing. utf8 is an alias whose meaning each server
// shows in its own way.
func clean(v string) string {
	v = strings.ToLower(strings.Trim(strings.TrimSpace(v), `"'`))
	if len(v) > 1 {
		v = strings.TrimSuffix(v, "/")
	}
	if rest, ok := strings.CutPrefix(v, "utf8mb3"); ok {
		v = "utf8" + rest
	}
	return v
}

func boolean(v string) (on, ok bool) {
	switch strings.ToLower(v) {
	case "on", "1", "true", "yes":
		return true, true
	case "off", "0", "false", "no":
		return false, true
	}
	return false, false
}

// sameNumber compares a number as an option writes it with the one read back.
func sameNumber(asked string, got float64) bool {
	if asked == "-1" || asked == "autosize" {
		return true // the server is to choose
	}
	if on, ok := boolean(asked); ok && asked != "0" && asked != "1" {
		return on == (got != 0)
	}
	if n, err := strconv.ParseFloat(asked, 64); err == nil {
		return math.Abs(n-got) <= 1e-9*math.Abs(got)
	}
	if n, err := lab.ParseBytes(asked); err == nil {
		return float64(n) == got
	}
	return false
}

// sameList compares lists without order. Switches such as mrr=on are asked for one by
// one, and a combined sql_mode reads back with its parts: there it suffices that all that
// was asked for is in the list.
func sameList(variable, asked, got string) bool {
	split := func(s string) []string {
		parts := strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
		slices.Sort(parts)
		return slices.Compact(parts)
	}
	want, have := split(asked), split(got)
	if slices.Equal(want, have) {
		return true
	}
	combined := variable == "sql_mode" && slices.ContainsFunc(want, func(m string) bool {
		return slices.Contains([]string{"ansi", "traditional", "oracle", "mssql", "db2", "postgresql", "maxdb", "mysql323", "mysql40"}, m)
	})
	if !combined && !strings.Contains(asked, "=") {
		return false
	}
	for _, w := range want {
		if w != "default" && !slices.Contains(have, w) && !strings.HasSuffix(w, "=default") {
			return false
		}
	}
	return true
}
