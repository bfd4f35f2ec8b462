package e2e

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
)

// everything is all that a page has and keeps of a chat.
const everything = `(` + chatRoot + `.innerHTML + JSON.stringify(localStorage) + JSON.stringify(sessionStorage))`

func TestNothingOfAFormerVisitorRemains(t *testing.T) {
	t.Parallel()
	script := make(chan string, 10)
	chromium, shop, e := widgetSite(t, scripted(script))
	signature := embed.SignVisitor(secret.New(e.visitorSecret), "anna", "", time.Now().Add(time.Hour))
	signed := func(page string) string {
		return shop + page + "?visitor=anna&signature=" + url.QueryEscape(signature)
	}
	ctx, _ := tab(t, chromium, signed("/script"))
	drive(ctx, t, poll[object](`told.ready`))
	asks := func(t *testing.T, text string) {
		t.Helper()
		script <- "Dear " + text
		writes(ctx, t, chatRoot, text)
		hears(ctx, t, "reply")
	}

	t.Run("a switch during an answer", func(t *testing.T) {
		asks(t, "anna's first")
		script <- stalls
		writes(ctx, t, chatRoot, "anna's second")
		showsMessages(ctx, t, "anna's first | Dear anna's first | anna's second | Half")
		rest := drive(ctx, t, chromedp.Evaluate[string](`delete told.ready
			told.message = undefined
			atrium.setVisitor('ben');
			`+everything))
		if strings.Contains(rest, "anna") {
			t.Errorf("at once, the page has %s", rest)
		}
		drive(ctx, t, poll[object](`told.ready`))
		asks(t, "ben's first")
		assert.Equal(t, "the endpoint got", e.replies.asked(t), `[{"role":"user","content":"ben's first"}]`)
		got := drive(ctx, t, chromedp.Evaluate[string](`JSON.stringify([told.failed, told.refusal, told.refused]) + `+
			everything))
		if !strings.HasPrefix(got, "[null,null,null]") || strings.Contains(got, "anna") {
			t.Errorf("the page has %s", got)
		}
	})
	t.Run("a page that names another visitor", func(t *testing.T) {
		visits(ctx, t, signed("/script"))
		if got := drive(ctx, t, chromedp.Evaluate[string](everything)); strings.Contains(got, "ben") {
			t.Errorf("the page has %s", got)
		}
	})
	t.Run("a page that claims the visitor without a signature", func(t *testing.T) {
		asks(t, "anna's third")
		visits(ctx, t, shop+"/script?visitor=anna")
		if got := drive(ctx, t, chromedp.Evaluate[string](everything)); strings.Contains(got, "anna's third") {
			t.Errorf("the page has %s", got)
		}
	})
	t.Run("a page that names the visitor late shows their messages", func(t *testing.T) {
		visits(ctx, t, signed("/script"))
		asks(t, "anna's fourth")
		visits(ctx, t, shop+"/script?visitor=")
		assert.Equal(t, "before, it shows", messagesIn(ctx, t), "")
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`delete told.ready; atrium.setVisitor('anna', '`+signature+`')`))
		drive(ctx, t, poll[object](`told.ready`))
		assert.Equal(t, "it shows", messagesIn(ctx, t), "anna's fourth | Dear anna's fourth")
	})
	t.Run("a page without a visitor, which is a sign-out", func(t *testing.T) {
		visits(ctx, t, shop+"/script?visitor=&clock=soon")
		drive(ctx, t, poll[bool](`!(`+everything+`).includes('anna')`))
	})
	t.Run("a sign-out without a new page", func(t *testing.T) {
		visits(ctx, t, signed("/script"))
		asks(t, "anna's fifth")
		rest := drive(ctx, t, chromedp.Evaluate[string](`atrium.setVisitor(); `+everything))
		if strings.Contains(rest, "anna") {
			t.Errorf("the page has %s", rest)
		}
	})
	t.Run("a session ends with its signature", func(t *testing.T) {
		visits(ctx, t, signed("/script"))
		expired := embed.SignVisitor(secret.New(e.visitorSecret), "anna", "", time.Now().Add(-time.Hour))
		drive(ctx, t, chromedp.Navigate(shop+"/script?visitor=anna&signature="+url.QueryEscape(expired)))
		refused := drive(ctx, t, poll[string](`told.refused`))
		assert.Equal(t, "the page hears of", refused, "visitor_signature_invalid")
	})
	t.Run("a frame whose visitor switches during an answer", func(t *testing.T) {
		visits(ctx, t, signed("/frame"))
		send := func(text string) {
			drive(ctx, t, chromedp.Evaluate[chromedp.Void](`atrium.send("`+text+`")`))
		}
		script <- "Dear anna"
		send("anna's sixth")
		hears(ctx, t, "reply")
		script <- stalls
		send("anna's seventh")
		proof.Eventually(t, "the endpoint has the question", func() bool { // else ben's would get what stalls
			body, _ := e.replies.last()
			return strings.Contains(body, "anna's seventh")
		})
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`told.ready = told.failed = undefined; atrium.setVisitor('ben')`))
		drive(ctx, t, poll[object](`told.ready`))
		script <- "Dear ben"
		send("ben's second")
		assert.Equal(t, "the page hears of", hears(ctx, t, "reply"), "Dear ben")
		assert.Equal(t, "the endpoint got", e.replies.asked(t), `[{"role":"user","content":"ben's second"}]`)
		body, _ := e.replies.last()
		assert.Contains(t, "the endpoint got "+body, body, `"page_url":"`+shop+`/frame?visitor=anna`)
		if !drive(ctx, t, chromedp.Evaluate[bool](`told.failed === undefined`)) {
			t.Error("ben's page hears of anna's answer")
		}
	})
}
