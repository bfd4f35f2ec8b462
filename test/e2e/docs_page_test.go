package e2e

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/conformance"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestTheReferenceRunsUnderItsPolicy(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	t.Run("no page runs inline scripts, or can be framed", func(t *testing.T) {
		for _, path := range []string{"/api/docs", "/api/docs/start.js", "/api/docs/swagger-ui.css",
			"/problems/not_found"} {
			resp, err := http.Get(s.url + path) // the page's files are not in the contract
			require.NoError(t, err)
			resp.Body.Close()
			policy := resp.Header.Get("Content-Security-Policy")
			scripts := "default-src 'none'"
			if strings.HasPrefix(path, "/api/docs") {
				scripts = "script-src 'self';"
			}
			if !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, scripts) {
				t.Errorf("%s: %q", path, policy)
			}
		}
	})
	t.Run("a browser shows the operations of an area when it is opened, and their samples", func(t *testing.T) {
		ctx, console := tab(t, browser(t), s.url+"/api/docs")
		tags, operations := areasOfTheContract(t)
		const areas = `[...document.querySelectorAll('.opblock-tag')].map(a => a.dataset.tag).join()`
		page := drive(ctx, t, poll[string](areas))
		if want := strings.Join(append(tags, "webhooks"), ","); page != want {
			t.Errorf("the areas are %s, want %s", page, want)
		}
		if n := drive(ctx, t, chromedp.Evaluate[int](`document.querySelectorAll('.opblock').length`)); n != 0 {
			t.Errorf("%d operations are shown before a reader opens their area", n)
		}
		keep(ctx, t, "reference")
		click := func(element string) {
			t.Helper()
			drive(ctx, t, chromedp.Evaluate[chromedp.Void](element+`.click()`))
		}
		const prompts = `document.querySelector('[data-tag="prompt templates"] button')`
		for tag, openedText := range map[string]string{
			"prompt templates": prompts, "webhooks": `document.querySelector('[data-tag="webhooks"] button')`,
		} {
			click(openedText)
			drive(ctx, t, poll[bool](`document.querySelectorAll('.opblock').length === `+strconv.Itoa(operations[tag])))
			click(openedText)
			drive(ctx, t, poll[bool](`document.querySelectorAll('.opblock').length === 0`))
		}
		click(prompts)
		const operation = `document.querySelector('#operations-prompt_templates-createPromptTemplate')`
		const sample = operation + `.querySelector('.atrium-samples pre').textContent`
		drive(ctx, t, poll[bool](operation+` !== null`))
		click(operation + `.querySelector('button')`)
		// What references lead to: a shared parameter, a member of the body, and a header of a response.
		drive(ctx, t, poll[bool](`['Makes the call safe to repeat', 'visibility', 'RateLimit-Policy'].every((text) => `+
			operation+`.innerText.includes(text))`))
		for _, language := range []struct{ name, call string }{
			{"curl", `curl "$ATRIUM_URL/api/prompt-templates"`}, {"TypeScript", "await atrium.promptTemplates.create({"},
			{"Go", "client.PromptTemplates.Create(ctx, "}, {"Python", "client.prompt_templates.create({"},
		} {
			drive(ctx, t, poll[bool](operation+`.querySelector('.atrium-samples') !== null`))
			click(`[...` + operation + `.querySelectorAll('.atrium-samples button')].find(b => b.textContent == '` +
				language.name + `')`)
			drive(ctx, t, poll[bool](sample+`.includes(`+strconv.Quote(language.call)+`)`))
			drive(ctx, t, chromedp.Evaluate[chromedp.Void](operation+
				`.querySelector(".atrium-samples").scrollIntoView({block: "center"})`))
			keep(ctx, t, "reference-"+language.name)
		}
		saysNothing(ctx, t, console)
	})
}

