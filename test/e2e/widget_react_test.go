package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/require"
	"github.com/atrium-hq/atrium/test/support/services"
)

// reactScript returns a script that defines React and createRoot, of the packages of npm. They are modules of CommonJS,
// which browsers do not load.
func reactScript(t *testing.T) string {
	t.Helper()
	const source = "testdata/react"
	cache, output, err := services.Packages(services.NPM(t), source, "react-dom")
	if err != nil {
		t.Fatalf("npm ci: %v\n%s", err, output)
	}
	var out strings.Builder
	out.WriteString(`const process = { env: { NODE_ENV: 'development' } }, sources = {}, modules = {}
const require = (name) => {
  if (!modules[name]) {
    modules[name] = { exports: {} }
    sources[name](modules[name], modules[name].exports)
  }
  return modules[name].exports
}
`)
	for _, m := range [][2]string{{"react", "react/cjs/react.development.js"},
		{"scheduler", "scheduler/cjs/scheduler.development.js"},
		{"react-dom", "react-dom/cjs/react-dom.development.js"},
		{"react-dom/client", "react-dom/cjs/react-dom-client.development.js"}} {
		text, err := os.ReadFile(filepath.Join(cache, "node_modules", m[1]))
		require.NoError(t, err)
		fmt.Fprintf(&out, "sources[%q] = (module, exports) => {\n%s\n}\n", m[0], text)
	}
	out.WriteString("const React = require('react'), { createRoot } = require('react-dom/client')\n")
	return out.String()
}

// withoutJSX makes a browser's script of the component that the API returns for sites.
func withoutJSX(t *testing.T, component string) string {
	t.Helper()
	for _, part := range [][2]string{
		{"import { useEffect, useRef } from 'react'", "const { useEffect, useRef } = React"},
		{"export function Chat", "function Chat"},
		{"<div ref={place} />", "React.createElement('div', { ref: place })"},
	} {
		if !strings.Contains(component, part[0]) {
			t.Fatalf("%s is not in %s", part[0], component)
		}
		component = strings.ReplaceAll(component, part[0], part[1])
	}
	return component
}

