package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"backslide/lab"
)

// sliceStatements are prepared once, because slices are stored between measurements.
type sliceStatements struct{ slice, count, hist *sql.Stmt }

// sliceColumns are the columns of slice in the order of sliceValues and sliceReader,
// without id and run_id.
const sliceColumns = `variant_id, level_id, block, set_no, seq, kind, position, restart, start_unix_nsec, age_sec, wall_sec, ops, offered_per_sec, behind, latency_sec, p50_sec, p95_sec, p99_sec, rows, retries,
	server_user_sec, server_system_sec, server_runq_sec, conn_cpu_sec, conn_runq_sec, client_user_sec, client_system_sec, ctx_voluntary, ctx_forced,
	read_bytes, write_bytes, read_calls, write_calls, major_faults, steal_sec, host_busy_sec, rss_bytes,
	stall_cpu_sec, stall_memory_sec, stall_io_sec, dirty_bytes, frequency_hz, throttled, warnings_json, err`

func prepareSlice(ctx context.Context, db *sql.DB) (st sliceStatements, err error) {
	for _, p := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&st.slice, `INSERT INTO slice (run_id, ` + sliceColumns + `) VALUES (?` + strings.Repeat(", ?", strings.Count(sliceColumns, ",")+1) + `)`},
		{&st.count, `INSERT INTO slice_error (slice_id, position, code, count) VALUES (?, ?, ?, ?)`},
		{&st.hist, `INSERT INTO slice_histogram (slice_id, hist) VALUES (?, ?)`},
	} {
		if *p.to, err = db.PrepareContext(ctx, p.text); err != nil {
			return st, err
		}
	}
	return st, nil
}

// AddSlice stores one slice. When it returns nil, the slice survives the death of this
// process; a power cut within the next seconds may lose it. A slice is stored once: the
// same again is accepted, another one under the same key is ErrDiffers. Numbers that are
// not finite are refused.
func (s *Store) AddSlice(ctx context.Context, run int64, sl lab.Slice) error {
	doing := fmt.Sprintf("store slice block %d set %d %s seq %d of run %d", sl.Block, sl.Set, sl.Cell, sl.Seq, run)
	if err := finite(sl); err != nil {
		return s.trouble(doing, err)
	}
	ids, err := s.idsOf(ctx, run)
	if err != nil {
		return s.trouble(doing, err)
	}
	variant, level := ids.variants[sl.Cell.Variant], ids.levels[sl.Cell.Level()]
	if variant == 0 || level == 0 {
		return s.trouble(doing, fmt.Errorf("the run has no such cell: %w", ErrUnknown))
	}
	err = s.inWrite(ctx, doing, func(tx *sql.Tx) error {
		return s.insertSlice(ctx, tx, append([]any{run, variant, level}, sliceValues(sl)...), sl)
	})
	if !constraint(err) {
		return err
	}
	old, ok, readErr := s.slice(ctx, run, sl.SliceKey)
	switch {
	case readErr != nil:
		return readErr
	case !ok:
		return err
	case !same(old, sl):
		return s.trouble(doing, ErrDiffers)
	}
	return nil
}

func (s *Store) insertSlice(ctx context.Context, tx *sql.Tx, values []any, sl lab.Slice) error {
	res, err := tx.StmtContext(ctx, s.insert.slice).ExecContext(ctx, values...)
	if err != nil {
		return err
	}
	id, err := res.LastInsertId()
	if err != nil {
		return err
	}
	for i, e := range sl.Errors {
		if _, err := tx.StmtContext(ctx, s.insert.count).ExecContext(ctx, id, i, e.Code, e.Count); err != nil {
			return err
		}
	}
	if len(sl.Hist) > 0 {
		if _, err := tx.StmtContext(ctx, s.insert.hist).ExecContext(ctx, id, sl.Hist); err != nil {
			return err
		}
	}
	return insertLong(ctx, tx, id, sl)
}

// sliceValues returns the values of sliceColumns from block on.
func sliceValues(sl lab.Slice) []any {
	u := sl.Usage
	return []any{
		sl.Block, sl.Set, sl.Seq, string(sl.Kind), sl.Position, sl.Restart, nanoseconds(sl.Start), sl.Age, sl.Wall, sl.Ops, sl.Offered, sl.Behind, sl.Latency, sl.P50, sl.P95, sl.P99, sl.Rows, sl.Retries,
		known(u.ServerUser), known(u.ServerSystem), known(u.ServerRunq), known(u.ConnCPU), known(u.ConnRunq), known(u.ClientUser), known(u.ClientSystem),
		known(u.CtxVoluntary), known(u.CtxForced), known(u.ReadBytes), known(u.WriteBytes), known(u.ReadCalls), known(u.WriteCalls),
		known(u.MajorFaults), known(u.Steal), known(u.HostBusy), known(u.RSS),
		known(u.StallCPU), known(u.StallMemory), known(u.StallIO), known(u.Dirty), known(u.Frequency), known(u.Throttled), list(sl.Warnings), text(sl.Err),
	}
}

// known returns v, and NULL for what could not be read.
func known[T int64 | float64](v T) any {
	if v < 0 {
		return nil
	}
	return v
}

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// list returns texts as JSON, and NULL for none.
func list(texts []string) any {
	if len(texts) == 0 {
		return nil
	}
	b, _ := json.Marshal(texts) // texts always can be
	return string(b)
}

func nanoseconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

func finite(sl lab.Slice) error {
	u := sl.Usage
	for _, v := range []float64{
		sl.Age, sl.Wall, sl.Offered, sl.Latency, u.ServerUser, u.ServerSystem, u.ServerRunq, u.ConnCPU, u.ConnRunq, u.ClientUser, u.ClientSystem, u.Steal, u.HostBusy,
		sl.P50, sl.P95, sl.P99, u.StallCPU, u.StallMemory, u.StallIO, u.Frequency,
	} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("it holds a number that is not finite")
		}
	}
	return finiteLong(sl)
}

// same reports whether two slices are equal as far as they are stored.
func same(a, b lab.Slice) bool {
	return a.SliceKey == b.SliceKey && slices.Equal(sliceValues(a), sliceValues(b)) &&
		slices.Equal(a.Errors, b.Errors) && bytes.Equal(a.Hist, b.Hist) && sameLong(a, b)
}
