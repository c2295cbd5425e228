package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"backslide/lab"
)

// family is what differs between families of servers.
type family struct {
	engines []string // named as lab.Engines does

	// defaults returns the options of every start that only this family has.
	defaults func(lab.Build) []lab.Option
	// initialise makes an empty data directory with a log at spec's LogFile.
	initialise func(context.Context, Spec) error
	// examine returns the arguments with which a server checks its options and ends.
	examine func(lab.Build) []string
	// onlyLocal returns statements for a bootstrap that leave one account: root at
	// localhost, without a password.
	onlyLocal func(lab.Build) []string
}

func families() map[lab.Family]family {
	return map[lab.Family]family{lab.MySQL: mysqlFamily(), lab.MariaDB: mariadbFamily()}
}

// User is the account that every server made by Init has, next to root: without a
// password, with all rights, from this host only. MariaDB's root may be reached only by
// the system's root; this one by whoever can reach the socket, which lies in a directory
// of our own.
const User = "backslide"

// accountSQL is the one recipe that makes User, for every family and version: it needs no
// authentication plugin by name, and an empty password takes the same way in all of them.
func accountSQL() []string {
	var sql []string
	for _, host := range []string{"localhost", "127.0.0.1"} {
		who := fmt.Sprintf("'%s'@'%s'", User, host)
		sql = append(sql, "CREATE USER "+who, "GRANT ALL PRIVILEGES ON *.* TO "+who+" WITH GRANT OPTION")
	}
	return sql
}

// script writes statements one to a line, as --bootstrap and --init-file want them.
func script(sql []string) string { return strings.Join(sql, ";\n") + ";\n" }

// HasEngine returns nil if a build has an engine, named as lab.Engines does, and otherwise
// says what it has instead.
func HasEngine(b lab.Build, engine string) error {
	f, ok := families()[b.Family]
	if !ok {
		return fmt.Errorf("%s is of family %q, which cannot be run", b.Name, b.Family)
	}
	_, err := engineOptions(f, b, engine)
	return err
}

// engineOptions returns the options that bring an engine into the server, or says that
// this build has no such engine.
func engineOptions(f family, b lab.Build, engine string) ([]lab.Option, error) {
	if engine == "" {
		return nil, nil
	}
	if !slices.Contains(f.engines, engine) {
		return nil, fmt.Errorf("%s has no engine %s; it has %s", b.Name, engine, strings.Join(f.engines, ", "))
	}
	if engine != "MyRocks" {
		return nil, nil
	}
	const plugin = "ha_rocksdb.so"
	if _, err := os.Stat(filepath.Join(b.PluginDir, plugin)); b.PluginDir == "" || err != nil {
		return nil, fmt.Errorf("%s has no engine MyRocks: there is no %s in its plugin directory %q", b.Name, plugin, b.PluginDir)
	}
	// Loaded at start, never by INSTALL SONAME, which crashed MariaDB 11.8.9.
	return []lab.Option{{Name: "plugin-load-add", Value: "ha_rocksdb"}}, nil
}

// errPortTaken means that another process took the port between our choice and the
// server's bind.
var errPortTaken = errors.New("the port was taken by another process")

// treeOptions say where a build's own files are.
func treeOptions(b lab.Build) []lab.Option {
	o := []lab.Option{{Name: "basedir", Value: b.BaseDir}, {Name: "lc-messages-dir", Value: b.MessagesDir}}
	if b.PluginDir != "" {
		o = append(o, lab.Option{Name: "plugin-dir", Value: b.PluginDir})
	}
	if os.Geteuid() == 0 {
		o = append(o, lab.Option{Name: "user", Value: "root"}) // servers refuse to run as root unasked
	}
	return o
}

// ownOptions returns the options that tie a server to its places, and its TCP address.
func (f family) ownOptions(s Spec) (addr string, o []lab.Option, err error) {
	o = append(treeOptions(s.Build),
		lab.Option{Name: "datadir", Value: s.DataDir},
		lab.Option{Name: "tmpdir", Value: s.tempDir()},
		lab.Option{Name: "socket", Value: s.socket()},
		lab.Option{Name: "pid-file", Value: s.pidFile()},
		lab.Option{Name: "log-error", Value: s.LogFile},
	)
	o = append(o, f.defaults(s.Build)...)
	if !s.TCP {
		return "", append(o, lab.Option{Name: "skip-networking", Bare: true}), nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	addr = l.Addr().String()
	host, port, _ := net.SplitHostPort(addr)
	return addr, append(o, lab.Option{Name: "bind-address", Value: host}, lab.Option{Name: "port", Value: port}), nil
}

// isOurs reports whether an option ties the server to a place and is therefore decided
// here, whatever a config says.
func isOurs(name string) bool {
	switch lab.NormalName(name) {
	case "basedir", "lc_messages_dir", "language", "plugin_dir", "user", "datadir", "tmpdir", "socket", "pid_file",
		"log_error", "skip_networking", "skip_bind_address", "bind_address", "port",
		"defaults_file", "defaults_extra_file", "no_defaults", "daemonize", "bootstrap", "help":
		return true
	}
	return false
}

// userOptions leaves out the options that isOurs; Ignored reports them.
func userOptions(asked []lab.Option) []lab.Option {
	return slices.DeleteFunc(slices.Clone(asked), func(o lab.Option) bool { return isOurs(o.Name) })
}

func arguments(options []lab.Option) []string {
	args := make([]string, len(options))
	for i, o := range options {
		args[i] = o.String()
	}
	return args
}
