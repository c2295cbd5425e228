package load

import (
	"fmt"
	"sort"
	"strings"

	"backslide/lab"
)

// The structs of this file are a workload file, key for key. docs/workloads.md says what
// the keys mean.

type workloadFile struct {
	Name     string              `toml:"name"`
	About    string              `toml:"about"`
	Default  string              `toml:"default"`
	Chain    bool                `toml:"chain"`
	Prepared value               `toml:"prepared"`
	Retry    []int               `toml:"retry"`
	Params   map[string]value    `toml:"params"`
	Subsets  map[string][]string `toml:"subsets"`
	Setup    sqlList             `toml:"setup"`
	Table    []tableFile         `toml:"table"`
	Finish   sqlList             `toml:"finish"`
	Settle   []settleFile        `toml:"settle"`
	Step     []stepFile          `toml:"step"`
}

type tableFile struct {
	Name    string           `toml:"name"`
	Count   value            `toml:"count"`
	Rows    value            `toml:"rows"`
	Create  sqlList          `toml:"create"`
	Columns map[string]value `toml:"columns"`
	After   sqlList          `toml:"after"`
}

type settleFile struct {
	Name  string  `toml:"name"`
	Count value   `toml:"count"`
	Do    sqlList `toml:"do"`
	Until sqlList `toml:"until"`
	Every string  `toml:"every"`
	Limit string  `toml:"limit"`
	Undo  sqlList `toml:"undo"`
}

type stepFile struct {
	Name     string           `toml:"name"`
	About    string           `toml:"about"`
	Like     string           `toml:"like"`
	Group    string           `toml:"group"`
	Read     *bool            `toml:"read"`
	Warm     *bool            `toml:"warm"`
	Params   map[string]value `toml:"params"`
	Args     map[string]value `toml:"args"`
	SQL      string           `toml:"sql"`
	Choose   sqlList          `toml:"choose"`
	Begin    value            `toml:"begin"`
	Prepared value            `toml:"prepared"`
	Counts   value            `toml:"counts"`
	Ops      value            `toml:"ops"`
	Limit    string           `toml:"limit"`
	Rate     value            `toml:"rate"`
	Connect  *bool            `toml:"connect"`
	Before   sqlList          `toml:"before"`
	After    sqlList          `toml:"after"`
	Catchup  value            `toml:"catchup"`
	Rows     value            `toml:"rows"`
	Each     map[string]value `toml:"each"`
	Retry    []int            `toml:"retry"`
	Ignore   []int            `toml:"ignore"`
	Settle   []string         `toml:"settle"`
	Side     []sideFile       `toml:"side"`
	Tool     *toolFile        `toml:"tool"`

	Statement   []statementFile   `toml:"statement"`
	Transaction []transactionFile `toml:"transaction"`
	Role        []roleFile        `toml:"role"`
}

// roleFile is what one of a client's connections does in a step.
type roleFile struct {
	Name     string           `toml:"name"`
	Args     map[string]value `toml:"args"`
	SQL      string           `toml:"sql"`
	Choose   sqlList          `toml:"choose"`
	Begin    value            `toml:"begin"`
	Prepared value            `toml:"prepared"`
	Counts   value            `toml:"counts"`
	Ops      value            `toml:"ops"`
	Rate     value            `toml:"rate"`
	Catchup  value            `toml:"catchup"`
	Rows     value            `toml:"rows"`
	Each     map[string]value `toml:"each"`
	Follows  string           `toml:"follows"`
	Lead     value            `toml:"lead"`
	When     value            `toml:"when"`

	Statement   []statementFile   `toml:"statement"`
	Transaction []transactionFile `toml:"transaction"`
}

type transactionFile struct {
	Weight    value           `toml:"weight"`
	Begin     value           `toml:"begin"`
	Counts    value           `toml:"counts"`
	Statement []statementFile `toml:"statement"`
}

type statementFile struct {
	SQL      string           `toml:"sql"`
	Choose   sqlList          `toml:"choose"`
	Args     map[string]value `toml:"args"`
	Repeat   value            `toml:"repeat"`
	Chance   value            `toml:"chance"`
	Prepared value            `toml:"prepared"`
	Rows     value            `toml:"rows"`
	Each     map[string]value `toml:"each"`
}

