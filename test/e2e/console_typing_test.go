package e2e

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/proof"
)

// countsWork counts what a page does with long texts: how often it reads that of an editor, calls functions of the
// browser that read one from its start to its end, and how much of a preview it replaces.
const countsWork = `(() => {
	const long = 100_000, counts = window.counts = {reads: 0, calls: 0, replaced: 0}
	const view = document.querySelector('.cm-content').cmTile.view // of CodeMirror: EditorView.findFromDOM
	let text = Object.getPrototypeOf(view.state.doc)
	while (!Object.hasOwn(text, 'toString')) text = Object.getPrototypeOf(text)
	const count = (object, name, key, isLong) => {
		const real = object[name]
		object[name] = function (...given) {
			if (isLong(this, ...given)) counts[key]++
			return real.apply(this, given)
		}
	}
	const has = (...all) => all.some((one) => typeof one === 'string' && one.length > long)
	count(text, 'toString', 'reads', (doc) => doc.length > long)
	count(JSON, 'parse', 'calls', (_, s) => has(s))
	count(JSON, 'stringify', 'calls', (_, v) => has(v, v?.text))
	count(RegExp.prototype, 'exec', 'calls', (_, s) => has(s))
	count(RegExp.prototype, Symbol.matchAll, 'calls', (_, s) => has(s))
	count(TextEncoder.prototype, 'encode', 'calls', (_, s) => has(s))
	count(Storage.prototype, 'setItem', 'calls', (_, key, s) => has(s))
	new MutationObserver((all) => {
		for (const one of all) {
			if (one.type === 'characterData') counts.replaced += one.target.data.length
			else for (const node of one.addedNodes) counts.replaced += node.textContent.length
		}
	}).observe(document.querySelector('section[aria-label=Preview]'),
		{subtree: true, childList: true, characterData: true})
})()`

// typesWithoutPause types some characters without a pause, so that no timer of the page runs meanwhile, and returns
// what the page has done until then.
const typesWithoutPause = `(async () => {
	for (let i = 0; i < 5; i++) {
		document.execCommand('insertText', false, 'y')
		for (let n = 0; n < 10; n++) await null // what observers of the document do
	}
	return counts
})()`

// watchesFrames records how long frames take, and what takes the time in those of more than 50 ms. If scripts and
// layout are quick, the browser draws, or another program has the processor.
const watchesFrames = `(() => {
	window.frames_ = []
	window.causes = []
	let last = performance.now()
	const frame = (now) => { frames_.push(now - last); last = now; requestAnimationFrame(frame) }
	requestAnimationFrame(frame)
	const ms = (n) => Math.round(n) + ' ms'
	new PerformanceObserver((list) => {
		for (const e of list.getEntries()) {
			const end = e.startTime + e.duration
			const scripts = e.scripts.map((s) => s.invoker + ' in ' + s.sourceURL.split('/').pop() + ' ' +
				ms(s.duration) + ', of which layout ' + ms(s.forcedStyleAndLayoutDuration))
			const layout = 'layout and paint ' + ms(end - e.styleAndLayoutStart)
			causes.push(ms(e.duration) + ': ' + [layout, ...scripts].join('; '))
		}
	}).observe({type: 'long-animation-frame'})
})()`

// typed is about the time and the order of typing in editors. It runs as a part of TestChangesInTheConsole.
func typed(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	proof.Only(t)
	t.Run("nothing typed into the messages of a prompt is lost", func(t *testing.T) { messagesTyped(ctx, t, s, owner) })
	t.Run("what is typed the moment a page shows something is kept", func(t *testing.T) { typedAtOnce(ctx, t, owner) })
	t.Run("a prompt of 256 KiB is typed in", func(t *testing.T) { longTyped(ctx, t, s, owner) })
}

