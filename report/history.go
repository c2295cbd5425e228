package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"backslide/lab"
)

// HistoryFormats lists the names that History knows.
func HistoryFormats() []string { return []string{"text", "html", "csv", "json"} }

// History writes an experiment's history in the format of that name. Of the options, text
// takes Width and Color.
func History(w io.Writer, format string, h lab.History, o Options) error {
	switch lab.Spelled(format, HistoryFormats()) {
	case "text":
		return historyText(w, h, o)
	case "html":
		return historyHTML(w, h)
	case "csv":
		return historyCSV(w, h)
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", " ")
		return e.Encode(struct {
			Schema string `json:"schema"`
			lab.History
		}{HistorySchema, h})
	}
	return fmt.Errorf("format %q is unknown%s", format, lab.Suggest(format, HistoryFormats()))
}

// HistorySchema is the value of "schema" in a history as JSON.
const HistorySchema = "backslide-history/1"

// tale is a history with how its tracks are called.
type tale struct {
	lab.History
	several   bool // things that are followed, so that tracks name theirs
	workloads bool // several, so that steps name theirs
}

func newTale(h lab.History) tale {
	t := tale{History: h}
	for _, x := range h.Tracks {
		t.several = t.several || x.Name != h.Tracks[0].Name
		t.workloads = t.workloads || x.Level.Step.Workload != h.Tracks[0].Level.Step.Workload
	}
	return t
}

func (t tale) title() string {
	s := fmt.Sprintf("History of %s: %s", clean(t.Name), count(len(t.Runs), "run"))
	switch n := len(t.Runs); {
	case n == 0 || t.Runs[0].Started.IsZero():
	case day(t.Runs[0].Started) == day(t.Runs[n-1].Started):
		s += ", " + day(t.Runs[0].Started)
	default:
		s += fmt.Sprintf(", %s to %s", day(t.Runs[0].Started), day(t.Runs[n-1].Started))
	}
	return s
}

// subject says what is followed.
func (t tale) subject() string {
	if t.Ratio {
		return "Throughput relative to " + clean(t.Base.String())
	}
	return "Throughput itself, in operations per second"
}

func day(at time.Time) string { return at.UTC().Format("2006-01-02") }

// at names a track in a sentence.
func (t tale) at(x lab.Track) string {
	s := fmt.Sprintf("%s at %s", t.step(x), count(x.Level.Clients, "client"))
	if t.several {
		s += ", " + clean(x.Name)
	}
	return s
}

func (t tale) step(x lab.Track) string {
	if t.workloads {
		return clean(x.Level.Step.String())
	}
	return clean(x.Level.Step.Name)
}

// value returns a point's value as people read it.
func (t tale) value(x float64) string {
	if t.Ratio {
		return ratio(x)
	}
	return amount(math.Exp(x))
}

// when names the run of a track's point.
func (t tale) when(x lab.Track, point int) string {
	p := x.Points[min(point, len(x.Points)-1)]
	r := t.Runs[p.Run]
	parts := []string{day(r.Started)}
	if !t.several && p.Version != "" {
		parts = append(parts, clean(p.Version))
	}
	return fmt.Sprintf("run %d (%s)", r.ID, strings.Join(parts, ", "))
}

// change says what a change is.
func (t tale) change(x lab.Track, c lab.Change) string {
	size := fmt.Sprintf("%s, %s → %s", percent(c.Size()), t.value(c.Before), t.value(c.After))
	if c.To > c.At {
		return fmt.Sprintf("drifts by %s, from %s to %s", size, t.when(x, c.At), t.when(x, c.To))
	}
	return fmt.Sprintf("%s from %s on", size, t.when(x, c.At))
}

// mark is the sign of a track's last change.
func mark(x lab.Track) string {
	d := x.Trend
	if n := len(x.Changes); n > 0 {
		d = x.Changes[n-1].Size()
	}
	switch {
	case d < 0:
		return "▼"
	case d > 0:
		return "▲"
	}
	return " "
}

// says returns what a track does over its runs, a sentence each.
func (t tale) says(x lab.Track) []string {
	var out []string
	for _, c := range x.Changes {
		out = append(out, t.change(x, c))
	}
	if x.Trend != 0 {
		out = append(out, fmt.Sprintf("rises or falls all the time: %s from %s to %s", percent(x.Trend), t.when(x, 0), t.when(x, len(x.Points)-1)))
	}
	for _, s := range x.Spikes {
		out = append(out, fmt.Sprintf("stands out once, in %s, with %s: no change", t.when(x, s), t.value(x.Points[s].Value)))
	}
	return out
}

// lastMove is the index of the run of a track's last change; −1: it has none.
func lastMove(x lab.Track) int {
	if n := len(x.Changes); n > 0 {
		return x.Points[min(x.Changes[n-1].At, len(x.Points)-1)].Run
	}
	return -1
}

// moved returns the tracks that changed, the newest change first, then the largest.
func (t tale) moved() []lab.Track {
	out := slices.DeleteFunc(slices.Clone(t.Tracks), func(x lab.Track) bool { return !x.Moved() })
	last := func(x lab.Track) float64 {
		if n := len(x.Changes); n > 0 {
			return math.Abs(x.Changes[n-1].Size())
		}
		return math.Abs(x.Trend)
	}
	slices.SortStableFunc(out, func(a, b lab.Track) int {
		return cmp.Or(cmp.Compare(lastMove(b), lastMove(a)), cmp.Compare(last(b), last(a)))
	})
	return out
}

