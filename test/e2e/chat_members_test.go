package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestChatInvitations(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine)
		owner, admin, member := r.user(t, "owner"), r.user(t, "admin"), r.user(t, "member")
		existing := r.user(t, "owner", "--workspace", "elsewhere") // has an account of the org
		invitations := "/api/workspaces/" + owner.workspace + "/invitations"
		newChat := func(t *testing.T) string {
			return chats + "/" + member.create(t, chats, object{"name": "Support"}).at("id")
		}
		link := func(t *testing.T, a *answer) string {
			token, ok := strings.CutPrefix(a.at("accept_url"), "https://app.example.com/join/")
			if !ok {
				t.Fatal(a)
			}
			return token
		}

		t.Run("an address with an account gets the same response as one without", func(t *testing.T) {
			chat := newChat(t)
			for _, email := range []string{existing.email, "stranger@example.com"} {
				a := admin.create(t, chat+"/members", object{"email": email, "role": "editor"}).has(t,
					map[string]string{"email": email, "name": "", "role": "editor", "status": "invited",
						"invited_by": admin.id, "revision": "1"})
				if a.at("user_id") == existing.id || !strings.HasPrefix(a.at("user_id"), "usr_") ||
					a.header.Get("Cache-Control") != "no-store" {
					t.Errorf("%s", a)
				}
				link(t, a)
				if got := admin.get(t, chat+"/members").each(t, "status"); !slices.Contains(got, "invited") {
					t.Errorf("the members are %q", got)
				}
			}
			member.do(t, "POST", chat+"/members", object{"email": existing.email, "role": "viewer"}).problem(t, 403,
				"invitation_role_required")
		})
		t.Run("a guest joins the workspace as a viewer, and every waiting chat with its role", func(t *testing.T) {
			first, second := newChat(t), newChat(t)
			ann := r.person(t, "ann")
			old := admin.create(t, first+"/members", object{"email": "Ann@Example.com", "role": "viewer"})
			response := admin.create(t, second+"/members", object{"email": "ann@example.com", "role": "manager"})
			repeat := admin.do(t, "POST", second+"/members", object{"email": "ann@example.com", "role": "editor"}).is(t,
				200).has(t, map[string]string{"role": "editor", "user_id": old.at("user_id"), "revision": "2"})
			member.do(t, "PATCH", first+"/members/"+old.at("user_id"), object{"role": "manager"}).is(t, 200).has(t,
				map[string]string{"status": "invited", "role": "manager"})
			member.do(t, "POST", first+"/members", object{"user_id": old.at("user_id"), "role": "viewer"}).problem(t,
				409, "already_member")

			// Each link settles both.
			accept(t, ann, link(t, old)).is(t, 200).has(t, map[string]string{"my_role": "viewer"})
			ann.get(t, first).has(t, map[string]string{"my_role": "manager"})
			ann.get(t, second).has(t, map[string]string{"my_role": "editor"})
			for _, m := range admin.get(t, second+"/members").items(t) {
				if m := m.(object); (m["user_id"] == ann.id &&
					(m["status"] != "active" || m["email"] != "ann@example.com")) || m["user_id"] == old.at("user_id") {
					t.Errorf("member %v", m)
				}
			}
			member.do(t, "PATCH", first+"/members/"+old.at("user_id"), object{"role": "viewer"}).problem(t, 404,
				"chat_member_not_found")
			for _, usage := range []*answer{response, repeat} {
				accept(t, ann, link(t, usage)).problem(t, 404, "invitation_not_found")
			}
		})
		t.Run("a guest who is removed before accepting joins nothing", func(t *testing.T) {
			chat := newChat(t)
			a := admin.create(t, chat+"/members", object{"email": "bob@example.com", "role": "viewer"})
			member.do(t, "DELETE", chat+"/members/"+a.at("user_id"), nil).is(t, 204)
			accept(t, r.person(t, "bob"), link(t, a)).problem(t, 404, "invitation_not_found")
			member.do(t, "DELETE", chat+"/members/"+a.at("user_id"), nil).problem(t, 404, "chat_member_not_found")
		})
		t.Run("an invitation to the workspace keeps its role after the chat's was removed", func(t *testing.T) {
			chat := newChat(t)
			r.invite(t, owner, "carl@example.com", "member")
			a := admin.create(t, chat+"/members", object{"email": "carl@example.com", "role": "viewer"})
			member.do(t, "DELETE", chat+"/members/"+a.at("user_id"), nil).is(t, 204)
			accept(t, r.person(t, "carl"), link(t, a)).is(t, 200).has(t, map[string]string{"my_role": "member"})
		})
		t.Run("a withdrawn invitation removes its waiting members", func(t *testing.T) {
			chat := newChat(t)
			admin.create(t, chat+"/members", object{"email": "dora@example.com", "role": "viewer"})
			id := owner.get(t, invitations).at("data.0.id")
			owner.do(t, "DELETE", invitations+"/"+id, nil).is(t, 204)
			if got := len(member.get(t, chat+"/members").items(t)); got != 1 {
				t.Errorf("there are %d members", got)
			}
		})
		t.Run("an admin's invitation to a chat does not end an owner's invitation", func(t *testing.T) {
			r.invite(t, owner, "eve@example.com", "owner")
			admin.do(t, "POST", newChat(t)+"/members", object{"email": "eve@example.com", "role": "viewer"}).problem(t,
				403, "role_ceiling")
		})
		t.Run("a repeated request returns the link again until the invitation has ended", func(t *testing.T) {
			chat := newChat(t)
			body := object{"email": "fay@example.com", "role": "viewer"}
			response := admin.create(t, chat+"/members", body, "Idempotency-Key: invite-fay")
			if second := admin.create(t, chat+"/members", body,
				"Idempotency-Key: invite-fay"); second.at("accept_url") != response.at("accept_url") ||
				second.at("user_id") != response.at("user_id") || second.at("mailed") != "false" {
				t.Errorf("not replayed: %s, the first answer is %s", second, response)
			}
			admin.do(t, "DELETE", chat+"/members/"+response.at("user_id"), nil).is(t, 204)
			admin.do(t, "POST", chat+"/members", body, "Idempotency-Key: invite-fay").problem(t, 409,
				"idempotency_answer_erased")
		})
		t.Run("a user who leaves the workspace is a member of no chat, even after returning", func(t *testing.T) {
			chat := newChat(t)
			gus := r.person(t, "gus")
			accept(t, gus, link(t, admin.create(t, chat+"/members",
				object{"email": "gus@example.com", "role": "editor"}))).is(t, 200)
			owner.do(t, "DELETE", "/api/workspaces/"+owner.workspace+"/members/"+gus.id, nil).is(t, 204)
			token, _ := r.invite(t, owner, "gus@example.com", "member")
			accept(t, gus, token).is(t, 200)
			gus.do(t, "GET", chat, nil, "Workspace-Id: "+owner.workspace).problem(t, 404, "chat_template_not_found")
		})
		t.Run("the workspace's owner acts as owner of a template whose owner has left", func(t *testing.T) {
			leaver := r.user(t, "member")
			chat := chats + "/" + leaver.create(t, chats, object{"name": "Left"}).at("id")
			admin.do(t, "PATCH", chat, object{"owner_id": member.id}).problem(t, 403, "chat_template_forbidden")
			owner.do(t, "DELETE", "/api/workspaces/"+owner.workspace+"/members/"+leaver.id, nil).is(t, 204)
			admin.do(t, "PATCH", chat, object{"owner_id": member.id}).problem(t, 403, "chat_template_forbidden")
			owner.do(t, "PATCH", chat, object{"owner_id": member.id}).is(t, 200).has(t,
				map[string]string{"owner_id": member.id, "my_role": "manager"})
			member.get(t, chat).has(t, map[string]string{"my_role": "owner"})
		})
		t.Run("the audit trail records chat members without link and address", func(t *testing.T) {
			r.leaves(t, []string{"chat_member.invited", "chat_member.invitation_renewed", "chat_member.accepted",
				"chat_member.removed", "chat_member.updated", "invitation.withdrawn"},
				"ann@", "Ann@", "bob@", "carl@", "dora@", "eve@", "fay@", "gus@")
		})
	})
}

