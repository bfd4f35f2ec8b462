package e2e

import "testing"

// contracts runs as a part of TestTheLifeOfAPrompt.
func contracts(t *testing.T, ann *client) {
	response := ann.create(t, templates, object{"name": "contract", "compatibility": "backward", "version": object{
		"text": "Hello {{name}}", "activate": true}}).has(t, map[string]string{"compatibility": "backward"})
	template := templates + "/" + response.at("id")
	broken := map[string]string{"breaks.0.member": "variables", "breaks.0.name": "order",
		"breaks.0.code": "variable_required", "breaks.1": ""}
	next := object{"text": "Hello {{name}}, about {{order}}", "activate": true}
	ann.do(t, "POST", template+"/versions", next).problem(t, 409, "contract_break").has(t, broken)
	ann.get(t, template).has(t, map[string]string{"version_count": "1", "active_version.number": "1"})

	delete(next, "activate")
	activate := ann.create(t, template+"/versions", next).has(t, map[string]string{"number": "2"}).at("id")
	activate = template + "/versions/" + activate + "/activate"
	ann.do(t, "POST", activate, nil).problem(t, 409, "contract_break").has(t, broken)
	ann.get(t, template+"/versions/v2").has(t, map[string]string{"state": "draft"})
	ann.do(t, "POST", activate, object{"acknowledge_contract_break": true}).is(t, 200).has(t,
		map[string]string{"active_version.number": "2"})
	ann.do(t, "POST", template+"/versions/v1/activate", nil).is(t, 200)
	ann.do(t, "PATCH", template, object{"compatibility": "none"}).is(t, 200)
	ann.do(t, "POST", activate, nil).is(t, 200)
	ann.do(t, "PATCH", template, object{"compatibility": "all"}).problem(t, 422, "invalid_fields")
}
