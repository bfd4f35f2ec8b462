package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/atrium-hq/atrium/adapters/console"
	"github.com/atrium-hq/atrium/test/support/require"
)

// What stands between the console and the server does to calls.
const (
	passes   = "passes"
	slow     = "slow"     // two seconds
	fails    = "fails"    // 503
	gone     = "gone"     // no answer
	upgraded = "upgraded" // a later build of the console is served
)

// laterConsole serves a later build of the console.
func laterConsole(t *testing.T) http.Handler {
	t.Helper()
	laterMapFS, _ := laterDist(t)
	return console.New(laterMapFS)
}

// below serves a server below a path, as proxies do, and disturbs it.
func below(t *testing.T, s *server, base string) (address string, mode *atomic.Value) {
	t.Helper()
	mode = &atomic.Value{}
	mode.Store(passes)
	recipient, err := url.Parse(s.url)
	require.NoError(t, err)
	next := laterConsole(t)
	forward := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(recipient)
		r.Out.Host = r.In.Host // the session belongs to the origin that the browser sees
	}}
	proxy := httptest.NewServer(http.StripPrefix(base, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api := strings.HasPrefix(r.URL.Path, "/api/")
		switch mode.Load() {
		case slow:
			if api {
				pause(r.Context(), 2*time.Second)
			}
		case fails:
			if api {
				http.Error(w, "no healthy upstream", http.StatusServiceUnavailable)
				return
			}
		case gone:
			panic(http.ErrAbortHandler)
		case upgraded:
			if strings.HasPrefix(r.URL.Path, console.Prefix) && !strings.HasPrefix(r.URL.Path, "/console/sign-in") {
				next.ServeHTTP(w, r)
				return
			}
		}
		forward.ServeHTTP(w, r)
	})))
	t.Cleanup(proxy.Close)
	return proxy.URL + base, mode
}

// lateFailure lets calls of a page fail until it works, and the last attempt of one of them only when fail is called.
const lateFailure = `
	works = held = repeated = false
	attempts = 0
	late = new Promise((resolve) => { fail = resolve })
	passed = fetch
	fetch = async (url, init) => {
		url = String(url)
		if (!url.includes('/api/payments/')) return passed(url, init)
		if (works) {
			repeated = true
			return passed(url, init)
		}
		if (url.includes('/plans') && ++attempts === 2) {
			held = true
			await late
		}
		return new Response('no healthy upstream', {status: 503})
	}`

// tabsTo presses the key until the element that an expression accepts has the focus, which must be visible. It waits
// until the page has such an element.
func tabsTo(ctx context.Context, t *testing.T, accepts string) {
	t.Helper()
	drive(ctx, t, poll[bool](`[...document.querySelectorAll('body *')].some((e) => `+accepts+`)`))
	for range 60 {
		drive(ctx, t, chromedp.KeyEvent(kb.Tab))
		if drive(ctx, t, chromedp.Evaluate[bool](`((e) => `+accepts+`)(document.activeElement)`)) {
			if drive(ctx, t, chromedp.Evaluate[string](`getComputedStyle(document.activeElement).outlineStyle`)) == "none" {
				t.Errorf("the focus on %s cannot be seen", accepts)
			}
			return
		}
	}
	t.Fatalf("no key leads to %s", accepts)
}

