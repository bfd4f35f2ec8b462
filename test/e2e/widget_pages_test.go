package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
)

// Answers of a scripted endpoint.
const (
	stalls = "hang" // sends "Half " and no more
	breaks = "fail"
)

// scripted answers each message with the next text of script.
func scripted(script <-chan string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text := <-script
		if text == breaks {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if text == stalls {
			_, _ = io.WriteString(w, "data: {\"text\":\"Half \"}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		_, _ = fmt.Fprintf(w, "data: {\"text\":%q}\n\ndata: [DONE]\n\n", text)
	}
}

// messagesIn is what a chat shows: the texts of its messages and why they are not answered, in order.
func messagesIn(ctx context.Context, t *testing.T) string {
	t.Helper()
	return within[string](ctx, t, chatRoot, `[...$.querySelectorAll('.text:not([hidden]), .why')]
		.map((n) => n.textContent.trim()).join(' | ')`)
}

// showsMessages waits until a chat shows what messagesIn returns.
func showsMessages(ctx context.Context, t *testing.T, want string) {
	t.Helper()
	drive(ctx, t, poll[bool](fmt.Sprintf(`[...%s.querySelectorAll('.text:not([hidden]), .why')]
		.map((n) => n.textContent.trim()).join(' | ') === %q`, chatRoot, want)))
}

// visits opens a page of a shop in a tab that is open, and waits for its chat.
func visits(ctx context.Context, t *testing.T, page string) {
	t.Helper()
	drive(ctx, t, chromedp.Navigate(page))
	drive(ctx, t, poll[object](`told.ready`))
}

// hears waits for an event of the chat and forgets it.
func hears(ctx context.Context, t *testing.T, event string) string {
	t.Helper()
	text := drive(ctx, t, poll[string](`told.`+event))
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`delete told.`+event))
	return text
}

// triesAgain picks "Try again" below the last answer.
func triesAgain(ctx context.Context, t *testing.T) {
	t.Helper()
	within[chromedp.Void](ctx, t, chatRoot, `{
		const retry = [...$.querySelectorAll('.actions button:last-child')].at(-1)
		if (retry.textContent !== 'Try again') throw new Error(retry.textContent)
		retry.click()
	}`)
}

const fromUser = `{"role":"user","content":%q}`

