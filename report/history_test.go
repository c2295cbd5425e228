package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// past is a history of two tracks: one with a step down at the seventh run, one with a
// spike.
func past() lab.History {
	base := lab.Variant{Build: "mariadb@10.11", Config: "default", Engine: "InnoDB"}
	night := lab.Variant{Build: "nightly", Config: "default", Engine: "InnoDB"}
	h := lab.History{Name: "nightly", Ratio: true, Base: base, Alpha: 0.01, Doubts: []string{"kernels differ: 6.1 (run 1); 6.8 (run 2)"}}
	q := lab.Track{Name: night.String(), Level: lab.Level{Step: lab.Step{Workload: "sysbench", Name: "point-query"}, Clients: 4}, Group: lab.Point}
	s := q
	s.Level.Step.Name = "scan"
	for i := range 10 {
		h.Runs = append(h.Runs, lab.HistoryRun{ID: int64(i + 1), Started: time.Date(2026, 11, 1+i, 2, 0, 0, 0, time.UTC), Base: base})
		v := 0.0
		if i >= 6 {
			v = -0.1
		}
		lo, hi := v-0.02, v+0.02
		q.Points = append(q.Points, lab.TrackPoint{Run: i, Variant: night, Version: fmt.Sprintf("12.0.%d", i), Value: v, Lo: &lo, Hi: &hi, Blocks: 9, Verdict: lab.Inconclusive})
		w := 0.0
		if i == 3 {
			w = 0.2
		}
		s.Points = append(s.Points, lab.TrackPoint{Run: i, Variant: night, Value: w, Blocks: 2})
	}
	q.Changes = []lab.Change{{At: 6, To: 6, Before: 0, After: -0.1, P: 0.001}}
	s.Spikes = []int{3}
	h.Tracks = []lab.Track{q, s}
	return h
}

