package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/require"
)

// axe is axe-core, which finds what people with disabilities cannot use. See testdata/axe/README.md.
func axe(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/axe/axe.min.js")
	require.NoError(t, err)
	return string(text)
}

// types puts a text into a field, as a person does, when the page has it.
func types(ctx context.Context, t *testing.T, selector, text string) {
	t.Helper()
	drive(ctx, t, poll[bool](fmt.Sprintf(`(() => {
		const field = document.querySelector(%q)
		if (!field) return false
		Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, %q)
		field.dispatchEvent(new Event('input', {bubbles: true}))
		return true
	})()`, selector, text)))
}

// inserts puts a text into an editor where its caret is. The page may replace the editor while it loads, and CodeMirror
// shows the browser where the caret is some time after the editor has got the focus.
func inserts(ctx context.Context, t *testing.T, editor, text string) {
	t.Helper()
	drive(ctx, t, poll[bool](fmt.Sprintf(`(() => {
		const field = document.querySelector(%q)
		if (!field || field.ariaReadOnly === 'true') return false
		if (document.activeElement !== field) {
			field.focus()
			return false
		}
		const {view} = field.cmTile, {focusNode, focusOffset} = getSelection() // EditorView.findFromDOM
		return field.contains(focusNode) && view.posAtDOM(focusNode, focusOffset) === view.state.selection.main.head &&
			document.execCommand('insertText', false, %q)
	})()`, editor, text)))
}

// chooses sets a list of choices of the page, when it is there.
func chooses(ctx context.Context, t *testing.T, selector, value string) {
	t.Helper()
	drive(ctx, t, poll[bool](fmt.Sprintf(`(() => {
		const field = document.querySelector(%q)
		if (!field) return false
		field.value = %q
		field.dispatchEvent(new Event('change', {bubbles: true}))
		return true
	})()`, selector, value)))
}

// confirms clicks the last button of a dialog, when it is there.
func confirms(ctx context.Context, t *testing.T) {
	t.Helper()
	on(ctx, t, `[...document.querySelectorAll('[role=dialog] button')].at(-1)`, "click")
}

// on waits for the element that an expression finds, and calls a method of it.
func on(ctx context.Context, t *testing.T, element, method string) {
	t.Helper()
	drive(ctx, t, poll[bool](fmt.Sprintf(`(() => {
		const element = %s
		element?.%s()
		return !!element
	})()`, element, method)))
}

// opensTab clicks the tab of a page that has a text.
func opensTab(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	on(ctx, t, fmt.Sprintf(`[...document.querySelectorAll('[role=tab]')].find((tab) => tab.innerText === %q)`, text),
		"click")
}

// presses clicks the button that has a text.
func presses(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	on(ctx, t, fmt.Sprintf(
		`[...document.querySelectorAll('button')].find((b) => b.innerText.trim() === %q && !b.disabled)`, text),
		"click")
}

// picks clicks an item of the menu of a page.
func picks(ctx context.Context, t *testing.T, text string) {
	t.Helper()
	drive(ctx, t, poll[bool](fmt.Sprintf(`(() => {
		const item = [...document.querySelectorAll('[role=menuitem]')].find((i) => i.innerText === %q)
		const menu = document.querySelector('[aria-label="More actions"]')
		if (!item && menu?.ariaExpanded !== 'true') menu?.click() // also if the page has closed it again
		item?.click()
		return !!item
	})()`, text)))
}

func TestTheConsole(t *testing.T) {
	t.Parallel()
	s, owner, _, ctx, silent := demo(t, sqlite)
	walkthrough(t, ctx, s, owner, looks{"light", 1280, 800}, looks{"dark", 360, 740})
	t.Run("on a phone", func(t *testing.T) { narrowed(ctx, t, owner) })
	linkedTrail(ctx, t, owner)
	silent()
	refusedForms(ctx, t, owner) // Chromium says so of every refused request
}

