package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"backslide/lab"
)

// Filter says which slices of a run are wanted; its zero value wants all, without
// histograms.
type Filter struct {
	Kind    lab.Kind     // empty: all kinds
	Variant *lab.Variant // nil: all variants
	Level   *lab.Level   // nil: all levels
	Blocks  []int        // empty: all blocks
	Hist    bool         // read the histograms too, which are most of the bytes
	Long    bool         // read series and readings of long slices
}

// Slices returns the slices of a run that the filter wants, in the order in which they
// were run: by block, restart and position, then by key.
func (s *Store) Slices(ctx context.Context, run int64, f Filter) ([]lab.Slice, error) {
	out, err := s.slices(ctx, run, f)
	if err != nil {
		return nil, s.trouble(fmt.Sprintf("read slices of run %d", run), err)
	}
	return out, nil
}

// slice returns the slice under a key.
func (s *Store) slice(ctx context.Context, run int64, k lab.SliceKey) (lab.Slice, bool, error) {
	level := k.Cell.Level()
	found, err := s.Slices(ctx, run, Filter{Kind: k.Kind, Variant: &k.Cell.Variant, Level: &level, Blocks: []int{k.Block}, Hist: true, Long: true})
	for _, sl := range found {
		if sl.SliceKey == k {
			return sl, true, err
		}
	}
	return lab.Slice{}, false, err
}

// partRows is the number of rows for which another connection is worth its opening.
const partRows = 20_000

func (s *Store) slices(ctx context.Context, run int64, f Filter) ([]lab.Slice, error) {
	ids, err := s.idsOf(ctx, run)
	if err != nil {
		return nil, err
	}
	wanted, ok := f.where(run, ids)
	if !ok {
		return nil, nil
	}
	if f.narrow() {
		g := &gatherer{names: ids}
		if err := s.gather(ctx, g, wanted); err != nil {
			return nil, err
		}
		return s.finish(ctx, g, f, wanted)
	}
	// Stored slices never change, so everything up to the newest id is one moment's
	// picture, over however many connections it is read.
	var lo, hi sql.NullInt64
	if err := s.read.QueryRowContext(ctx, `SELECT min(id), max(id) FROM slice WHERE run_id = ?`, run).Scan(&lo, &hi); err != nil || !lo.Valid {
		return nil, err
	}
	n := min(int64(runtime.GOMAXPROCS(0)), 4, 1+(hi.Int64-lo.Int64)/partRows)
	g, err := s.gatherParts(ctx, n, ids, span{lo.Int64, hi.Int64}, wanted)
	if err != nil {
		return nil, err
	}
	return s.finish(ctx, g, f, wanted.and("x.slice_id BETWEEN ? AND ?", lo.Int64, hi.Int64))
}

// span is the ids of slices from lo to hi.
type span struct{ lo, hi int64 }

// gatherParts reads the slices with such ids on n connections at once, each into its own
// part of one array.
func (s *Store) gatherParts(ctx context.Context, n int64, ids *names, of span, wanted condition) (*gatherer, error) {
	size := of.hi - of.lo + 1
	all := &gatherer{names: ids, slices: make([]lab.Slice, 0, size)}
	parts, errs := make([]*gatherer, n), make(chan error, n)
	for i := range n {
		from, to := size*i/n, size*(i+1)/n
		parts[i] = &gatherer{names: ids, slices: all.slices[from:from:to]}
		go func() {
			errs <- s.gather(ctx, parts[i], wanted.and("s.id BETWEEN ? AND ?", of.lo+from, of.lo+to-1))
		}()
	}
	var err error
	for range n {
		err = errors.Join(err, <-errs)
	}
	for _, g := range parts { // closes the gaps that rows of other runs left
		all.ids, all.slices = append(all.ids, g.ids...), append(all.slices, g.slices...)
	}
	return all, err
}

