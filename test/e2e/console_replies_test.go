package e2e

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/proof"
)

func TestTheConsoleShowsRepliesThatFail(t *testing.T) {
	s := start(t, sqlite, toShops)
	owner := s.user(t, "owner")
	var works atomic.Bool
	e := owner.replying(t, newReplies(t, func(w http.ResponseWriter, _ *http.Request) {
		if !works.Load() {
			http.Error(w, "inner-failure", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"text":"Yes."}`))
	}), nil)
	session := e.visit(t, fromShop).at("session")
	ask := func() { e.says(t, session, object{"text": "?"}, fromShop).is(t, 200) }
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, owner.email))
	clicks(ctx, t, "#use-link")
	page := s.url + "/console/w/default/chats/" + strings.TrimPrefix(e.template, chats+"/")
	const reason = "The latest replies to visitors failed (auth_failed)."

	days := time.Now().UTC().Format(time.DateOnly)
	for range 5 {
		ask()
	}
	days += time.Now().UTC().Format(time.DateOnly) // another one if midnight passes
	proof.Await(t, "the chat is degraded", func() *answer { return owner.get(t, e.template) },
		func(a *answer) bool { return a.at("health") == "degraded" })
	proof.Await(t, "the failures are counted", func() *answer { return owner.get(t, e.path+"/usage") },
		func(a *answer) bool { return a.at("failures") == "5" })
	holds(ctx, t, `!location.pathname.includes('sign-in')`)
	drive(ctx, t, chromedp.Navigate(page))
	opensTab(ctx, t, "Replies")
	reads(ctx, t, reason)
	reads(ctx, t, "Connection that replies")
	keep(ctx, t, "console-replies-failing")
	opensTab(ctx, t, "Embed")
	presses(ctx, t, "Usage")
	reads(ctx, t, "Replies that failed: 5")
	reads(ctx, t, "auth_failed")
	holds(ctx, t, `[...document.querySelectorAll('[role=dialog] td')].some((cell) => /^\d{4}-\d\d-\d\d$/.test(
		cell.innerText.trim()) && '`+days+`'.includes(cell.innerText.trim()))`)
	keep(ctx, t, "console-replies-failed")
	clicks(ctx, t, `[role=dialog] [aria-label="Close"]`)

	works.Store(true)
	ask()
	proof.Await(t, "the chat replies again", func() *answer { return owner.get(t, e.template) },
		func(a *answer) bool { return a.at("health") == "ok" })
	drive(ctx, t, chromedp.Navigate(page))
	opensTab(ctx, t, "Replies")
	reads(ctx, t, "Connection that replies")
	drive(ctx, t, poll[bool](`!document.body.innerText.includes('`+reason+`')`))
}
