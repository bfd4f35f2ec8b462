package e2e

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/test/support/assert"
)

func init() {
	examples["getActivationRequest"] = ofRequest(nil)
	examples["approveActivationRequest"] = ofRequest(object{"comment": "Good."})
	examples["refuseActivationRequest"] = ofRequest(nil)
	examples["cancelActivationRequest"] = ofRequest(nil)
	examples["listPromptVersionChecks"] = ofTemplate(nil, "v1")
	examples["reportPromptVersionCheck"] = ofTemplate(object{"conclusion": "success"}, "v1", "eval")
}

// ofRequest is an example on an activation request that another user than the caller made.
func ofRequest(body any) example {
	return example{make: func(t *testing.T, h *testWorkspace, c *testCaller) target {
		maker, template := h.author, h.doomed(t)
		if c.client != nil && c.id == h.author.id {
			maker = h.editor
		}
		path := templates + "/" + template
		h.author.create(t, path+"/versions", object{"text": "later"}, onRed)
		request := maker.do(t, "POST", path+"/versions/latest/activate", object{"activate_at": fromNow(time.Hour)},
			onRed).is(t, 202)
		return target{ids: []string{template, request.at("activation_request.id")}, body: body}
	}}
}

// fromNow returns a time from now, as the API takes it.
func fromNow(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339Nano) }

