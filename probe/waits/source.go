package waits

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Query runs one statement on the observer's own connection, which should have no default
// schema: its statements are told from the clients' by that. A nil value is NULL.
type Query func(ctx context.Context, sql string) (columns []string, rows [][]*string, err error)

// On returns a Query that runs on conn. It reads whole results, so they should be small.
func On(conn *sql.Conn) Query {
	return func(ctx context.Context, text string) (columns []string, out [][]*string, err error) {
		rows, err := conn.QueryContext(ctx, text)
		if err != nil {
			return nil, nil, err
		}
		defer rows.Close()
		if columns, err = rows.Columns(); err != nil {
			return nil, nil, err
		}
		for rows.Next() {
			row, dest := make([]*string, len(columns)), make([]any, len(columns))
			for i := range row {
				dest[i] = &row[i]
			}
			if err := rows.Scan(dest...); err != nil {
				return nil, nil, err
			}
			out = append(out, row)
		}
		return columns, out, rows.Err()
	}
}

// source is a table of sums that only grow.
type source struct {
	table  string
	thread string // the column that holds the thread, "" if rows are of the whole server
	name   []string
	sums   []string // read where the server has them
	where  string
	needed bool // without it there is nothing to say
}

// key identifies a row of a source. Thread is 0 in tables of the whole server.
type key struct {
	Thread uint64
	Name   string
}

// sums are the values of a row by column.
type sums map[string]uint64

// longest is how much of a name or a statement is kept, in bytes.
const longest = 300

// chunk is how many threads are asked for at once.
const chunk = 500

func sources() []source {
	event := []string{"EVENT_NAME"}
	timed := []string{"COUNT_STAR", "SUM_TIMER_WAIT"}
	statement := []string{"COUNT_STAR", "SUM_TIMER_WAIT", "SUM_LOCK_TIME", "SUM_CPU_TIME", "SUM_ROWS_EXAMINED", "SUM_ROWS_SENT", "SUM_ROWS_AFFECTED",
		"SUM_CREATED_TMP_TABLES", "SUM_CREATED_TMP_DISK_TABLES", "SUM_SORT_ROWS", "SUM_SORT_MERGE_PASSES", "SUM_SELECT_SCAN", "SUM_NO_INDEX_USED", "SUM_ERRORS"}
	return []source{
		{table: threadWaits, thread: "THREAD_ID", name: event, sums: timed, where: "COUNT_STAR > 0", needed: true},
		{table: threadStages, thread: "THREAD_ID", name: event, sums: timed, where: "COUNT_STAR > 0"},
		{table: threadStatements, thread: "THREAD_ID", name: event, sums: statement, where: "COUNT_STAR > 0"},
		{table: prepared, thread: "OWNER_THREAD_ID", name: []string{"STATEMENT_ID", "SQL_TEXT"}, sums: []string{"COUNT_EXECUTE", "SUM_TIMER_EXECUTE", "SUM_ROWS_EXAMINED", "SUM_ROWS_SENT"}},
		{table: serverWaits, name: event, sums: timed, where: "COUNT_STAR > 0", needed: true},
		{table: files, name: event, sums: []string{"COUNT_READ", "SUM_TIMER_READ", "SUM_NUMBER_OF_BYTES_READ", "COUNT_WRITE", "SUM_TIMER_WRITE", "SUM_NUMBER_OF_BYTES_WRITE", "COUNT_MISC", "SUM_TIMER_MISC"},
			where: "COUNT_STAR > 0"},
		{table: tableIO, name: []string{"OBJECT_SCHEMA", "OBJECT_NAME"}, sums: []string{"COUNT_FETCH", "SUM_TIMER_FETCH", "COUNT_INSERT", "SUM_TIMER_INSERT", "COUNT_UPDATE", "SUM_TIMER_UPDATE", "COUNT_DELETE", "SUM_TIMER_DELETE"},
			where: "COUNT_STAR > 0"},
		{table: tableLocks, name: []string{"OBJECT_SCHEMA", "OBJECT_NAME"}, sums: timed, where: "COUNT_STAR > 0"},
		// Rows whose schema is NULL are of connections without one: the observer's.
		{table: digests, name: []string{"SCHEMA_NAME", "DIGEST", "DIGEST_TEXT"}, sums: statement, where: "SCHEMA_NAME IS NOT NULL OR DIGEST IS NULL"},
	}
}

