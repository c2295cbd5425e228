package load

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// limit is something that SQL asks for and an engine does not do.
type engineLimit struct {
	engines []string
	asks    *regexp.Regexp
	what    string
}

// engineLimits lists what would only be noticed in the middle of a run.
func engineLimits() []engineLimit {
	return []engineLimit{
		{[]string{"MEMORY"}, regexp.MustCompile(`(?i)\b(TINY|MEDIUM|LONG)?(BLOB|TEXT)\b|\bJSON\b|\bGEOMETRY\b|\bVECTOR\b`), "MEMORY tables hold no BLOB, TEXT or JSON"},
		{[]string{"MEMORY", "MyRocks"}, regexp.MustCompile(`(?i)\b(FULLTEXT|SPATIAL)\b`), "it has no FULLTEXT and no SPATIAL indexes"},
		{[]string{"MEMORY", "MyRocks"}, regexp.MustCompile(`(?i)\bPARTITION BY\b`), "its tables are not partitioned here"},
		{[]string{"MyRocks"}, regexp.MustCompile(`(?i)\bFOREIGN KEY\b`), "MyRocks has no foreign keys"},
	}
}

// Engine returns why the target's engine cannot run the workload, and what about it is not
// what a reader would expect there.
func (p *Program) Engine() (notes []string, err error) {
	engine := p.Target.Engine
	var creates []string
	for i := range p.tables {
		t := &p.tables[i]
		creates = append(append(creates, t.create...), t.after...)
	}
	for _, l := range engineLimits() {
		if !slices.Contains(l.engines, engine) {
			continue
		}
		for _, sql := range creates {
			if found := l.asks.FindString(unquoted(sql)); found != "" {
				return nil, fmt.Errorf("workload %s asks for %s, and %s: choose other SQL for engine %s, or leave the engine out", p.Workload.Name, strings.ToUpper(found), l.what, engine)
			}
		}
	}
	if !slices.Contains([]string{"MyISAM", "MEMORY", "Aria"}, engine) {
		return nil, nil
	}
	var begun []string
	for _, s := range p.Workload.Steps {
		for _, w := range p.steps[s.Name].works() {
			if slices.ContainsFunc(w.txs, func(t tx) bool { return t.begin }) && !slices.Contains(begun, s.Name) {
				begun = append(begun, s.Name)
			}
		}
	}
	if len(begun) > 0 {
		notes = append(notes, fmt.Sprintf("%s has no transactions: BEGIN and COMMIT do nothing there, and locks are of whole tables (%s of %s)", engine, some(begun), p.Workload.Name))
	}
	for _, sql := range creates {
		if strings.Contains(strings.ToUpper(unquoted(sql)), "FOREIGN KEY") {
			notes = append(notes, engine+" ignores foreign keys")
			break
		}
	}
	return notes, nil
}

// some returns the first of names, and how many more there are.
func some(names []string) string {
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more steps", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
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
