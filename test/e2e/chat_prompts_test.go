package e2e

import (
	"strings"
	"testing"
	"time"
)

func init() { examples["checkPromptActivation"] = ofTemplate(nil, "v2") }

func TestAChatUsesAllOfItsPromptOrSaysSo(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops)
		admin := s.user(t, "admin")
		bot := newReplies(t, nil)
		e := admin.replying(t, bot, nil)
		session := e.visit(t, fromShop).at("session")
		connection := admin.get(t, e.template).at("reply.connection_id")
		prompt := templates + "/" + admin.create(t, templates, object{"name": "shop", "type": "text"}).at("id")
		activate := func(text string, extra object) {
			t.Helper()
			body := object{"text": text, "activate": true}
			for name, value := range extra {
				body[name] = value
			}
			admin.create(t, prompt+"/versions", body)
		}
		activate("Sell for {{shop}}.", object{"model_config": object{"temperature": 0.5, "top_k": 5},
			"tools":           []object{{"type": "function", "function": object{"name": "order"}}},
			"response_format": object{"type": "text"}})
		reply := func(variables object) object {
			return object{"kind": "http", "connection_id": connection, "variables": variables}
		}
		publish := func(changes object) *answer {
			t.Helper()
			admin.do(t, "PATCH", e.template, changes).is(t, 200)
			return admin.do(t, "POST", e.template+"/versions/draft/publish", object{}).is(t, 200)
		}
		t.Run("a value that is missing is an issue, and nothing unrendered leaves", func(t *testing.T) {
			publish(object{"instructions": nil, "reply": reply(object{}), "prompt": object{
				"prompt_template_id": strings.TrimPrefix(prompt, templates+"/"), "ref": "active"}}).has(t,
				map[string]string{"health": "degraded", "issues.0.code": "missing_variables",
					"issues.0.pointer": "/reply/variables"})
			e.says(t, session, object{"text": "?"}, fromShop).problem(t, 409, "replies_not_configured")
			publish(object{"reply": reply(object{"shop": 7})})
			// a variable that is not declared takes any value
			e.says(t, session, object{"text": "?"}, fromShop).is(t, 200)
			publish(object{"reply": reply(object{"shop": "Pens"})}).has(t, map[string]string{"health": "ok"})
		})
		t.Run("the settings, tools and format of the prompt reach the program", func(t *testing.T) {
			publish(object{"model_config": object{"top_k": 9}})
			e.says(t, session, object{"text": "?"}, fromShop).is(t, 200)
			body, _ := bot.last()
			for _, want := range []string{`"instructions":"Sell for Pens."`, `"temperature":0.5`, `"top_k":9`,
				`"name":"order"`, `"response_format":{"type":"text"}`} {
				if !strings.Contains(body, want) {
					t.Errorf("the program does not get %s: %s", want, body)
				}
			}
			admin.get(t, e.template+"/runtime").has(t, map[string]string{"model_config.temperature": "0.5",
				"model_config.top_k": "9", "model_config_from.temperature": "prompt", "model_config_from.top_k": "chat",
				"prompt_tools.0.function.name": "order", "response_format.type": "text", "health": "ok"})
		})
		t.Run("an activation names the chats that could not reply with the version", func(t *testing.T) {
			response := admin.create(t, prompt+"/versions",
				object{"text": "Sell for {{shop}} in {{city}} and {{land}}."})
			version := prompt + "/versions/" + response.at("id")
			chat := strings.TrimPrefix(e.template, chats+"/")
			want := map[string]string{"chats_missing_variables.0.id": chat, "chats_missing_variables.1": "",
				"chats_missing_variables.0.variables": `["city","land"]`}
			admin.get(t, version+"/activation-check").has(t, want).has(t, map[string]string{"complete": "true"})
			admin.get(t, e.template).has(t, map[string]string{"health": "ok"}) // a check changes nothing
			admin.do(t, "POST", version+"/activate", object{"activate_at": time.Now().Add(time.Hour)}).is(t, 202).
				has(t, want)
			admin.do(t, "POST", version+"/activate", object{}).is(t, 200).has(t, want)
			admin.do(t, "POST", prompt+"/versions/previous/activate", object{}).is(t, 200).has(t,
				map[string]string{"chats_missing_variables": "[]"})
			admin.create(t, prompt+"/versions", object{"text": "{{city}}", "activate": true}).has(t,
				map[string]string{"chats_missing_variables.0.variables": `["city"]`})
		})
		t.Run("but only to a caller who may read them", func(t *testing.T) {
			none := map[string]string{"chats_missing_variables": "[]"}
			admin.do(t, "PATCH", prompt, object{"visibility": "workspace"}).is(t, 200)
			member := s.user(t, "member")
			member.get(t, prompt+"/versions/active/activation-check").has(t, none)
			program := *admin
			program.token = admin.create(t, "/api/api-keys", object{"name": "reader",
				"scopes": []string{"prompts:read"}}).at("token")
			program.get(t, prompt+"/versions/active/activation-check").has(t, none)
			member.do(t, "GET", prompt+"/versions/v99/activation-check", nil).problem(t, 404,
				"prompt_version_not_found")
		})
		t.Run("another version of the prompt that needs more is an issue too", func(t *testing.T) {
			activate("Sell for {{shop}} in {{city}}.", nil)
			admin.get(t, e.template).has(t, map[string]string{"health": "degraded",
				"issues.0.code": "missing_variables"})
			e.says(t, session, object{"text": "?"}, fromShop).problem(t, 409, "replies_not_configured")
		})
	})
}
