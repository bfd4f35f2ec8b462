package e2e

import (
	"context"
	"fmt"
	"html/template"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	targets "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// chromium is the browser of all tests of this package, which starts with the first of them and reaches only this
// machine. Only make prove runs the whole browser, which needs twice the processor time of its headless shell
// (ADR 123).
var chromium struct {
	once sync.Once
	ctx  context.Context
	err  error
	end  func() // nil if it was not started
}

// polite is a script that starts the browser at a path with a low priority. A browser uses any processor time that it
// gets, and Chromium raises its own priority if it has the right to. But the programs that the tests are about, and
// those that read files for them, have time limits.
const polite = `#!/bin/sh
limits='setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice'
$limits true 2>/dev/null || limits=''
exec nice -n 10 $limits '%s' "$@"
`

// startChromium starts it with an empty profile.
func startChromium(path string) (ctx context.Context, end func(), err error) {
	profile, err := os.MkdirTemp("", "chromium-")
	if err != nil {
		return nil, nil, err
	}
	script := filepath.Join(profile, "polite")
	if err := os.WriteFile(script, fmt.Appendf(nil, polite, path), 0o700); err != nil {
		return nil, nil, err
	}
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(script), chromedp.UserDataDir(profile), chromedp.Headless, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.WindowSize(720, 620), chromedp.WSURLReadTimeout(patience),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"),
	}
	for _, flag := range []string{"disable-quic", "disable-background-networking", "disable-component-update",
		"disable-sync", "disable-dev-shm-usage"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	if os.Getuid() == 0 { // Chromium's sandbox refuses to run as root
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeBrowser := chromedp.NewContext(allocator)
	end = func() {
		closeBrowser()
		stop()
		_ = os.RemoveAll(profile)
	}
	if err := chromedp.Do(ctx); err != nil {
		end()
		return nil, nil, err
	}
	return ctx, end, nil
}

// browser returns a browser with cookies, storage and cache of its own, all empty, which ends with the test.
func browser(t *testing.T) context.Context {
	t.Helper()
	chromium.once.Do(func() {
		find := services.HeadlessChromium
		if proof.Running() {
			find = services.Chromium
		}
		chromium.ctx, chromium.end, chromium.err = startChromium(find(t))
	})
	if chromium.err != nil || chromium.ctx == nil {
		t.Fatalf("start Chromium: %v", chromium.err)
	}
	// chromedp.WithNewBrowserContext would open an empty tab, which is a process that nobody needs.
	full := chromedp.FromContext(chromium.ctx).Browser
	newResult, err := cdp.Call(chromium.ctx, full, targets.CreateBrowserContext, targets.CreateBrowserContextParams{})
	if err != nil {
		t.Fatalf("a browser of its own: %v", err)
	}
	t.Cleanup(func() {
		if _, err := cdp.Call(chromium.ctx, full, targets.DisposeBrowserContext,
			targets.DisposeBrowserContextParams(newResult)); err != nil {
			t.Errorf("end the browser: %v", err)
		}
	})
	ctx, end := chromedp.NewContext(chromium.ctx, chromedp.WithExistingBrowserContext(newResult.BrowserContextID))
	t.Cleanup(end)
	return ctx
}

// tab opens a new tab at a page. Its console has what the page and the browser say, requests that fail included.
func tab(
	t *testing.T, browser context.Context, url string,
) (ctx context.Context, console iter.Seq2[chromedp.ConsoleMessage, error]) {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	if err := chromedp.Do(ctx); err != nil { // a deadline of this first call would apply to the tab
		t.Fatal(err)
	}
	console = chromedp.Console(ctx)
	// chromedp asks for an event about each step of each request, which costs a tenth of loading a page.
	drive(ctx, t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.Disable, cdp.Empty{})
		return err
	}))
	drive(ctx, t, chromedp.Navigate(url))
	return ctx, console
}

// drive runs an action in a tab. It fails after patience: each action has its own, because a walk of many screens takes
// longer on a slow machine.
func drive[T any](ctx context.Context, t *testing.T, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		gaveUp(context.WithoutCancel(ctx), t)
		t.Fatal(err)
	}
	return v
}