func TestManyChatMembersChangeInOneCall(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine)
		owner, admin, member := r.user(t, "owner"), r.user(t, "admin"), r.user(t, "member")
		chat := chats + "/" + member.create(t, chats, object{"name": "Support"}).at("id")
		change := func(by *client, changes ...object) *answer {
			return by.do(t, "POST", chat+"/members/batch", object{"changes": changes})
		}
		actions := func(a *answer) []string { return a.is(t, 200).each(t, "action") }

		t.Run("members are added, changed and removed, and a repetition changes nothing", func(t *testing.T) {
			guest := admin.create(t, chat+"/members", object{"email": "guest@example.com", "role": "viewer"})
			first := []object{{"user_id": owner.id, "role": "viewer"}, {"email": admin.email, "role": "editor"}}
			assert.EqualSlice(t, "actions", actions(change(member, first...)), []string{"added", "added"})
			assert.EqualSlice(t, "repeated", actions(change(member, first...)), []string{"unchanged", "unchanged"})
			a := change(member, object{"user_id": owner.id, "role": nil},
				object{"user_id": admin.id, "role": "manager"}, object{"user_id": guest.at("user_id"), "role": nil})
			if got := actions(a); !slices.Equal(got, []string{"removed", "updated", "removed"}) {
				t.Errorf("%s", a)
			}
			a.has(t, map[string]string{"data.0.role": "null", "data.0.revision": "null", "data.1.role": "manager",
				"data.1.revision": "2"})
			got := member.get(t, chat+"/members").each(t, "role")
			if slices.Sort(got); !slices.Equal(got, []string{"manager", "owner"}) {
				t.Errorf("the members are %q", got)
			}
			link := strings.TrimPrefix(guest.at("accept_url"), "https://app.example.com/join/")
			accept(t, r.person(t, "guest"), link).problem(t, 404, "invitation_not_found")
		})
		t.Run("one refused change refuses all, and says which", func(t *testing.T) {
			a := change(member, object{"user_id": owner.id, "role": "viewer"},
				object{"user_id": member.id, "role": nil}).problem(t, 422, "invalid_fields")
			if a.at("errors.0.pointer") != "/changes/1" || a.at("errors.0.code") != "owner_stays" {
				t.Errorf("%s", a)
			}
			a = change(member, object{"user_id": owner.id, "role": "viewer"},
				object{"email": "nobody@example.com", "role": "viewer"}).problem(t, 422, "invalid_fields")
			if a.at("errors.0.pointer") != "/changes/1/email" {
				t.Errorf("%s", a)
			}
			if got := member.get(t, chat+"/members").each(t, "user_id"); slices.Contains(got, owner.id) {
				t.Errorf("the first change was made: %q", got)
			}
		})
		t.Run("a call has 1 to 100 changes", func(t *testing.T) {
			change(member, []object{}...).problem(t, 422, "invalid_fields")
			change(member, slices.Repeat([]object{{"user_id": owner.id, "role": "viewer"}}, 101)...).problem(t, 422,
				"invalid_fields")
			change(member, object{"role": "viewer"}).problem(t, 422, "invalid_fields")
		})
	})
}
