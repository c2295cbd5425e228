package stacks

import "strings"

// Short returns the part of a function's name by which it is known again in another
// version of the program: qualified, without return type, parameters, template arguments,
// and without what compilers and linkers append to clones. Of mangled names it reads as
// much as that takes; what it cannot read it returns as it is.
//
//	PolicyMutex<TTASEventMutex<TrackPolicy> >::enter(unsigned int)    PolicyMutex::enter
//	_ZL22pfs_rw_lock_s_lock_lowP9rw_lock_tmPKcm.isra.17               pfs_rw_lock_s_lock_low
//	(anonymous namespace)::f(int)::{lambda(int)#1}::operator()(int)   (anonymous namespace)::f::{lambda(int)#1}::operator()
func Short(name string) string {
	s := trimClone(name)
	if strings.HasPrefix(s, "_Z") {
		if short, ok := demangleShort(s); ok {
			return short
		}
		return s
	}
	if strings.HasPrefix(s, "[") || !strings.ContainsAny(s, "(<{ ") {
		return s
	}
	if short := demangledShort(s); short != "" {
		return short
	}
	return s
}

// trimClone takes off .isra.0, .part.3, [clone .cold] and the like, and symbol versions.
func trimClone(s string) string {
	for _, mark := range []string{" [clone ", " (."} {
		if i := strings.Index(s, mark); i > 0 {
			s = s[:i]
		}
	}
	if i := strings.Index(s, "@@"); i > 0 {
		s = s[:i]
	} else if i := strings.Index(s, "@GLIBC"); i > 0 {
		s = s[:i]
	}
	for _, mark := range []string{".isra.", ".part.", ".constprop.", ".lto_priv.", ".llvm.", ".cold", ".localalias", ".clone."} {
		if i := strings.Index(s, mark); i > 0 && cloneEnds(s[i+len(mark):]) {
			s = s[:i]
		}
	}
	return s
}

// cloneEnds reports whether s is made of numbers and further clone marks only.
func cloneEnds(s string) bool { return !strings.ContainsAny(s, "(:<> ") }

// demangledShort reads a name as demanglers write it.
func demangledShort(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case strings.HasPrefix(s[i:], "(anonymous namespace)"):
			out.WriteString("(anonymous namespace)")
			i += len("(anonymous namespace)")
		case isOperator(s, i):
			n := operatorLen(s[i:])
			out.WriteString(s[i : i+n])
			i += n
			if strings.HasPrefix(s[i:], " <") { // its template arguments
				i++
			}
		case c == '{':
			n := group(s[i:], '{', '}')
			out.WriteString(s[i : i+n])
			i += n
		case c == '<':
			if i == 0 { // <T as Trait>::f
				n := group(s, '<', '>')
				out.WriteString(s[:n])
				i += n
				continue
			}
			i += group(s[i:], '<', '>')
		case c == '(' && i > 0 && s[i-1] == '.': // a method of Go: pkg.(*T).f
			n := group(s[i:], '(', ')')
			out.WriteString(s[i : i+n])
			i += n
		case c == '(':
			i += group(s[i:], '(', ')')
			rest := strings.TrimPrefix(s[i:], " const")
			if !strings.HasPrefix(rest, "::") {
				return out.String()
			}
			i = len(s) - len(rest)
		case c == ' ': // what stood here was a return type
			out.Reset()
			i++
		default:
			out.WriteByte(c)
			i++
		}
	}
	return out.String()
}

// group returns the length of the bracketed group that s begins with. Operators such as
// -> inside do not count as brackets. What never closes ends with s.
func group(s string, open, shut byte) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch {
		case open == '<' && isOperator(s, i):
			i += operatorLen(s[i:]) - 1
		case s[i] == '-' && i+1 < len(s) && s[i+1] == '>':
			i++
		case s[i] == open:
			depth++
		case s[i] == shut:
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

const operator = "operator"

// isOperator reports whether the word operator begins at s[i].
func isOperator(s string, i int) bool {
	if !strings.HasPrefix(s[i:], operator) || i > 0 && isIdent(s[i-1]) {
		return false
	}
	return i+len(operator) < len(s) && !isIdent(s[i+len(operator)])
}

func isIdent(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// operatorLen returns the length of operator and its sign, or of the type behind it.
func operatorLen(s string) int {
	rest := s[len(operator):]
	for _, sign := range []string{"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "->", "<=", ">=", "<", ">"} {
		if strings.HasPrefix(rest, sign) {
			return len(operator) + len(sign)
		}
	}
	if i := strings.IndexByte(rest, '('); i >= 0 {
		return len(operator) + i
	}
	return len(s)
}
