package waits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// counters are what a server counts without being asked to.
type counters struct {
	global  map[string]string // status of the server
	session map[string]string // status of the observer's connection
	engines map[string]int64  // counters of the engines by name
	mirrors map[string]string // which of these are a status variable as well
	own     string            // id of the observer's connection
	notes   []string
}

// readCounters reads status counters and then those of the engines, or the other way
// round, so that reading the engines' lies on the far side of what is measured.
func readCounters(ctx context.Context, query Query, statusFirst bool) (counters, error) {
	c := counters{engines: map[string]int64{}, mirrors: map[string]string{}}
	if statusFirst {
		if err := c.readStatus(ctx, query); err != nil {
			return c, err
		}
	}
	for _, read := range []func(context.Context, Query) error{c.readMetrics, c.readSemaphores, c.readRocksDB} {
		if err := read(ctx, query); err != nil {
			if ctx.Err() != nil {
				return c, err
			}
			c.notes = append(c.notes, err.Error())
		}
	}
	if statusFirst {
		return c, nil
	}
	return c, c.readStatus(ctx, query)
}

// readStatus reads status by SELECT: SHOW STATUS takes what it needed itself out of the
// session's counters again and adds it to the server's alone. In this order, always: what
// the first statement adds to the second is the same in every reading and vanishes in the
// difference.
func (c *counters) readStatus(ctx context.Context, query Query) error {
	_, rows, err := query(ctx, "SELECT CONNECTION_ID()")
	if err != nil {
		return fmt.Errorf("ask for our connection's id: %w", err)
	}
	if len(rows) == 1 && len(rows[0]) == 1 && rows[0][0] != nil {
		c.own = *rows[0][0]
	}
	if c.session, err = status(ctx, query, "SESSION"); err == nil {
		c.global, err = status(ctx, query, "GLOBAL")
	}
	return err
}

// status reads status variables from where the server has them: MySQL moved them to the
// Performance Schema in 5.7, where they are there even if it is off. In MariaDB they are
// in both, but not if it is off.
func status(ctx context.Context, query Query, scope string) (map[string]string, error) {
	values, err := pairs(ctx, query, "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema."+scope+"_STATUS")
	if err != nil && ctx.Err() == nil {
		var err2 error
		values, err2 = pairs(ctx, query, "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema."+strings.ToLower(scope)+"_status")
		if err2 != nil {
			return nil, errors.Join(err2, err)
		}
	} else if err != nil {
		return nil, err
	}
	out := make(map[string]string, len(values))
	for name, v := range values {
		out[statusName(name)] = v
	}
	return out, nil
}

