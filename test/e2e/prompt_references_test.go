package e2e

import (
	"strings"
	"testing"
)

func TestAReferenceStaysAtItsVersionWhileItsOwnerMayNotReadThePrompt(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, bob := s.user(t, "member"), s.user(t, "member")
		id := ann.create(t, templates, object{"name": "tone", "type": "text"}).at("id")
		prompt, share := templates+"/"+id, object{"user_id": bob.id, "role": "viewer"}
		activate := func(c *client, owner, text string) {
			t.Helper()
			c.create(t, owner+"/versions", object{"text": text, "activate": true})
		}
		activate(ann, prompt, "first")
		ann.create(t, prompt+"/shares", share)
		chat := chats + "/" + bob.create(t, chats, object{"name": "mine", "status": "published",
			"prompt": object{"prompt_template_id": id, "ref": "latest"}}).at("id")
		floating := templates + "/" + bob.create(t, templates, object{"name": "whole", "type": "text",
			"include_mode": "floating"}).at("id")
		activate(bob, floating, "{{> tone}}")
		activate(ann, prompt, "second") // after the include was stored with its text
		shows := func(text, health, code, degradedText string) {
			t.Helper()
			bob.get(t, chat+"/runtime").has(t, map[string]string{"instructions": text})
			bob.get(t, chat).has(t, map[string]string{"health": health, "issues.0.code": code})
			bob.get(t, chats).has(t, map[string]string{"data.0.health": health, "data.0.issues.0.code": code})
			bob.do(t, "POST", templates+"/resolve", object{"refs": []object{
				{"prompt_template_id": floating[len(templates)+1:], "ref": "active"}}}).is(t, 200).has(t,
				map[string]string{"data.0.version.text": text, "data.0.version.includes.0.degraded": degradedText})
		}
		shows("second", "ok", "", "false")
		ann.do(t, "DELETE", prompt+"/shares/"+bob.id, nil).is(t, 204)
		activate(ann, prompt, "SECRET")
		shows("second", "degraded", "prompt_unreadable", "true")

		s.stop(t)
		next := s.deployment.start(t) // notes at once what was lost
		ann, bob = ann.at(next), bob.at(next)
		t.Run("the owners of the chat, of the including prompt and of the prompt learn of it", func(t *testing.T) {
			for topic, want := range map[string]struct {
				reader *client
				events string
			}{
				chat[len(chats)+1:]:         {bob, "chat_template.degraded"},
				floating[len(templates)+1:]: {bob, "prompt_template.degraded"},
				id:                          {ann, "prompt_template.reader_lost prompt_template.reader_lost"},
			} {
				kind, _, _ := strings.Cut(want.events, " ")
				list := "/api/events?limit=100&type=" + kind + "&subject=" + topic
				soon(t, func() string { return strings.Join(want.reader.get(t, list).each(t, "type"), " ") },
					want.events)
			}
			shows("second", "degraded", "prompt_unreadable", "true")
		})
		t.Run("the reference follows the prompt again once its owner may read it", func(t *testing.T) {
			ann.create(t, prompt+"/shares", share)
			shows("SECRET", "ok", "", "false")
		})
	})
}
