package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// holds waits until an expression about the page is true.
func holds(ctx context.Context, t *testing.T, expression string) {
	t.Helper()
	drive(ctx, t, poll[bool](expression))
}

// titled waits until the tab of the browser has a title, which screen readers are told too.
func titled(ctx context.Context, t *testing.T, title string) {
	t.Helper()
	holds(ctx, t, fmt.Sprintf(`document.title === %q + ' · Atrium' &&
		document.querySelector('[role=status][aria-label=Screen]').innerText === %[1]q`, title))
}

const (
	chosenTab = `document.querySelector('main [role=tab][aria-selected=true]').innerText`
	back      = `history.back()`
	reload    = `location.reload()`
)

// TestTheAddressOfTheConsole checks that links, reloads and Back lead to what was on the screen, and that tabs of the
// browser can be told apart.
func TestTheAddressOfTheConsole(t *testing.T) {
	t.Parallel()
	_, owner, _, ctx, _ := demo(t, sqlite)
	prompt := details(t, owner)[0].path
	action := func(t *testing.T, script string) {
		t.Helper()
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](script))
	}
	addressedCall := func(t *testing.T, query string) {
		t.Helper()
		holds(ctx, t, fmt.Sprintf(`location.search === %q`, query))
	}

	t.Run("each screen has its own title", func(t *testing.T) {
		for path, title := range map[string]string{
			"prompts": "Prompts", prompt: "support/answer-ticket", "settings/keys": "API keys · Settings",
			"connections/new/postgres": "New connection: PostgreSQL", "billing": "Billing",
			"nothing": "This page does not exist",
		} {
			goes(ctx, t, path)
			titled(ctx, t, title)
		}
	})
	t.Run("an address that does not exist keeps the way to all areas", func(t *testing.T) {
		goes(ctx, t, "prompts/nothing/else")
		reads(ctx, t, "This page does not exist")
		reads(ctx, t, "Data sources")
	})
	t.Run("what does not exist leads back to its list", func(t *testing.T) {
		for area, title := range map[string]string{"prompts": "Prompts", "chats": "Chats", "sources": "Data sources"} {
			goes(ctx, t, area+"/missing")
			clicks(ctx, t, "main header a")
			titled(ctx, t, title)
		}
	})
	t.Run("a reload keeps the tab and the version, and Back returns to those before", func(t *testing.T) {
		goes(ctx, t, prompt)
		reads(ctx, t, "Preview of v3")
		chooses(ctx, t, "main [data-steps]", "v1")
		addressedCall(t, "?version=v1")
		opensTab(ctx, t, "Compare")
		addressedCall(t, "?version=v1&tab=diff")
		action(t, reload)
		holds(ctx, t, chosenTab+` === 'Compare' &&
			[...document.querySelectorAll('main .cm-mergeView')].length === 1 &&
			document.querySelector('main [data-steps]').value === 'v1'`)
		action(t, back)
		holds(ctx, t, chosenTab+` === 'Edit'`)
		reads(ctx, t, "Preview of v1")
		action(t, back)
		reads(ctx, t, "Preview of v3")
		addressedCall(t, "")
	})
	t.Run("any two versions are compared, and the address keeps which", func(t *testing.T) {
		const shows = `[...document.querySelectorAll('main [aria-label="Compare with"] option')].map((o) => o.innerText)
			.join() === 'Active: v2,v3,v2,v1' && [...document.querySelectorAll('main .cm-mergeView .cm-content')]
			.map((e) => e.ariaLabel).join() === 'v1,v3'`
		goes(ctx, t, prompt)
		opensTab(ctx, t, "Compare")
		chooses(ctx, t, `main [aria-label="Compare with"]`, "v1")
		addressedCall(t, "?tab=diff&with=v1")
		holds(ctx, t, shows)
		action(t, reload)
		holds(ctx, t, shows)
		chooses(ctx, t, "main [data-steps]", "v1")
		reads(ctx, t, "The texts are the same.")
		action(t, back)
		holds(ctx, t, shows)
	})
	t.Run("a tab that a person may not see is the first one", func(t *testing.T) {
		action(t, fmt.Sprintf(`__TSR_ROUTER__.navigate({to: '/w/default/%s', search: {tab: 'secret'}})`, prompt))
		holds(ctx, t, chosenTab+` === 'Edit'`)
	})
	t.Run("a search is one step of the history, and is there again after Back", func(t *testing.T) {
		goes(ctx, t, "prompts")
		reads(ctx, t, "sales/summarise-call")
		previous := drive(ctx, t, chromedp.Evaluate[int](`history.length`))
		drive(ctx, t, chromedp.Focus(chromedp.CSS(`main input[type=search]`)))
		drive(ctx, t, chromedp.KeyEvent("answer-ticket"))
		addressedCall(t, "?q=answer-ticket")
		holds(ctx, t, `document.querySelectorAll('main tbody tr').length === 1`)
		if current := drive(ctx, t, chromedp.Evaluate[int](`history.length`)); current != previous {
			t.Errorf("typing has added %d steps", current-previous)
		}
		clicks(ctx, t, "main tbody a")
		reads(ctx, t, "Preview of v3")
		action(t, back)
		holds(ctx, t, `document.querySelector('main input[type=search]').value === 'answer-ticket' &&
			document.querySelectorAll('main tbody tr').length === 1`)
	})
	t.Run("typing asks the server once it pauses, and the list stays until then", func(t *testing.T) {
		goes(ctx, t, "prompts")
		reads(ctx, t, "sales/summarise-call")
		action(t, `performance.clearResourceTimings()
			self.gone = 0
			new MutationObserver(() => { gone += document.querySelector('main tbody') ? 0 : 1 })
				.observe(document.querySelector('main'), {childList: true, subtree: true})`)
		drive(ctx, t, chromedp.Focus(chromedp.CSS(`main input[type=search]`)))
		action(t, `for (const c of 'summarise') document.execCommand('insertText', false, c)`)
		holds(ctx, t, `document.querySelectorAll('main tbody tr').length === 1`)
		query := drive(ctx, t, chromedp.Evaluate[string](`performance.getEntriesByType('resource')
			.filter((r) => r.name.includes('q=')).map((r) => r.name.split('q=')[1]).join(' ')`))
		assert.Equal(t, "the server was asked for", query, "summarise")
		if goneCount := drive(ctx, t, chromedp.Evaluate[int](`gone`)); goneCount > 0 {
			t.Error("there was no list for a moment")
		}
	})
	t.Run("the filter of the audit trail is in the address", func(t *testing.T) {
		goes(ctx, t, "settings/audit")
		reads(ctx, t, "prompt_version.created")
		types(ctx, t, "main input[name=type]", "source.attached")
		addressedCall(t, "?type=source.attached")
		action(t, reload)
		holds(ctx, t, `document.querySelector('main input[name=type]').value === 'source.attached' &&
			!document.querySelector('main tbody').innerText.includes('prompt_version.created')`)
	})
	t.Run("a dialog that asks can be cancelled, and Cancel has the focus", func(t *testing.T) {
		goes(ctx, t, "connections")
		reads(ctx, t, "Demo shop")
		on(ctx, t, `[...document.querySelectorAll('main button')].find((b) => b.innerText === 'Revoke')`, "focus")
		drive(ctx, t, chromedp.KeyEvent(kb.Enter))
		holds(ctx, t, `document.activeElement.innerText === 'Cancel' &&
			!!document.activeElement.closest('[role=dialog]')`)
		drive(ctx, t, chromedp.KeyEvent(kb.Enter))
		holds(ctx, t, `!document.querySelector('[role=dialog]') && document.activeElement.innerText === 'Revoke'`)
		if names := strings.Join(owner.get(t, connections).each(t, "status"), " "); strings.Contains(names, "revoked") {
			t.Errorf("the connections are %s", names)
		}
	})
	t.Run("a webhook has an address, and Back closes it", func(t *testing.T) {
		id := owner.create(t, webhooks, object{"url": "https://example.com/a", "events": []string{"group.*"}}).at("id")
		goes(ctx, t, "settings/webhooks")
		presses(ctx, t, "Open")
		addressedCall(t, "?open="+id)
		action(t, reload)
		reads(ctx, t, "Send an example")
		action(t, back)
		holds(ctx, t, `!document.querySelector('[role=dialog]')`)
	})
}