func written(t *testing.T, format string, h lab.History) string {
	t.Helper()
	var b bytes.Buffer
	if err := History(&b, format, h, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHistoryText(t *testing.T) {
	want := `History of nightly: 10 runs, 2026-11-01 to 2026-11-10
Throughput relative to mariadb@10.11/default/InnoDB. 1 of 2 tracks moved; at most 0.02 are expected to if nothing changes.

What moved, the newest first
  ▼ point-query at 4 clients: −9.5 %, 1.000 → 0.905 from run 7 (2026-11-07, 12.0.6) on

Every level
step         clients  runs  first   last  least   most  over the runs
point-query  4          10  1.000  0.905  0.905  1.000   ██████▁▁▁▁ ▼
scan         4          10  1.000  1.000  1.000  1.221   ▁▁▁█▁▁▁▁▁▁

Not the same in all runs, and what is not followed
  kernels differ: 6.1 (run 1); 6.8 (run 2)
`
	if d := cmp.Diff(want, written(t, "text", past())); d != "" {
		t.Errorf("text (-want +got):\n%s", d)
	}
	few := past()
	for i := range few.Tracks {
		few.Tracks[i].Points, few.Tracks[i].Changes, few.Tracks[i].Spikes = few.Tracks[i].Points[:3], nil, nil
	}
	if got := written(t, "text", few); !strings.Contains(got, "Changes are looked for from 6 runs on; there are 3.") {
		t.Errorf("of three runs: %s", got)
	}
	if got := written(t, "text", lab.History{Name: "x"}); !strings.Contains(got, "There is nothing to follow") {
		t.Errorf("of no run: %s", got)
	}
}

// The page of a run has what moved up to it, and of very many tracks draws no others.
func TestPagePast(t *testing.T) {
	page := func(h lab.History) string {
		var b bytes.Buffer
		if err := HTML(&b, first(), Options{Past: h}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	got := page(past())
	for _, want := range []string{"10 runs up to this one", `<a href="#t0">point-query at 4 clients</a>: −9.5 %`, `aria-label="scan at 4 clients`, "kernels differ: 6.1 (run 1)"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	many := past()
	for range 100 {
		many.Tracks = append(many.Tracks, many.Tracks[1])
	}
	got = page(many)
	if strings.Contains(got, `aria-label="scan at 4 clients`) || !strings.Contains(got, `aria-label="point-query at 4 clients`) || !strings.Contains(got, "The 101 tracks that did not move are drawn by") {
		t.Error("of very many tracks, those that moved are not the ones that are drawn")
	}
	if got := page(lab.History{}); strings.Contains(got, `id="past"`) {
		t.Error("without earlier runs the page tells of them")
	}
}

// A drift, a trend and throughput itself have their own words.
func TestHistoryWords(t *testing.T) {
	h := past()
	h.Ratio = false
	for i := range h.Tracks[0].Points {
		h.Tracks[0].Points[i].Value += math.Log(20_000)
	}
	h.Tracks[0].Changes = []lab.Change{{At: 4, To: 8, Before: math.Log(20_000), After: math.Log(18_000)}}
	h.Tracks[1].Spikes, h.Tracks[1].Trend = nil, 0.05
	got := written(t, "text", h)
	for _, want := range []string{
		"Throughput itself, in operations per second",
		"▼ point-query at 4 clients: drifts by −10.0 %, 20000 → 18000, from run 5 (2026-11-05, 12.0.4) to run 9 (2026-11-09, 12.0.8)",
		"▲ scan at 4 clients: rises or falls all the time: +5.1 % from run 1 (2026-11-01) to run 10 (2026-11-10)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
}

func TestHistoryCSV(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(written(t, "csv", past()))).ReadAll()
	if err != nil || len(rows) != 1+2*10 {
		t.Fatalf("%d rows, %v; want a head and 20", len(rows), err)
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	r := rows[7]
	for name, want := range map[string]string{
		"run": "7", "started": "2026-11-07T02:00:00Z", "build": "nightly", "version": "12.0.6", "kind": "ratio", "value": "-0.1", "blocks": "9",
		"change": "step", "before": "0", "after": "-0.1", "p": "0.001", "verdict": "inconclusive",
	} {
		if r[at[name]] != want {
			t.Errorf("%s is %q, want %q", name, r[at[name]], want)
		}
	}
	if s := rows[14]; s[at["change"]] != "spike" || s[at["lo"]] != "" {
		t.Errorf("the spike's row is %q", s)
	}
}

func TestHistoryJSON(t *testing.T) {
	var got struct {
		Schema string `json:"schema"`
		lab.History
	}
	if err := json.Unmarshal([]byte(written(t, "json", past())), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(past(), got.History); d != "" || got.Schema != HistorySchema {
		t.Errorf("schema %q; JSON (-want +got):\n%s", got.Schema, d)
	}
}

// The page is well-formed, needs no network and no script, and names that are code stay
// text.
func TestHistoryHTML(t *testing.T) {
	h := past()
	evil := `<script>alert("x")</script>`
	h.Name, h.Tracks[0].Name, h.Tracks[0].Points[6].Version, h.Tracks[1].Level.Step.Name, h.Doubts[0] = evil, evil, evil, evil, evil
	page := written(t, "html", h)
	if strings.Contains(strings.ToLower(page), "<script") || strings.Contains(page, "http://") || strings.Contains(page, "https://") || strings.Contains(page, "ZgotmplZ") {
		t.Error("the page has a script, or an address")
	}
	if n := strings.Count(page, `class="dot`); n != 20 { // no circles: the style sheet sets the height of those
		t.Errorf("%d dots, want 20", n)
	}
	if strings.Count(page, `class="dot cut"`) != 1 || strings.Count(page, `class="dot spike"`) != 1 {
		t.Error("changes and spikes are not marked")
	}
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
	}
	if err := History(io.Discard, "pdf", h, Options{}); err == nil {
		t.Error("format pdf is written")
	}
}
