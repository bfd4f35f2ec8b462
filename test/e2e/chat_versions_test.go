package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
	"github.com/atrium-hq/atrium/test/support/proof"
)

func init() {
	examples["changeChatMembers"] = ofChat(object{"changes": []object{{"user_id": "usr_gone", "role": nil}}})
	examples["importChatTemplate"] = plainly(object{"export": chatExport("Imported")})
	examples["getChatVersion"] = ofChat(nil, "draft")
	examples["diffChatVersions"] = example{make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		return target{ids: []string{h.chat, "draft"}, query: "?against=draft"}
	}}
	examples["publishChatVersion"] = ofChat(object{"reason": "Ready"}, "draft")
	examples["getEmbedTokenUsage"] = withEmbed(nil)
}

// chatExport is an export of a chat without anything that only one workspace has.
func chatExport(name string) object {
	return object{"format": "atrium.chat/1", "content": object{"name": name, "description": "",
		"avatar_url": nil, "instructions": "", "prompt": nil, "agents": []string{}, "tools": []string{},
		"capabilities": []string{}, "workflows": []string{}, "model_config": object{}, "greeting": "",
		"conversation_starters": []string{}, "metadata": object{}, "reply": object{"kind": "none"}, "theme": object{}}}
}

func TestAChatIsPublishedAndRolledBack(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops)
		admin, viewer := s.user(t, "admin"), s.user(t, "viewer")
		bot := newReplies(t, nil)
		e := admin.replying(t, bot, object{"theme": object{"light": object{"primary": "#112233"}}})
		versions := e.template + "/versions"
		session := e.visit(t, fromShop).is(t, 200).has(t, map[string]string{
			"template.theme.light.primary": "#112233"}).at("session")
		report := func(t *testing.T, instructions string) {
			t.Helper()
			e.says(t, session, object{"text": "Where?"}, fromShop).is(t, 200)
			if body, _ := bot.last(); !strings.Contains(body, `"instructions":"`+instructions+`"`) {
				t.Errorf("the endpoint was told %s", body)
			}
			admin.get(t, e.template+"/runtime").has(t, map[string]string{"instructions": instructions})
		}

		t.Run("a change of the draft reaches no visitor and no runtime", func(t *testing.T) {
			admin.do(t, "PATCH", e.template, object{"greeting": "New", "instructions": "changed",
				"theme": object{"light": object{"primary": "#445566", "text": "#000000"}}}).is(t, 200).has(t,
				map[string]string{"unpublished_changes": "true", "published_version": "2", "greeting": "New"})
			e.resume(t, session, fromShop).has(t, map[string]string{"template.greeting": "Hello <b>you</b>"})
			report(t, "inner-thoughts")
		})
		t.Run("the diff shows what publishing changes", func(t *testing.T) {
			diff := admin.get(t, versions+"/draft/diff").has(t, map[string]string{"against": "v2", "version": "draft",
				"changed_fields": `["instructions","greeting","theme"]`, "changes.0.field": "greeting",
				"changes.0.to": "New"})
			assert.Contains(t, "unified", diff.at("unified"), "-inner-thoughts")
		})
		t.Run("publishing can be on condition of what is published", func(t *testing.T) {
			first := admin.get(t, versions+"/v1").at("version.id")
			admin.do(t, "POST", versions+"/draft/publish", object{"expected_published_version_id": first}).
				problem(t, 409, "published_changed")
			admin.do(t, "POST", versions+"/draft/publish", object{"reason": "Nicer",
				"expected_published_version_id": admin.get(t, versions+"/published").at("version.id")}).is(t, 200).
				has(t, map[string]string{"published_version": "3", "unpublished_changes": "false",
					"status": "published"})
			e.resume(t, session, fromShop).has(t, map[string]string{"template.greeting": "New",
				"template.theme.light.primary": "#112233", "template.theme.light.text": "#000000"})
			report(t, "changed")
		})
		t.Run("an earlier version is published again, and the draft stays", func(t *testing.T) {
			admin.do(t, "POST", versions+"/v2/publish", object{}).is(t, 200).
				has(t, map[string]string{"published_version": "2", "greeting": "New", "unpublished_changes": "true"})
			report(t, "inner-thoughts")
			admin.get(t, e.template+"/publications?limit=2").has(t, map[string]string{
				"data.0.from_version_number": "3", "data.0.to_version_number": "2", "data.1.reason": "Nicer"})
			admin.get(t, versions).has(t, map[string]string{"data.0.number": "3", "data.2.number": "1"})
			admin.do(t, "POST", versions+"/v9/publish", object{}).problem(t, 404, "chat_version_not_found")
			admin.get(t, "/api/events?type=chat_template.published").has(t,
				map[string]string{"data.0.data.version": "2"})
		})
		t.Run("who cannot edit the chat reads no version", func(t *testing.T) {
			admin.do(t, "PATCH", e.template, object{"visibility": "workspace"}).is(t, 200)
			for _, path := range []string{versions, versions + "/v1", versions + "/draft/diff",
				e.template + "/publications"} {
				viewer.do(t, "GET", path, nil).problem(t, 403, "chat_template_forbidden")
			}
			viewer.do(t, "POST", versions+"/v1/publish", object{}).problem(t, 403, "chat_template_forbidden")
		})
		t.Run("a member previews the draft, in Atrium's own page only", func(t *testing.T) {
			preview := viewer.do(t, "POST", e.template+"/preview", nil).is(t, 200).has(t, map[string]string{
				"template.greeting": "New", "expires_in_seconds": "600"})
			if !strings.Contains(preview.at("url"), "/chats/") || strings.Contains(preview.at("url"), "ats_") {
				t.Errorf("the link %s", preview.at("url"))
			}
			e.resume(t, preview.at("session")).is(t, 200).has(t, map[string]string{"template.greeting": "New"})
			e.resume(t, preview.at("session"), fromShop).problem(t, 403, "origin_not_allowed")
			e.says(t, preview.at("session"), object{"text": "Where?"}).is(t, 200)
			if body, _ := bot.last(); !strings.Contains(body, `"instructions":"changed"`) {
				t.Errorf("the endpoint was told %s", body)
			}
			page := s.anonymous().do(t, "GET", "/embed/preview", nil).is(t, 200)
			policy := page.header.Get("Content-Security-Policy")
			assert.Contains(t, "its policy", policy, "frame-ancestors 'self'")
		})
		t.Run("usage tells sessions, messages and refusals by origin and day", func(t *testing.T) {
			e.visit(t, "Origin: https://evil.example").problem(t, 403, "origin_not_allowed")
			today := time.Now().UTC().Format(time.DateOnly)
			want := map[string]string{"sessions": "1", "messages": "3", "refusals": "1",
				"data.0.origin": "https://evil.example", "data.1.origin": shop, "data.1.date": today}
			proof.Await(t, "all are counted", func() *answer {
				return admin.get(t, e.path+"/usage?from="+today+"&to="+today)
			}, func(usage *answer) bool {
				return usage.at("sessions")+usage.at("messages")+usage.at("refusals") == "131"
			}).has(t, want)
			admin.do(t, "GET", e.path+"/usage?from=2026-01-02&to=2026-01-01", nil).problem(t, 400, "invalid_parameter")
		})
		t.Run("a copy is a draft of the caller", func(t *testing.T) {
			admin.do(t, "POST", e.template+"/copy", object{}).is(t, 201).has(t, map[string]string{
				"name": "Support copy", "status": "draft", "greeting": "New", "instructions": "changed",
				"published_version": "null", "my_role": "owner"})
		})
		t.Run("an export is imported elsewhere, with other prompts and connections", func(t *testing.T) {
			exportedResponse := admin.get(t, e.template+"/export").has(t, map[string]string{"format": "atrium.chat/1"})
			other := s.user(t, "owner", "--workspace", "other")
			body := object{"export": json.RawMessage(exportedResponse.text), "name": "Moved"}
			other.do(t, "POST", chats+"/import", body).problem(t, 422, "reply_connection_unavailable")
			body["connection_id"] = nil
			other.do(t, "POST", chats+"/import", body).is(t, 201).has(t, map[string]string{"name": "Moved",
				"greeting": "New", "instructions": "changed", "reply.kind": "none", "status": "draft",
				"theme.light.primary": "#445566"})
		})
		t.Run("a token comes with what a page can contain", func(t *testing.T) {
			response := admin.do(t, "POST", e.path+"/rotate", object{}).is(t, 200)
			for _, kind := range []string{"script", "module", "frame", "react"} {
				if text := response.at("snippets." + kind); !strings.Contains(text, response.at("token")) ||
					!strings.Contains(text, "/embed.js") {
					t.Errorf("%s: %s", kind, text)
				}
			}
		})
	})
}
