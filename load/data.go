package load

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// dataVersion changes when the same workload would be filled with other rows.
const dataVersion = 1

// LoadOptions are how tables are filled.
type LoadOptions struct {
	Seed     uint64
	Workers  int                     // connections that fill in parallel; 0: 2
	Progress func(rows, total int64) // called now and then, from one goroutine
	Phase    func(text string)       // what begins: a table, an index
}

// Load creates the tables in the target's schema, fills them, and runs what the workload
// wants done after. Rows depend on the seed and their number only, not on how many
// workers there are. Tables of the same names are replaced.
func (p *Program) Load(ctx context.Context, dial Dial, o LoadOptions) (err error) {
	if o.Workers <= 0 {
		o.Workers = 2
	}
	conns, err := dialAll(ctx, dial, o.Workers)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	if err != nil {
		return fmt.Errorf("load %s: %w", p.Workload.Name, err)
	}
	for _, c := range conns {
		quicken(ctx, c)
	}
	if err := p.load(ctx, conns, o); err != nil {
		return fmt.Errorf("load %s: %w", p.Workload.Name, err)
	}
	return nil
}

func dialAll(ctx context.Context, dial Dial, n int) ([]Conn, error) {
	var out []Conn
	for range n {
		c, err := dial(ctx)
		if err != nil {
			return out, limit(err)
		}
		out = append(out, c)
	}
	return out, nil
}

// quicken sets what makes bulk inserts faster and changes no data. Servers that do not
// know or allow a setting go without.
func quicken(ctx context.Context, c Conn) {
	for _, set := range []string{"unique_checks=0", "foreign_key_checks=0", "sql_log_bin=0"} {
		exec(ctx, c, "SET SESSION "+set)
	}
}

func (p *Program) load(ctx context.Context, conns []Conn, o LoadOptions) error {
	phase := o.Phase
	if phase == nil {
		phase = func(string) {}
	}
	if err := runAll(ctx, conns[0], p.setup); err != nil {
		return err
	}
	total, _ := p.rows()
	var done atomic.Int64
	stop := report(&done, total, o.Progress)
	defer stop()
	for i := range p.tables {
		t := &p.tables[i]
		phase("fill " + t.name)
		if err := runAll(ctx, conns[0], append([]string{"DROP TABLE IF EXISTS " + t.name}, t.create...)); err != nil {
			return err
		}
		if err := t.fill(ctx, conns, o.Seed, &done); err != nil {
			return fmt.Errorf("fill %s: %w", t.name, err)
		}
	}
	if err := p.after(ctx, conns, phase); err != nil {
		return err
	}
	phase("finish")
	return runAll(ctx, conns[0], p.finish)
}

// after builds indexes and the like, tables side by side.
func (p *Program) after(ctx context.Context, conns []Conn, phase func(string)) error {
	phase("index")
	return each(ctx, conns, len(p.tables), func(c Conn, i int) error {
		return runAll(ctx, c, p.tables[i].after)
	})
}

// each calls f for 0…n-1, one call for each connection at a time, until one fails.
func each(ctx context.Context, conns []Conn, n int, f func(c Conn, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1) - 1)
				if i >= n {
					return
				}
				if err := f(c, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// report calls progress twice a second until the func that it returns is called.
func report(done *atomic.Int64, total int64, progress func(rows, total int64)) (stop func()) {
	if progress == nil {
		return func() {}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				progress(done.Load(), total)
			case <-quit:
				progress(done.Load(), total)
				return
			}
		}
	}()
	return func() { close(quit); <-ended }
}

func (p *Program) rows() (rows, bytes int64) {
	for i := range p.tables {
		t := &p.tables[i]
		rows += t.rows
		if t.rows == 0 {
			continue
		}
		n := min(t.rows, 100)
		in := t.inserter(1)
		row := int64(len(in.statement(1, n))-len(in.head)) / n
		// As text; pages are half to all full, and rows carry some 20 bytes of their own.
		bytes += t.rows * (row + 20) * 3 / 2
		// Each index holds a key, a row's address and its share of a page.
		bytes += t.rows * 24 * int64(t.indexes())
	}
	return rows, bytes
}

// indexes guesses from the SQL how many secondary indexes the table has.
func (t *table) indexes() int {
	n := 0
	for _, list := range [][]string{t.create, t.after} {
		for _, sql := range list {
			up := strings.ToUpper(sql)
			n += strings.Count(up, "KEY ") + strings.Count(up, "INDEX ") - strings.Count(up, "PRIMARY KEY ")
		}
	}
	return max(n, 0)
}

// Estimate returns how many rows Load and the steps of a chain will insert, and about how many bytes they and
// their indexes will take on disk.
func (p *Program) Estimate() (rows, bytes int64) {
	rows, bytes = p.rows()
	more, text := p.grown()
	clients := int64(max(1, p.Target.Clients))
	// What steps index is not known from here; three indexes are taken.
	return rows + more*clients, bytes + clients*(text+(20+3*24)*more)*3/2
}

// DataID names the data that Load makes: equal IDs, equal rows in equal tables.
func (p *Program) DataID(seed uint64) string {
	h := sha256.New()
	list := func(l []string) {
		for _, s := range l {
			fmt.Fprintf(h, "%d:%s", len(s), s)
		}
		io.WriteString(h, ";")
	}
	fmt.Fprintf(h, "%d;%d;", dataVersion, seed)
	list(p.setup)
	for i := range p.tables {
		t := &p.tables[i]
		list([]string{t.name, strconv.FormatInt(t.rows, 10)})
		list(t.create)
		list(t.after)
		list(t.columns)
		in := t.inserter(seed)
		for _, row := range []int64{1, 2, t.rows / 2, t.rows} {
			if row > 0 {
				h.Write(in.statement(row, row))
			}
		}
	}
	list(p.finish)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// RowsDigest returns a digest, in hex, of every row that Load inserts, in order.
func (p *Program) RowsDigest(seed uint64) string {
	h := sha256.New()
	for i := range p.tables {
		in := p.tables[i].inserter(seed)
		for row := int64(1); row <= in.t.rows; row++ {
			in.buf = in.buf[:0]
			in.row(row)
			h.Write(in.buf)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
