package e2e

import (
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

func init() {
	examples["changePromptShares"] = ofTemplate(object{"changes": []object{{"user_id": "usr_gone", "role": nil}}})
}

func TestManySharesOfAPrompt(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		ann, admin, bob, eve := s.user(t, "member"), s.user(t, "admin"), s.user(t, "viewer"), s.user(t, "viewer")
		group := admin.create(t, groups, object{"name": "Readers"}).at("id")
		id := templates + "/" + ann.create(t, templates, object{"name": "many"}).at("id")
		batch := id + "/shares/batch"
		change := func(changes ...object) object { return object{"changes": changes} }
		three := change(object{"user_id": bob.id, "role": "editor"}, object{"email": eve.email, "role": "viewer"},
			object{"user_id": group, "role": "viewer"})
		t.Run("they are made, and again nothing changes", func(t *testing.T) {
			for _, action := range []string{"added", "unchanged"} {
				done := ann.do(t, "POST", batch, three).is(t, 200)
				assert.EqualSlice(t, "the actions are", done.each(t, "action"), []string{action, action, action})
				done.has(t, map[string]string{"data.1.user_id": eve.id, "data.1.role": "viewer",
					"data.0.revision": "1"})
			}
			bob.get(t, id).has(t, map[string]string{"my_role": "editor"})
		})
		t.Run("if one is refused, none is made, and all that are refused are named", func(t *testing.T) {
			ann.do(t, "POST", batch, change(object{"user_id": bob.id, "role": nil}, object{"user_id": ann.id,
				"role": "viewer"}, object{"user_id": "usr_none", "role": "viewer"})).problem(t, 422, "invalid_fields").has(t,
				map[string]string{"errors.0.pointer": "/changes/1", "errors.0.code": "owner_share",
					"errors.1.pointer": "/changes/2", "errors.1.code": "user_not_in_workspace", "errors.2": ""})
			bob.get(t, id).has(t, map[string]string{"my_role": "editor"})
			for _, item := range []object{change(), change(object{"user_id": bob.id, "email": bob.email, "role": nil}),
				change(object{"user_id": eve.id, "role": nil}, object{"email": eve.email, "role": "editor"}),
				change(object{"email": "out@example.com", "role": "viewer"})} {
				ann.do(t, "POST", batch, item).problem(t, 422, "invalid_fields")
			}
		})
		t.Run("they change and end", func(t *testing.T) {
			ann.do(t, "POST", batch, change(object{"user_id": bob.id, "role": nil}, object{"user_id": eve.id,
				"role": "manager"})).is(t, 200).has(t, map[string]string{"data.0.action": "removed", "data.0.role": "null",
				"data.1.action": "updated", "data.1.revision": "2"})
			bob.do(t, "GET", id, nil).problem(t, 404, "prompt_template_not_found")
			bob.do(t, "POST", batch, three).problem(t, 404, "prompt_template_not_found")
			eve.do(t, "POST", batch, change(object{"user_id": group, "role": nil})).is(t, 200)
		})
	})
}
