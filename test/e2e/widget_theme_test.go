package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestThemesAndScriptsOfAPage(t *testing.T) {
	t.Parallel()
	chromium, shop, e := widgetSite(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"text\":\"An answer.\"}\n\ndata: [DONE]\n\n")
	})
	e.manager.do(t, "PATCH", e.path, object{"theme": object{"scheme": "light", "position": "left", "radius": 4,
		"light": object{"primary": "#ffe08a", "background": "#0b3d2e", "surface": "#14503d",
			"text": "#f4fff9"}}}).is(t, 200)
	const color = `getComputedStyle($.querySelector('.send')).backgroundColor`

	ctx, _ := tab(t, chromium, shop+"/script?launcher=bubble")
	drive(ctx, t, poll[object](`told.ready`))
	t.Run("a chat has the theme of its token, with text that can be read", func(t *testing.T) {
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`atrium.open()`))
		got := within[string](ctx, t, chatRoot, `[`+color+`, getComputedStyle($.querySelector('.send')).color,
			getComputedStyle($.querySelector('.atrium')).backgroundColor,
			getComputedStyle($.querySelector('.atrium')).borderRadius,
			$.querySelector('.bubble').getBoundingClientRect().left].join(' ')`)
		assert.Equal(t, "it looks like", got, "rgb(255, 224, 138) rgb(0, 0, 0) rgb(11, 61, 46) 4px 16")
	})
	t.Run("a script of the page sends, hears and names the visitor", func(t *testing.T) {
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`window.heard = []
			window.off = atrium.on('reply', (text) => heard.push(text))
			atrium.send('Hello?')`))
		drive(ctx, t, poll[bool](`heard.length === 1 && heard[0] === 'An answer.'`))
		keep(ctx, t, "widget-theme")
		checksAccessibility(ctx, t, `[...document.querySelectorAll('div')].find((d) => d.shadowRoot)`)
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`off(); delete told.ready; atrium.setVisitor('customer-7')`))
		session, _ := drive(ctx, t, poll[object](`told.ready`))["session"].(string)
		e.resume(t, session, "Origin: "+shop).is(t, 200).has(t, map[string]string{"visitor": "customer-7"})
		if n := within[int](ctx, t, chatRoot, `$.querySelectorAll('.me').length`); n != 0 {
			t.Error("another visitor reads the messages of the first")
		}
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`atrium.close()`))
		if !within[bool](ctx, t, chatRoot, `$.querySelector('.atrium').hidden`) {
			t.Error("it stays open")
		}
	})
	t.Run("the style of the page wins, by properties and parts", func(t *testing.T) {
		got := within[string](ctx, t, chatRoot, `{
			document.documentElement.style.setProperty('--atrium-primary', '#112233')
			const own = new CSSStyleSheet()
			own.replaceSync('div::part(send) { letter-spacing: 3px }')
			document.adoptedStyleSheets = [own]
			return [`+color+`, getComputedStyle($.querySelector('.send')).letterSpacing].join(' ')
		}`)
		assert.Equal(t, "it looks like", got, "rgb(17, 34, 51) 3px")
	})
	t.Run("a frame has the theme too, and the same functions", func(t *testing.T) {
		ctx, _ := tab(t, chromium, shop+"/frame")
		ready := drive(ctx, t, poll[object](`told.ready`))
		assert.Equal(t, "the theme of the frame", at(ready, "template.theme.light.primary"), "#ffe08a")
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`atrium.send('In the frame?')`))
		assert.Equal(t, "the frame answers", drive(ctx, t, poll[string](`told.reply`)), "An answer.")
		keep(ctx, t, "widget-theme-frame")
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`delete told.ready; atrium.setVisitor('customer-8')`))
		session, _ := drive(ctx, t, poll[object](`told.ready`))["session"].(string)
		e.manager.do(t, "POST", "/api/embed/sessions/verify", object{"session": session}).is(t, 200).has(t,
			map[string]string{"visitor": "customer-8"})
	})
}

// at returns a member of an object.
func at(o object, path string) string {
	var value any = o
	for part := range strings.SplitSeq(path, ".") {
		inner, _ := value.(map[string]any)
		value = inner[part]
	}
	text, _ := value.(string)
	return text
}