// What people do in the console is in three tests that run at the same time, each with a server of its own.

func TestWorkInTheConsole(t *testing.T) {
	t.Parallel()
	s, owner, chromium, ctx, silent := demo(t, sqlite)
	t.Run("another prompt does not begin with the version of the one before", func(t *testing.T) {
		ids := [2]string{}
		for i, texts := range [][]string{{"One", "Two"}, {"Three"}} {
			path := saved(t, owner, fmt.Sprint("console/number-", i), texts...)
			ids[i] = path[strings.LastIndex(path, "/")+1:]
		}
		goes(ctx, t, "prompts/"+ids[0])
		reads(ctx, t, "Preview of v2")
		chooses(ctx, t, `select[data-steps]`, "v2")
		goes(ctx, t, "prompts/"+ids[1])
		reads(ctx, t, "Preview of v1")
		reads(ctx, t, "Three")
	})
	t.Run("a prompt is edited, compared and activated", func(t *testing.T) {
		template := owner.create(t, templates, object{"name": "console/greeting", "visibility": "workspace"}).at("id")
		owner.create(t, templates+"/"+template+"/versions", object{"text": "Hello {{customer}}"})
		drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts/"+template))
		reads(ctx, t, "Preview of v1")
		inserts(ctx, t, ".cm-content", "Good day! ")
		reads(ctx, t, "Not saved yet.")
		drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts"))
		reads(ctx, t, "support/answer-ticket")
		drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts/"+template))
		reads(ctx, t, "Not saved yet.") // drafts survive
		reads(ctx, t, "Preview of your draft")
		drive(ctx, t, poll[bool](`document.querySelector('[aria-label=Preview]').innerText.includes('Good day!')`))
		presses(ctx, t, "Save as a new version")
		reads(ctx, t, "Preview of v2")
		keep(ctx, t, "console-prompt")
		picks(ctx, t, "Settings…")
		reads(ctx, t, "Settings of console/greeting")
		types(ctx, t, `[name=tags]`, "greeting, friendly")
		chooses(ctx, t, `[name=compatibility]`, "backward")
		keep(ctx, t, "console-prompt-settings")
		presses(ctx, t, "Save")
		drive(ctx, t, poll[bool](`document.querySelector('[role=dialog]') === null`))
		owner.get(t, templates+"/"+template).has(t, map[string]string{"tags": `["greeting","friendly"]`,
			"compatibility": "backward", "visibility": "workspace"})
		presses(ctx, t, "Activate…")
		reads(ctx, t, "Activate v2")
		keep(ctx, t, "console-activate")
		types(ctx, t, `[name=reason]`, "Friendlier")
		presses(ctx, t, "Activate")
		reads(ctx, t, "active: v2")
		owner.get(t, templates+"/"+template+"/versions/active").has(t, map[string]string{"number": "2",
			"text": "Good day! Hello {{customer}}"})
		owner.get(t, templates+"/"+template+"/activations").has(t, map[string]string{"data.0.reason": "Friendlier"})
		opensTab(ctx, t, "History")
		drive(ctx, t, poll[bool](`document.querySelector('svg[aria-label="What was active"]') !== null`))
		keep(ctx, t, "console-history")
	})
	t.Run("a request to activate a version is approved", func(t *testing.T) { approved(ctx, t, s, owner) })
	t.Run("a message keeps its parts", func(t *testing.T) { partsKept(ctx, t, s, owner) })
	t.Run("a label is rolled out", func(t *testing.T) { rolledOut(ctx, t, s, owner) })
	t.Run("an unknown kind of connection is said to be unknown", func(t *testing.T) { noSuchKind(ctx, t) })
	t.Run("a viewer of a chat reads why it cannot be changed", func(t *testing.T) { viewersChat(t, s, owner) })
	t.Run("a credential is tried", func(t *testing.T) { connects(ctx, t, s, owner) })
	t.Run("a folder is shared", func(t *testing.T) { foldersShared(ctx, t, s, owner) })
	t.Run("a prompt shows what it includes", func(t *testing.T) { includesShown(ctx, t, owner) })
	t.Run("columns are mapped by clicking a field and a column", func(t *testing.T) {
		var sheet string
		for i, name := range owner.get(t, sources).each(t, "name") {
			if name == "Sign-ups" {
				sheet = owner.get(t, sources).at(fmt.Sprintf("data.%d.id", i))
			}
		}
		goes(ctx, t, "sources/"+sheet)
		reads(ctx, t, "2. Click its column")
		keep(ctx, t, "console-mapping-before")
		clicks(ctx, t, `[data-field="email"]`)
		clicks(ctx, t, `[data-column="E-mail Address"]`)
		reads(ctx, t, "3. What applications will read")
		keep(ctx, t, "console-mapping")
		presses(ctx, t, "Save")
		drive(ctx, t, poll[bool](`document.querySelector('main header').innerText.includes('active')`))
		owner.get(t, sources+"/"+sheet).has(t, map[string]string{"mapping.0.field": "email",
			"mapping.0.column": "E-mail Address"})
		opensTab(ctx, t, "Rows")
		reads(ctx, t, "ada@example.com")
		keep(ctx, t, "console-rows")
		transformed(ctx, t, s, owner, sheet)
		owner.do(t, "PUT", sources+"/"+sheet, object{"header_row": 0,
			"mapping": []object{{"field": "email", "column": "A"}}}).is(t, 200)
		drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/sources/"+sheet))
		reads(ctx, t, "2. Click its column")
		clicks(ctx, t, `[data-field="email"]`)
		clicks(ctx, t, `[data-column="B"]`)
		presses(ctx, t, "Save")
		drive(ctx, t, poll[bool](`[...document.querySelectorAll('button')].some((b) =>
			b.innerText === 'Cancel' && b.disabled)`))
		owner.get(t, sources+"/"+sheet).has(t, map[string]string{"location.header_row": "0",
			"mapping.0.column": "B"})
	})
	t.Run("what others change appears on the screen, in every tab", func(t *testing.T) {
		goes(ctx, t, "prompts")
		reads(ctx, t, "support/answer-ticket")
		other, _ := tab(t, chromium, s.url+"/console/w/default/prompts")
		reads(other, t, "support/answer-ticket")
		template := owner.create(t, templates, object{"name": "made/elsewhere", "visibility": "workspace"}).at("id")
		reads(ctx, t, "made/elsewhere")
		reads(other, t, "made/elsewhere")
		goes(ctx, t, "prompts/"+template)
		drive(ctx, t, poll[bool](`document.querySelector('main h1').innerText.includes('made/elsewhere')`))
		owner.create(t, templates+"/"+template+"/versions", object{"text": "Good morning"})
		reads(ctx, t, "Preview of v1")
	})
	t.Run("a group is made, and a person put into it", func(t *testing.T) {
		goes(ctx, t, "settings/groups")
		reads(ctx, t, "There are no groups yet.")
		presses(ctx, t, "New group")
		types(ctx, t, `[name=name]`, "Reviewers")
		types(ctx, t, `[name=external_id]`, "okta-reviewers")
		presses(ctx, t, "Create")
		reads(ctx, t, "follows okta-reviewers")
		presses(ctx, t, "Open")
		reads(ctx, t, "No one is in the group.")
		keep(ctx, t, "console-group")
		presses(ctx, t, "Add")
		drive(ctx, t, poll[bool](`!document.body.innerText.includes('No one is in the group.')`))
		owner.get(t, "/api/groups").has(t, map[string]string{"data.0.name": "Reviewers", "data.0.size": "1"})
	})
	t.Run("the list of commands leads anywhere", func(t *testing.T) {
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](
			`dispatchEvent(new KeyboardEvent('keydown', {key: 'k', ctrlKey: true}))`))
		reads(ctx, t, "Audit trail")
		drive(ctx, t, poll[bool](`document.activeElement.matches('[role=dialog] input')`))
		keep(ctx, t, "console-commands")
		on(ctx, t, `[...document.querySelectorAll('[role=option]')].find((o) => o.innerText.startsWith('Audit trail'))`,
			"click")
		reads(ctx, t, "source.mapped")
		presses(ctx, t, "Verify the trail")
		reads(ctx, t, "events are as they were written")
		keep(ctx, t, "console-audit")
		attachedID := owner.get(t, "/api/events?limit=1&type=source.attached").at("data.0.request_id")
		types(ctx, t, `[name=request_id]`, attachedID)
		drive(ctx, t, poll[bool](`document.querySelector('main').innerText.includes('source.attached') &&
			!document.querySelector('main').innerText.includes('source.mapped')`))
		types(ctx, t, `[name=created_before]`, "2020-01-01T00:00")
		reads(ctx, t, "No event matches.")
	})
	t.Run("each page shows the calls that it made", func(t *testing.T) {
		presses(ctx, t, "API calls of this page")
		reads(ctx, t, `curl "$ATRIUM_URL/api/events"`)
		keep(ctx, t, "console-api")
	})
	silent()
	t.Run("a webhook is made, tried and looked at", func(t *testing.T) { hooked(ctx, t, s, owner) })
	t.Run("who saves what somebody else has changed reads who, and can keep theirs", func(t *testing.T) {
		template := owner.create(t, templates, object{"name": "console/shared", "visibility": "workspace"}).at("id")
		declaredValues := object{"name": "customer", "type": "string", "required": true, "description": "The customer"}
		owner.create(t, templates+"/"+template+"/versions",
			object{"text": "Hello {{customer}}", "variables": []object{declaredValues}})
		drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts/"+template))
		reads(ctx, t, "Preview of v1")
		inserts(ctx, t, ".cm-content", "{{salute}} ")
		reads(ctx, t, "Not saved yet.")
		owner.create(t, templates+"/"+template+"/versions", object{"text": "Hi {{customer}}"})
		drive(ctx, t, poll[bool](`document.querySelectorAll('main select[data-steps] option').length === 3`))
		presses(ctx, t, "Save as a new version")
		reads(ctx, t, "Changed by Owner")
		presses(ctx, t, "Save mine as the next version")
		reads(ctx, t, "Preview of v3")
		owner.get(t, templates+"/"+template+"/versions/latest").has(t, map[string]string{
			"text": "{{salute}} Hello {{customer}}", "variables.0.description": "The customer",
			"variables.1.name": "salute"})
	})
	t.Run("a plan is bought, changed, paused and paid", func(t *testing.T) { billed(ctx, t, s, owner) })
}

