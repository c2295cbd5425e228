package load

import (
	"fmt"
	"strconv"
	"strings"
)

// node is an expression as written. resolve makes an expr of it.
type node struct {
	op   string  // number, text, param, name, call, or an operator; neg for a sign
	text string  // literal, name or function
	kids []*node // operands, arguments
}

// maxDepth bounds how deep expressions nest, so that none exhausts the stack.
const maxDepth = 100

// parseExpr reads an expression. From what binds least to what binds most: comparisons,
// + and -, * / and %, a sign.
func parseExpr(src string) (*node, error) {
	p := &parser{src: src}
	p.next()
	n, err := p.comparison()
	if err == nil && p.tok != "" {
		err = fmt.Errorf("unexpected %s", p.tok)
	}
	if p.bad != nil {
		err = p.bad
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", quoteShort(src), err)
	}
	return n, nil
}

func quoteShort(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return strconv.Quote(s)
}

type parser struct {
	src   string
	pos   int
	tok   string // current token as written; empty at the end
	bad   error  // what the scanner did not understand
	depth int
}

// next scans the next token: a number, 'text', $param, name, or operator.
func (p *parser) next() {
	for p.pos < len(p.src) && strings.IndexByte(" \t\r\n", p.src[p.pos]) >= 0 {
		p.pos++
	}
	start := p.pos
	if start == len(p.src) {
		p.tok = ""
		return
	}
	c := p.src[start]
	switch {
	case digit(c):
		p.span(func(c byte) bool { return digit(c) || c == '.' || c == '_' })
	case c == '\'':
		p.quoted()
	case c == '$' || letter(c):
		p.pos++
		p.span(func(c byte) bool { return letter(c) || digit(c) })
	case p.pos+1 < len(p.src) && p.src[p.pos+1] == '=' && strings.IndexByte("<>=!", c) >= 0:
		p.pos += 2
	default:
		p.pos++
	}
	p.tok = p.src[start:p.pos]
}

func (p *parser) span(in func(byte) bool) {
	for p.pos < len(p.src) && in(p.src[p.pos]) {
		p.pos++
	}
}

// quoted scans to the closing quote; a quote within is doubled.
func (p *parser) quoted() {
	for p.pos++; p.pos < len(p.src); p.pos++ {
		if p.src[p.pos] != '\'' {
			continue
		}
		if p.pos+1 == len(p.src) || p.src[p.pos+1] != '\'' {
			p.pos++
			return
		}
		p.pos++
	}
	p.bad = fmt.Errorf("text without a closing quote")
}

func digit(c byte) bool  { return c >= '0' && c <= '9' }
func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func (p *parser) comparison() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	return p.binary(func() (*node, error) {
		return p.binary(func() (*node, error) {
			return p.binary(p.signed, "*", "/", "%")
		}, "+", "-")
	}, "<", "<=", ">", ">=", "==", "!=")
}

func (p *parser) binary(operand func() (*node, error), ops ...string) (*node, error) {
	n, err := operand()
	for err == nil && has(ops, p.tok) {
		op := p.tok
		p.next()
		var r *node
		if r, err = operand(); err == nil {
			n = &node{op: op, kids: []*node{n, r}}
		}
	}
	return n, err
}

func has(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func (p *parser) signed() (*node, error) {
	if p.tok != "-" {
		return p.primary()
	}
	p.next()
	if p.depth++; p.depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	n, err := p.signed()
	if err != nil {
		return nil, err
	}
	return &node{op: "neg", kids: []*node{n}}, nil
}

func (p *parser) primary() (*node, error) {
	tok := p.tok
	switch {
	case tok == "":
		return nil, fmt.Errorf("ends too early")
	case tok == "(":
		p.next()
		n, err := p.comparison()
		if err != nil {
			return nil, err
		}
		return n, p.expect(")")
	case digit(tok[0]):
		p.next()
		return &node{op: "number", text: strings.ReplaceAll(tok, "_", "")}, nil
	case tok[0] == '\'':
		p.next()
		return &node{op: "text", text: strings.ReplaceAll(strings.TrimSuffix(tok[1:], "'"), "''", "'")}, nil
	case tok[0] == '$' && len(tok) > 1:
		p.next()
		return &node{op: "param", text: tok[1:]}, nil
	case letter(tok[0]):
		p.next()
		if p.tok != "(" {
			return &node{op: "name", text: tok}, nil
		}
		return p.call(tok)
	}
	return nil, fmt.Errorf("unexpected %s", tok)
}

func (p *parser) call(name string) (*node, error) {
	n := &node{op: "call", text: name}
	p.next()
	for p.tok != ")" {
		kid, err := p.comparison()
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, kid)
		if p.tok == "," {
			p.next()
		} else if p.tok != ")" {
			return nil, p.expect(")")
		}
	}
	return n, p.expect(")")
}

func (p *parser) expect(tok string) error {
	if p.tok != tok {
		if p.tok == "" {
			return fmt.Errorf("%s is missing at the end", tok)
		}
		return fmt.Errorf("%s expected, not %s", tok, p.tok)
	}
	p.next()
	return nil
}
