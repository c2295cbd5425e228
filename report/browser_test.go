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

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"backslide/lab"
)

// tab is a page open in a real Chromium, and what it complained of or asked for.
type tab struct {
	ctx context.Context
	t   *testing.T

	mu       sync.Mutex
	troubles []string
	requests []string
}

// open renders a summary to a file and opens it. Without a Chromium the test fails,
// unless it is short.
func open(t *testing.T, s lab.Summary) *tab {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a browser")
	}
	name := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := HTML(f, s); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return visit(t, "file://"+name)
}

func visit(t *testing.T, url string) *tab {
	t.Helper()
	o := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.UserDataDir(t.TempDir()))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), o...)
	ctx, done := chromedp.NewContext(ctx)
	b := &tab{ctx: ctx, t: t}
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("close the browser: %v", err)
		}
		done()
		stop()
	})
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatalf("start Chromium: %v; install it (apt-get install chromium), or leave this test out with -short", err)
	}
	b.view(1280, 900, "light")
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

// view sets the window and the preferred colours.
func (b *tab) view(width, height int64, scheme string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
	ctx, cancel := b.timed()
	defer cancel()
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		b.t.Fatalf("browser: prefer %s: %v", scheme, err)
	}
}

// shot keeps a picture of an element, or of the whole page, with -artifacts.
func (b *tab) shot(name, selector string) {
	b.t.Helper()
	picture := chromedp.FullScreenshot(100)
	if selector != "" {
		picture = chromedp.Screenshot(chromedp.CSS(selector))
	}
	if err := os.WriteFile(filepath.Join(b.t.ArtifactDir(), name+".png"), get(b, picture), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func TestPageInBrowser(t *testing.T) {
	b := open(t, first())
	b.shot("desktop", "")
	for _, part := range []string{"levels", "absolute", "costs", "setup"} {
		b.shot("desktop-"+part, "#"+part)
	}
	b.view(390, 844, "light")
	if w := eval[int](b, "document.documentElement.scrollWidth"); w > 390 {
		wide := eval[string](b, `[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll') && e.getBoundingClientRect().right > 391).map(e => e.tagName + '.' + e.className).join(' ')`)
		t.Errorf("on a phone the page is %d pixels wide, want 390: %s", w, wide)
	}
	b.shot("phone", "")
	light := eval[string](b, "getComputedStyle(document.body).backgroundColor")
	b.view(1280, 900, "dark")
	if dark := eval[string](b, "getComputedStyle(document.body).backgroundColor"); dark == light {
		t.Errorf("background is %s both light and dark", dark)
	}
	b.shot("dark", "")
	b.view(390, 844, "dark")
	b.shot("phone-dark", "")
	b.clean()
}

func TestNoNetworkInBrowser(t *testing.T) {
	// Served over HTTP, so that a request relative to the page would be seen too.
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err := HTML(w, first()); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	if testing.Short() {
		t.Skip("needs a browser")
	}
	b := visit(t, server.URL+"/report.html")
	b.do(chromedp.Sleep(200 * time.Millisecond))
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 1 {
		t.Errorf("the browser asked for %q, want the page alone", asked)
	}
}
