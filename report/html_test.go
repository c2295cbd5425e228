package report

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"backslide/lab"
)

func html(t *testing.T, s lab.Summary) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, s, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hostile is the first summary with markup in every text that comes from outside.
func hostile() lab.Summary {
	const evil = `<script>alert(1)</script>"'` + "`" + `-->]]></style><img src=x onerror=alert(1)>` + "\u202e\u061c\u2066\u200f\x1b[31m{{.}}${x}</svg>"
	s := first()
	name := func(v *lab.Variant) { v.Build, v.Config, v.Engine = evil+v.Build, evil+v.Config, evil+v.Engine }
	level := func(l *lab.Step) { l.Workload, l.Name = evil+l.Workload, evil+l.Name }
	sides := map[string]*lab.Side{}
	for _, v := range s.Run.Variants {
		side := s.Run.Sides[v.String()]
		name(&v)
		sides[v.String()] = side
		side.Build = lab.Build{Name: evil, Version: evil, Origin: evil, ID: evil, Flags: evil, Family: lab.Family(evil)}
		side.Engine, side.Ignored = evil, []string{evil}
		side.Config = lab.Config{Name: evil, Options: []lab.Option{{Name: evil, Value: evil}}, Preload: evil, Launcher: []string{evil}, Env: []string{evil}}
		side.Settings[evil] = v.Build
	}
	s.Run.Sides = sides
	name(&s.Run.Base)
	variants := append([]lab.Variant(nil), s.Run.Variants...)
	for i := range variants {
		name(&variants[i])
	}
	s.Run.Variants = variants
	levels := append([]lab.LevelPlan(nil), s.Run.Levels...)
	for i := range levels {
		level(&levels[i].Level.Step)
		levels[i].Group += lab.Group(evil)
	}
	s.Run.Levels = levels
	for i := range s.Comparisons {
		c := &s.Comparisons[i]
		name(&c.Base)
		name(&c.Candidate)
		level(&c.Level.Step)
		c.Group += lab.Group(evil)
		c.Notes = append(c.Notes, evil)
	}
	for i := range s.Cells {
		name(&s.Cells[i].Cell.Variant)
		level(&s.Cells[i].Cell.Step)
		s.Cells[i].Group += lab.Group(evil)
	}
	for i := range s.Failures {
		name(&s.Failures[i].Cell.Variant)
		level(&s.Failures[i].Cell.Step)
		s.Failures[i].Err = evil + "\n" + s.Failures[i].Err
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		name(&g.Candidate)
		g.Group += lab.Group(evil)
		g.Test.Notes = append(g.Test.Notes, evil)
	}
	for i := range s.Noise.Pairs {
		p := &s.Noise.Pairs[i]
		name(&p.Candidate)
		level(&p.Level.Step)
		p.Notes, p.Advice = append(p.Notes, evil), evil
	}
	for i := range s.Noise.Drops {
		name(&s.Noise.Drops[i].Variant)
	}
	s.Noise.Advice, s.AA.Text = evil, evil
	s.Events = append(s.Events, lab.Event{Block: 1, Variant: lab.Variant{Build: evil}, Text: evil})
	s.Footnotes = append(s.Footnotes, evil)
	s.Run.Name, s.Run.Freezer, s.Run.Experiment.File, s.Run.Experiment.Name = evil, evil, evil, evil
	s.Run.Host = lab.Host{Kernel: evil, CPU: evil, Governor: evil, Virtual: evil, FileSystem: evil, Client: evil, THP: evil, Warnings: []string{evil}}
	return s
}

func TestPageEscapes(t *testing.T) {
	got := html(t, hostile())
	got = strings.ReplaceAll(got, inlined(t, got), "") // TestPageFigures reads that
	for _, bad := range []string{"<script>alert", "<img", "onerror=alert(1)>", "\x1b", "\u202e"} {
		if i := strings.Index(got, bad); i >= 0 {
			t.Errorf("the page holds %q: …%s…", bad, got[max(0, i-80):i+80])
		}
	}
	if n := strings.Count(got, "<script"); n != 2 {
		t.Errorf("%d script elements, want 2: figures and the page's own", n)
	}
	if n := strings.Count(got, "ZgotmplZ"); n != 0 {
		t.Errorf("html/template refused %d values", n)
	}
}

// inlined returns the figures that stand in a page.
func inlined(t *testing.T, page string) string {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="figures">(.*?)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no figures in the page")
	}
	return m[1]
}

func TestPageFigures(t *testing.T) {
	want := hostile()
	got, err := ReadJSON(strings.NewReader(inlined(t, html(t, want))))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Comparisons) != len(want.Comparisons) || got.Run.Name != want.Run.Name {
		t.Errorf("figures have %d comparisons of %q, want %d of %q", len(got.Comparisons), got.Run.Name, len(want.Comparisons), want.Run.Name)
	}
	for i, c := range got.Comparisons {
		if w := want.Comparisons[i]; len(c.Blocks) != len(w.Blocks) || abs(c.LogRatio-w.LogRatio) > 1e-6 {
			t.Fatalf("%v: %d blocks, log-ratio %v; want %d, %v", c.Level, len(c.Blocks), c.LogRatio, len(w.Blocks), w.LogRatio)
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }

func TestPageWithoutAnything(t *testing.T) {
	alone := first()
	alone.Comparisons, alone.Failures = nil, nil
	alone.Run.Variants = alone.Run.Variants[:1]
	alone.Cells = alone.Cells[:1]
	for name, tt := range map[string]struct {
		s    lab.Summary
		want string
	}{
		"zero":  {lab.Summary{}, "nothing to show yet"},
		"alone": {alone, "nothing to compare it with"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := html(t, tt.s); !strings.Contains(got, tt.want) {
				t.Errorf("the page does not say %q", tt.want)
			}
			var b bytes.Buffer
			if err := Text(&b, tt.s, Options{}); err != nil || !strings.Contains(b.String(), tt.want) {
				t.Errorf("error %v, and the text does not say %q:\n%s", err, tt.want, b.String())
			}
			for _, f := range Formats() {
				if err := Write(&b, f, tt.s, Options{}); err != nil {
					t.Errorf("%s: %v", f, err)
				}
			}
		})
	}
}

