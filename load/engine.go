package load

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"backslide/lab"
)

// Fact is something about an engine that a workload meets.
type Fact struct {
	What  string   // without the engine's name, so that engines alike can be named together
	Steps []string // that meet it; none: the tables do
}

// trait is what an engine makes of some SQL.
type trait struct {
	engines []string
	asks    *regexp.Regexp // of a statement without what it quotes
	what    string
	refused bool       // the engine cannot do it; otherwise it does something else than one may expect
	begins  bool       // transactions ask for it too
	family  lab.Family // only there; empty: everywhere
}

// lawless are the engines without transactions.
func lawless() []string { return []string{"MyISAM", "Aria", "MEMORY"} }

// knownCount is said of steps that are there to read a table.
const knownCount = "the number of a table's rows is known: COUNT(*) of all of them reads none"

// traits lists what would only be noticed in the middle of a run, or not at all.
func traits() []trait {
	return []trait{
		{engines: []string{"MEMORY"}, asks: regexp.MustCompile(`(?is)^\s*(CREATE|ALTER)\b.*\b((TINY|MEDIUM|LONG)?(BLOB|TEXT)|JSON|GEOMETRY|VECTOR)\b`), what: "no BLOB, TEXT or JSON", refused: true},
		{engines: []string{"MEMORY", "MyRocks"}, asks: regexp.MustCompile(`(?is)^\s*(CREATE|ALTER)\b.*\b(FULLTEXT|SPATIAL)\b`), what: "no FULLTEXT and no SPATIAL indexes", refused: true},
		{engines: []string{"MEMORY", "MyRocks"}, asks: regexp.MustCompile(`(?is)^\s*(CREATE|ALTER)\b.*\bPARTITION\s+BY\b`), what: "no partitioned tables here", refused: true},
		{engines: []string{"MyRocks"}, asks: regexp.MustCompile(`(?is)^\s*(CREATE|ALTER)\b.*\bFOREIGN\s+KEY\b`), what: "no foreign keys", refused: true},
		{engines: []string{"MyRocks"}, asks: regexp.MustCompile(`(?is)^\s*CREATE\s+TEMPORARY\b.*\bENGINE\s*=\s*ROCKSDB\b`), what: "no temporary tables", refused: true},
		{engines: []string{"MEMORY"}, asks: regexp.MustCompile(`(?i)^\s*CHECK\s+TABLE\b`), what: "no CHECK TABLE", refused: true},
		{
			engines: lawless(), begins: true,
			asks: regexp.MustCompile(`(?is)^\s*(BEGIN|START\s+TRANSACTION|COMMIT|ROLLBACK|SAVEPOINT|XA)\b|\bFOR\s+(UPDATE|SHARE)\s*$|\bLOCK\s+IN\s+SHARE\s+MODE\s*$`),
			what: "no transactions: BEGIN, COMMIT and ROLLBACK do nothing, locks are of whole tables, and where clients come between each other's statements duplicate keys (error 1062) are counted and passed over",
		},
		{engines: lawless(), asks: regexp.MustCompile(`(?is)^\s*(CREATE|ALTER)\b.*\bFOREIGN\s+KEY\b`), what: "foreign keys are ignored"},
		{engines: lawless(), asks: regexp.MustCompile(`(?i)^\s*SELECT\s+COUNT\(\*\)\s+FROM\s+\S+(\s+(USE|IGNORE)\s+INDEX\s*\([^)]*\))?\s*$`), what: knownCount},
		// MySQL reads the index that it is forced to.
		{engines: lawless(), family: lab.MariaDB, asks: regexp.MustCompile(`(?i)^\s*SELECT\s+COUNT\(\*\)\s+FROM\s+\S+\s+FORCE\s+INDEX\s*\([^)]*\)\s*$`), what: knownCount},
		{
			engines: []string{"MyRocks"},
			asks:    regexp.MustCompile(`(?is)\b(BETWEEN\b|[<>]).*(\bFOR\s+(UPDATE|SHARE)|\bLOCK\s+IN\s+SHARE\s+MODE)\s*$`),
			what:    "rows are locked and no gaps between them: others can insert into a range that is locked",
		},
		{engines: []string{"MyRocks"}, asks: regexp.MustCompile(`(?is)\bENGINE\s*=\s*(InnoDB|MyISAM|Aria|MEMORY)\b`), what: "tables of another engine are made, which the workload names"},
	}
}

