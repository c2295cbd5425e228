package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// value is a JSON value in which an object keeps the order of its members, and members of
// the same name: MariaDB 10.5 writes one member "table" per joined table.
type value struct {
	members []member // of an object
	items   []value  // of an array
	text    string   // of a string, number or boolean; "" for null
}

type member struct {
	name string
	value
}

// get returns the first member of a name, which may be there more than once.
func (v value) get(name string) (value, bool) {
	for _, m := range v.members {
		if m.name == name {
			return m.value, true
		}
	}
	return value{}, false
}

// str returns the text of a member; "" if there is none.
func (v value) str(name string) string {
	m, _ := v.get(name)
	return m.text
}

// num returns the first of the members that is a number, also one written as a string.
func (v value) num(names ...string) float64 {
	for _, name := range names {
		if m, ok := v.get(name); ok {
			if f := number(m.text); f >= 0 {
				return f
			}
		}
	}
	return Unknown
}

// strings returns the texts of an array.
func (v value) strings(name string) []string {
	list, _ := v.get(name)
	var out []string
	for _, item := range list.items {
		out = append(out, item.text)
	}
	return out
}

func decode(text string) (value, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	v, err := decodeValue(dec, 0)
	if err != nil {
		return v, fmt.Errorf("read a plan: JSON at byte %d: %w", dec.InputOffset(), err)
	}
	return v, nil
}

func decodeValue(dec *json.Decoder, depth int) (value, error) {
	var v value
	if depth > maxDepth {
		return v, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	tok, err := dec.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return v, err
	}
	switch tok := tok.(type) {
	case json.Delim:
		for dec.More() {
			var name string
			if tok == '{' {
				key, err := dec.Token()
				if err != nil {
					return v, err
				}
				name, _ = key.(string)
			}
			item, err := decodeValue(dec, depth+1)
			if err != nil {
				return v, err
			}
			if tok == '{' {
				v.members = append(v.members, member{name, item})
			} else {
				v.items = append(v.items, item)
			}
		}
		_, err := dec.Token()
		return v, err
	case string:
		v.text = tok
	case json.Number:
		v.text = tok.String()
	case bool:
		v.text = strconv.FormatBool(tok)
	}
	return v, nil
}

// parseJSON reads both kinds of JSON: blocks and tables, or a tree of iterators.
func parseJSON(text string) (*Node, error) {
	v, err := decode(text)
	if err != nil {
		return nil, err
	}
	if q, ok := v.get("query_block"); ok {
		return readBlocks(q)
	}
	if q, ok := v.get("query_plan"); ok {
		return readIterators(q)
	}
	if v.str("operation") != "" { // the first versions of MySQL's version 2
		return readIterators(v)
	}
	return nil, fmt.Errorf("read a plan: this JSON has neither a query_block nor a query_plan")
}
