package e2e

import (
	"strings"
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
	divided := object{"versions": []object{{"version": "v1", "weight": 90}, {"version": "v2", "weight": 10}},
		"feedback": object{"name": "solved", "margin": 0.02, "better": "lower"}}
	response = bob.do(t, "PUT", production+"/rollout", divided).is(t, 202).has(t, map[string]string{"versions": "[]",
		"activation_request.weights.1.weight": "10", "activation_request.feedback.name": "solved",
		"activation_request.feedback.margin": "0.02", "activation_request.feedback.better": "lower", "activation_request.version.number": "2",
		"activation_request.base_version_number": "1"})
	assert.Equal(t, "Location", response.header.Get("Location"), template+"/activation-requests/"+
		response.at("activation_request.id"))
	ann.get(t, versions+"v2").has(t, map[string]string{"state": "draft"})
	ann.get(t, template+"/activation-requests").has(t, map[string]string{"data.0.feedback.name": "solved",
		"data.1.feedback": ""})
	passes(bob, "v2", "true")
	ann.get(t, template+"/rollouts").has(t, map[string]string{"data.0.versions.1.version_number": "2",
		"data.0.versions.1.weight": "10", "data.0.feedback.margin": "0.02"})
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

// thresholds runs as a part of TestTheLifeOfAPrompt: bob is an editor of ann's template.
func thresholds(t *testing.T, ann, bob *client) {
	template := templates + "/" + ann.create(t, templates, object{"name": "thresholds", "visibility": "workspace",
		"required_checks": []string{"eval"}, "check_thresholds": []object{{"name": "latency", "at_most": 2},
			{"name": "eval", "at_least": 0.9}}}).has(t, map[string]string{
		"check_thresholds": `[{"at_least":0.9,"name":"eval"},{"at_most":2,"name":"latency"}]`}).at("id")
	ann.create(t, template+"/shares", object{"user_id": bob.id, "role": "editor"})
	for _, text := range []string{"one", "two"} {
		ann.version(t, template, text)
	}
	check := func(version, name string, report object) *answer {
		t.Helper()
		return bob.do(t, "POST", template+"/versions/"+version+"/checks/"+name, report)
	}

	// Only managers set them, and what is wrong with them is said.
	bob.do(t, "PATCH", template, object{"check_thresholds": nil}).problem(t, 403, "prompt_template_forbidden")
	ann.do(t, "PATCH", template, object{"check_thresholds": []object{{"name": "cost", "at_least": 2, "at_most": 1},
		{"name": "eval"}}}).problem(t, 422, "invalid_fields").has(t, map[string]string{
		"errors.0.pointer": "/check_thresholds/0/at_most", "errors.1.pointer": "/check_thresholds/1"})
	check("v1", "eval", object{"conclusion": "success", "result": 1e10}).problem(t, 422, "invalid_fields").has(t,
		map[string]string{"errors.0.pointer": "/result"})

	// The result decides, and the gate waits for it, or for a lower threshold.
	waits := bob.do(t, "POST", template+"/versions/v1/activate", nil).is(t, 202).has(t, map[string]string{
		"activation_request.missing_checks": `["eval"]`})
	request := template + "/activation-requests/" + waits.at("activation_request.id")
	check("v1", "eval", object{"conclusion": "success"}).is(t, 200).has(t, map[string]string{"passed": "false",
		"result": "null", "threshold": `{"at_least":0.9,"name":"eval"}`})
	check("v1", "eval", object{"conclusion": "success", "result": 0.85}).is(t, 200).has(t,
		map[string]string{"passed": "false", "result": "0.85"})
	check("v1", "style", object{"conclusion": "success", "result": 3}).is(t, 200).has(t,
		map[string]string{"passed": "true", "threshold": "null"})
	ann.get(t, request).has(t, map[string]string{"state": "waiting"})
	ann.do(t, "PATCH", template, object{"check_thresholds": []object{{"name": "eval", "at_least": 0.85}}}).is(t, 200)
	ann.get(t, request).has(t, map[string]string{"state": "activated"})
	ann.get(t, "/api/events?type=prompt_template.updated&limit=1").has(t, map[string]string{
		"data.0.data.check_thresholds.from.1": "latency<=2", "data.0.data.check_thresholds.to.0": "eval>=0.85"})
	bob.get(t, "/api/events?type=prompt_version.checked&limit=1").has(t, map[string]string{"data.0.data.result": "3"})
	check("v2", "eval", object{"conclusion": "success", "result": 0.95}).is(t, 200).has(t,
		map[string]string{"passed": "true"})

	// A comparison has what was reported about both versions.
	judge(t, ann, strings.TrimPrefix(template, templates+"/"))
	bob.do(t, "PUT", template+"/labels/live", object{"version": "v2"}).is(t, 200)
	bob.get(t, template+"/versions/v2/diff?against=v1").has(t, map[string]string{"changed_fields": `["text"]`,
		"outcomes.against.checks.0.result": "0.85", "outcomes.against.checks.1.name": "style",
		"outcomes.version.checks.0.result": "0.95", "outcomes.version.checks.0.passed": "true",
		"outcomes.version.checks.1": "", "outcomes.against.reads": "0", "outcomes.against.feedback.0.share": "0.9",
		"outcomes.against.feedback.0.differences": "[]", "outcomes.version.feedback.0.count": "120",
		"outcomes.version.feedback.0.differences.0.value": "true", "outcomes.version.feedback.1": ""})
	ann.do(t, "PATCH", template, object{"check_thresholds": nil}).is(t, 200).has(t, map[string]string{
		"check_thresholds": "[]"})
}
