package explain

import (
	"fmt"
	"strings"

	"backslide/lab"
	"backslide/stat"
)

// statement finds a statement again in other rounds, where it has other arguments: its
// text without literals, and which of that text.
type statement struct {
	text string
	nth  int
}

// seenPlan is a plan with in how many restarts it was seen.
type seenPlan struct {
	lab.StatementPlan
	times int
	rows  float64 // sum over the restarts that said it
	said  int
}

// planChanges compares the plans of every statement that both sides explained, by the
// plan that each side had in most of its restarts.
func (x *evidence) planChanges() []lab.PlanChange {
	base, order := x.plansOf(x.BaseSeen)
	cand, _ := x.plansOf(x.CandidateSeen)
	var out []lab.PlanChange
	for _, s := range order {
		if len(cand[s]) == 0 {
			continue
		}
		b, c := usual(base[s]), usual(cand[s])
		p := lab.PlanChange{
			Statement: c.Statement, Base: b.Tree, Candidate: c.Tree,
			Changes: x.diff(b.StatementPlan, c.StatementPlan), BaseRows: b.meanRows(), CandidateRows: c.meanRows(),
		}
		for _, side := range []struct {
			name  string
			plans []seenPlan
			usual seenPlan
		}{{"base", base[s], b}, {"candidate", cand[s], c}} {
			if len(side.plans) > 1 {
				p.Flips = append(p.Flips, side.name)
				x.doubt(fmt.Sprintf("a plan flips: the %s had %d different ones over %s for %s; here is that of %d of them",
					side.name, len(side.plans), count(restarts(side.plans), "look"), cut(s.text), side.usual.times))
			}
		}
		out = append(out, p)
	}
	return out
}

// plansOf sorts what rounds explained by statement, and each statement's plans into those
// that are the same. The order is that of the statements' first appearance.
func (x *evidence) plansOf(seen []lab.Observation) (map[statement][]seenPlan, []statement) {
	plans := map[statement][]seenPlan{}
	var order []statement
	for _, o := range seen {
		nth := map[string]int{}
		for _, p := range o.Plans {
			text := shape(p.Statement)
			s := statement{text, nth[text]}
			nth[text]++
			if plans[s] == nil {
				order = append(order, s)
			}
			plans[s] = x.count(plans[s], p)
		}
	}
	return plans, order
}

func (x *evidence) count(plans []seenPlan, p lab.StatementPlan) []seenPlan {
	at := -1
	for i := range plans {
		if len(x.diff(plans[i].StatementPlan, p)) == 0 {
			at = i
			break
		}
	}
	if at < 0 {
		at, plans = len(plans), append(plans, seenPlan{StatementPlan: p})
	}
	plans[at].times++
	if p.RowsExamined >= 0 {
		plans[at].rows += p.RowsExamined
		plans[at].said++
	}
	return plans
}

func usual(plans []seenPlan) seenPlan {
	best := plans[0]
	for _, p := range plans[1:] {
		if p.times > best.times {
			best = p
		}
	}
	return best
}

func restarts(plans []seenPlan) int {
	n := 0
	for _, p := range plans {
		n += p.times
	}
	return n
}

func (p seenPlan) meanRows() float64 {
	if p.said == 0 {
		return -1
	}
	return p.rows / float64(p.said)
}

func (x *evidence) diff(base, cand lab.StatementPlan) []string {
	if x.PlanDiff != nil {
		return x.PlanDiff(base, cand)
	}
	return treeDiff(base.Tree, cand.Tree)
}

// treeDiff says which lines of two trees are not in the other.
func treeDiff(base, cand string) []string {
	if base == cand {
		return nil
	}
	lines := func(s string) ([]string, map[string]int) {
		var all []string
		n := map[string]int{}
		for _, l := range strings.Split(s, "\n") {
			if l = strings.TrimSpace(l); l != "" {
				all = append(all, l)
				n[l]++
			}
		}
		return all, n
	}
	was, hadWas := lines(base)
	is, hasIs := lines(cand)
	var out []string
	for _, l := range was {
		if hasIs[l]--; hasIs[l] < 0 {
			out = append(out, "no longer: "+l)
		}
	}
	for _, l := range is {
		if hadWas[l]--; hadWas[l] < 0 {
			out = append(out, "now: "+l)
		}
	}
	if len(out) == 0 && strings.TrimSpace(base) != strings.TrimSpace(cand) {
		out = append(out, "the same steps in another shape")
	}
	return out
}

