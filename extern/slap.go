package extern

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"backslide/lab"
)

// Slap is an invocation of mysqlslap or mariadb-slap.
type Slap struct {
	Program string // empty: mysqlslap, found in PATH

	// Query is the SQL to run: one statement, or several with Delimiter between them. If a
	// file has that name, mysqlslap reads the file.
	Query     string
	Delimiter string // empty: a semicolon, so that a statement may have several lines

	// Auto has mysqlslap make up tables and queries instead. Before and after each round it
	// drops the schema with everything in it, whoever made that, so a Schema needs Drop too.
	Auto bool
	Drop bool

	Schema     string       // where Query runs; empty with Auto: mysqlslap
	Clients    []int        // numbers of clients, one after the other; empty: 1
	Iterations int          // rounds of each; 0: 1
	Queries    int64        // per round over all clients; 0: each client runs Query once
	Engines    []string     // storage engines to make tables in, one after the other
	Options    []lab.Option // more, by name without dashes

	Socket   string
	User     string
	Defaults string // option file, to hold a password; empty: none is read, not even those of the host
	NoTLS    bool   // over TCP TLS may be on unless refused
	Text     bool   // ask for text for people instead of CSV
}

// Connections returns how many connections the server must allow: one for each client and
// mysqlslap's own. With fewer, clients that were refused wait and try again while the clock
// runs, and unless one gives up at last nothing in the output shows it: compare before.
func (s Slap) Connections() int { return slices.Max(s.clients()) + 1 }

func (s Slap) clients() []int {
	if len(s.Clients) == 0 {
		return []int{1}
	}
	return s.Clients
}

func (s Slap) rounds() int { return max(s.Iterations, 1) }

// Args returns the program and arguments for the mysqlslap of version v, which NoTLS
// depends on; the zero Version stands for MariaDB's.
func (s Slap) Args(v Version) ([]string, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("mysqlslap: %w", err)
	}
	args := []string{s.Program, "--no-defaults"} // an option file has to be named first
	if args[0] == "" {
		args[0] = "mysqlslap"
	}
	if s.Defaults != "" {
		args[1] = "--defaults-file=" + s.Defaults
	}
	add := func(name, value string) {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	add("socket", s.Socket)
	add("user", s.User)
	add("create-schema", s.Schema)
	if s.Auto {
		args = append(args, "--auto-generate-sql")
	} else {
		delimiter := s.Delimiter
		if delimiter == "" {
			delimiter = ";"
		}
		args = append(args, "--no-drop", "--query="+s.Query, "--delimiter="+delimiter)
	}
	var clients []string
	for _, c := range s.clients() {
		clients = append(clients, strconv.Itoa(c))
	}
	add("concurrency", strings.Join(clients, ","))
	add("iterations", strconv.Itoa(s.rounds()))
	if s.Queries > 0 {
		add("number-of-queries", strconv.FormatInt(s.Queries, 10))
	}
	add("engine", strings.ToLower(strings.Join(s.Engines, ",")))
	if !s.Text {
		args = append(args, "--csv")
	}
	if s.NoTLS {
		args = append(args, noTLS(v))
	}
	for _, o := range s.Options {
		args = append(args, "--"+o.Name+"="+o.Value)
	}
	return args, nil
}

// Env returns the environment for mysqlslap: env without the password that it would log in
// with, and be refused: the account that it is given has none, or one in Defaults.
func (s Slap) Env(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, "MYSQL_PWD=") })
}

// noTLS returns the option that keeps TLS off: MySQL 5.7 brought another, and 8.0 took
// the older away.
func noTLS(v Version) string {
	if v.Family == lab.MySQL && v.AtLeast(8, 0) {
		return "--ssl-mode=DISABLED"
	}
	return "--skip-ssl"
}

func (s Slap) check() error {
	switch {
	case s.Auto == (s.Query != ""):
		return errors.New("either a query or generated ones")
	case s.Auto && s.Schema != "" && !s.Drop:
		return fmt.Errorf("schema %s: generated queries would drop it with all its tables: allow that, or name none", s.Schema)
	case s.Iterations < 0, s.Queries < 0:
		return errors.New("a number is negative")
	}
	for i, c := range s.clients() {
		switch {
		case c <= 0:
			return fmt.Errorf("%d clients: must be one or more", c)
		case slices.Contains(s.clients()[:i], c):
			return fmt.Errorf("%d clients: named twice, so that results cannot be told apart", c)
		case s.Queries > 0 && s.Queries/int64(c) == 0:
			return fmt.Errorf("%d queries for %d clients: none would be left for some: ask for %[2]d or more", s.Queries, c)
		}
	}
	return nil
}