func TestAComponentOfReactShowsOneChat(t *testing.T) {
	t.Parallel()
	react, component := reactScript(t), ""
	s := start(t, sqlite, toShops)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/react.js" {
			w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
			_, _ = io.WriteString(w, react)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<!doctype html><title>A shop</title><link rel="icon" href="data:,">
<main id="root"></main><footer>The end</footer>
<script src="/react.js"></script><script>`+component+`
window.told = {}
for (const what of ['ready', 'refused', 'reply', 'message']) {
  addEventListener('atrium:' + what, (e) => { (told[what] ??= []).push(e.detail) })
}
window.loaded = 0 // scripts of the chat that have run
const create = document.createElement.bind(document)
document.createElement = (name, about) => {
  const node = create(name, about)
  if (name === 'script') node.addEventListener('load', () => loaded++)
  return node
}
window.timers = new Map() // that run in more than a minute
const { setTimeout: set, clearTimeout: clear } = window
window.setTimeout = (act, ms) => {
  const timer = set(act, ms)
  if (ms > 60000) timers.set(timer)
  return timer
}
window.clearTimeout = (timer) => {
  timers.delete(timer)
  clear(timer)
}
window.root = createRoot(document.getElementById('root'))
window.show = (about) => root.render(React.createElement(React.StrictMode, {}, about &&
	React.createElement(Chat, about)))
</script>`)
	}))
	t.Cleanup(page.Close)
	origin := strings.Replace(page.URL, "127.0.0.1", "localhost", 1)
	e := s.user(t, "admin").replying(t, newReplies(t, nil), object{"allowed_origins": []string{origin}})
	token := e.manager.do(t, "POST", e.path+"/rotate", object{}).is(t, 200)
	e.secret, component = token.at("token"), withoutJSX(t, token.at("snippets.react"))
	// The port was not known when the server started.
	component = strings.ReplaceAll(component, "http://127.0.0.1:0/", s.url+"/")
	chromium := browser(t)
	const (
		hosts = `[...document.querySelectorAll('div')].filter((d) => d.shadowRoot)`
		first = `told.ready?.length === 1`
	)

	t.Run("in StrictMode, which mounts it twice", func(t *testing.T) {
		ctx, _ := tab(t, chromium, origin)
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`show({ visitor: 'ann' })`))
		drive(ctx, t, poll[bool](`loaded === 2 && `+first))
		got := drive(ctx, t, chromedp.Evaluate[string](hosts+`.map((d) => !!d.closest('#root')).join(' ')`))
		assert.Equal(t, "chats, and whether they are in the component", got, "true")
	})
	t.Run("with a visitor who is known late", func(t *testing.T) {
		for name, wait := range map[string]string{"before it has loaded": `true`, "after it has loaded": first} {
			ctx, _ := tab(t, chromium, origin)
			drive(ctx, t, chromedp.Evaluate[chromedp.Void](`show({})`))
			drive(ctx, t, poll[bool](wait))
			drive(ctx, t, chromedp.Evaluate[chromedp.Void](`show({ visitor: 'ann' })`))
			drive(ctx, t, poll[bool](`loaded === 3 && told.ready?.at(-1) && !!window.atrium &&
				`+hosts+`[0]?.shadowRoot.querySelector('textarea') !== null`))
			got := drive(ctx, t, chromedp.Evaluate[string](`[`+hosts+`.length, `+hosts+`[0].atrium === atrium].join(' ')`))
			assert.Equal(t, name+": chats, and whether window.atrium is it", got, "1 true")
			session, _ := drive(ctx, t, poll[object](`told.ready.at(-1)`))["session"].(string)
			e.resume(t, session, "Origin: "+origin).is(t, 200).has(t, map[string]string{"visitor": "ann"})
			drive(ctx, t, chromedp.Evaluate[chromedp.Void](`atrium.send('Where?')`))
			drive(ctx, t, poll[bool](`told.reply?.length === 1`))
			body, _ := e.replies.last()
			assert.Contains(t, name+": the endpoint got "+body, body, `"visitor":"ann"`)
		}
	})
	t.Run("a component that is gone ends its chat", func(t *testing.T) {
		ctx, _ := tab(t, chromium, origin)
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`show({ visitor: 'ann' })`))
		drive(ctx, t, poll[bool](first+` && timers.size === 1`))
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`window.former = atrium; show(null)`))
		drive(ctx, t, poll[bool](hosts+`.length === 0 && window.atrium === undefined && timers.size === 0`))
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`former.send('Still there?'); former.setVisitor('ben')`))
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`show({ visitor: 'cleo' })`))
		drive(ctx, t, poll[bool](`told.ready.length === 2`))
		got := drive(ctx, t, chromedp.Evaluate[string](`JSON.stringify([told.message, `+hosts+`.length, atrium === former])`))
		assert.Equal(t, "messages of the former, chats, and whether it is the former", got, "[null,1,false]")
	})
	t.Run("destroy ends a chat, and window.atrium is the next one", func(t *testing.T) {
		ctx, _ := tab(t, chromium, origin)
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`show({ visitor: 'ann' })`))
		drive(ctx, t, poll[bool](first))
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`{
			const script = document.createElement('script')
			Object.assign(script, { src: document.querySelector('script[data-token]').src })
			Object.assign(script.dataset, document.querySelector('script[data-token]').dataset)
			document.body.append(script)
		}`))
		drive(ctx, t, poll[bool](`told.ready.length === 2`))
		got := drive(ctx, t, chromedp.Evaluate[string](`{
			const [one, two] = `+hosts+`
			const before = window.atrium === one.atrium
			one.atrium.destroy();
			[before, window.atrium === two.atrium, one.isConnected, timers.size].join(' ')
		}`))
		assert.Equal(t, "the first was, the second is, the first is shown, renewals", got, "true true false 1")
	})
}
