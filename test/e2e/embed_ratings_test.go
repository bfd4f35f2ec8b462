package e2e

import (
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/atrium-hq/atrium/test/support/assert"
)

const ratings = "/api/embed/feedback"

// judgedBy makes the chat use a new prompt, and ask for ratings. It returns the path of the prompt.
func (e *embeddedChat) judgedBy(t *testing.T, name string) string {
	t.Helper()
	version := object{"text": "Help.", "activate": true}
	id := e.manager.create(t, templates, object{"name": name, "version": version}).at("id")
	reply := object{"kind": "http", "connection_id": e.manager.get(t, e.template).at("reply.connection_id"),
		"ask_feedback": true}
	e.manager.do(t, "PATCH", e.template, object{"instructions": nil, "reply": reply,
		"prompt": object{"prompt_template_id": id, "ref": "active"}}).is(t, 200).has(t,
		map[string]string{"reply.ask_feedback": "true"})
	e.manager.do(t, "POST", e.template+"/versions/draft/publish", object{}).is(t, 200)
	return templates + "/" + id
}

var receipt = regexp.MustCompile(`event: done\ndata: \{"answer":"(atr_[^"]+)",`)

func TestVisitorsRateAnswers(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops)
		admin := s.user(t, "admin")
		e, other := admin.replying(t, newReplies(t, nil), nil), admin.replying(t, newReplies(t, nil), nil)
		session := e.visit(t, fromShop).has(t, map[string]string{"template.feedback": "false"}).at("session")
		if a := e.says(t, session, object{"text": "?"}, fromShop).is(t, 200); receipt.MatchString(a.text) {
			t.Errorf("a chat that asks for no ratings answers %s", a)
		}
		prompt := e.judgedBy(t, "rated")
		ask := func() string {
			t.Helper()
			a := e.says(t, session, object{"text": "?"}, fromShop).is(t, 200)
			match := receipt.FindStringSubmatch(a.text)
			if match == nil {
				t.Fatalf("the answer has no receipt: %s", a)
			}
			return match[1]
		}
		rate := func(session, answer string, helpful any) *answer {
			t.Helper()
			return s.anonymous().do(t, "POST", ratings, object{"answer": answer, "helpful": helpful}, fromShop,
				"Authorization: Bearer "+session)
		}
		first, second := ask(), ask()
		admin.create(t, prompt+"/versions", object{"text": "Help more.", "activate": true})
		third := ask()
		for _, answer := range []string{first, second, third, third} {
			rate(session, answer, answer != second).is(t, 204)
		}
		rate(session, third, false).problem(t, 409, "embed_answer_rated")
		admin.get(t, prompt+"/feedback").has(t, map[string]string{"versions.0.name": "thumbs",
			"versions.0.version_number": "2", "versions.0.count": "1", "versions.0.share": "1",
			"versions.1.version_number": "1", "versions.1.count": "2", "versions.1.share": "0.5", "versions.2": ""})

		// Whose answer it is, and what is none.
		rate(session, "atr_x", true).problem(t, 404, "embed_answer_not_found")
		rate(session, session, true).problem(t, 404, "embed_answer_not_found")
		rate(other.visit(t, fromShop).at("session"), first, true).problem(t, 404, "embed_answer_not_found")
		rate("ats_x", first, true).problem(t, 401, "embed_session_invalid")
		s.anonymous().do(t, "POST", ratings, object{"answer": first, "helpful": true}, "Origin: https://evil.example",
			"Authorization: Bearer "+session).problem(t, 403, "origin_not_allowed")
		rate(session, first, "yes").problem(t, 422, "invalid_fields")
		e.says(t, first, object{"text": "?"}, fromShop).problem(t, 401, "embed_session_invalid")
	})
}

func TestAVisitorRatesAnAnswerWithAThumb(t *testing.T) {
	t.Parallel()
	chromium, shop, e := widgetSite(t, nil)
	prompt := e.judgedBy(t, "thumbs")
	ctx, _ := tab(t, chromium, shop+"/script")
	drive(ctx, t, poll[object](`told.ready`))
	writes(ctx, t, chatRoot, "Where?")
	hears(ctx, t, "reply")
	thumbs := func() string {
		t.Helper()
		return within[string](ctx, t, chatRoot, `[...$.querySelectorAll('[part=thumb]')].map((b) =>
			[b.ariaLabel, b.ariaPressed, b.disabled]).join(' | ')`)
	}
	assert.Equal(t, "thumbs", thumbs(), "Helpful,false,false | Not helpful,false,false")
	if !within[bool](ctx, t, chatRoot, `[...$.querySelectorAll('[part=thumb]')].every((b) => !b.textContent &&
		b.querySelector('path').getBoundingClientRect().width > 10)`) {
		t.Error("the thumbs are no pictures")
	}
	within[chromedp.Void](ctx, t, chatRoot, `$.querySelectorAll('[part=thumb]')[1].click()`)
	got := drive(ctx, t, poll[map[string]any](`told.feedback`))
	if got["helpful"] != false || got["text"] != "Where?" || got["answer"] != "Two <words>" {
		t.Errorf("the page hears of %v", got)
	}
	const rated = "Helpful,false,true | Not helpful,true,true"
	assert.Equal(t, "thumbs after it", thumbs(), rated)
	keep(ctx, t, "widget-thumbs")
	checksAccessibility(ctx, t, `[...document.querySelectorAll('div')].find((d) => d.shadowRoot)`)
	e.manager.server.await(t, func() bool {
		return e.manager.get(t, prompt+"/feedback").at("versions.0.count") == "1"
	})
	e.manager.get(t, prompt+"/feedback").has(t, map[string]string{"versions.0.share": "0", "versions.0.name": "thumbs"})
	visits(ctx, t, shop+"/script") // the next page remembers it
	assert.Equal(t, "thumbs on the next page", thumbs(), rated)
}