// huge is 42 steps × 20 variants × 6 numbers of clients, 20 blocks each.
func huge() lab.Summary {
	sh := shape{blocks: 20}
	for i := range 20 {
		sh.variants = append(sh.variants, lab.Variant{Build: "mysql@8.0." + strings.Repeat("1", 1+i%3) + string(rune('a'+i)), Config: "default", Engine: "InnoDB"})
	}
	groups := lab.Groups()
	for i := range 42 {
		for _, n := range []int{1, 2, 4, 8, 16, 32} {
			sh.levels = append(sh.levels, lab.LevelPlan{
				Level: lab.Level{Step: lab.Step{Workload: "sysbench", Name: "range-notcovered-si_range=" + string(rune('A'+i%26)) + string(rune('a'+i/26))}, Clients: n},
				Group: groups[i*len(groups)/42],
			})
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	s := invent(sh, rng, func(lab.Variant, lab.Level, lab.Metric) effect { return effect{0.06 * rng.NormFloat64(), 0.03} })
	inventGroups(&s)
	inventNoise(&s)
	for i := range s.Noise.Pairs {
		s.Noise.Pairs[i].Advice = fmt.Sprintf("slices leave %.2f %%, starts of a server differ by 1.1 %%: 14 slices per block instead of 8", rng.Float64())
	}
	s.Lamps = lab.Lamps{Tests: 19 * (42*6 + 5*7), Alpha: 0.01, Level: 0.05, FalseAmbers: 54.5}
	for _, side := range s.Run.Sides {
		for i := range 600 {
			side.Settings["some_server_variable_"+string(rune('a'+i%26))+strings.Repeat("x", i/26)] = []string{"ON", "OFF", "134217728"}[rng.IntN(3)]
		}
	}
	return s
}

// TestHuge holds the page to 6 MB, and to open within 2 s on a machine of its own; a
// busy one, and the race detector, are given more.
func TestHuge(t *testing.T) {
	s := huge()
	if n := len(s.Comparisons); n != 42*19*6*7 {
		t.Fatalf("%d comparisons", n)
	}
	began := time.Now()
	page := html(t, s)
	took := time.Since(began)
	t.Logf("%d comparisons: %.1f MB in %s", len(s.Comparisons), float64(len(page))/1e6, took)
	if len(page) > 6e6 {
		t.Errorf("the page has %d bytes, want at most 6 MB", len(page))
	}
	if limit := time.Minute; took > limit {
		t.Errorf("the page took %s, want at most %s", took, limit)
	}
	b := openPage(t, browser(t), page)
	complete := eval[float64](b, "performance.getEntriesByType('navigation')[0].loadEventEnd")
	t.Logf("complete after %.0f ms", complete)
	if complete > 10_000 {
		t.Errorf("complete after %.0f ms, want at most 10 s", complete)
	}
	if got := len(b.column("step")); got != firstRows {
		t.Errorf("%d rows are shown at first, want %d", got, firstRows)
	}
	if got := eval[int](b, "document.querySelectorAll('.matrix:not(.groups) td a').length"); got != 42*19*6 {
		t.Errorf("%d cells of matrices without a script, want %d", got, 42*19*6)
	}
	began = time.Now()
	b.click("[...document.querySelectorAll('.matrix:not(.groups) td a')].at(-1)") // its row is not there yet
	b.wait("document.querySelector('tr:target')?.id === 'c4787'")
	t.Logf("led to a compressed row after %s", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	b.click(differenceButton)
	b.wait(differenceButton + ".closest('th').ariaSort === 'ascending'")
	t.Logf("sorted after %s", time.Since(began).Round(time.Millisecond))
	onPaper := func() string {
		b.view(1047, 718, "paper")
		defer b.view(1280, 900, "light")
		return eval[string](b, `['.scroll', '.paper'].map(s => getComputedStyle(document.querySelector('#levels ' + s)).display).join(' ')`)
	}
	if got := onPaper(); got != "none block" {
		t.Errorf("on paper comparisons that nobody asked for, and the note that they are left out, are %q, want none block", got)
	}
	b.click("document.getElementById('all')")
	if got := onPaper(); got != "block none" {
		t.Errorf("on paper comparisons that were asked for, and the note that they are left out, are %q, want block none", got)
	}
	if got := len(b.column("step")); got != 42*19*6 {
		t.Errorf("%d rows are shown after all were asked for, want %d", got, 42*19*6)
	}
	b.click("document.querySelector('#costs summary')")
	b.wait("document.querySelectorAll('.costs tbody tr').length === 42*20*6")
	b.shot("huge", "main")
	b.clean()
}
