package extern

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SlapResolution is the step of mysqlslap's clock in seconds. It drops what is below, so a
// time is up to so much longer than printed.
const SlapResolution = 0.001

// SlapRow is what mysqlslap says of one number of clients. The times are of whole rounds:
// nothing in it is a latency of a query, or a percentile.
type SlapRow struct {
	Engine    string
	Label     string  // "mixed" is the default, and says nothing of the user's own SQL
	Avg       float64 // seconds a round took, mean over rounds
	Min, Max  float64 // seconds of the shortest and longest round
	Clients   int
	PerClient int64 // queries per client and round, without the rest of the division
}

// Queries returns the queries of one round: what the clients ran together.
func (r SlapRow) Queries() int64 { return int64(r.Clients) * r.PerClient }

// SlapRun is an output of mysqlslap.
type SlapRun struct {
	Rows     []SlapRow
	Rounds   int      // of each row; 0: not known, the output does not tell
	Errors   []string // what it wrote to standard error, but for notices
	Notes    []string // lines that nobody understood, the first of them
	Warnings []string
	Invalid  string // why the figures must not be used; empty: they may
}

// ParseSlap reads an output of mysqlslap, text or CSV, of which nobody knows what was
// asked. The error is of reading.
func ParseSlap(o Output) (SlapRun, error) { return parseSlap(o, nil) }

// Parse reads the output of an invocation and compares it with what was asked.
func (s Slap) Parse(o Output) (SlapRun, error) { return parseSlap(o, &s) }

func parseSlap(o Output, asked *Slap) (SlapRun, error) {
	p := slapParser{}
	if err := eachLine(o.Stdout, p.line); err != nil {
		return p.run, fmt.Errorf("read output of mysqlslap: %w", err)
	}
	p.end()
	if err := eachLine(o.Stderr, p.stderr); err != nil {
		return p.run, fmt.Errorf("read errors of mysqlslap: %w", err)
	}
	p.dropped.warn(&p.run.Warnings, "%d lines have an impossible number, the first: %s")
	p.judge(o.Exit, asked)
	return p.run, nil
}

type slapParser struct {
	run     SlapRun
	text    *SlapRow // the row being read from text
	have    int      // how many of its five numbers were read
	cut     bool     // a row in text was incomplete
	dropped tally
	lost    int // rows beyond maxRows
}

func (p *slapParser) line(line string) {
	t := strings.TrimSpace(line)
	if t == "" {
		return
	}
	if t == "Benchmark" {
		p.end()
		p.text = &SlapRow{}
		return
	}
	if p.text != nil && p.textLine(t) {
		return
	}
	if r, ok := p.csv(t); ok {
		p.add(r)
		return
	}
	keep(&p.run.Notes, maxNotes, t)
}

// end closes a row of text.
func (p *slapParser) end() {
	if p.text != nil {
		if p.have == 5 {
			p.add(*p.text)
		} else {
			p.cut = true
		}
	}
	p.text, p.have = nil, 0
}

func (p *slapParser) add(r SlapRow) {
	if len(p.run.Rows) < maxRows {
		p.run.Rows = append(p.run.Rows, r)
	} else {
		p.lost++
	}
}

func (p *slapParser) textLine(t string) bool {
	if engine, ok := strings.CutPrefix(t, "Running for engine "); ok {
		p.text.Engine = clip(engine)
		return true
	}
	label, value, ok := strings.Cut(t, ":")
	if !ok {
		return false
	}
	value = strings.TrimSuffix(strings.TrimSpace(value), " seconds")
	var good bool
	switch label {
	case "Load":
		p.text.Label = clip(value)
		return true
	case "Average number of seconds to run all queries":
		p.text.Avg, _, good = number(value)
	case "Minimum number of seconds to run all queries":
		p.text.Min, _, good = number(value)
	case "Maximum number of seconds to run all queries":
		p.text.Max, _, good = number(value)
	case "Number of clients running queries":
		p.text.Clients, good = small(value)
	case "Average number of queries per client":
		p.text.PerClient, _, good = perClient(value)
	default:
		return false
	}
	if good {
		p.have++
	} else {
		p.dropped.add(t)
	}
	return true
}

// small reads a number of clients; 2^17 is more than any server takes.
func small(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 17)
	return int(n), err == nil
}

// perClient reads a number of queries, of which small(…) times as many can be counted.
func perClient(s string) (n int64, isNumber, canBe bool) {
	n, isNumber, canBe = count(s)
	return n, isNumber, canBe && n < 1<<44
}

// csv reads engine, label, average, minimum, maximum, clients, queries per client. A label
// may hold commas.
func (p *slapParser) csv(t string) (r SlapRow, ok bool) {
	f := strings.Split(t, ",")
	n := len(f)
	if n < 7 {
		return r, false
	}
	impossible := false
	for i, to := range []*float64{&r.Avg, &r.Min, &r.Max} {
		v, isNumber, canBe := number(f[n-5+i])
		if !isNumber {
			return r, false
		}
		*to, impossible = v, impossible || !canBe
	}
	per, isNumber, canBe := perClient(f[n-1])
	clients, fits := small(f[n-2])
	if !isNumber {
		return r, false
	}
	if impossible || !canBe || !fits {
		p.dropped.add(t)
		return r, false
	}
	r.Engine, r.Label, r.Clients, r.PerClient = clip(f[0]), clip(strings.Join(f[1:n-5], ",")), clients, per
	return r, true
}

