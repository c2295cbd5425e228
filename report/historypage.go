package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"backslide/lab"
)

// Size of a track's chart, and what it shows at least: so that noise does not look like
// much.
const (
	chartWidth  = 360
	chartHeight = 72
	chartEdge   = 6
	chartLeast  = 0.05 // log-ratio up and down
)

// historyPage is what its template draws.
type historyPage struct {
	head
	Subtitle string
	Large    bool
	Moves    movesPart
	Runs     []runPart
}

// movesPart is what moved over the runs, and how levels went.
type movesPart struct {
	Summary string
	Moved   []movedPart
	Width   int
	Height  int
	Several bool
	Tracks  []trackPart
	Doubts  []string
}

type movedPart struct{ ID, Mark, Class, Where, What string }

type runPart struct{ ID, Started, Base string }

type trackPart struct {
	ID      string
	Step    string
	Clients int
	Name    string
	Mark    string
	Class   string
	First   string
	Last    string
	Says    []string
	Middle  string // where no difference is, or the mean
	Line    string // SVG path
	Bars    string // SVG path of intervals
	Levels  string // SVG path of the levels between changes
	Dots    []dotPart
	Label   string // for those who do not see the chart
}

type dotPart struct{ X, Y, Text, Class string }

// historyHTML writes one self-contained page without a script.
func historyHTML(w io.Writer, h lab.History) error {
	t := newTale(h)
	name := "History of " + clean(h.Name)
	top, err := newHead(name, false)
	if err != nil {
		return err
	}
	p := historyPage{
		head: top, Subtitle: strings.TrimPrefix(t.title(), name+": ") + " · " + t.subject(), Moves: t.moves(h.Tracks), Large: len(h.Tracks) > 200,
	}
	for _, r := range h.Runs {
		p.Runs = append(p.Runs, runPart{strconv.FormatInt(r.ID, 10), r.Started.UTC().Format("2006-01-02 15:04 UTC"), clean(r.Base.String())})
	}
	if err := render(w, "history.html", p, false); err != nil {
		return fmt.Errorf("write page of %s: %w", h.Name, err)
	}
	return nil
}

// moves tells what moved, and draws the tracks that are given.
func (t tale) moves(drawn []lab.Track) movesPart {
	p := movesPart{Summary: t.summary(), Width: chartWidth, Height: chartHeight, Several: t.several}
	type place struct {
		name  string
		level lab.Level
	}
	id := map[place]string{}
	for i, x := range drawn {
		part := t.trackPart(x, fmt.Sprintf("t%d", i))
		id[place{x.Name, x.Level}] = part.ID
		p.Tracks = append(p.Tracks, part)
	}
	for _, x := range t.moved() {
		p.Moved = append(p.Moved, movedPart{id[place{x.Name, x.Level}], mark(x), moveClass(x), t.at(x), strings.Join(t.says(x), "; ")})
	}
	for _, d := range t.Doubts {
		p.Doubts = append(p.Doubts, clean(d))
	}
	return p
}

// pastPart is the section of a run's page on the runs before it.
type pastPart struct {
	About  string
	Closed bool
	Fold   string
	Moves  movesPart
}

const mostTracks = 60 // that a run's page draws beside those that moved

// newPast arranges the runs up to this one. Empty without an earlier one. Of very many
// tracks, those that did not move are left to a page of their own.
func newPast(h lab.History) pastPart {
	if len(h.Runs) < 2 {
		return pastPart{}
	}
	t := newTale(h)
	drawn := h.Tracks
	p := pastPart{About: fmt.Sprintf("%s. %s up to this one.", t.subject(), sentenceCase(count(len(h.Runs), "run")))}
	if len(drawn) > mostTracks {
		drawn = t.moved()
		p.About += fmt.Sprintf(" The %d tracks that did not move are drawn by `backslide history %s -o history.html`.", len(h.Tracks)-len(drawn), clean(h.Name))
	}
	p.Moves = t.moves(drawn)
	p.Fold, p.Closed = count(len(drawn), "track"), len(drawn) > 12
	return p
}

func moveClass(x lab.Track) string {
	switch mark(x) {
	case "▼":
		return string(regressed)
	case "▲":
		return string(improved)
	}
	return ""
}

// trackPart draws a track. Ratios are drawn around no difference, throughput around its
// mean.
func (t tale) trackPart(x lab.Track, id string) trackPart {
	n := len(x.Points)
	p := trackPart{
		ID: id, Step: t.step(x), Clients: x.Level.Clients, Name: clean(x.Name), Mark: strings.TrimSpace(mark(x)), Class: moveClass(x), Says: t.says(x),
		First: t.value(x.Points[0].Value), Last: t.value(x.Points[n-1].Value),
	}
	middle := 0.0
	if !t.Ratio {
		for _, q := range x.Points {
			middle += q.Value / float64(n)
		}
	}
	limit := chartLeast
	for _, q := range x.Points {
		limit = max(limit, 1.05*math.Abs(q.Value-middle))
	}
	limit = min(limit, 2)
	at := func(i int, v float64) (string, string) {
		px := chartEdge + float64(chartWidth-2*chartEdge)*(float64(i)+0.5)/float64(n)
		py := chartHeight/2 - (chartHeight/2-chartEdge)*max(-1, min(1, (v-middle)/limit))
		return strconv.FormatFloat(px, 'f', 1, 64), strconv.FormatFloat(py, 'f', 1, 64)
	}
	var line, bars, levels strings.Builder
	for i, q := range x.Points {
		px, py := at(i, q.Value)
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&line, "%s%s %s", command, px, py)
		if q.Lo != nil && q.Hi != nil {
			_, lo := at(i, *q.Lo)
			_, hi := at(i, *q.Hi)
			fmt.Fprintf(&bars, "M%s %sV%s", px, lo, hi)
		}
		p.Dots = append(p.Dots, dotPart{X: px, Y: py, Text: t.when(x, i) + ": " + t.value(q.Value), Class: dotClass(x, i)})
	}
	from := 0
	for _, c := range x.Changes {
		line := func(a, b int, v float64) {
			x1, y := at(a, v)
			x2, _ := at(max(a, b-1), v)
			fmt.Fprintf(&levels, "M%s %sH%s", x1, y, x2)
		}
		line(from, c.At, c.Before)
		from = min(c.To, n-1)
	}
	if k := len(x.Changes); k > 0 {
		x1, y := at(from, x.Changes[k-1].After)
		x2, _ := at(n-1, x.Changes[k-1].After)
		fmt.Fprintf(&levels, "M%s %sH%s", x1, y, x2)
	}
	p.Line, p.Bars, p.Levels = line.String(), bars.String(), levels.String()
	_, p.Middle = at(0, middle)
	p.Label = fmt.Sprintf("%s: %s in the first run, %s in the last", t.at(x), p.First, p.Last)
	if len(p.Says) > 0 {
		p.Label += "; " + strings.Join(p.Says, "; ")
	}
	return p
}

// dotClass marks where a change begins, and a spike.
func dotClass(x lab.Track, point int) string {
	for _, c := range x.Changes {
		if c.At == point {
			return "cut"
		}
	}
	for _, s := range x.Spikes {
		if s == point {
			return "spike"
		}
	}
	return ""
}