// The tables of the Performance Schema that are read.
const (
	threadWaits      = "events_waits_summary_by_thread_by_event_name"
	threadStages     = "events_stages_summary_by_thread_by_event_name"
	threadStatements = "events_statements_summary_by_thread_by_event_name"
	prepared         = "prepared_statements_instances"
	serverWaits      = "events_waits_summary_global_by_event_name"
	files            = "file_summary_by_event_name"
	tableIO          = "table_io_waits_summary_by_table"
	tableLocks       = "table_lock_waits_summary_by_table"
	digests          = "events_statements_summary_by_digest"
)

// read reads the rows of a source, of these threads if it has threads. Which columns
// there are is asked of the server.
func (s source) read(ctx context.Context, query Query, threads []uint64) (map[key]sums, error) {
	has, _, err := query(ctx, "SELECT * FROM performance_schema."+s.table+" LIMIT 0")
	if err != nil {
		return nil, fmt.Errorf("read performance_schema.%s: %w", s.table, err)
	}
	columns := map[string]bool{}
	for _, c := range has {
		columns[strings.ToUpper(c)] = true
	}
	var list []string
	if s.thread != "" {
		list = append(list, s.thread)
	}
	for _, n := range s.name {
		if strings.HasSuffix(n, "_TEXT") {
			n = fmt.Sprintf("LEFT(%s, %d) AS %s", n, longest, n)
		}
		list = append(list, n)
	}
	for _, c := range s.sums {
		if columns[c] {
			list = append(list, c)
		}
	}
	out := map[key]sums{}
	sql := "SELECT " + strings.Join(list, ", ") + " FROM performance_schema." + s.table
	for _, where := range s.wheres(threads) {
		names, rows, err := query(ctx, sql+where)
		if err != nil {
			return nil, fmt.Errorf("read performance_schema.%s: %w", s.table, err)
		}
		if err := s.parse(out, names, rows); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// wheres returns the conditions of the statements that are needed for all threads.
func (s source) wheres(threads []uint64) []string {
	and := ""
	if s.where != "" {
		and = " AND (" + s.where + ")"
	}
	if s.thread == "" {
		if s.where == "" {
			return []string{""}
		}
		return []string{" WHERE " + s.where}
	}
	var out []string
	for part := range slices.Chunk(threads, chunk) {
		out = append(out, " WHERE "+s.thread+" IN ("+join(part)+")"+and)
	}
	return out
}

func join(ids []uint64) string {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatUint(id, 10))
	}
	return b.String()
}

// parse adds the rows of an answer to out.
func (s source) parse(out map[key]sums, columns []string, rows [][]*string) error {
	for i, row := range rows {
		if len(row) != len(columns) {
			return fmt.Errorf("read performance_schema.%s: row %d has %d values for %d columns", s.table, i, len(row), len(columns))
		}
		var k key
		var names []string
		v := sums{}
		for j, column := range columns {
			column = strings.ToUpper(column)
			switch {
			case column == s.thread:
				n, err := number(row[j])
				if err != nil {
					return fmt.Errorf("read performance_schema.%s: row %d: %s: %w", s.table, i, column, err)
				}
				k.Thread = n
			case slices.Contains(s.name, column):
				names = append(names, clean(row[j]))
			default:
				n, err := number(row[j])
				if err != nil {
					return fmt.Errorf("read performance_schema.%s: row %d: %s: %w", s.table, i, column, err)
				}
				v[column] = n
			}
		}
		k.Name = strings.Join(names, "\x00")
		out[k] = v
	}
	return nil
}

// number reads an unsigned integer; NULL is 0, as in the columns of what was never timed.
func number(v *string) (uint64, error) {
	if v == nil {
		return 0, nil
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(*v, ".0000"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is no number of a counter", *v)
	}
	return n, nil
}

// clean returns a name as it is kept: bounded, in one line, valid UTF-8.
func clean(v *string) string {
	if v == nil {
		return ""
	}
	s := *v
	if len(s) > longest {
		s = s[:longest]
	}
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return strings.TrimSpace(s) // 5.6 ends texts with a space
}