// requests runs as a part of TestTheLifeOfAPrompt.
func requests(t *testing.T, ann, bob *client) {
	template := ann.create(t, templates, object{"name": "guarded", "protected": true, "approvals": 1,
		"version": object{"text": "one", "activate": true}}).has(t, map[string]string{"approvals": "1",
		"required_checks": "[]", "open_requests": "0"}).at("id")
	template = templates + "/" + template
	ann.create(t, template+"/shares", object{"user_id": bob.id, "role": "editor"})
	bob.create(t, template+"/versions", object{"text": "two"})
	bob.do(t, "POST", template+"/versions", object{"text": "three", "activate": true}).problem(t, 403,
		"prompt_template_forbidden")

	activate := template + "/versions/v2/activate"
	askedResponse := bob.do(t, "POST", activate, object{"reason": "Better"}).is(t, 202).has(t, map[string]string{
		"active_version.number": "1", "open_requests": "1", "activation_request.state": "waiting",
		"activation_request.waits_for": `["approvals"]`, "activation_request.requested_by": bob.id})
	request := template + "/activation-requests/" + askedResponse.at("activation_request.id")
	assert.Equal(t, "Location", askedResponse.header.Get("Location"), request)
	bob.do(t, "POST", activate, object{"reason": "Better"}).is(t, 202).has(t, map[string]string{
		"activation_request.id": askedResponse.at("activation_request.id")})
	ann.get(t, request).has(t, map[string]string{"diff.unified": "--- v1\n+++ v2\n@@ -1 +1 @@\n-one\n" +
		"\\ No newline at end of file\n+two\n\\ No newline at end of file\n", "base_version_number": "1", "version.number": "2"})
	ann.get(t, template+"/activation-requests?state=waiting").has(t,
		map[string]string{"data.0.reason": "Better", "data.1": ""})
	bob.do(t, "POST", request+"/approve", nil).problem(t, 403, "prompt_template_forbidden")
	ann.do(t, "POST", request+"/approve", object{"comment": "Yes."}).is(t, 200).has(t, map[string]string{
		"state": "activated", "decisions.0.user_id": ann.id, "decisions.0.comment": "Yes.", "waits_for": "[]"})
	ann.get(t, template).has(t, map[string]string{"active_version.number": "2", "active_version.activated_by": bob.id,
		"open_requests": "0"})
	ann.get(t, template+"/activations").has(t, map[string]string{
		"data.0.request_id": askedResponse.at("activation_request.id"), "data.0.activated_by": bob.id})
	ann.do(t, "POST", request+"/refuse", nil).problem(t, 409, "activation_request_ended")

	// Required checks hold back managers, too, until they pass or are bypassed for a reason.
	ann.do(t, "PATCH", template, object{"required_checks": []string{"eval"}}).is(t, 200)
	ann.create(t, template+"/versions", object{"text": "four"})
	ann.do(t, "POST", template+"/versions", object{"text": "no", "activate": true}).problem(t, 409, "activation_gated")
	latest := template + "/versions/latest"
	waits := ann.do(t, "POST", latest+"/activate", nil).is(t, 202).has(t, map[string]string{
		"activation_request.waits_for": `["checks"]`, "activation_request.missing_checks": `["eval"]`})
	request = template + "/activation-requests/" + waits.at("activation_request.id")
	bob.do(t, "POST", latest+"/checks/eval", object{"conclusion": "failure", "url": "https://ci.example.com/1",
		"summary": "3 of 100 fail."}).is(t, 200).has(t, map[string]string{"passed": "false", "outdated": "false"})
	ann.get(t, request).has(t, map[string]string{"state": "waiting"})
	bob.do(t, "POST", latest+"/checks/eval", object{"conclusion": "success"}).is(t, 200).has(t, map[string]string{
		"passed": "true", "url": "null"})
	ann.get(t, request).has(t, map[string]string{"state": "activated"})
	ann.get(t, latest+"/checks").has(t,
		map[string]string{"data.0.name": "eval", "data.0.reported_by": bob.id, "data.1": ""})
	bob.do(t, "POST", latest+"/checks/eval", object{"conclusion": "great"}).problem(t, 422, "invalid_fields")
	bob.do(t, "POST", latest+"/checks/eval", object{"conclusion": "success", "url": "javascript:alert(1)"}).
		problem(t, 422, "invalid_fields").has(t, map[string]string{"errors.0.pointer": "/url"})
	ann.do(t, "POST", template+"/versions/v1/activate", object{"bypass_checks": true}).problem(t, 422, "invalid_fields")
	bob.do(t, "POST", template+"/versions/v1/activate", object{"bypass_checks": true, "reason": "x"}).problem(t, 403,
		"prompt_template_forbidden")
	ann.do(t, "POST", template+"/versions/v1/activate", object{"bypass_checks": true, "reason": "Broken"}).
		is(t, 200).has(t, map[string]string{"active_version.number": "1"})

	// A schedule.
	ann.do(t, "PATCH", template, object{"required_checks": nil, "protected": false}).is(t, 200)
	ann.do(t, "POST", activate, object{"activate_at": fromNow(-time.Second)}).problem(t, 422, "invalid_fields").has(t,
		map[string]string{"errors.0.pointer": "/activate_at", "errors.0.code": "in_the_past"})
	item := bob.do(t, "POST", activate, object{"activate_at": fromNow(time.Hour)}).is(t, 202).has(t, map[string]string{
		"activation_request.waits_for": `["time"]`})
	ann.do(t, "POST", activate, object{"activate_at": fromNow(2 * time.Hour)}).problem(t, 409, "activation_requested")
	request = template + "/activation-requests/" + item.at("activation_request.id")
	bob.do(t, "POST", request+"/cancel", nil).is(t, 200).has(t,
		map[string]string{"state": "cancelled", "cause": "withdrawn", "ended_by": bob.id})
	item = bob.do(t, "POST", activate, object{"activate_at": fromNow(time.Hour)}).is(t, 202)
	ann.do(t, "POST", template+"/versions/v3/activate", nil).is(t, 200)
	ann.get(t, template+"/activation-requests/"+item.at("activation_request.id")).has(t, map[string]string{
		"state": "cancelled", "cause": "base_moved"})
	scheduledID := bob.do(t, "POST", activate, object{"activate_at": fromNow(time.Second)}).is(t, 202).
		at("activation_request.id")
	soon(t, func() string { return ann.get(t, template+"/activation-requests/"+scheduledID).at("state") }, "activated")
	ann.get(t, template).has(t, map[string]string{"active_version.number": "2", "active_version.activated_by": bob.id})
}
