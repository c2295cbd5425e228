package report

import (
	"math"

	"backslide/lab"
)

// tallied reports whether a list says how often what it lists was, and for how long in all.
func (l amountList) tallied() bool { return len(l.of) > 0 && l.of[0].Tallies != nil }

// counts names what is counted of a list.
func (l amountList) counts() string {
	if l.rows {
		return "rows"
	}
	return "times"
}

// tallyText is what an amount is made of, for people. Ratios are the candidate's over the
// base's, per operation: in as much time, the faster side does more operations.
type tallyText struct {
	Ratio                      string // of time
	TimesPerOp, CandTimesPerOp string
	TimesRatio                 string
	Seconds, CandSeconds       string // in all rounds
	Times, CandTimes           string // in all rounds
	Known                      bool   // false: nothing is known of this amount
}

func tallyOf(c lab.Component) tallyText {
	if c.Tallies == nil {
		return tallyText{}
	}
	b, n := c.Tallies.Base, c.Tallies.Candidate
	t := tallyText{Ratio: times(c.Base, c.Candidate), Seconds: amount(b.Seconds), CandSeconds: amount(n.Seconds), Known: true}
	if b.Times > 0 || n.Times > 0 {
		t.TimesPerOp, t.CandTimesPerOp, t.TimesRatio = amount(b.TimesPerOp), amount(n.TimesPerOp), times(b.TimesPerOp, n.TimesPerOp)
		t.Times, t.CandTimes = amount(math.Round(b.Times)), amount(math.Round(n.Times))
	}
	return t
}

// times returns how many times the base's amount the candidate's is; nothing where there
// is no such number.
func times(base, candidate float64) string {
	if !(base > 0) || !(candidate > 0) {
		return none
	}
	return "×" + amount(candidate/base)
}

// cells returns the columns of a text table: without the number of times in all, for which
// there is no room.
func (t tallyText) cells() []cell {
	if !t.Known {
		return plain("", "", "")
	}
	return []cell{
		{parts: []string{t.Ratio}},
		{parts: []string{t.TimesPerOp, arrow(t.CandTimesPerOp), t.TimesRatio}},
		{parts: []string{t.Seconds, arrow(t.CandSeconds)}},
	}
}

// arrow puts a candidate's figure behind the base's.
func arrow(s string) string {
	if s == "" {
		return ""
	}
	return "→ " + s
}
