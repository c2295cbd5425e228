package load

import (
	"fmt"
	"strconv"
	"strings"

	"backslide/lab"
)

// piece is a part of an SQL template: text as it is, {an expression} that is put into the
// text, or :name, which is bound when prepared and a literal otherwise.
type piece struct {
	lit  string
	expr string // source of {…}
	bind string // name behind the colon
}

// split cuts a template into pieces. Within quotes a colon is text; braces are expanded
// everywhere, since quoted identifiers need them; {{ and }} stand for single braces.
func split(tmpl string) ([]piece, error) {
	var out []piece
	var lit strings.Builder
	flush := func() {
		if lit.Len() > 0 {
			out = append(out, piece{lit: lit.String()})
			lit.Reset()
		}
	}
	quote := byte(0)
	for i := 0; i < len(tmpl); i++ {
		c := tmpl[i]
		twice := i+1 < len(tmpl) && tmpl[i+1] == c
		switch {
		case (c == '{' || c == '}') && twice:
			lit.WriteByte(c)
			i++
		case c == '}':
			return nil, fmt.Errorf("a } without its {; write }} for the character")
		case c == '{':
			end := closing(tmpl[i:])
			if end < 0 {
				return nil, fmt.Errorf("a { without its }; write {{ for the character")
			}
			flush()
			out = append(out, piece{expr: tmpl[i+1 : i+end]})
			i += end
		case c == ':' && quote == 0 && i+1 < len(tmpl) && letter(tmpl[i+1]) && (i == 0 || tmpl[i-1] != ':'):
			end := i + 1
			for end < len(tmpl) && (letter(tmpl[end]) || digit(tmpl[end])) {
				end++
			}
			flush()
			out = append(out, piece{bind: tmpl[i+1 : end]})
			i = end - 1
		default:
			switch {
			case quote == 0 && (c == '\'' || c == '"' || c == '`'):
				quote = c
			case c == quote:
				quote = 0
			case quote != 0 && quote != '`' && c == '\\' && i+1 < len(tmpl) && tmpl[i+1] != '{' && tmpl[i+1] != '}':
				lit.WriteByte(c)
				i++
				c = tmpl[i]
			}
			lit.WriteByte(c)
		}
	}
	flush()
	return out, nil
}

// closing returns the place of the } that ends the expression at the start of s; texts
// within the expression may hold braces.
func closing(s string) int {
	quoted := false
	for i := range len(s) {
		switch {
		case s[i] == '\'':
			quoted = !quoted
		case s[i] == '}' && !quoted:
			return i
		}
	}
	return -1
}

// part is a resolved piece.
type part struct {
	lit  string
	expr *expr // put into the text
	arg  *expr // bound; an opArg
}

func (sc *scope) parts(tmpl string) ([]part, error) {
	pieces, err := split(tmpl)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quoteShort(tmpl), err)
	}
	var out []part
	for _, p := range pieces {
		switch {
		case p.expr != "":
			e, err := sc.compile(p.expr)
			if err != nil {
				return nil, err
			}
			if e.kind != whole && e.kind != text || e.kind == text && !e.isConst() {
				return nil, fmt.Errorf("{%s} is %s that changes; only whole numbers and fixed texts can be put into SQL, bind others with :name", p.expr, e.kind)
			}
			out = append(out, part{expr: e})
		case p.bind != "":
			e, ok := sc.args[p.bind]
			if !ok {
				return nil, fmt.Errorf("unknown argument :%s%s", p.bind, lab.Suggest(p.bind, keys(sc.args)))
			}
			out = append(out, part{arg: e})
		default:
			out = append(out, part{lit: p.lit})
		}
	}
	return merge(out), nil
}

// merge turns constant expressions into text and joins neighbouring texts.
func merge(in []part) []part {
	var out []part
	for _, p := range in {
		if p.expr != nil && p.expr.isConst() {
			p = part{lit: string(p.expr.app(nil, nil))}
		}
		if n := len(out); n > 0 && p.arg == nil && p.expr == nil && out[n-1].arg == nil && out[n-1].expr == nil {
			out[n-1].lit += p.lit
			continue
		}
		out = append(out, p)
	}
	return out
}

// cut divides a statement at the list behind its VALUES: what comes before, the list, and
// what comes behind.
func cut(parts []part) (head, tuple, tail []part, err error) {
	at, from := -1, 0
	for i, p := range parts {
		v := strings.LastIndex(strings.ToUpper(p.lit), "VALUES")
		if v < 0 {
			continue
		}
		rest := p.lit[v+len("VALUES"):]
		if open := strings.TrimLeft(rest, " \t\r\n"); strings.HasPrefix(open, "(") {
			at, from = i, len(p.lit)-len(open)
		}
	}
	if at < 0 {
		return nil, nil, nil, fmt.Errorf("a statement with rows needs a VALUES (…), which is then there for each row")
	}
	head = append(head, parts[:at]...)
	head = append(head, part{lit: parts[at].lit[:from]})
	depth, quote := 0, byte(0)
	for i := at; i < len(parts); i++ {
		p, start := parts[i], 0
		if i == at {
			start = from
		}
		for j := start; j < len(p.lit); j++ {
			switch c := p.lit[j]; {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '\'' || c == '"' || c == '`':
				quote = c
			case c == '(':
				depth++
			case c == ')':
				depth--
			}
			if depth == 0 {
				tuple = append(tuple, part{lit: p.lit[start : j+1]})
				if j+1 < len(p.lit) {
					tail = append(tail, part{lit: p.lit[j+1:]})
				}
				return head, tuple, append(tail, parts[i+1:]...), nil
			}
		}
		p.lit = p.lit[start:]
		tuple = append(tuple, p)
	}
	return nil, nil, nil, fmt.Errorf("the ( behind VALUES has no )")
}

// fixed expands a template that may only hold expressions that f decides.
func (sc *scope) fixed(tmpl string, f *frame) (string, error) {
	parts, err := sc.parts(tmpl)
	if err != nil {
		return "", err
	}
	var b []byte
	for _, p := range parts {
		switch {
		case p.arg != nil:
			return "", fmt.Errorf("%s: there is nothing to bind here; put values in with {…}", quoteShort(tmpl))
		case p.expr != nil && f == nil:
			return "", fmt.Errorf("%s: only what is known beforehand can be put in here", quoteShort(tmpl))
		case p.expr != nil:
			b = p.expr.app(f, b)
		default:
			b = append(b, p.lit...)
		}
	}
	return string(b), nil
}

// literal appends a bound argument as SQL text.
func literal(e *expr, f *frame, dst []byte) []byte {
	switch e.kind {
	case whole:
		return strconv.AppendInt(dst, f.nums[e.n], 10)
	case list:
		for i, v := range f.lists[e.n] {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, v, 10)
		}
		return dst
	}
	return quoteSQL(dst, f.texts[e.n])
}

// quoteSQL appends s as a string literal that is right whether or not backslashes
// escape, unless it holds one; then they have to, as they do by default.
func quoteSQL(dst, s []byte) []byte {
	dst = append(dst, '\'')
	for _, c := range s {
		switch c {
		case '\'':
			dst = append(dst, '\'')
		case '\\':
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return append(dst, '\'')
}
