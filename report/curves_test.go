package report

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"backslide/lab"
)

// releases is six releases at four numbers of clients, ever slower.
func releases() lab.Summary {
	sh := shape{blocks: 12}
	for _, b := range []string{"mysql@5.6.51", "mysql@5.7.44", "mysql@8.0.44", "mysql@8.4.7", "mysql@9.5.0", "mariadb@11.8.3-with-a-long-name"} {
		sh.variants = append(sh.variants, lab.Variant{Build: b, Config: "default", Engine: "InnoDB"})
	}
	for i, name := range []string{"point-query", "range-covered-pk", "read-only-100", "update-index"} {
		for _, n := range []int{1, 4, 16, 64} {
			sh.levels = append(sh.levels, lab.LevelPlan{Level: lab.Level{Step: lab.Step{Workload: "sysbench", Name: name}, Clients: n}, Group: lab.Groups()[1+i]})
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	return invent(sh, rng, func(v lab.Variant, l lab.Level, m lab.Metric) effect {
		i := strings.Index("567889m", v.Build[6:7]) // later is slower, less so at many clients
		return effect{-0.09*float64(max(i, 0)) + 0.02*float64(l.Clients)/16, 0.02}
	})
}

// TestCurves counts what is drawn, and looks at a point: at one client of four numbers the
// line begins at the left edge, and the largest rate lies a twentieth below the top.
func TestCurves(t *testing.T) {
	v := newView(releases(), lab.QPS)
	c := v.clientCurves()
	if len(c.Pictures) != 4 || len(c.Pictures[0].Lines) != 6 || len(c.Legend) != 6 {
		t.Fatalf("%d pictures, want one for each of 4 steps with a line for each of 6 variants", len(c.Pictures))
	}
	top := "8 "
	for _, p := range c.Pictures {
		highest := curveHeight * 1.0
		for _, l := range p.Lines {
			if !strings.HasPrefix(l.Path, "M44 ") || strings.Count(l.Path, "L") != 3 {
				t.Errorf("%s of %s: path %s, want four points from the left edge on", l.Name, p.Step, l.Path)
			}
			for _, at := range strings.FieldsFunc(l.Path, func(r rune) bool { return r == 'M' || r == 'L' }) {
				_, y, _ := strings.Cut(at, " ")
				highest = min(highest, number(t, y))
			}
		}
		// 8 + (1 − 1/1.05) · 120
		if highest < 13.6 || highest > 13.8 {
			t.Errorf("%s: the highest point is at %g, want 13.7 (top is at %s)", p.Step, highest, top)
		}
	}
	r := v.releaseCurves()
	if len(r.Pictures) != 4 || len(r.Pictures[0].Lines) != 4 || strings.Count(r.Pictures[0].Lines[0].Path, "L") != 5 || strings.Count(r.Pictures[0].Lines[0].Spans, "V") != 5 {
		t.Errorf("over releases: %d pictures, %+v; want 4 with 4 lines through 6 releases and 5 intervals", len(r.Pictures), r.Pictures[0].Lines[0])
	}
	if one := newView(first(), lab.QPS); len(one.releaseCurves().Pictures) != 0 {
		t.Error("a base and one candidate make a curve over releases")
	}
}

// TestSpreads looks at the bounds of a histogram, and at what of a large run is shown.
func TestSpreads(t *testing.T) {
	from, to, ok := shownBins([]lab.LatencyBin{{To: 1, Count: 1}, {To: 2, Count: 9990}, {To: 4, Count: 8}, {To: 1000, Count: 1}})
	if !ok || from != 1 || to != 2 {
		t.Errorf("bins from %g to %g, want 1 to 2, which hold 99.9 %%", from, to)
	}
	b := boxOf([]float64{10, 20, 30, 40, 50}, 10, 50)
	if b.Line != "M4 15H216" || b.Rect != "M57 7H163V23H57Z" || b.Half != "M110 4V26" { // 4 + quarter · 212
		t.Errorf("box %+v", *b)
	}
	if p := newView(releases(), lab.QPS).spreads(); len(p.Levels) != 16 || len(p.Levels[0].Rows) != 6 {
		t.Errorf("%d levels, want 4 steps at 4 numbers of clients", len(p.Levels))
	}
	if p := newView(huge(), lab.QPS).spreads(); len(p.Levels) > mostSpreads || len(p.Levels) == 0 || len(p.Levels[0].Rows) > 6 || !strings.Contains(p.About, "something was called") {
		t.Errorf("of a large run %d levels are shown: %s", len(p.Levels), p.About)
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	var x float64
	for i, part := range strings.SplitN(s, ".", 2) {
		scale := 1.0
		for _, c := range part {
			if i == 0 {
				x = 10*x + float64(c-'0')
				continue
			}
			scale /= 10
			x += scale * float64(c-'0')
		}
	}
	return x
}

// testCurves looks at the pictures in a browser, on a desktop and on a phone.
func testCurves(t *testing.T, browser context.Context) {
	b := open(t, browser, releases())
	b.do(openDetails())
	if n := eval[int](b, "document.querySelectorAll('svg.curve').length"); n != 8 {
		t.Errorf("%d pictures of curves, want 8", n)
	}
	for _, part := range []string{"clients", "releases", "spreads"} {
		b.shot("desktop-"+part, part+"-head")
	}
	b.view(1280, 900, "dark")
	b.shot("dark-curves", "clients-head")
	b.view(390, 844, "light")
	if w := eval[int](b, "document.documentElement.scrollWidth"); w > 390 {
		t.Errorf("on a phone the page is %d pixels wide, want 390", w)
	}
	for _, part := range []string{"clients", "releases", "spreads"} {
		b.shot("phone-"+part, part+"-head")
	}
	b.clean()
}

// testPast looks at how a run's page tells of the runs before it.
func testPast(t *testing.T, browser context.Context) {
	var page bytes.Buffer
	if err := HTML(&page, first(), Options{Past: past()}); err != nil {
		t.Fatal(err)
	}
	b := openPage(t, browser, page.String())
	b.shot("past-desktop", "past")
	b.view(390, 844, "light")
	if w := eval[int](b, "document.documentElement.scrollWidth"); w > 390 {
		t.Errorf("on a phone the page is %d pixels wide, want 390", w)
	}
	if h := eval[float64](b, "document.getElementById('t0').offsetHeight"); h > 150 {
		t.Errorf("on a phone a track is %v pixels high, want 150 at most", h)
	}
	b.shot("past-phone", "past")
	b.clean()
}

// testImported looks at the page of an import.
func testImported(t *testing.T, browser context.Context) {
	e := published()
	e.Doubts = append(e.Doubts, strings.Repeat("a/path/that/has/no/blanks", 10)) // it must not widen the page of a phone
	b := openPage(t, browser, estimatesIn(t, "html", e, Options{}))
	b.shot("import-desktop", "")
	b.view(390, 844, "light")
	if w := eval[int](b, "document.documentElement.scrollWidth"); w > 390 {
		t.Errorf("on a phone the page is %d pixels wide, want 390", w)
	}
	if w := eval[float64](b, "Math.min(...[...document.querySelectorAll('.est tbody th')].map(e => e.getBoundingClientRect().width))"); w < 90 {
		t.Errorf("on a phone a step has %v pixels for its name, want 90 at least", w)
	}
	b.shot("import-phone", "")
	b.view(1280, 900, "dark")
	b.shot("import-dark", "")
	b.clean()
}