// shape returns a statement without its literals, so that it is found again with others.
func shape(sql string) string {
	var b strings.Builder
	for i := 0; i < len(sql); {
		c := sql[i]
		switch {
		case c == '\'' || c == '"':
			i = closing(sql, i)
			b.WriteByte('?')
		case c >= '0' && c <= '9' && (i == 0 || !wordByte(sql[i-1])):
			for i < len(sql) && (wordByte(sql[i]) || sql[i] == '.') {
				i++
			}
			b.WriteByte('?')
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// closing returns the index behind the string literal that begins at i.
func closing(sql string, i int) int {
	quote := sql[i]
	for i++; i < len(sql); i++ {
		switch sql[i] {
		case '\\':
			i++
		case quote:
			if i+1 == len(sql) || sql[i+1] != quote {
				return i + 1
			}
			i++
		}
	}
	return len(sql)
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// rowsRead estimates the rows that were read per operation, the witness of a plan: what
// the server's handlers counted, or else what InnoDB did. ok is false if nothing did.
func (x *evidence) rowsRead() (lab.Component, bool) {
	rounds := len(x.common(lab.Plain))
	if rounds == 0 {
		return lab.Component{}, false
	}
	for _, is := range []func(string) bool{
		func(n string) bool { return strings.HasPrefix(n, "handler_read_") },
		func(n string) bool { return n == "innodb_rows_read" },
	} {
		table := x.table(lab.Plain, func(o lab.Observation) []lab.Amount {
			var out []lab.Amount
			for _, a := range o.Counters {
				if is(strings.ToLower(a.Name)) {
					out = append(out, a)
				}
			}
			return out
		})
		if len(table) > 0 {
			return component("rows read", "1/op", totals(table, rounds), stat.Prior{}), true
		}
	}
	return lab.Component{}, false
}

// changed returns the statements whose plan is another one.
func (x *evidence) changed() []lab.PlanChange {
	var out []lab.PlanChange
	for _, p := range x.plans {
		if len(p.Changes) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// witness says in words that the rows read changed with the plans, in the direction of the
// verdict; empty if they did not, or nobody counted.
func (x *evidence) witness(changed []lab.PlanChange) string {
	const clear = 1.1 // ratio of counts that were not repeated
	grew := func(base, cand float64) bool {
		if x.sign < 0 {
			base, cand = cand, base
		}
		return cand > clear*base
	}
	if c, ok := x.rowsRead(); ok {
		if c.Diff*x.sign > 0 && (c.Holds() || c.N == 1) && grew(c.Base, c.Candidate) {
			return fmt.Sprintf("rows read per operation: %s, %s in the base", number(c.Candidate), number(c.Base))
		}
		return ""
	}
	base, cand := 0.0, 0.0
	for _, p := range changed {
		if p.BaseRows < 0 || p.CandidateRows < 0 {
			return ""
		}
		base, cand = base+p.BaseRows, cand+p.CandidateRows
	}
	if grew(base, cand) {
		return fmt.Sprintf("rows examined for each execution, by the plans: %s, %s in the base", number(cand), number(base))
	}
	return ""
}

// planned makes a changed plan the cause of what the server did otherwise, if the rows
// that it read bear witness: CPU and waits are then the evidence. Else it returns the
// causes as they are, with the change mentioned.
func (x *evidence) planned(server []lab.Cause) []lab.Cause {
	changed := x.changed()
	if len(changed) == 0 {
		return server
	}
	rows := x.witness(changed)
	amount, ok := x.plannedTime(server)
	if rows == "" || !ok {
		if len(server) > 0 {
			server[0].Evidence = append(server[0].Evidence, "a plan changed as well, and nothing shows that it matters: "+cut(changed[0].Changes[0]))
		} else {
			x.doubt("a plan changed, and nothing shows that it matters: " + cut(changed[0].Changes[0]))
		}
		return server
	}
	c := lab.Cause{Kind: lab.PlanCause, What: "another plan: " + cut(changed[0].Changes[0]), Amount: amount, Evidence: []string{rows}}
	if n := len(changed); n > 1 {
		c.What += fmt.Sprintf(" (and %s more)", count(n-1, "statement"))
	}
	for _, p := range changed {
		for _, s := range p.Changes {
			c.Evidence = append(c.Evidence, cut(shape(p.Statement))+": "+cut(s))
		}
		if len(p.Flips) > 0 {
			c.Evidence = append(c.Evidence, "this plan was not the same after each restart of the "+strings.Join(p.Flips, " and the "))
		}
	}
	out := []lab.Cause{c}
	for _, s := range server {
		if s.Kind == lab.HostCause {
			out = append(out, s)
			continue
		}
		out[0].Evidence = append(out[0].Evidence, s.What+": "+amounts(s.Amount))
	}
	return out
}

// plannedTime is the time that a changed plan accounts for: all that it can if that holds.
// Else, where waiting varies too much, the largest cause within it.
func (x *evidence) plannedTime(server []lab.Cause) (lab.Component, bool) {
	if all, ok := x.serverTime(server); ok && all.Holds() && all.Diff*x.sign > 0 {
		return all, true
	}
	var most lab.Component
	for _, c := range server {
		if c.Kind != lab.HostCause && c.Amount.Diff*x.sign > most.Diff*x.sign {
			most = c.Amount
		}
	}
	return most, most.Diff*x.sign > 0
}

// serverTime is the time that a plan can account for: everything but the client's, and
// but for what the host is to blame for.
func (x *evidence) serverTime(server []lab.Cause) (lab.Component, bool) {
	var total *series
	add := func(s *series) {
		switch {
		case s == nil:
		case total == nil:
			total = s
		default:
			t := total.plus(*s)
			total = &t
		}
	}
	host := map[string]bool{}
	for _, c := range server {
		host[c.Amount.Name] = host[c.Amount.Name] || c.Kind == lab.HostCause
	}
	add(x.cpuPart)
	if !host[runqLine] {
		add(x.runqPart)
	}
	if x.complete && !host[blockedLine] {
		add(x.rest)
	}
	if total == nil {
		return lab.Component{}, false
	}
	return x.component("time in the server", *total), true
}

// cut returns text that fits into a sentence.
func cut(s string) string {
	const longest = 160
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
