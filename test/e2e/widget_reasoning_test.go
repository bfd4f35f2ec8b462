package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestAVisitorSeesWhatTheModelThoughtAndWhatItRefuses(t *testing.T) {
	t.Parallel()
	answers := make(chan string, 10)
	chromium, shop, e := widgetSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, <-answers+"data: [DONE]\n\n")
	})
	const thought = "data: {\"reasoning\":\"Order 42 \"}\n\ndata: {\"reasoning\":\"left <b>today</b>.\"}\n\n" +
		"data: {\"text\":\"It is on its way.\"}\n\n"
	ctx, _ := tab(t, chromium, shop+"/script")
	drive(ctx, t, poll[object](`told.ready`))
	last := `[...$.querySelectorAll('.them')].at(-1)`

	t.Run("reasoning is hidden unless the chat shows it", func(t *testing.T) {
		answers <- thought
		writes(ctx, t, chatRoot, "Where?")
		drive(ctx, t, poll[string](`told.reply`))
		if within[bool](ctx, t, chatRoot, last+`.querySelector('details') !== null`) {
			t.Error("the visitor sees it")
		}
	})
	t.Run("reasoning is collapsed, and is text", func(t *testing.T) {
		reply := object{"kind": "http", "connection_id": e.manager.get(t, e.template).at("reply.connection_id"),
			"show_reasoning": true}
		e.manager.do(t, "PATCH", e.template, object{"reply": reply}).is(t, 200)
		e.manager.do(t, "POST", e.template+"/versions/draft/publish", object{}).is(t, 200)
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`delete told.reply`))
		answers <- thought
		writes(ctx, t, chatRoot, "Where is it?")
		assert.Equal(t, "the page hears of", drive(ctx, t, poll[string](`told.reply`)), "It is on its way.")
		got := within[string](ctx, t, chatRoot, `[`+last+`.querySelector('details').open,
			`+last+`.querySelector('summary').textContent, `+last+`.querySelector('details div').textContent].join('|')`)
		assert.Equal(t, "it shows", got, "false|Reasoning|Order 42 left <b>today</b>.")
		within[chromedp.Void](ctx, t, chatRoot, last+`.querySelector('summary').click()`)
		keep(ctx, t, "widget-reasoning")
		checksAccessibility(ctx, t, `[...document.querySelectorAll('div')].find((d) => d.shadowRoot)`)
	})
	t.Run("a refusal is an answer that the page hears of", func(t *testing.T) {
		answers <- "data: {\"refusal\":\"I cannot help with that.\"}\n\n"
		writes(ctx, t, chatRoot, "Whose card is it?")
		assert.Equal(t, "the page hears of", drive(ctx, t, poll[string](`told.refusal`)), "I cannot help with that.")
		got := within[string](ctx, t, chatRoot, last+`.querySelector('.text').textContent`)
		assert.Equal(t, "it shows", got, "I cannot help with that.")
	})
	t.Run("an empty answer says so, and can be tried again", func(t *testing.T) {
		answers <- ""
		writes(ctx, t, chatRoot, "And now?")
		assert.Equal(t, "the page hears of", drive(ctx, t, poll[string](`told.failed`)), "reply_empty")
		got := within[string](ctx, t, chatRoot, last+`.innerText`)
		if !strings.Contains(got, "The chat did not find an answer.") || !strings.Contains(got, "Try again") {
			t.Errorf("it shows %q", got)
		}
	})
}
