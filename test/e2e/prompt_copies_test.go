package e2e

import (
	"fmt"
	"testing"
)

func init() {
	examples["copyPromptTemplate"] = example{make: func(_ *testing.T, h *testWorkspace, _ *testCaller) target {
		name := fmt.Sprint("copy ", people.Add(1))
		return target{ids: []string{h.template}, body: object{"name": name, "history": "latest"}}
	}}
}

// copies runs as a part of TestTheLifeOfAPrompt.
func copies(t *testing.T, ann, bob *client) {
	template := ann.template(t, "original")
	ann.create(t, template+"/shares", object{"user_id": bob.id, "role": "viewer"})
	ann.version(t, template, "one", "production")
	ann.create(t, template+"/versions", object{"text": "two {{x}}", "activate": true, "commit_message": "Better"})
	ann.version(t, template, "a draft")

	response := ann.create(t, template+"/copy", object{}).has(t, map[string]string{"name": "original copy",
		"version_count": "3", "active_version.number": "2", "my_role": "owner", "visibility": "private"})
	copiedText := templates + "/" + response.at("id")
	ann.get(t, copiedText+"/versions/production").has(t, map[string]string{"number": "1", "text": "one"})
	if got := ann.get(t, copiedText+"/versions/v2").at("commit_message"); len(got) < len("Better (by , 2026-01-01)") {
		t.Errorf("the commit message is %q", got)
	}
	ann.get(t, copiedText+"/versions/v3").has(t, map[string]string{"state": "draft"})
	ann.do(t, "POST", template+"/copy", object{}).problem(t, 409, "name_taken")
	bob.create(t, template+"/copy", object{"name": "of a viewer"}).has(t, map[string]string{"version_count": "2"})
	bob.create(t, template+"/copy", object{"name": "short", "history": "latest"}).has(t,
		map[string]string{"version_count": "1", "active_version.number": "2"})
	ann.do(t, "POST", template+"/copy", object{"workspace_id": "wsp_x"}).problem(t, 403, "forbidden")
}