func TestChangesInTheConsole(t *testing.T) {
	t.Parallel()
	s, owner, chromium, ctx, _ := demo(t, sqlite)
	disturbed(t, s, chromium)
	t.Run("the first steps lead to the demo's things, and are dismissed for good", func(t *testing.T) {
		drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts"))
		reads(ctx, t, "First steps")
		reads(ctx, t, "Embed Customer support")
		presses(ctx, t, "Do not show again")
		drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/prompts"))
		reads(ctx, t, "support/answer-ticket")
		if strings.Contains(drive(ctx, t, chromedp.Evaluate[string](`document.querySelector('main').innerText`)),
			"First steps") {
			t.Error("the first steps are shown again")
		}
	})
	t.Run("an empty workspace says what to do first", func(t *testing.T) {
		slug := owner.create(t, "/api/workspaces", object{"name": "Brand new"}).at("slug")
		drive(ctx, t, chromedp.Navigate(s.url+"/console/w/"+slug+"/prompts"))
		for _, says := range []string{"There are no prompts yet.", "Write a prompt", "Map a sheet or a table",
			"Create a chat", "Give your application a key"} {
			reads(ctx, t, says)
		}
		keep(ctx, t, "console-empty")
	})
	t.Run("an operator disables and enables a person", func(t *testing.T) {
		eve, boss := s.user(t, "member"), s.user(t, "owner", "--operator")
		ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, boss.email))
		reads(ctx, t, "Sign in to")
		clicks(ctx, t, "#use-link")
		reads(ctx, t, "People")
		drive(ctx, t, chromedp.Navigate(s.url+"/console/w/default/people"))
		reads(ctx, t, eve.email)
		keep(ctx, t, "console-people")
		types(ctx, t, `[type=search]`, eve.email)
		drive(ctx, t, poll[bool](`document.querySelectorAll('tbody tr').length === 1`))
		for _, step := range []struct{ act, status string }{{"Disable", "disabled"}, {"Enable", "active"}} {
			presses(ctx, t, step.act)
			confirms(ctx, t)
			drive(ctx, t, poll[bool](fmt.Sprintf(`document.querySelector('[role=dialog]') === null &&
				document.querySelector('tbody').innerText.includes(%q)`, step.status)))
			boss.get(t, "/api/people/"+eve.id).has(t, map[string]string{"status": step.status})
		}
	})
	t.Run("an operator sees the revenue, and gives something", func(t *testing.T) { revenue(t, s, owner) })
	t.Run("a test card is added, and nothing else can be typed", func(t *testing.T) { paid(ctx, t, s, owner) })
	t.Run("what was done can be undone", func(t *testing.T) { undone(ctx, t, s, owner) })
	t.Run("a lower role says what it takes along, and the next owner confirms it", func(t *testing.T) {
		losses(ctx, t, s, owner)
	})
	t.Run("a session that ended elsewhere is renewed over the page", func(t *testing.T) { renewed(t, s, chromium) })
	t.Run("a chat is looked at as visitors see it", func(t *testing.T) { embedded(t, s, owner) })
	t.Run("typing", func(t *testing.T) { typed(ctx, t, s, owner) })
	t.Run("a table of 10,000 rows scrolls", func(t *testing.T) { long(ctx, t, s, owner) })
}

