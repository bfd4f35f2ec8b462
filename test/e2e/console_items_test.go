package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// registryOfForms has an item with every kind of field that forms have, and one that no form can express.
const registryOfForms = `
orgs:
  - slug: default
    name: Acme
    registry:
      agents:
        - id: assistant
          name: Assistant
          description: Answers questions.
          config_schema:
            type: object
            additionalProperties: false
            required: [queue, name, limits]
            $defs:
              hours: {type: object, required: [from], properties: {from: {type: integer, minimum: 0, maximum: 23}}}
            properties:
              queue:
                {type: string, title: Queue, minLength: 2, maxLength: 20, pattern: "^[a-z]+$", x-order: 1,
                 description: Where tickets go.}
              name: {type: string, title: Name to sign with, x-order: 2}
              tone: {enum: [neutral, friendly, formal], title: Tone, default: friendly, x-order: 3}
              turns: {type: integer, title: Turns, minimum: 1, maximum: 100, default: 30, x-order: 4}
              ratio: {type: [number, "null"], title: Ratio, exclusiveMinimum: 0, multipleOf: 0.1, x-order: 5}
              cite: {type: boolean, title: Cite sources, x-order: 6}
              collections:
                {type: array, title: Collections, maxItems: 3, uniqueItems: true, items: {type: string, maxLength: 9},
                 x-order: 7}
              days: {type: array, title: Days, uniqueItems: true, items: {enum: [mon, tue, wed]}, x-order: 8}
              limits:
                {type: object, title: Limits, required: [daily], x-order: 9,
                 properties: {daily: {type: integer, title: A day, default: 5}}}
              hours: {$ref: "#/$defs/hours", title: Hours, x-order: 10}
              mail: {type: string, title: Mail, format: email, x-order: 11}
              route: {title: Route, x-order: 12, oneOf: [{type: object, required: [to]}, {type: string}]}
      tools:
        - {id: anything, name: Anything}
      workflows:
        - {id: hand-over, name: Hand over, description: Brings a colleague into the chat.}
`

// wrongAt waits until a field of the configuration has an error.
func wrongAt(ctx context.Context, t *testing.T, path, text string) {
	t.Helper()
	drive(ctx, t, poll[bool](fmt.Sprintf(`(() => {
		const field = document.querySelector('[data-item=assistant] [data-at="%s"]')
		const about = (field?.getAttribute('aria-describedby') ?? '').split(' ')
		return about.map((id) => document.getElementById(id)).some((e) => e?.innerText.includes(%q))
	})()`, path, text)))
}

