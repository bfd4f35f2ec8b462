package e2e

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
)

const folderShares = templates + "/folders/shares"

func init() {
	examples["createPromptFolderShare"] = example{make: func(_ *testing.T, h *testWorkspace, c *testCaller) target {
		return target{body: object{"folder": id.New("f"), "user_id": cmp.Or(c.id, h.viewer.id), "role": "viewer"}}
	}}
	examples["getPromptFolderShare"] = ofFolderShare(nil)
	examples["updatePromptFolderShare"] = ofFolderShare(object{"role": "editor"})
	examples["deletePromptFolderShare"] = ofFolderShare(nil)
	examples["movePromptFolder"] = example{make: func(t *testing.T, h *testWorkspace, c *testCaller) target {
		by, host := h.author, onRed
		if c.role == identity.NoRole && c.own == identity.Owner { // in another workspace
			by, host = c.client, c.host
		}
		name := id.New("f")
		by.create(t, templates, object{"name": name + "/one", "visibility": "workspace"}, host)
		return target{body: object{"from": "nowhere", "to": name}} // as if repeated: each caller may move nothing
	}}
}

// ofFolderShare is an example on a new share of a folder.
func ofFolderShare(body any) example {
	return example{make: func(t *testing.T, h *testWorkspace, _ *testCaller) target {
		response := h.owner.create(t, folderShares,
			object{"folder": id.New("f"), "user_id": h.person, "role": "viewer"}, onRed)
		return target{ids: []string{response.at("id")}, body: body}
	}}
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
	ann.do(t, "POST", templates+"/folders/move", object{"from": "here", "to": "Here"}).is(t, 200)
	ann.do(t, "POST", templates+"/folders/move", object{"from": "Here", "to": "here"}).is(t, 200)
	ann.do(t, "POST", templates+"/folders/move", object{"from": "here", "to": "over/there"}).is(t, 200).has(t,
		map[string]string{"template_count": "2"})
	ann.get(t, templates+"/"+one).has(t, map[string]string{"name": "over/there/a/one"})
	ann.do(t, "POST", templates+"/folders/move", object{"from": "here", "to": "over/there"}).is(t, 200).has(t,
		map[string]string{"template_count": "0"}) // repeated
	ann.do(t, "POST", templates+"/folders/move", object{"from": "heer", "to": "elsewhere"}).problem(t, 422,
		"invalid_fields").has(t, map[string]string{"errors.0.pointer": "/from", "errors.0.code": "not_allowed_value"})
	ann.create(t, templates, object{"name": "other/two"})
	ann.do(t, "POST", templates+"/folders/move", object{"from": "other", "to": "over/there"}).problem(t, 409,
		"name_taken")
}

