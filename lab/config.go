package lab

import "strings"

// Option is one server option. Names are as in a configuration file and compare with
// dashes and underscores equal; NormalName gives that form.
type Option struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Bare  bool   `json:"bare,omitempty"` // given without a value: skip-log-bin
}

// String returns the option as a command line argument.
func (o Option) String() string {
	if o.Bare {
		return "--" + o.Name
	}
	return "--" + o.Name + "=" + o.Value
}

// NormalName returns name in lower case with underscores, without a loose_ prefix.
func NormalName(name string) string {
	name = strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	return strings.TrimPrefix(name, "loose_")
}

// Glibc is the allocator of the C library, which needs no preloading.
const Glibc = "glibc"

// Config is a named set of server options, with environment and launcher.
type Config struct {
	Name    string   `json:"name"`
	Options []Option `json:"options,omitempty"` // for every family, in order; a later one wins
	// ByFamily holds options that only servers of that family get, after Options.
	ByFamily map[Family][]Option `json:"by_family,omitempty"`
	Preload  string              `json:"preload,omitempty"`  // jemalloc, tcmalloc, mimalloc, a path, or glibc for none
	Launcher []string            `json:"launcher,omitempty"` // put before the server's command: taskset -c 0
	Env      []string            `json:"env,omitempty"`      // KEY=VALUE
}

// For returns the options that a server of family f gets, later ones winning.
func (c Config) For(f Family) []Option {
	return append(append([]Option(nil), c.Options...), c.ByFamily[f]...)
}
