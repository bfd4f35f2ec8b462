package e2e

import (
	"testing"
)

func TestOperatorRights(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine, "claim_rules: [{claim: groups, value: ops, operator: true}]\n    sign_up: open")
		operator, ann := r.user(t, "owner", "--operator"), r.user(t, "owner")
		set := func(by *client, id string, state bool) *answer {
			return by.do(t, "PUT", "/api/people/"+id+"/operator", object{"operator": state})
		}
		check := func(person *client, want string) {
			t.Helper()
			soon(t, func() string { return person.get(t, "/api/me").at("user.operator") }, want)
		}
		set(ann, operator.id, false).problem(t, 403, "forbidden")
		set(operator, "usr_00000000000000000000000000", true).problem(t, 404, "user_not_found")
		set(operator, operator.id, false).problem(t, 409, "last_operator")
		set(operator, ann.id, true).is(t, 204)
		check(ann, "true")
		set(ann, operator.id, false).is(t, 204)
		check(operator, "false")
		ruledClient := r.person(t, "ruled", object{"groups": []string{"ops"}})
		check(ruledClient, "true")
		set(ann, ruledClient.id, false).problem(t, 409, "operator_by_rules")
		r.must(t, "user", "update", "--email", ann.email, "--operator=false")
		check(ann, "false")
	})
}

// TestWorkspacesArePaged lists the workspaces of a user who is in several, and names them in paths.
func TestWorkspacesArePaged(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine, "sign_up: open")
		ann := r.person(t, "ann")
		var texts []string // newest first
		for _, name := range []string{"One", "Two", "Three"} {
			id := ann.create(t, "/api/workspaces", object{"name": name}).at("id")
			texts = append([]string{id}, texts...)
		}
		first := ann.get(t, "/api/workspaces?limit=2")
		first.has(t, map[string]string{"data.0.id": texts[0], "data.1.id": texts[1], "data.2": ""})
		last := ann.get(t, "/api/workspaces?limit=2&cursor="+first.at("next_cursor"))
		last.has(t, map[string]string{"data.0.id": texts[2], "data.1": "", "next_cursor": "null"})
		ann.do(t, "GET", "/api/workspaces?cursor=AAAA", nil).problem(t, 400, "invalid_cursor")
		ann.get(t, "/api/me").has(t, map[string]string{"workspaces.0.id": texts[0], "workspaces.2.id": texts[2]})
		ann.get(t, "/api/workspaces/two").has(t, map[string]string{"id": texts[1]})
		ann.get(t, "/api/workspaces/two/members").has(t, map[string]string{"data.0.user_id": ann.id})
		ann.do(t, "GET", "/api/workspaces/nowhere", nil).problem(t, 404, "workspace_not_found")
	})
}