// gaveUp saves what the tab shows when a test fails.
func gaveUp(ctx context.Context, t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot()); err == nil {
		_ = os.WriteFile(filepath.Join(t.ArtifactDir(), "failed.png"), shot, 0o600)
	}
}

// keep saves a screenshot of the tab for people to look at, if ATRIUM_PICTURES is set and go test has -artifacts. In
// other runs it would cost Chromium as much as what the test does on the page.
func keep(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	if os.Getenv("ATRIUM_PICTURES") == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), name+".png"), drive(ctx, t, chromedp.CaptureScreenshot()),
		0o600); err != nil {
		t.Fatal(err)
	}
}

// sitePage includes the script as a site does, and records its events. It has its own content security policy, as
// careful sites do.
var sitePage = template.Must(template.New("site").Parse(`<!doctype html><meta charset="utf-8"><title>A shop</title>
<link rel="icon" href="data:,">{{with .Scheme}}<meta name="color-scheme" content="{{.}}">{{end}}
{{if eq .Mode "head"}}<script nonce="site">
window.told = {}
addEventListener('atrium:ready', (e) => { told.ready = e.detail })
</script>
<script nonce="site" src="{{.Atrium}}/embed.js" data-token="{{.Token}}"></script></head>{{end}}
<body><h1>A shop</h1><p>Its own text, in its own type.</p>
{{if ne .Mode "head"}}<script nonce="site">
window.told = {}
{{if eq .Clock "fast"}}{
  const set = setTimeout
  window.setTimeout = (act, ms) => set(act, ms > 100000 ? ms / 1000 : ms)
}
{{else if eq .Clock "soon"}}{
  const set = setTimeout
  window.setTimeout = (act, ms) => set(act, ms >= 5000 && ms < 100000 ? ms / 100 : ms)
}
{{end}}for (const what of ['ready', 'renewed', 'starter', 'refused', 'message', 'reply', 'refusal', 'failed', 'turn', 'feedback']) {
  addEventListener('atrium:' + what, (e) => { told[what] = e.detail ?? true })
}
</script>
<script nonce="site" src="{{.Atrium}}/embed.js" data-token="{{.Token}}"
 data-mode="{{.Mode}}"{{with .Visitor}} data-visitor="{{.}}"{{end}}
{{- with .Lang}} data-lang="{{.}}"{{end}}{{with .Launcher}} data-launcher="{{.}}"{{end}}
{{- with .Signature}} data-visitor-signature="{{.}}"{{end}}
{{- if eq .Mode "module"}} type="module" crossorigin{{else}} async{{end}}></script>{{end}}
{{with .Around}}<iframe src="{{.}}" width="600" height="500"></iframe>{{end}}`))

type siteView struct{ Atrium, Token, Mode, Around, Scheme, Lang, Launcher, Clock, Signature, Visitor string }

// site serves the pages of a site at its own origin: /script, /frame, and /around, which has another page in a frame.
func site(t *testing.T, e func() *embeddedChat) (origin string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		view := siteView{Atrium: e().manager.server.url, Token: e().secret, Mode: strings.TrimPrefix(r.URL.Path, "/"),
			Around: r.URL.Query().Get("around"), Scheme: r.URL.Query().Get("scheme"),
			Lang: r.URL.Query().Get("lang"), Launcher: r.URL.Query().Get("launcher"),
			Clock: r.URL.Query().Get("clock"), Signature: r.URL.Query().Get("signature"), Visitor: "customer-42"}
		if r.URL.Query().Has("visitor") {
			view.Visitor = r.URL.Query().Get("visitor")
		}
		w.Header().Set("Content-Security-Policy",
			"default-src 'none'; script-src 'nonce-site'; img-src data:; connect-src "+view.Atrium+"; frame-src *")
		w.Header().Set("Referrer-Policy", "no-referrer") // the frame's own attribute overrides this
		_ = sitePage.Execute(w, view)
	}))
	t.Cleanup(s.Close)
	return strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
}

