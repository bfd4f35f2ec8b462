package e2e

import (
	"testing"
	"time"
)

// counted reads a prompt through every door. It runs as a part of TestTheLifeOfAPrompt.
func counted(t *testing.T, ann, bob *client) {
	template := ann.create(t, templates, object{"name": "counted", "visibility": "workspace",
		"version": object{"text": "Hello", "activate": true}}).has(t, map[string]string{"last_read_on": "null"}).at("id")
	path := templates + "/" + template
	for range 2 { // the second time from memory
		bob.get(t, path+"/versions/active")
		bob.get(t, templates+"/resolve?name=counted")
		bob.do(t, "POST", templates+"/resolve", object{"refs": []object{{"name": "counted"}, {"name": "none"}}}).
			is(t, 200)
		bob.do(t, "POST", path+"/render", object{}).is(t, 200)
	}
	ann.do(t, "POST", path+"/render", object{"ref": "v9"}).problem(t, 404, "prompt_version_not_found")
	soon(t, func() string { return ann.get(t, path+"/reads").at("data.0.reads") }, "8")
	today := time.Now().UTC().Format(time.DateOnly)
	ann.get(t, path).has(t, map[string]string{"last_read_on": today})
	ann.get(t, path+"/versions").has(t, map[string]string{"data.0.reads": "8"})
	ann.get(t, path+"/reads?days=1").has(t,
		map[string]string{"data.0.version_number": "1", "data.1": "", "complete": "true"})
	ann.get(t, templates+"?unused_since="+today+"&q=counted").has(t, map[string]string{"data.0": ""})
	ann.do(t, "GET", templates+"?unused_since=yesterday", nil).is(t, 400)
}
