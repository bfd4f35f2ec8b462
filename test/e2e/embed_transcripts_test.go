package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/atrium-hq/atrium/domain/embed"
	"github.com/atrium-hq/atrium/domain/secret"
	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
	"github.com/atrium-hq/atrium/test/support/require"
)

func TestTurnsAreForwardedToAWebhookAndStoredNowhere(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops)
		admin, member := s.user(t, "admin"), s.user(t, "member")
		e := admin.replying(t, newReplies(t, nil), nil)
		recipient := newReceiver(t)
		created := admin.create(t, webhooks, hookOf(recipient.url, "prompt_template.activated"))
		hook := created.at("id")
		session := e.visit(t, fromShop).has(t, map[string]string{"template.transcripts": "false"}).at("session")
		ask := func(text string) {
			t.Helper()
			e.says(t, session, object{"text": text, "conversation_id": "c1"}, fromShop).is(t, 200)
		}
		set := func(c *client, to any) *answer {
			t.Helper()
			return c.do(t, "PATCH", e.template, object{"transcripts": to})
		}
		admin.get(t, e.template).has(t, map[string]string{"transcripts": "null"})
		ask("before-it")

		t.Run("an admin of the workspace begins it, and the visitor's page is told", func(t *testing.T) {
			admin.do(t, "POST", e.template+"/members", object{"user_id": member.id, "role": "manager"}).is(t, 201)
			set(member, object{"webhook_id": hook}).problem(t, 403, "forbidden")
			set(admin, object{"webhook_id": "whk_01jb4rqnx1f4d6h8k0m2p4r6t8"}).problem(t, 422,
				"transcript_webhook_unavailable")
			set(admin, object{"webhook_id": hook}).is(t, 200).has(t, map[string]string{"transcripts.webhook_id": hook,
				"unpublished_changes": "false"})
			e.visit(t, fromShop).has(t, map[string]string{"template.transcripts": "true"})
			admin.get(t, "/api/events?type=chat_template.updated").has(t, map[string]string{
				"data.0.data.transcripts.to": hook})
		})
		t.Run("a finished turn arrives, signed as Standard Webhooks describes", func(t *testing.T) {
			ask("very-private")
			recipient.await(t, s, "chat.turn", 1)
			got := recipient.last()
			verifier, err := standardwebhooks.NewWebhook(created.at("secret"))
			require.NoError(t, err)
			assert.NoError(t, verifier.Verify(got.body, got.header))
			var turn struct {
				Data map[string]any `json:"data"`
			}
			require.NoError(t, json.Unmarshal(got.body, &turn))
			for member, want := range map[string]any{"text": "very-private", "answer": "Two <words>",
				"chat_template_id": strings.TrimPrefix(e.template, chats+"/"), "conversation_id": "c1", "origin": shop,
				"visitor_signed": false, "refused": false, "id": got.header.Get("Webhook-Id")} {
				assert.Equal(t, member, turn.Data[member], want)
			}
		})
		t.Run("nothing of it is stored", func(t *testing.T) {
			admin.get(t, webhooks+"/"+hook+"/deliveries").has(t, map[string]string{"data": "[]"})
			for _, path := range []string{"/api/events", e.path + "/usage", e.template} {
				if a := admin.get(t, path); strings.Contains(a.text, "very-private") {
					t.Errorf("%s has the message: %s", path, a)
				}
			}
		})
		t.Run("a turn that does not arrive is counted", func(t *testing.T) {
			recipient.mu.Lock()
			recipient.says = func(int, received) int { return 410 }
			recipient.mu.Unlock()
			ask("lost")
			proof.Await(t, "the loss is counted", func() *answer { return admin.get(t, e.path+"/usage") },
				func(a *answer) bool { return a.at("failures_by_code.0.code") == "transcript_lost" }).has(t,
				map[string]string{"failures_by_code.0.failures": "1", "failures": "1"})
			admin.get(t, e.template).has(t, map[string]string{"health": "ok"})
		})
		t.Run("a manager ends it, and the deletion of its webhook does, too", func(t *testing.T) {
			set(member, nil).is(t, 200).has(t, map[string]string{"transcripts": "null"})
			set(admin, object{"webhook_id": hook}).is(t, 200)
			admin.do(t, "DELETE", webhooks+"/"+hook, nil).is(t, 204)
			admin.get(t, e.template).has(t, map[string]string{"transcripts": "null"})
			admin.get(t, "/api/events?type=chat_template.updated").has(t, map[string]string{
				"data.0.data.transcripts.from": hook, "data.0.actor": admin.id})
			arrived := len(recipient.ids("chat.turn"))
			ask("after-it")
			assert.Equal(t, "turns that arrived", len(recipient.ids("chat.turn")), arrived)
		})
	})
}

