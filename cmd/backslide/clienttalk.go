package main

import (
	"time"

	"backslide/lab"
	"backslide/run"
)

// The conductor and its client child talk in JSON lines: requests on the child's
// standard input, replies on its standard output. A request has an ID of its own; its
// replies carry it; the last one has Done set.

// request asks the client child for one thing: exactly one pointer is set.
type request struct {
	ID     int64          `json:"id"`
	Bind   *bindRequest   `json:"bind,omitempty"`
	Load   *loadRequest   `json:"load,omitempty"`
	Open   *openRequest   `json:"open,omitempty"`
	Slice  *sliceRequest  `json:"slice,omitempty"`
	Close  *closeRequest  `json:"close,omitempty"`
	Clock  *clockRequest  `json:"clock,omitempty"`
	Cancel *cancelRequest `json:"cancel,omitempty"`
}

// bindRequest gives the child a workload for one variant.
type bindRequest struct {
	Variant  lab.Variant       `json:"variant"`
	Workload string            `json:"workload"` // as the experiment names it
	File     string            `json:"file"`     // for errors
	Text     string            `json:"text"`
	Params   map[string]string `json:"params,omitempty"`
	Family   lab.Family        `json:"family"`
	Version  [3]int            `json:"version"`
	Clients  int               `json:"clients"` // of workloads that are a chain
}

// loadRequest fills the tables of every workload bound for a variant.
type loadRequest struct {
	Variant lab.Variant `json:"variant"`
	Socket  string      `json:"socket"`
	Seed    uint64      `json:"seed"`
}

type openRequest struct {
	Variant lab.Variant   `json:"variant"`
	Socket  string        `json:"socket"`
	Level   lab.Level     `json:"level"`
	Seed    uint64        `json:"seed"`
	Near    bool          `json:"near,omitempty"` // co-locate: pin each server thread beside its client
	Block   int           `json:"block"`
	Spin    time.Duration `json:"spin_ns,omitempty"`
}

type sliceRequest struct {
	Session int64    `json:"session"` // ID of the request that opened it
	Spec    run.Spec `json:"spec"`
}

type closeRequest struct {
	Session int64 `json:"session"`
}

// clockRequest asks for the server's own time of a session's last slice.
type clockRequest struct {
	Session int64 `json:"session"`
}

// cancelRequest ends another request early.
type cancelRequest struct {
	Request int64 `json:"request"`
}

// reply is one line from the child.
type reply struct {
	ID          int64           `json:"id"`
	Measuring   bool            `json:"measuring,omitempty"` // the discarded part of a slice is over
	Rows        int64           `json:"rows,omitempty"`      // loaded so far
	Total       int64           `json:"total,omitempty"`     // to be loaded
	Outcome     *run.Outcome    `json:"outcome,omitempty"`
	Notes       []string        `json:"notes,omitempty"`           // doubts about a session that was opened
	Conns       []uint32        `json:"conns,omitempty"`           // the server's numbers of the session's connections
	Threads     []int           `json:"threads,omitempty"`         // the server's threads that serve them; none: not known
	ServerTime  float64         `json:"server_time_sec,omitempty"` // statements of the last slice, by ServerClock
	ServerClock lab.ServerClock `json:"server_clock,omitempty"`    // empty: the server has none
	Done        bool            `json:"done,omitempty"`
	Err         string          `json:"err,omitempty"`
}
