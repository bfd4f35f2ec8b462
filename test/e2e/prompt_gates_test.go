package e2e

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// labelGates runs as a part of TestTheLifeOfAPrompt: bob is an editor of ann's template.
func labelGates(t *testing.T, ann, bob *client) {
	template := templates + "/" + ann.create(t, templates, object{"name": "gated labels", "compatibility": "backward",
		"required_checks": []string{"eval"}, "gated_labels": []string{"production"},
		"protected_labels": []string{"legal"}}).has(t, map[string]string{
		"gated_labels": `["production"]`, "protected_labels": `["legal"]`}).at("id")
	ann.create(t, template+"/shares", object{"user_id": bob.id, "role": "editor"})
	for _, text := range []string{"one", "two", "three {{name}}"} {
		ann.version(t, template, text)
	}
	production, versions := template+"/labels/production", template+"/versions/"
	passes := func(who *client, version string, counts string) {
		t.Helper()
		who.do(t, "POST", versions+version+"/checks/eval", object{"conclusion": "success"}).is(t, 200).has(t,
			map[string]string{"passed": counts, "counts": counts})
	}

	// Every way to give the label holds until the check has passed; the author's own report does not count.
	bob.do(t, "POST", template+"/versions", object{"text": "x", "labels": []string{"production"}}).problem(t, 409,
		"activation_gated")
	bob.do(t, "PATCH", versions+"v1", object{"labels": []string{"production"}}).problem(t, 409, "activation_gated")
	response := bob.do(t, "PUT", production, object{"version": "v1"}).is(t, 202).has(t, map[string]string{
		"number": "1", "labels": "[]", "activation_request.label": "production",
		"activation_request.waits_for": `["checks"]`, "activation_request.base_version_id": "null"})
	request := template + "/activation-requests/" + response.at("activation_request.id")
	assert.Equal(t, "Location", response.header.Get("Location"), request)
	passes(ann, "v1", "false")
	key := *ann
	key.token = ann.create(t, apiKeys, object{"name": "own checks", "scopes": []string{"prompts:check"}}).at("token")
	key.do(t, "POST", template+"/versions", object{"text": "x"}).problem(t, 403, "scope_required")
	passes(&key, "v1", "false")
	ann.get(t, request).has(t, map[string]string{"state": "waiting", "diff": ""})
	passes(bob, "v1", "true")
	ann.get(t, request).has(t, map[string]string{"state": "activated", "label": "production"})
	ann.get(t, template+"/activations?label=production").has(t, map[string]string{
		"data.0.request_id": response.at("activation_request.id"), "data.0.activated_by": bob.id, "data.1": ""})

	// The rollout of a version that has not passed waits, and then runs with its weights.
	divided := object{"versions": []object{{"version": "v1", "weight": 90}, {"version": "v2", "weight": 10}}}
	response = bob.do(t, "PUT", production+"/rollout", divided).is(t, 202).has(t, map[string]string{"versions": "[]",
		"activation_request.weights.1.weight": "10", "activation_request.version.number": "2",
		"activation_request.base_version_number": "1"})
	assert.Equal(t, "Location", response.header.Get("Location"), template+"/activation-requests/"+
		response.at("activation_request.id"))
	ann.get(t, versions+"v2").has(t, map[string]string{"state": "draft"})
	passes(bob, "v2", "true")
	ann.get(t, template+"/rollouts").has(t, map[string]string{"data.0.versions.1.version_number": "2",
		"data.0.versions.1.weight": "10"})
	bob.do(t, "PUT", production, object{"version": "v1"}).is(t, 200) // ending it is always possible
	ann.get(t, template+"/rollouts").has(t, map[string]string{"data": "[]"})

	// The contract, a bypass and a time.
	passes(bob, "v3", "true")
	bob.do(t, "PUT", production, object{"version": "v3"}).problem(t, 409, "contract_break")
	bob.do(t, "PUT", production+"/rollout", object{"versions": []object{{"version": "v1", "weight": 50},
		{"version": "v3", "weight": 50}}}).problem(t, 409, "contract_break")
	bob.do(t, "PUT", production, object{"version": "v3", "acknowledge_contract_break": true}).is(t, 200).has(t,
		map[string]string{"labels": `["production"]`})
	ann.version(t, template, "four {{name}}")
	bob.do(t, "PUT", production, object{"version": "v4", "bypass_checks": true, "reason": "Broken"}).problem(t, 403,
		"prompt_template_forbidden")
	ann.do(t, "PUT", production, object{"version": "v4", "bypass_checks": true, "reason": "Broken"}).is(t, 200)
	bob.do(t, "PUT", production, object{"version": "v1", "activate_at": fromNow(-time.Minute)}).problem(t, 422,
		"invalid_fields").has(t, map[string]string{"errors.0.pointer": "/activate_at"})
	response = bob.do(t, "PUT", production, object{"version": "v3", "activate_at": fromNow(time.Hour)}).is(t, 202)
	ann.do(t, "PUT", production, object{"version": "v3"}).is(t, 200)
	ann.get(t, template+"/activation-requests/"+response.at("activation_request.id")).has(t, map[string]string{
		"state": "cancelled", "cause": "base_moved"})

	// A protected label is moved by managers only, and an import is no way around it or the gate.
	bob.do(t, "PUT", template+"/labels/legal", object{"version": "v1"}).problem(t, 403, "prompt_template_forbidden")
	ann.do(t, "PUT", template+"/labels/legal", object{"version": "v1"}).is(t, 200)
	bob.do(t, "DELETE", template+"/labels/legal", nil).problem(t, 403, "prompt_template_forbidden")
	bob.do(t, "PATCH", template, object{"protected_labels": []string{}}).problem(t, 403, "prompt_template_forbidden")
	imported := func(label string) object {
		return object{"langfuse": []object{{"name": "gated labels", "type": "text", "version": 1,
			"prompt": "five {{name}}",
			"labels": []string{label}}}}
	}
	bob.do(t, "POST", templates+"/import", imported("production")).problem(t, 409, "activation_gated")
	bob.do(t, "POST", templates+"/import", imported("legal")).problem(t, 403, "prompt_template_forbidden")
}