// areasOfTheContract returns the tags of the contract in their order, and how many operations each has. The webhooks
// are counted under their own name.
func areasOfTheContract(t *testing.T) (tags []string, operations map[string]int) {
	t.Helper()
	var doc struct {
		Tags     []struct{ Name string }
		Paths    map[string]map[string]json.RawMessage
		Webhooks map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(conformance.Contract(t).JSON(), &doc))
	operations = map[string]int{"webhooks": len(doc.Webhooks)}
	for _, item := range doc.Paths {
		for method, declarations := range item {
			var operation struct{ Tags []string }
			if method == "parameters" {
				continue
			}
			if err := json.Unmarshal(declarations, &operation); err != nil || len(operation.Tags) != 1 {
				t.Fatalf("%s has the tags %q, %v", method, operation.Tags, err)
			}
			operations[operation.Tags[0]]++
		}
	}
	for _, tag := range doc.Tags {
		tags = append(tags, tag.Name)
	}
	return tags, operations
}

func TestALinkToAnOperationOfTheReferenceOpensItAndScrollsToIt(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	ctx, console := tab(t, browser(t), s.url+"/api/docs#/prompt_templates/restorePromptTemplate")
	// The heading is at the top of the window, and the operation is open.
	reaches := func(id string) {
		t.Helper()
		drive(ctx, t, poll[bool](`(() => {
			const operation = document.getElementById('operations-`+id+`')
			return operation.classList.contains('is-open') &&
				operation.querySelector('.opblock-body .opblock-section') !== null &&
				Math.abs(operation.getBoundingClientRect().top) < 40
		})()`))
	}
	follow := func(hash string) {
		t.Helper()
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`void (location.hash = '`+hash+`')`))
	}
	reaches("prompt_templates-restorePromptTemplate")
	keep(ctx, t, "link")
	follow("#/prompt%20templates/listPromptTemplates") // in the area that is open
	reaches("prompt_templates-listPromptTemplates")
	follow("#/webhooks/onApiKeyCreated")
	reaches("webhooks-onApiKeyCreated")
	keep(ctx, t, "link-webhook")
	seen(ctx, t, looks{"light", 360, 740})
	follow("#/connections/createConnection")
	reaches("connections-createConnection")
	keep(ctx, t, "link-narrow")
	if wide := drive(ctx, t, chromedp.Evaluate[int](`document.documentElement.scrollWidth`)); wide > 360 {
		t.Errorf("the page is %d px wide in a window of 360", wide)
	}
	saysNothing(ctx, t, console)
}

func TestASearchInTheReferenceShowsWhatHasAllItsWords(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	ctx, console := tab(t, browser(t), s.url+"/api/docs")
	search := func(words string) {
		t.Helper()
		drive(ctx, t, poll[bool](`document.getElementById('atrium-search') !== null`))
		drive(ctx, t, chromedp.Evaluate[chromedp.Void](`(() => {
			const box = document.getElementById('atrium-search')
			Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(box, `+strconv.Quote(words)+`)
			box.dispatchEvent(new Event('input', { bubbles: true }))
		})()`))
	}
	hits := func(status, ids string) {
		t.Helper()
		drive(ctx, t, poll[bool](`document.querySelector('.atrium-search [role=status]').textContent === '`+status+`'`))
		got := drive(ctx, t, chromedp.Evaluate[string](
			`[...document.querySelectorAll('.opblock')].map(o => o.id.split('-').at(-1)).sort().join()`))
		assert.Equal(t, status+": shows", got, ids)
	}
	search("RESTORE template")
	hits("4 hits", "onChatTemplateRestored,onPromptTemplateRestored,restoreChatTemplate,restorePromptTemplate")
	keep(ctx, t, "search")
	search("post /api/webhooks/{webhook_id}/test")
	hits("1 hit", "testWebhook")
	search("no such words")
	hits("0 hits", "")
	keep(ctx, t, "search-nothing")
	search("e") // too many to show
	drive(ctx, t, poll[bool](`document.querySelectorAll('.opblock-tag').length > 10`))
	if n := drive(ctx, t, chromedp.Evaluate[int](`document.querySelectorAll('.opblock').length`)); n != 0 {
		t.Errorf("a search with hundreds of hits shows %d operations", n)
	}
	search("")
	hits("", "")
	saysNothing(ctx, t, console)
}