// longTyped types into the longest prompt.
func longTyped(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	line := "You answer {{customer}} as a patient colleague would, and use only what the articles say.\n"
	template := owner.create(t, templates, object{"name": "console/long", "visibility": "workspace"}).at("id")
	owner.create(t, templates+"/"+template+"/versions",
		object{"text": strings.Repeat(line, (256<<10-100)/len(line))})
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts/"+template))
	reads(ctx, t, "Preview of v1")
	toFront(ctx, t)
	on(ctx, t, `document.querySelector('.cm-content')`, "focus")
	drive(ctx, t, poll[bool](`!!document.querySelector('.cm-focused')`))
	if style := drive(ctx, t, chromedp.Evaluate[string](
		`getComputedStyle(document.querySelector('.cm-focused')).outlineStyle`)); style != "solid" {
		t.Errorf("the line around a focused editor is %s, which takes long to draw beside a long text", style)
	}

	drive(ctx, t, chromedp.Evaluate[chromedp.Void](watchesFrames))
	keys, passes, longest := proof.Sample(5, 60), proof.Sample(1, 3), math.Inf(1)
	for range passes { // another program can take the processor during one of them
		drive(ctx, t, poll[bool](`frames_.push(0) > 5`))
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`frames_.length = causes.length = 0`))
		for range keys {
			drive(ctx, t, chromedp.KeyEvent("x"))
			time.Sleep(30 * time.Millisecond)
		}
		drive(ctx, t, poll[bool](previewed(strings.Repeat("x", keys)+"You answer")))
		longest = min(longest, drive(ctx, t, chromedp.Evaluate[float64](`Math.max(...frames_)`)))
		for _, cause := range drive(ctx, t, chromedp.Evaluate[[]string](`causes`)) {
			t.Log("a frame of " + cause)
		}
		presses(ctx, t, "Discard")
		drive(ctx, t, poll[bool](previewed("You answer")))
	}
	t.Logf("%d keys into 256 KiB: the longest frame took %.0f ms, at best of %d times (budget: 50 ms)", keys, longest,
		passes)
	proof.Within(t, "the longest frame", time.Duration(longest*float64(time.Millisecond)), 50*time.Millisecond)

	on(ctx, t, `document.querySelector('.cm-content')`, "focus")
	drive(ctx, t, chromedp.KeyEvent("x")) // the first key shows that there is something to save
	drive(ctx, t, poll[bool](previewed("xYou answer")))
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](countsWork))
	type work struct{ Reads, Calls, Replaced int }
	if item := drive(ctx, t, chromedp.Evaluate[work](typesWithoutPause, chromedp.EvalAwaitPromise)); item != (work{}) {
		t.Errorf("keys without a pause: %+v; the page must wait for a pause before it reads the whole text", item)
	}
	drive(ctx, t, poll[bool](previewed("xyyyyyYou answer")))
	if item := drive(ctx, t, chromedp.Evaluate[work](`counts`)); item.Reads == 0 || item.Replaced > 20_000 {
		t.Errorf("at a pause: %+v; the page must read the text, and replace only the changed part of the preview", item)
	}
	presses(ctx, t, "Discard")
}

// previewed is whether a preview begins with a text. To read all of its text would take the page some frames.
func previewed(text string) string {
	return `document.querySelector('section[aria-label=Preview] .whitespace-pre-wrap').textContent.startsWith('` +
		text + `')`
}

