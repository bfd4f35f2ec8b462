package e2e

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/proof"
)

func TestAProgramReadsWhatRunsAChat(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, bob := s.user(t, "member"), s.user(t, "member")
		prompt := templates + "/" + ann.create(t, templates, object{"name": "runtime", "type": "text"}).at("id")
		activate := func(text string) {
			t.Helper()
			ann.create(t, prompt+"/versions", object{"text": text, "activate": true,
				"variables": []object{{"name": "shop", "type": "string", "required": true},
					{"name": "a", "type": "array", "required": false}}})
		}
		activate("Sell for {{shop}}.")
		chat := chats + "/" + ann.create(t, chats, object{"name": "Seller", "visibility": "workspace",
			"prompt":       object{"prompt_template_id": strings.TrimPrefix(prompt, templates+"/"), "ref": "active"},
			"tools":        []object{{"id": "create-ticket", "config": object{"queue": "web"}}},
			"capabilities": []string{"citations"}, "model_config": object{"model_name": "small"}}).at("id")
		program := *ann
		program.token = ann.create(t, "/api/api-keys", object{"name": "shop",
			"scopes": []string{"chats:runtime"}}).at("token")
		call := func(variables string) string { return chat + "/runtime?variables=" + url.QueryEscape(variables) }

		t.Run("it gets the instructions with values, and all else that runs the chat", func(t *testing.T) {
			program.get(t, call(`{"shop":"Pens & Co"}`)).has(t, map[string]string{
				"instructions": "Sell for Pens & Co.", "prompt.ref": "active",
				"prompt.version": "1", "tools.0.config.queue": "web", "capabilities.0": "citations",
				"model_config.model_name": "small", "status": "draft"})
			previous := program.get(t, call(`{"shop":"Ink"}`)).has(t, map[string]string{
				"instructions": "Sell for Ink."}).header.Get("Etag")
			program.do(t, "GET", call(`{"shop":"Ink"}`), nil, "If-None-Match: "+previous).is(t, 304)
			activate("Buy for {{shop}}.")
			program.do(t, "GET", call(`{"shop":"Ink"}`), nil, "If-None-Match: "+previous).is(t, 200).
				has(t, map[string]string{"instructions": "Buy for Ink.", "prompt.version": "2"})
		})
		t.Run("values can be in the body, too", func(t *testing.T) {
			body := object{"variables": object{"shop": strings.Repeat("Pens & Co, ", 1000)}}
			program.do(t, "POST", chat+"/runtime", body).is(t, 200).has(t, map[string]string{
				"instructions": "Buy for " + strings.Repeat("Pens & Co, ", 1000) + ".", "prompt.version": "2"})
			program.do(t, "POST", chat+"/runtime", object{}).problem(t, 422, "missing_variables")
			program.do(t, "POST", chat+"/runtime", object{"variables": object{"shop": 1}}).problem(t, 422,
				"invalid_variables")
			bob.do(t, "POST", chat+"/runtime", body).problem(t, 403, "chat_template_forbidden")
		})
		t.Run("without a required value there are no instructions", func(t *testing.T) {
			a := program.do(t, "GET", chat+"/runtime", nil).problem(t, 422, "missing_variables")
			a.has(t, map[string]string{"errors.0.pointer": "/variables/shop"})
		})
		t.Run("each answer counts as a read of the version that it has", func(t *testing.T) {
			activate("Rent for {{shop}}.")
			for range 3 { // all but the first from memory
				program.get(t, call(`{"shop":"Ink"}`)).has(t, map[string]string{"prompt.version": "3"})
			}
			ann.get(t, call(`{"shop":"Ink"}`)) // an editor's reading is one of an application, whatever the credential
			// The tests above had the first version twice and once unchanged, and the second twice.
			want := []string{"4", "2", "3"}
			proof.Await(t, fmt.Sprintf("%q reads", want), func() *answer { return ann.get(t, prompt+"/reads") },
				func(reads *answer) bool { return slices.Equal(reads.each(t, "reads"), want) })
		})
		t.Run("latest is the latest released version for every author of a chat", func(t *testing.T) {
			ownText := templates + "/" + ann.create(t, templates, object{"name": "drafts", "type": "text",
				"visibility": "workspace"}).at("id")
			latest := object{"name": "mine", "prompt": object{
				"prompt_template_id": strings.TrimPrefix(ownText, templates+"/"), "ref": "latest"}}
			ann.create(t, ownText+"/versions", object{"text": "SECRET 1"})
			bob.do(t, "POST", chats, latest).problem(t, 422, "prompt_unavailable")
			ann.do(t, "POST", chats, latest).problem(t, 422, "prompt_unavailable")
			ann.create(t, ownText+"/versions", object{"text": "released", "activate": true})
			ann.create(t, ownText+"/versions", object{"text": "SECRET 3"})
			for _, c := range []*client{bob, ann} {
				id := chats + "/" + c.create(t, chats, latest).at("id")
				c.get(t, id+"/runtime").has(t, map[string]string{"instructions": "released", "prompt.version": "2"})
			}
		})
		t.Run("its key reads nothing else and changes nothing", func(t *testing.T) {
			for _, path := range []string{chat, chats, chats + "/registry", prompt, chat + "/members",
				chat + "/embed-tokens"} {
				program.do(t, "GET", path, nil).problem(t, 403, "scope_required")
			}
			program.do(t, "PATCH", chat, object{"name": "x"}).problem(t, 403, "scope_required")
			program.do(t, "DELETE", chat, nil).problem(t, 403, "scope_required")
		})
		t.Run("who cannot edit the chat does not see its instructions", func(t *testing.T) {
			bob.do(t, "GET", chat+"/runtime", nil).problem(t, 403, "chat_template_forbidden")
			s.user(t, "owner", "--workspace", "other").do(t, "GET", chat+"/runtime", nil).
				problem(t, 404, "chat_template_not_found")
		})
		t.Run("wrong values are named", func(t *testing.T) {
			for _, bad := range []string{`[]`, `null`, `{"shop":`, `{} {}`} {
				program.do(t, "GET", call(bad), nil).problem(t, 400, "invalid_parameter")
			}
			program.do(t, "GET", call(`{"shop":1}`), nil).problem(t, 422, "invalid_variables")
			activate(strings.Repeat("{{#a}}", 4) + strings.Repeat("x", 1000) + strings.Repeat("{{/a}}", 4))
			program.do(t, "GET", call(`{"a":[`+strings.Repeat("1,", 200)+`1]}`), nil).
				problem(t, 422, "render_too_large")
		})
		t.Run("a chat without its prompt has no instructions", func(t *testing.T) {
			ann.do(t, "DELETE", prompt+"?force=true", nil).is(t, 204)
			program.do(t, "GET", chat+"/runtime", nil).problem(t, 409, "chat_prompt_gone")
			program.do(t, "POST", chat+"/runtime", object{}).problem(t, 409, "chat_prompt_gone")
		})
	})
}
