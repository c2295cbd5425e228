package lab

import (
	"fmt"
	"strings"
)

// ParseCnf reads the options of the [mysqld], [mariadbd], [mariadb] and [server] groups
// of a my.cnf file, in order; options before any group count too. Directives such as
// !include are refused, because what they bring would not be recorded.
func ParseCnf(file, text string) ([]Option, error) {
	var out []Option
	server := true
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case line[0] == '!':
			return nil, &SyntaxError{File: file, Line: i + 1, Msg: fmt.Sprintf("%s is not followed; put the options into this file", strings.Fields(line)[0])}
		case line[0] == '[':
			end := strings.IndexByte(line, ']')
			if end < 0 {
				return nil, &SyntaxError{File: file, Line: i + 1, Msg: "group without ]"}
			}
			switch strings.ToLower(strings.TrimSpace(line[1:end])) {
			case "mysqld", "mariadbd", "mariadb", "server":
				server = true
			default:
				server = false
			}
			continue
		}
		if !server {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if h := strings.Index(value, " #"); h >= 0 {
			value = value[:h]
		}
		name, value = strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"'`)
		if name == "" || strings.ContainsAny(name, " \t") {
			return nil, &SyntaxError{File: file, Line: i + 1, Msg: fmt.Sprintf("%q is not an option", line)}
		}
		out = append(out, Option{Name: name, Value: value, Bare: !ok})
	}
	return out, nil
}
