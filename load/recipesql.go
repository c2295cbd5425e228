package load

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// sqlNames says in SQL what expressions refer to.
type sqlNames struct {
	vars map[int64]string // by variable of a frame
	args map[int64]string // by slot
}

// rowNames are those of a column's expression over the table numbers, whose n is the row;
// t is the number of the table.
func rowNames(t int64) sqlNames {
	return sqlNames{vars: map[int64]string{varRow: "n", varT: fmt.Sprint(t)}}
}

// sql returns an expression as SQL. Random draws become RAND(), so what comes out is
// distributed alike. Letters become hexadecimal digits.
func (e *expr) sql(names sqlNames) (string, error) {
	if e.kind == null {
		return "NULL", nil
	}
	if e.op == opList {
		return e.listSQL(names)
	}
	var kids []string
	for _, k := range e.kids {
		sql, err := k.sql(names)
		if err != nil {
			return "", err
		}
		kids = append(kids, sql)
	}
	switch e.op {
	case opConst:
		if e.kind == text {
			return string(quoteSQL(nil, []byte(e.s))), nil
		}
		return fmt.Sprint(e.n), nil
	case opVar:
		if sql, ok := names.vars[e.n]; ok {
			return sql, nil
		}
	case opArg:
		if sql, ok := names.args[e.n]; ok {
			return sql, nil
		}
	case opUniform:
		return between(kids[0], kids[1]), nil
	case opZipf:
		return e.zipfSQL(), nil
	case opHot:
		hot := e.lo + e.n - 1
		return fmt.Sprintf("IF(RAND() < %g, %s, %s)", e.f, between(fmt.Sprint(e.lo), fmt.Sprint(hot)), between(fmt.Sprint(hot+1), fmt.Sprint(e.hi))), nil
	case opIf:
		return fmt.Sprintf("IF(%s, %s, %s)", kids[0], kids[1], kids[2]), nil
	case opMin:
		return fmt.Sprintf("LEAST(%s, %s)", kids[0], kids[1]), nil
	case opMax:
		return fmt.Sprintf("GREATEST(%s, %s)", kids[0], kids[1]), nil
	case opConcat:
		return "CONCAT(" + strings.Join(kids, ", ") + ")", nil
	case opPattern:
		return patternSQL(e.s), nil
	case opLetters:
		return fmt.Sprintf("LEFT(%s, %s)", digests("RAND()", e.kids[1].hi), between(kids[0], kids[1])), nil
	case opHex:
		return fmt.Sprintf("LEFT(%s, %d)", digests("RAND()", e.hi), e.hi), nil
	case opHash:
		return fmt.Sprintf("LEFT(%s, %d)", digests(kids[0], e.hi), e.hi), nil
	case opTime:
		return fmt.Sprintf("DATE_ADD('1970-01-01', INTERVAL %d + (%s) SECOND)", e.n, kids[0]), nil
	}
	if sign, ok := map[opcode]string{
		opAdd: "+", opSub: "-", opMul: "*", opDiv: "DIV", opMod: "MOD", opLess: "<", opLessEq: "<=", opEq: "=", opNotEq: "<>",
	}[e.op]; ok && len(kids) == 2 {
		return "(" + kids[0] + " " + sign + " " + kids[1] + ")", nil
	}
	return "", errors.New("its expression cannot be said in SQL")
}

// listSQL returns the items of a list that is made, one behind the other.
func (e *expr) listSQL(names sqlNames) (string, error) {
	var items []string
	for i := range e.n {
		sql, err := e.kids[0].sql(names.inner(fmt.Sprint(i)))
		if err != nil {
			return "", err
		}
		items = append(items, sql)
	}
	return strings.Join(items, ", "), nil
}

// between draws a whole number from lo to hi.
func between(lo, hi string) string {
	return fmt.Sprintf("(%s + FLOOR(RAND() * (%s - %s + 1)))", lo, hi, lo)
}

// zipfSQL draws by the inverse of a continuous distribution whose density is x^-s.
func (e *expr) zipfSQL() string {
	n, s := float64(e.hi-e.lo)+2, e.zipf.s
	x := fmt.Sprintf("EXP(RAND() * %.6f)", math.Log(n))
	if s != 1 {
		x = fmt.Sprintf("POW(1 + RAND() * %.9g, %.9g)", math.Pow(n, 1-s)-1, 1/(1-s))
	}
	return fmt.Sprintf("LEAST(%d, %d + FLOOR(%s))", e.hi, e.lo-1, x)
}

// digests returns SQL for at least so many hexadecimal digits that depend on seed; a seed
// of RAND() is drawn anew for every 32 of them.
func digests(seed string, digits int64) string {
	parts := []string{}
	for i := int64(0); i < max(1, (digits+31)/32); i++ {
		if seed == "RAND()" {
			parts = append(parts, "MD5(RAND())")
			continue
		}
		parts = append(parts, fmt.Sprintf("MD5(CONCAT(%s, '-%d'))", seed, i))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "CONCAT(" + strings.Join(parts, ", ") + ")"
}

// patternSQL returns SQL for a pattern: runs of digits are drawn at once.
func patternSQL(p string) string {
	var parts []string
	for i := 0; i < len(p); {
		j := i + 1
		switch p[i] {
		case '#':
			for j < len(p) && p[j] == '#' && j-i < 15 {
				j++
			}
			parts = append(parts, fmt.Sprintf("LPAD(FLOOR(RAND() * 1e%d), %d, '0')", j-i, j-i))
		case '@':
			parts = append(parts, "CHAR(97 + FLOOR(RAND() * 26) USING latin1)")
		default:
			for j < len(p) && p[j] != '#' && p[j] != '@' {
				j++
			}
			parts = append(parts, string(quoteSQL(nil, []byte(p[i:j]))))
		}
		i = j
	}
	if len(parts) == 0 {
		return "''"
	}
	return "CONCAT(" + strings.Join(parts, ", ") + ")"
}
