package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// markdown is an answer with everything that the widget shows, and with what it must not.
const markdown = "**Bold**, *soft* and `code`.\n\n1. one\n2. two\n\n- [a link](https://example.com/x)\n" +
	"- [no link](javascript:alert(1))\n\n```\n<b>raw</b>\n```\n" +
	"<img src=x onerror=told.hacked=1> <script>told.hacked=1</script>"

// widgetSite is a listed site with a chat that handle answers.
func widgetSite(t *testing.T, handle http.HandlerFunc) (chromium context.Context, origin string, e *embeddedChat) {
	t.Helper()
	s := start(t, sqlite, toShops)
	origin = site(t, func() *embeddedChat { return e })
	e = s.user(t, "admin").replying(t, newReplies(t, handle), object{"allowed_origins": []string{origin}})
	return browser(t), origin, e
}

// chatRoot is the shadow root of the chat on a site.
const chatRoot = `[...document.querySelectorAll('div')].find((d) => d.shadowRoot).shadowRoot`

// within evaluates an expression on the root of the chat, which is $ in it.
func within[T any](ctx context.Context, t *testing.T, root, expression string) T {
	t.Helper()
	return drive(ctx, t, chromedp.Evaluate[T](`(($) => `+expression+`)(`+root+`)`))
}

// writes sends a message as a visitor does who uses only the keyboard.
func writes(ctx context.Context, t *testing.T, root, text string) {
	t.Helper()
	drive(ctx, t, poll[bool](root+`.querySelector('.log').ariaBusy !== 'true'`)) // during an answer, nothing is sent
	within[chromedp.Void](ctx, t, root, fmt.Sprintf(`{
		const field = $.querySelector('textarea')
		field.focus()
		field.value = %q
		field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))
	}`, text))
}

// checksAccessibility expects that axe finds nothing.
func checksAccessibility(ctx context.Context, t *testing.T, owner string) {
	t.Helper()
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](axe(t)))
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`axe.run(`+owner+`, {resultTypes: ['violations']}).then((r) => {
		const found = r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.html).join(' ; '))
		window.axeFound = 'done: ' + found.join(' | ')
	}), undefined`))
	drive(ctx, t, poll[bool](`window.axeFound !== undefined`))
	assert.Equal(t, "axe finds", drive(ctx, t, chromedp.Evaluate[string](`window.axeFound`)), "done: ")
}

