package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/assert"
)

const groups = "/api/groups"

func TestGroups(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		owner, admin, bob := s.user(t, "owner"), s.user(t, "admin"), s.user(t, "viewer")
		group := func(t *testing.T, name string) (id, people string) {
			t.Helper()
			id = admin.create(t, groups, object{"name": name}).at("id")
			return id, groups + "/" + id + "/members/"
		}
		t.Run("a share with a group is one with each of its people, as long as they are in it", func(t *testing.T) {
			id, people := group(t, "Editors")
			newText := owner.template(t, "by a group")
			shares := newText + "/shares"
			owner.create(t, shares, object{"user_id": id, "role": "editor"}).has(t, map[string]string{"user_id": id})
			bob.do(t, "GET", newText, nil).problem(t, 404, "prompt_template_not_found")
			for range 2 { // the second time changes nothing
				admin.do(t, "PUT", people+bob.id, nil).is(t, 204)
			}
			bob.get(t, newText).has(t, map[string]string{"my_role": "editor"})
			assert.EqualSlice(t, "the list has", bob.get(t, templates).each(t, "my_role"), []string{"editor"})
			bob.create(t, newText+"/versions", object{"text": "by bob"})
			owner.do(t, "PATCH", shares+"/"+id, object{"role": "viewer"}).is(t, 200)
			bob.do(t, "POST", newText+"/versions", object{"text": "x"}).problem(t, 403, "prompt_template_forbidden")
			owner.create(t, shares, object{"user_id": bob.id, "role": "manager"})
			bob.get(t, newText).has(t, map[string]string{"my_role": "manager"}) // the highest
			bob.do(t, "DELETE", shares+"/"+bob.id, nil).is(t, 204)
			bob.get(t, newText).has(t, map[string]string{"my_role": "viewer"})
			owner.do(t, "PATCH", newText, object{"owner_id": id}).problem(t, 422, "user_not_in_workspace")
			bob.do(t, "DELETE", people+bob.id, nil).is(t, 204) // he leaves
			bob.do(t, "GET", newText, nil).problem(t, 404, "prompt_template_not_found")
			bob.do(t, "DELETE", people+bob.id, nil).problem(t, 404, "member_not_found")
			bob.do(t, "DELETE", people+admin.id, nil).problem(t, 403, "forbidden")
			admin.do(t, "DELETE", people+bob.id, nil).problem(t, 404, "member_not_found")
			owner.do(t, "DELETE", shares+"/"+id, nil).is(t, 204)
		})
		t.Run("so is a membership of a chat, until the group is deleted", func(t *testing.T) {
			id, people := group(t, "Chatters")
			admin.do(t, "PUT", people+bob.id, nil).is(t, 204)
			newText := chats + "/" + owner.create(t, chats, object{"name": "by a group"}).at("id")
			owner.create(t, newText+"/members", object{"user_id": id, "role": "editor"}).has(t,
				map[string]string{"user_id": id, "name": "Chatters"})
			bob.get(t, newText).has(t, map[string]string{"my_role": "editor"})
			assert.EqualSlice(t, "the list has", bob.get(t, chats).each(t, "name"), []string{"by a group"})
			owner.do(t, "PATCH", newText, object{"owner_id": id}).problem(t, 422, "user_not_in_workspace")
			admin.do(t, "DELETE", groups+"/"+id, nil).is(t, 204)
			bob.do(t, "GET", newText, nil).problem(t, 404, "chat_template_not_found")
			admin.do(t, "GET", groups+"/"+id, nil).problem(t, 404, "group_not_found")
		})
		t.Run("the role of a group is the least that its people have", func(t *testing.T) {
			id, people := group(t, "Admins")
			invitations, members := "/api/workspaces/"+bob.workspace+"/invitations",
				"/api/workspaces/"+bob.workspace+"/members/"
			admin.do(t, "PUT", people+bob.id, nil).is(t, 204)
			signedIn, _ := s.opens(t, s.link(t, bob.email))
			signedIn.workspace = bob.workspace
			local := "Workspace-Id: " + bob.workspace
			signedIn.do(t, "GET", invitations, nil, local).problem(t, 403, "forbidden")
			admin.do(t, "PATCH", groups+"/"+id, object{"role": "admin"}).is(t, 200).has(t,
				map[string]string{"role": "admin", "size": "1"})
			signedIn.get(t, invitations, local)
			admin.get(t, members+bob.id).has(t, map[string]string{"role": "admin"})
			admin.do(t, "PATCH", groups+"/"+id, object{"role": nil}).is(t, 200).has(t,
				map[string]string{"role": "null"})
			signedIn.do(t, "GET", invitations, nil, local).problem(t, 403, "forbidden")
			admin.do(t, "PATCH", groups+"/"+id, object{"role": "owner"}).problem(t, 422, "invalid_fields")
		})
		t.Run("who leaves the workspace leaves its groups", func(t *testing.T) {
			id, people := group(t, "Leavers")
			leaver := s.user(t, "member")
			admin.do(t, "PUT", people+leaver.id, nil).is(t, 204)
			admin.get(t, groups+"/"+id+"/members").has(t, map[string]string{"data.0.user_id": leaver.id})
			admin.do(t, "DELETE", "/api/workspaces/"+leaver.workspace+"/members/"+leaver.id, nil).is(t, 204)
			admin.get(t, groups+"/"+id).has(t, map[string]string{"size": "0"})
			admin.do(t, "PUT", people+leaver.id, nil).problem(t, 404, "member_not_found")
		})
		t.Run("an invited person joins the groups of the invitation", func(t *testing.T) {
			id, _ := group(t, "Invited")
			invitations := "/api/workspaces/" + admin.workspace + "/invitations"
			body := object{"email": somebody(), "role": "viewer", "group_ids": []string{id}}
			response := admin.create(t, invitations, body).has(t, map[string]string{"group_ids.0": id})
			admin.get(t, invitations+"/"+response.at("id")).has(t, map[string]string{"group_ids.0": id})
			url := response.at("accept_url")
			token := url[strings.LastIndexByte(url, '=')+1:]
			s.anonymous().create(t, "/api/invitations/join", object{"token": token, "name": "New"})
			admin.get(t, groups+"/"+id+"/members").has(t, map[string]string{"data.0.name": "New"})
			body["group_ids"] = []string{"grp_00000000000000000000000000"}
			admin.do(t, "POST", invitations, body).problem(t, 404, "group_not_found")
		})
		t.Run("names are unique, and a person is in 50 groups at most", func(t *testing.T) {
			first, _ := group(t, "Twins")
			admin.do(t, "POST", groups, object{"name": "TWINS"}).problem(t, 409, "name_taken")
			other, _ := group(t, "Other")
			admin.do(t, "PATCH", groups+"/"+other, object{"name": "twins"}).problem(t, 409, "name_taken")
			admin.do(t, "PATCH", groups+"/"+first, object{"name": "twins"}).is(t, 200)
			last := ""
			for i := range 50 {
				id, people := group(t, fmt.Sprint("many ", i))
				admin.do(t, "PUT", people+admin.id, nil).is(t, 204)
				last = id
			}
			admin.do(t, "PUT", groups+"/"+first+"/members/"+admin.id, nil).problem(t, 409, "quota_exceeded")
			admin.do(t, "DELETE", groups+"/"+last, nil).is(t, 204)
			admin.do(t, "PUT", groups+"/"+first+"/members/"+admin.id, nil).is(t, 204)
		})
		t.Run("everything leaves a trail", func(t *testing.T) {
			for _, kind := range []string{
				"group.created", "group.updated", "group.deleted", "group_member.added", "group_member.removed",
			} {
				if len(owner.get(t, "/api/events?type="+kind).each(t, "id")) == 0 {
					t.Errorf("there is no %s", kind)
				}
			}
		})
	})
}

// ofGroup is an example on a new group. whose says whether the path names a person who is inside of it, or outside.
func ofGroup(body any, owner string) example {
	return example{make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		id := h.owner.create(t, groups, object{"name": fmt.Sprint("Group ", people.Add(1))}, onRed).at("id")
		ids := []string{id}
		if owner != "" {
			ids = append(ids, h.person)
		}
		if owner == "inside" {
			h.owner.do(t, "PUT", groups+"/"+id+"/members/"+h.person, nil, onRed).is(t, 204)
		}
		return target{ids: ids, body: body}
	}, after: func(t *testing.T, h *testWorkspace) {
		for _, id := range h.owner.get(t, groups+"?limit=100", onRed).each(t, "id") {
			h.owner.do(t, "DELETE", groups+"/"+id, nil, onRed).is(t, 204)
		}
	}}
}