func TestASignedVisitorsAttributesReachThePromptAndTheEndpoint(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops)
		admin, bot := s.user(t, "admin"), newReplies(t, nil)
		e := admin.replying(t, bot, nil)
		prompt := admin.create(t, templates, object{"name": "attributes",
			"version": object{"text": "A {{plan}} customer.", "activate": true,
				"variables": []object{{"name": "plan", "type": "string", "required": true}}}}).at("id")
		reply := object{"kind": "http", "connection_id": admin.get(t, e.template).at("reply.connection_id"),
			"variables": object{"plan": "free"}, "visitor_variables": []string{"plan"}}
		admin.do(t, "PATCH", e.template, object{"instructions": nil, "reply": reply,
			"prompt": object{"prompt_template_id": prompt, "ref": "active"}}).is(t, 200).has(t,
			map[string]string{"reply.visitor_variables.0": "plan", "health": "ok"})
		admin.do(t, "POST", e.template+"/versions/draft/publish", object{}).is(t, 200)
		const attributes = `{"plan":"pro","seats":3}`
		open := func(attributes, signedFor string) *answer {
			t.Helper()
			signature := embed.SignVisitor(secret.New(e.visitorSecret), "ann", signedFor, time.Now().Add(time.Hour))
			body := object{"token": e.secret, "visitor": "ann", "visitor_signature": signature}
			if attributes != "" {
				body["visitor_attributes"] = attributes
			}
			return s.anonymous().do(t, "POST", sessions, body, fromShop)
		}
		for name, tt := range map[string]struct{ attributes, instructions, body string }{
			"with attributes": {attributes, `"instructions":"A pro customer."`, `"visitor_attributes":` + attributes},
			"without":         {"", `"instructions":"A free customer."`, `"visitor_signed":true`},
			"with others":     {`{"plan":[1]}`, `"instructions":"A free customer."`, `"visitor_attributes":{"plan":[1]}`},
		} {
			t.Run(name, func(t *testing.T) {
				session := open(tt.attributes, tt.attributes).is(t, 200).at("session")
				a := e.says(t, session, object{"text": "?"}, fromShop).is(t, 200)
				body, _ := bot.last()
				assert.Contains(t, "the endpoint's request", body, tt.instructions)
				assert.Contains(t, "the endpoint's request", body, tt.body)
				assert.Contains(t, "the page's event", a.text, `"prompt":{"prompt_template_id":"`+prompt+`"`)
				verified := admin.do(t, "POST", sessions+"/verify", object{"session": session}).is(t, 200)
				verified.has(t, map[string]string{"prompt.prompt_template_id": prompt, "prompt.version_number": "1"})
			})
		}
		open(attributes, "").problem(t, 403, "visitor_signature_invalid")
		open(`{"plan":"max"}`, attributes).problem(t, 403, "visitor_signature_invalid")
		open(`[]`, `[]`).problem(t, 422, "invalid_fields")
	})
}

func TestAVisitorIsToldOfTranscriptsAndThePageOfTheTurn(t *testing.T) {
	t.Parallel()
	chromium, shop, e := widgetSite(t, nil)
	prompt := e.judgedBy(t, "told")
	recipient := newReceiver(t)
	hook := e.manager.create(t, webhooks, hookOf(recipient.url, "prompt_template.activated")).at("id")
	e.manager.do(t, "PATCH", e.template, object{"transcripts": object{"webhook_id": hook}}).is(t, 200)
	ctx, _ := tab(t, chromium, shop+"/script")
	drive(ctx, t, poll[object](`told.ready`))
	note := within[string](ctx, t, chatRoot, `$.querySelector('[part=note]').textContent`)
	assert.Equal(t, "the note", note, "The operator of this site gets a copy of this conversation.")
	checksAccessibility(ctx, t, `[...document.querySelectorAll('div')].find((d) => d.shadowRoot)`)
	writes(ctx, t, chatRoot, "Where?")
	got := drive(ctx, t, poll[map[string]any](`told.turn`))
	version, _ := got["prompt"].(map[string]any)
	if got["text"] != "Where?" || got["answer"] != "Two <words>" || got["conversation_id"] == "" ||
		got["page_url"] != shop+"/script" || fmt.Sprint(templates, "/", version["prompt_template_id"]) != prompt {
		t.Errorf("the page hears of %v", got)
	}
	within[chromedp.Void](ctx, t, chatRoot, `$.querySelectorAll('[part=thumb]')[0].click()`)
	rated := drive(ctx, t, poll[map[string]any](`told.feedback`))
	if rated["conversation_id"] != got["conversation_id"] || rated["prompt"] == nil || rated["helpful"] != true {
		t.Errorf("the page hears of %v", rated)
	}
	recipient.await(t, e.manager.server, "chat.turn", 1)
}