func TestAVisitorTalksToTheWidget(t *testing.T) {
	t.Parallel()
	said := make(chan string, 10)
	chromium, shop, e := widgetSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		text := strings.ReplaceAll(strings.ReplaceAll(markdown, "\n", `\n`), `"`, `\"`)
		switch <-said {
		case "hang":
			_, _ = io.WriteString(w, "data: {\"text\":\"Half \"}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "fail":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			half := strings.Index(text, "soft")
			for _, part := range []string{text[:half], text[half:]} {
				_, _ = fmt.Fprintf(w, "data: {\"text\":\"%s\"}\n\n", part)
			}
			_, _ = io.WriteString(w, "data: [DONE]\n\n")
		}
	})
	ctx, _ := tab(t, chromium, shop+"/script")
	drive(ctx, t, poll[object](`told.ready`))
	t.Run("a starter sends, and the answer is Markdown without HTML", func(t *testing.T) {
		said <- "markdown"
		within[chromedp.Void](ctx, t, chatRoot, `$.querySelector('.starters button').click()`)
		assert.Equal(t, "the site hears of", drive(ctx, t, poll[string](`told.reply`)), markdown)
		keep(ctx, t, "widget-answer")
		checksAccessibility(ctx, t, `[...document.querySelectorAll('div')].find((d) => d.shadowRoot)`)
		got := within[string](ctx, t, chatRoot, `JSON.stringify([...$.querySelectorAll('.them .text *')]
			.map((n) => n.tagName + (n.href ? ' ' + n.href + ' ' + n.rel : '')))`)
		for _, want := range []string{"STRONG", "EM", "OL", "UL", "PRE",
			"https://example.com/x noopener noreferrer nofollow"} {
			assert.Contains(t, want+": is not in", got, want)
		}
		if strings.Contains(got, "IMG") || strings.Contains(got, "SCRIPT") || strings.Contains(got, "javascript") ||
			drive(ctx, t, chromedp.Evaluate[bool](`told.hacked === 1`)) {
			t.Errorf("a text became markup: %s", got)
		}
	})
	t.Run("an answer can be stopped, and tried again", func(t *testing.T) {
		said <- "hang"
		writes(ctx, t, chatRoot, "Second?")
		drive(ctx, t, poll[bool](chatRoot+`.querySelector('.log').innerText.includes('Half')`))
		within[chromedp.Void](ctx, t, chatRoot, `$.querySelector('form .send').click()`)
		drive(ctx, t, poll[bool](chatRoot+`.querySelector('.why')?.textContent === 'Stopped.'`))
		said <- "fail"
		within[chromedp.Void](ctx, t, chatRoot, `$.querySelector('.why').parentNode
			.querySelector('.actions button:last-child').click()`)
		drive(ctx, t, poll[bool](chatRoot+
			`.querySelector('.why')?.textContent.startsWith('The chat cannot answer')`))
		keep(ctx, t, "widget-failure")
	})
	t.Run("the page remembers the messages until the visitor clears them", func(t *testing.T) {
		drive(ctx, t, chromedp.Navigate(shop+"/script"))
		drive(ctx, t, poll[object](`told.ready`))
		assert.Equal(t, "messages are shown", within[int](ctx, t, chatRoot, `$.querySelectorAll('.me').length`), 2)
		within[chromedp.Void](ctx, t, chatRoot, `$.querySelector('header .plain').click()`)
		drive(ctx, t, chromedp.Navigate(shop+"/script"))
		drive(ctx, t, poll[object](`told.ready`))
		assert.Equal(t, "messages are shown", within[int](ctx, t, chatRoot, `$.querySelectorAll('.me').length`), 0)
	})
	t.Run("a bubble opens the chat, in the visitor's language and direction", func(t *testing.T) {
		for lang, want := range map[string]string{"ar": "rtl", "de-CH": "ltr"} {
			ctx, _ := tab(t, chromium, shop+"/script?launcher=bubble&lang="+lang)
			drive(ctx, t, poll[object](`told.ready`))
			if !within[bool](ctx, t, chatRoot, `$.querySelector('.atrium').hidden`) {
				t.Error("it is open at once")
			}
			if lang == "ar" {
				drive(ctx, t, chromedp.EmulateViewport(360, 640))
			}
			within[chromedp.Void](ctx, t, chatRoot, `$.querySelector('.bubble').click()`)
			said <- "markdown"
			writes(ctx, t, chatRoot, "?")
			drive(ctx, t, poll[string](`told.reply`))
			keep(ctx, t, "widget-bubble-"+lang)
			if got := within[string](ctx, t, chatRoot, `$.querySelector('.atrium').dir + ' ' +
				getComputedStyle($.querySelector('textarea')).direction`); got != want+" "+want {
				t.Errorf("%s is %s", lang, got)
			}
			if got := within[string](ctx, t, chatRoot, `[document.documentElement, ...$.querySelectorAll('*')]
				.filter((n) => !n.closest('.hidden, pre') && (n.scrollWidth > innerWidth ||
					n.getBoundingClientRect().left < 0 || n.getBoundingClientRect().right > innerWidth))
				.map((n) => n.tagName + '.' + n.className).join(' ')`); got != "" {
				t.Errorf("%s: wider than the window: %s", lang, got)
			}
			checksAccessibility(ctx, t, `[...document.querySelectorAll('div')].find((d) => d.shadowRoot)`)
			within[chromedp.Void](ctx, t, chatRoot, `$.querySelector('header .plain').click()`)
			within[chromedp.Void](ctx, t, chatRoot, `$.querySelector('textarea').dispatchEvent(
				new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))`)
			if got := within[string](ctx, t, chatRoot,
				`String($.querySelector('.atrium').hidden) + $.activeElement.className`); got != "truebubble" {
				t.Errorf("Escape leaves %s", got)
			}
		}
	})
	t.Run("a bubble opens the frame, and Escape in the frame closes it", func(t *testing.T) {
		const root = `[...document.querySelectorAll('div')].find((d) => d.shadowRoot)?.shadowRoot`
		ctx, _ := tab(t, chromium, shop+"/frame?launcher=bubble")
		drive(ctx, t, poll[object](`told.ready`))
		if !drive(ctx, t, chromedp.Evaluate[bool](root+`?.querySelector('.floating').hidden === true`)) {
			t.Fatal("the frame is open at once")
		}
		within[chromedp.Void](ctx, t, root, `$.querySelector('.bubble').click()`)
		// the frame takes the focus, and its page gives it to the input
		drive(ctx, t, poll[bool](root+`.activeElement?.tagName === 'IFRAME' && `+
			root+`.querySelector('iframe').offsetHeight >= 100`))
		keep(ctx, t, "widget-bubble-frame")
		for !drive(ctx, t, chromedp.Evaluate[bool](`'message' in told`)) { // the input takes the focus some time later
			drive(ctx, t, chromedp.KeyEvent("?\r"))
		}
		said <- "markdown"
		drive(ctx, t, poll[string](`told.reply`))
		drive(ctx, t, chromedp.KeyEvent("\x1b"))
		drive(ctx, t, poll[bool](root+`.querySelector('.floating').hidden && `+
			root+`.activeElement?.className === 'bubble'`))
	})
	t.Run("a session is renewed before it ends, and replaced if it has ended", func(t *testing.T) {
		ctx, _ := tab(t, chromium, shop+"/script?clock=fast")
		session := func(owner string) string {
			s, _ := drive(ctx, t, poll[object](`told.`+owner))["session"].(string)
			return s
		}
		first, second := session("ready"), session("renewed")
		if first == second {
			t.Error("the session is the same")
		}
		e.resume(t, second, "Origin: "+shop).is(t, 200).has(t, map[string]string{"visitor": "customer-42"})

		ctx, _ = tab(t, chromium, shop+"/script")
		endedText := session("ready")
		for _, isEnabled := range []bool{false, true} {
			e.manager.do(t, "PATCH", e.path, object{"enabled": isEnabled}).is(t, 200)
		}
		e.resume(t, endedText, "Origin: "+shop).problem(t, 401, "embed_session_invalid")
		said <- "markdown"
		writes(ctx, t, chatRoot, "Still there?")
		drive(ctx, t, poll[string](`told.reply`))
		e.resume(t, session("renewed"), "Origin: "+shop).is(t, 200)
	})
}
