package e2e

import (
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/domain/id"
	"github.com/atrium-hq/atrium/domain/identity"
)

// testOwnThings tests the exceptions that openapi.yaml mentions but does not declare.
func (h *testWorkspace) testOwnThings(t *testing.T) {
	const keys = "/api/api-keys/"
	members := "/api/workspaces/" + h.workspace + "/members/"
	t.Run("a member can leave, and a key ends with the membership", func(t *testing.T) {
		leaver := h.program(t, "member")
		leaver.do(t, "DELETE", members+leaver.id, nil, onRed).is(t, 204)
		leaver.do(t, "GET", "/api/me", nil, onRed).problem(t, 401, "unauthenticated")
	})
	t.Run("a caller who cannot restore a template is refused while it is not deleted", func(t *testing.T) {
		h.viewer.do(t, "POST", templates+"/"+h.template+"/restore", nil, onRed).problem(t, 403,
			"prompt_template_forbidden")
		h.viewer.do(t, "POST", chats+"/"+h.chat+"/restore", nil, onRed).problem(t, 403, "chat_template_forbidden")
	})
	t.Run("a read-only key cannot leave a workspace", func(t *testing.T) {
		program := h.program(t, "viewer")
		program.do(t, "DELETE", members+program.id, nil, onRed).problem(t, 403, "forbidden")
	})
	t.Run("the creator of a connection can replace its credential and revoke it; another member cannot",
		func(t *testing.T) {
			path := connections + "/" + h.connect(t, h.author)
			credential := object{"credential": h.shop.credential("another")}
			h.editor.do(t, "POST", path+"/verify", credential, onRed).problem(t, 403, "connection_forbidden")
			h.editor.do(t, "DELETE", path, nil, onRed).problem(t, 403, "connection_forbidden")
			h.author.do(t, "POST", path+"/verify", credential, onRed).is(t, 200)
			h.author.do(t, "DELETE", path, nil, onRed).is(t, 200)
		})
	t.Run("the creator of a data source can map and detach it; another member cannot, and an admin cannot detach it",
		func(t *testing.T) {
			path := sources + "/" + h.author.create(t, sources, h.shop.people(t, h.connect(t, h.author)),
				onRed).at("id")
			mapping := object{"mapping": []object{{"field": "email", "column": "email"}}}
			h.editor.do(t, "PUT", path, mapping, onRed).problem(t, 403, "source_forbidden")
			h.editor.do(t, "DELETE", path, nil, onRed).problem(t, 403, "not_source_owner")
			for _, c := range h.callers {
				if c.name == "an admin" {
					c.do(t, "DELETE", path, nil, onRed).problem(t, 403, "not_source_owner")
					c.do(t, "PUT", path, mapping, onRed).is(t, 200)
				}
			}
			h.author.do(t, "PUT", path, mapping, onRed).is(t, 200)
			h.author.do(t, "DELETE", path, nil, onRed).is(t, 204)
		})
	t.Run("a user can read and delete a share that they were given", func(t *testing.T) {
		path := templates + "/" + h.doomed(t)
		for _, c := range []*client{h.viewer, h.editor} {
			c.get(t, path+"/shares/"+c.id, onRed).has(t, map[string]string{"user_id": c.id, "revision": "1"})
			c.do(t, "DELETE", path+"/shares/"+c.id, nil, onRed).is(t, 204)
			c.do(t, "GET", path, nil, onRed).problem(t, 404, "prompt_template_not_found")
		}
	})
	t.Run("a member of a chat can leave, except with a read-only key", func(t *testing.T) {
		path := chats + "/" + h.doomedChat(t)
		cappedValue, _ := h.viewer.key(t, "--org", "red", "--role", "viewer")
		cappedValue.do(t, "DELETE", path+"/members/"+h.viewer.id, nil, onRed).problem(t, 403, "chat_template_forbidden")
		for _, c := range []*client{h.viewer, h.editor} {
			c.do(t, "DELETE", path+"/members/"+c.id, nil, onRed).is(t, 204)
			c.do(t, "GET", path, nil, onRed).problem(t, 404, "chat_template_not_found")
		}
	})
	t.Run("a read-only key can revoke itself, but not rotate itself", func(t *testing.T) {
		key, id := h.owner.key(t, "--org", "red", "--role", "viewer")
		key.do(t, "POST", keys+id+"/rotate", nil, onRed).problem(t, 403, "forbidden")
		key.do(t, "DELETE", keys+id, nil, onRed).is(t, 204)
		key.do(t, "GET", "/api/me", nil, onRed).problem(t, 401, "unauthenticated")
	})
	t.Run("another member's key is hidden, except from admins, and no one can rotate it", func(t *testing.T) {
		for _, c := range h.callers {
			if !c.known || c.role == identity.NoRole || c.id == h.author.id {
				continue
			}
			theirs := h.author.create(t, "/api/api-keys", object{"name": "theirs"}, onRed).at("id")
			get, rotate, revoke := 404, 404, 404
			if c.role >= identity.Admin {
				get, rotate, revoke = 200, 403, 204
			}
			for call, want := range map[string]int{"GET " + keys + theirs: get,
				"POST " + keys + theirs + "/rotate": rotate} {
				method, path, _ := strings.Cut(call, " ")
				if a := c.do(t, method, path, nil, onRed, c.chooses()); a.status != want {
					t.Errorf("%s: %s\nwant %d", c.name, a, want)
				}
			}
			if a := c.do(t, "DELETE", keys+theirs, nil, onRed, c.chooses()); a.status != revoke {
				t.Errorf("%s: %s\nwant %d", c.name, a, revoke)
			}
		}
	})
	t.Run("an editor adds versions to a protected template, and only a manager labels or activates them",
		func(t *testing.T) {
			path := templates + "/" + h.doomed(t)
			h.author.do(t, "PATCH", path, object{"protected": true}, onRed).is(t, 200)
			h.editor.do(t, "POST", path+"/versions", object{"text": "x"}, onRed).is(t, 201)
			for call, body := range map[string]object{
				"POST /versions/two/activate": {}, "PATCH /versions/v1": {"labels": []string{"one", "moved"}},
				"POST /versions": {"text": "x", "labels": []string{"new"}},
			} {
				method, rest, _ := strings.Cut(call, " ")
				h.editor.do(t, method, path+rest, body, onRed).problem(t, 403, "prompt_template_forbidden")
				if a := h.owner.do(t, method, path+rest, body, onRed); a.status >= 300 {
					t.Errorf("a manager may: %s", a)
				}
			}
		})
	t.Run("malformed and absent identifiers get the same response", func(t *testing.T) {
		read := func(id string) *answer {
			return h.viewer.do(t, "GET", templates+"/"+id, nil, onRed, "Request-Id: same")
		}
		absent := read(id.New("ptpl"))
		for _, bad := range []string{"x", id.New("pver"), id.New("ptpl") + "0", "PTPL_01jb4rqnx1f3v9c3k3m6zt8n5e",
			"ptpl_81jb4rqnx1f3v9c3k3m6zt8n5e", "%00", "ptpl_%ff", "%2e%2e", "*", "'%20or%201=1--"} {
			same(t, bad, read(bad), absent)
		}
	})
}
