// Package load generates load from inside the client process. It reads workloads (TOML
// and SQL), fills their tables, turns a step into a stream of operations that is the same
// for every server, runs slices of it over many connections, and records latencies.
//
// It speaks no protocol and starts no server: it drives connections that satisfy Conn. It
// keeps no results; what a slice did is returned.
package load

import (
	"context"
	"time"

	"backslide/lab"
)

// Conn is one connection to a server. It is used by one goroutine at a time. After an
// error other than a server's reply it can only be closed.
type Conn interface {
	// FD is the socket, to be polled for reading while a reply is awaited.
	FD() int
	// ThreadID is the server's own number of the connection.
	ThreadID() uint32
	// Prepare blocks until the server has prepared sql.
	Prepare(sql string) (stmt int, params int, err error)
	// SendExecute sends a prepared statement's arguments, as many as it has parameters.
	SendExecute(stmt int, args []lab.Arg) error
	// SendQuery sends a statement as text; sql may be reused when it returns.
	SendQuery(sql []byte) error
	// Receive takes what has arrived and never blocks; done is false until the reply is whole.
	Receive() (done bool, r lab.Reply, err error)
	// Query sends a statement as text and blocks until the reply is whole.
	Query(sql string) (lab.Reply, error)
	// WantWrite says that part of what was sent is still here: FD is to be polled for
	// writing too, and Receive sends more of it.
	WantWrite() bool
	Close() error
}

// Dial opens one more connection to the server that a Program was bound to.
type Dial func(ctx context.Context) (Conn, error)

// Target is the kind of server that a workload is bound to.
type Target struct {
	Family  lab.Family
	Version [3]int
	Engine  string // proper name, as in lab.Engines
	Schema  string // database that holds the tables; it exists
	Clients int    // the one number of clients of a workload that is a chain; 0: 1
}

// StepInfo is what the outside needs to know of a step.
type StepInfo struct {
	Name  string
	About string
	Group lab.Group // empty for a warm-up
	Read  bool      // slices end by time; otherwise after a number of operations
	Warm  bool      // run for its effect only, never a result
	// Unit says what one counted operation is: transaction, statement, or an expression
	// such as $rows for the rows of a scan.
	Unit string
	Rate bool // paced by the step itself
	// Limit is the longest that a slice may take of a step that says itself how many
	// operations it has, see Program.Ops; 0: it does not.
	Limit time.Duration
	// Tool is the program that drives the step in place of our client; empty: none.
	Tool string
}