// messagesTyped edits messages of a chat prompt faster than the page reads them, and goes on while they are saved.
func messagesTyped(ctx context.Context, t *testing.T, s *server, owner *client) {
	t.Helper()
	template := owner.create(t, templates, object{"name": "console/messages", "type": "chat",
		"visibility": "workspace"}).at("id")
	owner.create(t, templates+"/"+template+"/versions", object{"messages": []object{
		{"role": "system", "content": "Be kind."}, {"role": "user", "content": "{{question}}"}}})
	drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts/"+template))
	reads(ctx, t, "Preview of v1")
	insert := func(message, text string) {
		inserts(ctx, t, ".cm-content[aria-label="+message+"]", text+" ")
	}
	insert("system", "Hello.")
	insert("user", "Asked:")
	reads(ctx, t, "Not saved yet.")
	keep(ctx, t, "console-messages")
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`(() => {
		const real = window.fetch
		window.fetch = (url, init) => init?.method === 'POST'
			? new Promise((go) => { window.release = go }).then(() => { window.fetch = real; return real(url, init) })
			: real(url, init)
	})()`))
	presses(ctx, t, "Save as a new version")
	drive(ctx, t, poll[bool](`!!window.release`))
	insert("system", "Later.")
	on(ctx, t, "window", "release")
	drive(ctx, t, poll[bool](`document.querySelector('main select[data-steps]').value === 'v2'`))
	reads(ctx, t, "Not saved yet.")
	drive(ctx, t, poll[bool](`document.querySelector('.cm-content').innerText.includes('Later. ')`))
	owner.get(t, templates+"/"+template+"/versions/v2").has(t, map[string]string{
		"messages.0.content": "Hello. Be kind.", "messages.1.content": "Asked: {{question}}"})
	presses(ctx, t, "Save as a new version")
	reads(ctx, t, "Preview of v3")
	owner.get(t, templates+"/"+template+"/versions/v3").has(t, map[string]string{
		"messages.0.content": "Hello. Later. Be kind.", "messages.1.content": "Asked: {{question}}"})
	insert("user", "Gone.")
	presses(ctx, t, "Discard")
	drive(ctx, t, poll[bool](`!document.body.innerText.includes('Gone.')`))
}

// typesAtOnce runs a script the moment a page shows something: before the browser has painted it, and before React has
// run the effects that may wait for that.
func typesAtOnce(ctx context.Context, t *testing.T, page, script string) {
	t.Helper()
	drive(ctx, t, chromedp.Evaluate[chromedp.Void](`new MutationObserver((_, watch) => {
		if (!(`+page+`)) return
		watch.disconnect()
		`+script+`
	}).observe(document, {subtree: true, childList: true, characterData: true})`))
}

// typedAtOnce types the moment a page shows what it has saved, or what somebody else has changed.
func typedAtOnce(ctx context.Context, t *testing.T, owner *client) {
	t.Helper()
	template := saved(t, owner, "console/at-once", "Hello")
	goes(ctx, t, "prompts/"+template[strings.LastIndex(template, "/")+1:])
	reads(ctx, t, "Preview of v1")
	insert := func(text string) string {
		return `document.querySelector('.cm-content').focus()
			document.execCommand('insertText', false, '` + text + ` ')`
	}
	inserts(ctx, t, ".cm-content", "First. ")
	reads(ctx, t, "Preview of your draft")
	typesAtOnce(ctx, t, `document.body.innerText.includes('Preview of v2')`, insert("At once."))
	presses(ctx, t, "Save as a new version")
	reads(ctx, t, "Preview of your draft")
	drive(ctx, t, poll[bool](`document.querySelector('main select[data-steps]').value === 'v2'`))
	presses(ctx, t, "Save as a new version")
	reads(ctx, t, "Preview of v3")
	owner.get(t, template+"/versions/v3").has(t, map[string]string{"text": "First. At once. Hello"})

	chat := owner.create(t, "/api/chat-templates", object{"name": "Typed in", "visibility": "workspace"}).at("id")
	goes(ctx, t, "chats/"+chat)
	reads(ctx, t, "Greeting")
	typesAtOnce(ctx, t, `document.querySelector('h1').innerText === 'Renamed'`, `
		const field = document.querySelector('[name=greeting]')
		field.value = 'At once.'
		field.dispatchEvent(new Event('input', {bubbles: true}))`)
	owner.do(t, "PATCH", "/api/chat-templates/"+chat, object{"name": "Renamed"}).is(t, 200)
	reads(ctx, t, "Renamed")
	presses(ctx, t, "Save")
	reads(ctx, t, "Saved.")
	owner.get(t, "/api/chat-templates/"+chat).has(t, map[string]string{"greeting": "At once.", "name": "Renamed"})
}
