package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/fixture"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// freePort is fixture.FreePort as text.
func freePort(t *testing.T) string {
	t.Helper()
	return strconv.Itoa(int(fixture.FreePort(t)))
}

// reads waits until the tab shows a text, also on a page to which it goes on.
func reads(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	proof.Await(t, fmt.Sprintf("the page shows %q", text), func() string {
		text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ''`))
		if err != nil {
			return err.Error()
		}
		return text
	}, func(page string) bool { return strings.Contains(page, text) })
}

// clicks clicks a button or a link of the page, when it is there.
func clicks(ctx context.Context, t *testing.T, selector string) {
	t.Helper()
	on(ctx, t, fmt.Sprintf(`document.querySelector(%q)`, selector), "click")
}

func TestPagesToSignInAndJoin(t *testing.T) {
	onEach(t, signInAndJoinByPages)
}

func signInAndJoinByPages(t *testing.T, engine string) {
	p, port := fixture.NewProvider(t), freePort(t)
	d := deployMigrated(t, engine, configured(fmt.Sprintf(`
orgs:
  - slug: default
    name: Acme
    base_url: http://127.0.0.1:%s
    issuers: [{url: %q, audiences: [atrium], client: %s}]
`, port, p.URL, clientOf(t, p, "main"))), set("server.addr", "127.0.0.1:"+port))
	s := d.spawn(t, d.command("serve", "--addr", "127.0.0.1:"+port))
	s.url = s.stdout.await(t, s, greeting)[1]
	ann := s.user(t, "owner")
	p.SignIn(object{"email": ann.email, "name": "Ann Lee"})
	chromium := browser(t)
	clean := func(t *testing.T, ctx context.Context) {
		t.Helper()
		assert.Equal(t, "the address still has", drive(ctx, t, chromedp.Evaluate[string](`location.hash`)), "")
	}

	t.Run("a visitor who has never signed in comes from a screen to the ways to sign in, and back", func(t *testing.T) {
		ctx, _ := tab(t, browser(t), s.url+"/console/w/default/chats")
		reads(ctx, t, "Sign in with The main")
		clicks(ctx, t, "#providers a")
		reads(ctx, t, "There are no chats yet.")
	})
	t.Run("a link waits for a click, and works once", func(t *testing.T) {
		token := s.link(t, ann.email)
		ctx, _ := tab(t, chromium, s.url+"/console/sign-in#token="+token)
		reads(ctx, t, "Sign in to Acme")
		keep(ctx, t, "console-link")
		clean(t, ctx)
		clicks(ctx, t, "#use-link")
		reads(ctx, t, "There are no prompts yet.")
		drive(ctx, t, chromedp.Navigate(s.url+"/console/sign-in"))
		reads(ctx, t, "You are signed in")
		keep(ctx, t, "console-signed-in")
		clicks(ctx, t, "#sign-out")
		reads(ctx, t, "You are signed out")
		second, _ := tab(t, chromium, s.url+"/console/sign-in#token="+token)
		reads(second, t, "Sign in to Acme")
		clicks(second, t, "#use-link")
		reads(second, t, "was used, has expired")
	})
	t.Run("a provider signs in", func(t *testing.T) {
		ctx, _ := tab(t, chromium, s.url+"/console/sign-in")
		reads(ctx, t, "Sign in with The main")
		keep(ctx, t, "console-ways")
		clicks(ctx, t, "#providers a")
		reads(ctx, t, "There are no prompts yet.")
		drive(ctx, t, chromedp.Navigate(s.url+"/console/sign-in"))
		reads(ctx, t, "Signed in as Ann Lee")
		clean(t, ctx)
	})
	t.Run("a session that ended elsewhere shows the ways to sign in", func(t *testing.T) {
		s.sql(t, `UPDATE sessions SET ended_at = 1`)
		ctx, _ := tab(t, chromium, s.url+"/console/sign-in")
		for range 100 { // the server remembers sessions for a second
			settledText := `/Signed in as|has ended/.test(document.querySelector('main').innerText)`
			drive(ctx, t, poll[bool](settledText))
			if drive(ctx, t, chromedp.Evaluate[bool](`document.querySelector('main').innerText.includes('has ended')`)) {
				break
			}
			drive(ctx, t, chromedp.Navigate(s.url+"/console/sign-in?"+fmt.Sprint(people.Add(1))))
		}
		reads(ctx, t, "Your session has ended")
	})
	t.Run("the error of a provider is explained, and nothing else is shown", func(t *testing.T) {
		ctx, _ := tab(t, chromium, s.url+"/console/sign-in#error=provider_failed")
		reads(ctx, t, "The provider does not respond as it should.")
		keep(ctx, t, "console-error")
		odd, _ := tab(t, chromium, s.url+"/console/sign-in#error=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
		reads(odd, t, "The sign-in did not succeed.")
		if html := drive(odd, t, chromedp.Evaluate[string](`document.body.innerHTML`)); strings.Contains(html, "onerror") {
			t.Error("the page shows the fragment")
		}
	})
	t.Run("an invitation is accepted after the sign-in at a provider", func(t *testing.T) {
		url := ann.create(t, "/api/workspaces/"+ann.workspace+"/invitations",
			object{"email": "carl@example.com", "role": "member"}).at("accept_url")
		p.SignIn(object{"sub": "carl", "email": "carl@example.com", "name": "Carl"})
		ctx, _ := tab(t, chromium, url)
		reads(ctx, t, "invites carl@example.com as member")
		keep(ctx, t, "console-join")
		clean(t, ctx)
		clicks(ctx, t, "#providers a")
		reads(ctx, t, "Signed in as Carl")
		clicks(ctx, t, "#accept-now")
		reads(ctx, t, "You joined")
		keep(ctx, t, "console-joined")
	})
	t.Run("a page on another port with the cookie, and a form of another site, have no session", func(t *testing.T) {
		stolen := make(chan *answer, 1)
		thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				c := s.anonymous()
				c.cookie = r.Header.Get("Cookie")
				stolen <- c.do(t, "GET", "/api/me", nil)
			}
			_, _ = fmt.Fprintf(w, `<!doctype html><main>A trap</main>
				<form method=post action="%s/api/auth/sessions" enctype=text/plain><input name='{"token":"x"}'></form>`, s.url)
		}))
		defer thief.Close()
		ctx, _ := tab(t, chromium, thief.URL)
		reads(ctx, t, "A trap")
		(<-stolen).problem(t, 401, "unauthenticated")
		clicks(ctx, t, "form")
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`document.forms[0].submit()`))
		// a form cannot send JSON, and the browser does not show the problem
		s.stderr.await(t, s, regexp.MustCompile(`"route":"/api/auth/sessions","status":415`))
	})
}
