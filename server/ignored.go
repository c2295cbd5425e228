package server

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"backslide/lab"
)

// Ignored returns the options that a server accepted although they have no effect, or
// another one than asked, a sentence each: name, asked, got. It compares what was asked
// with the settings read back, by meaning rather than by letter, and believes the
// server's log when that says that an option does nothing. An option that neither shows
// is named as such, because then a variant may be the same as another.
func Ignored(asked []lab.Option, settings map[string]string, log string) []string {
	inLog := disowned(log)
	var out []string
	for i, o := range asked {
		if !overridden(o, asked[i+1:], settings) {
			if s := ignored(o, settings, inLog[lab.NormalName(o.Name)]); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

// overridden reports whether a later option sets the same as o, as skip-log-bin does
// after log-bin.
func overridden(o lab.Option, later []lab.Option, settings map[string]string) bool {
	name := lab.NormalName(o.Name)
	variable, _, ok := shownAs(o, settings)
	return slices.ContainsFunc(later, func(l lab.Option) bool {
		v, _, lok := shownAs(l, settings)
		return ok && lok && v == variable || lab.NormalName(l.Name) == name && !isOptionOnly(name)
	})
}

// ignored returns the sentence about one option, or nothing if it took effect. said is
// what the log has about it.
func ignored(o lab.Option, settings map[string]string, said string) string {
	name := lab.NormalName(o.Name)
	asked := "asked " + o.Value
	if o.Bare {
		asked = "asked for"
	}
	if said != "" {
		return fmt.Sprintf("%s: %s, without effect: %s", name, asked, said)
	}
	variable, want, ok := shownAs(o, settings)
	got := settings[variable]
	if got == "" {
		got = "an empty value"
	}
	switch {
	case ok && same(variable, want, settings[variable]):
		return ""
	case isOurs(name):
		return fmt.Sprintf("%s: %s, without effect: backslide decides it", name, asked)
	case ok && variable == name:
		return fmt.Sprintf("%s: %s, got %s", name, asked, got)
	case ok:
		return fmt.Sprintf("%s: %s, got %s %s", name, asked, variable, got)
	case isOptionOnly(name):
		return ""
	}
	return fmt.Sprintf("%s: %s, accepted, but the server shows no such setting: it may have no effect", name, asked)
}

// shownAs returns the variable in which an option shows, and the value that it then has.
func shownAs(o lab.Option, settings map[string]string) (variable, want string, ok bool) {
	name := lab.NormalName(o.Name)
	want = o.Value
	if o.Bare {
		want = "ON"
	}
	if _, ok := settings[name]; ok {
		return name, want, true
	}
	for _, alias := range aliases(name) {
		if _, ok := settings[alias]; ok {
			return alias, want, true
		}
	}
	for prefix, negates := range map[string]bool{"skip_": true, "disable_": true, "enable_": false} {
		base, found := strings.CutPrefix(name, prefix)
		if _, has := settings[base]; !found || !has {
			continue
		}
		on, isBool := boolean(want)
		if !isBool {
			return "", "", false
		}
		if on != negates {
			return base, "ON", true
		}
		return base, "OFF", true
	}
	return "", "", false
}

// aliases returns the variables that an option of another name sets, by version.
func aliases(option string) []string {
	switch option {
	case "transaction_isolation":
		return []string{"tx_isolation"} // before MySQL 8 and MariaDB 11.1
	case "transaction_read_only":
		return []string{"tx_read_only"}
	case "default_time_zone":
		return []string{"time_zone"}
	case "key_buffer":
		return []string{"key_buffer_size"} // a prefix of an option's name is accepted too
	case "log_slave_updates":
		return []string{"log_replica_updates"}
	case "memlock":
		return []string{"locked_in_memory"}
	case "language":
		return []string{"lc_messages_dir"}
	}
	return nil
}

// isOptionOnly reports whether an option shows in no variable on any server.
func isOptionOnly(name string) bool {
	switch name {
	case "binlog_do_db", "binlog_ignore_db", "core_file", "debug", "gdb", "console", "verbose", "ssl", "skip_ssl",
		"character_set_client_handshake", "skip_host_cache", "symbolic_links", "skip_symbolic_links",
		"skip_slave_start", "skip_replica_start", "innodb_status_file", "innodb", "skip_innodb", "rocksdb",
		"federated", "archive", "blackhole":
		return true
	}
	return slices.ContainsFunc([]string{"performance_schema_instrument", "performance_schema_consumer_", "plugin_", "early_plugin_load", "replicate_"},
		func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// disowned returns what a log says about options that do nothing, by normal name.
func disowned(log string) map[string]string {
	// The first name in such a line is the option; others may be named as the reason.
	name := regexp.MustCompile(`(?:unknown variable '|unknown option '(?:--)?|(?:[Oo]ption|parameter) '?(?:--)?|\] '(?:--)?)([A-Za-z][A-Za-z0-9_-]*)`)
	out := map[string]string{}
	for _, line := range strings.Split(log, "\n") {
		nothing := slices.ContainsFunc([]string{"does nothing", "no effect", "unknown variable", "unknown option", "is ignored.", "was removed"},
			func(phrase string) bool { return strings.Contains(line, phrase) })
		if !nothing {
			continue
		}
		if m := name.FindStringSubmatch(line); m != nil {
			out[lab.NormalName(m[1])] = message(line)
		}
	}
	return out
}

// message returns a line of a log without time, thread, level, codes and program.
func message(line string) string {
	for {
		i := strings.LastIndex(line, "] ")
		if i < 0 {
			break
		}
		line = line[i+2:]
	}
	if path, rest, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(path, "/") {
		line = rest
	}
	return strings.TrimSpace(line)
}
