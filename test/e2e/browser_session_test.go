package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// strangerPage tries to use the session that the browser has for Atrium, from another site, or from another port of the
// same host, which browsers count as the same site. It returns the outcome of each try.
const strangerPage = `(async (atrium) => {
	const attempt = (path, init) => fetch(atrium + path, {credentials: 'include', ...init})
		.then((r) => r.status === 0 ? 'opaque' : 'read ' + r.status, () => 'refused')
	const body = JSON.stringify({name: 'stolen'})
	const form = document.createElement('form')
	form.method = 'POST'
	form.enctype = 'text/plain'
	form.action = atrium + '/api/prompt-templates'
	form.target = 'sent'
	const field = document.createElement('input')
	field.name = '{"name":"by a form","description":"'
	field.value = '"}'
	form.append(field)
	const frame = document.createElement('iframe')
	frame.name = 'sent'
	document.body.append(frame, form)
	const loaded = new Promise((done) => { frame.onload = done })
	form.submit()
	await loaded
	return {
		cookie: document.cookie,
		read: await attempt('/api/me'),
		written: await attempt('/api/prompt-templates', {method: 'POST', body}),
		plain: await attempt('/api/prompt-templates', {method: 'POST', body, mode: 'no-cors'}),
		withProof: await attempt('/api/me', {headers: {'Atrium-Console': 'guess'}}),
		signedIn: await attempt('/api/auth/sessions', {method: 'POST', body: '{"token":"x"}', mode: 'no-cors'}),
	}
})`

func TestABrowserKeepsItsSessionToItself(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann := s.user(t, "owner")
		ann.create(t, templates, object{"name": "of the first workspace"})
		second := ann.create(t, "/api/workspaces", object{"name": "Second", "slug": "second"})
		chromium := browser(t)
		ctx, _ := tab(t, chromium, s.url+"/console/sign-in#token="+s.link(t, ann.email))
		reads(ctx, t, "Sign in to")
		clicks(ctx, t, "#use-link")
		reads(ctx, t, "prompts")

		t.Run("two tabs show two workspaces", func(t *testing.T) {
			other, _ := tab(t, chromium, s.url+"/console/w/"+second.at("slug")+"/prompts")
			reads(other, t, "There are no prompts yet.")
			drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts"))
			reads(ctx, t, "of the first workspace")
			presses(other, t, "New prompt")
			types(other, t, `[role=dialog] [name=name]`, "of the second workspace")
			presses(other, t, "Create")
			reads(other, t, "of the second workspace")
			drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts"))
			reads(ctx, t, "of the first workspace")
			if drive(ctx, t, chromedp.Evaluate[bool](`document.body.innerText.includes('of the second workspace')`)) {
				t.Error("the first workspace has the prompt of the second")
			}
		})
		t.Run("a page of another port or site reads and changes nothing", func(t *testing.T) {
			stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, `<!doctype html><title>A stranger</title><body>hello`)
			}))
			t.Cleanup(stranger.Close)
			for _, origin := range []string{stranger.URL, strings.Replace(stranger.URL, "127.0.0.1", "localhost", 1)} {
				page, _ := tab(t, chromium, origin)
				reads(page, t, "hello")
				got := drive(page, t, chromedp.Evaluate[map[string]string](
					fmt.Sprintf("%s(%q)", strangerPage, s.url), chromedp.EvalAwaitPromise))
				for try, want := range map[string]string{"cookie": "", "read": "refused", "written": "refused",
					"plain": "opaque", "withProof": "refused", "signedIn": "opaque"} {
					if got[try] != want {
						t.Errorf("from %s, %s: %q, want %q", origin, try, got[try], want)
					}
				}
			}
			if names := ann.get(t, templates).each(t, "name"); len(names) != 1 {
				t.Errorf("there are %q", names)
			}
		})
		t.Run("the cookie without its proof opens nothing", func(t *testing.T) {
			const alone = `fetch('/api/me').then((r) => r.status)`
			drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts"))
			if status := drive(ctx, t, chromedp.Evaluate[int](alone, chromedp.EvalAwaitPromise)); status != 401 {
				t.Errorf("a page without the proof is answered %d", status)
			}
		})
		t.Run("a session that has expired asks to sign in, and keeps the page", func(t *testing.T) {
			s.sql(t, `UPDATE sessions SET expires_at = 1`)
			awaits(t, "the session has ended", s, func() bool {
				drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/chats"))
				drive(ctx, t, poll[bool](`document.querySelector('main') !== null`))
				endedText := `document.body.innerText.includes('Your session has ended')`
				return drive(ctx, t, chromedp.Evaluate[bool](`new Promise((done) => setTimeout(() => done(`+endedText+
					`), 300))`, chromedp.EvalAwaitPromise))
			})
			keep(ctx, t, "console-session-ended")
		})
	})
}
