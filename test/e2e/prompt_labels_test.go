package e2e

import (
	"fmt"
	"testing"
)

func init() {
	examples["movePromptLabel"] = ofTemplate(object{"version": "v2"}, "placed")
	examples["removePromptLabel"] = example{make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		h.author.do(t, "PUT", templates+"/"+h.template+"/labels/removed", object{"version": "v2"}, onRed).is(t, 200)
		return target{ids: []string{h.template, "removed"}}
	}}
}

// labelsMove runs as a part of TestTheLifeOfAPrompt.
func labelsMove(t *testing.T, ann, bob *client) {
	template := ann.template(t, "labels")
	ann.create(t, template+"/shares", object{"user_id": bob.id, "role": "editor"})
	first := ann.version(t, template, "one", "production", "eval")
	ann.version(t, template, "two")
	label, moves := template+"/labels/production", template+"/activations?label=production"

	ann.do(t, "PUT", label, object{"version": "v2", "expected_version": "v1", "reason": "Better"}).is(t, 200).has(t,
		map[string]string{"number": "2", "labels": `["production"]`, "state": "frozen"})
	ann.get(t, first).has(t, map[string]string{"labels": `["eval"]`})
	ann.do(t, "PUT", label, object{"version": "v1", "expected_version": "v1"}).problem(t, 409, "label_changed")
	ann.do(t, "PUT", label, object{"version": "v1", "expected_version": nil}).problem(t, 409, "label_changed")
	ann.do(t, "PUT", label, object{"version": "v9"}).problem(t, 404, "prompt_version_not_found")
	ann.do(t, "PUT", template+"/labels/latest", object{"version": "v1"}).problem(t, 422, "invalid_fields").has(t,
		map[string]string{"errors.0.pointer": "/label"})
	for i := range 10 {
		if a := ann.do(t, "PUT", fmt.Sprintf("%s/labels/l%d", template, i), object{"version": "v2"}); i == 9 {
			a.problem(t, 409, "label_limit_reached")
		}
	}

	// One who has not read what another did does not undo it.
	bob.do(t, "PUT", template+"/labels/canary", object{"version": "v1"}).is(t, 200)
	ann.do(t, "PATCH", first, object{"labels": []string{"eval"}}).problem(t, 409, "label_changed")
	tag := ann.get(t, first).header.Get("Etag")
	ann.do(t, "PATCH", first, object{"labels": []string{"eval"}}, "If-Match: "+tag).is(t, 200)

	ann.do(t, "DELETE", label+"?expected_version=v1", nil).problem(t, 409, "label_changed")
	chat := chats + "/" + ann.create(t, chats, object{"name": "Labelled", "prompt": object{
		"prompt_template_id": template[len(templates)+1:], "ref": "production"}}).at("id")
	ann.do(t, "DELETE", label, nil).problem(t, 409, "in_use").has(t, map[string]string{"used_by.0.name": "Labelled"})
	ann.do(t, "DELETE", chat, nil).is(t, 204)
	ann.do(t, "DELETE", label, nil, `If-Match: "old"`).problem(t, 412, "revision_mismatch")
	ann.do(t, "DELETE", label+"?expected_version=v2&reason=Worse", nil).is(t, 204)
	ann.do(t, "DELETE", label, nil).problem(t, 404, "label_not_found")
	ann.get(t, moves).has(t, map[string]string{
		"data.0.label": "production", "data.0.from_version_number": "2", "data.0.to_version_id": "null",
		"data.0.reason": "Worse", "data.1.to_version_number": "2", "data.1.from_version_number": "1",
		"data.1.reason": "Better", "data.1.activated_by": ann.id, "data.2.from_version_id": "null", "data.3": ""})

	// A chat that uses the previous version keeps it.
	for _, v := range []string{"v1", "v2"} {
		ann.do(t, "POST", template+"/versions/"+v+"/activate", nil).is(t, 200)
	}
	ann.get(t, template+"/versions/previous").has(t, map[string]string{"number": "1"})
	chat = chats + "/" + ann.create(t, chats, object{"name": "Careful", "prompt": object{
		"prompt_template_id": template[len(templates)+1:], "ref": "previous"}}).at("id")
	ann.get(t, chat).has(t, map[string]string{"health": "ok"})
	ann.do(t, "DELETE", first, nil).problem(t, 409, "in_use")
	ann.do(t, "DELETE", chat, nil).is(t, 204)
}
