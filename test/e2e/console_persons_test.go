package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// stored is everything that the pages of a server have left in a browser, and in a tab of it.
const stored = `JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)])`

// enters signs a person in with a link, in a tab of a browser that may have the session of another person.
func enters(t *testing.T, chromium context.Context, s *server, c *client) (ctx context.Context) {
	t.Helper()
	ctx, _ = tab(t, chromium, s.url+"/console/sign-in#token="+s.link(t, c.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "support/answer-ticket")
	return ctx
}

// TestTheNextPersonAtABrowserSeesNothingOfTheOneBefore signs one person out in each of the ways that there are, and
// then lets another one use the same browser.
func TestTheNextPersonAtABrowserSeesNothingOfTheOneBefore(t *testing.T) {
	t.Parallel()
	s, owner, _ := demoServer(t, sqlite)
	const secret = "Merger with Umbrella"
	path := saved(t, owner, "persons/prompt", "Hello")
	prompt := s.url + "/console/w/default/prompts/" + path[strings.LastIndex(path, "/")+1:]
	chat := s.url + "/console/w/default/chats/" + owner.create(t, "/api/chat-templates",
		object{"name": "Shared chat", "visibility": "workspace"}).at("id")
	for _, c := range []struct {
		name string
		// ends ends what ann does in her tab. It returns the tab that eve then uses.
		ends func(t *testing.T, chromium, ann context.Context, eve *client) context.Context
	}{
		{"who signs out in the console", func(t *testing.T, chromium, ann context.Context, eve *client) context.Context {
			on(ann, t, `document.querySelector('[aria-label="Sign out"]')`, "click")
			reads(ann, t, "Sign in")
			return enters(t, chromium, s, eve)
		}},
		{"who signs out on the page to sign in, in another tab", func(t *testing.T, chromium, ann context.Context,
			eve *client) context.Context {
			other, _ := tab(t, chromium, s.url+"/console/sign-in")
			clicks(other, t, "#sign-out")
			reads(other, t, "You are signed out")
			reads(ann, t, "API key") // the tab of before shows only the ways to sign in
			return enters(t, chromium, s, eve)
		}},
		{"who signs out everywhere, in another tab", func(t *testing.T, chromium, ann context.Context,
			eve *client) context.Context {
			other, _ := tab(t, chromium, s.url+"/console/sign-in")
			clicks(other, t, "#sign-out-all")
			reads(ann, t, "API key")
			return enters(t, chromium, s, eve)
		}},
		{"whose session has ended", func(t *testing.T, chromium, ann context.Context, eve *client) context.Context {
			s.sql(t, `UPDATE sessions SET ended_at = 1`)
			clicks(ann, t, `[aria-label="Areas"] a[href$="/presence"]`)
			reads(ann, t, "Your session has ended")
			if page := drive(ann, t, chromedp.Evaluate[string](`document.body.innerText`)); strings.Contains(page, secret) {
				t.Errorf("the page below still shows the draft: %s", page)
			}
			next := enters(t, chromium, s, eve)
			reads(ann, t, eve.email) // the page of before is left
			return next
		}},
		{"who is replaced without signing out", func(t *testing.T, chromium, ann context.Context,
			eve *client) context.Context {
			next := enters(t, chromium, s, eve)
			reads(ann, t, eve.email)
			return next
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ann, eve := s.user(t, "owner"), s.user(t, "owner")
			chromium := browser(t)
			ownContext := enters(t, chromium, s, ann)
			drive(ownContext, t, chromedp.Navigate(chat))
			types(ownContext, t, `[name=greeting]`, secret)
			drive(ownContext, t, poll[bool](`Object.values(localStorage).some((v) => v.includes('`+secret+`'))`))
			drive(ownContext, t, chromedp.Navigate(prompt))
			reads(ownContext, t, "Preview of v1")
			inserts(ownContext, t, ".cm-content", secret+" ")
			reads(ownContext, t, "Not saved yet.")
			drive(ownContext, t, poll[bool](`document.querySelectorAll('.cm-content').length > 0 &&
				Object.values(localStorage).filter((v) => v.includes('`+secret+`')).length === 2`))

			theirs := c.ends(t, chromium, ownContext, eve)
			drive(theirs, t, chromedp.Navigate(chat))
			reads(theirs, t, "Greeting")
			if got := drive(theirs, t, chromedp.Evaluate[string](`document.querySelector('[name=greeting]').value`)); got != "" {
				t.Errorf("the chat begins with %q", got)
			}
			drive(theirs, t, chromedp.Navigate(prompt))
			reads(theirs, t, "Preview of v1")
			drive(theirs, t, poll[bool](`document.querySelector('.cm-content')?.innerText.includes('Hello')`))
			page := drive(theirs, t, chromedp.Evaluate[string](`document.body.innerText`))
			if strings.Contains(page, secret) || strings.Contains(page, "Not saved yet") {
				t.Errorf("the next person sees the draft: %s", page)
			}
			// Neither the earlier tab nor the way back in its history writes or shows it again.
			drive(ownContext, t, chromedp.Evaluate[chromedp.Void](`window.left = false; setTimeout(() => history.back())`))
			drive(ownContext, t, poll[bool](`window.left !== false && document.readyState === 'complete' && document.body.innerText !== ''`))
			for name, ctx := range map[string]context.Context{"the earlier tab": ownContext, "the tab": theirs} {
				keptText := drive(ctx, t, chromedp.Evaluate[string](stored+` + (document.body?.innerText ?? '')`))
				for _, trace := range []string{secret, ann.id, ann.email} {
					if strings.Contains(keptText, trace) {
						t.Errorf("%s still has %q: %s", name, trace, keptText)
					}
				}
			}
		})
	}
	t.Run("the same person continues after the session has ended", func(t *testing.T) {
		ann := s.user(t, "owner")
		chromium := browser(t)
		ownContext := enters(t, chromium, s, ann)
		drive(ownContext, t, chromedp.Navigate(prompt))
		reads(ownContext, t, "Preview of v1")
		inserts(ownContext, t, ".cm-content", secret+" ")
		reads(ownContext, t, "Not saved yet.")
		s.sql(t, `UPDATE sessions SET ended_at = 1`)
		clicks(ownContext, t, `[aria-label="Areas"] a[href$="/presence"]`)
		reads(ownContext, t, "Your session has ended")
		enters(t, chromium, s, ann)
		drive(ownContext, t, poll[bool](`!document.body.innerText.includes('Your session has ended')`))
		drive(ownContext, t, chromedp.Navigate(prompt))
		reads(ownContext, t, "Not saved yet.")
		reads(ownContext, t, secret)
	})
	t.Run("a page that one person left is not where another one arrives", func(t *testing.T) {
		ann, eve := s.user(t, "owner"), s.user(t, "owner")
		chromium := browser(t)
		item := enters(t, chromium, s, ann)
		s.sql(t, `UPDATE sessions SET ended_at = 1`)
		drive(item, t, chromedp.Navigate(s.url+"/console/w/default/prompts?q=umbrella"))
		reads(item, t, "Your session has ended")
		drive(item, t, chromedp.Evaluate[chromedp.Void](`window.open = () => null`)) // as a browser that blocks windows
		presses(item, t, "Sign in")
		reads(item, t, "API key")
		drive(
			item,
			t,
			chromedp.Navigate(fmt.Sprintf("%s/console/sign-in?%s#token=%s", s.url, eve.id, s.link(t, eve.email))),
		)
		reads(item, t, "Sign in to")
		clicks(item, t, "#use-link")
		reads(item, t, "support/answer-ticket")
		if place := drive(item, t, chromedp.Evaluate[string](`location.href`)); strings.Contains(place, "umbrella") {
			t.Errorf("the next person arrives at %s", place)
		}
	})
}
