package lab

import (
	"fmt"
	"strings"
)

// axisFile is an option and its values, by each of which the configs are multiplied.
type axisFile struct {
	Name   string `toml:"name"`   // within the configs' names; empty: the option's
	Option string `toml:"option"` // a server option, or preload
	Values []any  `toml:"values"`
}

// maxConfigs bounds what axes multiply to.
const maxConfigs = 256

// multiply returns every config with every combination of the axes' values, the first
// axis changing slowest. A config is then called by what sets it apart: ps=0+ddl=4, or
// small+ps=0+ddl=4 if it is one of several that had a name.
func multiply(configs []Config, axes []axisFile) ([]Config, error) {
	seen := map[string]bool{}
	for i, a := range axes {
		name := a.label()
		switch {
		case a.Option == "":
			return nil, fmt.Errorf("axis: number %d has no option", i+1)
		case len(a.Values) == 0:
			return nil, fmt.Errorf("axis: %s has no values", name)
		case seen[NormalName(a.Option)]:
			return nil, fmt.Errorf("axis: option %s is there twice", a.Option)
		case strings.ContainsAny(name, "/+=# \t"):
			return nil, fmt.Errorf("axis: name %q: it holds no blanks and none of / + = #", name)
		}
		seen[NormalName(a.Option)] = true
		if len(configs) == 0 {
			configs = []Config{{}}
		}
		var out []Config
		for _, c := range configs {
			for _, v := range a.Values {
				set, err := a.set(c, v)
				if err != nil {
					return nil, fmt.Errorf("axis: %s: %w", name, err)
				}
				out = append(out, set)
			}
		}
		if configs = out; len(configs) > maxConfigs {
			return nil, fmt.Errorf("axis: more than %d configs; leave out values", maxConfigs)
		}
	}
	return configs, nil
}

func (a axisFile) label() string {
	if a.Name != "" {
		return a.Name
	}
	return a.Option
}

// set returns c with one value of the axis.
func (a axisFile) set(c Config, value any) (Config, error) {
	opts, err := options(map[string]any{a.Option: value})
	if err != nil {
		return c, err
	}
	shown := opts[0].Value
	if strings.ContainsAny(shown, "/+=# \t") || shown == "" {
		return c, fmt.Errorf("value %q cannot be part of a name; write a [[config]] for it", shown)
	}
	name := a.label() + "=" + shown
	if c.Name != "" {
		name = c.Name + "+" + name
	}
	c.Name = name
	if NormalName(a.Option) == "preload" {
		c.Preload = shown
		return c, nil
	}
	c.Options = append(append([]Option(nil), c.Options...), opts...) // configs share what they came from
	return c, nil
}