func TestABrowserShowsAChatOnListedSitesAlone(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	var e *embeddedChat
	shop, evil := site(t, func() *embeddedChat { return e }), site(t, func() *embeddedChat { return e })
	e = s.user(t, "admin").embeds(t, object{"allowed_origins": []string{shop}})
	chromium := browser(t)

	const card = `document.querySelector('script[src]').nextElementSibling.shadowRoot.querySelector('.atrium')`
	t.Run("script mode works on the site", func(t *testing.T) {
		ctx, _ := tab(t, chromium, shop+"/script")
		session := drive(ctx, t, poll[object](`told.ready`))
		keep(ctx, t, "script-listed")
		text, markup := drive(ctx, t, chromedp.Evaluate[string](card+`.innerText`)),
			drive(ctx, t, chromedp.Evaluate[string](card+`.innerHTML`))
		for _, want := range []string{"Support", "Hello <b>you</b>", "Where is it?", `"><script>alert(1)</script>`} {
			assert.Contains(t, want+": is not in", text, want)
		}
		if strings.Contains(markup, "<script") {
			t.Errorf("a text became markup: %s", markup)
		}
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](card+`.querySelector('button').click()`))
		assert.Equal(t, "the site hears of", drive(ctx, t, poll[string](`told.starter`)), "Where is it?")
		token, _ := session["session"].(string)
		e.resume(t, token, "Origin: "+shop).is(t, 200).has(t, map[string]string{"visitor": "customer-42"})
	})
	t.Run("script mode is refused on another site", func(t *testing.T) {
		ctx, console := tab(t, chromium, evil+"/script")
		assert.Equal(t, "the code", drive(ctx, t, poll[string](`told.refused`)), "origin_not_allowed")
		keep(ctx, t, "script-foreign")
		if text := drive(ctx, t, chromedp.Evaluate[string](card+`.innerText`)); text != "This chat is not available." {
			t.Errorf("it shows %q", text)
		}
		complains(t, console, "CORS")
	})
	t.Run("frame mode works on the site", func(t *testing.T) {
		ctx, _ := tab(t, chromium, shop+"/frame")
		session := drive(ctx, t, poll[object](`told.ready`))
		token, _ := session["session"].(string)
		e.resume(t, token, "Origin: "+s.url).is(t, 200).has(t, map[string]string{"visitor": "customer-42"})
		// the first height can be that of the empty page
		drive(ctx, t, poll[bool](`parseInt(document.querySelector('iframe').style.height) >= 100`))
		keep(ctx, t, "frame-listed")
		if height := drive(ctx, t, chromedp.Evaluate[int](
			`document.querySelector('iframe').offsetHeight`)); height > 600 {
			t.Errorf("the frame is %d pixels high", height)
		}
		if strings.Contains(s.stderr.String(), `"route":"/embed/{embed_token}","status":403`) {
			t.Error("the page was refused once")
		}
	})
	t.Run("frame mode is refused on another site", func(t *testing.T) {
		ctx, console := tab(t, chromium, evil+"/frame")
		complains(t, console, "frame-ancestors 'none'")
		assert.Equal(t, "the code", drive(ctx, t, poll[string](`told.refused`)), "origin_not_allowed")
		keep(ctx, t, "frame-foreign")
		untold(ctx, t)
		if drive(ctx, t, chromedp.Evaluate[int](`document.querySelector('iframe').offsetHeight`)) != 0 {
			t.Error("an empty frame is shown")
		}
	})
	t.Run("a site with a chat cannot be framed by another site", func(t *testing.T) {
		ctx, console := tab(t, chromium, evil+"/none?around="+shop+"/frame")
		complains(t, console, "frame-ancestors "+shop)
		keep(ctx, t, "frame-around")
		untold(ctx, t)
	})
	t.Run("the script works in the head and as a module", func(t *testing.T) {
		for _, page := range []string{"head", "module"} {
			ctx, _ := tab(t, chromium, shop+"/"+page)
			drive(ctx, t, poll[object](`told.ready`))
			keep(ctx, t, page)
			if drive(ctx, t, chromedp.Evaluate[int](
				`[...document.body.querySelectorAll('div')].find((d) => d.shadowRoot).offsetHeight`)) == 0 {
				t.Errorf("%s: the chat is not visible", page)
			}
		}
	})
	t.Run("a signed visitor is known in both modes", func(t *testing.T) {
		item := e.manager.do(t, "POST", e.path+"/rotate", object{}).is(t, 200)
		e.secret = item.at("token")
		signature := embed.SignVisitor(secret.New(item.at("visitor_secret")), "customer-42", "",
			time.Now().Add(time.Hour))
		for page, origin := range map[string]string{"script": shop, "frame": s.url} {
			ctx, _ := tab(t, chromium, shop+"/"+page+"?signature="+signature)
			session, _ := drive(ctx, t, poll[object](`told.ready`))["session"].(string)
			e.resume(t, session, "Origin: "+origin).is(t, 200).has(t, map[string]string{"visitor_signed": "true"})
		}
	})
	t.Run("the card is dark where the page is, in both modes", func(t *testing.T) {
		const colour = `getComputedStyle([...document.querySelectorAll('div')].find((d) => d.shadowRoot)` +
			`.shadowRoot.querySelector('.atrium')).backgroundColor`
		for scheme, want := range map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(26, 29, 36)"} {
			ctx, _ := tab(t, chromium, shop+"/script?scheme="+scheme)
			drive(ctx, t, poll[object](`told.ready`))
			if got := drive(ctx, t, chromedp.Evaluate[string](colour)); got != want {
				t.Errorf("on a %s page it is %s", scheme, got)
			}
			ctx, _ = tab(t, chromium, shop+"/frame?scheme="+scheme)
			drive(ctx, t, poll[object](`told.ready`))
			keep(ctx, t, "frame-"+scheme)
			if got := drive(ctx, t, chromedp.Evaluate[string](
				`document.querySelector('iframe').src + document.querySelector('iframe').style.colorScheme`),
			); !strings.Contains(got, "scheme="+scheme) || !strings.HasSuffix(got, scheme) {
				t.Errorf("the frame on a %s page: %s", scheme, got)
			}
		}
	})
	t.Run("a frame on a listed site says why there is no chat", func(t *testing.T) {
		e.manager.do(t, "PATCH", e.template, object{"status": "draft"}).is(t, 200)
		for _, page := range []string{"script", "frame"} {
			ctx, _ := tab(t, chromium, shop+"/"+page)
			assert.Equal(t, page+": the code", drive(ctx, t, poll[string](`told.refused`)), "template_not_published")
			keep(ctx, t, "draft-"+page)
		}
		e.manager.do(t, "PATCH", e.template, object{"status": "published"}).is(t, 200)
	})
	t.Run("disabling the token takes effect on the next page", func(t *testing.T) {
		e.manager.do(t, "PATCH", e.path, object{"enabled": false}).is(t, 200)
		for _, page := range []string{"script", "frame"} {
			ctx, _ := tab(t, chromium, shop+"/"+page)
			assert.Equal(t, page+": the code", drive(ctx, t, poll[string](`told.refused`)), "embed_token_invalid")
			if page == "frame" && drive(ctx, t, chromedp.Evaluate[int](
				`document.querySelector('iframe').offsetHeight`)) == 0 {
				t.Error("no page is shown on a listed site")
			}
		}
	})
}