func TestAConversationOutlivesItsPage(t *testing.T) {
	t.Parallel()
	script := make(chan string, 10)
	chromium, shop, e := widgetSite(t, scripted(script))
	ctx, _ := tab(t, chromium, shop+"/script")
	drive(ctx, t, poll[object](`told.ready`))
	t.Run("a question and its partial answer are there after a reload and on the next page", func(t *testing.T) {
		script <- stalls
		writes(ctx, t, chatRoot, "First?")
		showsMessages(ctx, t, "First? | Half")
		const rest = "First? | Half | The answer was interrupted."
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`delete told.ready; `+reload))
		drive(ctx, t, poll[object](`told.ready`))
		assert.Equal(t, "after a reload it shows", messagesIn(ctx, t), rest)
		visits(ctx, t, shop+"/script?lang=en")
		assert.Equal(t, "it shows", messagesIn(ctx, t), rest)
		keep(ctx, t, "widget-interrupted")
		checksAccessibility(ctx, t, `[...document.querySelectorAll('div')].find((d) => d.shadowRoot)`)
		script <- "Whole"
		triesAgain(ctx, t)
		assert.Equal(t, "the page hears of", hears(ctx, t, "reply"), "Whole")
		assert.Equal(t, "the endpoint got", e.replies.asked(t), "["+fmt.Sprintf(fromUser, "First?")+"]")
		assert.Equal(t, "it shows", messagesIn(ctx, t), "First? | Whole")
	})
	t.Run("a question whose answer failed is there, and is no part of the history", func(t *testing.T) {
		script <- breaks
		writes(ctx, t, chatRoot, "Second?")
		assert.Equal(t, "the page hears of", hears(ctx, t, "failed"), "reply_failed")
		visits(ctx, t, shop+"/script")
		const failure = "The chat cannot answer at the moment."
		assert.Equal(t, "it shows", messagesIn(ctx, t), "First? | Whole | Second? | "+failure)
		script <- "Third"
		writes(ctx, t, chatRoot, "Third?")
		hears(ctx, t, "reply")
		if messages := e.replies.asked(t); strings.Contains(messages, "Second?") ||
			!strings.Contains(messages, "First?") {
			t.Errorf("the endpoint got %s", messages)
		}
		within[chromedp.Void](ctx, t, chatRoot, `$.querySelector('header .plain').click()`)
		assert.Equal(t, "after Clear it shows", messagesIn(ctx, t), "")
	})
	t.Run("a stopped answer that is tried again is replaced", func(t *testing.T) {
		script <- stalls
		writes(ctx, t, chatRoot, "Stopped?")
		showsMessages(ctx, t, "Stopped? | Half")
		within[chromedp.Void](ctx, t, chatRoot, `$.querySelector('form .send').click()`)
		showsMessages(ctx, t, "Stopped? | Half | Stopped.")
		script <- "New"
		triesAgain(ctx, t)
		hears(ctx, t, "reply")
		assert.Equal(t, "the endpoint got", e.replies.asked(t), "["+fmt.Sprintf(fromUser, "Stopped?")+"]")
		visits(ctx, t, shop+"/script")
		assert.Equal(t, "it shows", messagesIn(ctx, t), "Stopped? | New")
	})
	t.Run("the endpoint knows the page, and a conversation until it is cleared", func(t *testing.T) {
		request := func() (body struct {
			Conversation string `json:"conversation_id"`
			Page         string `json:"page_url"`
		}) {
			text, _ := e.replies.last()
			require.NoError(t, json.Unmarshal([]byte(text), &body))
			return body
		}
		first := request()
		assert.Equal(t, "the page", first.Page, shop+"/script")
		visits(ctx, t, shop+"/script?lang=en#top")
		script <- "Same"
		writes(ctx, t, chatRoot, "Same?")
		hears(ctx, t, "reply")
		second := request()
		assert.Equal(t, "the page", second.Page, shop+"/script?lang=en")
		within[chromedp.Void](ctx, t, chatRoot, `$.querySelector('header .plain').click()`)
		script <- "Other"
		writes(ctx, t, chatRoot, "Other?")
		hears(ctx, t, "reply")
		if third := request(); first.Conversation != second.Conversation || len(first.Conversation) != 32 ||
			third.Conversation == first.Conversation {
			t.Errorf("conversations %q, %q and %q", first.Conversation, second.Conversation, third.Conversation)
		}
	})
	t.Run("messages of scripts wait for the present answer", func(t *testing.T) {
		within[chromedp.Void](ctx, t, chatRoot, `$.querySelector('header .plain').click()`)
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`atrium.send('One?'); atrium.send('Two?')`))
		script <- "1"
		script <- "2"
		showsMessages(ctx, t, "One? | 1 | Two? | 2")
	})
	t.Run("messages end after 30 days", func(t *testing.T) {
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`for (const key of Object.keys(localStorage)) {
			localStorage[key] = localStorage[key].replace(/"at":\d+/g, '"at":' + (Date.now() - 31 * 86400e3))
		}`))
		visits(ctx, t, shop+"/script")
		assert.Equal(t, "it shows", messagesIn(ctx, t), "")
		storage := drive(ctx, t, chromedp.Evaluate[string](`JSON.stringify(localStorage)`))
		assert.Equal(t, "the browser keeps", storage, "{}")
	})
	t.Run("an open chat is open on the next page, and takes no focus", func(t *testing.T) {
		page := shop + "/script?launcher=bubble"
		visits(ctx, t, page)
		within[chromedp.Void](ctx, t, chatRoot, `$.querySelector('.bubble').click()`)
		visits(ctx, t, page)
		got := within[string](ctx, t, chatRoot, `[$.querySelector('.atrium').hidden,
			$.querySelector('.bubble').ariaExpanded, document.activeElement.tagName].join(' ')`)
		assert.Equal(t, "hidden, expanded and focus", got, "false true BODY")
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`atrium.close()`))
		visits(ctx, t, page)
		if !within[bool](ctx, t, chatRoot, `$.querySelector('.atrium').hidden`) {
			t.Error("a closed chat is open on the next page")
		}
	})
}

func TestTheGreetingHasTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	chromium, shop, e := widgetSite(t, scripted(nil))
	german := object{"language": "de", "greeting": "Guten Tag!", "conversation_starters": []string{"Wo ist sie?"}}
	e.manager.do(t, "PATCH", e.template, object{"translations": []object{german, german}}).problem(t, 422,
		"invalid_fields")
	e.manager.do(t, "PATCH", e.template, object{"translations": []object{german, {"language": "pt-BR",
		"greeting": "Bom dia!"}}}).is(t, 200)
	diff := e.manager.get(t, e.template+"/versions/draft/diff?against=published")
	assert.Equal(t, "changed fields", diff.at("changed_fields"), `["translations"]`)
	e.manager.do(t, "POST", e.template+"/versions/draft/publish", object{}).is(t, 200)
	export := json.RawMessage(e.manager.get(t, e.template+"/export").text)
	template := e.manager.create(t, chats+"/import", object{"export": export})
	assert.Equal(t, "translations of an import", template.at("translations"),
		e.manager.get(t, e.template).at("translations"))
	ctx, _ := tab(t, chromium, shop+"/script")
	for lang, want := range map[string]string{"de-CH": "Guten Tag!|Wo ist sie?", "pt": "Bom dia!|Where is it?",
		"fr": "Hello <b>you</b>|Where is it?"} {
		visits(ctx, t, shop+"/script?lang="+lang)
		got := within[string](ctx, t, chatRoot, `$.querySelector('.atrium > p').textContent + '|' +
			$.querySelector('.starters button').textContent`)
		assert.Equal(t, lang, got, want)
	}
}

func TestTabsShareOneConversation(t *testing.T) {
	t.Parallel()
	script := make(chan string, 10)
	chromium, shop, e := widgetSite(t, scripted(script))
	one, _ := tab(t, chromium, shop+"/script")
	two, _ := tab(t, chromium, shop+"/script")
	for _, ctx := range []context.Context{one, two} {
		drive(ctx, t, poll[object](`told.ready`))
	}
	t.Run("each shows the messages of the other, and sends them", func(t *testing.T) {
		script <- "1"
		writes(one, t, chatRoot, "One?")
		showsMessages(two, t, "One? | 1")
		script <- "2"
		writes(two, t, chatRoot, "Two?")
		showsMessages(one, t, "One? | 1 | Two? | 2")
		if messages := e.replies.asked(t); !strings.Contains(messages, "One?") {
			t.Errorf("the endpoint got %s", messages)
		}
		visits(one, t, shop+"/script")
		assert.Equal(t, "it shows", messagesIn(one, t), "One? | 1 | Two? | 2")
	})
	t.Run("each shows the answer that the other is getting", func(t *testing.T) {
		script <- stalls
		writes(one, t, chatRoot, "Three?")
		showsMessages(two, t, "One? | 1 | Two? | 2 | Three? | Half")
		visits(two, t, shop+"/script")
		assert.Equal(t, "it shows", messagesIn(two, t), "One? | 1 | Two? | 2 | Three? | Half")
	})
	t.Run("one that clears them ends the answer of the other", func(t *testing.T) {
		within[chromedp.Void](two, t, chatRoot, `$.querySelector('header .plain').click()`)
		showsMessages(one, t, "")
		drive(one, t, poll[bool](chatRoot+`.querySelector('.log').ariaBusy === 'false'`))
		storage := drive(two, t, chromedp.Evaluate[string](`JSON.stringify(localStorage)`))
		assert.Equal(t, "the browser keeps", storage, "{}")
	})
	t.Run("the answer of a page that is gone without a word can be tried again", func(t *testing.T) {
		drive(two, t, chromedp.Evaluate[chromedp.Void](`window.addEventListener = () => {}`)) // nothing at its end
		visits(one, t, shop+"/script?clock=soon")
		script <- stalls
		writes(two, t, chatRoot, "Gone?")
		showsMessages(one, t, "Gone? | Half")
		// As if the other tab had crashed: its latest sign of life stays.
		drive(two, t, chromedp.Evaluate[chromedp.Void](`Storage.prototype.setItem = () => {}`))
		drive(one, t, chromedp.Evaluate[chromedp.Void](`Date.now = ((now) => () => now() + 60000)(Date.now)`))
		showsMessages(one, t, "Gone? | Half | The answer was interrupted.")
	})
}
