package report

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"backslide/lab"
)

// tab is a page open in a real Chromium, and what it complained of or asked for.
type tab struct {
	ctx       context.Context
	t         *testing.T
	downloads string // directory of what the page saves

	mu       sync.Mutex
	troubles []string
	requests []string
}

// browser starts a Chromium that lives as long as the test. Without one the test fails,
// unless it is short.
func browser(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a browser")
	}
	o := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.UserDataDir(t.TempDir()))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), o...)
	ctx, done := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("close the browser: %v", err)
		}
		done()
		stop()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium: %v; install it (apt-get install chromium), or leave this test out with -short", err)
	}
	return ctx
}

// open opens the page of a summary from a file in a tab of its own.
func open(t *testing.T, browser context.Context, s lab.Summary) *tab {
	t.Helper()
	return openPage(t, browser, html(t, s))
}

func openPage(t *testing.T, browser context.Context, html string) *tab {
	t.Helper()
	name := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(name, []byte(html), 0o644); err != nil {
		t.Fatal(err)
	}
	return visit(t, browser, "file://"+name)
}

func visit(t *testing.T, browser context.Context, url string) *tab {
	t.Helper()
	ctx, done := chromedp.NewContext(browser)
	t.Cleanup(done)
	b := &tab{ctx: ctx, t: t, downloads: t.TempDir()}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	b.view(1280, 900, "light")
	if _, err := chromedp.Call(ctx, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, DownloadPath: b.downloads,
	}); err != nil {
		t.Fatalf("say where downloads go: %v", err)
	}
	b.do(chromedp.Navigate(url), chromedp.WaitReady(chromedp.CSS("footer")))
	return b
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		b.troubles = append(b.troubles, fmt.Sprintf("log: %s %s", e.Entry.Level, e.Entry.Text))
	case *runtime.EventExceptionThrown:
		b.troubles = append(b.troubles, "exception: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.troubles = append(b.troubles, "console: "+string(e.Type))
	case *cdp.EventJavascriptDialogOpening:
		b.troubles = append(b.troubles, "dialog: "+e.Message)
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "file:") && !strings.HasPrefix(e.Request.URL, "data:") && !strings.HasPrefix(e.Request.URL, "blob:") {
			b.requests = append(b.requests, e.Request.URL)
		}
	}
}

// timed bounds one action.
func (b *tab) timed() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, 30*time.Second)
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := b.timed()
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("browser: %v", err)
	}
}

// get returns what an action gives.
func get[T any](b *tab, a chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := b.timed()
	defer cancel()
	out, err := chromedp.Run(ctx, a)
	if err != nil {
		b.t.Fatalf("browser: %v", err)
	}
	return out
}

// eval returns what a JavaScript expression gives.
func eval[T any](b *tab, js string) T {
	b.t.Helper()
	return get(b, chromedp.Evaluate[T](js))
}

// wait waits until a JavaScript expression is true.
func (b *tab) wait(js string) {
	b.t.Helper()
	for end := time.Now().Add(30 * time.Second); !eval[bool](b, "Boolean("+js+")"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("after 30 s it is still not true that %s", js)
		}
	}
}

// clean fails the test if the page complained or asked for anything.
func (b *tab) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range b.troubles {
		b.t.Errorf("page complains: %s", x)
	}
	for _, x := range b.requests {
		b.t.Errorf("page asks for %s", x)
	}
}

// view sets the window and the preferred colours: light, dark, or paper.
func (b *tab) view(width, height int64, scheme string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
	ctx, cancel := b.timed()
	defer cancel()
	media := "screen"
	if scheme == "paper" {
		media, scheme = "print", "light"
	}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		b.t.Fatalf("browser: prefer %s: %v", scheme, err)
	}
}

// shot keeps a picture of the window from an element on, or of the whole page, with -artifacts.
func (b *tab) shot(name, id string) {
	b.t.Helper()
	picture := chromedp.FullScreenshot(100)
	if id != "" {
		b.do(chromedp.Evaluate[chromedp.Void]("document.getElementById('" + id + "').scrollIntoView()"))
		picture = chromedp.CaptureScreenshot()
	}
	if err := os.WriteFile(filepath.Join(b.t.ArtifactDir(), name+".png"), get(b, picture), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// TestBrowser opens pages in a real Chromium. With -artifacts it keeps pictures of them.
func TestBrowser(t *testing.T) {
	chromium := browser(t)
	for name, test := range map[string]func(*testing.T, context.Context){
		"Page": testPage, "NoNetwork": testNoNetwork, "Sort": testSort, "Filter": testFilter,
		"Keyboard": testKeyboard, "Figures": testFigures, "Paper": testPaper, "Hostile": testHostile, "Why": testWhy, "Curves": testCurves, "Imported": testImported, "Past": testPast,
	} {
		t.Run(name, func(t *testing.T) { test(t, chromium) })
	}
}

// openDetails opens everything that is folded away.
func openDetails() chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void]("document.querySelectorAll('details').forEach(d => { d.open = true; })")
}