// finish adds errors and histograms to the slices and sorts them.
func (s *Store) finish(ctx context.Context, g *gatherer, f Filter, wanted condition) ([]lab.Slice, error) {
	out, from, args := g.slices, ` x JOIN slice s ON s.id = x.slice_id WHERE `+wanted.sql, wanted.args
	type count struct {
		slice int64
		lab.ErrorCount
	}
	rows, err := s.read.QueryContext(ctx, `SELECT slice_id, code, count FROM slice_error`+from+` ORDER BY slice_id, x.position`, args...)
	if err != nil {
		return nil, err
	}
	counts, err := collect(rows, func(c *count) []any { return []any{&c.slice, &c.Code, &c.Count} })
	if err != nil {
		return nil, err
	}
	parts, err := s.partsOf(ctx, f.Hist, from, args)
	if err != nil {
		return nil, err
	}
	if len(counts) == 0 && len(parts) == 0 && !f.Hist && !f.Long {
		sortRun(out)
		return out, nil
	}
	at := make(map[int64]*lab.Slice, len(out))
	for i, id := range g.ids {
		at[id] = &out[i]
	}
	for _, c := range counts {
		if sl := at[c.slice]; sl != nil {
			sl.Errors = append(sl.Errors, c.ErrorCount)
		}
	}
	for _, p := range parts {
		if sl := at[p.slice]; sl != nil {
			sl.Parts = append(sl.Parts, p.Part)
		}
	}
	if f.Long {
		if err := s.long(ctx, at, from, args); err != nil {
			return nil, err
		}
	}
	if f.Hist {
		if err := s.histograms(ctx, at, from, args); err != nil {
			return nil, err
		}
	}
	sortRun(out)
	return out, nil
}

func (s *Store) histograms(ctx context.Context, at map[int64]*lab.Slice, from string, args []any) error {
	rows, err := s.read.QueryContext(ctx, `SELECT slice_id, hist FROM slice_histogram`+from, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var hist []byte
		if err := rows.Scan(&id, &hist); err != nil {
			return err
		}
		if sl := at[id]; sl != nil {
			sl.Hist = hist
		}
	}
	return rows.Err()
}

// narrow reports whether the filter names what an index finds.
func (f Filter) narrow() bool { return f.Variant != nil || f.Level != nil || len(f.Blocks) > 0 }

// condition is what is asked of slices s, in SQL, with its arguments.
type condition struct {
	sql  string
	args []any
}

// and returns c with one more condition.
func (c condition) and(sql string, args ...any) condition {
	return condition{c.sql + " AND " + sql, slices.Concat(c.args, args)}
}

// where returns the filter as SQL, and false when it names what the run has not. A + keeps
// SQLite from an index that would be the worse choice.
func (f Filter) where(run int64, n *names) (condition, bool) {
	c := condition{"+s.run_id = ?", []any{run}}
	if f.Variant == nil && f.Level == nil && len(f.Blocks) > 0 {
		c.sql = "s.run_id = ?" // with the block in the index slice_run
	}
	if f.Kind != "" {
		c = c.and("s.kind = ?", string(f.Kind))
	}
	if f.Variant != nil {
		id, ok := n.variants[*f.Variant]
		if !ok {
			return condition{}, false
		}
		c = c.and("s.variant_id = ?", id)
	}
	if f.Level != nil {
		id, ok := n.levels[*f.Level]
		if !ok {
			return condition{}, false
		}
		c = c.and("s.variant_id IN (SELECT id FROM variant WHERE run_id = ?)", run) // the first part of the key
		c = c.and("s.level_id = ?", id)
	}
	if len(f.Blocks) > 0 {
		blocks, _ := json.Marshal(f.Blocks) // numbers always can be
		c = c.and("s.block IN (SELECT value FROM json_each(?))", string(blocks))
	}
	return c, true
}

// sortRun puts slices into the order in which they were run. They mostly are already.
func sortRun(all []lab.Slice) {
	order := func(a, b lab.Slice) int { return compareSlices(&a, &b) }
	if !slices.IsSortedFunc(all, order) {
		slices.SortFunc(all, order)
	}
}

func compareSlices(a, b *lab.Slice) int {
	return cmp.Or(
		cmp.Compare(a.Block, b.Block), cmp.Compare(a.Restart, b.Restart), cmp.Compare(a.Position, b.Position),
		cmp.Compare(a.Set, b.Set), cmp.Compare(a.Cell.Step.Workload, b.Cell.Step.Workload), cmp.Compare(a.Cell.Step.Name, b.Cell.Step.Name),
		cmp.Compare(a.Cell.Clients, b.Cell.Clients), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Cell.Variant.String(), b.Cell.Variant.String()),
	)
}
