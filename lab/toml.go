package lab

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// SyntaxError is something wrong in a file that a user wrote.
type SyntaxError struct {
	File string
	Line int // from 1; 0: the file as a whole
	Msg  string
}

// Error returns file:line: message, as editors read it.
func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

// DecodeTOML decodes text into v, a pointer to a struct, strictly: a key that v does not
// have is a *SyntaxError with its line and the nearest known key. file is only for errors.
func DecodeTOML(file, text string, v any) error {
	md, err := toml.Decode(text, v)
	var pe toml.ParseError
	switch {
	case errors.As(err, &pe):
		msg := pe.Message
		if msg == "" {
			msg = strings.TrimPrefix(pe.Error(), "toml: ")
		}
		return &SyntaxError{File: file, Line: pe.Position.Line, Msg: msg}
	case err != nil:
		return wrongType(file, err)
	}
	if left := md.Undecoded(); len(left) > 0 {
		key := left[0]
		known := siblings(v, key)
		return &SyntaxError{
			File: file, Line: LineOf(text, key...),
			Msg: fmt.Sprintf("unknown key %q%s", key.String(), Suggest(key[len(key)-1], known)),
		}
	}
	return nil
}

// wrongType takes apart the decoder's message about a value of the wrong type, which has
// the line only in its text: line 7 (last key "a.b"): what is wrong.
func wrongType(file string, err error) error {
	e := &SyntaxError{File: file, Msg: strings.TrimPrefix(err.Error(), "toml: ")}
	var key, have, want string
	if n, _ := fmt.Sscanf(e.Msg, "line %d (last key %q):", &e.Line, &key); n == 2 {
		_, what, _ := strings.Cut(e.Msg, ")")
		if n, _ := fmt.Sscanf(what, ": incompatible types: TOML value has type %s destination has type %s", &have, &want); n == 2 {
			what = typeMessage(key[strings.LastIndex(key, ".")+1:], strings.TrimSuffix(have, ";"), want)
		}
		e.Msg = fmt.Sprintf("key %q%s", key, what)
	}
	return e
}

// typeMessage says in a user's words that a key has a value of one of the decoder's types,
// and should have one of another.
func typeMessage(key, have, want string) string {
	kind := func(t string) string {
		switch {
		case strings.HasPrefix(t, "int"), strings.HasPrefix(t, "uint"), strings.HasPrefix(t, "float"):
			return "a number"
		case t == "string":
			return "text"
		case t == "bool":
			return "true or false"
		case t == "slice":
			return "a list"
		case t == "map" || t == "struct":
			return "a table"
		}
		return t
	}
	msg := fmt.Sprintf(" is %s, and should be %s", kind(have), kind(want))
	switch kind(want) {
	case "text":
		msg += fmt.Sprintf(", in quotes: %s = \"…\"", key)
	case "a list":
		msg += fmt.Sprintf(", in brackets: %s = […]", key)
	case "a number":
		msg += ", without quotes"
	}
	return msg
}

// LineOf returns the line, from 1, on which a dotted key stands in TOML text: the first
// place where its last part is assigned or opens a table below the others. 0: not found.
func LineOf(text string, key ...string) int {
	if len(key) == 0 {
		return 0
	}
	table := ""
	best := 0
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			table = strings.Trim(strings.SplitN(line, "#", 2)[0], "[] \t")
			if table == strings.Join(key, ".") {
				return i + 1
			}
			continue
		}
		name, _, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		name = strings.Trim(strings.TrimSpace(name), `"'`)
		full := name
		if table != "" {
			full = table + "." + name
		}
		if full == strings.Join(key, ".") {
			return i + 1
		}
		if best == 0 && inlineHas(line, key, table) {
			best = i + 1
		}
	}
	return best
}

// inlineHas reports whether a line below table assigns the last part of key inside an
// inline table.
func inlineHas(line string, key []string, table string) bool {
	last := key[len(key)-1]
	if table != "" && !strings.HasPrefix(strings.Join(key, "."), table) {
		return false
	}
	for _, open := range []string{"{ ", "{", ", ", ","} {
		for _, eq := range []string{" =", "="} {
			if strings.Contains(line, open+last+eq) {
				return true
			}
		}
	}
	return false
}