// disturbed is the console below a path, by the keyboard alone, and while the server is slow, fails, or is replaced.
func disturbed(t *testing.T, s *server, chromium context.Context) {
	t.Helper()
	address, mode := below(t, s, "/tools/atrium")
	person := s.user(t, "owner")
	ctx, _ := tab(t, chromium, address+"/console/sign-in#token="+s.link(t, person.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "support/answer-ticket")
	currentCall := func(t *testing.T, path string) {
		t.Helper()
		drive(ctx, t, poll[bool](fmt.Sprintf(`location.href.startsWith(%q)`, address+"/console/w/default/"+path)))
	}
	currentCall(t, "prompts")

	t.Run("a prompt is made, saved and made active by keys alone", func(t *testing.T) {
		drive(ctx, t, poll[bool](`document.querySelector('main [data-key=c]') !== null`))
		drive(ctx, t, chromedp.KeyEvent("c"))
		drive(ctx, t, poll[bool](`document.activeElement.name === 'name'`))
		drive(ctx, t, chromedp.KeyEvent("keys/only"))
		tabsTo(ctx, t, `e.name === 'text'`)
		drive(ctx, t, chromedp.KeyEvent("Hello"))
		drive(ctx, t, chromedp.KeyEvent("\r", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
		reads(ctx, t, "Preview of v1")
		tabsTo(ctx, t, `e.innerText === 'Activate…'`)
		drive(ctx, t, chromedp.KeyEvent("\r"))
		reads(ctx, t, "Activate v1")
		tabsTo(ctx, t, `e.name === 'reason'`)
		drive(ctx, t, chromedp.KeyEvent("First\r"))
		reads(ctx, t, "active: v1")
		drive(ctx, t, poll[bool](`document.querySelector('[role=dialog]') === null`))
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
		drive(ctx, t, chromedp.KeyEvent("gp"))
		reads(ctx, t, "keys/only") // until then, a row may still come between two others
		drive(ctx, t, chromedp.KeyEvent("jj"))
		if drive(ctx, t, chromedp.Evaluate[int](
			`[...document.querySelectorAll('tbody tr')].findIndex((r) => r.contains(document.activeElement))`)) != 1 {
			t.Error("j does not lead to the second row")
		}
		drive(ctx, t, chromedp.KeyEvent("\r"))
		currentCall(t, "prompts/ptpl_")
	})
	t.Run("a slow server is waited for", func(t *testing.T) {
		mode.Store(slow)
		drive(ctx, t, chromedp.Navigate(address+"/console/w/default/chats"))
		reads(ctx, t, "Loading…")
		reads(ctx, t, "Customer support")
	})
	for _, method := range []string{fails, gone} {
		t.Run("a page says that the server "+method+", and loads again", func(t *testing.T) {
			mode.Store(passes)
			drive(ctx, t, chromedp.Navigate(address+"/console/w/default/connections"))
			reads(ctx, t, "Demo shop")
			mode.Store(method)
			drive(ctx, t, chromedp.KeyEvent("gb"))
			reads(ctx, t, "Some of this page could not be loaded.")
			mode.Store(passes)
			presses(ctx, t, "Try again")
			reads(ctx, t, "Two months less to pay.")
		})
	}
	t.Run("what fails after it was asked for again is loaded, too", func(t *testing.T) {
		drive(ctx, t, chromedp.Navigate(address+"/console/w/default/connections"))
		reads(ctx, t, "Demo shop")
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](lateFailure))
		drive(ctx, t, chromedp.KeyEvent("gb"))
		reads(ctx, t, "Some of this page could not be loaded.")
		drive(ctx, t, poll[bool](`held`))
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`works = true`))
		presses(ctx, t, "Try again")
		drive(ctx, t, poll[bool](`repeated`))
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`fail()`))
		reads(ctx, t, "Two months less to pay.")
	})
	t.Run("a page of an older build goes on in the one that has replaced it", func(t *testing.T) {
		// A link that had the focus has its screen loaded ahead: the old screen from a cache would be right, too.
		// Besides the cache on the disk, each process of the browser has one in memory.
		other := network.SetCacheDisabledParams{CacheDisabled: true}
		drive(ctx, t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{}) // which the other needs
			if err == nil {
				_, err = cdp.Call(ctx, target, network.SetCacheDisabled, other)
			}
			return err
		}))
		drive(ctx, t, chromedp.Navigate(address+"/console/w/default/chats"))
		reads(ctx, t, "Customer support")
		mode.Store(upgraded)
		drive(ctx, t, chromedp.KeyEvent("gr"))
		reads(ctx, t, laterText)
		currentCall(t, "presence")
	})
}
