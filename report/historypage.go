package report

import (
	"fmt"
	"html/template"
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
	Policy   string
	Style    template.CSS
	Title    string
	Subtitle string
	Summary  string
	Moved    []movedPart
	Width    int
	Height   int
	Several  bool
	Tracks   []trackPart
	Runs     []runPart
	Doubts   []string
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
	style, err := assets.ReadFile("html/style.css")
	if err != nil {
		return err
	}
	t, err := template.New("history.html").ParseFS(assets, "html/history.html")
	if err != nil {
		return fmt.Errorf("write page of %s: %w", h.Name, err)
	}
	s := newTale(h)
	p := historyPage{
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'unsafe-inline'", Style: template.CSS(style),
		Title: "History of " + clean(h.Name), Subtitle: strings.TrimPrefix(s.title(), "History of "+clean(h.Name)+": ") + " · " + s.subject(), Summary: s.summary(),
		Width: chartWidth, Height: chartHeight, Several: s.several,
	}
	id := map[string]string{}
	for i, x := range h.Tracks {
		part := s.trackPart(x, fmt.Sprintf("t%d", i))
		id[x.Name+"\x00"+x.Level.String()] = part.ID
		p.Tracks = append(p.Tracks, part)
	}
	for _, x := range s.moved() {
		p.Moved = append(p.Moved, movedPart{id[x.Name+"\x00"+x.Level.String()], mark(x), moveClass(x), s.at(x), strings.Join(s.says(x), "; ")})
	}
	for _, r := range h.Runs {
		p.Runs = append(p.Runs, runPart{strconv.FormatInt(r.ID, 10), r.Started.UTC().Format("2006-01-02 15:04 UTC"), clean(r.Base.String())})
	}
	for _, d := range h.Doubts {
		p.Doubts = append(p.Doubts, clean(d))
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("write page of %s: %w", h.Name, err)
	}
	return nil
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