func testPage(t *testing.T, browser context.Context) {
	b := open(t, browser, first())
	b.shot("desktop", "")
	for _, part := range []string{"v0", "levels-head", "absolute-head", "costs-head", "noise-head", "setup-head"} {
		b.shot("desktop-"+part, part)
	}
	b.view(390, 844, "light")
	if w := eval[int](b, "document.documentElement.scrollWidth"); w > 390 {
		wide := eval[string](b, `[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll') && e.getBoundingClientRect().right > 391).map(e => e.tagName + '.' + e.className).join(' ')`)
		t.Errorf("on a phone the page is %d pixels wide, want 390: %s", w, wide)
	}
	b.shot("phone", "")
	b.shot("phone-top", "main")
	b.shot("phone-matrix", "v1")
	b.shot("phone-levels-head", "levels-head")
	b.shot("phone-noise-head", "noise-head")
	for head, wide := range map[string]string{"levels-head": "#level-table", "noise-head": ".noise"} {
		b.view(1280, 900, "light")
		if over := eval[int](b, `(e => e.scrollWidth - e.clientWidth)(document.querySelector('`+wide+`').parentElement)`); over > 0 {
			t.Errorf("on a desktop the table under %s is %d pixels too wide", head, over)
		}
	}
	b.view(390, 844, "light")
	light := eval[string](b, "getComputedStyle(document.body).backgroundColor")
	b.view(1280, 900, "dark")
	if dark := eval[string](b, "getComputedStyle(document.body).backgroundColor"); dark == light {
		t.Errorf("background is %s both light and dark", dark)
	}
	b.shot("dark-top", "main")
	b.shot("dark-levels-head", "levels-head")
	b.view(390, 844, "dark")
	b.shot("phone-dark-top", "main")
	b.view(1047, 718, "paper") // A4 landscape at 96 dots per inch, less its margins
	if w := eval[int](b, "document.documentElement.scrollWidth"); w > 1047 {
		t.Errorf("on paper the page is %d pixels wide, want 1047", w)
	}
	b.shot("paper-top", "main")
	b.shot("paper-levels-head", "levels-head")
	b.clean()
}

func testNoNetwork(t *testing.T, browser context.Context) {
	// Served over HTTP, so that a request relative to the page would be seen too.
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err := HTML(w, first(), Options{}); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	b := visit(t, browser, server.URL+"/report.html")
	b.do(chromedp.Sleep(200 * time.Millisecond))
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 1 {
		t.Errorf("the browser asked for %q, want the page alone", asked)
	}
}

// column returns the texts of a column of the visible rows of the table of comparisons.
func (b *tab) column(head string) []string {
	b.t.Helper()
	return eval[[]string](b, `(() => {
		const t = document.getElementById('level-table');
		const i = [...t.tHead.rows[0].cells].findIndex(c => c.textContent === '`+head+`');
		return [...t.tBodies[0].rows].filter(r => !r.hidden).map(r => r.cells[i].textContent.trim());
	})()`)
}

func (b *tab) click(js string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](js + ".click()"))
}

const differenceButton = `[...document.querySelectorAll('#level-table th button')].find(b => b.textContent === 'difference')`

func testSort(t *testing.T, browser context.Context) {
	b := open(t, browser, first())
	unsorted := b.column("difference")
	b.click(differenceButton)
	up := b.column("difference")
	if !strings.HasPrefix(up[0], "−13.6 %") || !strings.HasPrefix(up[1], "−12.6 %") {
		t.Errorf("sorted by difference, the first rows are %q", up[:2])
	}
	if up[len(up)-1] != none || up[len(up)-2] != none {
		t.Errorf("rows without a result are not last: %q", up[len(up)-2:])
	}
	b.click(differenceButton)
	if down := b.column("difference"); !strings.HasPrefix(down[0], "+10.7 %") || down[len(down)-1] != none {
		t.Errorf("sorted downwards, the first row is %q and the last %q", down[0], down[len(down)-1])
	}
	if got := eval[string](b, differenceButton+".closest('th').getAttribute('aria-sort')"); got != "descending" {
		t.Errorf("aria-sort is %q", got)
	}
	b.click(differenceButton)
	if d := cmp.Diff(unsorted, b.column("difference")); d != "" {
		t.Errorf("the third click does not bring the first order back (-want +got):\n%s", d)
	}
	b.clean()
}