func TestRolesInTheConsole(t *testing.T) {
	t.Parallel()
	s, owner, _ := demoServer(t, sqlite)
	t.Run("no screen asks for what a role is refused", func(t *testing.T) {
		for _, role := range []string{"admin", "operator"} { // TestControlsOfTheConsole is the others in make test, too
			permitted(t, s, owner, role)
		}
	})
	t.Run("who may only view is offered nothing else", func(t *testing.T) {
		owner.create(t, "/api/groups", object{"name": "Reviewers"})
		viewer := s.user(t, "viewer")
		ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, viewer.email))
		reads(ctx, t, "Sign in to")
		clicks(ctx, t, "#use-link")
		reads(ctx, t, "support/answer-ticket")
		for path, position := range map[string]struct {
			shows   string
			refused []string
		}{
			"prompts": {"support/answer-ticket", []string{"New prompt"}}, "chats": {"Your role", []string{"New chat"}},
			"sources":            {"Customers of the demo shop", []string{"Map a sheet"}},
			"connections":        {"Demo shop", []string{"New connection", "Revoke"}},
			"billing":            {"Plans", []string{"Subscribe"}},
			"settings/members":   {viewer.email, []string{"Invite", "Remove", "Audit trail"}},
			"settings/groups":    {"Reviewers", []string{"New group", "Delete"}},
			"settings/workspace": {"New workspace", []string{"Delete the workspace", "This workspace"}},
		} {
			goes(ctx, t, path)
			reads(ctx, t, position.shows)
			text := drive(ctx, t, chromedp.Evaluate[string](`document.querySelector('main').innerText`))
			for _, word := range position.refused {
				if strings.Contains(text, word) {
					t.Errorf("%s offers %q", path, word)
				}
			}
		}
	})
}
