package stacks

import "strings"

// demangleShort reads the qualified name out of a name mangled by the Itanium C++ ABI,
// section 5.1, and leaves template arguments and parameters out. It knows the productions
// that names of functions are made of; at any other it gives up.
func demangleShort(s string) (string, bool) {
	m := mangled{s: strings.TrimPrefix(s, "_Z")}
	for _, special := range []string{"TV", "TI", "TS", "GV", "Th", "Tv", "Tc"} {
		if strings.HasPrefix(m.s, special) {
			return "", false
		}
	}
	name, ok := m.encoding(0)
	return name, ok && name != ""
}

type mangled struct{ s string }

func (m *mangled) take(prefix string) bool {
	rest, ok := strings.CutPrefix(m.s, prefix)
	m.s = rest
	return ok
}

const deepest = 64

// encoding reads a name, without the parameters behind it.
func (m *mangled) encoding(depth int) (string, bool) {
	switch {
	case depth > deepest:
		return "", false
	case m.take("N"):
		return m.nested(depth)
	case m.take("Z"): // something local to a function
		outer, ok := m.encoding(depth + 1)
		if !ok || !m.skipTo('E') {
			return "", false
		}
		inner, ok := m.encoding(depth + 1)
		return outer + "::" + inner, ok
	case m.take("St"):
		name, ok := m.unqualified("")
		return "std::" + name, ok
	}
	name, ok := m.unqualified("")
	return name, ok
}

// nested reads the parts of a qualified name, to its E.
func (m *mangled) nested(depth int) (string, bool) {
	for m.take("V") || m.take("K") || m.take("r") || m.take("R") || m.take("O") {
	}
	var parts []string
	for !m.take("E") {
		switch {
		case m.s == "":
			return "", false
		case m.take("I"):
			if !m.skipTo('E') {
				return "", false
			}
		case m.take("St"):
			parts = append(parts, "std")
		case m.s[0] == 'S':
			name, ok := m.substitution()
			if !ok {
				return "", false
			}
			parts = append(parts, name)
		default:
			last := ""
			if len(parts) > 0 {
				last = parts[len(parts)-1]
			}
			name, ok := m.unqualified(last)
			if !ok {
				return "", false
			}
			parts = append(parts, name)
		}
	}
	return strings.Join(parts, "::"), len(parts) > 0
}

// substitution reads the abbreviations that need no table.
func (m *mangled) substitution() (string, bool) {
	for code, name := range map[string]string{"Sa": "std::allocator", "Ss": "std::string", "Sb": "std::basic_string", "Si": "std::istream", "So": "std::ostream", "Sd": "std::iostream"} {
		if m.take(code) {
			return name, true
		}
	}
	return "", false
}

// unqualified reads one part of a name. Last is the part before, which constructors are
// named after.
func (m *mangled) unqualified(last string) (string, bool) {
	m.take("L")
	switch {
	case m.s == "":
		return "", false
	case m.s[0] >= '1' && m.s[0] <= '9':
		return m.source()
	case last != "" && len(m.s) > 1 && (m.s[0] == 'C' || m.s[0] == 'D') && m.s[1] >= '0' && m.s[1] <= '5':
		name := last
		if m.s[0] == 'D' {
			name = "~" + last
		}
		m.s = m.s[2:]
		return name, true
	}
	for code, sign := range operators() {
		if m.take(code) {
			return operator + sign, true
		}
	}
	return "", false
}

func operators() map[string]string {
	return map[string]string{
		"nw": " new", "na": " new[]", "dl": " delete", "da": " delete[]", "cl": "()", "ix": "[]", "pt": "->", "pm": "->*",
		"ls": "<<", "rs": ">>", "lS": "<<=", "rS": ">>=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "ss": "<=>", "eq": "==", "ne": "!=",
		"aS": "=", "pL": "+=", "mI": "-=", "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%", "pp": "++", "mm": "--",
		"aa": "&&", "oo": "||", "nt": "!", "an": "&", "or": "|", "eo": "^", "co": "~", "de": "*", "ad": "&", "cm": ",",
	}
}

// source reads a length and as many bytes.
func (m *mangled) source() (string, bool) {
	n, i := 0, 0
	for i < len(m.s) && m.s[i] >= '0' && m.s[i] <= '9' && n < 1<<16 {
		n = n*10 + int(m.s[i]-'0')
		i++
	}
	if n == 0 || n > len(m.s)-i {
		return "", false
	}
	name := m.s[i : i+n]
	m.s = m.s[i+n:]
	if strings.HasPrefix(name, "_GLOBAL__N") {
		name = "(anonymous namespace)"
	}
	return name, true
}

// skipTo skips types, values and whole template argument lists up to the end mark that
// matches an opening already read.
func (m *mangled) skipTo(end byte) bool {
	for depth := 1; m.s != ""; {
		switch c := m.s[0]; {
		case c == end:
			m.s = m.s[1:]
			if depth--; depth == 0 {
				return true
			}
		case c >= '1' && c <= '9':
			if _, ok := m.source(); !ok {
				return false
			}
		case c == 'S' || c == 'T': // St, Sa, S_, S1_, T_, T0_
			m.s = m.s[1:]
			if m.s != "" && m.s[0] >= 'a' && m.s[0] <= 'z' {
				m.s = m.s[1:]
				continue
			}
			i := strings.IndexByte(m.s, '_')
			if i < 0 {
				return false
			}
			m.s = m.s[i+1:]
		case c == 'A': // an array with its length
			i := strings.IndexByte(m.s, '_')
			if i < 0 {
				return false
			}
			m.s = m.s[i+1:]
		case c == 'L': // a value: its type, its digits
			if !m.literal() {
				return false
			}
		case c == 'N' || c == 'I' || c == 'J' || c == 'F' || c == 'X':
			depth++
			m.s = m.s[1:]
		case c == 'Z':
			return false
		default:
			m.s = m.s[1:]
		}
	}
	return false
}

// literal skips a value such as Lb1E, Lj16E or LN1a1bE3E, E included.
func (m *mangled) literal() bool {
	m.s = m.s[1:]
	switch {
	case m.take("_Z"):
		return false
	case m.take("N"):
		if !m.skipTo('E') {
			return false
		}
	case m.s != "" && m.s[0] >= '1' && m.s[0] <= '9':
		if _, ok := m.source(); !ok {
			return false
		}
	case m.s != "":
		m.s = m.s[1:]
	}
	i := strings.IndexByte(m.s, 'E')
	if i < 0 {
		return false
	}
	m.s = m.s[i+1:]
	return true
}