type sideFile struct {
	Open  sqlList `toml:"open"`
	Close sqlList `toml:"close"`
}

// value is a number, a truth value or an expression.
type value struct {
	set  bool
	text string // source of an expression
}

// UnmarshalTOML implements toml.Unmarshaler.
func (v *value) UnmarshalTOML(x any) error {
	v.set = true
	switch x := x.(type) {
	case string:
		v.text = x
	case int64:
		v.text = fmt.Sprint(x)
	case float64:
		v.text = fmt.Sprint(x)
		if !strings.ContainsAny(v.text, ".e") {
			v.text += ".0"
		}
	case bool:
		v.text = "0"
		if x {
			v.text = "1"
		}
	default:
		return fmt.Errorf("neither number, true/false nor an expression in quotes")
	}
	return nil
}

// or returns v, or the first of others that is set.
func (v value) or(others ...value) value {
	for _, o := range others {
		if v.set {
			break
		}
		v = o
	}
	return v
}

// sqlList is SQL texts with the servers that each is for. In the file it is an array of
// texts and of tables such as { sql = "…", family = "mysql", from = "8.0" }.
type sqlList []choice

type choice struct {
	text        string
	family      lab.Family
	from, below [3]int // versions; zero: no bound
	engines     []string
}

// UnmarshalTOML implements toml.Unmarshaler.
func (c *choice) UnmarshalTOML(x any) error {
	switch x := x.(type) {
	case string:
		c.text = x
		return nil
	case map[string]any:
		var err error
		*c, err = newChoice(x)
		return err
	}
	return fmt.Errorf("neither SQL text nor a table such as { sql = \"…\", family = \"mysql\", from = \"8.0\" }")
}

func newChoice(m map[string]any) (choice, error) {
	var c choice
	known := []string{"sql", "family", "from", "below", "engine"}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		s, isText := m[k].(string)
		if list, ok := m[k].([]any); ok && k == "engine" {
			for _, e := range list {
				name, ok := e.(string)
				if !ok {
					return c, fmt.Errorf("engine: %v is no name", e)
				}
				if err := c.engine(name); err != nil {
					return c, err
				}
			}
			continue
		}
		if !isText {
			return c, fmt.Errorf("%s: %v is not text", k, m[k])
		}
		var err error
		switch k {
		case "sql":
			c.text = s
		case "family":
			if c.family = lab.Family(s); c.family != lab.MySQL && c.family != lab.MariaDB {
				err = fmt.Errorf("family: unknown family %q%s", s, lab.Suggest(s, []string{string(lab.MySQL), string(lab.MariaDB)}))
			}
		case "from":
			c.from, err = version(s)
		case "below":
			c.below, err = version(s)
		case "engine":
			err = c.engine(s)
		default:
			err = fmt.Errorf("unknown key %q%s", k, lab.Suggest(k, known))
		}
		if err != nil {
			return c, err
		}
	}
	if c.text == "" {
		return c, fmt.Errorf("a choice without sql")
	}
	return c, nil
}

func (c *choice) engine(name string) error {
	proper, ok := lab.Engines()[strings.ToLower(name)]
	if !ok {
		var known []string
		for _, n := range lab.Engines() {
			known = append(known, n)
		}
		return fmt.Errorf("engine: unknown engine %q%s", name, lab.Suggest(name, known))
	}
	c.engines = append(c.engines, proper)
	return nil
}

func version(s string) ([3]int, error) {
	b := lab.Build{Version: s}
	v := b.VersionNumber()
	if v == [3]int{} || strings.Trim(s, "0123456789.") != "" {
		return v, fmt.Errorf("%q is not a version such as 8.0 or 10.11.2", s)
	}
	return v, nil
}

// fits reports whether the choice is for servers of kind t.
func (c choice) fits(t Target) bool {
	if c.family != "" && c.family != t.Family {
		return false
	}
	if less(t.Version, c.from) || c.below != [3]int{} && !less(t.Version, c.below) {
		return false
	}
	if len(c.engines) == 0 {
		return true
	}
	for _, e := range c.engines {
		if e == t.Engine {
			return true
		}
	}
	return false
}

func less(a, b [3]int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}
