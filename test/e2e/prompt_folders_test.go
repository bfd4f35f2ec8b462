package e2e

import "testing"

func init() {
	examples["listPromptFolders"] = plainly(nil)
	examples["listPromptTags"] = plainly(nil)
	examples["movePromptFolder"] = plainly(object{"from": "nowhere", "to": "somewhere"})
}

// folders runs as a part of TestTheLifeOfAPrompt.
func folders(t *testing.T, ann, bob *client) {
	one := ann.create(t, templates, object{"name": "here/a/one", "tags": []string{"Mail"}, "visibility": "workspace",
		"version": object{"text": "Unusual words", "activate": true, "labels": []string{"canary"}}}).at("id")
	ann.create(t, templates, object{"name": "here/two", "tags": []string{"Mail", "x"}, "visibility": "workspace"})
	list := func(query string, names ...string) {
		t.Helper()
		want := map[string]string{"data": "[]"}
		for i, name := range names {
			delete(want, "data")
			want["data."+string(rune('0'+i))+".name"] = name
		}
		want["data."+string(rune('0'+len(names)))] = ""
		if len(names) == 0 {
			delete(want, "data.0")
		}
		bob.get(t, templates+"?folder=here&"+query).has(t, want)
	}
	list("q=UNUSUAL", "here/a/one")
	list("q=mail&sort=name", "here/a/one", "here/two")
	list("label=canary", "here/a/one")
	list("active=false", "here/two")
	list("owner_id=" + bob.id)
	list("owner_id="+ann.id+"&active=true", "here/a/one")

	bob.get(t, templates+"/folders?prefix=here/").has(t, map[string]string{"data.0.path": "here/a",
		"data.0.template_count": "1", "data.1": "", "complete": "true"})
	bob.get(t, templates+"/tags").has(t, map[string]string{"complete": "true", "data.0.tag": "Mail"})
	bob.do(t, "POST", templates+"/folders/move", object{"from": "here", "to": "there"}).problem(t, 403,
		"prompt_template_forbidden")
	ann.do(t, "POST", templates+"/folders/move", object{"from": "here", "to": "here/x"}).problem(t, 422,
		"invalid_fields")
	ann.do(t, "POST", templates+"/folders/move", object{"from": "here", "to": "over/there"}).is(t, 200).has(t,
		map[string]string{"template_count": "2"})
	ann.get(t, templates+"/"+one).has(t, map[string]string{"name": "over/there/a/one"})
	ann.create(t, templates, object{"name": "other/two"})
	ann.do(t, "POST", templates+"/folders/move", object{"from": "other", "to": "over/there"}).problem(t, 409,
		"name_taken")
}
