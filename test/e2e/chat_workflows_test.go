package e2e

import (
	"encoding/json"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestWorkflowsArePublishedWithTheirChat(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, configured("orgs: [{slug: default, egress: {allow: [127.0.0.0/8, '::1']}, registry: {"+
			"workflows: [{id: hand-over, name: Hand over, description: Brings a colleague into the chat., version: 1.0.0, "+
			"effects: write, embed_safe: true}, {id: weekly-digest}]}}]"), toShops)
		admin := s.user(t, "admin")
		bot := newReplies(t, nil)
		e := admin.replying(t, bot, nil)
		versions := e.template + "/versions"
		session := e.visit(t, fromShop).is(t, 200).at("session")
		// offers expects that programs and the endpoint get one workflow, or none if id is empty.
		offers := func(t *testing.T, id string) {
			t.Helper()
			admin.get(t, e.template+"/runtime").has(t, map[string]string{"workflows.0.id": id, "workflows.1": ""})
			e.says(t, session, object{"text": "Where?"}, fromShop).is(t, 200)
			body, _ := bot.last()
			var request struct {
				Workflows []struct{ ID string }
			}
			if err := json.Unmarshal([]byte(body), &request); err != nil {
				t.Fatal(err)
			}
			if got := request.Workflows; (id == "") != (len(got) == 0) || (id != "" && got[0].ID != id) {
				t.Errorf("the endpoint gets the workflows %v", got)
			}
		}

		t.Run("attaching one changes the draft only", func(t *testing.T) {
			admin.create(t, e.template+"/workflows/hand-over", nil)
			admin.get(t, e.template).has(t, map[string]string{"unpublished_changes": "true",
				"workflows.0.workflow_id": "hand-over"})
			admin.get(t, versions+"/draft").has(t, map[string]string{"content.workflows": `["hand-over"]`})
			admin.get(t, versions+"/published").has(t, map[string]string{"content.workflows": "[]"})
			admin.get(t, versions+"/draft/diff").has(t, map[string]string{"changed_fields": `["workflows"]`,
				"changes.0.field": "workflows", "changes.0.from": "[]", "changes.0.to": `["hand-over"]`})
			offers(t, "")
		})
		t.Run("once it is published, programs and endpoints get it as the registry describes it", func(t *testing.T) {
			admin.do(t, "POST", versions+"/draft/publish", object{}).is(t, 200).has(t,
				map[string]string{"unpublished_changes": "false", "published_version": "3"})
			offers(t, "hand-over")
			admin.get(t, e.template+"/runtime").has(t, map[string]string{"workflows.0.name": "Hand over",
				"workflows.0.description": "Brings a colleague into the chat.", "workflows.0.effects": "write"})
			body, _ := bot.last()
			assert.Contains(t, "the endpoint's request", body, `"workflows":[{"id":"hand-over","name":"Hand over",`+
				`"description":"Brings a colleague into the chat.","version":"1.0.0","effects":"write","embed_safe":true}]`)
		})
		t.Run("detaching it changes the draft only", func(t *testing.T) {
			admin.do(t, "DELETE", e.template+"/workflows/hand-over", nil).is(t, 204)
			admin.get(t, e.template).has(t, map[string]string{"unpublished_changes": "true", "workflows": "[]"})
			offers(t, "hand-over")
		})
		t.Run("rolling back brings the workflows of the earlier version", func(t *testing.T) {
			admin.do(t, "POST", versions+"/v2/publish", object{}).is(t, 200)
			offers(t, "")
			admin.do(t, "POST", versions+"/v3/publish", object{}).is(t, 200)
			offers(t, "hand-over")
		})
		t.Run("copies and exports have those of the draft", func(t *testing.T) {
			admin.create(t, e.template+"/workflows/weekly-digest", nil)
			admin.do(t, "POST", e.template+"/copy", object{}).is(t, 201).has(t, map[string]string{
				"workflows.0.workflow_id": "weekly-digest", "workflows.1": ""})
			exported := admin.get(t, e.template+"/export").has(t, map[string]string{
				"content.workflows": `["weekly-digest"]`})
			admin.do(t, "POST", chats+"/import", object{"export": json.RawMessage(exported.text)}).is(t, 201).has(t,
				map[string]string{"workflows.0.workflow_id": "weekly-digest", "workflows.1": ""})
		})
	})
}
