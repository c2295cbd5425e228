package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"backslide/lab"
	"backslide/load"
	"backslide/wire"
)

// serverThreads asks a server which of its threads serve connections, over a connection
// of its own.
func serverThreads(ctx context.Context, to load.Dial, f lab.Family, conns []uint32) ([]int, error) {
	c, err := to(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	of, err := threadsOf(c, f, "IS NOT NULL")
	if err != nil {
		return nil, err
	}
	out := make([]int, 0, len(conns))
	for _, id := range conns {
		tid := of[id]
		if tid == 0 {
			return nil, fmt.Errorf("the server does not tell the thread of connection %d", id)
		}
		out = append(out, tid)
	}
	return out, nil
}

// serverThread asks a server which of its threads serves a connection.
func serverThread(c load.Conn, f lab.Family) (int, error) {
	of, err := threadsOf(c, f, "= CONNECTION_ID()")
	if err != nil {
		return 0, err
	}
	tid := of[c.ThreadID()]
	if tid == 0 {
		return 0, errors.New("the server does not tell which thread serves a connection; on MySQL the Performance Schema has to be on")
	}
	return tid, nil
}

// threadsOf returns the server's threads by the connections that they serve, of which
// the condition which selects.
func threadsOf(c load.Conn, f lab.Family, which string) (map[uint32]int, error) {
	w, ok := c.(*wire.Conn)
	if !ok {
		return nil, fmt.Errorf("a connection of type %T cannot be asked", c)
	}
	sql := "SELECT processlist_id, thread_os_id FROM performance_schema.threads WHERE processlist_id " + which
	if f == lab.MariaDB {
		sql = "SELECT id, tid FROM information_schema.processlist WHERE id " + which
	}
	_, rows, err := w.Rows(sql)
	if err != nil {
		return nil, err
	}
	out := map[uint32]int{}
	for _, r := range rows {
		if len(r) != 2 {
			return nil, fmt.Errorf("%s: %d columns", sql, len(r))
		}
		id, err1 := strconv.ParseUint(r[0], 10, 32)
		tid, err2 := strconv.Atoi(r[1])
		if err1 == nil && err2 == nil {
			out[uint32(id)] = tid
		}
	}
	return out, nil
}
