package report

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"backslide/lab"
)

// drawn is a flame graph as the stacks of two servers give it.
func drawn(t *testing.T) []byte {
	t.Helper()
	svg, err := os.ReadFile(filepath.Join("..", "probe", "stacks", "testdata", "candidate.svg"))
	if err != nil {
		t.Fatal(err)
	}
	return svg
}

func pageWith(t *testing.T, s lab.Summary, whys ...Why) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, s, Options{Whys: whys}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hostileWhy is an explanation with markup in everything that comes from outside.
func hostileWhy() lab.Explanation {
	const evil = `<script>alert(1)</script>"'` + "`" + `</style><img src=x onerror=alert(1)>` + "\u202e\x1b[31m{{.}}</svg>"
	e := explanation()
	e.Headline += evil
	e.Comparison.Level.Step.Name, e.Comparison.Candidate.Build = evil, evil
	e.Comparison.Notes, e.Doubts = []string{evil}, []string{evil}
	for _, cs := range [][]lab.Component{e.Budget, e.Beside, e.Functions, e.Spins, e.Events, e.Counters, e.Statements, e.Digests, e.Tables, e.Others} {
		for i := range cs {
			cs[i].Name += evil
			cs[i].Note = evil
		}
	}
	e.Beside[0].Unit = evil
	e.Calls.Calls[0].Total.Name += evil
	for i := range e.Causes {
		e.Causes[i].What += evil
		e.Causes[i].Evidence = []string{evil}
	}
	e.Plans[0] = lab.PlanChange{Statement: evil, Base: evil + "\n" + evil, Candidate: evil, Changes: []string{evil}, Flips: []string{evil}}
	for i := range e.Settings {
		e.Settings[i].Name, e.Settings[i].Base, e.Settings[i].Candidate, e.Settings[i].Known = evil, evil, evil, evil
	}
	e.Cost[0].Instrument = evil
	return e
}

func TestExplainEscaped(t *testing.T) {
	page := pageWith(t, first(), Why{hostileWhy(), []byte(`<svg><text>&lt;script>alert(1)&lt;/script></text></svg>`)})
	for _, bad := range []string{"<script>alert", "<img", "\u202e", "\x1b"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if n := strings.Count(page, "<script"); n != 2 {
		t.Errorf("the page has %d scripts, want its own 2", n)
	}
	for _, format := range []string{"text", "markdown"} {
		var b bytes.Buffer
		if err := Explain(&b, format, hostileWhy(), Options{Width: 100}); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"\u202e", "\x1b"} {
			if strings.Contains(b.String(), bad) {
				t.Errorf("%s contains %q", format, bad)
			}
		}
		if format == "markdown" && strings.Contains(b.String(), "<script") {
			t.Error("Markdown contains a script")
		}
	}
}

func TestFlame(t *testing.T) {
	ok, err := flame(drawn(t))
	if err != nil {
		t.Fatal(err)
	}
	if n, want := strings.Count(string(ok), "<rect"), bytes.Count(drawn(t), []byte("<rect")); n != want {
		t.Errorf("%d rectangles are left of %d", n, want)
	}
	for _, bad := range []string{
		`<svg><script>alert(1)</script></svg>`,
		`<svg><a href="javascript:alert(1)"><rect/></a></svg>`,
		`<svg><foreignObject></foreignObject></svg>`,
		`<svg><image href="http://example.org/x.png"/></svg>`,
		`<svg><g><svg></svg></g></svg>`,
		`<svg></svg><svg></svg>`,
		`<p>no drawing</p>`,
		`<svg><g></svg></g>`,
		`<svg>`,
		``,
		"<svg>" + strings.Repeat("<g>", 100),
	} {
		if got, err := flame([]byte(bad)); err == nil {
			t.Errorf("%q gave %q", bad, got)
		}
	}
	got, err := flame([]byte(`<!DOCTYPE x><!-- c --><svg onload="alert(1)" style="x" viewBox="0 0 1 1"><rect fill="url(http://example.org)" stroke="url(#a-1)" x="1"/><title>a` + "\n" + `&lt;b></title></svg>`))
	if want := `<svg viewBox="0 0 1 1"><rect stroke="url(#a-1)" x="1"></rect><title>a` + "\n" + `&lt;b&gt;</title></svg>`; err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
}

