// Package extern drives other people's load tools from outside: arguments go in, parsed
// output comes out. It knows sysbench and mysqlslap (mariadb-slap), runs neither, and
// trusts neither: what an output leaves open is a warning, and what makes its figures
// unusable is a reason, never a zero and never a wrong number.
//
// What differs between the outputs of sysbench:
//
//	0.4, 0.5  queries of transactions are "read/write requests" and "other operations"; latency
//	          carries its unit; 0.4 counts "deadlocks" where later ones count "ignored errors"
//	0.5       intervals say "threads:", reads and writes, "response time"
//	1.0, 1.1  intervals say "thds:", "qps:", "lat (ms,95%)"; a histogram on request
//	1.1       "Throughput" instead of "General statistics"; knows --warmup-time
//
// Both tools connect to servers over a unix socket. No password is ever an argument,
// where every user of the host could read it: it goes into a file that is named.
package extern

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"backslide/lab"
)

// Output is what a tool left behind.
type Output struct {
	Stdout io.Reader
	Stderr io.Reader // nil: nothing, or not known
	Exit   int       // exit status; -1: ended by a signal
}

// Exit returns the exit status that an error of a child process stands for: 0 for nil, -1
// when it holds none, as after a signal.
func Exit(err error) int {
	var status interface{ ExitCode() int }
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return status.ExitCode()
	}
	return -1
}

// Op says what counts as an operation.
type Op string

// What can count as an operation. mysqlslap knows only queries.
const (
	Events       Op = "events"       // runs of the script's event function; what sysbench's latency is of
	Transactions Op = "transactions" // events that ended well, of scripts that use a database
	Queries      Op = "queries"      // statements: BEGIN, COMMIT and those of failed transactions included
)

// Figures is what a run contributes to a slice.
type Figures struct {
	Ops      int64            // operations that ended in Wall; 0 when Err is set
	Wall     float64          // seconds measured
	Retries  int64            // transactions that were tried again after an error
	Errors   []lab.ErrorCount // by code, ascending; code 0: ignored errors, whose codes sysbench does not tell
	Err      string           // why there is no result; empty for a good run
	Warnings []string         // doubts
}

// Fill puts the figures into a slice. Rows and latency are left alone: neither tool tells
// the first, nor the second per operation.
func (f Figures) Fill(s *lab.Slice) {
	s.Ops, s.Wall, s.Retries, s.Errors, s.Err = f.Ops, f.Wall, f.Retries, f.Errors, f.Err
}

// Version is the version of a tool. The zero value means that it is not known.
type Version struct {
	Tool                string     // sysbench or mysqlslap, also where that is called mariadb-slap
	Family              lab.Family // of a mysqlslap
	Major, Minor, Patch int
	Suffix              string // what follows the numbers: -9072687, -MariaDB
}

// String returns the tool and its version, as in sysbench 1.0.20.
func (v Version) String() string {
	return fmt.Sprintf("%s %d.%d.%d%s", v.Tool, v.Major, v.Minor, v.Patch, v.Suffix)
}

// AtLeast reports whether the version is major.minor or later.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// ParseVersion reads what a tool prints for --version, and the first line of an output of
// sysbench.
func ParseVersion(text string) (Version, bool) {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	words := strings.Fields(text)
	if len(words) < 2 {
		return Version{}, false
	}
	var v Version
	number := ""
	switch tool := words[0][strings.LastIndexByte(words[0], '/')+1:]; {
	case words[0] == "sysbench":
		v.Tool, number = "sysbench", strings.TrimSuffix(words[1], ":")
	case tool == "mysqlslap", tool == "mariadb-slap":
		v.Tool, v.Family = "mysqlslap", lab.MySQL
		if tool == "mariadb-slap" || strings.Contains(text, "MariaDB") {
			v.Family = lab.MariaDB
		}
		// "Ver 1.0 Distrib 10.11.19-MariaDB, for …", "from 11.8.2-MariaDB, client …", "Ver 8.0.36 for …"
		for i, w := range words[:len(words)-1] {
			if w == "Distrib" || w == "from" || w == "Ver" {
				number = strings.TrimSuffix(words[i+1], ",")
			}
		}
	default:
		return Version{}, false
	}
	return v, v.numbers(number)
}

// numbers reads 1.0.20, 0.5 or 1.1.0-9072687.
func (v *Version) numbers(s string) bool {
	end := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end >= 0 {
		s, v.Suffix = s[:end], s[end:]
	}
	parts := strings.Split(s, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return false
	}
	for i, to := range []*int{&v.Major, &v.Minor, &v.Patch}[:len(parts)] {
		n, err := strconv.Atoi(parts[i])
		if err != nil {
			return false
		}
		*to = n
	}
	return true
}
