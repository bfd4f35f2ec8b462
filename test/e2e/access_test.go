package e2e

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

// TestEveryPowerOfAPersonIsOnOnePage gives a person what there is to give, and reads it as each of those who may.
func TestEveryPowerOfAPersonIsOnOnePage(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s, scimmer := directory(t, engine, "")
		owner, operator := s.user(t, "owner"), s.user(t, "owner", "--operator")
		id := scimmer.do(t, "POST", scimUsers, scimUser("ann@example.com")).is(t, 201).at("id")
		s.must(t, "user", "create", "--email", "ann@example.com", "--workspace", "default", "--role", "viewer")
		admins := scimmer.do(t, "POST", scimGroup, object{
			"schemas":     []string{"urn:ietf:params:scim:schemas:core:2.0:Group"},
			"displayName": "Admins", "members": []object{{"value": id}}}).is(t, 201).at("id")
		ann := &client{server: s, id: id, email: "ann@example.com", workspace: owner.workspace}
		ann, personal := ann.key(t)
		_, program := ann.service(t, "admin")
		hook := ann.create(t, "/api/webhooks", object{"url": "https://app.example.com/hook",
			"events": []string{"group.*"}}).at("id")
		prompt := owner.create(t, templates, object{"name": "shared", "type": "text"}).at("id")
		owner.create(t, templates+"/"+prompt+"/shares", object{"user_id": id, "role": "editor"})
		group := owner.create(t, "/api/groups", object{"name": "Leads", "role": "member"}).at("id")
		owner.do(t, "PUT", "/api/groups/"+group+"/members/"+id, nil).is(t, 204)
		want := map[string]string{"role": "admin", "sources.0.kind": "directory", "sources.0.role": "admin",
			"sources.1.kind": "group", "sources.1.group_id": group, "sources.1.name": "Leads",
			"sources.2.kind": "direct", "sources.2.role": "viewer", "sources.3": "",
			"shares.0.id": prompt, "shares.0.name": "shared", "shares.0.role": "editor", "shares.0.group_id": "null",
			"api_keys.0.id": program, "api_keys.0.kind": "service", "api_keys.1.id": personal,
			"webhooks.0.id": hook, "webhooks.0.name": "https://app.example.com/hook", "webhooks.0.owner_id": id,
			"reply_endpoints.0": ""}
		under := func(prefix string) map[string]string {
			all := map[string]string{}
			for name, value := range want {
				all[prefix+name] = value
			}
			return all
		}
		member := "/api/workspaces/default/members/" + id + "/access"
		t.Run("an operator sees all of it", func(t *testing.T) {
			a := operator.get(t, "/api/people/"+id+"/access")
			a.has(t, under("workspaces.0."))
			a.has(t, map[string]string{"operator": "false", "truncated": "false", "workspaces.1": ""})
			operator.do(t, "GET", "/api/people/usr_01jb4rqnx1e5btz2s1v2j9k3mn/access", nil).problem(t, 404,
				"user_not_found")
			operator.get(t, "/api/people/"+operator.id+"/access").has(t, map[string]string{"operator": "true",
				"operator_sources.0.kind": "direct", "operator_sources.0.role": "null"})
		})
		t.Run("an owner sees what concerns the workspace", func(t *testing.T) {
			owner.get(t, member).has(t, under("workspace."))
			ann.do(t, "GET", member, nil).problem(t, 403, "forbidden")
			owner.do(t, "GET", "/api/workspaces/default/members/usr_01jb4rqnx1e5btz2s1v2j9k3mn/access", nil).problem(t,
				404, "member_not_found")
		})
		t.Run("a person sees their own, with sessions", func(t *testing.T) {
			b, _ := s.opens(t, s.link(t, ann.email))
			b.get(t, "/api/me/access").has(t, under("workspaces.0."))
			b.get(t, "/api/me/access").has(t, map[string]string{"sessions.0.source": "link", "user_id": id})
			ann.do(t, "GET", "/api/me/access", nil).problem(t, 403, "forbidden")
			assert.Contains(t, "the operator sees", operator.get(t, "/api/people/"+id+"/access").text, `"ses_`)
		})
		t.Run("what has ended is gone", func(t *testing.T) {
			scimmer.do(t, "PATCH", scimGroup+"/"+admins, patch(object{"op": "remove",
				"path": `members[value eq "` + id + `"]`})).is(t, 200)
			owner.get(t, member).has(t, map[string]string{"workspace.role": "member",
				"workspace.api_keys.0.id": personal,
				"workspace.webhooks.0":    ""})
			if text := owner.get(t, member).text; strings.Contains(text, program) {
				t.Errorf("the key that has ended is listed: %s", text)
			}
		})
	})
}

// TestTheConsoleShowsEveryPowerOfAPerson opens the overview in each place where the console has it.
func TestTheConsoleShowsEveryPowerOfAPerson(t *testing.T) {
	t.Parallel()
	s := start(t, sqlite)
	owner, ann := s.user(t, "owner", "--operator"), s.user(t, "admin")
	ann.service(t, "admin")
	ann.create(t, "/api/webhooks", object{"url": "https://app.example.com/hook", "events": []string{"group.*"}})
	ctx, _ := tab(t, browser(t), s.url+"/console/sign-in#token="+s.link(t, owner.email))
	reads(ctx, t, "Sign in to")
	clicks(ctx, t, "#use-link")
	reads(ctx, t, "There are no prompts yet.")
	clickInRow := func(t *testing.T, email, button string) {
		t.Helper()
		on(ctx, t, `[...[...document.querySelectorAll('tr')].find((r) => r.innerText.includes('`+email+`'))
			.querySelectorAll('button')].find((b) => b.innerText.trim() === '`+button+`')`, "click")
	}
	for _, path := range []string{"people", "settings/members"} {
		goes(ctx, t, path)
		reads(ctx, t, ann.email)
		clickInRow(t, ann.email, "Access")
		for _, text := range []string{"Access of", "admin: given directly", "a program",
			"https://app.example.com/hook"} {
			reads(ctx, t, text)
		}
	}
	keep(ctx, t, "console-access")
	goes(ctx, t, "settings/sessions")
	presses(ctx, t, "Your access")
	reads(ctx, t, "owner: given directly")
	t.Run("a removal says what ends with it", func(t *testing.T) {
		goes(ctx, t, "settings/members")
		reads(ctx, t, ann.email)
		clickInRow(t, ann.email, "Remove")
		reads(ctx, t, "Their API keys stop working")
		drive(ctx, t, poll[bool](`document.querySelector('[role=dialog]').innerText.includes('app.example.com')`))
	})
}