func TestItemsOfTheRegistryHaveForms(t *testing.T) {
	t.Parallel()
	d := deployMigrated(t, sqlite, configured(registryOfForms))
	s := d.start(t)
	owner := s.user(t, "owner")
	id := owner.create(t, "/api/chat-templates", object{"name": "Support", "visibility": "workspace"}).at("id")
	chat := "/api/chat-templates/" + id
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, owner.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "There are no prompts yet.")
	page := s.url + "/console/w/" + owner.workspace + "/chats/" + id
	textAt := func(pointer string) string { return `[data-item=assistant] [data-at="` + pointer + `"]` }
	ticks := func(text string) {
		on(ctx, t, fmt.Sprintf(`[...document.querySelectorAll('main label')].find((l) =>
			l.innerText.trim().startsWith(%q))?.querySelector('input')`, text), "click")
	}
	drive(ctx, t, chromedp.Navigate(page))
	reads(ctx, t, "Assistant")
	ticks("Assistant")
	reads(ctx, t, "Where tickets go.")

	t.Run("what the page can tell is said at the field, before anything is sent", func(t *testing.T) {
		presses(ctx, t, "Save")
		wrongAt(ctx, t, "/queue", "Must be given.")
		drive(ctx, t, poll[bool](`document.activeElement.dataset.at === '/queue'`))
		for _, tt := range []struct{ at, typed, says string }{
			{"/queue", "Web", "Must match the pattern"}, {"/queue", "w", "at least 2 characters"},
			{"/turns", "101", "Must be at most 100."}, {"/turns", "2.5", "Must be a whole number."},
			{"/turns", "many", "Must be a whole number."}, {"/ratio", "0", "Must be above 0."},
			{"/ratio", "0.25", "Must be a multiple of 0.1."}, {"/route", "{", "Must be JSON."},
		} {
			types(ctx, t, textAt(tt.at), tt.typed)
			wrongAt(ctx, t, tt.at, tt.says)
		}
		keep(ctx, t, "console-items-wrong")
		owner.get(t, chat).has(t, map[string]string{"agents": "[]", "revision": "1"})
	})
	t.Run("what is typed survives another tab of the page, and a reload", func(t *testing.T) {
		types(ctx, t, "[name=greeting]", "Good morning")
		opensTab(ctx, t, "Members")
		opensTab(ctx, t, "Configure")
		drive(ctx, t, poll[bool](`document.querySelector('[data-at="/turns"]')?.value === 'many'`))
		drive(ctx, t, chromedp.Navigate(page))
		for field, value := range map[string]string{textAt("/turns"): "many", textAt("/route"): "{",
			"[name=greeting]": "Good morning"} {
			drive(ctx, t, poll[bool](fmt.Sprintf(`document.querySelector(%q)?.value === %q`, field, value)))
		}
	})
	t.Run("what only the server can tell is said at the field", func(t *testing.T) {
		presses(ctx, t, "Save")
		wrongAt(ctx, t, "/turns", "Must be a whole number.")
		types(ctx, t, textAt("/queue"), "web")
		types(ctx, t, textAt("/name"), "Ada")
		chooses(ctx, t, textAt("/tone"), "2")
		types(ctx, t, textAt("/turns"), "12")
		types(ctx, t, textAt("/ratio"), "0.3")
		chooses(ctx, t, textAt("/cite"), "0")
		types(ctx, t, textAt("/mail"), "nobody")
		types(ctx, t, textAt("/route"), `{"to": 1}`)
		ticks("wed")
		presses(ctx, t, "Add to Collections")
		types(ctx, t, textAt("/collections/0"), "faq")
		presses(ctx, t, "Add to Collections")
		types(ctx, t, textAt("/collections/1"), "faq")
		wrongAt(ctx, t, "/collections/1", "Is in the list already.")
		types(ctx, t, textAt("/collections/1"), "help")
		presses(ctx, t, "Add Hours")
		types(ctx, t, textAt("/hours/from"), "24")
		presses(ctx, t, "Save")
		wrongAt(ctx, t, "/hours/from", "Must be at most 23.")
		types(ctx, t, textAt("/hours/from"), "9")
		presses(ctx, t, "Save")
		wrongAt(ctx, t, "/mail", "Must be an e-mail address such as ann@example.com.")
		drive(ctx, t, poll[bool](`document.activeElement.dataset.at === '/mail'`))
		keep(ctx, t, "console-items-refused")
	})
	t.Run("what was filled in is stored, and shown again", func(t *testing.T) {
		types(ctx, t, textAt("/mail"), "web@example.com")
		presses(ctx, t, "Save")
		reads(ctx, t, "Saved.")
		want := map[string]string{"agents.0.config": `{"cite":true,"collections":["faq","help"],"days":["wed"],` +
			`"hours":{"from":9},"limits":{"daily":5},"mail":"web@example.com","name":"Ada","queue":"web","ratio":0.3,` +
			`"route":{"to":1},"tone":"formal","turns":12}`, "greeting": "Good morning"}
		owner.get(t, chat).has(t, want)
		drive(ctx, t, chromedp.Navigate(page))
		reads(ctx, t, "queue: web")
		clicks(ctx, t, "[data-item=assistant] summary")
		reads(ctx, t, "Where tickets go.")
		source := axe(t)
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](source))
		for _, v := range []looks{{"light", 1280, 1700}, {"dark", 360, 2600}} {
			seen(ctx, t, v)
			usable(ctx, t, v)
			keep(ctx, t, "console-items-"+v.String())
		}
		seen(ctx, t, looks{"light", 1280, 800})
	})
	t.Run("members that the form does not have are kept, and JSON is there for all of it", func(t *testing.T) {
		clicks(ctx, t, `[aria-label="Remove Collections 1"]`)
		presses(ctx, t, "Edit as JSON")
		drive(ctx, t, poll[bool](
			`document.querySelector('[data-item=assistant] textarea').value.includes('"help"\n')`))
		types(ctx, t, "[data-item=assistant] textarea",
			`{"queue":"web","name":"Ada","limits":{"daily":5,"yearly":9},"more":1}`)
		presses(ctx, t, "Edit as a form")
		presses(ctx, t, "Save")
		reads(ctx, t, "There is no such field here.")
		keep(ctx, t, "console-items-others")
		ticks("Anything")
		clicks(ctx, t, "[data-item=anything] summary")
		types(ctx, t, "[data-item=anything] textarea", `{"a": [1, {"b": null}]}`)
		wrongAt(ctx, t, "", "/more: There is no such field here.")
		types(ctx, t, textAt(""), "")
		presses(ctx, t, "Save")
		reads(ctx, t, "a: [1,{") // the forms close when it is saved
		owner.get(t, chat).has(t, map[string]string{
			"agents.0.config": `{"limits":{"daily":5,"yearly":9},"name":"Ada","queue":"web"}`,
			"tools.0.config":  `{"a":[1,{"b":null}]}`,
		})
	})
	t.Run("a workflow is attached at once, and what is typed meanwhile can be saved", func(t *testing.T) {
		ticks("Hand over")
		types(ctx, t, "[name=greeting]", "Good evening")
		drive(ctx, t, poll[bool](`[...document.querySelectorAll('main label')].find((l) =>
			l.innerText.includes('Hand over')).querySelector('input').checked`))
		owner.get(t, chat).has(t, map[string]string{"workflows.0.workflow_id": "hand-over", "greeting": "Good morning"})
		presses(ctx, t, "Save")
		types(ctx, t, "[name=description]", "Typed while it is saved") // within the same millisecond, or a few later
		awaits(t, "it is saved", s, func() bool { return owner.get(t, chat).at("greeting") == "Good evening" })
		drive(ctx, t, poll[bool](`document.querySelector('[name=greeting]').value === 'Good evening' &&
			document.querySelector('[name=description]').value === 'Typed while it is saved'`))
		presses(ctx, t, "Save")
		awaits(t, "the rest is saved", s,
			func() bool { return owner.get(t, chat).at("description") == "Typed while it is saved" })
		owner.get(t, chat).has(t, map[string]string{"greeting": "Good evening", "workflows.0.workflow_id": "hand-over"})
	})
	t.Run("what is typed can be saved in the moment in which a workflow is detached", func(t *testing.T) {
		drive(ctx, t, poll[bool](`[...document.querySelectorAll('main button')].some((b) =>
			b.innerText === 'Save' && !b.disabled)`))
		types(ctx, t, "[name=greeting]", "Good night")
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`{
			const save = [...document.querySelectorAll('main button')].find((b) => b.innerText === 'Save')
			let waits = false
			new MutationObserver((_, observer) => {
				if (waits && !save.disabled) {
					observer.disconnect()
					save.click()
				}
				waits = save.disabled
			}).observe(save, {attributes: true})
		}`))
		ticks("Hand over")
		awaits(t, "it is saved", s, func() bool { return owner.get(t, chat).at("greeting") == "Good night" })
		owner.get(t, chat).has(t, map[string]string{"workflows": "[]", "description": "Typed while it is saved"})
	})
	t.Run("who may only view reads which items there are, and nothing of their configuration", func(t *testing.T) {
		viewer := s.user(t, "viewer")
		ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, viewer.email))
		reads(ctx, t, "Sign in to")
		clicks(ctx, t, "#use-link")
		reads(ctx, t, "There are no prompts yet.")
		drive(ctx, t, chromedp.Navigate(page))
		drive(ctx, t, poll[bool](`[...document.querySelectorAll('main label')].some((l) =>
			l.innerText.includes('Assistant') && l.querySelector(':checked:disabled'))`))
		if drive(ctx, t, chromedp.Evaluate[bool](`document.body.innerText.includes('Configuration')`)) {
			t.Error("a configuration is offered")
		}
	})
}