// Engine returns why the target's engine cannot run some of the steps, or their tables, and
// what about the others is not what a reader would expect there.
func (p *Program) Engine(steps []StepInfo) (notes, refused []Fact) {
	for _, t := range traits() {
		if !slices.Contains(t.engines, p.Target.Engine) || t.family != "" && t.family != p.Target.Family {
			continue
		}
		met, tables := p.met(t, steps)
		f := Fact{What: t.what, Steps: met}
		switch {
		case !tables && len(met) == 0:
		case t.refused:
			if tables {
				f.Steps = nil // none can be run without the tables
			}
			refused = append(refused, f)
		default:
			notes = append(notes, f)
		}
	}
	for _, kind := range p.Workload.f.Table {
		if !slices.ContainsFunc(kind.Create, func(c choice) bool { return c.fits(p.Target) }) {
			refused = append(refused, Fact{What: fmt.Sprintf("there is no SQL that creates table %s", kind.Name)})
		}
	}
	f := Fact{What: fmt.Sprintf("there is no SQL for it on %s %d.%d.%d", p.Target.Family, p.Target.Version[0], p.Target.Version[1], p.Target.Version[2])}
	for _, info := range steps {
		if p.steps[info.Name].unfit != nil {
			f.Steps = append(f.Steps, info.Name)
		}
	}
	if len(f.Steps) > 0 {
		refused = append(refused, f)
	}
	return notes, refused
}

// met returns the steps that ask for what a trait is about, and whether the tables do.
func (p *Program) met(t trait, steps []StepInfo) (names []string, tables bool) {
	asked := func(sql string) bool { return t.asks.MatchString(unquoted(sql)) }
	for i := range p.tables {
		tables = tables || slices.ContainsFunc(p.tables[i].create, asked) || slices.ContainsFunc(p.tables[i].after, asked)
	}
	for _, info := range steps {
		s := p.steps[info.Name]
		if t.begins && s.begins() || slices.ContainsFunc(s.texts(), asked) {
			names = append(names, info.Name)
		}
	}
	return names, tables
}

// begins reports whether some transaction of the step sends BEGIN.
func (s *step) begins() bool {
	return slices.ContainsFunc(s.works(), func(w *step) bool {
		return slices.ContainsFunc(w.txs, func(t tx) bool { return t.begin })
	})
}

// texts returns all that a step sends, with a question mark for what is not fixed.
func (s *step) texts() []string {
	var out []string
	fixed := func(parts []part) {
		text := ""
		for _, p := range parts {
			if p.expr != nil || p.arg != nil {
				text += "?"
			}
			text += p.lit
		}
		out = append(out, text)
	}
	for _, w := range s.works() {
		for _, t := range w.txs {
			for _, st := range t.stmts {
				fixed(st.parts)
			}
		}
	}
	for _, parts := range slices.Concat(s.before, s.after) {
		fixed(parts)
	}
	for _, sd := range s.sides {
		out = append(append(out, sd.open...), sd.close...)
	}
	return out
}

// unquoted returns sql without what stands in quotes.
func unquoted(sql string) string {
	return regexp.MustCompile("'[^']*'|\"[^\"]*\"|`[^`]*`").ReplaceAllString(sql, "''")
}

// grown returns how many rows, and about how many bytes of text, the steps of a chain
// insert for each client.
func (p *Program) grown() (rows, bytes int64) {
	for _, info := range p.Workload.Steps {
		s := p.steps[info.Name]
		if !p.Workload.Chain || s.unfit != nil || !s.finite() {
			continue
		}
		for i, w := range s.works() {
			n := w.transactions(w.ops)
			if len(s.roles) > 0 {
				n = s.each(i, 1)
			}
			if n == endOfTime {
				continue
			}
			st := newStream(w, 1, 0, 1)
			st.start(0, 0)
			for st.next() {
				if q := st.stmt(); q != nil && q.rows > 0 {
					rows += n * q.rows
					bytes += n * int64(len(st.sql(nil)))
				}
			}
		}
	}
	return rows, bytes
}

// Paced returns how long a slice of a step takes at least, by the rate of the operations
// that end it; 0 where none is set, or not beforehand.
func (p *Program) Paced(name string) time.Duration {
	s, ok := p.steps[name]
	if !ok || !s.finite() {
		return 0
	}
	e := s.ended()
	if e.rate == nil || !e.rate.isConst() || e.rate.n <= 0 {
		return 0
	}
	return time.Duration(float64(e.ops) / float64(e.rate.n) * float64(time.Second))
}

// Open reports whether a step is an open loop from its beginning to its end: operations are
// due at a rate of the step's own, latency counts from when they were due, and what a stall
// held up is made up for.
func (p *Program) Open(name string) bool {
	s, ok := p.steps[name]
	return ok && len(s.roles) == 0 && !s.finite() && s.catchup && s.rate != nil && !(s.rate.isConst() && s.rate.n <= 0)
}

// Pacable reports whether a step, which finds its own speed, can be run at a set rate: see
// SliceSpec.Rate. Roles have rates of their own, and other tools clocks.
func (p *Program) Pacable(name string) bool {
	s, ok := p.steps[name]
	return ok && len(s.roles) == 0 && !s.finite() && s.rate == nil && s.tool == nil
}