func TestSharesOfFolders(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine)
		owner, admin, ann, bob := s.user(t, "owner"), s.user(t, "admin"), s.user(t, "member"), s.user(t, "viewer")
		make := func(t *testing.T, name string) string {
			return templates + "/" + ann.create(t, templates, object{"name": name,
				"version": object{"text": "Text", "activate": true}}).at("id")
		}
		share := func(t *testing.T, folder, user, role string) string {
			t.Helper()
			return folderShares + "/" + admin.create(t, folderShares,
				object{"folder": folder, "user_id": user, "role": role}).at("id")
		}
		isGone := func(t *testing.T, path string) {
			t.Helper()
			bob.do(t, "GET", path, nil).problem(t, 404, "prompt_template_not_found")
		}
		t.Run("a share gives a role on all that is in the folder, now and later, and tells so", func(t *testing.T) {
			deep, neighbour := make(t, "support/mail/one"), make(t, "supporting/one")
			isGone(t, deep)
			sharedText := share(t, "Support/", bob.id, "editor")
			text := make(t, "support/two")
			for _, path := range []string{deep, text} {
				bob.get(t, path).has(t, map[string]string{"my_role": "editor", "my_role_source.kind": "folder",
					"my_role_source.folder": "Support"})
				bob.get(t, path+"/versions/active").has(t, map[string]string{"text": "Text"})
			}
			isGone(t, neighbour)
			bob.get(t, templates+"?folder=support&sort=name").has(t,
				map[string]string{"data.0.name": "support/mail/one",
					"data.1.name": "support/two", "data.2": ""})
			bob.create(t, deep+"/versions", object{"text": "by bob"})
			ann.get(t, deep+"/folder-shares").has(t, map[string]string{"data.0.folder": "Support",
				"data.0.user_id": bob.id, "data.1": ""})
			ann.get(t, neighbour+"/folder-shares").has(t, map[string]string{"data": "[]"})
			ann.get(t, deep).has(t, map[string]string{"my_role_source.kind": "ownership"})
			admin.get(t, deep).has(t, map[string]string{"my_role_source.kind": "workspace_role",
				"my_role_source.folder": "null"})
			got := bob.get(t, sharedText).has(t, map[string]string{"role": "editor"})
			admin.do(t, "PATCH", sharedText, object{"role": "viewer"}, "If-Match: \"9\"").problem(t, 412,
				"revision_mismatch")
			admin.do(t, "PATCH", sharedText, object{"role": "viewer"}, "If-Match: "+got.header.Get("ETag")).is(t, 200)
			bob.do(t, "POST", deep+"/versions", object{"text": "x"}).problem(t, 403, "prompt_template_forbidden")
			admin.get(t, "/api/events?type=folder_share.updated").has(t,
				map[string]string{"data.0.data.folder": "Support",
					"data.0.data.role.to": "viewer"})
			bob.do(t, "DELETE", sharedText, nil).is(t, 204) // everyone ends their own
			isGone(t, deep)
		})
		t.Run("a group's share is one with each of its people", func(t *testing.T) {
			newText := make(t, "grouped/one")
			group := admin.create(t, groups, object{"name": "Folder people"}).at("id")
			sharedText := share(t, "grouped", group, "viewer")
			isGone(t, newText)
			admin.do(t, "PUT", groups+"/"+group+"/members/"+bob.id, nil).is(t, 204)
			bob.get(t, newText).has(t, map[string]string{"my_role": "viewer", "my_role_source.kind": "folder"})
			admin.get(t, folderShares+"?folder=grouped/deep").has(t, map[string]string{"data.0.name": "Folder people",
				"data.1": ""})
			admin.do(t, "DELETE", sharedText, nil).is(t, 204)
			isGone(t, newText)
		})
		t.Run("who manages a folder shares it and what is below, and nothing else", func(t *testing.T) {
			share(t, "managed", bob.id, "manager")
			grant := func(folder string) object {
				return object{"folder": folder, "user_id": ann.id,
					"role": "manager"}
			}
			bob.create(t, folderShares, grant("managed/below"))
			bob.do(t, "POST", folderShares, grant("managed/below")).problem(t, 409, "already_shared")
			bob.do(t, "POST", folderShares, grant("managed2")).problem(t, 403, "folder_forbidden")
			bob.get(t, folderShares+"?folder=managed").has(t, map[string]string{"data.0.user_id": bob.id, "data.1": ""})
			bob.do(t, "GET", folderShares, nil).problem(t, 403, "folder_forbidden")
			ann.do(t, "GET", folderShares+"?folder=managed", nil).problem(t, 403, "folder_forbidden")
			owner.do(t, "POST", folderShares, object{"folder": "a//b", "user_id": ann.id, "role": "viewer"}).problem(t,
				422,
				"invalid_fields")
			owner.do(t, "POST", folderShares, object{"folder": "x", "email": "out@example.com",
				"role": "viewer"}).problem(t,
				422, "user_not_in_workspace")
			owner.do(t, "POST", folderShares, object{"folder": "x", "user_id": ann.id, "role": "viewer",
				"expires_at": time.Now().Add(-time.Hour).Format(time.RFC3339)}).problem(t, 422, "invalid_fields")
			owner.do(t, "GET", folderShares+"/pfsh_none", nil).problem(t, 404, "share_not_found")
		})
		t.Run("only who manages a template moves it in or out of a shared folder", func(t *testing.T) {
			newText := make(t, "free/one")
			ann.create(t, newText+"/shares", object{"user_id": bob.id, "role": "editor"})
			share(t, "open", owner.id, "viewer")
			bob.do(t, "PATCH", newText, object{"name": "free/two"}).is(t, 200)
			bob.do(t, "PATCH", newText, object{"name": "open/two"}).problem(t, 403, "prompt_template_forbidden")
			bob.get(t, newText).has(t, map[string]string{"name": "free/two"})
			bob.do(t, "POST", templates+"/folders/move", object{"from": "free", "to": "open/x"}).problem(t, 403,
				"prompt_template_forbidden")
			ann.do(t, "PATCH", newText, object{"name": "open/two"}).is(t, 200)
			bob.do(t, "PATCH", newText, object{"name": "two"}).problem(t, 403, "prompt_template_forbidden")
		})
		t.Run("a workspace has 500 of them at most", func(t *testing.T) {
			remainder := 500 - len(admin.get(t, folderShares+"?limit=100").each(t, "id"))
			for i := range remainder {
				share(t, fmt.Sprint("many/", i), ann.id, "viewer")
			}
			admin.do(t, "POST", folderShares, object{"folder": "more", "user_id": ann.id, "role": "viewer"}).problem(t,
				409,
				"share_limit_reached")
		})
	})
}
