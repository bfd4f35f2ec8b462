package e2e

import (
	"slices"
	"testing"

	"github.com/atrium-hq/atrium/test/support/fixture"
)

// TestDeceptiveNames gives names and addresses that people take for others: each is refused with the code of its
// field, and nothing is stored. The same name is stored in one form, however its letters were put together.
func TestDeceptiveNames(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		s := start(t, engine, toShops)
		owner := s.user(t, "owner")
		shop := newShop(t)
		connection := owner.create(t, connections, shop.connection(fixture.Canary)).at("id")
		text := chats + "/" + owner.create(t, chats, object{"name": "Support", "status": "published"}).at("id") +
			"/embed-tokens"
		workspace := "/api/workspaces/" + owner.workspace

		nameOf := func(body object, name string) object {
			body["name"] = name
			return body
		}
		for label, tt := range map[string]struct {
			method, path string
			body         func() object
			code         string
		}{
			"a user":      {"PATCH", "/api/me", func() object { return object{} }, "/name invalid_format"},
			"a workspace": {"PATCH", workspace, func() object { return object{} }, "/name invalid_characters"},
			"a new workspace": {"POST", "/api/workspaces", func() object { return object{} },
				"/name invalid_characters"},
			"a prompt template": {"POST", templates, func() object { return object{} }, "/name invalid_format"},
			"a chat template":   {"POST", chats, func() object { return object{} }, "/name invalid_format"},
			"an embed token": {"POST", text,
				func() object { return object{"allowed_origins": []string{"https://a.example"}} },
				"/name invalid_characters"},
			"an API key": {"POST", "/api/api-keys", func() object { return object{} }, "/name invalid_characters"},
			"a service key": {"POST", "/api/api-keys",
				func() object { return object{"kind": "service", "role_ceiling": "member"} },
				"/name invalid_characters"},
			"a connection": {"POST", connections, func() object { return shop.connection(fixture.Canary) },
				"/name invalid_characters"},
			"a source": {"POST", sources, func() object { return shop.people(t, connection) },
				"/name invalid_characters"},
		} {
			t.Run(label, func(t *testing.T) {
				for _, name := range []string{"invoice\u202efdp.exe", "Sup\u200bport", "\u2066Ann\u2069"} {
					a := owner.do(t, tt.method, tt.path, nameOf(tt.body(), name)).problem(t, 422, "invalid_fields")
					if invalid := a.wrong(); !slices.Equal(invalid, []string{tt.code}) {
						t.Errorf("wrong are %q for %q\n%s", invalid, name, a)
					}
				}
				response := owner.do(t, tt.method, tt.path, nameOf(tt.body(), "A\u0308rger"))
				name := response.at("name")
				if tt.path == "/api/me" {
					name = response.at("user.name")
				}
				if response.status >= 300 || name != "Ärger" {
					t.Errorf("the name is %q\n%s", name, response)
				}
			})
		}
		t.Run("an address", func(t *testing.T) {
			chat := chats + "/" + owner.create(t, chats, object{"name": "Guests"}).at("id") + "/members"
			for _, path := range []string{workspace + "/invitations", chat} {
				for _, email := range []string{"\uff56ictim@example.com", "v\u0131ctim@example.com",
					"v\u0456ctim@example.com", "victim@ex\u0430mple.com"} {
					a := owner.do(t, "POST", path, object{"email": email, "role": "viewer"}).problem(t, 422,
						"invalid_fields")
					if invalid := a.wrong(); !slices.Equal(invalid, []string{"/email invalid_format"}) {
						t.Errorf("wrong are %q for %q\n%s", invalid, email, a)
					}
				}
			}
			if open := owner.get(t, workspace+"/invitations").items(t); len(open) != 0 {
				t.Errorf("there are invitations: %v", open)
			}
		})
	})
}

// TestDeceptiveClaims signs in with a name and addresses that deceive.
func TestDeceptiveClaims(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine)
		ann := r.person(t, "ann", object{"name": "A\u0308n\u200bn \u202eLee"})
		ann.get(t, "/api/me").has(t, map[string]string{"user.name": "Änn Lee", "user.email": "ann@example.com"})
		for subject, email := range map[string]string{"wide": "\uff41nn@example.com",
			"dotless": "v\u0131ctim@example.com", "mixed": "\u0430nn@example.com"} {
			r.person(t, subject, object{"email": email}).get(t, "/api/me").has(t,
				map[string]string{"user.email": "null"})
		}
	})
}
