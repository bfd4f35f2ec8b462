package e2e

import "testing"

// includes runs as a part of TestTheLifeOfAPrompt. Bob is a member of the workspace.
func includes(t *testing.T, ann, bob *client) {
	make := func(person *client, name, text string) string {
		return templates + "/" + person.create(t, templates, object{"name": name, "version": object{"text": text,
			"activate": true}}).at("id")
	}
	render := func(user *client, template, ref, want string) {
		t.Helper()
		user.do(t, "POST", template+"/render", object{"ref": ref, "variables": object{"name": "Ann"}}).is(t, 200).has(t,
			map[string]string{"text": want})
	}
	rules := make(ann, "inc/rules", "Be kind to {{name}}.")
	secret := make(bob, "inc/secret", "Bob only.")
	greeting := make(ann, "inc/greeting", "Hello!\n{{> inc/rules}}\nBye.")
	render(ann, greeting, "active", "Hello!\nBe kind to Ann.\nBye.")
	floating := make(ann, "inc/floating", "{{> inc/greeting}} {{> INC/rules@active}}")
	ann.do(t, "PATCH", floating, object{"include_mode": "floating"}).is(t, 200).has(t,
		map[string]string{"include_mode": "floating"})

	// Every door gives the whole text, and the source stays as it was written.
	ann.get(t, greeting+"/versions/active").has(t, map[string]string{"text": "Hello!\n{{> inc/rules}}\nBye.",
		"includes.0.name": "inc/rules", "includes.0.ref": "active", "includes.0.version_number": "1"})
	ann.get(t, templates+"/resolve?name=inc/greeting").has(t, map[string]string{
		"text": "Hello!\nBe kind to {{name}}.\nBye.", "variables.0.name": "name"})
	resolvedCall := func(name, want string) {
		t.Helper()
		ann.do(t, "POST", templates+"/resolve", object{"refs": []object{{"name": name}}}).is(t, 200).has(t,
			map[string]string{"data.0.version.text": want})
	}
	resolvedCall("inc/floating", "Hello!\nBe kind to {{name}}.\nBye. Be kind to {{name}}.")

	// A pinned version keeps what it had, and a floating one shows the change at once, also if it is warm.
	ann.create(t, rules+"/versions", object{"text": "Be fair to {{name}}.", "activate": true})
	render(ann, greeting, "active", "Hello!\nBe kind to Ann.\nBye.")
	resolvedCall("inc/floating", "Hello!\nBe kind to {{name}}.\nBye. Be fair to {{name}}.")
	ann.create(t, greeting+"/versions", object{"text": "Hello!\n{{> inc/rules}}\nBye."})
	ann.get(t, greeting+"/versions/v2/diff").has(t, map[string]string{"changed_fields.0": "text"})

	// What is in use stays, and what is wrong is refused with nothing stored.
	ann.do(t, "DELETE", rules, nil).problem(t, 409, "in_use").has(t,
		map[string]string{"used_by.0.name": "inc/greeting"})
	for text, code := range map[string]string{
		"{{> inc/gone}}": "include_not_found", "{{> inc/secret}}": "include_not_found",
		"{{> inc/rules@v9}}": "include_not_found", "{{> inc/rules}}": "include_cycle",
		"{{> inc/greeting}}": "include_cycle", "{{> /etc/hostname}}": "unsupported_syntax",
	} {
		ann.do(t, "POST", rules+"/versions", object{"text": text}).problem(t, 422, code).has(t,
			map[string]string{"errors.0.pointer": "/text"})
	}
	ann.get(t, rules).has(t, map[string]string{"version_count": "2"})
	bob.do(t, "POST", secret+"/versions", object{"text": "{{> inc/rules}}"}).problem(t, 422, "include_not_found")

	// Access is that of who releases a version: Bob, who edits the prompt, cannot release what he cannot see.
	ann.do(t, "POST", greeting+"/shares", object{"user_id": bob.id, "role": "editor"}).is(t, 201)
	bob.do(t, "POST", greeting+"/versions/v2/activate", nil).problem(t, 422, "include_not_found")
	render(bob, greeting, "active", "Hello!\nBe kind to Ann.\nBye.")
	bob.do(t, "POST", greeting+"/render", object{"ref": "v2"}).problem(t, 422, "include_not_found")
	bob.do(t, "GET", templates+"/resolve?name=inc/greeting&ref=v2", nil).problem(t, 422, "include_not_found")
	bob.do(t, "GET", greeting+"/versions/v2/diff", nil).problem(t, 422, "include_not_found")
	bob.do(t, "GET", greeting+"/versions/v2/activation-check", nil).problem(t, 422, "include_not_found")
	ann.do(t, "POST", greeting+"/versions/v2/activate", nil).is(t, 200)
	render(bob, greeting, "active", "Hello!\nBe fair to Ann.\nBye.")
	ann.do(t, "DELETE", rules+"?force=true", nil).is(t, 204)
	render(bob, greeting, "active", "Hello!\nBe fair to Ann.\nBye.")
}