// statusName writes a status variable's name as SHOW STATUS does. Some servers have it in
// capitals in their tables.
func statusName(name string) string {
	name = strings.ToLower(clean(&name))
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// readMetrics reads InnoDB's metrics that are switched on and count up. There are none in
// a server without InnoDB.
func (c *counters) readMetrics(ctx context.Context, query Query) error {
	columns, rows, err := query(ctx, "SELECT * FROM information_schema.INNODB_METRICS")
	if err != nil {
		return fmt.Errorf("read information_schema.INNODB_METRICS: %w", err)
	}
	return c.parseMetrics(columns, rows)
}

func (c *counters) parseMetrics(columns []string, rows [][]*string) error {
	at := map[string]int{}
	for i, name := range columns {
		at[strings.ToUpper(name)] = i
	}
	state, ok := at["STATUS"] // MariaDB 10.5 and later: ENABLED
	if !ok {
		state, ok = at["ENABLED"]
	}
	for _, need := range []string{"NAME", "TYPE", "COUNT"} {
		if _, has := at[need]; !has || !ok {
			return fmt.Errorf("read information_schema.INNODB_METRICS: no columns NAME, TYPE, COUNT and STATUS or ENABLED")
		}
	}
	for _, row := range rows {
		if len(row) != len(columns) || row[at["NAME"]] == nil || row[at["TYPE"]] == nil || row[at["COUNT"]] == nil || row[state] == nil {
			continue
		}
		switch *row[at["TYPE"]] {
		case "counter", "status_counter", "set_owner", "set_member":
		default:
			continue // a value of this moment
		}
		if !isOn(*row[state]) {
			continue // off is not zero
		}
		n, err := strconv.ParseInt(*row[at["COUNT"]], 10, 64)
		if err != nil {
			continue
		}
		name := "innodb_metrics " + clean(row[at["NAME"]])
		c.engines[name] = n
		if i, ok := at["COMMENT"]; ok && row[i] != nil {
			c.mirrors[name] = mirrored(*row[i])
		}
	}
	return nil
}

// mirrored returns the status variable that a metric's comment names at its end, as in
// "Number of pages read (innodb_pages_read)"; "" for none.
func mirrored(comment string) string {
	comment, ok := strings.CutSuffix(strings.TrimSpace(comment), ")")
	i := strings.LastIndexByte(comment, '(')
	if !ok || i < 0 {
		return ""
	}
	return statusName(comment[i+1:])
}

// readRocksDB reads MyRocks' perf context of all tables and threads, where it is.
func (c *counters) readRocksDB(ctx context.Context, query Query) error {
	// Asking the catalogue first would make a temporary file.
	values, err := pairs(ctx, query, "SELECT STAT_TYPE, VALUE FROM information_schema.ROCKSDB_PERF_CONTEXT_GLOBAL")
	if err != nil {
		if noTable(err) {
			return nil
		}
		return err
	}
	for name, v := range values {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && name != "IO_THREAD_POOL_ID" {
			c.engines[rocksName(clean(&name))] = n
		}
	}
	return nil
}

// noTable reports whether a server does not know a table of its catalogue: it lacks the engine.
func noTable(err error) bool {
	return strings.Contains(err.Error(), "Unknown table") || strings.Contains(err.Error(), "1109")
}

// rocksName is the name under which a statistic of MyRocks is counted, with its unit.
func rocksName(stat string) string {
	name := "rocksdb perf context " + stat
	if strings.HasSuffix(stat, "_TIME") || strings.HasSuffix(stat, "_NANOS") {
		name += " (ns)"
	}
	return name
}

// counterChange returns what others than the observer added to each counter from a to b,
// and notes on what cannot be said.
func counterChange(a, b counters) (map[string]int64, []string) {
	out := map[string]int64{}
	var down, notes []string
	if a.own != b.own {
		notes = append(notes, "the observer's connection is not the same in both readings: some of its own work is in the counters")
		a.session = nil // the new one's count from its begin
	}
	for name, v := range b.global {
		after, err1 := strconv.ParseInt(v, 10, 64)
		before, err2 := strconv.ParseInt(a.global[name], 10, 64)
		if err1 != nil || err2 != nil || isGauge(name) {
			continue // no number, or a value of this moment
		}
		d := after - before
		if d >= 0 && countedBySession(name, a, b) {
			own1, _ := strconv.ParseInt(a.session[name], 10, 64)
			own2, _ := strconv.ParseInt(b.session[name], 10, 64)
			// Below zero by some bytes: answers are not always of one length.
			d = max(0, d-(own2-own1))
		}
		switch {
		case d < 0:
			down = append(down, name)
		case d > 0:
			out[name] = d
		}
	}
	for name, after := range b.engines {
		before, ok := a.engines[name]
		if _, twice := b.global[b.mirrors[name]]; twice {
			continue
		}
		switch d := after - before; {
		case !ok, isGauge(name):
		case d < 0:
			down = append(down, name)
		case d > 0:
			out[name] = d
		}
	}
	return out, append(notes, downNote(down)...)
}

// downNote names counters that went down, which counters do not: they were reset, or wrap
// at another place than 2⁶⁴, or are values of a moment.
func downNote(down []string) []string {
	if len(down) == 0 {
		return nil
	}
	slices.Sort(down)
	shown := down
	if len(shown) > 5 {
		shown = shown[:5]
	}
	note := fmt.Sprintf("%d counters went down and are left out, they may have been reset: %s", len(down), strings.Join(shown, ", "))
	if len(shown) < len(down) {
		note += ", …"
	}
	return []string{note}
}

// countedBySession reports whether each connection has its own count of a status counter.
// SHOW SESSION STATUS shows the server's value for those that are not, so they are known
// by being equal; a counter that only the observer ever moved is known by its name.
func countedBySession(name string, a, b counters) bool {
	if a.session != nil && a.session[name] != a.global[name] || b.session[name] != b.global[name] {
		_, ok := b.session[name]
		return ok
	}
	for _, prefix := range []string{"Com_", "Handler_", "Select_", "Sort_", "Created_tmp_", "Bytes_", "Questions", "Opened_", "Table_open_cache_", "Rows_", "Feature_", "Empty_queries", "Executed_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// isGauge reports whether a status variable says how something is, not how often
// something was. Its difference means nothing per operation.
func isGauge(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"pending", "current", "_lsn", "_age", "_avg", "_max", "_time_max", "pages_data", "pages_dirty", "pages_free", "pages_misc",
		"pages_total", "pages_old", "pages_latched", "bytes_data", "bytes_dirty", "blocks_unused", "blocks_used", "blocks_not_flushed", "history_list", "memory", "_mem_", "max_trx_id", "capacity"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	for _, prefix := range []string{"open_", "max_used", "uptime", "threads_c", "threads_r", "last_query", "ssl_", "rpl_", "slave_", "replica_", "qcache_free", "qcache_queries",
		"qcache_total", "performance_schema", "mysqlx_", "wsrep_", "innodb_num_open", "innodb_page_size", "innodb_undo_tablespaces", "innodb_redo_log_", "prepared_stmt_count",
		"tls_", "threadpool_idle", "threadpool_threads", "not_flushed_delayed", "delayed_insert_threads", "current_tls", "binlog_snapshot", "key_blocks", "rocksdb_memtable"} {
		if strings.HasPrefix(name, prefix) {
			return name != "threads_created"
		}
	}
	return false
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