// summary says how many tracks moved, and how many would by chance.
func (t tale) summary() string {
	most := 0
	for _, x := range t.Tracks {
		most = max(most, len(x.Points))
	}
	if len(t.Tracks) == 0 {
		return "There is nothing to follow: no run has results."
	}
	if most < changeFrom {
		return fmt.Sprintf("Changes are looked for from %s on; there are %d.", count(changeFrom, "run"), most)
	}
	return fmt.Sprintf("%d of %s moved; at most %s are expected to if nothing changes.", len(t.moved()), count(len(t.Tracks), "track"), few(t.Alpha*float64(len(t.Tracks))))
}

// changeFrom is the number of points from which on compare looks for changes.
const changeFrom = 6

// spark draws values as a line of text, the newest at most.
func spark(x lab.Track) string {
	const most = 40
	bars := []rune("▁▂▃▄▅▆▇█")
	points := x.Points[max(0, len(x.Points)-most):]
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		lo, hi = min(lo, p.Value), max(hi, p.Value)
	}
	var b strings.Builder
	for _, p := range points {
		i := 3
		if hi > lo {
			i = int((p.Value - lo) / (hi - lo) * float64(len(bars)-1))
		}
		b.WriteRune(bars[i])
	}
	return b.String()
}

func historyText(w io.Writer, h lab.History, o Options) error {
	t := newTale(h)
	opening := section{intro: []string{t.title(), t.subject() + ". " + t.summary()}}
	var moves section
	if moved := t.moved(); len(moved) > 0 {
		moves.title = "What moved, the newest first"
		for _, x := range moved {
			moves.list = append(moves.list, fmt.Sprintf("%s %s: %s", mark(x), t.at(x), strings.Join(t.says(x), "; ")))
		}
	}
	head := []string{"step", "clients"}
	if t.several {
		head = append(head, "variant")
	}
	all := &table{head: append(head, "runs", "first", "last", "least", "most", "over the runs"), fixed: len(head)}
	for _, x := range t.Tracks {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, p := range x.Points {
			lo, hi = min(lo, p.Value), max(hi, p.Value)
		}
		cells := plain(t.step(x), strconv.Itoa(x.Level.Clients))
		if t.several {
			cells = append(cells, plain(clean(x.Name))...)
		}
		n := len(x.Points)
		all.rows = append(all.rows, row{cells: append(cells, plain(strconv.Itoa(n), t.value(x.Points[0].Value), t.value(x.Points[n-1].Value), t.value(lo), t.value(hi), spark(x)+" "+mark(x))...)})
	}
	doubts := section{title: "Not the same in all runs, and what is not followed"}
	for _, d := range h.Doubts {
		doubts.list = append(doubts.list, clean(d))
	}
	p := &printer{w: w}
	for i, s := range []section{opening, moves, {title: "Every level", table: all}, doubts} {
		if len(s.intro)+len(s.list) == 0 && (s.table == nil || len(s.table.rows) == 0) {
			continue
		}
		if i > 0 {
			p.line("")
		}
		s.print(p, o)
	}
	return p.err
}

// historyCSV writes one row per point. change is step or drift where one begins, spike
// where a point stands out alone; values are logarithms of what kind says.
func historyCSV(w io.Writer, h lab.History) error {
	out := newCSV(w)
	out.Write([]string{
		"experiment", "workload", "step", "group", "clients", "track", "run", "started", "build", "config", "engine", "copy", "version",
		"kind", "value", "lo", "hi", "ratio_or_qps", "blocks", "verdict", "change", "before", "after", "p",
	})
	kind := "ratio"
	if !h.Ratio {
		kind = "qps"
	}
	number := func(x *float64) string {
		if x == nil {
			return ""
		}
		return csvNumber(*x)
	}
	for _, t := range h.Tracks {
		for i, p := range t.Points {
			r := h.Runs[p.Run]
			row := []string{h.Name, t.Level.Step.Workload, t.Level.Step.Name, string(t.Group), strconv.Itoa(t.Level.Clients), t.Name, strconv.FormatInt(r.ID, 10), r.Started.UTC().Format(time.RFC3339)}
			row = append(row, csvVariant(p.Variant)...)
			row = append(row, p.Version, kind, csvNumber(p.Value), number(p.Lo), number(p.Hi), csvNumber(math.Exp(p.Value)), strconv.Itoa(p.Blocks), string(p.Verdict))
			out.Write(append(row, csvChange(t, i)...))
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write history of %s as CSV: %w", h.Name, err)
	}
	return nil
}

func csvChange(t lab.Track, point int) []string {
	for _, c := range t.Changes {
		if c.At != point {
			continue
		}
		what := "step"
		if c.To > c.At {
			what = "drift"
		}
		return []string{what, csvNumber(c.Before), csvNumber(c.After), csvNumber(c.P)}
	}
	if slices.Contains(t.Spikes, point) {
		return []string{"spike", "", "", ""}
	}
	return []string{"", "", "", ""}
}
