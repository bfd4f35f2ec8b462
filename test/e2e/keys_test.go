package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestKeys(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) {
		r := newRealm(t, engine)
		owner, admin, member := r.user(t, "owner"), r.user(t, "admin"), r.user(t, "member")
		const keys = "/api/api-keys"
		works := func(t *testing.T, token string, want bool) {
			t.Helper()
			if a := r.bearer(token).do(t, "GET", "/api/me", nil); (a.status == 200) != want ||
				(a.status != 200 && a.status != 401) {
				t.Errorf("it works: %v, want %v: %s", !want, want, a)
			}
		}

		t.Run("a rotated key works for its grace period, and its successor at once", func(t *testing.T) {
			old := member.create(t, keys, object{"name": "laptop", "role_ceiling": "viewer"})
			next := member.create(t, keys+"/"+old.at("id")+"/rotate", object{"grace_seconds": 3600}).
				has(t, map[string]string{"name": "laptop", "role_ceiling": "viewer", "user_id": member.id})
			works(t, old.at("token"), true)
			works(t, next.at("token"), true)
			ends := must(time.Parse(time.RFC3339, member.get(t, keys+"/"+old.at("id")).at("expires_at")))
			rotatedAt := must(time.Parse(time.RFC3339, next.at("created_at")))
			if ends.Sub(rotatedAt) != time.Hour {
				t.Errorf("the old key ends %s after its rotation", ends.Sub(rotatedAt))
			}
			r.sql(t, fmt.Sprintf(`UPDATE api_keys SET expires_at = %d WHERE id = '%s'`,
				time.Now().Add(time.Second).UnixMicro(), old.at("id")))
			r.bearer(old.at("token")).refusedWithin(t, 3*time.Second) // what was read of it is cached for a second
			works(t, old.at("token"), false)
			works(t, next.at("token"), true)
			member.do(t, "POST", keys+"/"+old.at("id")+"/rotate", nil).problem(t, 409, "api_key_inactive")
		})
		t.Run("without a grace period the old key ends at once", func(t *testing.T) {
			old := member.create(t, keys, object{"name": "laptop"})
			next := member.create(t, keys+"/"+old.at("id")+"/rotate", nil)
			works(t, old.at("token"), false)
			works(t, next.at("token"), true)
		})
		t.Run("a repeated rotation creates no key, and shows no token after that is revoked", func(t *testing.T) {
			old := member.create(t, keys, object{"name": "laptop"}).at("id")
			next := member.create(t, keys+"/"+old+"/rotate", nil, "Idempotency-Key: rotate")
			if second := member.create(t, keys+"/"+old+"/rotate", nil,
				"Idempotency-Key: rotate"); second.at("token") != next.at("token") {
				t.Error("another successor was made")
			}
			member.do(t, "DELETE", keys+"/"+next.at("id"), nil).is(t, 204)
			if a := member.do(t, "POST", keys+"/"+old+"/rotate", nil,
				"Idempotency-Key: rotate"); strings.Contains(a.text, "atk_") {
				t.Errorf("the token is shown still: %s", a)
			}
		})
		t.Run("a weaker key of the same user does not get the replayed response of a stronger one", func(t *testing.T) {
			weak := r.bearer(owner.create(t, keys, object{"name": "weak", "role_ceiling": "viewer"}).at("token"))
			for path, body := range map[string]object{
				keys: {"name": "deploy"},
				"/api/workspaces/" + owner.workspace + "/invitations": {"email": "replayed@example.com",
					"role": "owner"},
			} {
				item := owner.create(t, path, body, "Idempotency-Key: stronger")
				a := weak.do(t, "POST", path, body, "Idempotency-Key: stronger")
				if a.header.Get("Idempotency-Replayed") != "" || a.at("id") == item.at("id") {
					t.Errorf("it is shown %s", a)
				}
				owner.create(t, path, body, "Idempotency-Key: stronger").has(t, map[string]string{"id": item.at("id")})
			}
		})
		t.Run("a service key is a user of its own, which admins manage", func(t *testing.T) {
			service := object{"name": "deploy", "kind": "service", "role_ceiling": "member"}
			member.do(t, "POST", keys, service).problem(t, 403, "forbidden")
			response := admin.create(t, keys, service).has(t,
				map[string]string{"kind": "service", "role_ceiling": "member"})
			program := r.bearer(response.at("token"))
			program.get(t, "/api/me").has(t, map[string]string{"user.id": response.at("user_id"), "user.email": "null",
				"role": "member"})
			program.template(t, "by a program")
			if response.at("user_id") == admin.id {
				t.Error("it bears its maker")
			}
			next := owner.create(t, keys+"/"+response.at("id")+"/rotate", nil).has(t,
				map[string]string{"user_id": response.at("user_id")})
			works(t, response.at("token"), false)
			works(t, next.at("token"), true)
			admin.do(t, "DELETE", "/api/workspaces/"+admin.workspace+"/members/"+response.at("user_id"), nil).is(t, 204)
			works(t, next.at("token"), false)
		})
		t.Run("a service key does not count as an owner, and cannot create a workspace", func(t *testing.T) {
			owner := r.user(t, "owner", "--workspace", "programs")
			response := owner.create(t, keys, object{"name": "rule", "kind": "service", "role_ceiling": "owner"})
			program, members := r.bearer(response.at("token")), "/api/workspaces/"+owner.workspace+"/members/"
			for _, by := range []*client{owner, program} {
				by.do(t, "PATCH", members+owner.id, object{"role": "admin"}).problem(t, 409, "last_owner")
				by.do(t, "DELETE", members+owner.id, nil).problem(t, 409, "last_owner")
			}
			program.do(t, "POST", "/api/workspaces", object{"name": "Nobody's"}).problem(t, 403, "forbidden")
			program.do(t, "DELETE", members+response.at("user_id"), nil).is(t, 204)
		})
		t.Run("no key has a higher role or a longer lifetime than its creator", func(t *testing.T) {
			admin.do(t, "POST", keys, object{"name": "x", "role_ceiling": "owner"}).problem(t, 403, "role_ceiling")
			admin.do(t, "POST", keys, object{"name": "x", "kind": "service", "role_ceiling": "owner"}).problem(t, 403,
				"role_ceiling")
			end := time.Now().Add(time.Hour).UTC()
			short := r.bearer(owner.create(t, keys,
				object{"name": "short", "role_ceiling": "member", "expires_at": end}).at("token"))
			short.do(t, "POST", keys, object{"name": "x", "expires_at": end.Add(time.Minute)}).problem(t, 403,
				"role_ceiling")
			short.do(t, "POST", keys, object{"name": "x", "role_ceiling": "admin"}).problem(t, 403, "role_ceiling")
			if response := short.create(t, keys, object{"name": "x"}); response.at("role_ceiling") != "member" ||
				response.at("expires_at") != end.Format("2006-01-02T15:04:05.000Z") {
				t.Errorf("its successor is %s", response)
			}
		})
		t.Run("keys created with a key are revoked with it", func(t *testing.T) {
			parent := owner.create(t, keys, object{"name": "parent"})
			by := r.bearer(parent.at("token"))
			child := by.create(t, keys, object{"name": "child"}).at("token")
			service := r.bearer(child).create(t, keys,
				object{"name": "grandchild", "kind": "service", "role_ceiling": "owner"}).at("token")
			works(t, service, true)
			owner.do(t, "DELETE", keys+"/"+parent.at("id"), nil).is(t, 204)
			for _, token := range []string{parent.at("token"), child, service} {
				works(t, token, false)
			}
		})
		t.Run("a key below its user's role cannot leave for them, nor see their other workspaces", func(t *testing.T) {
			other := r.person(t, "two-places")
			token, _ := r.invite(t, owner, other.email, "admin")
			accept(t, other, token).is(t, 200)
			elsewhere := other.create(t, "/api/workspaces", object{"name": "Elsewhere"}).at("id")
			local := "Workspace-Id: " + owner.workspace
			low := r.bearer(other.create(t, keys, object{"name": "low", "role_ceiling": "member"}, local).at("token"))
			low.do(t, "DELETE", "/api/workspaces/"+owner.workspace+"/members/"+other.id, nil).problem(t, 403,
				"role_ceiling")
			other.do(t, "PATCH", "/api/me", object{"default_workspace_id": elsewhere}).is(t, 200)
			low.get(t, "/api/me").has(t, map[string]string{"user.default_workspace_id": "null"})
			low.do(t, "PATCH", "/api/me", object{"default_workspace_id": elsewhere}).problem(t, 404,
				"workspace_not_found")
			low.do(t, "PATCH", "/api/me", object{"default_workspace_id": owner.workspace}).is(t, 200).has(t,
				map[string]string{"user.default_workspace_id": owner.workspace})
		})
		t.Run("the audit trail records keys without tokens", func(t *testing.T) {
			r.leaves(t, []string{"api_key.created", "api_key.rotated", "api_key.revoked", "user.created",
				"member.removed"})
		})
	})
}