func testFilter(t *testing.T, browser context.Context) {
	b := open(t, browser, first())
	set := func(id, value string) {
		t.Helper()
		b.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(
			`(e => { e.value = %q; e.dispatchEvent(new Event('input', {bubbles: true})); })(document.getElementById(%q))`, value, id)))
	}
	set("by-verdict", "regressed")
	got := b.column("verdict")
	if len(got) != 5 {
		t.Errorf("%d rows regressed, want 5: %q", len(got), got)
	}
	set("by-verdict", "red")
	if got := b.column("verdict"); len(got) != 6 || got[0] != "▼▼ regressed, red" {
		t.Errorf("%d rows are red, want 6: %q", len(got), got)
	}
	set("by-verdict", "regressed")
	set("find", "POINT")
	if d := cmp.Diff([]string{"point-query4", "point-query5"}, b.column("step")); d != "" {
		t.Errorf("steps with point that regressed (-want +got):\n%s", d)
	}
	if got := eval[string](b, "document.getElementById('shown').textContent"); got != "2 of 30 shown" {
		t.Errorf("the page says %q", got)
	}
	// A link from the matrix to a row that the filter hides shows it.
	b.click(`[...document.querySelectorAll('.matrix a')].find(a => a.textContent.includes('1.107'))`)
	if got := eval[string](b, "document.querySelector('tr:target th').textContent"); got != "scan" {
		t.Errorf("the link leads to %q", got)
	}
	if got := len(b.column("step")); got != 30 {
		t.Errorf("%d rows are shown after the link, want all 30", got)
	}
	b.clean()
}

// testKeyboard goes through the page with the Tab key alone.
func testKeyboard(t *testing.T, browser context.Context) {
	b := open(t, browser, first())
	b.do(chromedp.KeyEvent("\t"))
	if got := eval[string](b, "document.activeElement.className"); got != "skip" {
		t.Errorf("the first Tab leads to %q, want the skip link", got)
	}
	if left := eval[float64](b, "document.querySelector('.skip').getBoundingClientRect().left"); left < 0 {
		t.Errorf("the skip link stays hidden, at %v, with the focus on it", left)
	}
	b.do(chromedp.Evaluate[chromedp.Void](differenceButton+".focus()"), chromedp.KeyEvent("\r"))
	if got := b.column("difference")[0]; !strings.HasPrefix(got, "−13.6 %") {
		t.Errorf("after Enter on a column's button the first row has %q", got)
	}
	b.clean()
}

func testFigures(t *testing.T, browser context.Context) {
	b := open(t, browser, first())
	if eval[bool](b, "document.getElementById('save').hidden") {
		t.Error("the button that saves figures is hidden")
	}
	b.click("document.getElementById('save')")
	if got := eval[int](b, "JSON.parse(document.getElementById('figures').textContent).comparisons.length"); got != 15*2*7 {
		t.Errorf("%d comparisons in the figures, want 210", got)
	}
	want := eval[string](b, "document.getElementById('figures').textContent")
	var got []byte
	for end := time.Now().Add(30 * time.Second); len(got) < len(want) && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if files, _ := filepath.Glob(filepath.Join(b.downloads, "*.json")); len(files) == 1 {
			got, _ = os.ReadFile(files[0])
		}
	}
	if string(got) != want {
		t.Errorf("%d bytes were saved, want the %d of the figures", len(got), len(want))
	}
	b.clean()
}

func testHostile(t *testing.T, browser context.Context) {
	b := open(t, browser, hostile())
	b.click(differenceButton)
	b.do(chromedp.Sleep(200 * time.Millisecond))
	if got := eval[int](b, "document.images.length + document.scripts.length"); got != 2 {
		t.Errorf("%d images and scripts, want the page's own 2", got)
	}
	b.view(390, 844, "light")
	if w := eval[int](b, "document.documentElement.scrollWidth"); w > 390 {
		t.Errorf("on a phone the page is %d pixels wide, want 390", w)
	}
	b.shot("hostile", "main")
	b.clean()
}

// testPaper prints a page: what was folded away is on paper and closed again on the screen.
// A large page prints no comparisons unless they were asked for, and says so.
func testPaper(t *testing.T, browser context.Context) {
	b := open(t, browser, first())
	folded := `[...document.querySelectorAll('details')].map(d => d.open ? 'open' : 'closed').join(' ')`
	before := eval[string](b, folded)
	b.do(chromedp.Evaluate[chromedp.Void]("dispatchEvent(new Event('beforeprint'))"))
	if got := eval[string](b, folded); strings.Contains(got, "closed") {
		t.Errorf("on paper it is %s, want all open", got)
	}
	b.do(chromedp.Evaluate[chromedp.Void]("dispatchEvent(new Event('afterprint'))"))
	if got := eval[string](b, folded); got != before {
		t.Errorf("after printing it is %s, before it was %s", got, before)
	}
	b.clean()
}