func FuzzFlame(f *testing.F) {
	f.Add(`<svg viewBox="0 0 1 1"><g><title>a</title><rect x="1" fill="#fff"/><text>b</text></g></svg>`)
	f.Fuzz(func(t *testing.T, svg string) {
		got, err := flame([]byte(svg))
		if err != nil {
			return
		}
		for rest := string(got); ; {
			_, after, more := strings.Cut(rest, "<")
			if !more {
				break
			}
			rest = after
			name := strings.FieldsFunc(strings.TrimPrefix(after, "/"), func(r rune) bool { return r == ' ' || r == '>' })
			if len(name) == 0 {
				t.Fatalf("%q became %q", svg, got)
			}
			if _, known := flameParts()[name[0]]; !known {
				t.Fatalf("%q became %q", svg, got)
			}
		}
	})
}

func testWhy(t *testing.T, browser context.Context) {
	b := openPage(t, browser, pageWith(t, first(), Why{explanation(), drawn(t)}))
	b.shot("why", "why0")
	for i, part := range []string{"bars", "amounts", "flame", "sides"} {
		b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector('#why0 .%s').id = 'part%d'`, part, i)))
		b.shot("why-"+part, fmt.Sprintf("part%d", i))
	}
	if got := eval[string](b, "document.querySelector('.causes .cause').textContent"); !strings.HasPrefix(got, "61 %server CPU, above all in row_search_mvcc") {
		t.Errorf("the first cause reads %q", got)
	}
	// The bars are as long as the times that they stand for.
	long := func(i int) float64 {
		return eval[float64](b, fmt.Sprintf("[...document.querySelectorAll('.bars svg')[%d].querySelectorAll('rect')].reduce((s, r) => s + r.getBoundingClientRect().width, 0)", i))
	}
	if base, cand := long(0), long(1); base/cand < 0.60 || base/cand > 0.63 {
		t.Errorf("bars of %.0f and %.0f pixels for 990 and 1600 µs", base, cand)
	}
	if got := eval[string](b, "[...document.querySelectorAll('mark')].map(m => m.textContent).join('|')"); got != "sbtest1 range k(1)|sbtest1 index PRIMARY" {
		t.Errorf("marked lines of plans: %q", got)
	}
	if got := eval[int](b, "document.querySelectorAll('.flame svg rect').length"); got < 10 {
		t.Errorf("%d rectangles in the flame graph", got)
	}
	b.view(1280, 900, "dark")
	b.shot("why-dark", "why0")
	b.view(390, 844, "light")
	if w := eval[int](b, "document.documentElement.scrollWidth"); w > 390 {
		t.Errorf("on a phone the page is %d pixels wide, want 390", w)
	}
	b.shot("why-phone", "why0")
	b.clean()

	b = openPage(t, browser, pageWith(t, first(), Why{Explanation: hostileWhy()}))
	if got := eval[int](b, "document.images.length + document.scripts.length"); got != 2 {
		t.Errorf("%d images and scripts, want the page's own 2", got)
	}
	b.view(390, 844, "light")
	if w := eval[int](b, "document.documentElement.scrollWidth"); w > 390 {
		t.Errorf("on a phone the hostile page is %d pixels wide, want 390", w)
	}
	b.clean()
}

// TestExplainTallies: the page says of waits how often and how long in all, as
// Performance Schema's COUNT_STAR and SUM_TIMER_WAIT do, and of functions it does not.
func TestExplainTallies(t *testing.T) {
	page := pageWith(t, first(), Why{Explanation: explanation()})
	_, waits, _ := strings.Cut(page, "<summary>Waits of the clients&#39; threads, µs/op</summary>")
	waits, _, _ = strings.Cut(waits, "</table>")
	for _, want := range []string{
		`<th scope="col" class="num">total s, base</th>`, `<th scope="col" class="num">total times, candidate</th>`,
		// 1.2 and 4.1 times per operation; 30000 operations of 22 µs, and 20000 of 109 µs.
		`<td class="num">×4.95</td><td class="num">1.20</td><td class="num">4.10</td><td class="num">×3.42</td><td class="num">0.660</td><td class="num">2.18</td><td class="num">36000</td><td class="num">82000</td>`,
	} {
		if !strings.Contains(waits, want) {
			t.Errorf("the table of waits has no %s:\n%s", want, waits)
		}
	}
	_, functions, _ := strings.Cut(page, "<summary>CPU by function, µs/op</summary>")
	if functions, _, _ = strings.Cut(functions, "</table>"); functions == "" || strings.Contains(functions, "total s") {
		t.Errorf("the table of functions has totals, or is missing:\n%s", functions)
	}
}