// complains waits until the browser logs a message.
func complains(t *testing.T, console iter.Seq2[chromedp.ConsoleMessage, error], owner string) {
	t.Helper()
	var heard []string
	for m, err := range console {
		if err != nil {
			break
		}
		if strings.Contains(m.Text, owner) {
			return
		}
		heard = append(heard, m.String())
	}
	t.Fatalf("the browser did not complain of %s, but of %q", owner, heard)
}

// untold expects that no chat was shown.
func untold(ctx context.Context, t *testing.T) {
	t.Helper()
	if report := drive(ctx, t, chromedp.Evaluate[string](`JSON.stringify(told)`)); strings.Contains(report, "ready") {
		t.Errorf("the page was told %s", report)
	}
}

// saysNothing expects that the browser has logged nothing that is not allowed, up to now.
func saysNothing(
	ctx context.Context, t *testing.T, console iter.Seq2[chromedp.ConsoleMessage, error], allowances ...string,
) {
	t.Helper()
	// All earlier messages arrive before this one.
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`console.log('that was all')`))
	for m, err := range console {
		require.NoError(t, err)
		if m.Text == "that was all" {
			return
		}
		if !slices.ContainsFunc(allowances, func(start string) bool { return strings.HasPrefix(m.Text, start) }) {
			t.Errorf("the browser says %s", m)
		}
	}
}
