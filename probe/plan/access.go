package plan

import (
	"strconv"
	"strings"
)

// readAccess reads the iterators that read a table; others are nil.
func readAccess(it *iterator) *Node {
	what, rest, ok := strings.Cut(it.text, " on ")
	if !ok {
		return nil
	}
	what, covering := strings.CutPrefix(lowerFirst(what), "covering ")
	if single, ok := strings.CutPrefix(what, "single-row covering "); ok {
		what, covering = "single-row "+single, true
	}
	n := newNode(Table)
	switch {
	case what == "table scan":
		n.Access = FullTable
	case strings.HasPrefix(what, "index scan"):
		n.Access = FullIndex
	case strings.HasPrefix(what, "single-row index lookup"):
		n.Access = EqRef
	case strings.HasPrefix(what, "index lookup") || strings.HasPrefix(what, "multi-range index lookup"):
		n.Access = Ref
	case strings.HasPrefix(what, "full-text index search"):
		n.Access = "fulltext"
	case strings.HasPrefix(what, "index range scan") || strings.HasPrefix(what, "index skip scan") || strings.HasPrefix(what, "group index skip scan") || strings.HasPrefix(what, "dynamic range scan"):
		n.Access = Range
	default:
		return nil
	}
	n.Covering = covering
	n.EstRows, n.ActRows, n.Loops, n.Cost = it.est, it.act, it.loops, it.cost
	n.Table, rest = word(rest)
	if using, ok := strings.CutPrefix(rest, "using "); ok {
		n.Index, rest = word(using)
	}
	n.Filter = strings.Contains(rest, "with index condition")
	switch n.Access {
	case EqRef, Ref:
		n.KeyParts = lookupColumns(rest)
	case Range:
		if over, ok := strings.CutPrefix(rest, "over "); ok {
			n.KeyParts = rangeColumns(over)
		}
	}
	return n
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// word takes a name off the front, which may be in backquotes or angle brackets.
func word(s string) (name, rest string) {
	s = strings.TrimLeft(s, " ")
	if inner, ok := strings.CutPrefix(s, "`"); ok {
		if name, rest, ok = strings.Cut(inner, "`"); ok {
			return name, strings.TrimLeft(rest, " ")
		}
	}
	if strings.HasPrefix(s, "<") {
		if name, rest, ok := strings.Cut(s, ">"); ok {
			return name + ">", strings.TrimLeft(rest, " ")
		}
	}
	name, rest, _ = strings.Cut(s, " ")
	return name, strings.TrimLeft(rest, " ")
}

// lookupColumns reads the columns of (a = t1.x, b = 3).
func lookupColumns(s string) []string {
	inner, ok := strings.CutPrefix(s, "(")
	if !ok {
		return nil
	}
	var columns []string
	for _, part := range topLevel(inner) {
		if name, _, ok := strings.Cut(part, "="); ok {
			columns = append(columns, strings.Trim(strings.TrimSpace(name), "`"))
		}
	}
	return columns
}

// topLevel splits at commas outside of parentheses and quotes, up to the closing parenthesis.
func topLevel(s string) []string {
	var parts []string
	depth, start := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\'', '"':
			i += quoted(s[i:]) - 1
		case '(':
			depth++
		case ')':
			if depth == 0 {
				return append(parts, s[start:i])
			}
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, s[start:i])
				start = i + 1
			}
		}
	}
	return append(parts, s[start:])
}

// quoted returns the length of the quoted text that s begins with.
func quoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			if i+1 < len(s) && s[i+1] == s[0] {
				i++
				continue
			}
			return i + 1
		}
	}
	return len(s)
}

// rangeColumns reads the columns of (b = 3 AND 'c2' < c) OR (5 < b): the words that are no
// values. Values that read as words, such as functions, do not occur in ranges.
func rangeColumns(s string) []string {
	var columns []string
	add := func(name string) {
		switch strings.ToUpper(name) {
		case "", "AND", "OR", "NULL", "IS", "NOT", "LIKE", "MORE", "REVERSE", "TRUE", "FALSE", "WITH", "INDEX", "CONDITION":
			return
		}
		for _, c := range columns {
			if c == name {
				return
			}
		}
		columns = append(columns, name)
	}
	if i := strings.Index(s, ", with index condition"); i >= 0 {
		s = s[:i]
	}
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\'' || c == '"':
			i += quoted(s[i:])
		case c == '`':
			n := quoted(s[i:])
			add(strings.Trim(s[i:i+n], "`"))
			i += n
		case nameByte(c):
			start := i
			for i < len(s) && nameByte(s[i]) {
				i++
			}
			if _, err := strconv.ParseFloat(s[start:i], 64); err != nil && (s[start] < '0' || s[start] > '9') {
				add(s[start:i])
			}
		default:
			i++
		}
	}
	return columns
}

func nameByte(c byte) bool {
	return c == '_' || c == '$' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
