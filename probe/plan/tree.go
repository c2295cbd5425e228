package plan

import (
	"fmt"
	"strings"
)

// iterator is a step as MySQL's executor sees it.
type iterator struct {
	text    string // what it does, without figures
	est     float64
	act     float64
	loops   float64
	cost    float64
	inputs  []*iterator
	heading string // what an input is to its consumer: Hash, Select #2
}

// parseTree reads the text form: a line per iterator, its inputs below it, further in.
func parseTree(text string) (*Node, error) {
	root := &iterator{}
	stack := []*iterator{root}
	indents := []int{-1}
	for line := range strings.Lines(strings.ReplaceAll(text, `\n`, "\n")) { // batch clients write newlines so
		trimmed := strings.TrimLeft(line, " ")
		body, ok := strings.CutPrefix(trimmed, "-> ")
		if !ok {
			if len(root.inputs) > 0 && strings.TrimSpace(line) != "" { // a condition with a newline in it
				stack[len(stack)-1].text += " " + strings.TrimSpace(line)
			}
			continue
		}
		indent := len(line) - len(trimmed)
		for indents[len(indents)-1] >= indent {
			stack, indents = stack[:len(stack)-1], indents[:len(indents)-1]
		}
		if len(stack) > maxDepth {
			return nil, fmt.Errorf("read a plan: nested deeper than %d", maxDepth)
		}
		it := parseIterator(strings.TrimSpace(body))
		up := stack[len(stack)-1]
		up.inputs = append(up.inputs, it)
		stack, indents = append(stack, it), append(indents, indent)
	}
	if len(root.inputs) == 0 {
		return nil, fmt.Errorf("read a plan: there is no line that begins with -> in %.60q", text)
	}
	return iteratorsToPlan(root.inputs)
}

// parseIterator splits a line into what is done and its figures:
//
//	Table scan on t  (cost=0.35..1 rows=2) (actual time=0.01..0.02 rows=2 loops=1)
func parseIterator(s string) *iterator {
	it := &iterator{text: s, est: Unknown, act: Unknown, loops: Unknown, cost: Unknown}
	end := len(s)
	if i := strings.LastIndex(s, "(never executed)"); i >= 0 {
		it.loops, it.act = 0, 0
		end = i
	}
	if i := strings.LastIndex(s[:end], "(actual "); i >= 0 {
		group := s[i:end]
		it.act, it.loops = figureIn(group, "rows="), figureIn(group, "loops=")
		end = i
	}
	if i := strings.LastIndex(s[:end], "(cost="); i >= 0 {
		group := s[i:end]
		it.est, it.cost = figureIn(group, "rows="), figureIn(group, "cost=")
		end = i
	} else if i := strings.LastIndex(s[:end], "  (rows="); i >= 0 {
		it.est = figureIn(s[i:end], "rows=")
		end = i
	}
	it.text = strings.TrimSpace(s[:end])
	return it
}

// figureIn reads the number behind a name, the last of a range a..b. MySQL writes large and
// small ones as 1.2e+6 and 494e-6.
func figureIn(group, name string) float64 {
	_, rest, ok := strings.Cut(group, name)
	if !ok {
		return Unknown
	}
	end := strings.IndexAny(rest, " )")
	if end >= 0 {
		rest = rest[:end]
	}
	if i := strings.LastIndex(rest, ".."); i >= 0 {
		rest = rest[i+2:]
	}
	return number(rest)
}

// readIterators reads MySQL's JSON of version 2, whose operations are the lines of the tree.
func readIterators(v value) (*Node, error) {
	its, err := inputsOf(v, 0)
	if err != nil {
		return nil, err
	}
	return iteratorsToPlan(its)
}

// inputsOf returns the iterator of an object, and behind it the subqueries that stand
// beside its inputs.
func inputsOf(v value, depth int) ([]*iterator, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("read a plan: nested deeper than %d", maxDepth)
	}
	it := &iterator{
		text: v.str("operation"), heading: v.str("heading"), cost: v.num("estimated_total_cost"), est: v.num("estimated_rows"),
		act: v.num("actual_rows"), loops: v.num("actual_loops"),
	}
	if it.loops == 0 {
		it.act = 0
	}
	var beside []*iterator
	for _, m := range v.members {
		if m.name != "inputs" && !strings.HasPrefix(m.name, "inputs_from_") {
			continue
		}
		for _, item := range m.items {
			in, err := inputsOf(item, depth+1)
			if err != nil {
				return nil, err
			}
			if m.name == "inputs" {
				it.inputs = append(it.inputs, in...)
			} else {
				beside = append(beside, in...)
			}
		}
	}
	if strings.HasPrefix(it.heading, "Select #") { // as a line of its own, like in the text
		it = &iterator{text: it.heading, inputs: []*iterator{it}, est: Unknown, act: Unknown, loops: Unknown, cost: Unknown}
	}
	return append([]*iterator{it}, beside...), nil
}