// stderr sorts what was written to standard error: all of it is a failure, but for
// notices that come with every good run of some versions.
func (p *slapParser) stderr(line string) {
	t := strings.TrimSpace(line)
	switch {
	case t == "":
	case strings.Contains(t, "Deprecated program name"),
		strings.Contains(t, "[Warning] Using a password on the command line"),
		strings.HasPrefix(t, "WARNING: option '--ssl-verify-server-cert' is disabled"):
		keep(&p.run.Warnings, maxNotes, t)
	default:
		keep(&p.run.Errors, maxErrors, t)
	}
}

func (p *slapParser) judge(exit int, asked *Slap) {
	r := &p.run
	var why []string
	if len(r.Errors) > 0 {
		why = append(why, fmt.Sprintf("mysqlslap wrote to standard error (exit status %d): %s", exit, r.Errors[0]))
	} else if exit != 0 {
		why = append(why, fmt.Sprintf("mysqlslap ended with exit status %d", exit))
	}
	if p.cut {
		why = append(why, "a result is cut off")
	}
	if p.dropped.n > 0 {
		why = append(why, "a result has an impossible number")
	}
	if p.lost > 0 {
		why = append(why, fmt.Sprintf("there are more than %d results", maxRows))
	}
	if len(r.Rows) == 0 {
		why = append(why, "mysqlslap printed no result")
	}
	for _, row := range r.Rows {
		if row.PerClient == 0 || row.Clients == 0 {
			why = append(why, fmt.Sprintf("%d clients ran 0 queries each by mysqlslap's count, so nobody knows how many", row.Clients))
		}
		r.Warnings = append(r.Warnings, row.doubts()...)
	}
	if asked != nil {
		r.Rounds = asked.rounds()
		missing, doubts := asked.compare(r.Rows)
		why = append(why, missing...)
		r.Warnings = append(r.Warnings, doubts...)
	}
	r.Invalid = strings.Join(why, "; ")
}

// doubts says what a row's times cannot tell.
func (r SlapRow) doubts() (w []string) {
	at := fmt.Sprintf("%d clients: ", r.Clients)
	if r.Engine != "" {
		at = r.Engine + ", " + at
	}
	switch share := SlapResolution / max(r.Avg, SlapResolution); {
	case r.Avg < SlapResolution:
		w = append(w, at+"rounds are shorter than the clock's step of 1 ms: there is no rate")
	case share > 0.01:
		w = append(w, at+fmt.Sprintf("the clock's step of 1 ms is %.2g%% of a round: ask for more queries", 100*share))
	}
	if r.Min > r.Avg || r.Avg > r.Max {
		w = append(w, at+"the average is not between minimum and maximum")
	}
	return w
}

// compare says which rows were asked for and are not there, and what else is not as asked.
func (s Slap) compare(rows []SlapRow) (missing, doubts []string) {
	engines := s.Engines
	if len(engines) == 0 {
		engines = []string{""}
	}
	for _, e := range engines {
		for _, c := range s.clients() {
			i := slices.IndexFunc(rows, func(r SlapRow) bool {
				return r.Clients == c && (e == "" || strings.EqualFold(r.Engine, e))
			})
			if i < 0 {
				missing = append(missing, strings.TrimSpace(fmt.Sprintf("no result for %d clients %s", c, e)))
				continue
			}
			r := rows[i]
			if rest := s.Queries - r.Queries(); s.Queries > 0 && r.PerClient > 0 && rest != 0 {
				doubts = append(doubts, fmt.Sprintf("%d clients: ran %d queries of the %d asked for: each has the same whole number", c, r.Queries(), s.Queries))
			}
			if s.rounds() > 1 && r.Min == r.Max {
				doubts = append(doubts, fmt.Sprintf("%d clients: all %d rounds took the same %.3f s: they differ by less than the clock's 1 ms", c, s.rounds(), r.Avg))
			}
		}
	}
	return missing, doubts
}

// Figures returns what the row for a number of clients contributes to a slice, over all
// rounds. An operation is a query.
func (r SlapRun) Figures(clients int) Figures {
	f := Figures{Err: r.Invalid, Warnings: slices.Clone(r.Warnings)}
	fail := func(why string) Figures {
		f.Err = why
		return f
	}
	if f.Err != "" {
		return f
	}
	var row *SlapRow
	for i := range r.Rows {
		if r.Rows[i].Clients != clients {
			continue
		}
		if row != nil {
			return fail(fmt.Sprintf("mysqlslap has several results for %d clients", clients))
		}
		row = &r.Rows[i]
	}
	switch {
	case row == nil:
		return fail(fmt.Sprintf("mysqlslap has no result for %d clients", clients))
	case row.Avg < SlapResolution:
		return fail("rounds are shorter than mysqlslap's clock can tell: ask for more queries")
	}
	rounds := max(r.Rounds, 1)
	if r.Rounds == 0 {
		f.Warnings = append(f.Warnings, "mysqlslap does not tell how many rounds it made: counted as one")
	}
	f.Ops, f.Wall = row.Queries()*int64(rounds), row.Avg*float64(rounds)
	return f
}
